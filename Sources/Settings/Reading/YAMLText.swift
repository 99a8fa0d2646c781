internal import Yams

/// YAML text as settings nodes. The only file that knows the YAML library.
///
/// Yams gives up at the first key that occurs twice. So that all mistakes are found at once, the first occurrence is
/// then marked in the text by a character of the private use area and the text read again.
struct YAMLText {
    /// Nodes of one text at most, those that aliases repeat included.
    static let maximumNodes = 100_000
    /// Collections within each other at most.
    static let maximumDepth = 64
    /// Doubled keys that are reported at most.
    private static let maximumDuplicates = 100
    /// The first of the characters that mark a key.
    private static let firstMark: UInt32 = 0xE000

    private struct Marked: Hashable {
        var line: Int
        var column: Int
    }

    private let context: ReadingContext
    private var text: String
    /// The lines of `text`, once a key has to be marked in them.
    private lazy var lines = text.unicodeScalars
        .split(separator: "\n", omittingEmptySubsequences: false).map(Array.init)
    /// The first characters of keys that were marked, by the place of the key.
    private var marked: [Marked: Unicode.Scalar] = [:]
    private var count = 0

    private init(_ text: String, _ context: ReadingContext) {
        self.context = context
        self.text = text
    }

    /// Reads the one document of `text`. Reports what is wrong; nil when nothing can be made of it.
    static func read(_ text: String, _ context: ReadingContext) -> SettingsNode? {
        var reader = YAMLText(text, context)
        while true {
            do {
                // The basic resolver leaves plain scalars alone; types are our own business, and so nothing is constructed.
                // The encoding said, Yams doesn't look for one in the environment.
                guard let root = try Yams.compose(yaml: reader.text, .basic, Constructor([:], [:], [:]), .utf8) else {
                    context.report(.init(line: 1, column: 1), "there is nothing here", code: .yaml)
                    return nil
                }
                return reader.convert(root, depth: 0)
            } catch let error as YamlError {
                if reader.markDuplicate(error) { continue }
                reader.report(error)
            } catch {
                context.report(.init(line: 1, column: 1), "this is not YAML", code: .yaml)
            }
            return nil
        }
    }

    // MARK: - Doubled keys

    /// Marks the first occurrence of a doubled key where that is the error and its place is known.
    private mutating func markDuplicate(_ error: YamlError) -> Bool {
        guard case .duplicatedKeysInMapping(let keys, let context) = error, let key = keys.first?.unicodeScalars,
            let first = key.first, marked.count < Self.maximumDuplicates, context.mark.line >= 1,
            context.mark.line <= lines.count,
            let mark = Unicode.Scalar(Self.firstMark + UInt32(marked.count))
        else { return false }
        let line = lines[context.mark.line - 1]
        var column = context.mark.column - 1
        guard column >= 0, column < line.count else { return false }
        if line[column] == "\"" || line[column] == "'" { column += 1 }
        guard line.count - column >= key.count, line[column..<column + key.count].elementsEqual(key) else {
            return false
        }
        marked[Marked(line: context.mark.line, column: context.mark.column)] = first
        lines[context.mark.line - 1][column] = mark
        text = lines.map { String(String.UnicodeScalarView($0)) }.joined(separator: "\n")
        return true
    }

    /// The key as it was written.
    private func unmarked(_ key: Node.Scalar, _ position: SettingsNode.Position) -> String {
        guard let first = marked[Marked(line: position.line, column: position.column)] else { return key.string }
        var text = String.UnicodeScalarView()
        text.append(first)
        text.append(contentsOf: key.string.unicodeScalars.dropFirst())
        return String(text)
    }

    // MARK: - Errors

    private func report(_ error: YamlError) {
        switch error {
        case .scanner(let context, let problem, let mark, let yaml),
            .parser(let context, let problem, let mark, let yaml),
            .composer(let context, let problem, let mark, let yaml):
            let fault = YAMLFault(
                problem: problem, context: context?.text, start: context.map { position($0.mark) },
                position: position(mark), text: yaml)
            self.context.report(fault.position, fault.message, code: .yaml)
        case .duplicatedKeysInMapping(let keys, let context):
            let names = keys.map { "\"\($0)\"" }.joined(separator: ", ")
            self.context.report(position(context.mark), "the key \(names) occurs twice")
        case .reader(let problem, let offset, _, let yaml):
            let before = yaml.prefix(offset ?? 0).unicodeScalars.split(
                separator: "\n", omittingEmptySubsequences: false)
            self.context.report(
                .init(line: max(before.count, 1), column: (before.last?.count ?? 0) + 1),
                "this is not YAML: \(problem)", code: .yaml)
        default:
            context.report(.init(line: 1, column: 1), "this is not YAML", code: .yaml)
        }
    }

    private func position(_ mark: Mark?) -> SettingsNode.Position {
        .init(line: mark?.line ?? 1, column: mark?.column ?? 1)
    }

    // MARK: - Nodes

    private mutating func convert(_ node: Node, depth: Int) -> SettingsNode? {
        let position = position(node.mark)
        count += 1
        guard count <= Self.maximumNodes, depth <= Self.maximumDepth else {
            if count <= Self.maximumNodes || count == Self.maximumNodes + 1 {
                context.report(
                    position,
                    count > Self.maximumNodes
                        ? "there are more than \(Self.maximumNodes) values here, those that aliases repeat included"
                        : "more than \(Self.maximumDepth) lists and mappings stand within each other")
            }
            return nil
        }
        switch node {
        case .scalar(let scalar):
            if scalar.style == .plain, !scalar.tag.description.isEmpty {
                context.report(position, "YAML tags mean nothing here: remove \(scalar.tag.description)")
            }
            return SettingsNode(
                position: position, content: .scalar(scalar.string, isPlain: scalar.style == .plain))
        case .sequence(let sequence):
            var elements: [SettingsNode] = []
            for element in sequence {
                guard let value = convert(element, depth: depth + 1) else { return nil }
                elements.append(value)
            }
            return SettingsNode(position: position, content: .sequence(elements))
        case .mapping(let mapping):
            guard let members = members(of: mapping, depth: depth) else { return nil }
            return SettingsNode(position: position, content: .mapping(members))
        case .alias:
            context.report(position, "this alias stands for nothing")
            return nil
        }
    }

    private mutating func members(of mapping: Node.Mapping, depth: Int) -> [SettingsNode.Member]? {
        var members: [SettingsNode.Member] = []
        // The library has found no doubled key but those that were marked.
        var places: [String: SettingsNode.Position] = [:]
        for (key, value) in mapping {
            let position = position(key.mark)
            guard case .scalar(let scalar) = key else {
                context.report(position, "a key is a single value")
                continue
            }
            let name = unmarked(scalar, position)
            guard let value = convert(value, depth: depth + 1) else { return nil }
            if !marked.isEmpty, let first = places[name] {
                // Most often two elements of a list that lack what parts them.
                let hint = name == "name" && first.line < position.line ? ": each route begins with \"- \"" : ""
                context.report(position, "the key \"\(name)\" occurs twice, first in line \(first.line)\(hint)")
                continue
            }
            if !marked.isEmpty { places[name] = position }
            members.append(.init(key: name, position: position, value: value))
        }
        return members
    }
}
