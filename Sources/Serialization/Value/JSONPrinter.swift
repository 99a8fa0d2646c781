internal import Octets
internal import Transcoding

/// Writes events as a JSON text for a request's body, with what AFNetworking's writer does beyond `JSON.Encoder`: escaped
/// slashes and line breaks. The layout is that of Apple's `JSONSerialization` in its pretty form.
internal struct JSONPrinter: EventSink {
    internal var output = OutputBuffer()
    internal var escapesSlashes = false
    internal var isPretty = false

    /// The values written into each open container.
    private var counts: [Int] = []
    private var followsKey = false
    private var isInText = false
    /// What the text of strings goes through: it knows the escapes.
    private var plain = JSON.Encoder(options: JSON.EncodingOptions())

    internal init() {}

    internal var isFull: Bool { false }

    internal mutating func beginObject() { open("{") }
    internal mutating func endObject() { close("}") }
    internal mutating func beginArray() { open("[") }
    internal mutating func endArray() { close("]") }

    internal mutating func key(_ name: Span<UInt8>) {
        beginValue()
        write(name)
        output.append(isPretty ? " : " : ":")
        followsKey = true
    }

    internal mutating func string(_ piece: Span<UInt8>, isLast: Bool) {
        if !isInText { beginValue() }
        plain.string(piece, isLast: isLast)
        isInText = !isLast
        if isLast { flush() }
    }

    internal mutating func number(_ text: Span<UInt8>) {
        beginValue()
        output.append(text)
    }

    internal mutating func bool(_ value: Bool) {
        beginValue()
        output.append(value ? "true" : "false")
    }

    internal mutating func null() {
        beginValue()
        output.append("null")
    }

    internal mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
        throw ConversionError(.file, field: head.name.lossyString())
    }

    internal mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) {}

    private mutating func write(_ text: Span<UInt8>) {
        plain.string(text, isLast: true)
        flush()
    }

    /// Moves what was escaped to the output.
    private mutating func flush() {
        Self.move(plain.output, to: &output, escapingSlashes: escapesSlashes)
        plain.reset()
    }

    private static func move(
        _ text: borrowing OutputBuffer, to output: inout OutputBuffer, escapingSlashes: Bool
    ) {
        guard escapingSlashes else { return output.append(text.span) }
        let bytes = text.span
        for index in bytes.indices {
            if bytes[index] == UInt8(ascii: "/") { output.append(UInt8(ascii: "\\")) }
            output.append(bytes[index])
        }
    }

    private mutating func open(_ bracket: StaticString) {
        beginValue()
        output.append(bracket)
        counts.append(0)
        breakLine()
    }

    private mutating func close(_ bracket: StaticString) {
        // An empty container has an empty line in it.
        if counts.removeLast() == 0, isPretty { output.append("\n") } else { breakLine() }
        if isPretty, output.span[output.count - 1] == ASCII.lineFeed { indent() }
        output.append(bracket)
    }

    /// Writes what stands in front of a value or a key.
    private mutating func beginValue() {
        guard !followsKey else {
            followsKey = false
            return
        }
        guard let count = counts.last else { return }
        if count > 0 {
            output.append(",")
            breakLine()
        }
        if isPretty { indent() }
        counts[counts.count - 1] = count + 1
    }

    private mutating func breakLine() {
        if isPretty { output.append("\n") }
    }

    private mutating func indent() {
        for _ in counts { output.append("  ") }
    }
}
