internal import Octets

/// How names and filenames of parts stand in their quotes, to the readers and writers that a dialect is named after.
///
/// HTML's rule (WHATWG HTML, multipart/form-data encoding) is that a quotation mark is `%22`, a carriage return `%0D`, a line feed `%0A`
/// and a backslash itself. Nearly all servers read a quoted string instead, in which a backslash takes what is special from a
/// quotation mark and from another backslash, and leave `%22` as it is.
package struct NameQuoting: Sendable {
    /// What a backslash is where it is read.
    enum Backslash {
        /// Itself, and a quotation mark behind it ends the text.
        case literal
        /// An escape in a text that has `\"`, itself in any other.
        case besideQuotes
        /// An escape before a quotation mark and another backslash.
        case escape
        /// An escape before any character in a name; in a filename as above, for old browsers send paths.
        case escapeOfAny
    }

    enum Text {
        case name, filename
    }

    /// How backslashes are read.
    let backslash: Backslash
    /// Whether `%22`, `%0D` and `%0A` are read as what HTML means by them, in a text that hasn't got `\"`.
    let decodesPercents: Bool
    /// Whether a quotation mark is written as `%22`; else as `\"`.
    let writesPercents: Bool
    /// Whether a `\"` of the input is written as it came, although `writesPercents`.
    let keepsEscapedQuotes: Bool
    /// Whether a backslash is written as two.
    let doublesBackslashes: Bool
    /// Whether a filename is percent-decoded where that can be done with all of it, as Rack does.
    let decodesFilenames: Bool
    /// What is read of an empty name of a part.
    let emptyName: EmptyName

    enum EmptyName {
        /// An empty name.
        case kept
        /// The filename, or the type and `[]` (Rack).
        case replaced
        /// An error (multer).
        case refused
    }

    package init(_ dialect: Dialect) {
        switch dialect {
        case .recast:
            // HTML's rule, and what clients that escape quotation marks mean.
            (backslash, decodesPercents) = (.besideQuotes, true)
            (writesPercents, keepsEscapedQuotes, doublesBackslashes) = (true, true, false)
        case .php, .qs, .rack:
            (backslash, decodesPercents) = (dialect == .rack ? .escapeOfAny : .escape, false)
            (writesPercents, keepsEscapedQuotes, doublesBackslashes) = (false, false, true)
        case .afnetworking, .alamofire, .whatwg:
            (backslash, decodesPercents) = (dialect == .whatwg ? .literal : .besideQuotes, true)
            (writesPercents, keepsEscapedQuotes, doublesBackslashes) = (true, false, false)
        }
        decodesFilenames = dialect == .rack
        emptyName = dialect == .rack ? .replaced : dialect == .qs ? .refused : .kept
    }

    /// Whether two spellings of a name read alike that are two names to most servers.
    var joinsSpellings: Bool { decodesPercents && backslash != .literal }
}

// MARK: Reading

extension NameQuoting {
    /// Reads what stands between the quotes of `parameter`, a parameter of `text`. In another charset than UTF-8, `isOtherCharset`, the
    /// byte of a backslash may be half a character.
    func read(
        _ parameter: HeaderParameters.Parameter, of text: Span<UInt8>, as kind: Text, isOtherCharset: Bool,
        into output: inout [UInt8]
    ) throws(Multipart.Fault) {
        let value = text.extracting(parameter.value)
        output.removeAll(keepingCapacity: true)
        if Scan.isPlainText(value), Scan.firstIndex(of: UInt8(ascii: "%"), in: value) == nil {
            // The usual case: nothing is escaped.
            output.append(contentsOf: value)
            return
        }
        let hasEscapes: Bool
        switch backslash {
        case .literal: hasEscapes = false
        case .besideQuotes: hasEscapes = parameter.hasEscapedQuote
        case .escape, .escapeOfAny: hasEscapes = parameter.hasEscapedQuote || parameter.isQuoted && !isOtherCharset
        }
        let escapesAny = backslash == .escapeOfAny && kind == .name
        let hasPercents = decodesPercents && parameter.isQuoted && !parameter.hasEscapedQuote
        var at = 0
        while at < value.count {
            var byte = value[at]
            guard byte >= 0x20 || byte == ASCII.tab else { throw .nameControl }
            // The scan of the quoted string saw to it that a byte follows.
            if hasEscapes, byte == UInt8(ascii: "\\"), escapesAny || Self.isEscaped(value[at + 1]) {
                at += 1
                byte = value[at]
                guard byte >= 0x20 || byte == ASCII.tab else { throw .nameControl }
            } else if hasPercents, byte == UInt8(ascii: "%"), at + 2 < value.count {
                let escape = value.extracting(at..<at + 3)
                if escape.isEqual(to: "%22") {
                    byte = UInt8(ascii: "\"")
                    at += 2
                } else if escape.isEqual(to: "%0D") {
                    byte = ASCII.carriageReturn
                    at += 2
                } else if escape.isEqual(to: "%0A") {
                    byte = ASCII.lineFeed
                    at += 2
                }
            }
            output.append(byte)
            at += 1
        }
        if kind == .filename, decodesFilenames { try Self.decodePercents(of: &output) }
    }

    /// Whether a backslash before this byte is an escape to all that know escapes.
    private static func isEscaped(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") }

    /// Decodes a filename as Rack does (`Multipart::Parser#normalize_filename`): all of it or nothing.
    private static func decodePercents(of filename: inout [UInt8]) throws(Multipart.Fault) {
        guard isPercentEncoded(filename.span) else { return }
        var end = 0
        var at = 0
        while at < filename.count {
            var byte = filename[at]
            if let escaped = filename.span.percentEscape(at: at) {
                byte = escaped
                at += 2
                let isLineEnd = byte == ASCII.carriageReturn || byte == ASCII.lineFeed
                guard byte >= 0x20 && byte != 0x7F || byte == ASCII.tab || isLineEnd else { throw .nameControl }
            }
            filename[end] = byte
            end += 1
            at += 1
        }
        filename.removeSubrange(end...)
    }

    /// Whether there are percent signs in the text, and two digits behind each.
    private static func isPercentEncoded(_ text: Span<UInt8>) -> Bool {
        var isEncoded = false
        var at = 0
        while at < text.count {
            if text[at] == UInt8(ascii: "%") {
                guard text.percentEscape(at: at) != nil else { return false }
                isEncoded = true
                at += 2
            }
            at += 1
        }
        return isEncoded
    }
}

// MARK: Writing

extension NameQuoting {
    /// Writes text that stands in quotes: in a name each CR, LF and CRLF as CRLF, in a filename as they are.
    ///
    /// `cameEscaped` says that it had `\"` where it was read. What has a `=` could be another parameter to a reader who doesn't know
    /// that escape and takes its quotation mark for the end.
    func write(_ text: Span<UInt8>, as kind: Text, cameEscaped: Bool, to output: inout OutputBuffer) {
        let encodesPercents = kind == .filename && decodesFilenames && Self.wouldBeDecoded(text)
        if Scan.isPlainText(text), !encodesPercents { return output.append(text) }
        let keepsEscapes =
            !writesPercents
            || cameEscaped && keepsEscapedQuotes && Scan.firstIndex(of: UInt8(ascii: "="), in: text) == nil
        let quote: StaticString = keepsEscapes ? "\\\"" : "%22"
        var plain = 0
        var at = 0
        while at < text.count {
            let written: StaticString
            var length = 1
            switch text[at] {
            case UInt8(ascii: "\""): written = quote
            // Beside escapes it would be one of them.
            case UInt8(ascii: "\\") where doublesBackslashes || keepsEscapes: written = "\\\\"
            case UInt8(ascii: "%") where encodesPercents: written = "%25"
            case ASCII.carriageReturn where kind == .name:
                if at + 1 < text.count, text[at + 1] == ASCII.lineFeed { length = 2 }
                written = "%0D%0A"
            case ASCII.lineFeed where kind == .name: written = "%0D%0A"
            case ASCII.carriageReturn: written = "%0D"
            case ASCII.lineFeed: written = "%0A"
            default:
                at += 1
                continue
            }
            output.append(text.extracting(plain..<at))
            output.append(written)
            at += length
            plain = at
        }
        output.append(text.extracting(plain..<text.count))
    }

    /// Whether Rack would decode the filename, were its percent signs left as they are: line ends are written with some.
    private static func wouldBeDecoded(_ filename: Span<UInt8>) -> Bool {
        if isPercentEncoded(filename) { return true }
        return Scan.firstIndex(of: ASCII.carriageReturn, in: filename) != nil
            || Scan.firstIndex(of: ASCII.lineFeed, in: filename) != nil
    }

    /// Whether the text can stand in quotes, once it is escaped.
    func canWrite(_ text: Span<UInt8>) -> Bool {
        if Multipart.Encoder.isPlain(text) { return true }
        var isAfterBackslash = false
        for index in text.indices {
            let byte = text[index]
            if byte < 0x20, byte != ASCII.carriageReturn, byte != ASCII.lineFeed, byte != ASCII.tab { return false }
            if byte == 0x7F { return false }
            isAfterBackslash = byte == UInt8(ascii: "\\") && !isAfterBackslash
        }
        // Most readers would take a single one at the end for an escape of the quote.
        return doublesBackslashes || !isAfterBackslash
    }
}
