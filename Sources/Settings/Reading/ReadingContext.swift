internal import Gateway
internal import Transcoding

/// What all readers of one text share: the mistakes found, the effective values, and what `${env:…}` reads from.
final class ReadingContext {
    private(set) var mistakes: [SettingsMistake] = []
    /// What is in `mistakes` by its place and words: there may be thousands, and an alias tells each again.
    private var toldMistakes: Set<ToldMistake> = []
    /// How many names may still be compared with one that isn't known: a file may have thousands of both.
    private var comparisons = 200_000
    /// What was seen as files were loaded that an operator should know.
    private(set) var notes: [SettingsNote] = []
    private var toldNotes: Set<SettingsNote> = []
    /// The values in effect, in the order they were read.
    private(set) var effective: [EffectiveValue] = []
    /// Where the values stand that "defaults" gives to all routes, by their keys; empty outside of routes.
    var inherited: [String: EffectiveValue.Origin] = [:]
    /// What `${env:…}` and `${file:…}` have put in, and into which values.
    private(set) var substitutions: [EffectiveValue.Secret] = []
    private var toldSubstitutions: Set<EffectiveValue.Secret> = []
    private var substituted: [Redaction.Node] = []
    private var toldSubstituted: Set<Redaction.Node> = []
    /// Where values stand that `environment` has only a placeholder for: columns by their line.
    private var unresolved: [Int: [Range<Int>]] = [:]
    /// The lines of those, and of what can't be judged without them.
    private(set) var unresolvedLines: Set<Int> = []
    /// The number of values that could not be read: because of a mistake, or because what they take isn't here.
    private(set) var failures = 0
    /// What the files of `${file:…}` had. A pipe gives its text once, and one that gives none is waited for.
    private var files: [String: Result<String, SettingsEnvironment.FileFault>] = [:]
    /// The numbers of the placeholders that stand for references.
    private var placeholders: [String: Int] = [:]
    let environment: SettingsEnvironment
    /// The fields of requests that are credentials or signatures, in lower case, each with what in a route says so.
    private(set) var credentialFields: [String: (user: String, position: SettingsNode.Position)] = [:]
    /// The secrets that stand in the file as themselves, by what may be guessed of them: their lengths.
    private(set) var secretLengths: [SecretLength] = []
    /// Hears which options are asked for, where they are to be listed.
    var catalog: OptionCatalog?
    private let text: String
    /// The text, to find places inside a value.
    private lazy var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)

    init(_ text: String, environment: SettingsEnvironment) {
        self.environment = environment
        self.text = text
    }

    /// The name of the route that is being read.
    var route: String?
    /// Where options of the output that was read last are written which may have nothing to do.
    var idleOptions: [(option: IdleOption, position: SettingsNode.Position)] = []
    /// What of a file is being read; nil where the text is none.
    var level: SettingsKeys.Level?
    /// Whether the route's `request` is an expression, which has no room for `map` and `fields`.
    var hasShortRequest = false

    /// - Parameter isCertain: whether it is wrong whatever the variables and files of the value hold.
    func report(
        _ position: SettingsNode.Position, _ message: String, code: SettingsMistake.Code = .setting,
        isCertain: Bool = false
    ) {
        failures += 1
        // What depends on a text that isn't here can't be judged.
        if !isCertain, unresolved[position.line]?.contains(where: { $0.contains(position.column) }) == true { return }
        let message = UserInfo.masked(Redaction(substitutions, substituted).message(message, at: position))
        let mistake = SettingsMistake(
            line: position.line, column: position.column, message: message, code: code, route: route)
        // An alias repeats a value, and with it what is wrong there.
        if toldMistakes.insert(ToldMistake(position: position, message: message)).inserted { mistakes.append(mistake) }
    }

    /// The end of a message about a name that isn't among those that the file itself gives: a guess, or all of them. Once that has taken
    /// as long as it may, how many there are.
    func hint(for name: String, among known: [String]) -> String {
        if known.isEmpty { return "there is none" }
        guard known.count <= comparisons else { return "it is none of the \(known.count) that there are" }
        comparisons -= known.count
        return NearestWord.hint(for: name, among: known)
    }

    private struct ToldMistake: Hashable {
        let position: SettingsNode.Position
        let message: String
    }

    func note(_ note: SettingsNote) {
        // An alias repeats a value, and with it what is said of it.
        if toldNotes.insert(note).inserted { notes.append(note) }
    }

    /// Remembers that `key` of the route that is read takes what stands in a field for a secret, or for a proof of one.
    func noteCredential(_ field: String, of key: String, _ position: SettingsNode.Position) {
        guard credentialFields[field.lowercased()] == nil else { return }
        let user = "\"\(key)\"" + (route.map { " of the route \"\($0)\"" } ?? "")
        credentialFields[field.lowercased()] = (user, position)
    }

    /// Remembers how long a secret is that stands in `node`, unless what it holds isn't here.
    func noteSecret(_ what: String, bytes: Int, isSigned: Bool = false, _ node: SettingsNode) {
        guard !isUnresolved(node) else { return }
        // What `${env:…}` has put in is itself.
        let spelling =
            if case .scalar(let text, _) = node.content { SecretSpelling(text) } else { SecretSpelling?.none }
        secretLengths.append(
            SecretLength(
                what: what, bytes: bytes, isSigned: isSigned, spelling: spelling, route: route, position: node.position)
        )
    }

    func record(_ key: String, _ value: String, _ origin: EffectiveValue.Origin) {
        effective.append(EffectiveValue(key: key, value: value, origin: origin))
    }

    func noteSubstitution(_ text: String, _ reference: String, _ node: SettingsNode) {
        let secret = EffectiveValue.Secret(text: text, reference: reference, line: node.position.line)
        if toldSubstitutions.insert(secret).inserted { substitutions.append(secret) }
    }

    /// Remembers that a value is not what it will be: what is wrong with it is not known.
    func noteUnresolved(_ node: SettingsNode) {
        guard case .scalar(let text, _) = node.content else { return }
        let start = node.position.column
        unresolved[node.position.line, default: []].append(start..<start + text.unicodeScalars.count + 2)
        unresolvedLines.insert(node.position.line)
    }

    /// Remembers that what stands in the line can't be judged without values that aren't here.
    func noteUnjudged(line: Int) {
        unresolvedLines.insert(line)
    }

    /// Whether a value in `node`, however deep, is one that `environment` has only a placeholder for.
    func isUnresolved(_ node: SettingsNode) -> Bool {
        switch node.content {
        case .scalar(let text, _):
            guard environment.lacksSecrets, let pieces = try? Substitution.parse(text) else { return false }
            return pieces.contains {
                guard case .reference(let kind, let name, _, _) = $0 else { return false }
                return kind == "file" || kind == "env" && (try? environment.variable(name)) == nil
            }
        case .sequence(let elements): return elements.contains(where: isUnresolved)
        case .mapping(let members): return members.contains { isUnresolved($0.value) }
        }
    }

    /// Stands for the text of `reference`, which isn't here; another one for each, since what is another may differ.
    func placeholder(of reference: String) -> String {
        let number = placeholders[reference] ?? placeholders.count + 1
        placeholders[reference] = number
        return "placeholder\(number)"
    }

    /// Takes the values recorded so far.
    func takeEffective() -> [EffectiveValue] {
        defer { effective = [] }
        return effective
    }

    /// The place of the scalar at `offset` of a value's text, where the text stands in the file as it is; else the
    /// value's own place.
    func position(in node: SettingsNode, offset: Int) -> SettingsNode.Position {
        guard let start = start(ofTextOf: node) else { return node.position }
        return .init(line: start.line, column: start.column + offset)
    }

    /// Where the first scalar of a value's text stands, where the text stands in the file as it is; else nil. It is looked for in the
    /// whole line: whoever wants many places of one value asks once.
    func start(ofTextOf node: SettingsNode) -> SettingsNode.Position? {
        guard case .scalar(let text, let isPlain) = node.content, node.position.line <= lines.count else { return nil }
        let line = lines[node.position.line - 1]
        let start = node.position.column - 1 + (isPlain ? 0 : 1)
        guard let begin = line.index(line.startIndex, offsetBy: start, limitedBy: line.endIndex),
            line[begin...].starts(with: text.unicodeScalars)
        else { return nil }
        return .init(line: node.position.line, column: start + 1)
    }

    /// As above, by an offset in UTF-8 bytes.
    func position(in node: SettingsNode, byte: Int) -> SettingsNode.Position {
        guard case .scalar(let text, _) = node.content else { return node.position }
        let end = text.utf8.index(text.utf8.startIndex, offsetBy: byte, limitedBy: text.utf8.endIndex)
        return position(in: node, offset: text.unicodeScalars[..<(end ?? text.endIndex)].count)
    }

    /// What `parse` makes of `text`, which is that of `node`; nil, and a mistake at its place in the text, where it is no pattern.
    func pattern<Pattern>(
        _ text: String, _ node: SettingsNode, _ parse: (String) throws(PatternFault) -> Pattern
    ) -> Pattern? {
        do throws(PatternFault) {
            return try parse(text)
        } catch {
            report(position(in: node, byte: error.offset), error.reason)
            return nil
        }
    }
}

/// The readers of places in a document.
extension ReadingContext {
    /// The path that a key is.
    func fieldPath(_ member: SettingsNode.Member) -> FieldPath? {
        let key = SettingsNode(position: member.position, content: .scalar(member.key, isPlain: true))
        return fieldPath(member.key, in: key, offset: 0)
    }

    /// The path that a single value is.
    func fieldPath(_ node: SettingsNode, _ what: String) -> FieldPath? {
        text(node, what).flatMap { fieldPath($0, in: node, offset: 0) }
    }

    /// Reads `text`, which stands in `node` from `offset` on.
    func fieldPath(_ text: String, in node: SettingsNode, offset: Int) -> FieldPath? {
        do {
            return try FieldPath(parsing: text)
        } catch {
            let end = text.utf8.index(text.startIndex, offsetBy: error.offset ?? 0, limitedBy: text.endIndex)
            let scalars = text.unicodeScalars[..<(end ?? text.endIndex)].count
            let hint = text.hasSuffix("[]") ? "; the elements of an array are \(text.dropLast(2))[*]" : ""
            report(position(in: node, offset: offset + scalars), error.reason + hint)
            return nil
        }
    }
}

/// The readers of single values. Each reports what is wrong and then gives nil.
extension ReadingContext {
    /// The text of a single value, with `${env:…}` and `${file:…}` put in. `what` says what it is for: "a route's name".
    func text(_ node: SettingsNode, _ what: String) -> String? {
        guard let pieces = pieces(node, what) else { return nil }
        var text = ""
        for piece in pieces {
            switch piece {
            case .literal(let literal): text += literal
            case .reference(let kind, let name, let separator, let offset):
                report(
                    position(in: node, offset: offset), "\(what) takes no ${\(kind)\(separator)\(name)}",
                    isCertain: true)
                return nil
            }
        }
        return text
    }

    /// The pieces of a single value's text, with `${env:…}` and `${file:…}` put in already; `sources` are the others that it takes.
    func pieces(_ node: SettingsNode, _ what: String, sources: [String] = []) -> [Substitution.Piece]? {
        guard case .scalar(let text, _) = node.content, !node.isNull else {
            report(node.position, "\(what) is a single value, not \(node.kind)")
            return nil
        }
        let pieces: [Substitution.Piece]
        do {
            pieces = try Substitution.parse(text, sources: sources)
        } catch {
            report(position(in: node, offset: error.offset), error.reason)
            return nil
        }
        var resolved: [Substitution.Piece] = []
        for piece in pieces {
            let literal: String?
            switch piece {
            case .literal(let text): literal = text
            case .reference("env", let name, _, let offset): literal = variable(name, node, offset)
            case .reference("file", let name, _, let offset): literal = file(name, node, offset)
            case .reference:
                resolved.append(piece)
                continue
            }
            guard let literal else { return nil }
            if case .reference(let kind, let name, let separator, _) = piece {
                noteSubstitution(literal, "${\(kind)\(separator)\(name)}", node)
            }
            if case .literal(let before)? = resolved.last {
                resolved[resolved.count - 1] = .literal(before + literal)
            } else {
                resolved.append(.literal(literal))
            }
        }
        if !substitutions.isEmpty, pieces.contains(where: Self.isPutIn) { noteSubstituted(node, text, what, resolved) }
        return resolved
    }

    private static func isPutIn(_ piece: Substitution.Piece) -> Bool {
        if case .reference(let kind, _, _, _) = piece { kind == "env" || kind == "file" } else { false }
    }

    private func noteSubstituted(
        _ node: SettingsNode, _ source: String, _ what: String, _ pieces: [Substitution.Piece]
    ) {
        let text = pieces.map { piece in
            switch piece {
            case .literal(let text): text
            case .reference(let kind, let name, let separator, _): "${\(kind)\(separator)\(name)}"
            }
        }
        let value = Redaction.Node(position: node.position, what: what, source: source, text: text.joined())
        if toldSubstituted.insert(value).inserted { substituted.append(value) }
    }

    private func variable(_ name: String, _ node: SettingsNode, _ offset: Int) -> String? {
        do {
            if let value = try environment.variable(name) { return value }
            if environment.lacksSecrets { return placeholder("env:\(name)", node) }
            report(
                position(in: node, offset: offset), "the environment has no variable \(name): set it before starting")
        } catch {
            report(position(in: node, offset: offset), error.reason)
        }
        return nil
    }

    /// Stands for a text that is only where the settings will be used.
    private func placeholder(_ reference: String, _ node: SettingsNode) -> String {
        noteUnresolved(node)
        return placeholder(of: reference)
    }

    /// The file's text, without a byte order mark and its last line end.
    private func file(_ path: String, _ node: SettingsNode, _ offset: Int) -> String? {
        if environment.lacksSecrets { return placeholder("file:\(path)", node) }
        let read = files[path] ?? Result { () throws(SettingsEnvironment.FileFault) in try environment.file(path) }
        files[path] = read
        switch read {
        case .success(let text): return SettingsEnvironment.withoutLineEnd(SettingsEnvironment.withoutMark(text))
        case .failure(let fault):
            report(position(in: node, offset: offset), fault.reason)
            return nil
        }
    }

    func bool(_ node: SettingsNode, _ what: String) -> Bool? {
        guard let text = text(node, what) else { return nil }
        switch text {
        case "true": return true
        case "false": return false
        default:
            report(node.position, "\(what) is true or false, not \"\(text)\"")
            return nil
        }
    }

    /// Whether a value says `off`, as it stands or by what `${env:…}` and `${file:…}` put in, or stands as the boolean that says the same.
    func saysOff(_ node: SettingsNode, _ what: String) -> Bool {
        node.saysOff || says("off", node, what)
    }

    /// Whether a value is that word, as it stands or by what `${env:…}` and `${file:…}` put in.
    func says(_ word: String, _ node: SettingsNode, _ what: String) -> Bool {
        guard case .scalar(let source, _) = node.content else { return false }
        // Whoever writes no reference is asked nothing else: what is wrong with the value is the reader's to say.
        return source == word || source.contains("${") && text(node, what) == word
    }

    /// A text that names something. A bare `true`, `no` or the like is refused: it is meant as a switch, and as a name it would be
    /// taken in silence. `instead` says what to write.
    func name(_ node: SettingsNode, _ what: String, instead: String) -> String? {
        guard let text = text(node, what) else { return nil }
        guard case .scalar(_, isPlain: true) = node.content,
            ["true", "false", "yes", "no", "on", "off"].contains(text.lowercased())
        else { return text }
        report(node.position, "\(what) is no switch: write \(instead), or \"\(text)\" in quotes where that is a name")
        return nil
    }

    /// A whole number in `range`, without a unit.
    ///
    /// - Parameter word: what may stand in its place, and was looked for already.
    func count(_ node: SettingsNode, _ what: String, in range: ClosedRange<Int>, or word: String? = nil) -> Int? {
        guard let text = text(node, what) else { return nil }
        let number = Int(text)
        if let number, range.contains(number), String(number) == text { return number }
        // One with too many digits is a whole number all the same.
        let isLarge = text.count > 18 && text.first != "0" && text.allSatisfy { ("0"..."9").contains($0) }
        let isWhole = number.map(String.init) == text || isLarge
        report(
            node.position,
            isWhole
                ? "\(what) is from \(range.lowerBound) to \(range.upperBound), not \(text)"
                : "\(what) is \(word.map { "\($0) or " } ?? "")a whole number, not \"\(text)\"")
        return nil
    }

    /// Bytes, at least `minimum`.
    ///
    /// - Parameter word: what may stand in their place, and was looked for already.
    func size(_ node: SettingsNode, _ what: String, from minimum: Int = 1, or word: String? = nil) -> Int? {
        guard let text = text(node, what) else { return nil }
        do {
            let size = try Units.size(text)
            if size >= minimum { return size }
            report(node.position, "\(what) is at least \(Units.describe(bytes: minimum)), not \(text)")
        } catch {
            report(node.position, "\(what): \(error.reason)\(Self.beside(word, text))")
        }
        return nil
    }

    /// Bytes in `range`.
    func size(_ node: SettingsNode, _ what: String, in range: ClosedRange<Int>) -> Int? {
        guard let size = size(node, what, from: range.lowerBound) else { return nil }
        if size <= range.upperBound { return size }
        report(node.position, "\(what) is at most \(Units.describe(bytes: range.upperBound))")
        return nil
    }

    /// - Parameter word: what may stand in its place, and was looked for already.
    func time(_ node: SettingsNode, _ what: String, mayBeZero: Bool = false, or word: String? = nil) -> Duration? {
        guard let text = text(node, what) else { return nil }
        do {
            return try Units.time(text, mayBeZero: mayBeZero)
        } catch {
            report(node.position, "\(what): \(error.reason)\(Self.beside(word, text))")
            return nil
        }
    }

    /// The end of a message about a text that was meant as a word, and is none of those that there are.
    private static func beside(_ word: String?, _ text: String) -> String {
        guard let word, text.first?.isLetter == true else { return "" }
        return "; it may also be \(word)"
    }

    /// One of `words`.
    func word(_ node: SettingsNode, _ what: String, among words: [String]) -> String? {
        guard let text = text(node, what) else { return nil }
        if words.contains(text) { return text }
        report(node.position, "\(what) is not \"\(text)\": \(NearestWord.hint(for: text, among: words))")
        return nil
    }

    /// A list's elements, or the one value that stands where a list may.
    func elements(_ node: SettingsNode, _ what: String) -> [SettingsNode]? {
        switch node.content {
        case .scalar where !node.isNull: return [node]
        case .sequence(let elements):
            if !elements.isEmpty { return elements }
            report(node.position, "\(what) is an empty list: leave it out or name something")
        default: report(node.position, "\(what) is a single value or a list, not \(node.kind)")
        }
        return nil
    }
}
