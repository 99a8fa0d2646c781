package import Octets

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
