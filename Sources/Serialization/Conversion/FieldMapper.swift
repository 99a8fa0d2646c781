internal import Octets

/// What a route does to fields as they pass: the map on their names, and the policy for files.
internal struct FieldMapper<Encoder: FieldEncoder>: FieldSink, ~Copyable {
    private enum Content {
        case passing, dropped
        /// Text that a filename comes from.
        case captured
        case file
        /// A file that becomes a base64 text.
        case text
        /// Text that becomes a file.
        case made
    }

    var encoder: Encoder
    private let options: FieldDecodingOptions
    private let limits: Limits
    private let nesting: NestingStyle
    private var names: NameMapper
    private var gate: FileGate
    private var assigned: AssignedFields
    private let needsPaths: Bool
    private let wantsTexts: Bool
    private let makesFiles: Bool
    private let input: BodyEncoding
    private var name = FieldName()
    private var mapped = MappedName()
    private var spelled = ByteStore()
    private var head = PartHead()
    private var content = Content.passing
    private var base64 = Base64Encoder()
    private var text = OutputBuffer()
    private var fileText = FileText()
    private var fileRule = 0
    private var isFileOpen = false
    private(set) var accounting = Accounting()
    private(set) var hasBegun = false

    init(_ encoder: consuming Encoder, plan: ConversionPlan, input: BodyEncoding) {
        self.encoder = encoder
        self.input = input
        options = plan.fieldDecoding
        limits = plan.limits
        nesting = plan.fieldDecoding.nesting
        names = NameMapper(plan.map)
        gate = FileGate(plan)
        assigned = AssignedFields(plan)
        needsPaths = !plan.map.isEmpty || !plan.files.isEmpty
        wantsTexts = gate.wantsTexts
        makesFiles = plan.output.hasFiles && plan.files.contains { $0.source(from: input) != nil }
    }

    /// Makes the mapper as new for another body; the encoder is left as it is.
    mutating func reset() {
        names.reset()
        gate.reset()
        content = .passing
        base64 = Base64Encoder()
        text.removeAll()
        accounting = Accounting()
        hasBegun = false
    }

    /// Sends what `set` gives.
    mutating func begin(sources: [[UInt8]]) throws(ConversionError) {
        hasBegun = true
        try assigned.send(sources, to: &encoder)
    }

    var isFull: Bool { encoder.isFull }

    mutating func beginPart(_ part: borrowing PartHead) throws(ConversionError) {
        if part.isFile { accounting.files += 1 } else { accounting.fields += 1 }
        content = .passing
        if !needsPaths {
            guard part.isFile else { return try encoder.beginPart(part) }
            spelled.removeAll()
            spelled.append(contentsOf: part.name)
            return try beginFile(part, rule: nil, isRenamed: false)
        }
        try name.parse(part.name, options: options, limits: limits)
        mapped.set(name)
        let verdict = try names.apply(to: &mapped)
        if verdict == .removed {
            accounting.removed += 1
            content = .dropped
            return
        }
        spelled.removeAll()
        if verdict == .renamed {
            mapped.spell(nesting, to: &spelled)
            // The limit is of what comes out: our own reader would refuse a longer one.
            guard spelled.count <= limits.key else {
                throw .limit(
                    "key", of: limits.key, what: "the length of a field's name, as map.rename writes it",
                    field: part.name.lossyString())
            }
        } else {
            spelled.append(contentsOf: part.name)
        }
        if part.isFile { return try beginFile(part, rule: gate.rule(for: mapped), isRenamed: verdict == .renamed) }
        if makesFiles, let rule = gate.rule(for: mapped), let source = gate.rules[rule].source(from: input) {
            accounting.fields -= 1
            accounting.files += 1
            gate.begin(rule: rule, field: spelled)
            fileText.begin(source)
            (fileRule, isFileOpen, content) = (rule, false, .made)
            return
        }
        if wantsTexts {
            gate.beginText(mapped)
            content = .captured
        }
        guard verdict == .renamed else { return try encoder.beginPart(part) }
        head.copy(part, named: spelled)
        try encoder.beginPart(head)
    }

    private mutating func beginFile(
        _ part: borrowing PartHead, rule: Int?, isRenamed: Bool
    ) throws(ConversionError) {
        let policy = try gate.admit(rule: rule, field: spelled)
        switch policy {
        case .drop:
            accounting.removed += 1
            content = .dropped
        case .base64:
            content = .text
            try gate.check(type: part.mediaType, rule: rule)
            head.setName(copying: spelled)
            try encoder.beginPart(head)
        default:
            content = .file
            guard isRenamed || rule != nil else { return try encoder.beginPart(part) }
            _ = gate.spell(rule: rule, to: &spelled)
            head.copy(part, named: spelled)
            try gate.describe(&head, rule: rule)
            try encoder.beginPart(head)
        }
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        switch content {
        case .passing: try encoder.content(piece, isLast: isLast)
        case .dropped: break
        case .captured:
            try gate.text(piece, isLast: isLast)
            try encoder.content(piece, isLast: isLast)
        case .file:
            try gate.count(piece.count)
            try encoder.content(piece, isLast: isLast)
        case .text:
            try gate.count(piece.count)
            base64.encode(piece, into: &text)
            if isLast { base64.finish(into: &text) }
            if isLast || !text.isEmpty { try encoder.send(content: text, isLast: isLast) }
            text.removeAll()
        case .made: try make(piece, isLast: isLast)
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
            _ = gate.spell(rule: fileRule, to: &spelled)
            head.begin(madeFrom: fileText, named: spelled)
            try gate.describe(&head, rule: fileRule)
            try encoder.beginPart(head)
        }
        try gate.count(fileText.decoded.count)
        if isLast || !fileText.decoded.isEmpty { try encoder.send(content: fileText.decoded, isLast: isLast) }
        fileText.decoded.removeAll()
    }
}

extension FieldSink where Self: ~Copyable {
    /// `content` for bytes in a buffer: a span of a stored property would hold all of its owner.
    internal mutating func send(content buffer: OutputBuffer, isLast: Bool) throws(ConversionError) {
        try content(buffer.span, isLast: isLast)
    }
}

extension PartHead {
    /// Makes this the head of a file that a text becomes.
    internal mutating func begin(madeFrom text: FileText, named name: ByteStore) {
        setName(copying: name)
        isFile = true
        if !text.mediaType.isEmpty { setMediaType(text.mediaType.span) }
    }

    /// For bytes in a store: a span of a stored property would hold all of a non-copyable owner.
    internal mutating func setFilename(copying filename: ByteStore) { setFilename(filename.span) }
    internal mutating func setMediaType(copying mediaType: ByteStore) { setMediaType(mediaType.span) }

    /// Makes this head a copy of `other` under another name, with the allocations kept.
    internal mutating func copy(_ other: borrowing PartHead, named name: ByteStore) {
        setName(copying: name)
        if other.hasFilename { setFilename(other.filename) }
        if other.hasMediaType { setMediaType(other.mediaType) }
        for index in 0..<other.otherFieldCount {
            addField(name: other.otherFieldName(index), value: other.otherFieldValue(index))
        }
        isFile = other.isFile
        hasValue = other.hasValue
    }
}
