internal import Glibc

/// Whether the build has a sanitizer, which makes it several times slower: `scripts/sanitize` says so.
public let isSanitized = unsafe getenv("RECAST_SANITIZED") != nil

/// Seconds that a test waits for what must come; whatever is still missing then hangs.
public let patience: UInt64 = isSanitized ? 240 : 60

/// Whether tests try a tenth of their inputs and cuts: where a sanitizer looks at each access, but for `make nightly`, which
/// has the time for all.
public let triesTenth = unsafe isSanitized && getenv("RECAST_FULL") == nil

/// How many of `count` random inputs a test tries: all, or a tenth.
public func tries(_ count: Int) -> Int { triesTenth ? max(1, count / 10) : count }

/// Whether a test tries the input of this number: all, or every tenth. Numbers that are sums of several indices spread the tenth
/// over all of them.
public func tries(number: Int) -> Bool { !triesTenth || number % 10 == 0 }
