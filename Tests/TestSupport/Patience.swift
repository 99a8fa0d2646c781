internal import Glibc

/// Seconds that a test waits for what must come; whatever is still missing then hangs. A build with a sanitizer is several
/// times slower, and `scripts/sanitize` says that it is one.
public let patience: UInt64 = unsafe getenv("RECAST_SANITIZED") == nil ? 60 : 240
