internal import Octets

/// Files and a document into multipart, or, when no file has come, the document alone into a form or JSON.
internal struct AutoOutlet: FileOutlet, ~Copyable {
    private var choice = AutoChoice.undecided
    private var multipart: FlatOutlet<Multipart.Encoder>
    private var plain: PlainEncoder

    init(_ plan: ConversionPlan) {
        multipart = FlatOutlet(Multipart.Encoder(plan), plan: plan)
        plain = PlainEncoder(plan)
    }

    var output: OutputBuffer {
        _read { if choice == .plain { yield plain.output } else { yield multipart.output } }
        _modify { if choice == .plain { yield &plain.output } else { yield &multipart.output } }
    }

    var isFull: Bool { choice == .plain ? plain.isFull : multipart.isFull }

    /// Empty until it is known.
    var contentType: [UInt8] {
        switch choice {
        case .undecided: []
        case .multipart: multipart.contentType
        case .plain: plain.contentType
        }
    }

    var removedCount: Int { choice == .plain ? plain.removedCount : multipart.removedCount }
    mutating func drain() throws(ConversionError) -> Bool {
        choice == .plain ? try plain.drain() : try multipart.drain()
    }

    mutating func restart() {
        if choice == .plain { swap(&plain.output, &multipart.output) }
        choice = .undecided
        multipart.restart()
        plain.restart()
    }

    mutating func beginFile(
        _ head: borrowing PartHead, at name: borrowing MappedName, naming: FileNaming, as policy: FilePolicy
    ) throws(ConversionError) {
        choice = .multipart
        try multipart.beginFile(head, at: name, naming: naming, as: policy)
    }
    mutating func content(ofFile piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try multipart.content(ofFile: piece, isLast: isLast)
    }
    mutating func endFiles() throws(ConversionError) {
        try multipart.endFiles()
        guard choice == .undecided else { return }
        choice = .plain
        swap(&plain.output, &multipart.output)
    }

    var isRootOpen: Bool { false }
    var needsRootObject: Bool { choice != .plain || !plain.isJSON }
    var sharesNoRoots: Bool { false }
    func claims(rootKey: Span<UInt8>) -> Bool { multipart.claims(rootKey: rootKey) }

    mutating func finish() throws(ConversionError) {
        if choice == .plain { try plain.finish() } else { try multipart.finish() }
    }

    mutating func beginObject() throws(ConversionError) {
        if choice == .plain { try plain.beginObject() } else { try multipart.beginObject() }
    }
    mutating func endObject() throws(ConversionError) {
        if choice == .plain { try plain.endObject() } else { try multipart.endObject() }
    }
    mutating func beginArray() throws(ConversionError) {
        if choice == .plain { try plain.beginArray() } else { try multipart.beginArray() }
    }
    mutating func endArray() throws(ConversionError) {
        if choice == .plain { try plain.endArray() } else { try multipart.endArray() }
    }
    mutating func key(_ name: Span<UInt8>) throws(ConversionError) {
        if choice == .plain { try plain.key(name) } else { try multipart.key(name) }
    }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if choice == .plain {
            try plain.string(piece, isLast: isLast)
        } else {
            try multipart.string(piece, isLast: isLast)
        }
    }
    mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        if choice == .plain { try plain.number(text) } else { try multipart.number(text) }
    }
    mutating func bool(_ value: Bool) throws(ConversionError) {
        if choice == .plain { try plain.bool(value) } else { try multipart.bool(value) }
    }
    mutating func null() throws(ConversionError) {
        if choice == .plain { try plain.null() } else { try multipart.null() }
    }
    mutating func date(_ text: Span<UInt8>) throws(ConversionError) {
        if choice == .plain { try plain.date(text) } else { try multipart.date(text) }
    }
    mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) {
        if choice == .plain { try plain.data(bytes) } else { try multipart.data(bytes) }
    }
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) { try multipart.beginFile(head) }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try multipart.fileContent(piece, isLast: isLast)
    }
}
