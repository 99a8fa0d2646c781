/// What is wrong with a text that is no YAML, for a person: libyaml says where it could not go on, which is seldom where the
/// mistake is.
struct YAMLFault {
    private(set) var position: SettingsNode.Position
    private(set) var message: String

    /// - Parameters:
    ///   - problem: libyaml's words.
    ///   - context: its words for what it was reading, which began at `start`.
    ///   - form: the short form that `text` is a part of.
    init(
        problem: String, context: String?, start: SettingsNode.Position?, position: SettingsNode.Position, text: String,
        within form: YAMLText.ShortForm? = nil
    ) {
        self.position = position
        message = ""
        defer { if let form { self.position = form.place(self.position) } }
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        if let position = Self.tab(in: lines, upTo: position.line) {
            self.position = position
            message = "a tab indents this line: YAML takes spaces only"
            return
        }
        if let position = Self.openQuote(in: lines, upTo: position.line) {
            self.position = position
            message = "this quote is not closed in its line: close it, or double it where it is part of the text"
            return
        }
        let line =
            lines.indices.contains(position.line - 1) ? lines[position.line - 1] : Substring.UnicodeScalarView()
        let rest = line.dropFirst(max(0, position.column - 1))
        if form == nil, let place = Self.dashWithoutSpace(in: lines, before: position.line) {
            self.position = place
            message = "a space is missing behind this dash: an element of a list begins with \"- \""
            return
        }
        if let column = Self.bracketedAddress(in: line) {
            self.position.column = column
            message = "an address in brackets is a list in YAML: put it in quotes, as in \"[::1]:8080\""
        } else if context?.contains("an alias") == true || problem.contains("undefined alias") {
            if let start { self.position = start }
            message = Self.alias
        } else if context?.contains("an anchor") == true {
            if let start { self.position = start }
            message = "a value that begins with & is an anchor in YAML: put it in quotes"
        } else if problem.contains("cannot start any token"), let sign = rest.first {
            message =
                sign == "\t"
                ? "a tab stands here: YAML takes spaces only"
                : "a value can't begin with \(sign) in YAML: put it in quotes"
        } else if problem.hasPrefix("mapping values") || problem.contains("expected ':'"),
            let missing = Self.colonWithoutSpace(in: lines, from: start?.line ?? position.line - 1, to: position.line)
        {
            self.position = missing
            message = "a space is missing behind this colon: a key ends in a colon and a space, as in key: value"
        } else if context?.contains("block mapping") == true,
            let missing = Self.colonWithoutSpace(in: lines, from: position.line, to: position.line)
        {
            self.position = missing
            message = "a space is missing behind this colon: a key ends in a colon and a space, as in key: value"
        } else if form == nil, context?.contains("flow") != true,
            let sign = line.prefix(max(0, position.column - 1)).last(where: { $0 != " " }),
            sign == "}" || sign == "]", let first = rest.first, first != "}", first != "]", first != ","
        {
            message =
                "nothing but a comment can stand behind the \(sign) that ends a value, and a comment has a space in front"
        } else if form == nil, problem.contains("<document start>") {
            message =
                Self.firstColumn(of: lines) > position.column
                ? "this line begins further left than the first one: the keys of one mapping begin in one column"
                : "the settings have ended in front of this line: all of a file is one mapping of keys to values"
        } else if problem.contains("block sequence entries") {
            message =
                "a list can't begin in the line of its key: write [a, b], or each element in a line of its own below, behind \"- \""
        } else if problem.hasPrefix("mapping values") {
            message = Self.misplacedKey(line, column: position.column)
        } else if let start, context?.contains("block collection") == true || problem.contains("'-' indicator") {
            message =
                "this is no element of the list that begins in line \(start.line): each begins with \"- \" in column "
                + "\(start.column)"
        } else if let form, let stray = Self.strayBracket(in: line, behind: form.brace.column) {
            self.position = stray.position
            message = "this \(stray.sign) closes nothing that is open here"
        } else if let form, let open = Self.openBracket(in: [line.dropLast()], upTo: 1), open.position != form.brace {
            self.position = open.position
            message =
                "this \(open.sign) is not closed: a comma parts its elements, and \(open.sign == "[" ? "]" : "}") ends them"
        } else if form != nil, rest.isEmpty, let hash = line.firstIndex(of: "#") {
            self.position.column = line.distance(from: line.startIndex, to: hash) + 1
            message = "a # begins a comment in YAML, which goes on to the end of the line: put the value in quotes"
        } else if form == nil, context?.contains("flow node") == true,
            let open = Self.openBracket(in: lines, upTo: position.line)
        {
            self.position = open.position
            message =
                "this \(open.sign) is not closed before the text ends: a comma parts its elements, and "
                + "\(open.sign == "[" ? "]" : "}") ends them"
        } else if context?.contains("flow") == true, rest.first == ":" {
            message = "\(Self.unquoted), or a comma is missing before the key"
        } else if context?.contains("flow") == true, let sign = rest.first, sign == "{" || sign == "[",
            let before = line.prefix(max(0, position.column - 1)).last, !" ,[{".unicodeScalars.contains(before)
        {
            let around = form == nil ? "{ } or [ ]" : "( ), { } or [ ]"
            message = "a value with \(sign) in it, within \(around), is read as two: put it in quotes"
        } else if context?.contains("flow node") == true, let sign = rest.first {
            message =
                sign == ","
                ? "nothing stands before this comma: one is between two elements alone"
                : "this \(sign) can't stand here: put the value in quotes that it is a part of"
        } else if form != nil, start == nil || start == form?.brace {
            message =
                "the options can't be read on from here: a comma parts them, and each is a key, a colon, a space and a value"
        } else if let start, context?.contains("flow") == true {
            let sign = context?.contains("sequence") == true ? "[" : "{"
            let line = (form?.place(start) ?? start).line
            message =
                "the \(sign) of line \(line) is not closed before this: a comma parts its elements, and "
                + "\(sign == "[" ? "]" : "}") ends them"
        } else if let start, context?.contains("block mapping") == true {
            message =
                rest.prefix(2).elementsEqual("- ".unicodeScalars)
                ? "a list can't stand here, among the keys of the mapping that begins in line \(start.line): indent it"
                : "this is no key of the mapping that begins in line \(start.line): its keys all begin in column "
                    + "\(start.column) and end in a colon"
        } else if problem.contains("expected ':'") {
            if let start { self.position = start }
            message = "a key ends in a colon and a space: write one, as in key: value"
        } else {
            let during = context.map { " \($0)" } ?? ""
            message = "this is not YAML: \(problem)\(during)"
        }
    }

    static let alias =
        "a value that begins with * is an alias in YAML: put it in quotes; a path that takes all is \"/*\""

    /// The first tab of an indentation, which libyaml takes for nearly anything else.
    private static func tab(in lines: [Substring.UnicodeScalarView], upTo last: Int) -> SettingsNode.Position? {
        for (index, line) in lines.prefix(last).enumerated() {
            guard let end = line.firstIndex(where: { $0 != " " && $0 != "\t" }), line[end] != "\r"
            else { continue }
            guard let tab = line[..<end].firstIndex(of: "\t") else { continue }
            return .init(line: index + 1, column: line.distance(from: line.startIndex, to: tab) + 1)
        }
        return nil
    }

    /// The first quote that begins a value and isn't closed in its line: whatever follows was read as text.
    private static func openQuote(
        in lines: [Substring.UnicodeScalarView], upTo last: Int
    ) -> SettingsNode.Position? {
        for (index, line) in lines.prefix(last).enumerated() {
            var open: (sign: Unicode.Scalar, column: Int)?
            var before: Unicode.Scalar = " "
            var escapes = false
            for (column, sign) in line.enumerated() {
                if let quote = open {
                    if escapes {
                        escapes = false
                    } else if sign == "\\", quote.sign == "\"" {
                        escapes = true
                    } else if sign == quote.sign {
                        // Two single quotes are one that is part of the text: closed, and open again.
                        open = nil
                        before = sign
                    }
                    continue
                }
                if sign == "#", before == " " { break }
                let begins = before == " " || before == "[" || before == "{" || before == ","
                if (sign == "\"" || sign == "'") && (begins || sign == "'" && before == "'") {
                    open = (sign, column + 1)
                }
                before = sign
            }
            if let open { return .init(line: index + 1, column: open.column) }
        }
        return nil
    }

    /// The last bracket that is open at the end, where quotes are closed.
    private static func openBracket(
        in lines: [Substring.UnicodeScalarView], upTo last: Int
    ) -> (sign: Unicode.Scalar, position: SettingsNode.Position)? {
        var open: [(sign: Unicode.Scalar, position: SettingsNode.Position)] = []
        var quote: Unicode.Scalar?
        for (index, line) in lines.prefix(last).enumerated() {
            for (column, sign) in line.enumerated() {
                if let closing = quote {
                    if sign == closing { quote = nil }
                } else {
                    switch sign {
                    case "\"", "'": quote = sign
                    case "[", "{": open.append((sign, .init(line: index + 1, column: column + 1)))
                    case "]", "}": _ = open.popLast()
                    default: break
                    }
                }
            }
        }
        return open.last
    }

    /// The first bracket that closes none of those behind a column of the one line, where quotes are closed; the last sign is ours.
    private static func strayBracket(
        in line: Substring.UnicodeScalarView, behind column: Int
    ) -> (sign: Unicode.Scalar, position: SettingsNode.Position)? {
        var depth = 0
        var quote: Unicode.Scalar?
        for (index, sign) in line.dropLast().enumerated() where index >= column {
            if let closing = quote {
                if sign == closing { quote = nil }
                continue
            }
            switch sign {
            case "\"", "'": quote = sign
            case "[", "{": depth += 1
            case "]", "}":
                if depth == 0 { return (sign, .init(line: 1, column: index + 1)) }
                depth -= 1
            default: break
            }
        }
        return nil
    }

    /// A colon where no key can end: a line that is indented too far, or a value that holds one.
    private static func misplacedKey(_ line: Substring.UnicodeScalarView, column: Int) -> String {
        let key = line.prefix(max(0, column - 1)).drop { $0 == " " }
        let isAlone = !key.contains(" ") && !key.contains("\"")
        return isAlone
            ? "this key stands deeper than those before it: the keys of one mapping begin in one column, and what is in it "
                + "stands behind a line that ends in a colon"
            : unquoted
    }

    private static let unquoted = "a value with a colon and a space in it is read as a key: put it in quotes"

    /// Where an address in brackets begins, with the colon of a port behind it, as `[::1]:80` outside of quotes: its column.
    private static func bracketedAddress(in line: Substring.UnicodeScalarView) -> Int? {
        var open: Int?
        var colons = 0
        var before: Unicode.Scalar = " "
        for (column, sign) in line.enumerated() {
            if sign == ":", before == "]", open != nil, colons > 1 { return open }
            if sign == "[" {
                (open, colons) = (before == "\"" || before == "'" ? nil : column + 1, 0)
            } else if sign == ":" {
                colons += 1
            } else if sign != "]", !(sign.value < 128 && sign.properties.isASCIIHexDigit) {
                open = nil
            }
            before = sign
        }
        return nil
    }

    /// The column of the first line that has more than a comment.
    private static func firstColumn(of lines: [Substring.UnicodeScalarView]) -> Int {
        for line in lines {
            let text = line.drop { $0 == " " }
            if let first = text.first, first != "#", !text.starts(with: "---".unicodeScalars) {
                return line.count - text.count + 1
            }
        }
        return 1
    }

    /// A dash that begins a line, with a key or a bracket right behind it: the line that can't be read or one of the two before it.
    private static func dashWithoutSpace(
        in lines: [Substring.UnicodeScalarView], before last: Int
    ) -> SettingsNode.Position? {
        for (index, line) in lines.prefix(last).enumerated() where index + 3 >= last {
            let text = line.drop { $0 == " " }
            guard text.first == "-", let next = text.dropFirst().first,
                next == "{" || next == "[" || next.properties.isAlphabetic
            else { continue }
            let word = text.dropFirst().prefix { $0.properties.isAlphabetic || $0 == "_" }
            let behind = text[word.endIndex...]
            guard word.isEmpty || behind.first == ":" && (behind.count == 1 || behind.dropFirst().first == " ") else {
                continue
            }
            return .init(line: index + 1, column: line.count - text.count + 1)
        }
        return nil
    }

    /// The first colon behind a word that begins a line, without the space that would make a key of it.
    private static func colonWithoutSpace(
        in lines: [Substring.UnicodeScalarView], from first: Int, to last: Int
    ) -> SettingsNode.Position? {
        for (index, line) in lines.enumerated() where index + 1 >= first && index + 1 <= last {
            var word = line.drop { $0 == " " }
            let isElement = word.prefix(2).elementsEqual("- ".unicodeScalars)
            if isElement { word = word.dropFirst(2).drop { $0 == " " } }
            guard let colon = word.firstIndex(where: { $0 == ":" || $0 == " " }), word[colon] == ":",
                colon != word.startIndex
            else { continue }
            let next = word.index(after: colon)
            guard next != word.endIndex, word[next] != " ", word[next] != "\r" else { continue }
            // Addresses in a list have a colon with a port behind it.
            if isElement, word[next].properties.numericType != nil { continue }
            let name = String(String.UnicodeScalarView(word[..<colon]))
            guard !["http", "https", "unix", "systemd"].contains(name),
                name.unicodeScalars.allSatisfy({ $0.properties.isAlphabetic || $0 == "_" })
            else { continue }
            return .init(line: index + 1, column: line.distance(from: line.startIndex, to: colon) + 1)
        }
        return nil
    }
}
