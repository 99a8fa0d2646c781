internal import Octets

/// Files and a document into a flat body: each file is a part at once, the fields follow.
internal struct FlatOutlet<Target: PartEncoder & ~Copyable>: FileOutlet, UniformSink, ~Copyable {
    internal var encoder: FlatEncoder<Target>
    private let arrays: ArrayStyle
    private let nesting: NestingStyle
    private let rewritesNames: Bool
    private var numbers: FileNumbers
    /// The roots of files whose names hold numbers of ours, which fields must not use too.
    private var numberedRoots: Set<[UInt8]> = []
    private var filePlaces: FilePlaces
    private var spelled = ByteStore()
    private var head = PartHead()
    private var isText = false
    private var base64 = Base64Encoder()
    private var text = OutputBuffer()

    init(_ target: consuming Target, plan: ConversionPlan, observer: ConversionObserver? = nil) {
        encoder = FlatEncoder(target, plan: plan, observer: observer)
        arrays = plan.fieldEncoding.arrays
        nesting = plan.fieldEncoding.nesting
        rewritesNames = plan.rewritesNames
        numbers = FileNumbers(plan)
        filePlaces = FilePlaces(plan)
    }

    // MARK: Files

    /// A name that was not changed passes as it came, unless the route writes names anew: then nesting and pushes are spelled
    /// as it says. `arrays: indices` numbers the files of `photos[]`.
    mutating func beginFile(
        _ file: borrowing PartHead, at name: borrowing MappedName, naming: FileNaming, as policy: FilePolicy
    ) throws(ConversionError) {
        spelled.removeAll()
        isText = policy == .base64
        // Whether a name that a rule gives is free was asked before.
        if naming != .given { try filePlaces.add(name, field: file.name, isText: isText) }
        if rewritesNames, naming != .given {
            try spell(name, field: file.name)
        } else if naming == .mapped {
            name.spell(nesting, to: &spelled)
        } else {
            spelled.append(contentsOf: file.name)
        }
        if isText { head.setName(copying: spelled) } else { head.copy(file, named: spelled) }
        head.hasGivenName = naming == .given
        try encoder.flattener.target.beginPart(head)
    }

    mutating func content(ofFile piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        guard isText else { return try encoder.flattener.target.content(piece, isLast: isLast) }
        base64.encode(piece, into: &text)
        if isLast { base64.finish(into: &text) }
        if isLast || !text.isEmpty { try encoder.flattener.target.send(content: text, isLast: isLast) }
        text.removeAll()
    }

    mutating func endFiles() throws(ConversionError) {}
    var isRootOpen: Bool { false }
    var needsRootObject: Bool { true }
    var sharesNoRoots: Bool { false }

    func check(_ fields: borrowing Tree) throws(ConversionError) { try filePlaces.check(fields) }

    func claims(rootKey: Span<UInt8>) -> Bool {
        !numberedRoots.isEmpty && !filePlaces.areApart && numberedRoots.contains(rootKey.copied())
    }

    private mutating func spell(_ name: borrowing MappedName, field: Span<UInt8>) throws(ConversionError) {
        let count = name.segmentCount
        guard count == 1 || nesting == .brackets || nesting == .dots else {
            throw ConversionError(
                .unrepresentable, code: "files_nested",
                reason: "a file can't stand in an object or array under nesting: \(nesting.rawValue)",
                field: field.lossyString(), setting: "nesting")
        }
        guard arrays == .indices else { return spell(name, as: name) }
        var numbered = copy name
        try numbers.assign(to: &numbered, field: field)
        if name.hasPush { numberedRoots.insert(numbered.segment(0).copied()) }
        spell(name, as: numbered)
    }

    /// Spells `numbered`, which is `name` with the numbers that its pushes have, where these are written.
    private mutating func spell(_ name: borrowing MappedName, as numbered: borrowing MappedName) {
        let count = name.segmentCount
        spelled.append(contentsOf: numbered.segment(0))
        for index in 1..<max(1, count) {
            if name.kind(index) == .key {
                numbered.spell(segment: index, nesting, to: &spelled)
            } else if arrays != .repeated || index < count - 1 {
                spelled.append(UInt8(ascii: "["))
                spelled.append(contentsOf: numbered.segment(index))
                spelled.append(UInt8(ascii: "]"))
            }
        }
    }

    // MARK: The document

    var output: OutputBuffer {
        _read { yield encoder.output }
        _modify { yield &encoder.output }
    }

    var isFull: Bool { encoder.isFull }
    var contentType: [UInt8] { encoder.contentType }
    var removedCount: Int { encoder.removedCount }
    var heldCount: Int { encoder.heldCount }
    var allocatedCount: Int { encoder.allocatedCount + filePlaces.count + numbers.count }
    var filenameGrowth: Int { encoder.filenameGrowth }
    mutating func drain() throws(ConversionError) -> Bool { try encoder.drain() }

    mutating func restart() {
        encoder.restart()
        numbers.removeAll()
        if !numberedRoots.isEmpty { numberedRoots.removeAll() }
        filePlaces.removeAll()
        base64 = Base64Encoder()
        text.removeAll()
    }

    @inline(__always)
    mutating func take(_ event: DocumentEvent) throws(ConversionError) { try event.send(to: &encoder) }
    mutating func partHead(_ head: borrowing PartHead) { encoder.flattener.partHead(head) }
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) { try encoder.beginFile(head) }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try encoder.fileContent(piece, isLast: isLast)
    }
    mutating func finish() throws(ConversionError) { try encoder.finish() }
}
