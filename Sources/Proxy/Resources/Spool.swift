internal import EventLoop
internal import Gateway
internal import Octets
internal import Synchronization

/// A request's body that waits until its length is known: its beginning in memory, the rest in a file without a name.
///
/// First it is written, then read: once, or from the beginning again behind `rewind`. Files are written and read on the loop's
/// thread, in pieces of at most 64 KiB: mostly that is a copy into the page cache or out of it, cheaper than handing the piece to
/// another thread and being told of it. A disk that stalls under its writes stalls the worker for as long; docs/framing.md says
/// what to do.
final class Spool {
    /// Bytes of one write or read: 64 KiB.
    static let pieceSize = 64 * 1024

    private let settings: SpoolSettings
    private let store: SpoolStore
    private var memory = OutputBuffer()
    /// Bytes in memory, which is elsewhere while they are read.
    private var memoryCount = 0
    /// What of the process' budget the bytes in memory have.
    private var charge = MemoryCharge(.spool)
    /// Once bytes have gone to the file, all further ones do.
    private var file: TemporaryFile?
    /// What came from the file and isn't read yet.
    private var piece = OutputBuffer()
    /// Bytes taken from the quota.
    private var quota = 0
    /// Bytes that were read since the beginning.
    private var readCount = 0
    private var isOver = false

    init(_ settings: SpoolSettings, store: SpoolStore) {
        self.settings = settings
        self.store = store
    }

    deinit {
        assert(isOver, "a spool is ended before it is let go")
    }

    /// Bytes of the body so far.
    var count: Int { memoryCount + (file?.count ?? 0) }
    /// Whether every byte was read.
    var isAtEnd: Bool { readCount == count }

    /// Takes the next bytes of the body. After a fault no more may be appended; `count` says what was taken of them, which can be read
    /// like all else.
    func append(_ bytes: Span<UInt8>) throws(SpoolFault) {
        guard bytes.count <= settings.most - count else { throw counted(.tooLarge(settings.most)) }
        var at = 0
        if file == nil {
            at = min(bytes.count, settings.memory - memoryCount)
            // Without memory in the budget the disk takes it: it is slower, and no request is refused.
            if at > 0, !charge.set(memoryCount + at, from: store.memory) { at = 0 }
            if at > 0, memory.capacity == 0 { store.spares.lend(to: &memory) }
            memory.append(bytes.extracting(0..<at))
            memoryCount += at
        }
        while at < bytes.count {
            let end = min(at + Self.pieceSize, bytes.count)
            try write(bytes.extracting(at..<end))
            at = end
        }
    }

    private func write(_ piece: Span<UInt8>) throws(SpoolFault) {
        guard store.quota.take(piece.count) else { throw counted(.total) }
        quota += piece.count
        do throws(TemporaryFile.Failure) {
            try openFile().append(piece)
            store.bytes += piece.count
        } catch {
            store.lastFailure = (settings.directory, error)
            throw counted(SpoolFault(error))
        }
    }

    private func openFile() throws(TemporaryFile.Failure) -> TemporaryFile {
        if let file { return file }
        let made = try TemporaryFile(in: settings.directory)
        file = made
        store.files += 1
        return made
    }

    /// Sees that the next bytes are at hand: those that are in the file are read from it.
    func prepare() throws(SpoolFault) {
        guard let file, readCount >= memoryCount, piece.isEmpty, !isAtEnd else { return }
        if piece.capacity == 0 { store.spares.lend(to: &piece) }
        do throws(TemporaryFile.Failure) {
            _ = try file.read(from: readCount - memoryCount, upTo: Self.pieceSize, into: &piece)
        } catch {
            store.lastFailure = (settings.directory, error)
            throw counted(.failed)
        }
    }

    /// Lends `body` the bytes that are at hand, at most 64 KiB, where they lie; as many as it returns count as read. Behind
    /// `prepare` there are some, unless all were read. `body` may end the spool.
    func read<Failure: Error>(_ body: (Span<UInt8>) throws(Failure) -> Int) throws(Failure) {
        // The buffer is taken out: what is called looks at the spool.
        var lent = OutputBuffer()
        let isInMemory = readCount < memoryCount
        if isInMemory { swap(&lent, &memory) } else { swap(&lent, &piece) }
        defer {
            if isOver {
                store.spares.recycle(&lent)
            } else if isInMemory {
                swap(&lent, &memory)
            } else {
                swap(&lent, &piece)
            }
        }
        let start = isInMemory ? readCount : 0
        let taken = try body(lent.span.extracting(start..<min(start + Self.pieceSize, lent.count)))
        guard !isOver else { return }
        readCount += taken
        if !isInMemory { lent.drop(taken) }
    }

    /// Lets all of it be read once more.
    func rewind() {
        readCount = 0
        store.spares.recycle(&piece)
    }

    /// Gives back memory, file and quota.
    func end() {
        guard !isOver else { return }
        isOver = true
        store.spares.recycle(&memory)
        store.spares.recycle(&piece)
        memoryCount = 0
        charge.end(store.memory)
        if let file {
            store.files -= 1
            store.bytes -= file.count
        }
        file = nil
        if quota > 0 { store.quota.give(quota) }
        quota = 0
        readCount = 0
    }

    private func counted(_ fault: SpoolFault) -> SpoolFault {
        store.count(fault)
        return fault
    }
}

extension SpoolFault {
    init(_ failure: TemporaryFile.Failure) {
        self = failure.isFull ? .full : .failed
    }
}

/// What all spools of one worker share: the quota of the process, the worker's memory, and the counts.
final class SpoolStore {
    let quota: SpoolQuota
    let memory: MemoryAllowance
    /// Memory of small bodies that have ended, at most 256 KiB of a worker.
    fileprivate var spares = SpareBuffers(most: 4, capacity: 64 * 1024)
    /// Files that are open, and bytes in them.
    var files = 0
    var bytes = 0
    private var failures: [UInt64] = [0, 0, 0, 0]
    /// The last fault of a disk, and the folder in which that was.
    fileprivate(set) var lastFailure: (folder: String, failure: TemporaryFile.Failure)?

    private static let reasons = ["request_limit", "total", "no_space", "io"]

    init(quota: SpoolQuota, memory: MemoryAllowance) {
        self.quota = quota
        self.memory = memory
    }

    /// When the next line about a fault may follow, by what was reported.
    private var nextReports: [String: UInt64] = [:]
    /// Nanoseconds between two lines about one fault: 10 s.
    private static let reportGap: UInt64 = 10_000_000_000

    /// Whether a fault is to be reported now, `now` being nanoseconds of the loop's clock; `subject` says which one, as one of the
    /// disk's in a folder.
    func mayReport(_ subject: String, at now: UInt64) -> Bool {
        guard now >= nextReports[subject] ?? 0 else { return false }
        // Hosts are of what senders name; so many faults at once are told of anew.
        if nextReports.count >= 100 { nextReports = [:] }
        nextReports[subject] = now + Self.reportGap
        return true
    }

    /// Folders in which a file could be made, until one fails.
    private var folders: Set<String> = []

    /// Whether a body of about that length finds room: within its own bounds, within those of the process, and in a folder, whose disk
    /// must have as much again.
    func hasRoom(for count: Int, _ settings: SpoolSettings) -> Bool {
        guard count <= settings.most, count <= quota.limit - quota.used else { return false }
        if !folders.contains(settings.directory) {
            guard (try? TemporaryFile(in: settings.directory)) != nil else { return false }
            folders.insert(settings.directory)
        }
        return TemporaryFile.freeBytes(in: settings.directory) ?? 0 >= 2 * count
    }

    /// A file of that folder has failed: whether another one can be made there is to be seen anew.
    func forget(_ folder: String) { folders.remove(folder) }

    func count(_ fault: SpoolFault) {
        switch fault {
        case .tooLarge: failures[0] += 1
        case .total: failures[1] += 1
        case .full: failures[2] += 1
        case .failed: failures[3] += 1
        }
    }

    func visit(_ samples: inout MetricSamples) {
        samples.gauge("recast_spool_bytes", "Bytes of bodies on disk.", Double(bytes))
        samples.gauge("recast_spool_files", "Files of spooled bodies.", Double(files))
        for (reason, count) in zip(Self.reasons, failures) {
            samples.counter(
                "recast_spool_failures_total", "Bodies that could not be spooled.", labels: [.init("reason", reason)],
                count)
        }
    }
}

/// The bytes that spools may have on disk in the whole process. Asked once for each piece that goes to a file.
final class SpoolQuota: Sendable {
    /// The quota in bytes.
    let limit: Int
    private let taken = Atomic(0)

    init(limit: Int) {
        self.limit = limit
    }

    /// Bytes on disk.
    var used: Int { taken.load(ordering: .relaxed) }

    /// Takes `bytes`; false when so many aren't left.
    func take(_ bytes: Int) -> Bool {
        if taken.add(bytes, ordering: .relaxed).newValue <= limit { return true }
        taken.subtract(bytes, ordering: .relaxed)
        return false
    }

    func give(_ bytes: Int) { taken.subtract(bytes, ordering: .relaxed) }
}
