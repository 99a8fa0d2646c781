internal import Octets

/// Fields written down to be sent later, as often as wanted. Reused; keeps its allocations.
internal struct FieldList: FieldSink {
    private struct Entry {
        var nameStart: Int
        var valueStart: Int
        var end: Int
        var hasValue: Bool
        /// The index of its head, where that says more than the name; else -1.
        var head: Int
    }

    /// Bytes of all names and values.
    private let limit: Int
    private var bytes: [UInt8] = []
    private var entries: [Entry] = []
    private var heads: [PartHead] = []
    private var headBytes = 0

    /// Beyond `limit` bytes a field is refused with `limit_tree`.
    init(limit: Int = .max) { self.limit = limit }

    var isFull: Bool { false }
    var isEmpty: Bool { entries.isEmpty }
    /// Bytes of all that was written down.
    var count: Int { bytes.count + headBytes }
    /// Bytes of memory that it takes: arrays double as they grow.
    var allocatedCount: Int {
        min(bytes.capacity, 2 * bytes.count) + min(entries.capacity, 2 * entries.count) * MemoryLayout<Entry>.stride
            + headBytes
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
        if !heads.isEmpty { heads.removeAll(keepingCapacity: true) }
        headBytes = 0
    }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        let start = bytes.count
        try check(head.storedCount)
        bytes.append(contentsOf: head.name)
        var entry = Entry(
            nameStart: start, valueStart: bytes.count, end: bytes.count, hasValue: head.hasValue, head: -1)
        if head.hasMediaType || head.otherFieldCount > 0 {
            entry.head = heads.count
            heads.append(copy head)
            headBytes += head.storedCount
        }
        entries.append(entry)
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try check(piece.count)
        bytes.append(contentsOf: piece)
        entries[entries.count - 1].end = bytes.count
    }

    /// Each field counts for what it takes beside its bytes.
    private func check(_ count: Int) throws(ConversionError) {
        guard limit != .max else { return }
        guard bytes.count + headBytes + entries.count * MemoryLayout<Entry>.stride + count <= limit else {
            throw .limit("tree", of: limit, what: "the size of what precedes the first file")
        }
    }

    /// Sends all fields to `sink`.
    func send<Sink: FieldSink & ~Copyable>(to sink: inout Sink) throws(ConversionError) {
        var head = PartHead()
        for entry in entries {
            if entry.head >= 0 {
                try sink.beginPart(heads[entry.head])
            } else {
                head.setName(bytes.span.extracting(entry.nameStart..<entry.valueStart))
                head.hasValue = entry.hasValue
                try sink.beginPart(head)
            }
            try sink.content(bytes.span.extracting(entry.valueStart..<entry.end), isLast: true)
        }
    }
}

/// The fields that `set` gives a flat body, made anew for each body.
internal struct AssignedFields: ~Copyable {
    private let map: FieldMap
    private var tree: Tree
    private var flattener: Flattener<FieldList>

    init(_ plan: ConversionPlan) {
        var sets = FieldMap()
        sets.set = plan.map.set
        map = sets
        tree = Tree(limits: plan.limits)
        flattener = Flattener(target: FieldList(), options: plan.fieldEncoding, limits: plan.limits)
    }

    /// Sends the fields to `sink`.
    mutating func send<Sink: FieldSink & ~Copyable>(
        _ sources: [[UInt8]], to sink: inout Sink
    ) throws(ConversionError) {
        guard !map.set.isEmpty else { return }
        tree.removeAll()
        flattener.reset()
        flattener.target.removeAll()
        try tree.makeRootObject()
        try tree.apply(map, sources: sources)
        var walk = TreeWalk()
        walk.start(&tree, order: .input)
        _ = try walk.advance(&tree, into: &flattener)
        try flattener.target.send(to: &sink)
    }
}
