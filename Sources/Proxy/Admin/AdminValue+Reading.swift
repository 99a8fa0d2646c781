internal import Octets
internal import Transcoding

extension AdminValue {
    /// Reads a document of JSON. Numbers come as they are written.
    init(json bytes: [UInt8]) throws(ConversionError) {
        var limits = Limits()
        limits.body = AdminConnection.bodyLimit
        limits.depth = 32
        var builder = AdminValueBuilder()
        try builder.take(json: bytes, limits: limits)
        self = builder.value
    }

    /// The member of that name, of an object; the last one where there are several.
    subscript(_ name: String) -> AdminValue? {
        guard case .object(let members) = self else { return nil }
        return members.last { $0.name == name }?.value
    }

    var text: String? { if case .text(let text) = self { text } else { nil } }

    /// The elements, of a list.
    var elements: [AdminValue]? { if case .list(let elements) = self { elements } else { nil } }
}

/// Makes a value of a document's events.
private struct AdminValueBuilder: EventSink, ~Copyable {
    private struct Level {
        let isObject: Bool
        var members: [(name: String, value: AdminValue)] = []
        var elements: [AdminValue] = []
        /// The name of the member that comes next.
        var name = ""
    }

    private var levels: [Level] = []
    private var text: [UInt8] = []
    private(set) var value = AdminValue.none

    var isFull: Bool { false }

    init() {}

    private mutating func add(_ value: AdminValue) {
        guard let last = levels.indices.last else { return self.value = value }
        if levels[last].isObject {
            levels[last].members.append((levels[last].name, value))
        } else {
            levels[last].elements.append(value)
        }
    }

    mutating func beginObject() { levels.append(Level(isObject: true)) }
    mutating func endObject() { add(.object(levels.removeLast().members)) }
    mutating func beginArray() { levels.append(Level(isObject: false)) }
    mutating func endArray() { add(.list(levels.removeLast().elements)) }
    mutating func key(_ name: Span<UInt8>) { levels[levels.count - 1].name = name.lossyString() }
    mutating func string(_ piece: Span<UInt8>, isLast: Bool) {
        text.append(contentsOf: piece)
        guard isLast else { return }
        add(.text(String(decoding: text, as: UTF8.self)))
        text.removeAll(keepingCapacity: true)
    }
    mutating func number(_ text: Span<UInt8>) { add(.document(text.copied())) }
    mutating func bool(_ value: Bool) { add(.bool(value)) }
    mutating func null() { add(.none) }
    // JSON has no files.
    mutating func beginFile(_ head: borrowing PartHead) {}
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) {}
}
