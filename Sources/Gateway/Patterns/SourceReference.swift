public import HTTPWire
package import Octets
public import Transcoding

/// A value that is taken from the request's head: `${header.x-tenant}`, `${path.id}`, `${query.q}`, `${client.ip}`,
/// alone or inside a longer text. It is a value only: whatever it holds is never read as syntax.
public indirect enum SourceReference: Hashable, Sendable {
    /// A field's value by its name in lower case; several lines are joined by a comma and a space (RFC 9110 §5.2), and
    /// a field that is missing is the empty text.
    case header(String)
    /// The variable at this index of the route's path, percent-decoded, and its name.
    case path(Int, String)
    /// The first parameter of this name in the target's query, decoded as forms are; empty when there is none.
    case query(String)
    /// The address of the client's end of the connection, without a port.
    case clientAddress
    /// Texts and values one behind the other.
    case literalMix([Piece])

    public enum Piece: Hashable, Sendable {
        case literal(String)
        case source(SourceReference)
    }

    /// Appends the value. Throws when it is not UTF-8, because then neither JSON nor a form can carry it.
    public func append(
        from head: borrowing MessageHead, captures: PathCaptures, client: Span<UInt8>,
        to output: inout [UInt8]
    ) throws(ConversionError) {
        if case .literalMix(let pieces) = self {
            for piece in pieces {
                switch piece {
                case .literal(let text): output.append(contentsOf: text.utf8)
                case .source(let source):
                    try source.append(from: head, captures: captures, client: client, to: &output)
                }
            }
            return
        }
        let start = output.count
        appendOctets(from: head, captures: captures, client: client, to: &output)
        guard UTF8Validator.isValid(output.span.extracting(start..<output.count)) else {
            throw ConversionError(
                .malformed, code: "source_invalid_utf8", reason: "the value of \(description) is not UTF-8")
        }
    }

    /// The fields that are the value or parts of it, in lower case.
    package var fieldNames: [String] {
        switch self {
        case .header(let name): [name]
        case .literalMix(let pieces):
            pieces.flatMap { if case .source(let source) = $0 { source.fieldNames } else { [String]() } }
        case .path, .query, .clientAddress: []
        }
    }

    /// Whether a variable of the path is the value or part of it.
    var readsPath: Bool {
        switch self {
        case .path: true
        case .literalMix(let pieces):
            pieces.contains { if case .source(let source) = $0 { source.readsPath } else { false } }
        case .header, .query, .clientAddress: false
        }
    }

    /// Whether the client's address is the value or part of it.
    var readsClient: Bool {
        switch self {
        case .clientAddress: true
        case .literalMix(let pieces):
            pieces.contains { if case .source(let source) = $0 { source.readsClient } else { false } }
        case .header, .path, .query: false
        }
    }

    /// Appends the value, whatever bytes it has: a field takes more than UTF-8, but not all of them.
    public func appendOctets(
        from head: borrowing MessageHead, captures: PathCaptures, client: Span<UInt8>, to output: inout [UInt8]
    ) {
        switch self {
        case .literalMix(let pieces):
            for piece in pieces {
                switch piece {
                case .literal(let text): output.append(contentsOf: text.utf8)
                case .source(let source):
                    source.appendOctets(from: head, captures: captures, client: client, to: &output)
                }
            }
        case .clientAddress:
            output.append(contentsOf: client)
        case .path(let index, _):
            PercentText.decode(head.path.extracting(captures[index]), plusIsSpace: false, to: &output)
        case .query(let name):
            if let query = head.query, let value = QueryText.value(of: name.utf8Span.span, in: query) {
                PercentText.decode(query.extracting(value), plusIsSpace: true, to: &output)
            }
        case .header(let name): _ = head.appendValue(named: name.utf8Span.span, to: &output)
        }
    }
}

extension MessageHead {
    /// Appends the value of the field of this name; those of several lines with a comma and a space between them (RFC 9110 §5.2). Returns
    /// whether there is one.
    package func appendValue(named name: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        var start = 0
        while let line = first(named: name, from: start) {
            if start > 0 { output.append(contentsOf: ", ".utf8) }
            output.append(contentsOf: value(line))
            start = line + 1
        }
        return start > 0
    }
}

extension SourceReference: CustomStringConvertible {
    /// As the settings write it; a variable of the path by its number.
    public var description: String {
        switch self {
        case .header(let name): "${header.\(name)}"
        case .path(_, let name): "${path.\(name)}"
        case .query(let name): "${query.\(name)}"
        case .clientAddress: "${client.ip}"
        case .literalMix(let pieces):
            pieces.map { piece in
                switch piece {
                case .literal(let text): text.replacing("${", with: "$${")
                case .source(let source): source.description
                }
            }.joined()
        }
    }
}

/// Percent escapes in a target.
package enum PercentText {
    /// Appends `text` with its escapes decoded once; a percent sign that begins none stays.
    package static func decode(_ text: Span<UInt8>, plusIsSpace: Bool, to output: inout [UInt8]) {
        var at = 0
        while at < text.count { output.append(next(text, &at, plusIsSpace: plusIsSpace)) }
    }

    /// The byte at `at`, decoded; `at` moves behind it.
    package static func next(_ text: Span<UInt8>, _ at: inout Int, plusIsSpace: Bool) -> UInt8 {
        let byte = text[at]
        if byte == UInt8(ascii: "%"), at + 2 < text.count, let high = ASCII.hexValue(text[at + 1]),
            let low = ASCII.hexValue(text[at + 2])
        {
            at += 3
            return high << 4 | low
        }
        at += 1
        return plusIsSpace && byte == UInt8(ascii: "+") ? ASCII.space : byte
    }

    /// Appends `text` with all but unreserved bytes (RFC 3986 §2.3) escaped.
    package static func encode(_ text: Span<UInt8>, to output: inout OutputBuffer) {
        for index in text.indices {
            let byte = text[index]
            if ByteSet.unreserved.contains(byte) {
                output.append(byte)
            } else {
                escape(byte) { output.append($0) }
            }
        }
    }

    /// Whether a target may hold the byte as it is (RFC 3986 §3.3); a percent sign may begin an escape.
    package static func mayHold(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"\"#<>\\^`{|}".utf8.contains(byte)
    }

    /// `text` with those bytes escaped that no target may hold.
    static func target(_ text: Span<UInt8>) -> String {
        var bytes: [UInt8] = []
        for index in text.indices {
            let byte = text[index]
            if mayHold(byte) { bytes.append(byte) } else { escape(byte) { bytes.append($0) } }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func escape(_ byte: UInt8, _ append: (UInt8) -> Void) {
        append(UInt8(ascii: "%"))
        append(ASCII.upperHexDigit(byte >> 4))
        append(ASCII.upperHexDigit(byte & 15))
    }
}

/// The parameters of a query.
package enum QueryText {
    /// The range of the parameter that begins at `start`, which moves behind the ampersand that ends it.
    package static func nextParameter(_ query: Span<UInt8>, _ start: inout Int) -> Range<Int> {
        let end = Scan.firstIndex(of: UInt8(ascii: "&"), in: query, from: start) ?? query.count
        defer { start = end + 1 }
        return start..<end
    }

    /// Whether the parameter in `range` has this name, and if so where its value stands.
    package static func value(in range: Range<Int>, of query: Span<UInt8>, named name: Span<UInt8>) -> Range<Int>? {
        let equals = Scan.firstIndex(of: UInt8(ascii: "="), in: query.extracting(range)).map { range.lowerBound + $0 }
        let nameEnd = equals ?? range.upperBound
        let given = query.extracting(range.lowerBound..<nameEnd)
        var at = 0
        for index in name.indices {
            guard at < given.count, PercentText.next(given, &at, plusIsSpace: true) == name[index] else { return nil }
        }
        guard at == given.count else { return nil }
        return min(nameEnd + 1, range.upperBound)..<range.upperBound
    }

    /// Where the value of the first parameter of this name stands, or nil.
    package static func value(of name: Span<UInt8>, in query: Span<UInt8>) -> Range<Int>? {
        var start = 0
        while start < query.count {
            let parameter = nextParameter(query, &start)
            if let value = value(in: parameter, of: query, named: name) { return value }
        }
        return nil
    }
}
