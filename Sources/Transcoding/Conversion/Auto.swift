internal import Octets

// The output `auto`: multipart when there is a file in the body, else a form or JSON.

/// What an `auto` output turned out to be.
private enum AutoChoice {
    /// No file so far; goes to `multipart` with the first one, to one of the others at the end.
    case undecided
    case multipart
    case form, json

    /// What the output is without a file.
    init(withoutFiles plan: ConversionPlan) { self = plan.outputWithoutFiles == .json ? .json : .form }
}

/// Writes a document, and files that come before it or in it. What precedes the first file is held as events, bounded by
/// `limits.tree`; files and what follows the first one pass.
internal struct AutoEncoder: FileOutlet, DocumentEncoder, UniformSink, ~Copyable {
    private let withoutFiles: AutoChoice
    private var choice = AutoChoice.undecided
    private var log: EventLog
    private var multipart: FlatOutlet<Multipart.Encoder>
    private var form: FlatEncoder<Form.Encoder>
    private var json: DocumentOutlet<JSON.Encoder>

    init(_ plan: ConversionPlan) {
        withoutFiles = AutoChoice(withoutFiles: plan)
        log = EventLog(limits: plan.limits)
        multipart = FlatOutlet(Multipart.Encoder(plan), plan: plan)
        form = FlatEncoder(Form.Encoder(plan), plan: plan)
        json = DocumentOutlet(JSON.Encoder(plan), plan: plan)
    }

    /// There is no file: the output's buffer, which was multipart's, goes to the other encoder.
    private mutating func decideWithoutFiles() throws(ConversionError) {
        guard choice == .undecided else { return }
        choice = withoutFiles
        if choice == .json {
            swap(&json.output, &multipart.output)
            try log.move(to: &json)
        } else {
            swap(&form.output, &multipart.output)
            try log.move(to: &form)
        }
    }

    // MARK: Events

    mutating func take(_ event: DocumentEvent) throws(ConversionError) {
        switch choice {
        case .undecided: try log.append(event)
        case .multipart: try event.send(to: &multipart)
        case .form: try event.send(to: &form)
        case .json: try event.send(to: &json)
        }
    }

    mutating func partHead(_ head: borrowing PartHead) {
        if choice == .multipart { multipart.partHead(head) }
    }

    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
        if choice == .undecided {
            choice = .multipart
            try log.move(to: &multipart)
        }
        try multipart.beginFile(head)
    }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try multipart.fileContent(piece, isLast: isLast)
    }

    // MARK: Files before the document

    mutating func beginFile(
        _ head: borrowing PartHead, at name: borrowing MappedName, naming: FileNaming, as policy: FilePolicy
    ) throws(ConversionError) {
        choice = .multipart
        try multipart.beginFile(head, at: name, naming: naming, as: policy)
    }
    mutating func content(ofFile piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try multipart.content(ofFile: piece, isLast: isLast)
    }
    mutating func endFiles() throws(ConversionError) { try decideWithoutFiles() }

    var isRootOpen: Bool { false }
    var needsRootObject: Bool { choice != .json }
    var sharesNoRoots: Bool { false }
    func claims(rootKey: Span<UInt8>) -> Bool { multipart.claims(rootKey: rootKey) }
    func check(_ fields: borrowing Tree) throws(ConversionError) { try multipart.check(fields) }

    mutating func write(_ tree: inout Tree, _ walk: inout TreeWalk) throws(ConversionError) {
        if choice == .json { try json.write(&tree, &walk) }
    }

    // MARK: The output

    var output: OutputBuffer {
        _read {
            switch choice {
            case .undecided, .multipart: yield multipart.output
            case .form: yield form.output
            case .json: yield json.output
            }
        }
        _modify {
            switch choice {
            case .undecided, .multipart: yield &multipart.output
            case .form: yield &form.output
            case .json: yield &json.output
            }
        }
    }

    var isFull: Bool { output.isFull }

    /// Empty until it is known.
    var contentType: [UInt8] {
        switch choice {
        case .undecided: []
        case .multipart: multipart.contentType
        case .form: form.contentType
        case .json: json.contentType
        }
    }

    var removedCount: Int { multipart.removedCount + form.removedCount + json.removedCount }
    var heldCount: Int { log.count + multipart.heldCount + form.heldCount + json.heldCount }
    var allocatedCount: Int {
        log.allocatedCount + multipart.allocatedCount + form.allocatedCount + json.allocatedCount
    }
    var filenameGrowth: Int { multipart.filenameGrowth }

    mutating func drain() throws(ConversionError) -> Bool {
        try decideWithoutFiles()
        return switch choice {
        case .undecided, .multipart: try multipart.drain()
        case .form: try form.drain()
        case .json: try json.drain()
        }
    }

    mutating func finish() throws(ConversionError) {
        switch choice {
        case .undecided, .multipart: try multipart.finish()
        case .form: try form.finish()
        case .json: try json.finish()
        }
    }

    mutating func restart() {
        switch choice {
        case .undecided, .multipart: break
        case .form: swap(&form.output, &multipart.output)
        case .json: swap(&json.output, &multipart.output)
        }
        choice = .undecided
        log.removeAll()
        multipart.restart()
        form.restart()
        json.restart()
    }
}

/// As above, for fields that pass one by one, of which those that precede the first file are held.
internal struct AutoFields: PartEncoder, DirectEncoder, ~Copyable {
    private var choice = AutoChoice.undecided
    private var list: FieldList
    private var multipart: Multipart.Encoder
    private var form: Form.Encoder

    init(_ plan: ConversionPlan) {
        list = FieldList(limit: plan.limits.tree)
        multipart = Multipart.Encoder(plan)
        form = Form.Encoder(plan)
    }

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        if choice == .undecided {
            guard head.isFile else { return try list.beginPart(head) }
            choice = .multipart
            try list.send(to: &multipart)
            list.removeAll()
        }
        try multipart.beginPart(head)
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if choice == .undecided {
            try list.content(piece, isLast: isLast)
        } else {
            try multipart.content(piece, isLast: isLast)
        }
    }

    var output: OutputBuffer {
        _read { if choice == .form { yield form.output } else { yield multipart.output } }
        _modify { if choice == .form { yield &form.output } else { yield &multipart.output } }
    }

    var isFull: Bool { output.isFull }
    var heldCount: Int { list.count }
    var allocatedCount: Int { list.allocatedCount }
    var filenameGrowth: Int { multipart.filenameGrowth }

    /// Empty until it is known.
    var contentType: [UInt8] {
        switch choice {
        case .undecided: []
        case .multipart: multipart.contentType
        case .form, .json: form.contentType
        }
    }

    mutating func finish() throws(ConversionError) {
        if choice == .multipart { return try multipart.finish() }
        choice = .form
        swap(&form.output, &multipart.output)
        try list.send(to: &form)
        list.removeAll()
        try form.finish()
    }

    mutating func restart() {
        if choice == .form { swap(&form.output, &multipart.output) }
        choice = .undecided
        list.removeAll()
        multipart.restart()
        form.restart()
    }
}
