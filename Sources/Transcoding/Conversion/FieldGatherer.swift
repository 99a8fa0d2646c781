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
internal protocol FileOutlet: TreeSink, PipelineEncoder, ~Copyable {
    /// Begins a file, or what `policy` makes of it, at the place that `name` says. `head` has the name it came with, or that
    /// a map or a rule gave it.
    mutating func beginFile(
        _ head: borrowing PartHead, at name: borrowing MappedName, naming: FileNaming, as policy: FilePolicy
    ) throws(ConversionError)
    mutating func content(ofFile piece: Span<UInt8>, isLast: Bool) throws(ConversionError)
    /// Says at the place of a file that none was chosen.
    mutating func noFile(
        _ head: borrowing PartHead, at name: borrowing MappedName, naming: FileNaming
    ) throws(ConversionError)
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
    /// Sees that the fields can follow the files that have gone out.
    func check(_ fields: borrowing Tree) throws(ConversionError)
}

extension FileOutlet where Self: ~Copyable {
    var needsRootObject: Bool { isRootOpen }
    func check(_ fields: borrowing Tree) throws(ConversionError) {}

    /// As an empty text, which is what browsers write into forms.
    mutating func noFile(
        _ head: borrowing PartHead, at name: borrowing MappedName, naming: FileNaming
    ) throws(ConversionError) {
        try beginFile(head, at: name, naming: naming, as: .base64)
        try content(ofFile: Span(), isLast: true)
    }
}

/// Gathers fields in a tree and lets files pass to the outlet.
internal struct FieldGatherer<Outlet: FileOutlet & ~Copyable>: WholeFieldSink, ~Copyable {
    private enum Content {
        case field, capturedField, file, dropped
        /// Text that becomes a file.
        case made
        /// Text of which other bytes are made, and a text again.
        case madeText
    }

    var outlet: Outlet
    var fields: FieldTreeBuilder
    private var rules: PartRules
    private let readsAsLibrary: Bool
    /// Whether `field` may be called: fields go into the tree and nowhere else.
    let takesFields: Bool
    private var content = Content.field
    /// Whether a file has gone out.
    private var hasFiles = false
    /// Whether one of the fields is the document.
    private let takesDocument: Bool
    private var walk = TreeWalk()
    private var counts = Accounting()
    /// Whether a field has come in that the decoder keeps until its end is known.
    var isAwaiting = false
    /// As what the file goes out that is held, and a piece of it.
    private var policy = FilePolicy.stream
    private var released = OutputBuffer()

    /// - Parameter observer: hears of each part and of what becomes of the fields, where a conversion is explained.
    init(
        _ outlet: consuming Outlet, plan: ConversionPlan, input: BodyEncoding, observer: ConversionObserver? = nil
    ) {
        self.outlet = outlet
        readsAsLibrary = plan.fieldDecoding.readsNamesAsLibrary
        takesDocument = plan.document != nil
        var fields = FieldTreeBuilder(
            options: plan.fieldDecoding, limits: plan.limits, duplicates: plan.spliceDuplicates,
            keepsHeads: input == .multipart && plan.output == .multipart)
        fields.tree.observer = observer
        let rules = PartRules(plan, input: input, passes: false, observer: observer)
        takesFields = fields.takesFields && !rules.concernsFields && observer == nil
        self.fields = fields
        self.rules = rules
    }

    mutating func reset() {
        fields.reset()
        rules.reset()
        counts = Accounting()
        hasFiles = false
        isAwaiting = false
    }

    /// Begins a body, for which these are the values of the request's head.
    mutating func begin(sources: [[UInt8]]) { rules.gate.assign(sources) }

    var accounting: Accounting {
        var accounting = counts
        accounting.removed += fields.tree.removedCount + outlet.removedCount
        if isAwaiting { accounting.fields += 1 }
        return accounting
    }

    /// Bytes that are held, beside the fields and the outlet's.
    var heldCount: Int { rules.heldCount }

    var isFull: Bool { outlet.isFull || rules.gate.hold.isFull }

    var hold: FileHold {
        _read { yield rules.gate.hold }
        _modify { yield &rules.gate.hold }
    }

    mutating func beginPart(_ part: borrowing PartHead) throws(ConversionError) {
        rules.observer?.beginsPart(part)
        guard part.isFile else { return try beginField(part) }
        if part.isUnchosen { counts.fields += 1 } else { counts.files += 1 }
        let verdict = try rules.judge(part)
        var isUnchosen = false
        switch verdict {
        case .file(let found):
            content = .file
            policy = found
        case .unchosen:
            // Its empty content is passed over.
            content = .dropped
            isUnchosen = true
        default:
            counts.removed += 1
            content = .dropped
            return
        }
        hasFiles = true
        if !rules.hasMap, outlet.sharesNoRoots, fields.hasRootMember(rules.mapped.segment(0)) {
            throw Self.taken(part.name)
        }
        try rules.describe(part)
        if isUnchosen { return try outlet.noFile(rules.head, at: rules.mapped, naming: rules.naming) }
        if rules.beginHold() { return }
        try outlet.beginFile(rules.head, at: rules.mapped, naming: rules.naming, as: policy)
    }

    private mutating func beginField(_ part: borrowing PartHead) throws(ConversionError) {
        let verdict = rules.concernsFields ? try rules.judge(part) : .field
        if verdict == .made {
            counts.files += 1
            content = .made
            policy = .stream
            hasFiles = true
            return
        }
        counts.fields += 1
        content = verdict == .madeText ? .madeText : .field
        try fields.beginPart(part)
        if readsAsLibrary, fields.isDropping { return }
        if !rules.hasMap, outlet.claims(rootKey: fields.rootKey) { throw Self.taken(part.name) }
        if verdict == .madeText { return rules.rename(part) }
        guard rules.wantsTexts else { return }
        rules.beginText()
        content = .capturedField
    }

    /// Takes a field of a form that lies before us with its whole value, as `beginPart` and `content` do. A form has no
    /// files, so no other can have its place. A plain name has no brackets.
    @inline(__always)
    mutating func field(_ name: Span<UInt8>, _ value: Span<UInt8>, isPlain: Bool) throws(ConversionError) {
        counts.fields += 1
        try fields.field(name, value, isPlain: isPlain)
    }

    /// Whether a path in brackets leads to a field's place, and its text is its value.
    var takesPaths: Bool { fields.takesPaths }

    /// As above, where the name is a path.
    mutating func place(_ value: Span<UInt8>, at name: Span<UInt8>, _ steps: Span<NameStep>, from level: Int) -> Bool {
        guard fields.place(value, at: name, steps, from: level) else { return false }
        counts.fields += 1
        return true
    }

    /// As above, of many fields.
    mutating func takePairs(
        _ input: Span<UInt8>, _ at: inout Int, most: Int, behind prefix: Range<Int>, beyond: Bool
    ) -> Int {
        let count = fields.takePairs(input, &at, most: most, behind: prefix, beyond: beyond)
        counts.fields += count
        return count
    }

    /// Whether a name without brackets is one key, about which nothing is to be said before its value has come.
    var takesPlainNames: Bool { fields.takesPlainNames }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try take(piece, isLast: isLast)
        if isLast { rules.observer?.endsPart(in: fields.tree) }
    }

    @inline(__always)
    private mutating func take(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        switch content {
        case .field: try fields.content(piece, isLast: isLast)
        case .capturedField:
            try rules.gate.text(piece, isLast: isLast)
            try fields.content(piece, isLast: isLast)
        case .file:
            try rules.gate.count(piece.count)
            if rules.gate.hold.isGathering { return rules.gate.hold.append(piece, isLast: isLast) }
            try outlet.content(ofFile: piece, isLast: isLast)
        case .made:
            let made = try rules.make(piece, isLast: isLast)
            if made == .begins, !rules.beginMadeHold() {
                try outlet.beginFile(rules.head, at: rules.mapped, naming: rules.naming, as: .stream)
            }
            if rules.gate.hold.isGathering { return rules.gate.holdMade(isLast: isLast) }
            guard made != .nothing, isLast || !rules.gate.made.isEmpty else { return }
            try outlet.send(file: rules.gate.made, isLast: isLast)
        case .madeText:
            if try rules.makeText(piece, isLast: isLast) { rules.gate.holdMade(isLast: isLast) }
        case .dropped: break
        }
    }

    /// Sends the file on that was held, or puts it among the fields where it stays a text. Returns false while it waits to be settled,
    /// and while the outlet is full.
    mutating func release() throws(ConversionError) -> Bool {
        guard rules.gate.hold.isFull else { return true }
        guard !rules.gate.hold.isWaiting else { return false }
        let isText = content == .madeText
        if rules.gate.hold.isAtStart, !isText {
            rules.describeSettled()
            try outlet.beginFile(rules.head, at: rules.mapped, naming: rules.naming, as: policy)
        }
        while isText || !outlet.isFull {
            let isLast = rules.gate.hold.read(into: &released)
            if isText {
                try fields.send(content: released, isLast: isLast)
            } else {
                try outlet.send(file: released, isLast: isLast)
            }
            released.removeAll()
            if isLast { return true }
        }
        return false
    }

    /// Ends the body: settles the fields, maps and types them, and makes sure that none wants a file's place.
    mutating func settle(
        _ plan: ConversionPlan, sources: [[UInt8]], splicer: inout JSONSplicer
    ) throws(ConversionError) {
        try fields.settle()
        try fields.tree.apply(plan, sources: sources, splicer: &splicer, isOfFields: true)
        try outlet.endFiles()
        if hasFiles { try outlet.check(fields.tree) }
        if takesDocument {
            if hasFiles { try checkFiles(beside: plan.document) }
        } else if !outlet.needsRootObject {
            fields.settleRoot()
        }
        let order = plan.walkOrder
        // A walk that was left in its middle, with the body before, must not go on.
        walk = TreeWalk()
        walk.start(&fields.tree, order: order, isOpen: outlet.isRootOpen)
        var member = fields.tree.firstChild(fields.tree.root)
        while member != Tree.none {
            if outlet.claims(rootKey: fields.tree.name(member)) { throw Self.taken(fields.tree.name(member)) }
            member = fields.tree.nextSibling(member)
        }
    }

    /// Sends the fields to the outlet, after `settle`. Returns false when the outlet is full.
    mutating func send() throws(ConversionError) -> Bool {
        try walk.send(&fields.tree, into: &outlet)
    }

    /// Writes the fields to a fresh outlet, after `settle`, and returns how many bytes they are, with the body's end; at least so many come
    /// where files have begun the body. Nil where they are refused.
    mutating func countFields(into outlet: inout Outlet, order: MemberOrder) -> Int? {
        guard !fields.tree.isObserved, (try? outlet.endFiles()) != nil,
            let count = TreeWalk.count(&fields.tree, into: &outlet, order: order)
        else { return nil }
        // What files have begun may end in other words than a document of fields alone.
        return count + (hasFiles ? 1024 : 0)
    }

    /// Files have gone out beside the document, or as members of it.
    @inline(never)
    private func checkFiles(beside rule: DocumentRule?) throws(ConversionError) {
        guard rule?.rest == .merge else { throw DocumentFault.file.row }
        guard fields.tree.kind(fields.tree.root).hasNames else { throw DocumentFault.noObject.row }
    }

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
