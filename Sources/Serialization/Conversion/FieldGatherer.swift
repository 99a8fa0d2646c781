internal import Octets

/// Where the name of a file is from.
internal enum FileNaming {
    /// It came with it.
    case received
    /// A map has changed it.
    case mapped
    /// A rule has given it, and nothing else changes it.
    case given
}

/// An encoder that takes a document and, before that, files one by one.
internal protocol FileOutlet: EventSink, PipelineEncoder, ~Copyable {
    /// Begins a file, or what `policy` makes of it, at the place that `name` says. `head` has the name it came with, or that
    /// a map or a rule gave it.
    mutating func beginFile(
        _ head: borrowing PartHead, at name: borrowing MappedName, naming: FileNaming, as policy: FilePolicy
    ) throws(ConversionError)
    mutating func content(ofFile piece: Span<UInt8>, isLast: Bool) throws(ConversionError)
    /// Ends the files; the document follows.
    mutating func endFiles() throws(ConversionError)
    /// Whether the root object has been begun for a file, so that only members may follow.
    var isRootOpen: Bool { get }
    /// Whether the document has to be an object: files have begun it, or it is spelled into names. Known after `endFiles`.
    var needsRootObject: Bool { get }
    /// Whether no member of the root may hold both fields and files.
    var sharesNoRoots: Bool { get }
    /// Whether a file has taken that member of the root for itself.
    func claims(rootKey: Span<UInt8>) -> Bool
    /// Writes the document that `tree` holds at once, in the order of the input. Returns false, with nothing written, where
    /// that isn't for the outlet to do, or not now; its events are the general way.
    mutating func write(whole tree: borrowing Tree) -> Bool
}

extension FileOutlet where Self: ~Copyable {
    var needsRootObject: Bool { isRootOpen }
    mutating func write(whole tree: borrowing Tree) -> Bool { false }
}

/// Gathers fields in a tree and lets files pass to the outlet.
internal struct FieldGatherer<Outlet: FileOutlet & ~Copyable>: FieldSink, ~Copyable {
    private enum Content {
        case field, capturedField, file, dropped
        /// Text that becomes a file.
        case made
    }

    var outlet: Outlet
    var fields: FieldTreeBuilder
    private let options: FieldDecodingOptions
    private let limits: Limits
    private let hasMap: Bool
    private let wantsTexts: Bool
    private let readsAsLibrary: Bool
    private let makesFiles: Bool
    private let hasTypes: Bool
    /// Whether `field` may be called: fields go into the tree and nowhere else.
    let takesFields: Bool
    private let input: BodyEncoding
    private var names: NameMapper
    private var gate: FileGate
    private var name = FieldName()
    private var mapped = MappedName()
    private var spelled = ByteStore()
    private var head = PartHead()
    private var content = Content.field
    private var fileText = FileText()
    private var fileRule = 0
    private var isFileOpen = false
    private var naming = FileNaming.received
    private var walk = TreeWalk()
    private var counts = Accounting()
    /// Whether a field has come in that the decoder keeps until its end is known.
    var isAwaiting = false

    init(_ outlet: consuming Outlet, plan: ConversionPlan, input: BodyEncoding) {
        self.outlet = outlet
        self.input = input
        options = plan.fieldDecoding
        limits = plan.limits
        hasMap = !plan.map.isEmpty
        readsAsLibrary = plan.fieldDecoding.readsNamesAsLibrary
        hasTypes = !plan.types.isEmpty
        let fields = FieldTreeBuilder(
            options: plan.fieldDecoding, limits: plan.limits, duplicates: plan.spliceDuplicates)
        let gate = FileGate(plan)
        let makesFiles = plan.output.hasFiles && plan.files.contains { $0.source(from: input) != nil }
        takesFields = fields.takesFields && !gate.wantsTexts && !makesFiles
        self.makesFiles = makesFiles
        wantsTexts = gate.wantsTexts
        self.fields = fields
        self.gate = gate
        names = NameMapper(plan.map)
    }

    mutating func reset() {
        fields.reset()
        names.reset()
        gate.reset()
        counts = Accounting()
        isAwaiting = false
    }

    var accounting: Accounting {
        var accounting = counts
        accounting.removed += fields.tree.removedCount + outlet.removedCount
        if isAwaiting { accounting.fields += 1 }
        return accounting
    }

    var isFull: Bool { outlet.isFull }

    /// See `Conversion.heldCount`.
    var heldCount: Int { fields.tree.cost }

    mutating func beginPart(_ part: borrowing PartHead) throws(ConversionError) {
        guard part.isFile else {
            if makesFiles, try beginMade(part) { return }
            counts.fields += 1
            content = .field
            try fields.beginPart(part)
            if readsAsLibrary, fields.isDropping { return }
            if !hasMap, outlet.claims(rootKey: fields.rootKey) { throw Self.taken(part.name) }
            guard wantsTexts else { return }
            try parse(part)
            _ = try names.apply(to: &mapped)
            gate.beginText(mapped)
            content = .capturedField
            return
        }
        counts.files += 1
        try parse(part)
        guard !name.isDropped else {
            counts.removed += 1
            content = .dropped
            return
        }
        let verdict = try spell(part)
        var policy = FilePolicy.drop
        let rule = gate.rule(for: mapped)
        if verdict != .removed { policy = try gate.admit(rule: rule, field: spelled) }
        if policy == .drop {
            counts.removed += 1
            content = .dropped
            return
        }
        content = .file
        if !hasMap, outlet.sharesNoRoots, fields.hasRootMember(mapped.segment(0)) { throw Self.taken(part.name) }
        if gate.spell(rule: rule, to: &spelled) { naming = .given }
        head.copy(part, named: spelled)
        try gate.describe(&head, rule: rule)
        try outlet.beginFile(head, at: mapped, naming: naming, as: policy)
    }

    /// Takes a field of a form that lies before us with its whole value, as `beginPart` and `content` do. A form has no
    /// files, so nobody else can have its place. A plain name has no brackets.
    @inline(__always)
    mutating func field(_ name: Span<UInt8>, _ value: Span<UInt8>, isPlain: Bool) throws(ConversionError) {
        counts.fields += 1
        try fields.field(name, value, isPlain: isPlain)
    }

    /// Whether a name without brackets is one key, about which nothing is to be said before its value has come.
    var takesPlainNames: Bool { fields.takesPlainNames }

    /// Begins a text that a rule makes a file. Returns false where none does.
    private mutating func beginMade(_ part: borrowing PartHead) throws(ConversionError) -> Bool {
        try parse(part)
        // A name that is mapped twice would be in its own way: the verdict is asked for once the rule is known.
        guard hasMap || gate.rule(for: mapped) != nil else { return false }
        let verdict = try spell(part)
        guard verdict != .removed, let rule = gate.rule(for: mapped), let source = gate.rules[rule].source(from: input)
        else { return false }
        counts.files += 1
        gate.begin(rule: rule, field: spelled)
        fileText.begin(source)
        (fileRule, isFileOpen, content) = (rule, false, .made)
        return true
    }

    /// Applies the map to the name of `part`, and spells it.
    private mutating func spell(_ part: borrowing PartHead) throws(ConversionError) -> NameMapper.Verdict {
        let verdict = try names.apply(to: &mapped)
        spelled.removeAll()
        naming = verdict == .renamed ? .mapped : .received
        if verdict == .renamed {
            mapped.spell(options.nesting, to: &spelled)
        } else {
            spelled.append(contentsOf: part.name)
        }
        return verdict
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        switch content {
        case .field: try fields.content(piece, isLast: isLast)
        case .capturedField:
            try gate.text(piece, isLast: isLast)
            try fields.content(piece, isLast: isLast)
        case .file:
            try gate.count(piece.count)
            try outlet.content(ofFile: piece, isLast: isLast)
        case .made: try make(piece, isLast: isLast)
        case .dropped: break
        }
    }

    /// Sends on what a text says of the file that it becomes.
    private mutating func make(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        do throws(FileText.Fault) {
            try fileText.take(piece, isLast: isLast)
        } catch {
            throw gate.error(of: error)
        }
        guard fileText.isOpen else { return }
        if !isFileOpen {
            isFileOpen = true
            if gate.spell(rule: fileRule, to: &spelled) { naming = .given }
            head.begin(madeFrom: fileText, named: spelled)
            try gate.describe(&head, rule: fileRule)
            try outlet.beginFile(head, at: mapped, naming: naming, as: .stream)
        }
        try gate.count(fileText.decoded.count)
        if isLast || !fileText.decoded.isEmpty { try outlet.send(file: fileText.decoded, isLast: isLast) }
        fileText.decoded.removeAll()
    }

    private mutating func parse(_ part: borrowing PartHead) throws(ConversionError) {
        try name.parse(part.name, options: options, limits: limits)
        mapped.set(name)
    }

    /// Ends the body: settles the fields, maps and types them, and makes sure that none wants a file's place.
    mutating func settle(
        _ plan: ConversionPlan, sources: [[UInt8]], splicer: inout JSONSplicer
    ) throws(ConversionError) {
        try fields.settle()
        if hasMap { try fields.tree.apply(plan.map, sources: sources) }
        if hasTypes { try fields.tree.apply(plan.types, splicer: &splicer) }
        fields.tree.remove(plan.removeNulls)
        try outlet.endFiles()
        if !outlet.needsRootObject { fields.settleRoot() }
        let order = plan.treeOrder
        // A walk that was left in its middle, with the body before, must not go on.
        walk = TreeWalk()
        if order == .input, outlet.write(whole: fields.tree) { return }
        walk.start(&fields.tree, order: order, isOpen: outlet.isRootOpen)
        var member = fields.tree.firstChild(fields.tree.root)
        while member != Tree.none {
            if outlet.claims(rootKey: fields.tree.name(member)) { throw Self.taken(fields.tree.name(member)) }
            member = fields.tree.nextSibling(member)
        }
    }

    /// Sends the fields to the outlet, after `settle`. Returns false when the outlet is full.
    mutating func send() throws(ConversionError) -> Bool { try walk.advance(&fields.tree, into: &outlet) }

    private static func taken(_ name: Span<UInt8>) -> ConversionError {
        ConversionError(
            .unrepresentable, code: "files_shared_root",
            reason: "fields and files stand in one object or array, which can't be written while files stream; "
                + "give them names of their own, or rename one",
            field: name.lossyString(), setting: "map.rename")
    }
}

extension FileOutlet where Self: ~Copyable {
    /// `content(ofFile:)` for bytes in a buffer: a span of a stored property would hold all of its owner.
    internal mutating func send(file buffer: OutputBuffer, isLast: Bool) throws(ConversionError) {
        try content(ofFile: buffer.span, isLast: isLast)
    }
}
