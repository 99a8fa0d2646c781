/// Reads `input(options) -> output(options)`. What stands in the parentheses is a YAML flow mapping, so that options
/// have one spelling everywhere.
struct ConversionExpression {
    /// The value that holds the expression.
    private let node: SettingsNode
    private let scalars: [Unicode.Scalar]
    private let context: ReadingContext
    /// Where the expression begins in the file; nil where it doesn't stand there as it is.
    private let start: SettingsNode.Position?
    /// Leads to the conversion: `request`.
    private let path: String
    private var at = 0

    init(_ node: SettingsNode, _ text: String, path: String = "request", _ context: ReadingContext) {
        self.node = node
        self.path = path
        self.context = context
        start = context.start(ofTextOf: node)
        scalars = Array(text.unicodeScalars)
    }

    /// The two sides, or nil and a mistake.
    consuming func read() -> (decode: ConversionSide, encode: ConversionSide)? {
        var parser = self
        guard let decode = parser.side("the input", path: "\(parser.path).decode") else { return nil }
        parser.skipBlanks()
        guard parser.take("->") else {
            return parser.fail("a conversion is written as input -> output, as in form -> json: \"->\" is missing here")
        }
        guard let encode = parser.side("the output", path: "\(parser.path).encode") else { return nil }
        parser.skipBlanks()
        guard parser.at == parser.scalars.count else {
            return parser.fail("nothing follows the output of a conversion")
        }
        return (decode, encode)
    }

    /// One name alone, perhaps with options: `github(secret: a)`. `example` is what to write instead of none.
    consuming func readName(_ what: String, path: String, example: String) -> ConversionSide? {
        var parser = self
        guard let side = parser.side(what, path: path, missing: "\(what) is missing here: write \(example)") else {
            return nil
        }
        parser.skipBlanks()
        guard parser.at == parser.scalars.count else { return parser.fail("nothing follows \(what)") }
        return side
    }

    private func fail<Nothing>(_ message: String, at offset: Int? = nil) -> Nothing? {
        context.report(position(offset ?? at), message)
        return nil
    }

    private func position(_ offset: Int) -> SettingsNode.Position {
        guard let start else { return node.position }
        return .init(line: start.line, column: start.column + offset)
    }

    private mutating func skipBlanks() {
        while at < scalars.count, scalars[at].properties.isWhitespace { at += 1 }
    }

    private mutating func take(_ text: String) -> Bool {
        guard scalars[at...].starts(with: text.unicodeScalars) else { return false }
        at += text.unicodeScalars.count
        return true
    }

    private static func isOfWord(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "a"..."z", "A"..."Z", "_", "0"..."9": true
        default: false
        }
    }

    /// A word and perhaps options in parentheses.
    private mutating func side(_ what: String, path: String, missing: String? = nil) -> ConversionSide? {
        skipBlanks()
        let start = at
        // A hyphen is of a name, but not that of an arrow.
        while at < scalars.count,
            Self.isOfWord(scalars[at])
                || scalars[at] == "-" && at > start && at + 1 < scalars.count && Self.isOfWord(scalars[at + 1])
        {
            at += 1
        }
        guard at > start else {
            return fail(missing ?? "\(what) of a conversion is missing here: write form, json or multipart")
        }
        var word = ""
        for scalar in scalars[start..<at] { word.unicodeScalars.append(scalar) }
        skipBlanks()
        var options = SectionReader.absent(what, path: path, context)
        if at < scalars.count, scalars[at] == "(" {
            guard let mapping = flowMapping(), let section = SectionReader(mapping, what, path: path, context) else {
                return nil
            }
            options = section
        }
        return ConversionSide(encoding: word, position: position(start), options: options)
    }

    /// What stands between the parenthesis here and the one that closes it, read as a flow mapping.
    private mutating func flowMapping() -> SettingsNode? {
        let open = at
        let close: Int
        switch closing(from: open) {
        case .found(let offset): close = offset
        case .openQuote(let offset):
            return fail("this quote is not closed: close it, or double it where it is part of the text", at: offset)
        case .none: return fail("this parenthesis is never closed", at: open)
        }
        at = close + 1
        // Blanks in front keep the columns; line ends can't be in an expression that came through YAML as one.
        var text = String.UnicodeScalarView(repeatElement(" ", count: open))
        text.append("{")
        text.append(contentsOf: scalars[open + 1..<close].map { Self.lineEnds.contains($0) ? " " : $0 })
        text.append("}")
        let parser = self
        let form = YAMLText.ShortForm(
            brace: .init(line: 1, column: open + 1), place: { parser.position($0.column - 1) })
        return YAMLText.read(String(text), context, within: form)
    }

    /// What YAML takes for the end of a line.
    private static let lineEnds = Array("\n\r\u{85}\u{2028}\u{2029}".unicodeScalars)

    private enum Closing {
        case found(Int)
        /// There is none, since all behind this quote is text.
        case openQuote(Int)
        case none
    }

    /// The offset of the parenthesis that closes the one at `open`. Quoted text is passed over.
    private func closing(from open: Int) -> Closing {
        var depth = 0
        var quote: (sign: Unicode.Scalar, offset: Int)?
        var before: Unicode.Scalar = "("
        var offset = open
        while offset < scalars.count {
            let scalar = scalars[offset]
            if let open = quote {
                if open.sign == "\"", scalar == "\\" {
                    offset += 1
                } else if scalar == open.sign {
                    quote = nil
                }
            } else if scalar == "(" {
                depth += 1
            } else if scalar == ")" {
                depth -= 1
                if depth == 0 { return .found(offset) }
            } else if scalar == "\"" || scalar == "'", "([{,:".unicodeScalars.contains(before) {
                quote = (scalar, offset)
            }
            if !scalar.properties.isWhitespace { before = scalar }
            offset += 1
        }
        return quote.map { .openQuote($0.offset) } ?? .none
    }
}
