internal import Octets

/// Walks over the parameters of a header value, `;name=value`, in one pass (RFC 9110 §5.6.6).
///
/// It holds an index only; the text is given to each call.
package struct HeaderParameters {
    /// The parameters that one value may have.
    static let maximumCount = 16

    /// The text is not a row of parameters.
    package struct Malformed: Error {}

    package struct Parameter {
        package let name: Range<Int>
        /// Where the value stands, without its quotes.
        package let value: Range<Int>
        let isQuoted: Bool
        /// Whether the quoted value has `\"`.
        let hasEscapedQuote: Bool
    }

    /// How the value is written down.
    package enum Grammar {
        /// A token or a quoted string, spaces around `=` allowed: Content-Disposition.
        case disposition
        /// As above, but a backslash in a quoted string is no escape: the first quotation mark ends it.
        case html
        /// No spaces around `=`; unquoted, also the marks of a boundary that no token has, as clients send them.
        case contentType
    }

    private(set) var at: Int
    private let grammar: Grammar

    /// Starts at the `;` (or the white space before it) that follows the value proper.
    package init(from start: Int, grammar: Grammar) {
        self.at = start
        self.grammar = grammar
    }

    /// The next parameter, or nil at the end. Empty ones, as after a last `;`, are passed over.
    package mutating func next(in text: Span<UInt8>) throws(Malformed) -> Parameter? {
        at = Scan.endOfBlanks(in: text, from: at)
        guard at < text.count else { return nil }
        guard text[at] == UInt8(ascii: ";") else { throw Malformed() }
        while at < text.count, text[at] == UInt8(ascii: ";") {
            at += 1
            at = Scan.endOfBlanks(in: text, from: at)
        }
        guard at < text.count else { return nil }
        let nameStart = at
        at = Scan.endOfToken(in: text, from: at)
        let name = nameStart..<at
        if grammar != .contentType { at = Scan.endOfBlanks(in: text, from: at) }
        guard !name.isEmpty, at < text.count, text[at] == UInt8(ascii: "=") else { throw Malformed() }
        at += 1
        if grammar != .contentType { at = Scan.endOfBlanks(in: text, from: at) }
        guard at < text.count else { throw Malformed() }
        return text[at] == UInt8(ascii: "\"") ? try quoted(name, in: text) : try unquoted(name, in: text)
    }

    /// As above, with another error than `Malformed`.
    mutating func next<Failure: Error>(
        in text: Span<UInt8>, or failure: @autoclosure () -> Failure
    ) throws(Failure) -> Parameter? {
        do { return try next(in: text) } catch { throw failure() }
    }

    private mutating func quoted(_ name: Range<Int>, in text: Span<UInt8>) throws(Malformed) -> Parameter {
        at += 1
        let start = at
        var hasEscapedQuote = false
        while at < text.count {
            let (quote, backslash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"))
            at = Scan.firstIndex(ofAny: quote, backslash, quote, backslash, in: text, from: at)
            guard at < text.count else { break }
            switch text[at] {
            case UInt8(ascii: "\""):
                at += 1
                return Parameter(
                    name: name, value: start..<at - 1, isQuoted: true, hasEscapedQuote: hasEscapedQuote)
            case UInt8(ascii: "\\") where grammar != .html:
                guard at + 1 < text.count else { throw Malformed() }
                if text[at + 1] == UInt8(ascii: "\"") { hasEscapedQuote = true }
                at += 2
            default: at += 1
            }
        }
        throw Malformed()
    }

    private mutating func unquoted(_ name: Range<Int>, in text: Span<UInt8>) throws(Malformed) -> Parameter {
        let start = at
        while at < text.count, isUnquoted(text[at]) { at += 1 }
        guard at > start else { throw Malformed() }
        return Parameter(name: name, value: start..<at, isQuoted: false, hasEscapedQuote: false)
    }

    private func isUnquoted(_ byte: UInt8) -> Bool {
        if ASCII.isToken(byte) { return true }
        guard grammar == .contentType else { return false }
        return switch byte {
        case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "/"), UInt8(ascii: ":"), UInt8(ascii: "="),
            UInt8(ascii: "?"):
            true
        default: false
        }
    }
}

/// What the codec asks of a Content-Type, of the body's and of a part's.
package enum ContentType {
    /// The index after `type "/" subtype`, or nil when the value doesn't begin with one.
    package static func endOfMediaType(in value: Span<UInt8>) -> Int? {
        let slash = Scan.endOfToken(in: value, from: 0)
        guard slash > 0, slash < value.count, value[slash] == UInt8(ascii: "/") else { return nil }
        let end = Scan.endOfToken(in: value, from: slash + 1)
        return end > slash + 1 ? end : nil
    }

    /// Whether the value is a media type with its parameters (RFC 9110 §8.3.1), in ASCII: `text/plain; charset="utf-8"`.
    package static func isMediaType(_ value: Span<UInt8>) -> Bool {
        guard let end = endOfMediaType(in: value) else { return false }
        for at in value.indices where value[at] != ASCII.tab && !(0x20...0x7E).contains(value[at]) { return false }
        // Nothing but a semicolon has white space behind it that ends the value.
        let last = value.withoutBlanks
        guard value[value.count - 1] == last[last.count - 1] || last[last.count - 1] == UInt8(ascii: ";") else {
            return false
        }
        var parameters = HeaderParameters(from: end, grammar: .contentType)
        do throws(HeaderParameters.Malformed) {
            while let parameter = try parameters.next(in: value) {
                let text = value.extracting(parameter.value)
                guard parameter.isQuoted || Scan.endOfToken(in: text, from: 0) == text.count else { return false }
            }
        } catch {
            return false
        }
        return true
    }

    /// Whether text in this charset is UTF-8: `utf-8`, `utf8`, or `us-ascii`, which is a part of it.
    static func isUTF8(_ charset: Span<UInt8>) -> Bool {
        charset.isEqualIgnoringCase(to: "utf-8") || charset.isEqualIgnoringCase(to: "utf8")
            || charset.isEqualIgnoringCase(to: "us-ascii")
    }
}
