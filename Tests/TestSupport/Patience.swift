internal import Glibc

/// Whether the build has a sanitizer, which makes it several times slower: `scripts/sanitize` says so.
public let isSanitized = unsafe getenv("RECAST_SANITIZED") != nil

/// Seconds that a test waits for what must come; whatever is still missing then hangs.
public let patience: UInt64 = isSanitized ? 240 : 60

/// How many of `count` random inputs a test tries: all, or a tenth where a sanitizer looks at each access.
public func tries(_ count: Int) -> Int { isSanitized ? max(1, count / 10) : count }
