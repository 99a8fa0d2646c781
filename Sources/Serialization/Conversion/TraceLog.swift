internal import Octets

/// What the recorders below have written, shared by them and the tracer that sends them events.
internal final class TraceLog {
    /// The names or paths of values that began since `clear`.
    private(set) var targets: [String] = []
    /// The name or path that was begun last.
    private(set) var latest = ""
    /// Whether more of it came since `clear`.
    private(set) var hasContent = false

    func clear() {
        targets.removeAll()
        hasContent = false
    }

    /// Whether the latest one is a file.
    private(set) var isFile = false

    /// Whether the latest one is a part with a JSON text.
    private(set) var isJSONPart = false

    func begin(_ target: String, isFile: Bool = false, isJSONPart: Bool = false) {
        targets.append(target)
        self.isFile = isFile
        self.isJSONPart = isJSONPart
        parts?.append((name: target, value: []))
        latest = target
    }

    func touch() { hasContent = true }

    /// Names with their values, once somebody wants them.
    var parts: [(name: String, value: [UInt8])]?
}

/// A flat body of which only the names are kept.
internal struct TracedFields: PartEncoder, DirectEncoder, ~Copyable {
    let log: TraceLog
    var output = OutputBuffer()

    init(_ log: TraceLog) { self.log = log }

    var isFull: Bool { false }
    var contentType: [UInt8] { [] }
    mutating func restart() {}
    mutating func finish() throws(ConversionError) {}

    mutating func beginPart(_ head: borrowing PartHead) throws(ConversionError) {
        log.begin(head.name.lossyString(), isFile: head.isFile, isJSONPart: !head.isFile && head.hasMediaType)
    }
    mutating func content(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        log.touch()
        if let count = log.parts?.count, count > 0 { log.parts?[count - 1].value.append(contentsOf: piece) }
    }
}

/// A document of which only the paths of scalars, files and empty containers are kept.
internal struct TracedDocument: FileValueEncoder, DirectEncoder, ~Copyable {
    private struct Level {
        var isObject: Bool
        var count = 0
        var path: String
    }

    let log: TraceLog
    var output = OutputBuffer()
    private var levels: [Level] = []
    private var name = ""
    private var isInValue = false

    init(_ log: TraceLog) { self.log = log }

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
        log.begin(level.path)
    }

    private mutating func piece(isLast: Bool) {
        if !isInValue { log.begin(enter()) }
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
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) { log.begin(enter()) }
    mutating func beginFile(_ head: borrowing PartHead, as policy: FilePolicy) throws(ConversionError) {
        log.begin(enter())
    }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {}
}
