internal import Octets

/// Writes a document as a flat body: a flattener and the encoder that it fills.
///
/// A value at one of the plan's `jsonParts` becomes one part with the media type application/json, whatever it is; in a form,
/// one field.
internal struct FlatEncoder<Target: FieldEncoder>: EventSink, OutputEncoder, ~Copyable {
    /// Bytes of a JSON text that are gathered before they are handed on.
    private static var gathered: Int { 4096 }
    private static var jsonType: [UInt8] { Array("application/json".utf8) }

    var flattener: Flattener<Target>
    let hasParts: Bool
    /// Whether to say that the output is full behind every event, so that a decoder stops there.
    var isStepping = false
    private let parts: Int
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
        parts = plan.jsonParts.count
        hasParts = parts > 0
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

    var isFull: Bool { isStepping || flattener.isFull }

    var output: OutputBuffer {
        _read { yield flattener.target.output }
        _modify { yield &flattener.target.output }
    }

    mutating func finish() throws(ConversionError) { try flattener.target.finish() }

    mutating func beginObject() throws(ConversionError) {
        if hasParts, try beginValue() {
            level += 1
            return json.beginObject()
        }
        if hasParts { positions.append(-1) }
        try flattener.beginObject()
    }

    mutating func endObject() throws(ConversionError) {
        if inPart {
            level -= 1
            json.endObject()
            return try endValue()
        }
        if hasParts { positions.removeLast() }
        try flattener.endObject()
        if hasParts { leave() }
    }

    mutating func beginArray() throws(ConversionError) {
        if hasParts, try beginValue() {
            level += 1
            return json.beginArray()
        }
        if hasParts { positions.append(0) }
        try flattener.beginArray()
    }

    mutating func endArray() throws(ConversionError) {
        if inPart {
            level -= 1
            json.endArray()
            return try endValue()
        }
        if hasParts { positions.removeLast() }
        try flattener.endArray()
        if hasParts { leave() }
    }

    mutating func key(_ name: Span<UInt8>) throws(ConversionError) {
        if inPart { return json.key(name) }
        if hasParts { places.enter(key: name) }
        try flattener.key(name)
    }

    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        guard hasParts else { return try flattener.string(piece, isLast: isLast) }
        if !inString {
            inString = true
            _ = try beginValue()
        }
        if isLast { inString = false }
        guard inPart else {
            try flattener.string(piece, isLast: isLast)
            if isLast { leave() }
            return
        }
        json.string(piece, isLast: isLast)
        if isLast { try endValue() } else { try flush(isLast: false) }
    }

    mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        if hasParts, try beginValue() {
            json.number(text)
            return try endValue()
        }
        try flattener.number(text)
        if hasParts { leave() }
    }

    mutating func date(_ text: Span<UInt8>) throws(ConversionError) {
        if hasParts, try beginValue() {
            json.string(text, isLast: true)
            return try endValue()
        }
        try flattener.date(text)
        if hasParts { leave() }
    }

    mutating func bool(_ value: Bool) throws(ConversionError) {
        if hasParts, try beginValue() {
            json.bool(value)
            return try endValue()
        }
        try flattener.bool(value)
        if hasParts { leave() }
    }

    mutating func null() throws(ConversionError) {
        if hasParts, try beginValue() {
            json.null()
            return try endValue()
        }
        try flattener.null()
        if hasParts { leave() }
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
        guard !positions.isEmpty, (0..<parts).contains(where: places.isHere) else { return false }
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
