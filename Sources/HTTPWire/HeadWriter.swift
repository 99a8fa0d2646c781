public import Octets

/// Writes heads. Nothing that could start a line of its own can be written: a value with CR, LF or NUL is refused.
///
/// A function that returns `false` has written nothing.
public enum HeadWriter {
    /// The request line of a parsed head, its target in origin form (asterisk form stays).
    public static func requestLine(of head: borrowing MessageHead, into output: inout OutputBuffer) {
        if head.targetForm == .absolute {
            output.append(head.method)
            output.append(" ", head.path, "")
            if let query = head.query { output.append("?", query, "") }
            output.append(" HTTP/1.1\r\n")
        } else {
            // Both stand in the head with the one space between them.
            output.append("", head.methodAndTarget, " HTTP/1.1\r\n")
        }
    }

    /// `HTTP/1.1 SP status SP reason` with the registered reason phrase, empty for statuses that have none.
    /// `status` has three digits.
    public static func statusLine(_ status: Int, into output: inout OutputBuffer) {
        precondition((100...999).contains(status), "a status has three digits")
        output.append("HTTP/1.1 ")
        output.append(decimal: status)
        output.append(ASCII.space)
        output.append(ReasonPhrase.of(status))
        output.append("\r\n")
    }

    /// The status line of a parsed response, its reason phrase kept.
    public static func statusLine(of head: borrowing MessageHead, into output: inout OutputBuffer) {
        if head.isVerbatimStart {
            output.append("", head.startLine, "\r\n")
        } else {
            output.append("HTTP/1.1 ")
            output.append(decimal: head.status)
            output.append(" ", head.reason, "\r\n")
        }
    }

    /// A field of our own. Both texts are constants of the program, so a bad one is a fault of ours.
    public static func field(_ name: StaticString, _ value: StaticString, into output: inout OutputBuffer) {
        precondition(isConstantFieldValue(value), "a field value holds no line end")
        output.append(name)
        output.append(": ")
        output.append(value)
        output.append("\r\n")
    }

    /// A field of ours with a value from elsewhere. `false` when the value holds a control other than HTAB.
    @inlinable
    @inline(__always)
    public static func field(_ name: StaticString, _ value: Span<UInt8>, into output: inout OutputBuffer) -> Bool {
        guard isFieldValue(value) else { return false }
        output.append(line: name, value)
        return true
    }

    /// As above, for a value that we made, or took from a head that was parsed: it can't hold a line end.
    @inlinable
    @inline(__always)
    public static func clean(_ name: StaticString, _ value: Span<UInt8>, into output: inout OutputBuffer) {
        let isWritten = field(name, value, into: &output)
        precondition(isWritten, "a field value of ours holds a control character")
    }

    /// A field of ours with a number, such as Content-Length.
    @inlinable
    public static func field(_ name: StaticString, decimal value: Int, into output: inout OutputBuffer) {
        output.append(line: name, decimal: value)
    }

    /// Field line `i` of a parsed head, which is known to be clean.
    public static func field(_ i: Int, of head: borrowing MessageHead, into output: inout OutputBuffer) {
        output.append(head.name(i))
        output.append(": ", head.value(i), "\r\n")
    }

    /// The field lines of a parsed head at `lines` in their order, without those of this hop and those of `others`, and without
    /// names that hold `_` unless `passesUnderscores`.
    ///
    /// Lines that follow each other and came as we would write them go out as they came, in one copy.
    public static func fields(
        of head: borrowing MessageHead, lines: Range<Int>, without others: KnownFieldSet,
        passesUnderscores: Bool = true,
        into output: inout OutputBuffer
    ) {
        // The run of bytes that is still to be copied.
        var start: UInt32 = 0
        var end: UInt32 = 0
        for index in lines {
            let line = head.lines[index]
            if line.isHopByHop || others.contains(line.known) || line.hasUnderscore && !passesUnderscores { continue }
            if line.name.start != end || !line.isVerbatim {
                if end > start { output.append(head.span(ByteRange(start, end))) }
                start = line.name.start
            }
            end = line.value.end &+ 2
            if !line.isVerbatim {
                field(index, of: head, into: &output)
                start = end
            }
        }
        if end > start { output.append(head.span(ByteRange(start, end))) }
    }

    /// The fields that announce a body framed so: Content-Length, Transfer-Encoding, or none.
    public static func framing(_ framing: BodyFraming, into output: inout OutputBuffer) {
        switch framing {
        case .none, .untilClose: break
        case .length(let length): output.append(line: "Content-Length", decimal: length)
        case .chunked: output.append("Transfer-Encoding: chunked\r\n")
        }
    }

    /// The empty line that ends a head.
    public static func end(into output: inout OutputBuffer) {
        output.append("\r\n")
    }

    /// Whether bytes may stand in a field value: no CR, LF, NUL or other control but HTAB.
    @inlinable
    public static func isFieldValue(_ value: Span<UInt8>) -> Bool { !Scan.holdsControl(value) }

    private static func isConstantFieldValue(_ value: StaticString) -> Bool {
        for index in 0..<value.utf8CodeUnitCount {
            // SAFETY: index < the literal's own length.
            let byte = unsafe value.utf8Start[index]
            if byte < 0x20 || byte == 0x7F { return false }
        }
        return true
    }
}
