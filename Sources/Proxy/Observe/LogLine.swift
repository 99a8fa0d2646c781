internal import Octets

/// Writes one line that is a flat JSON object, straight into a buffer: a log line costs no allocation.
///
/// Whatever bytes a value has, the line stays one line of valid JSON that any terminal shows as it is. So it escapes more than
/// `JSON.Encoder` does, and repairs what is no UTF-8: it is the one other writer of JSON.
struct LogLine: ~Copyable {
    private var output: OutputBuffer
    private var isFirst = true

    /// Starts behind what `output` holds; its allocation is kept.
    init(into output: consuming OutputBuffer) {
        // Taken over, not shared: a second reference, however short, would make the first append copy all that waits.
        self.output = OutputBuffer()
        swap(&self.output, &output)
        self.output.append(UInt8(ascii: "{"))
    }

    /// A member whose value is text that is known to hold neither controls nor `"` nor `\`.
    mutating func member(_ name: StaticString, ascii value: Span<UInt8>) {
        begin(name)
        output.append(UInt8(ascii: "\""))
        output.append(value)
        output.append(UInt8(ascii: "\""))
    }

    /// As above, of a constant.
    mutating func member(_ name: StaticString, _ value: StaticString) {
        begin(name)
        output.append(UInt8(ascii: "\""))
        output.append(value)
        output.append(UInt8(ascii: "\""))
    }

    /// A member whose value is text from elsewhere. Bytes that are not UTF-8 are shown as U+FFFD.
    mutating func member(_ name: StaticString, text value: Span<UInt8>) {
        begin(name)
        append(text: value)
    }

    /// As above, of text that may be long: of more than `limit` bytes the first ones are shown, with `…` behind them.
    mutating func member(_ name: StaticString, text value: Span<UInt8>, limit: Int) {
        begin(name)
        append(text: value, limit: limit)
    }

    /// As above, with a name that is no constant.
    mutating func member(named name: String, text value: Span<UInt8>, limit: Int = .max) {
        separate()
        append(text: name.utf8Span.span)
        output.append(UInt8(ascii: ":"))
        append(text: value, limit: limit)
    }

    /// A member whose value `write` appends as text that needs no escapes.
    mutating func member(_ name: StaticString, writing write: (inout OutputBuffer) -> Void) {
        begin(name)
        output.append(UInt8(ascii: "\""))
        write(&output)
        output.append(UInt8(ascii: "\""))
    }

    mutating func member(_ name: StaticString, number value: Int) {
        begin(name)
        output.append(decimal: value)
    }

    /// A time in seconds with six decimals, as nginx's log has it with three.
    mutating func member(_ name: StaticString, seconds nanoseconds: UInt64) {
        begin(name)
        let microseconds = Int(nanoseconds / 1000)
        output.append(decimal: microseconds / 1_000_000)
        output.append(UInt8(ascii: "."))
        var rest = microseconds % 1_000_000
        var unit = 100_000
        while unit > 0 {
            output.append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest / unit))
            rest %= unit
            unit /= 10
        }
    }

    /// Ends the line and gives the buffer back.
    consuming func end() -> OutputBuffer {
        output.append("}\n")
        return output
    }

    private mutating func separate() {
        if isFirst { isFirst = false } else { output.append(UInt8(ascii: ",")) }
    }

    private mutating func begin(_ name: StaticString) {
        output.append(isFirst ? "\"" : ",\"")
        isFirst = false
        output.append(name)
        output.append("\":")
    }

    private mutating func append(text value: Span<UInt8>, limit: Int = .max) {
        output.append(UInt8(ascii: "\""))
        let end = LogText.cut(value, to: limit)
        append(content: value.extracting(0..<end))
        if end < value.count { output.append("…") }
        output.append(UInt8(ascii: "\""))
    }

    private mutating func append(content value: Span<UInt8>) {
        for index in value.indices {
            let byte = value[index]
            if byte < 0x20 || byte >= 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                return appendEscaped(value)
            }
        }
        output.append(value)
    }

    private mutating func appendEscaped(_ value: Span<UInt8>) {
        guard UTF8Validator.isValid(value) else {
            let repaired = value.lossyString()
            return appendEscaped(repaired.utf8Span.span)
        }
        var at = 0
        while at < value.count {
            let byte = value[at]
            if let (scalar, count) = LogText.unprintable(value, at: at) {
                let units = LogText.units(of: scalar)
                append(unit: units.first)
                if let second = units.second { append(unit: second) }
                at += count
                continue
            }
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { output.append(UInt8(ascii: "\\")) }
            output.append(byte)
            at += 1
        }
    }

    private mutating func append(unit: UInt32) {
        output.append("\\u")
        for shift in [12, 8, 4, 0] { output.append(ASCII.lowerHexDigit(UInt8(unit >> UInt32(shift) & 15))) }
    }
}
