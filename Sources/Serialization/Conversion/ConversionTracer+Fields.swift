internal import Octets

// Flat input: fields and files, each with a name of its own.
extension ConversionTracer {
    mutating func runFields<Decoder: FieldDecoder & ~Copyable>(
        _ decoder: consuming Decoder, _ input: BodyEncoding, _ body: Span<UInt8>
    ) throws(ConversionError) {
        switch plan.output {
        case .form, .multipart, .raw:
            if passes { return try passFields(decoder, input, body) }
            try gatherFields(decoder, input, body, outlet: FlatOutlet(TracedFields(log), plan: plan))
        case .json, .plist, .bplist, .xml, .text:
            try gatherFields(decoder, input, body, outlet: DocumentOutlet(TracedDocument(log), plan: plan))
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
        _ decoder: consuming Decoder, _ input: BodyEncoding, _ body: Span<UInt8>
    ) throws(ConversionError) {
        var mapper = FieldMapper(TracedFields(log), plan: plan, input: input)
        try mapper.begin(sources: sources)
        for target in log.targets { trace.sent.append(.init(source: nil, target: target, rules: ["map.set"])) }
        var probe = PassingProbe(mapper: mapper, names: TracedNames(plan, input), log: log)
        try Self.feed(&decoder, body, into: &probe)
        trace.sent += probe.sent
        trace.removed += probe.removed
    }

    /// Fields that are gathered in a tree, and files that don't wait for them.
    private mutating func gatherFields<Decoder: FieldDecoder & ~Copyable, Outlet: FileOutlet & ~Copyable>(
        _ decoder: consuming Decoder, _ input: BodyEncoding, _ body: Span<UInt8>, outlet: consuming Outlet
    ) throws(ConversionError) {
        var probe = GatheringProbe(
            gatherer: FieldGatherer(outlet, plan: plan, input: input), names: TracedNames(plan, input), log: log,
            infersTypes: plan.fieldDecoding.types == .safe, dialect: plan.fieldDecoding.dialect)
        try Self.feed(&decoder, body, into: &probe)
        trace.sent += probe.sent
        trace.removed += probe.removed
        origins = probe.origins
        try probe.gatherer.fields.settle()
        // A value that another one has taken the place of, or was too late for it.
        for leaf in origins.keys.sorted() where !probe.gatherer.fields.tree.isPart(leaf) {
            let options = plan.fieldDecoding
            remove(
                leaf,
                by: options.dialect == .recast
                    ? "duplicates: \(options.duplicates.rawValue)" : "dialect: \(options.dialect.rawValue)")
        }
        let root = probe.gatherer.fields.tree.root
        probe.gatherer.fields.tree.visit(root) { node, tree in
            if origins[node] == nil { origins[node] = Origin(source: tree.tracedPath(node)) }
        }
        try settle(&probe.gatherer.fields.tree)
        try probe.gatherer.outlet.endFiles()
        if !probe.gatherer.outlet.needsRootObject { probe.gatherer.fields.settleRoot() }
        let isOpen = probe.gatherer.outlet.isRootOpen
        if holdsDocument { try nameFields(&probe.gatherer.fields.tree) }
        // The declared files of fields were made before they came here.
        try send(&probe.gatherer.fields.tree, into: &probe.gatherer.outlet, isOpen: isOpen) {
            .init(omitted: $0.removedCount)
        }
        try drain(&probe.gatherer.outlet) { outlet throws(ConversionError) in try outlet.drain() }
    }
}

/// What a plan does by a part's name.
internal struct TracedNames: ~Copyable {
    private let plan: ConversionPlan
    private let input: BodyEncoding
    private let gate: FileGate
    private var name = FieldName()
    private var mapped = MappedName()

    init(_ plan: ConversionPlan, _ input: BodyEncoding) {
        self.plan = plan
        self.input = input
        gate = FileGate(plan)
    }

    /// The rules that move the part of that name, or the one that leaves it out, which is the last one then.
    mutating func rules(for part: borrowing PartHead) throws(ConversionError) -> [String] {
        try name.parse(part.name, options: plan.fieldDecoding, limits: plan.limits)
        if name.isDropped { return ["dialect: \(plan.fieldDecoding.dialect.rawValue)"] }
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
        if let index = gate.rule(for: mapped) {
            let rule = plan.files[index]
            let source = plan.output.hasFiles ? rule.source(from: input) : nil
            guard part.isFile || source != nil else { return rules }
            let word = part.isFile ? rule.policy.rawValue : source.map { "from \($0.rawValue)" } ?? ""
            return rules + ["files.\(rule.path): \(word)"]
        }
        guard part.isFile else { return rules }
        let general = plan.generalFilePolicy
        return general == .stream ? rules : rules + ["files: \(general.rawValue)"]
    }
}

/// The part that a probe watches.
private struct WatchedPart {
    var name: String
    var isFile: Bool
    var rules: [String]

    init(_ head: borrowing PartHead, _ names: inout TracedNames) throws(ConversionError) {
        name = head.name.lossyString()
        isFile = head.isFile
        rules = try names.rules(for: head)
    }

    func entry(_ log: TraceLog) -> ConversionTrace.Entry {
        .init(
            isFile: isFile || log.isFile && !log.targets.isEmpty, source: name, target: log.targets.last, rules: rules)
    }
}

/// Watches fields go through the mapper of the lane that holds nothing.
private struct PassingProbe: FieldSink, ~Copyable {
    var mapper: FieldMapper<TracedFields>
    var names: TracedNames
    let log: TraceLog
    var sent: [ConversionTrace.Entry] = []
    var removed: [ConversionTrace.Entry] = []
    private var part: WatchedPart?

    init(mapper: consuming FieldMapper<TracedFields>, names: consuming TracedNames, log: TraceLog) {
        self.mapper = mapper
        self.names = names
        self.log = log
    }

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        log.clear()
        try mapper.beginPart(head)
        part = try WatchedPart(head, &names)
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try mapper.content(piece, isLast: isLast)
        guard isLast, let part else { return }
        let entry = part.entry(log)
        if entry.target == nil { removed.append(entry) } else { sent.append(entry) }
    }
}

/// Watches fields go into the tree, and files past it.
private struct GatheringProbe<Outlet: FileOutlet & ~Copyable>: FieldSink, ~Copyable {
    var gatherer: FieldGatherer<Outlet>
    var names: TracedNames
    let log: TraceLog
    let infersTypes: Bool
    let dialect: Dialect
    var sent: [ConversionTrace.Entry] = []
    var removed: [ConversionTrace.Entry] = []
    var origins: [Tree.Node: ConversionTracer.Origin] = [:]
    private var known = 0
    private var part: WatchedPart?

    init(
        gatherer: consuming FieldGatherer<Outlet>, names: consuming TracedNames, log: TraceLog, infersTypes: Bool,
        dialect: Dialect
    ) {
        self.gatherer = gatherer
        self.names = names
        self.log = log
        self.infersTypes = infersTypes
        self.dialect = dialect
    }

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        log.clear()
        known = gatherer.fields.tree.records.count
        try gatherer.beginPart(head)
        part = try WatchedPart(head, &names)
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try gatherer.content(piece, isLast: isLast)
        guard isLast, let part else { return }
        let entry = part.entry(log)
        if entry.target != nil { return sent.append(entry) }
        if part.isFile { return removed.append(entry) }
        var isKept = false
        for index in known..<gatherer.fields.tree.records.count {
            let node = Tree.Node(index)
            let kind = gatherer.fields.tree.kind(node)
            guard node != gatherer.fields.tree.root else { continue }
            isKept = true
            guard !kind.isContainer else { continue }
            var origin = ConversionTracer.Origin(source: part.name)
            if infersTypes, kind != .string { origin.rules.append("types: safe") }
            origins[node] = origin
        }
        // A library's rule has left it out before it came into the tree.
        if !isKept {
            removed.append(.init(source: part.name, target: nil, rules: ["dialect: \(dialect.rawValue)"]))
        }
    }
}
