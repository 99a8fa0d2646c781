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
        /// Text of which other bytes are made, and a text again.
        case madeText
    }

    var encoder: Encoder
    private var rules: PartRules
    private var assigned: AssignedFields
    private let judgesFields: Bool
    private var content = Content.passing
    private var base64 = Base64Encoder()
    private var text = OutputBuffer()
    private(set) var accounting = Accounting()
    private(set) var hasBegun = false

    /// - Parameter observer: hears of each part and of the rules that concern it, where a conversion is explained.
    init(
        _ encoder: consuming Encoder, plan: ConversionPlan, input: BodyEncoding, observer: ConversionObserver? = nil
    ) {
        self.encoder = encoder
        rules = PartRules(plan, input: input, passes: true, observer: observer)
        assigned = AssignedFields(plan)
        judgesFields = !plan.map.isEmpty || !plan.files.isEmpty
    }

    /// Makes the mapper as new for another body; the encoder is left as it is.
    mutating func reset() {
        rules.reset()
        content = .passing
        base64 = Base64Encoder()
        text.removeAll()
        accounting = Accounting()
        hasBegun = false
    }

    /// Sends what `set` gives.
    mutating func begin(sources: [[UInt8]]) throws(ConversionError) {
        hasBegun = true
        rules.gate.assign(sources)
        try assigned.send(sources, to: &encoder)
        rules.observer?.assigned()
    }

    /// Bytes that are held, beside the encoder's.
    var heldCount: Int { rules.heldCount }

    var isFull: Bool { encoder.isFull || rules.gate.hold.isFull }

    var hold: FileHold {
        _read { yield rules.gate.hold }
        _modify { yield &rules.gate.hold }
    }

    mutating func beginPart(_ part: borrowing PartHead) throws(ConversionError) {
        rules.observer?.beginsPart(part)
        if part.isFile, !part.isUnchosen { accounting.files += 1 } else { accounting.fields += 1 }
        content = .passing
        if !part.isFile, !judgesFields { return try encoder.beginPart(part) }
        switch try rules.judge(part) {
        case .field:
            if rules.wantsTexts {
                rules.beginText()
                content = .captured
            }
            guard rules.isRenamed else { return try encoder.beginPart(part) }
            rules.rename(part)
            try encoder.beginPart(rules.head)
        case .file(.base64), .unchosen:
            content = .text
            try rules.describeText(part)
            if rules.beginHold(asText: true) { return }
            try encoder.beginPart(rules.head)
        case .file:
            content = .file
            guard !rules.leavesHead else { return try encoder.beginPart(part) }
            try rules.describe(part)
            if rules.beginHold() { return }
            try encoder.beginPart(rules.head)
        case .made:
            accounting.fields -= 1
            accounting.files += 1
            content = .made
        case .madeText:
            content = .madeText
            rules.rename(part)
        case .removed, .dropped:
            accounting.removed += 1
            content = .dropped
        }
    }

    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try pass(piece, isLast: isLast)
        if isLast { rules.observer?.endsPart() }
    }

    @inline(__always)
    private mutating func pass(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        switch content {
        case .passing: try encoder.content(piece, isLast: isLast)
        case .dropped: break
        case .captured:
            try rules.gate.text(piece, isLast: isLast)
            try encoder.content(piece, isLast: isLast)
        case .file:
            try rules.gate.count(piece.count)
            if rules.gate.hold.isGathering { return rules.gate.hold.append(piece, isLast: isLast) }
            try encoder.content(piece, isLast: isLast)
        case .text:
            try rules.gate.count(piece.count)
            if rules.gate.hold.isGathering { return rules.gate.hold.append(piece, isLast: isLast) }
            base64.encode(piece, into: &text)
            if isLast { base64.finish(into: &text) }
            if isLast || !text.isEmpty { try encoder.send(content: text, isLast: isLast) }
            text.removeAll()
        case .made:
            let made = try rules.make(piece, isLast: isLast)
            if made == .begins, !rules.beginMadeHold() { try encoder.beginPart(rules.head) }
            if rules.gate.hold.isGathering { return rules.gate.holdMade(isLast: isLast) }
            guard made != .nothing, isLast || !rules.gate.made.isEmpty else { return }
            try encoder.send(content: rules.gate.made, isLast: isLast)
        case .madeText:
            if try rules.makeText(piece, isLast: isLast) { rules.gate.holdMade(isLast: isLast) }
        }
    }

    /// Sends the file on that was held. Returns false while it waits to be settled, and while the output is full.
    mutating func release() throws(ConversionError) -> Bool {
        guard rules.gate.hold.isFull else { return true }
        guard !rules.gate.hold.isWaiting else { return false }
        if rules.gate.hold.isAtStart {
            if content != .text, content != .madeText { rules.describeSettled() }
            try encoder.beginPart(rules.head)
        }
        while !encoder.isFull {
            let isLast = rules.gate.hold.read(into: &text)
            try encoder.send(content: text, isLast: isLast)
            text.removeAll()
            if isLast { return true }
        }
        return false
    }
}

extension FieldSink where Self: ~Copyable {
    /// `content` for bytes in a buffer: a span of a stored property would hold all of its owner.
    internal mutating func send(content buffer: OutputBuffer, isLast: Bool) throws(ConversionError) {
        try content(buffer.span, isLast: isLast)
    }
}
