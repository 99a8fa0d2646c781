internal import Octets

// Flat input: fields and files, each with a name of its own.
extension ConversionTracer {
    mutating func runFields<Decoder: FieldDecoder & ~Copyable>(
        _ decoder: consuming Decoder, _ body: Span<UInt8>
    ) throws(ConversionError) {
        if plan.streamsFields, plan.output == .form || plan.output == .multipart || plan.output == .raw {
            return try passFields(decoder, body)
        }
        switch plan.output {
        case .form, .multipart, .raw:
            try gatherFields(decoder, body, outlet: FlatOutlet(TracedFields(log), plan: plan))
        case .json, .plist, .bplist, .xml, .text:
            try gatherFields(decoder, body, outlet: DocumentOutlet(TracedDocument(log), plan: plan))
        }
    }

    private static func feed<Decoder: FieldDecoder & ~Copyable, Sink: FieldSink & ~Copyable>(
        _ decoder: inout Decoder, _ body: Span<UInt8>, into sink: inout Sink
    ) throws(ConversionError) {
        var fed = 0
        while fed < body.count { fed += try decoder.feed(body.extracting(fed..<body.count), into: &sink) }
        try decoder.finish(into: &sink)
    }

    /// Fields that pass one by one under their own names.
    private mutating func passFields<Decoder: FieldDecoder & ~Copyable>(
        _ decoder: consuming Decoder, _ body: Span<UInt8>
    ) throws(ConversionError) {
        var mapper = FieldMapper(TracedFields(log), plan: plan)
        try mapper.begin(sources: sources)
        for target in log.targets { trace.sent.append(.init(source: nil, target: target, rules: ["map.set"])) }
        var probe = PassingProbe(mapper: mapper, names: TracedNames(plan), log: log)
        try Self.feed(&decoder, body, into: &probe)
        trace.sent += probe.sent
        trace.removed += probe.removed
    }

    /// Fields that are gathered in a tree, and files that don't wait for them.
    private mutating func gatherFields<Decoder: FieldDecoder & ~Copyable, Outlet: FileOutlet & ~Copyable>(
        _ decoder: consuming Decoder, _ body: Span<UInt8>, outlet: consuming Outlet
    ) throws(ConversionError) {
        var probe = GatheringProbe(
            gatherer: FieldGatherer(outlet, plan: plan), names: TracedNames(plan), log: log,
            infersTypes: plan.fieldDecoding.types == .safe)
        try Self.feed(&decoder, body, into: &probe)
        trace.sent += probe.sent
        trace.removed += probe.removed
        origins = probe.origins
        try probe.gatherer.fields.settle()
        // A value that another one has taken the place of, or was too late for it.
        for leaf in origins.keys.sorted() where !probe.gatherer.fields.tree.isPart(leaf) {
            remove(leaf, by: "duplicates: \(plan.fieldDecoding.duplicates.rawValue)")
        }
        let root = probe.gatherer.fields.tree.root
        probe.gatherer.fields.tree.visit(root) { node, tree in
            if origins[node] == nil { origins[node] = Origin(source: tree.tracedPath(node)) }
        }
        try settle(&probe.gatherer.fields.tree)
        try probe.gatherer.outlet.endFiles()
        let isOpen = probe.gatherer.outlet.isRootOpen
        try send(&probe.gatherer.fields.tree, into: &probe.gatherer.outlet, isOpen: isOpen) { _ in 0 }
    }
}

/// What a plan does by a part's name.
internal struct TracedNames: ~Copyable {
    private let plan: ConversionPlan
    private let gate: FileGate
    private var name = FieldName()
    private var mapped = MappedName()

    init(_ plan: ConversionPlan) {
        self.plan = plan
        gate = FileGate(plan)
    }

    /// The rules that move the part of that name, or the one that leaves it out, which is the last one then.
    mutating func rules(for part: borrowing PartHead) throws(ConversionError) -> [String] {
        try name.parse(part.name, options: plan.fieldDecoding, limits: plan.limits)
        mapped.set(name)
        var rules: [String] = []
        for path in plan.map.remove where mapped.isAtOrBelow(path) { return ["map.remove \(path)"] }
        for rename in plan.map.rename where mapped.isAtOrBelow(rename.from) {
            mapped.move(rename)
            rules.append("map.rename \(rename.from) to \(rename.to)")
        }
        for assignment in plan.map.set where mapped.isAtOrBelow(assignment.path) {
            return rules + ["map.set \(assignment.path)"]
        }
        guard part.isFile else { return rules }
        if let rule = gate.rule(for: mapped) {
            return rules + ["files.\(plan.files[rule].path): \(plan.files[rule].policy.rawValue)"]
        }
        let general =
            plan.fieldDecoding.files == .stream ? plan.fieldEncoding.files : plan.fieldDecoding.files
        return general == .stream ? rules : rules + ["files: \(general.rawValue)"]
    }
}

/// Watches fields go through the mapper of the lane that holds nothing.
private struct PassingProbe: FieldSink, ~Copyable {
    var mapper: FieldMapper<TracedFields>
    var names: TracedNames
    let log: TraceLog
    var sent: [ConversionTrace.Entry] = []
    var removed: [ConversionTrace.Entry] = []

    init(mapper: consuming FieldMapper<TracedFields>, names: consuming TracedNames, log: TraceLog) {
        self.mapper = mapper
        self.names = names
        self.log = log
    }

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        log.clear()
        try mapper.beginPart(head)
        let rules = try names.rules(for: head)
        let entry = ConversionTrace.Entry(
            isFile: head.isFile, source: head.name.lossyString(), target: log.targets.last, rules: rules)
        if entry.target == nil { removed.append(entry) } else { sent.append(entry) }
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try mapper.content(piece, isLast: isLast)
    }
}

/// Watches fields go into the tree, and files past it.
private struct GatheringProbe<Outlet: FileOutlet & ~Copyable>: FieldSink, ~Copyable {
    var gatherer: FieldGatherer<Outlet>
    var names: TracedNames
    let log: TraceLog
    let infersTypes: Bool
    var sent: [ConversionTrace.Entry] = []
    var removed: [ConversionTrace.Entry] = []
    var origins: [Tree.Node: ConversionTracer.Origin] = [:]
    private var known = 0
    private var field: String?

    init(
        gatherer: consuming FieldGatherer<Outlet>, names: consuming TracedNames, log: TraceLog, infersTypes: Bool
    ) {
        self.gatherer = gatherer
        self.names = names
        self.log = log
        self.infersTypes = infersTypes
    }

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        log.clear()
        field = head.isFile ? nil : head.name.lossyString()
        known = gatherer.fields.tree.records.count
        try gatherer.beginPart(head)
        guard head.isFile else { return }
        let entry = ConversionTrace.Entry(
            isFile: true, source: head.name.lossyString(), target: log.targets.last, rules: try names.rules(for: head))
        if entry.target == nil { removed.append(entry) } else { sent.append(entry) }
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try gatherer.content(piece, isLast: isLast)
        guard isLast, let field else { return }
        for index in known..<gatherer.fields.tree.records.count {
            let node = Tree.Node(index)
            let kind = gatherer.fields.tree.kind(node)
            guard !kind.isContainer, node != gatherer.fields.tree.root else { continue }
            var origin = ConversionTracer.Origin(source: field)
            if infersTypes, kind != .string { origin.rules.append("types: safe") }
            origins[node] = origin
        }
    }
}
