internal import EventLoop
internal import Gateway
internal import Images

/// The pictures that the exchanges of one worker wait for. They are made on the process' own threads for that, in the order in which
/// they came, and as many at once as the worker has of those.
///
/// What waits is paid for with what it holds, and what runs besides with what the work takes, until that is over: also where the
/// exchange has ended meanwhile. Work that finds no memory waits for the one before it.
final class PictureQueue {
    /// What became of one that was added.
    enum Admission {
        case taken
        /// Too many wait.
        case full
        /// There is no memory for it, and nothing runs that would give some back.
        case noMemory
    }

    private static let processors = ProcessorLimit.current().count

    private let way: WayBack
    private let loop: EventLoop
    private let pool: ThreadPool
    private let memory: MemoryAllowance
    private var waiting: [PendingPicture] = []
    private var running = 0
    /// Those that run, by their numbers, and the last number.
    private var begun: [Int: PendingPicture] = [:]
    private var number = 0
    private var counters = PictureCounters()

    init(loop: EventLoop, pool: ThreadPool, memory: MemoryAllowance) {
        way = WayBack()
        self.loop = loop
        self.pool = pool
        self.memory = memory
        // SAFETY: on the loop's thread, before any work.
        unsafe way.queue = self
    }

    func visit(_ samples: inout MetricSamples) { counters.visit(&samples, (waiting.count, running)) }

    /// Takes a picture that is to be made; its `done` is called in a later tick.
    ///
    /// - Parameter share: this worker's part of a limit.
    func add(_ picture: PendingPicture, _ settings: ImageSettings, share: WorkerShare) -> Admission {
        guard waiting.count < share.share(of: settings.queue) else { return .full }
        picture.threads = settings.threads ?? Self.processors
        picture.atOnce = share.share(of: picture.threads)
        if running == 0, waiting.isEmpty {
            guard picture.charge.set(picture.cost, from: memory) else { return .noMemory }
        } else {
            // They are held already.
            picture.charge.force(picture.work.job.bytes.count, from: memory)
        }
        waiting.append(picture)
        start()
        return .taken
    }

    /// Forgets a picture whose exchange has ended. One that is being made is stopped, and counts until its thread has heard so.
    func drop(_ picture: PendingPicture) {
        picture.isEnded = true
        guard let index = waiting.firstIndex(where: { $0 === picture }) else { return picture.asker.leave() }
        waiting.remove(at: index)
        picture.charge.end(memory)
        counters.dropped += 1
    }

    private func start() {
        while let next = waiting.first, running < next.atOnce {
            let isPaid = next.charge.set(next.cost, from: memory)
            // What runs gives some back.
            guard isPaid || running == 0 else { return }
            waiting.removeFirst()
            running += 1
            number += 1
            begun[number] = next
            // Whoever has just added it doesn't wait for it yet.
            if isPaid { run(next, number) } else { way(of: number)(.failure(.memory)) }
        }
    }

    /// What tells the loop, from any thread and in a later tick, what became of a picture.
    private func way(of number: Int) -> @Sendable (Result<[UInt8], ImageFault>) -> Void {
        let (inbox, way) = (loop.inbox, way)
        // SAFETY: what is posted runs on the loop.
        return { result in inbox.post { unsafe way.queue?.made(number, result) } }
    }

    /// Has the work done on a thread; what it gives comes back to the loop under its number.
    private func run(_ picture: PendingPicture, _ number: Int) {
        let tell = way(of: number)
        let (job, asker) = (picture.work.job, picture.asker)
        do throws(LoopError) {
            try pool.run(onOneOf: picture.threads) {
                tell(Result { () throws(ImageFault) in try job.run(for: asker) })
            }
        } catch {
            tell(.failure(.memory))
        }
    }

    fileprivate func made(_ number: Int, _ result: Result<[UInt8], ImageFault>) {
        guard let picture = begun.removeValue(forKey: number) else { return }
        running -= 1
        finish(picture, result)
        start()
    }

    private func finish(_ picture: PendingPicture, _ result: Result<[UInt8], ImageFault>) {
        picture.charge.end(memory)
        switch result {
        case .success(let bytes):
            counters.made += 1
            counters.bytesIn += UInt64(picture.work.job.bytes.count)
            counters.bytesOut += UInt64(bytes.count)
        case .failure(.stopped): counters.dropped += 1
        case .failure: counters.failed += 1
        }
        if !picture.isEnded { picture.done(result) }
    }
}

/// Leads back to a queue: other threads carry it, and only its loop follows it.
private final class WayBack: Sendable {
    // SAFETY: read and written by the loop's thread alone.
    nonisolated(unsafe) weak var queue: PictureQueue?
}

/// A picture that an exchange waits for.
final class PendingPicture {
    let work: PictureWork
    /// Where a thread that makes it looks whether its exchange is still there.
    fileprivate let asker = ImageAsker()
    fileprivate let done: (Result<[UInt8], ImageFault>) -> Void
    fileprivate var charge = MemoryCharge(.request)
    fileprivate var threads = 1
    fileprivate var atOnce = 1
    /// Whether nobody waits any more.
    fileprivate(set) var isEnded = false

    /// Bytes that it takes while it is made.
    fileprivate var cost: Int { work.job.bytes.count + work.job.memory }

    init(_ work: PictureWork, _ done: @escaping (Result<[UInt8], ImageFault>) -> Void) {
        self.work = work
        self.done = done
    }
}

/// What is counted of pictures.
private struct PictureCounters {
    var made: UInt64 = 0
    var failed: UInt64 = 0
    var dropped: UInt64 = 0
    var bytesIn: UInt64 = 0
    var bytesOut: UInt64 = 0

    func visit(_ samples: inout MetricSamples, _ counts: (waiting: Int, running: Int)) {
        for (result, count) in [("made", made), ("failed", failed), ("dropped", dropped)] {
            samples.counter(
                "recast_images_total", "Pictures of uploads that were to be made smaller, by result.",
                labels: [.init("result", result)], count)
        }
        for (side, count) in [("in", bytesIn), ("out", bytesOut)] {
            samples.counter(
                "recast_image_bytes_total", "Bytes of the pictures that were made smaller, before and after.",
                labels: [.init("side", side)], count)
        }
        for (state, count) in [("running", counts.running), ("waiting", counts.waiting)] {
            samples.gauge(
                "recast_images_pending", "Pictures that are being made smaller, and those that wait for it.",
                labels: [.init("state", state)], Double(count))
        }
    }
}
