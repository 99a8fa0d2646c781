import Dispatch
import Images
import TestSupport
import Testing

@testable import EventLoop
@testable import Gateway
@testable import Proxy
@testable import Transcoding

/// The pictures of one worker: how many wait, in which order they are made, who pays, and what becomes of those that nobody waits for.
@Suite("The queue of pictures", .enabled(if: PictureHeader.isBuiltIn))
struct PictureQueueTests {
    /// A queue whose pool has one thread that does nothing until `open`.
    private final class Rig {
        let memory: MemoryAllowance
        let queue: PictureQueue
        var settings = ImageSettings()
        var share = WorkerShare()
        /// What came of the pictures, in the order it did.
        private(set) var ends: [String] = []
        /// Called when one has come to its end.
        var onEnd: (Rig) throws -> Void = { _ in }
        private let loop: EventLoop
        private let pool: ThreadPool
        private let gate = DispatchSemaphore(value: 0)
        private var pictures: [PendingPicture] = []

        init(limit: Int = 1 << 40, threads: Int = 1, hasThreads: Bool = true) throws {
            loop = try EventLoop()
            memory = MemoryAllowance(MemoryBudget(limit: limit))
            pool = ThreadPool(name: "test") { name, body throws(LoopError) in
                guard hasThreads else { throw .system(call: "pthread_create", errno: 11) }
                _ = try startThread(name: name, body)
            }
            queue = PictureQueue(loop: loop, pool: pool, memory: memory)
            settings.threads = threads
            guard hasThreads else { return }
            for _ in 0..<threads { try pool.run(onOneOf: threads) { [gate] in gate.wait() } }
        }

        /// Adds a picture of that side, by the number of those that were added before.
        @discardableResult
        func add(_ side: Int = 300) throws -> PictureQueue.Admission {
            let number = pictures.count
            let picture = PendingPicture(try PictureQueueTests.work(side)) { [unowned self] result in
                switch result {
                case .success: ends.append("\(number) made")
                case .failure(let fault): ends.append("\(number) \(fault)")
                }
                loop.stop()
                do { try onEnd(self) } catch { Issue.record(error) }
            }
            pictures.append(picture)
            return queue.add(picture, settings, share: share)
        }

        func drop(_ number: Int) { queue.drop(pictures[number]) }

        /// Lets the threads work.
        func open() { for _ in 0..<(settings.threads ?? 1) { gate.signal() } }

        /// Runs the loop until that many pictures have come to an end.
        func run(until count: Int) {
            let watchdog = Timer(loop: loop) { [unowned loop] in
                Issue.record("\(count) pictures didn't come")
                loop.stop()
            }
            watchdog.set(after: patience * 1_000_000_000)
            while ends.count < count {
                let before = ends.count
                loop.run()
                if ends.count == before { break }
            }
            watchdog.cancel()
        }

        /// How many pictures came to which end.
        var results: [String: Double] {
            var samples = MetricSamples()
            queue.visit(&samples)
            let counts = samples.families["recast_images_total"]?.samples ?? []
            return Dictionary(uniqueKeysWithValues: counts.map { ($0.labels[0].value, $0.value) })
        }

        /// Pictures that run, and that wait.
        var pending: [Double] {
            var samples = MetricSamples()
            queue.visit(&samples)
            return samples.families["recast_images_pending"]?.samples.map(\.value) ?? []
        }
    }

    /// What is to be done with an even picture of that side.
    private static func work(_ side: Int) throws -> PictureWork {
        let bytes = PNGSample.png(side, side) { _, _ in [1, 2, 3] }
        var rule = ImageRule()
        rule.longestSide = 60
        let file = HeldFile(
            image: rule, path: try FieldPath(parsing: "f"), content: bytes, field: Array("f".utf8), filename: nil)
        guard case .work(let work) = try PictureWork.begin(file) else { throw Unneeded() }
        return work
    }
    private struct Unneeded: Error {}

    /// What a picture of that side costs while it waits, and while it is made.
    private static func cost(_ side: Int = 300) throws -> (waiting: Int, made: Int) {
        let job = try work(side).job
        return (MemoryCharge.cost(of: job.bytes.count), MemoryCharge.cost(of: job.bytes.count + job.memory))
    }

    @Test("so many wait as may, beside those that are made: one below, as many, one more", arguments: [1, 2, 3])
    func bound(most: Int) throws {
        let rig = try Rig()
        rig.settings.queue = most
        #expect(try rig.add() == .taken)
        for waiting in 0..<most { #expect(try rig.add() == .taken, "\(waiting) wait") }
        #expect(try rig.add() == .full)
        #expect(try rig.add() == .full)
        // Who leaves makes room.
        rig.drop(1)
        #expect(try rig.add() == .taken)
        #expect(try rig.add() == .full)
        rig.open()
        rig.run(until: most + 1)
        #expect(rig.ends.count == most + 1 && rig.memory.held == 0)
    }

    @Test("a worker has its share of the queue and of the threads")
    func share() throws {
        let rig = try Rig(threads: 3)
        rig.settings.queue = 3
        rig.share = WorkerShare(number: 0, of: 2)
        for _ in 0..<4 { #expect(try rig.add() == .taken) }
        #expect(rig.pending == [2, 2])
        #expect(try rig.add() == .full)
        rig.open()
        rig.run(until: 4)
        #expect(rig.memory.held == 0)
    }

    @Test("one that is added when another has come to its end, and finds no memory, hears so behind that")
    func nested() throws {
        let cost = try Self.cost()
        let limit = cost.made + 3 * cost.waiting
        let rig = try Rig(limit: limit)
        try rig.add()
        try rig.add()
        var endsWhenTaken = 0
        rig.onEnd = { rig in
            guard rig.ends.count == 1 else { return }
            // Others take all that there is.
            rig.memory.force(limit, for: .request)
            let admission = try rig.add()
            #expect(admission == .taken)
            endsWhenTaken = rig.ends.count
        }
        rig.open()
        rig.run(until: 3)
        #expect(endsWhenTaken == 1)
        #expect(rig.ends == ["0 made", "1 memory", "2 memory"])
        #expect(rig.pending == [0, 0] && rig.memory.held == limit)
        rig.memory.give(limit, of: .request)
    }

    @Test("they are made in the order in which they came")
    func order() throws {
        let rig = try Rig()
        for _ in 0..<6 { try rig.add() }
        #expect(rig.pending == [1, 5])
        rig.open()
        rig.run(until: 6)
        #expect(rig.ends == (0..<6).map { "\($0) made" })
        #expect(rig.pending == [0, 0] && rig.memory.held == 0)
    }

    @Test("one that nobody waits for is not made, or stopped, and is paid for until that has been heard")
    func leave() throws {
        let cost = try Self.cost()
        let rig = try Rig()
        for _ in 0..<4 { try rig.add() }
        #expect(rig.memory.held == cost.made + 3 * cost.waiting)
        rig.drop(2)
        #expect(rig.memory.held == cost.made + 2 * cost.waiting && rig.pending == [1, 2])
        rig.drop(0)
        #expect(rig.memory.held == cost.made + 2 * cost.waiting && rig.pending == [1, 2], "its thread hasn't heard it")
        rig.drop(2)
        rig.open()
        rig.run(until: 2)
        #expect(rig.ends == ["1 made", "3 made"])
        #expect(rig.memory.held == 0 && rig.pending == [0, 0])
        #expect(rig.results == ["made": 2, "failed": 0, "dropped": 2])
    }

    @Test("the first one is refused below what it costs, and taken at that and above", arguments: [-1, 0, 1])
    func memory(difference: Int) throws {
        let rig = try Rig(limit: try Self.cost().made + difference)
        #expect(try rig.add() == (difference < 0 ? .noMemory : .taken))
        rig.open()
        if difference >= 0 { rig.run(until: 1) }
        #expect(rig.ends == (difference < 0 ? [] : ["0 made"]))
        #expect(rig.memory.held == 0 && rig.pending == [0, 0])
    }

    @Test("a second one is made beside the first where both can be paid for, else behind it", arguments: [-1, 0, 1])
    func two(difference: Int) throws {
        let rig = try Rig(limit: 2 * (try Self.cost().made) + difference, threads: 2)
        for _ in 0..<2 { #expect(try rig.add() == .taken) }
        #expect(rig.pending == (difference < 0 ? [1, 1] : [2, 0]))
        rig.open()
        rig.run(until: 2)
        #expect(rig.ends.sorted() == ["0 made", "1 made"])
        #expect(rig.memory.held == 0)
    }

    @Test("one that can't be paid for when nothing else runs is told so")
    func never() throws {
        let rig = try Rig(limit: try Self.cost().made)
        for side in [300, 900, 300] { #expect(try rig.add(side) == .taken) }
        rig.open()
        rig.run(until: 3)
        #expect(rig.ends == ["0 made", "1 memory", "2 made"])
        #expect(rig.memory.held == 0)
    }

    @Test("where the system gives no thread the pictures are told so, and nothing stays behind")
    func threads() throws {
        let rig = try Rig(hasThreads: false)
        for _ in 0..<3 { #expect(try rig.add() == .taken) }
        rig.run(until: 3)
        #expect(rig.ends == ["0 memory", "1 memory", "2 memory"])
        #expect(rig.memory.held == 0 && rig.pending == [0, 0])
    }
}
