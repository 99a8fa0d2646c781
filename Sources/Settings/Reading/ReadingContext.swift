/// What all readers of one text share: the mistakes found, the effective values, and what `${env:…}` reads from.
final class ReadingContext {
    private(set) var mistakes: [SettingsMistake] = []
    /// The values in effect, in the order they were read.
    private(set) var effective: [EffectiveValue] = []
    /// Where the values stand that "defaults" gives to all routes, by their keys; empty outside of routes.
    var inherited: [String: EffectiveValue.Origin] = [:]
    /// What `${env:…}` and `${file:…}` have put in.
    private(set) var substitutions: [EffectiveValue.Secret] = []
    /// Where values stand that `environment` has only a placeholder for.
    private var unresolved: [(line: Int, columns: Range<Int>)] = []
    /// The lines of those, and of what can't be judged without them.
    private(set) var unresolvedLines: Set<Int> = []
    /// The number of values that could not be read: because of a mistake, or because what they take isn't here.
    private(set) var failures = 0
    /// The references that placeholders stand for.
    private var placeholders: [String] = []
    let environment: SettingsEnvironment
    private let text: String
    /// The text, to find places inside a value.
    private lazy var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)

    init(_ text: String, environment: SettingsEnvironment) {
        self.environment = environment
        self.text = text
    }

    /// The name of the route that is being read.
    var route: String?

    /// - Parameter isCertain: whether it is wrong whatever the variables and files of the value hold.
    func report(
        _ position: SettingsNode.Position, _ message: String, code: SettingsMistake.Code = .setting,
        isCertain: Bool = false
    ) {
        failures += 1
        // What depends on a text that isn't here can't be judged.
        if !isCertain,
            unresolved.contains(where: { $0.line == position.line && $0.columns.contains(position.column) })
        {
            return
        }
        let mistake = SettingsMistake(
            line: position.line, column: position.column, message: message, code: code, route: route)
        // An alias repeats a value, and with it what is wrong there.
        let isKnown = mistakes.contains {
            ($0.line, $0.column, $0.message) == (mistake.line, mistake.column, mistake.message)
        }
        if !isKnown { mistakes.append(mistake) }
    }

    func record(_ key: String, _ value: String, _ origin: EffectiveValue.Origin) {
        effective.append(EffectiveValue(key: key, value: value, origin: origin))
    }

    func noteSubstitution(_ text: String, _ reference: String, _ node: SettingsNode) {
        let secret = EffectiveValue.Secret(text: text, reference: reference, line: node.position.line)
        if !substitutions.contains(secret) { substitutions.append(secret) }
    }

    /// Remembers that a value is not what it will be: what is wrong with it is not known.
    func noteUnresolved(_ node: SettingsNode) {
        guard case .scalar(let text, _) = node.content else { return }
        let start = node.position.column
        unresolved.append((node.position.line, start..<start + text.unicodeScalars.count + 2))
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
                return kind == "file" || kind == "env" && environment.variable(name) == nil
            }
        case .sequence(let elements): return elements.contains(where: isUnresolved)
        case .mapping(let members): return members.contains { isUnresolved($0.value) }
        }
    }

    /// Stands for the text of `reference`, which isn't here; another one for each, since what is another may differ.
    func placeholder(of reference: String) -> String {
        if !placeholders.contains(reference) { placeholders.append(reference) }
        return "placeholder\((placeholders.firstIndex(of: reference) ?? 0) + 1)"
    }

    /// Takes the values recorded so far.
    func takeEffective() -> [EffectiveValue] {
        defer { effective = [] }
        return effective
    }

    /// The place of the scalar at `offset` of a value's text, where the text stands in the file as it is; else the
    /// value's own place.
    func position(in node: SettingsNode, offset: Int) -> SettingsNode.Position {
        guard case .scalar(let text, let isPlain) = node.content, node.position.line <= lines.count else {
            return node.position
        }
        let line = lines[node.position.line - 1]
        let start = node.position.column - 1 + (isPlain ? 0 : 1)
        guard let begin = line.index(line.startIndex, offsetBy: start, limitedBy: line.endIndex),
            line[begin...].starts(with: text.unicodeScalars)
        else { return node.position }
        return .init(line: node.position.line, column: start + 1 + offset)
    }

    /// The same by an offset in UTF-8 bytes.
    func position(in node: SettingsNode, byte: Int) -> SettingsNode.Position {
        guard case .scalar(let text, _) = node.content else { return node.position }
        let end = text.utf8.index(text.utf8.startIndex, offsetBy: byte, limitedBy: text.utf8.endIndex)
        return position(in: node, offset: text.unicodeScalars[..<(end ?? text.endIndex)].count)
    }
}
