internal import Octets
public import Transcoding

/// Makes a `Value` of the events of a document.
///
/// Bounded by `limits.tree`: every byte of a name or a scalar counts one and every value 48. A decoder has checked the depth and
/// the order of the events; an end or a name where there can be none is refused with `event_order`, and a number whose text is none
/// of JSON's with `value_number`.
public struct ValueBuilder: EventSink {
    /// An open array or object.
    private struct Level {
        var isObject: Bool
        var elements: [Value] = []
        var members: [Value.Object.Member] = []
        /// Where each name stands in `members`, when the last value of a repeated one is to take its place.
        var places: [[UInt8]: Int] = [:]
        var key = ""
        var keyBytes: [UInt8] = []
    }

    /// The document, once all of its events have come.
    public private(set) var value: Value?

    private var levels: [Level] = []
    private var text: [UInt8] = []
    private var cost = 0
    private let limit: Int
    private let replacesRepeated: Bool

    /// - Parameters:
    ///   - limits: `tree` holds.
    ///   - duplicates: under `last`, the last value of a repeated member takes the place of the first; under anything else
    ///     both stay, because a decoder has dealt with them.
    public init(limits: Limits, duplicates: DuplicatePolicy = .keep) {
        limit = limits.tree
        replacesRepeated = duplicates == .last
    }

    /// A builder is never full: it refuses.
    public var isFull: Bool { false }

    /// See `EventSink`.
    public mutating func beginObject() throws(ConversionError) {
        try charge(0)
        levels.append(Level(isObject: true))
    }

    /// See `EventSink`.
    public mutating func endObject() throws(ConversionError) {
        guard let level = levels.popLast(), level.isObject else { throw Self.outOfOrder }
        put(.object(Value.Object(level.members)))
    }

    /// See `EventSink`.
    public mutating func beginArray() throws(ConversionError) {
        try charge(0)
        levels.append(Level(isObject: false))
    }

    /// See `EventSink`.
    public mutating func endArray() throws(ConversionError) {
        guard let level = levels.popLast(), !level.isObject else { throw Self.outOfOrder }
        put(.array(level.elements))
    }

    /// See `EventSink`.
    public mutating func key(_ name: Span<UInt8>) throws(ConversionError) {
        try charge(name.count, isNode: false)
        guard levels.last?.isObject == true else { throw Self.outOfOrder }
        levels[levels.count - 1].key = name.lossyString()
        if replacesRepeated { levels[levels.count - 1].keyBytes = name.copied() }
    }

    /// See `EventSink`.
    public mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try charge(piece.count, isNode: isLast)
        if isLast, text.isEmpty { return put(.string(piece.lossyString())) }
        text.append(contentsOf: piece)
        guard isLast else { return }
        put(.string(text.span.lossyString()))
        text.removeAll(keepingCapacity: true)
    }

    /// See `EventSink`.
    public mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        try charge(text.count)
        guard NumberText(text) != nil else { throw ValueFault.text.error() }
        put(.number(Value.Number(unchecked: text.lossyString())))
    }

    /// See `EventSink`.
    public mutating func bool(_ value: Bool) throws(ConversionError) {
        try charge(0)
        put(.bool(value))
    }

    /// See `EventSink`.
    public mutating func null() throws(ConversionError) {
        try charge(0)
        put(.null)
    }

    /// See `EventSink`.
    public mutating func date(_ text: Span<UInt8>) throws(ConversionError) {
        try charge(text.count)
        // A decoder emits what RFC 3339 says; another text stays one.
        put(Timestamp(text).map { .date($0) } ?? .string(text.lossyString()))
    }

    /// See `EventSink`.
    public mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) {
        try charge(bytes.count)
        put(.data(bytes.copied()))
    }

    /// Throws: files never enter a value.
    public mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) {
        throw ConversionError(
            .unrepresentable, code: "files_rejected", reason: "a file can't be held in memory",
            field: head.name.lossyString(), setting: "files")
    }

    /// See `EventSink`.
    public mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {}

    private static var outOfOrder: ConversionError {
        ConversionError(.malformed, code: "event_order", reason: "an end or a name comes where there can be none")
    }

    private mutating func charge(_ bytes: Int, isNode: Bool = true) throws(ConversionError) {
        cost += bytes + (isNode ? Tree.nodeCost : 0)
        guard cost <= limit else { throw .limit("tree", of: limit, what: "the document") }
    }

    private mutating func put(_ new: Value) {
        guard !levels.isEmpty else {
            value = new
            return
        }
        let top = levels.count - 1
        guard levels[top].isObject else {
            levels[top].elements.append(new)
            return
        }
        if replacesRepeated {
            if let place = levels[top].places[levels[top].keyBytes] {
                levels[top].members[place].value = new
                return
            }
            levels[top].places[levels[top].keyBytes] = levels[top].members.count
        }
        levels[top].members.append(Value.Object.Member(key: levels[top].key, value: new))
    }
}
