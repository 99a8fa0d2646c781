internal import Glibc

/// The time that this thread had the processor for during `body`: what work costs, whatever else runs on the machine.
public func processorTime(_ body: () throws -> Void) rethrows -> Duration {
    let began = processorTime()
    try body()
    return processorTime() - began
}

private func processorTime() -> Duration {
    var time = timespec()
    // SAFETY: the call only writes the time.
    _ = unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
