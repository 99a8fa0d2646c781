/// Which of the process's workers one is: limits of the process are shared out by it.
struct WorkerShare: Sendable {
    /// From 0.
    var number = 0
    var workers = 1

    init(number: Int = 0, of workers: Int = 1) {
        self.number = number
        self.workers = workers
    }

    /// This worker's part of `limit`: all parts together are the limit, and differ by one at most. A worker that may do nothing
    /// would let its clients wait for ever, so it is one at least: with fewer than there are workers the sum is their number.
    func share(of limit: Int) -> Int {
        max(1, limit / workers + (number < limit % workers ? 1 : 0))
    }
}
