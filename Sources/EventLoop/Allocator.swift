internal import CEventShims

/// The C library's allocator, as far as a long-running process must tell it what it is.
public enum Allocator {
    /// Bytes of a block from which on it is mapped by itself and goes back to the system at once when it is freed: 1 MiB,
    /// above the buffers that are reused, so that those cost no system calls.
    public static let largeBlock = 1024 * 1024

    /// For a process of `threads` threads: large blocks go back to the system, and so does the free end of a heap. First
    /// thing in `main`, before there are threads.
    public static func tune(threads: Int) {
        recast_tune_allocator(largeBlock, Int32(clamping: max(2, threads)))
    }

    /// Gives free pages back to the system: after a burst, not in the middle of one. Takes up to milliseconds.
    public static func trim() {
        recast_trim_allocator()
    }
}
