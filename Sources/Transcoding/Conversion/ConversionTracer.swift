internal import Octets

/// Takes one body through the stages of the pipelines with an observer, and keeps for each value where it came from.
///
/// Names are those that the encoders of the pipelines would write, got by recorders in their place.
internal struct ConversionTracer {
    typealias Origin = ConversionObserver.Origin

    let plan: ConversionPlan
    let sources: [[UInt8]]
    /// Whether fields pass one by one.
    let passes: Bool
    /// Hears what the rules do.
    let observer: ConversionObserver
    let log = TraceLog()
    var trace = ConversionTrace()
    var origins: [Tree.Node: Origin] { observer.origins }
    /// The members of an object that is a file, which is still to begin: indices into what was sent.
    var absorbed: [Int] = []
    /// Under a dialect that holds the document: values of which it isn't known yet where they are held, those that are held nowhere,
    /// and the others by the node of the held document.
    var pending: [Held] = []
    var lost: [Held] = []
    var held: [Tree.Node: [Held]] = [:]

    /// - Parameter isMultipart: whether an output `auto` has become multipart.
    init(plan: ConversionPlan, input: BodyEncoding, isMultipart: Bool, sources: [[UInt8]]) {
        var plan = plan.decided(for: input)
        passes = plan.streamsFields
        let isDocument = !input.isFlat
        let options = plan.fieldDecoding
        observer = ConversionObserver(
            readsDocument: isDocument, renamesInPlace: isDocument && plan.streams(from: input),
            replacedBy: options.dialect == .recast
                ? "duplicates: \(options.duplicates.rawValue)" : "dialect: \(options.dialect.rawValue)")
        if let plain = plan.outputWithoutFiles {
            if !isMultipart { plan.output = plain }
            plan.outputWithoutFiles = nil
        }
        // What streams needs no tree; here it does.
        plan.limits.tree = Int(Int32.max)
        self.plan = plan
        self.sources = sources
    }

    mutating func run(
        _ input: BodyEncoding, contentType: Span<UInt8>, body: Span<UInt8>
    ) throws(ConversionError) -> ConversionTrace {
        try decode(input, contentType: contentType, body: body)
        if plan.output == .text || plan.output == .raw {
            for index in trace.sent.indices { trace.sent[index].target = "the body" }
        }
        return trace
    }

    // MARK: Documents

    mutating func runDocument<Decoder: DocumentDecoder & ~Copyable>(
        _ decoder: consuming Decoder, _ input: BodyEncoding, _ body: Span<UInt8>
    ) throws(ConversionError) {
        var tree = Tree(limits: plan.limits, duplicates: plan.effectiveJSONDuplicates)
        tree.observer = observer
        try Self.read(body, decoder, into: &tree)
        if input == .text, plan.inputField == nil { observer.origins[tree.root] = Origin(source: "the body") }
        // A decoder may have made another tree.
        tree.observer = observer
        var splicer = JSONSplicer(duplicates: plan.effectiveJSONDuplicates, limits: plan.limits)
        try tree.apply(plan, sources: sources, splicer: &splicer)
        trace.removed += observer.removed
        guard plan.output.isFlat else {
            var encoder = EventMapper(TracedDocument(log), plan: plan, map: FieldMap())
            encoder.reset(sources: [])
            return try send(&tree, into: &encoder, isOpen: false) { .init(removed: $0.accounting.removed) }
        }
        var encoder = EventMapper(FlatEncoder(TracedFields(log), plan: plan), plan: plan, map: FieldMap())
        encoder.reset(sources: [])
        encoder.encoder.flattener.observer = log
        try send(&tree, into: &encoder, isOpen: false) {
            .init(
                removed: $0.accounting.removed, omitted: $0.encoder.removedCount, absorbed: $0.absorbed,
                fileRule: $0.gate.madeRule)
        }
        try drain(&encoder) { encoder throws(ConversionError) in try encoder.encoder.drain() }
    }

    private static func read<Decoder: DocumentDecoder & ~Copyable>(
        _ body: Span<UInt8>, _ decoder: consuming Decoder, into tree: inout Tree
    ) throws(ConversionError) {
        var fed = 0
        while fed < body.count { fed += try decoder.feed(body.extracting(fed..<body.count), building: &tree) }
        try decoder.finish(building: &tree)
    }
}

// MARK: Flat input: fields and files, each with a name of its own

extension ConversionTracer {
    mutating func runFields<Decoder: FieldDecoder & ~Copyable>(
        _ decoder: consuming Decoder, _ input: BodyEncoding, _ body: Span<UInt8>
    ) throws(ConversionError) {
        guard plan.output.isFlat else {
            return try gatherFields(decoder, input, body, outlet: DocumentOutlet(TracedDocument(log), plan: plan))
        }
        if passes { return try passFields(decoder, input, body) }
        var outlet = FlatOutlet(TracedFields(log), plan: plan)
        outlet.encoder.flattener.observer = log
        try gatherFields(decoder, input, body, outlet: outlet)
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
        mapper.observer = observer
        for target in log.targets { trace.sent.append(.init(source: nil, target: target, rules: ["map.set"])) }
        var probe = PassingProbe(mapper: mapper, log: log, observer: observer)
        try Self.feed(&decoder, body, into: &probe)
        trace.sent += probe.sent
        trace.removed += observer.removed
    }

    /// Fields that are gathered in a tree, and files that don't wait for them.
    private mutating func gatherFields<Decoder: FieldDecoder & ~Copyable, Outlet: FileOutlet & ~Copyable>(
        _ decoder: consuming Decoder, _ input: BodyEncoding, _ body: Span<UInt8>, outlet: consuming Outlet
    ) throws(ConversionError) {
        var probe = GatheringProbe(
            gatherer: FieldGatherer(outlet, plan: plan, input: input), log: log, observer: observer,
            options: plan.fieldDecoding)
        try Self.feed(&decoder, body, into: &probe)
        trace.sent += probe.sent
        var splicer = JSONSplicer(duplicates: plan.spliceDuplicates, limits: plan.limits)
        try probe.gatherer.settleFields(plan, sources: sources, splicer: &splicer)
        trace.removed += observer.removed
        let isOpen = probe.gatherer.outlet.isRootOpen
        // The declared files of fields were made before they came here.
        try send(&probe.gatherer.fields.tree, into: &probe.gatherer.outlet, isOpen: isOpen) {
            .init(omitted: $0.removedCount)
        }
        try drain(&probe.gatherer.outlet) { outlet throws(ConversionError) in try outlet.drain() }
    }
}

/// The part that a probe watches.
private struct WatchedPart {
    var name: String
    var isFile: Bool
    var rules: [String]

    init(_ head: borrowing PartHead, _ observer: ConversionObserver) {
        name = head.name.lossyString()
        isFile = head.isFile
        rules = observer.partRules
    }

    func entry(_ log: TraceLog) -> ConversionTrace.Entry {
        .init(
            isFile: isFile || log.isFile && !log.targets.isEmpty, source: name, target: log.targets.last, rules: rules)
    }
}

/// Watches fields go through the mapper of fields that pass one by one.
private struct PassingProbe: FieldSink, ~Copyable {
    var mapper: FieldMapper<TracedFields>
    let log: TraceLog
    let observer: ConversionObserver
    var sent: [ConversionTrace.Entry] = []
    private var part: WatchedPart?

    init(mapper: consuming FieldMapper<TracedFields>, log: TraceLog, observer: ConversionObserver) {
        self.mapper = mapper
        self.log = log
        self.observer = observer
    }

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        log.clear()
        observer.beginPart()
        try mapper.beginPart(head)
        part = WatchedPart(head, observer)
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try mapper.content(piece, isLast: isLast)
        guard isLast, let part else { return }
        let entry = part.entry(log)
        if entry.target == nil { observer.removed.append(entry) } else { sent.append(entry) }
    }
}

/// Watches fields go into the tree, and files past it.
private struct GatheringProbe<Outlet: FileOutlet & ~Copyable>: FieldSink, ~Copyable {
    var gatherer: FieldGatherer<Outlet>
    let log: TraceLog
    let observer: ConversionObserver
    let options: FieldDecodingOptions
    var sent: [ConversionTrace.Entry] = []
    private var known = 0
    private var part: WatchedPart?

    init(
        gatherer: consuming FieldGatherer<Outlet>, log: TraceLog, observer: ConversionObserver,
        options: FieldDecodingOptions
    ) {
        self.gatherer = gatherer
        self.log = log
        self.observer = observer
        self.options = options
        self.gatherer.observer = observer
    }

    var isFull: Bool { false }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        log.clear()
        observer.beginPart()
        known = gatherer.fields.tree.records.count
        try gatherer.beginPart(head)
        part = WatchedPart(head, observer)
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try gatherer.content(piece, isLast: isLast)
        guard isLast, let part else { return }
        let entry = part.entry(log)
        if entry.target != nil { return sent.append(entry) }
        if part.isFile { return observer.removed.append(entry) }
        var isKept = false
        for index in known..<gatherer.fields.tree.records.count {
            let node = Tree.Node(index)
            let kind = gatherer.fields.tree.kind(node)
            guard node != gatherer.fields.tree.root else { continue }
            isKept = true
            guard !kind.isContainer else { continue }
            let isInferred = options.types == .safe && kind != .string
            observer.origins[node] = .init(source: part.name, rules: isInferred ? ["types: safe"] : [])
        }
        // A library's rule has left it out before it came into the tree.
        if !isKept {
            observer.removed.append(
                .init(source: part.name, target: nil, rules: ["dialect: \(options.dialect.rawValue)"]))
        }
    }
}

// MARK: The output

// The tree's events, one value at a time, into the encoders of the pipelines with recorders behind them.
extension ConversionTracer {
    /// What the sink's rules have done so far.
    struct Count: Equatable {
        /// Values that a rule about files left out.
        var removed = 0
        /// Values that the encoder's options left out.
        var omitted = 0
        /// Members of an object that is a file.
        var absorbed = 0
        /// The rule of the latest file.
        var fileRule = 0
    }

    private struct Place {
        /// The names that led here, as far as the output spells them.
        var isNested = false
        var isInArray = false
        /// The field whose JSON text holds the value.
        var text: String?
        /// Whether that is a part of its own, as `parts` says.
        var isPart = false
    }

    /// Sends the document. `removed` is the sink's count of what its rules left out.
    mutating func send<Sink: EventSink & ~Copyable>(
        _ tree: inout Tree, into sink: inout Sink, isOpen: Bool, count: (borrowing Sink) -> Count
    ) throws(ConversionError) {
        guard tree.root != Tree.none else { return }
        try send(tree.root, &tree, into: &sink, Place(), isOpen: isOpen, count: count)
    }

    private mutating func send<Sink: EventSink & ~Copyable>(
        _ node: Tree.Node, _ tree: inout Tree, into sink: inout Sink, _ place: Place, isOpen: Bool,
        count: (borrowing Sink) -> Count
    ) throws(ConversionError) {
        log.clear()
        let before = count(sink)
        let parent = tree.parent(node)
        if parent != Tree.none, tree.kind(parent).hasNames {
            let name = tree.name(node).copied()
            try sink.key(name.span)
        }
        let kind = tree.kind(node)
        guard kind.isContainer else {
            try sendScalar(node, kind, tree, into: &sink)
            note(node, kind, place, before, count(sink))
            return settlePending()
        }
        if kind.hasNames {
            if plan.treeOrder == .sorted { tree.sortMembers(node) }
            if !isOpen { try sink.beginObject() }
        } else {
            try sink.beginArray()
        }
        let own = log.takeHeldNode()
        var inner = place
        inner.text = place.text ?? log.targets.last
        inner.isPart = place.isPart || !log.targets.isEmpty && log.isJSONPart
        if parent != Tree.none { inner.isNested = inner.isNested || kind.hasNames }
        inner.isInArray = inner.isInArray || kind.isArray
        let first = tree.firstChild(node)
        let isFirstSeen = !log.targets.isEmpty
        var child = first
        while child != Tree.none {
            try send(child, &tree, into: &sink, inner, isOpen: false, count: count)
            child = tree.nextSibling(child)
        }
        if first != Tree.none { log.clear() }
        if kind.hasNames { try sink.endObject() } else { try sink.endArray() }
        if first == Tree.none, node != tree.root || !kind.hasNames {
            note(node, kind, place, before, count(sink))
        } else if !log.targets.isEmpty, !isFirstSeen, first != Tree.none {
            // All that stood in it was left out, and what is empty has a form.
            note(node, kind, place, before, before)
        } else if let own, node != tree.root {
            // It has a field of its own where all that stands in it is left out.
            let rules = (origins[node] ?? Origin()).rules + spelling(kind, place)
            held[own, default: []].append(.init(node: node, kind: kind, rules: rules, isExpected: false))
        }
        settlePending(own: first == Tree.none ? own : nil)
    }

    private func sendScalar<Sink: EventSink & ~Copyable>(
        _ node: Tree.Node, _ kind: Tree.Kind, _ tree: borrowing Tree, into sink: inout Sink
    ) throws(ConversionError) {
        let text = tree.text(node).copied()
        switch kind {
        case .string: try sink.string(text.span, isLast: true)
        case .number: try sink.number(text.span)
        case .date: try sink.date(text.span)
        case .data: try sink.data(text.span)
        case .yes: try sink.bool(true)
        case .no: try sink.bool(false)
        case .null: try sink.null()
        case .object, .keyed, .array, .collected: break
        }
    }

    /// Writes down what became of a scalar or an empty container.
    private mutating func note(
        _ node: Tree.Node, _ kind: Tree.Kind, _ place: Place, _ before: Count, _ after: Count
    ) {
        let origin = origins[node] ?? Origin()
        if after.absorbed > before.absorbed, log.targets.isEmpty {
            // The file whose filename or type it is begins with its `data`, which comes last.
            absorbed.append(trace.sent.count)
            trace.sent.append(
                .init(isFile: true, source: origin.source, target: "", rules: origin.rules + [fileRule(after)]))
            return
        }
        var target = log.targets.last ?? place.text
        if target == nil, log.hasContent { target = log.latest }
        // A document's encoders leave out what its recorder has got.
        if kind == .null, leavesOutNulls { target = nil }
        if kind.isArray, plan.output == .xml, plan.xmlEncoding.convention == .attributes,
            plan.xmlEncoding.empties == .omit
        {
            target = nil
        }
        if target == nil, holdsDocument, after == before {
            return pending.append(.init(node: node, kind: kind, rules: origin.rules + spelling(kind, place)))
        }
        guard let target else {
            let isDropped = after.removed > before.removed
            return trace.removed.append(
                .init(
                    source: origin.source, target: nil,
                    rules: origin.rules + [isDropped ? "files: drop" : reason(kind)]))
        }
        let isFile = log.isFile && !log.targets.isEmpty
        var rules = origin.rules
        if isFile {
            rules.append(fileRule(after))
            for index in absorbed { trace.sent[index].target = target }
        }
        if place.isPart || !log.targets.isEmpty && log.isJSONPart {
            rules.append("parts")
        } else if absorbed.isEmpty || !isFile {
            rules += spelling(kind, place)
        }
        if isFile { absorbed = [] }
        trace.sent.append(
            .init(
                isFile: isFile, source: origin.source, target: target.isEmpty ? "the document" : target, rules: rules))
    }

    /// The rule that has made a file of a value.
    private func fileRule(_ count: Count) -> String {
        guard plan.files.indices.contains(count.fileRule) else { return "files" }
        let rule = plan.files[count.fileRule]
        return "files.\(rule.path): from \((rule.source(from: .json) ?? .base64).rawValue)"
    }

    private var leavesOutNulls: Bool {
        switch plan.output {
        case .plist, .bplist: plan.propertyListEncoding.nulls == .omit
        case .xml: plan.xmlEncoding.convention == .attributes && plan.xmlEncoding.nulls == .omit
        default: false
        }
    }

    private func reason(_ kind: Tree.Kind) -> String {
        if kind.isContainer {
            return "empties: \((plan.output == .xml ? plan.xmlEncoding.empties : plan.fieldEncoding.empties).rawValue)"
        }
        return "nulls: \(nulls)"
    }

    private var nulls: String {
        switch plan.output {
        case .plist, .bplist: plan.propertyListEncoding.nulls.rawValue
        case .xml: plan.xmlEncoding.nulls.rawValue
        default: plan.fieldEncoding.nulls.rawValue
        }
    }

    /// The options that gave the value its name or its text.
    private func spelling(_ kind: Tree.Kind, _ place: Place) -> [String] {
        var rules: [String] = []
        let options = plan.fieldEncoding
        let isFlat = plan.output == .form || plan.output == .multipart
        if isFlat {
            if place.isInArray || kind.isArray { rules.append("arrays: \(options.arrays.rawValue)") }
            if place.isNested || kind.hasNames { rules.append("nesting: \(options.nesting.rawValue)") }
        }
        guard place.text == nil else { return rules }
        if kind.isContainer, isFlat { rules.append("empties: \(options.empties.rawValue)") }
        if kind == .null, plan.output != .json { rules.append("nulls: \(nulls)") }
        if kind == .yes || kind == .no, options.booleans == .numeric { rules.append("booleans: numeric") }
        return rules
    }
}

// MARK: Documents that are held back

// Dialects that sort what they write hold the document until its end, so that fields don't come out where they go in.
extension ConversionTracer {
    /// A value that is held back.
    struct Held {
        var node: Tree.Node
        var kind: Tree.Kind
        var rules: [String]
        /// Whether it goes out or is left out; an object or array that holds something may do neither.
        var isExpected = true
    }

    /// Whether the encoder holds the document back.
    var holdsDocument: Bool {
        let options = plan.fieldEncoding
        return (plan.output == .form || plan.output == .multipart)
            && FieldStyle.of(options.dialect).holdsDocument(options.order)
    }

    /// Files what came under the node of the held document that it went to, where that is known by now.
    ///
    /// - Parameter own: the node of the empty object or array that has come, unless its end has said another one.
    private mutating func settlePending(own: Tree.Node? = nil) {
        guard let node = log.takeHeldNode() ?? own else { return }
        if node == Tree.none { lost += pending } else { held[node, default: []] += pending }
        pending = []
    }

    /// Takes what was held back, field by field.
    mutating func drain<Sink: ~Copyable>(
        _ sink: inout Sink, _ write: (inout Sink) throws(ConversionError) -> Bool
    ) throws(ConversionError) {
        log.clear()
        while try !write(&sink) {}
        for field in log.written {
            for value in held.removeValue(forKey: field.node) ?? [] {
                trace.sent.append(.init(source: origins[value.node]?.source, target: field.name, rules: value.rules))
            }
        }
        let rest = held.sorted { $0.key < $1.key }.flatMap(\.value).filter(\.isExpected)
        for value in lost + rest + pending {
            let origin = origins[value.node] ?? Origin()
            let rule = value.kind.isContainer ? reason(value.kind) : "dialect: \(plan.fieldEncoding.dialect.rawValue)"
            trace.removed.append(.init(source: origin.source, target: nil, rules: origin.rules + [rule]))
        }
    }
}

// MARK: Recorders

/// What the recorders below have written, shared by them and the tracer that sends them events.
internal final class TraceLog: HeldDocumentObserver {
    /// The names or paths of values that began since `clear`.
    private(set) var targets: [String] = []
    /// The name or path that was begun last.
    private(set) var latest = ""
    /// Whether more of it came since `clear`.
    private(set) var hasContent = false

    func clear() {
        targets.removeAll()
        hasContent = false
    }

    /// Whether the latest one is a file.
    private(set) var isFile = false

    /// Whether the latest one is a part with a JSON text.
    private(set) var isJSONPart = false

    func begin(_ target: String, isFile: Bool = false, isJSONPart: Bool = false) {
        targets.append(target)
        self.isFile = isFile
        self.isJSONPart = isJSONPart
        latest = target
        if let writing { written.append((components.isEmpty ? writing : components[writing] ?? Tree.none, target)) }
    }

    func touch() { hasContent = true }

    // MARK: A held document

    /// The fields that came of a held document, with its nodes.
    private(set) var written: [(node: Tree.Node, name: String)] = []
    private var heldNode: Tree.Node?
    private var components: [Tree.Node: Tree.Node] = [:]
    private var writing: Tree.Node?

    /// The node that the latest values went to, once.
    func takeHeldNode() -> Tree.Node? {
        defer { heldNode = nil }
        return heldNode
    }

    func holds(_ node: Tree.Node) { heldNode = node }
    func moves(_ node: Tree.Node, to component: Tree.Node) { components[component] = node }
    func writes(_ node: Tree.Node) { writing = node }
}

/// A flat body of which only the names are kept.
internal struct TracedFields: PartEncoder, DirectEncoder, ~Copyable {
    let log: TraceLog
    var output = OutputBuffer()

    init(_ log: TraceLog) { self.log = log }

    var isFull: Bool { false }
    var contentType: [UInt8] { [] }
    mutating func restart() {}
    mutating func finish() throws(ConversionError) {}

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        log.begin(head.name.lossyString(), isFile: head.isFile, isJSONPart: !head.isFile && head.hasMediaType)
    }
    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        log.touch()
    }
}

/// A document of which only the paths of scalars, files and empty containers are kept.
internal struct TracedDocument: FileValueEncoder, DirectEncoder, ~Copyable {
    private struct Level {
        var isObject: Bool
        var count = 0
        var path: String
    }

    let log: TraceLog
    var output = OutputBuffer()
    private var levels: [Level] = []
    private var name = ""
    private var isInValue = false

    init(_ log: TraceLog) { self.log = log }

    var isFull: Bool { false }
    var contentType: [UInt8] { [] }
    mutating func restart() {}
    mutating func finish() throws(ConversionError) {}

    /// The path of the value that begins.
    private mutating func enter() -> String {
        guard let level = levels.last else { return "" }
        levels[levels.count - 1].count += 1
        if !level.isObject { return "\(level.path)[\(level.count)]" }
        return level.path.isEmpty ? name : "\(level.path).\(name)"
    }

    private mutating func end() {
        guard let level = levels.popLast(), level.count == 0 else { return }
        log.begin(level.path)
    }

    private mutating func piece(isLast: Bool) {
        if !isInValue { log.begin(enter()) }
        isInValue = !isLast
    }

    mutating func beginObject() throws(ConversionError) { levels.append(Level(isObject: true, path: enter())) }
    mutating func endObject() throws(ConversionError) { end() }
    mutating func beginArray() throws(ConversionError) { levels.append(Level(isObject: false, path: enter())) }
    mutating func endArray() throws(ConversionError) { end() }
    mutating func key(_ name: Span<UInt8>) throws(ConversionError) { self.name = name.lossyString() }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) { self.piece(isLast: isLast) }
    mutating func number(_ text: Span<UInt8>) throws(ConversionError) { piece(isLast: true) }
    mutating func bool(_ value: Bool) throws(ConversionError) { piece(isLast: true) }
    mutating func null() throws(ConversionError) { piece(isLast: true) }
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) { log.begin(enter()) }
    mutating func beginFile(_ head: borrowing PartHead, as policy: FilePolicy) throws(ConversionError) {
        log.begin(enter())
    }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {}
}

// MARK: Questions to the tree

// Questions that only a trace asks of a tree; none of them is fast.
extension Tree {
    /// Calls `body` with every node from `node` on, in document order.
    internal borrowing func visit(_ node: Node, _ body: (Node, borrowing Tree) -> Void) {
        guard node != Tree.none else { return }
        body(node, self)
        var child = firstChild(node)
        while child != Tree.none {
            visit(child, body)
            child = nextSibling(child)
        }
    }

    /// The scalars and empty containers from `node` on, in document order.
    internal borrowing func leaves(below node: Node) -> [Node] {
        var leaves: [Node] = []
        visit(node) { node, tree in
            if tree.firstChild(node) == Tree.none { leaves.append(node) }
        }
        return leaves
    }

    /// Whether `node` still belongs to the document.
    internal borrowing func isPart(_ node: Node) -> Bool {
        var at = node
        while parent(at) != Tree.none { at = parent(at) }
        guard at == root else { return false }
        // Children of what was emptied keep no parent; a value beside the document has one and isn't among its children.
        let above = parent(node)
        guard above != Tree.none else { return true }
        return position(node) < childCount(above) && child(of: above, at: position(node)) == node && isPart(above)
    }

    /// The number of siblings before `node`.
    internal borrowing func position(_ node: Node) -> Int {
        var count = 0
        var sibling = records[Int(node)].previous
        while sibling != Tree.none {
            count += 1
            sibling = records[Int(sibling)].previous
        }
        return count
    }

    internal borrowing func child(of parent: Node, at position: Int) -> Node {
        var child = firstChild(parent)
        for _ in 0..<position where child != Tree.none { child = nextSibling(child) }
        return child
    }

    /// Gives the member another name.
    internal mutating func rename(_ node: Node, _ name: Span<UInt8>) throws(ConversionError) {
        records[Int(node)].nameStart = try store(name)
        records[Int(node)].nameCount = Int32(name.count)
    }

    /// The path for a person.
    internal borrowing func tracedPath(_ node: Node) -> String { node == root ? "the document" : path(node) }
}
