internal import Octets

/// Writes a document as a flat body: a flattener and the encoder that it fills.
///
/// A value at one of the plan's `jsonParts` becomes one part with the media type application/json, whatever it is; in a form,
/// one field.
internal struct FlatEncoder<Target: FieldEncoder>: UniformSink, OutputEncoder, ~Copyable {
    /// Bytes of a JSON text that are gathered before they are handed on.
    private static var gathered: Int { 4096 }
    private static var jsonType: [UInt8] { Array("application/json".utf8) }

    var flattener: Flattener<Target>
    let hasParts: Bool
    /// Whether to say that the output is full behind every event that others than events may follow, so that a decoder stops there.
    var isStepping = false
    /// Follows the place of the value at hand, where there are parts; and the number of the next element of each open
    /// container, -1 in an object.
    private var places: PathMatcher
    private var positions: [Int] = []
    private var inPart = false
    private var level = 0
    private var json = JSON.Encoder(options: FlatEncoder.jsonOptions)
    private var head = PartHead()

    init(_ target: consuming Target, plan: ConversionPlan, observer: ConversionObserver? = nil) {
        flattener = Flattener(target: target, options: plan.fieldEncoding, limits: plan.limits)
        flattener.observer = observer
        flattener.drainLater()
        flattener.hasNoNullMembers = plan.leavesOutNullMembers
        hasParts = !plan.jsonParts.isEmpty
        places = PathMatcher(plan.jsonParts)
        head.setMediaType(Self.jsonType.span)
        head.isText = true
    }

    private static var jsonOptions: JSON.EncodingOptions {
        var options = JSON.EncodingOptions()
        options.files = .base64
        return options
    }

    /// Makes the encoder as new; the target is left as it is.
    mutating func reset() {
        flattener.reset()
        guard hasParts else { return }
        places.reset()
        positions.removeAll(keepingCapacity: true)
        (inPart, level) = (false, 0)
        json.reset()
    }

    var isFull: Bool { isStepping && !flattener.needsEvents || flattener.isFull }

    var output: OutputBuffer {
        _read { yield flattener.target.output }
        _modify { yield &flattener.target.output }
    }

    mutating func finish() throws(ConversionError) { try flattener.target.finish() }

    @inline(__always)
    mutating func take(_ event: DocumentEvent) throws(ConversionError) {
        if hasParts { return try takeBesideParts(event) }
        try event.send(to: &flattener)
    }

    @inline(never)
    private mutating func takeBesideParts(_ event: DocumentEvent) throws(ConversionError) {
        switch event.kind {
        case .key:
            if inPart { return json.key(event.bytes) }
            places.enter(key: event.bytes)
            return try flattener.key(event.bytes)
        case .beginObject, .beginArray:
            if try beginValue() {
                level += 1
                return try event.send(to: &json)
            }
            positions.append(event.kind == .beginObject ? -1 : 0)
            return try event.send(to: &flattener)
        case .endObject, .endArray:
            if inPart { level -= 1 } else { positions.removeLast() }
        case .piece, .lastPiece:
            if !inString { _ = try beginValue() }
            inString = event.kind == .piece
        case .yes, .no, .null, .number, .date, .data:
            _ = try beginValue()
        }
        guard inPart else {
            try event.send(to: &flattener)
            if event.kind != .piece { leave() }
            return
        }
        try event.send(to: &json)
        if event.kind == .piece { try flush(isLast: false) } else { try endValue() }
    }

    mutating func beginFile(_ file: borrowing PartHead) throws(ConversionError) {
        if hasParts, try beginValue() { return try json.beginFile(file) }
        try flattener.beginFile(file)
    }

    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        if inPart {
            json.fileContent(piece, isLast: isLast)
            if isLast { try endValue() } else { try flush(isLast: false) }
            return
        }
        try flattener.fileContent(piece, isLast: isLast)
        if hasParts, isLast { leave() }
    }

    // MARK: Parts

    private var inString = false

    /// Goes to the value that begins, and begins a part where one is wanted there. Returns whether it is in a part.
    private mutating func beginValue() throws(ConversionError) -> Bool {
        if inPart { return true }
        if let position = positions.last, position >= 0 {
            places.enter(index: position)
            positions[positions.count - 1] += 1
        }
        guard !positions.isEmpty, places.isAnyHere else { return false }
        inPart = true
        json.reset()
        try flattener.beginFile(head)
        return true
    }

    /// Ends a value in a part, and the part with its outermost one.
    private mutating func endValue() throws(ConversionError) {
        try flush(isLast: level == 0)
        guard level == 0 else { return }
        inPart = false
        leave()
    }

    private mutating func leave() {
        if !positions.isEmpty { places.leave() }
    }

    private mutating func flush(isLast: Bool) throws(ConversionError) {
        guard isLast || json.output.count >= Self.gathered else { return }
        var text = OutputBuffer()
        swap(&text, &json.output)
        try flattener.fileContent(text.span, isLast: isLast)
        text.removeAll()
        swap(&text, &json.output)
    }
}
