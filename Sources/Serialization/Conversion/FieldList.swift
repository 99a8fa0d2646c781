internal import Octets

/// Fields written down to be sent later, as often as wanted. Reused; keeps its allocations.
internal struct FieldList: FieldSink {
    private struct Entry {
        var nameStart: Int
        var valueStart: Int
        var end: Int
        var hasValue: Bool
    }

    private var bytes: [UInt8] = []
    private var entries: [Entry] = []

    var isFull: Bool { false }
    var isEmpty: Bool { entries.isEmpty }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        entries.removeAll(keepingCapacity: true)
    }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        let start = bytes.count
        bytes.append(contentsOf: head.name)
        entries.append(Entry(nameStart: start, valueStart: bytes.count, end: bytes.count, hasValue: head.hasValue))
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        bytes.append(contentsOf: piece)
        entries[entries.count - 1].end = bytes.count
    }

    /// Sends all fields to `sink`.
    func send<Sink: FieldSink & ~Copyable>(to sink: inout Sink) throws(ConversionError) {
        var head = PartHead()
        for entry in entries {
            head.setName(bytes.span.extracting(entry.nameStart..<entry.valueStart))
            head.hasValue = entry.hasValue
            try sink.beginPart(head)
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
