internal import Octets

/// Looks for one value of a JSON text as it comes, the first one at a path, and reads no further than that.
package struct ValueSearch: ~Copyable {
    /// What stands at the path.
    package enum Value: Equatable, Sendable {
        /// A string, or the text of a number; `true`, `false` or `null`.
        case text([UInt8])
        /// An object, an array, or a string of more than `longest` bytes.
        case other
        /// Nothing: the document is whole, and no value is there.
        case missing
    }

    /// Bytes of a text that is kept: 1 KiB.
    package static let longest = 1024

    private var decoder: JSON.Decoder
    private var finder: ValueFinder

    /// - Parameters:
    ///   - path: without `*`.
    ///   - limits: `depth`, `key` and `number` hold.
    package init(_ path: FieldPath, limits: Limits) {
        var options = JSON.DecodingOptions()
        // Names that repeat are no matter of this search: the first decides.
        options.duplicates = .keep
        decoder = JSON.Decoder(options: options, limits: limits)
        finder = ValueFinder(path)
    }

    /// Takes the next bytes. Returns the value where it was among them; no call may follow then. Throws where they are no JSON.
    package mutating func feed(_ bytes: Span<UInt8>) throws(ConversionError) -> Value? {
        _ = try decoder.feed(bytes, into: &finder)
        return finder.value
    }

    /// The document is whole. Throws where it isn't.
    package mutating func finish() throws(ConversionError) -> Value {
        try decoder.finish(into: &finder)
        return finder.value ?? .missing
    }
}

/// Follows a document's events to the first value at a path, and is full from there on.
private struct ValueFinder: EventSink {
    private var matcher: PathMatcher
    /// For each open container the number of elements so far; -1 for an object.
    private var open: [Int] = []
    private var text: [UInt8] = []
    private var isInText = false
    private var isHere = false
    private(set) var value: ValueSearch.Value?

    init(_ path: FieldPath) {
        matcher = PathMatcher([path])
    }

    var isFull: Bool { value != nil }

    /// A value begins: an element's number is part of its place.
    private mutating func begin() {
        if let count = open.last, count >= 0 {
            matcher.enter(index: count)
            open[open.count - 1] = count + 1
        }
        isHere = matcher.isAnyHere
    }

    private mutating func end() {
        if !open.isEmpty { matcher.leave() }
    }

    private mutating func container(_ count: Int) {
        begin()
        if isHere, value == nil { value = .other }
        open.append(count)
    }

    private mutating func endContainer() {
        open.removeLast()
        end()
    }

    private mutating func scalar(_ text: Span<UInt8>) {
        begin()
        if isHere, value == nil { value = .text(text.copied()) }
        end()
    }

    mutating func beginObject() { container(-1) }
    mutating func endObject() { endContainer() }
    mutating func beginArray() { container(0) }
    mutating func endArray() { endContainer() }
    mutating func key(_ name: Span<UInt8>) { matcher.enter(key: name) }

    mutating func string(_ piece: Span<UInt8>, isLast: Bool) {
        if !isInText { begin() }
        isInText = !isLast
        if isHere, text.count <= ValueSearch.longest { text.append(contentsOf: piece) }
        guard isLast else { return }
        if isHere, value == nil { value = text.count <= ValueSearch.longest ? .text(text) : .other }
        end()
    }

    mutating func number(_ text: Span<UInt8>) { scalar(text) }
    mutating func bool(_ value: Bool) { scalar((value ? "true" : "false").utf8Span.span) }
    mutating func null() { scalar("null".utf8Span.span) }
    mutating func beginFile(_ head: borrowing PartHead) { begin() }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) { if isLast { end() } }
}
