internal import EventLoop
internal import HTTPWire
internal import Octets

/// Writes one line in the combined format of Apache and nginx:
/// `client - user [time] "request" status bytes "referer" "user agent"`.
///
/// Quotes, backslashes, controls and bytes beyond ASCII in values are written as `\xHH`, as nginx has it: a value can
/// neither end its quotes nor its line.
struct CombinedLine: ~Copyable {
    private var output: OutputBuffer

    /// Starts behind what `output` holds; its allocation is kept.
    init(into output: consuming OutputBuffer) {
        // Taken over, not shared: a second reference, however short, would make the first append copy all that waits.
        self.output = OutputBuffer()
        swap(&self.output, &output)
    }

    /// - Parameter user: whose credentials let the request in; nil: nobody's that has a name.
    mutating func client(_ peer: SocketAddress?, user: String?) {
        if let peer { peer.appendIP(to: &output) } else { output.append(UInt8(ascii: "-")) }
        output.append(" - ")
        // No quotes stand around it: a space would end it.
        if let user { escape(user.utf8Span.span, from: 0x21) } else { output.append(UInt8(ascii: "-")) }
        output.append(" [")
    }

    mutating func time(_ write: (inout OutputBuffer) -> Void) {
        write(&output)
        output.append("] \"")
    }

    /// The request line; `-` where none was read.
    ///
    /// - Parameter secrets: where values stand in the path that aren't shown.
    mutating func request(_ head: borrowing MessageHead, _ secrets: [Range<Int>], _ query: LoggedQuery) {
        if head.method.isEmpty {
            output.append(UInt8(ascii: "-"))
        } else {
            escape(head.method)
            output.append(ASCII.space)
            append(path: head.path, hiding: secrets, query)
            if let text = head.query, query != .drop { append(query: text, query) }
            output.append(" ")
            output.append(head.version.text)
        }
        output.append("\" ")
    }

    mutating func outcome(status: Int, bytes: Int) {
        output.append(decimal: status)
        output.append(ASCII.space)
        output.append(decimal: bytes)
    }

    /// Referer, whose path and query are as the target's, and User-Agent.
    mutating func agents(_ head: borrowing MessageHead, _ query: LoggedQuery) {
        output.append(" \"")
        if head.hasFields, let line = head.first(.referer) {
            var shown = OutputBuffer()
            shown.append(reference: head.value(line), query)
            escape(shown.span)
        } else {
            output.append(UInt8(ascii: "-"))
        }
        output.append("\" \"")
        if head.hasFields, let line = head.first(.userAgent) {
            escape(head.value(line))
        } else {
            output.append(UInt8(ascii: "-"))
        }
        output.append(UInt8(ascii: "\""))
    }

    /// Ends the line and gives the buffer back.
    consuming func end() -> OutputBuffer {
        output.append(ASCII.lineFeed)
        return output
    }

    private mutating func append(path text: Span<UInt8>, hiding secrets: [Range<Int>], _ query: LoggedQuery) {
        guard !secrets.isEmpty || PathParameters.occur(in: text) else { return escape(text) }
        var shown = OutputBuffer()
        shown.append(path: text, hiding: secrets, query)
        escape(shown.span)
    }

    private mutating func append(query text: Span<UInt8>, _ query: LoggedQuery) {
        var shown = OutputBuffer()
        shown.append(query: text, query)
        output.append(UInt8(ascii: "?"))
        escape(shown.span)
    }

    /// - Parameter first: the least byte that stands as it is.
    private mutating func escape(_ value: Span<UInt8>, from first: UInt8 = 0x20) {
        for index in value.indices {
            let byte = value[index]
            if byte < first || byte >= 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                output.append("\\x")
                output.append(ASCII.upperHexDigit(byte >> 4))
                output.append(ASCII.upperHexDigit(byte & 15))
            } else {
                output.append(byte)
            }
        }
    }
}
