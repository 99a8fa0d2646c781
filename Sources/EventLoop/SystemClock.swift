internal import Glibc

/// The two clocks the loop reads. Both are answered without entering the kernel.
enum SystemClock {
    /// Nanoseconds of `CLOCK_MONOTONIC`.
    static func monotonic() -> UInt64 {
        var time = timespec()
        // SAFETY: the clock exists on every Linux, and the pointer is used only during the call.
        _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }

    /// Milliseconds since 1970, at most a few of them old.
    static func wallMilliseconds() -> Int {
        var time = timespec()
        // SAFETY: as above.
        _ = unsafe clock_gettime(CLOCK_REALTIME_COARSE, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    /// Nanoseconds since 1970.
    static func wallNanoseconds() -> UInt64 {
        var time = timespec()
        // SAFETY: as above.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return UInt64(max(0, time.tv_sec)) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}
