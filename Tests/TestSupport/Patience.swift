internal import Glibc

/// Whether the build has a sanitizer, which makes it several times slower: `scripts/sanitize` says so.
public let isSanitized = unsafe getenv("RECAST_SANITIZED") != nil

/// Seconds that a test waits for what must come; whatever is still missing then hangs.
public let patience: UInt64 = isSanitized ? 240 : 60

/// Whether everything is tried, as `make nightly` has the time for.
private let triesAll = unsafe getenv("RECAST_FULL") != nil

/// Whether a sanitizer looks at each access, in a run that doesn't try everything: then tests try a tenth of their inputs and cuts.
public let triesTenth = isSanitized && !triesAll

/// One of how many is tried of what a test makes many of: random inputs, and what it combines each input with. On each change that
/// is a third of them, or a tenth. What `Recut` and `Cut` make is left whole where there is no sanitizer.
private let share = triesAll ? 1 : isSanitized ? 10 : 3

/// How many of `count` random inputs a test tries.
public func tries(_ count: Int) -> Int { max(1, count / share) }

/// Whether a test tries the combination of this number. Numbers that are sums of several indices spread those that are tried over
/// all of them.
public func tries(number: Int) -> Bool { number % share == 0 }
