internal import Octets

// Encoders that write nothing and tell an observer which names and paths begin. In the pipelines of a conversion that is
// explained they stand where the encoders do, so that names are those that these would write.

/// The names and paths that recorders have begun.
internal struct RecordedNames {
    /// Those of values that began since `clear`.
    private(set) var targets: [String] = []
    /// The one that was begun last.
    private(set) var latest = ""
    /// Whether more of it came since `clear`.
    private(set) var hasContent = false
    /// Whether the latest one is a file.
    private(set) var isFile = false
    /// Whether the latest one is a part with a JSON text.
    private(set) var isJSONPart = false
    /// Whether the latest one is a part with more of a head than its name.
    private(set) var hasLines = false

    mutating func clear() {
        targets.removeAll()
        hasContent = false
    }

    mutating func begin(
        _ target: String, isFile: Bool = false, isJSONPart: Bool = false, hasLines: Bool = false
    ) {
        targets.append(target)
        self.isFile = isFile
        self.isJSONPart = isJSONPart
        self.hasLines = hasLines
        latest = target
        if let writing { written.append((components.isEmpty ? writing : components[writing] ?? Tree.none, target)) }
    }

    mutating func goOn() { hasContent = true }

    // MARK: A held document

    /// The fields that came of a held document, with its nodes.
    private(set) var written: [(node: Tree.Node, name: String)] = []
    private var heldNode: Tree.Node?
    private var components: [Tree.Node: Tree.Node] = [:]
    private var writing: Tree.Node?

    /// The node that the latest values went to, once.
    mutating func takeHeldNode() -> Tree.Node? {
        defer { heldNode = nil }
        return heldNode
    }

    mutating func holds(_ node: Tree.Node) { heldNode = node }
    mutating func moves(_ node: Tree.Node, to component: Tree.Node) { components[component] = node }
    mutating func writes(_ node: Tree.Node) { writing = node }
}

/// A flat body of which only the names are kept.
internal struct RecordedFields: PartEncoder, DirectEncoder, ~Copyable {
    private let observer: ConversionObserver
    var output = OutputBuffer()

    init(_ observer: ConversionObserver) { self.observer = observer }

    var isFull: Bool { false }
    var contentType: [UInt8] { [] }
    mutating func restart() {}
    mutating func finish() throws(ConversionError) {}

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        observer.names.begin(
            head.name.lossyString(), isFile: head.isFile,
            isJSONPart: head.isText && !head.isFile, hasLines: observer.plan.output == .multipart && head.hasLines)
    }
    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) { observer.names.goOn() }
}

/// A document of which only the paths of scalars, files and empty containers are kept.
internal struct RecordedDocument: FileValueEncoder, DirectEncoder, ~Copyable {
    private struct Level {
        var isObject: Bool
        var count = 0
        var path: String
    }

    private let observer: ConversionObserver
    var output = OutputBuffer()
    private var levels: [Level] = []
    private var name = ""
    private var isInValue = false

    init(_ observer: ConversionObserver) { self.observer = observer }

    var isFull: Bool { false }
    var contentType: [UInt8] { [] }
    mutating func restart() {}
    mutating func finish() throws(ConversionError) {}

    /// The path of the value that begins.
    private mutating func enter() -> String {
        guard let level = levels.last else { return "" }
        levels[levels.count - 1].count += 1
        if !level.isObject { return "\(level.path)[\(level.count)]" }
        return level.path.isEmpty ? name : "\(level.path).\(name)"
    }

    private mutating func end() {
        guard let level = levels.popLast(), level.count == 0 else { return }
        observer.names.begin(level.path)
    }

    private mutating func piece(isLast: Bool) {
        if !isInValue { observer.names.begin(enter()) }
        isInValue = !isLast
    }

    mutating func beginObject() throws(ConversionError) { levels.append(Level(isObject: true, path: enter())) }
    mutating func endObject() throws(ConversionError) { end() }
    mutating func beginArray() throws(ConversionError) { levels.append(Level(isObject: false, path: enter())) }
    mutating func endArray() throws(ConversionError) { end() }
    mutating func key(_ name: Span<UInt8>) throws(ConversionError) { self.name = name.lossyString() }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) { self.piece(isLast: isLast) }
    mutating func number(_ text: Span<UInt8>) throws(ConversionError) { piece(isLast: true) }
    mutating func bool(_ value: Bool) throws(ConversionError) { piece(isLast: true) }
    mutating func null() throws(ConversionError) { piece(isLast: true) }
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) { observer.names.begin(enter()) }
    mutating func beginFile(_ head: borrowing PartHead, as policy: FilePolicy) throws(ConversionError) {
        observer.names.begin(enter())
    }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {}
}
