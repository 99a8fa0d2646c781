internal import Octets

/// A place in a document: `user.id`, `items[0].sku`, `items[*].qty`, `"a.b".c`.
public struct FieldPath: Hashable, Sendable {
    /// A step from a container to what is in it.
    public enum Segment: Hashable, Sendable {
        /// The member of that name, in UTF-8.
        case key([UInt8])
        /// The element at that index, counted from 0.
        case index(Int)
        /// Every element of an array, or every member of an object.
        case any
    }

    /// The steps from the document's root; none for the root itself.
    public var segments: [Segment]

    /// Which of the steps is `any`, where one alone is.
    internal var onlyStar: Int? {
        guard let first = segments.firstIndex(of: .any), segments.lastIndex(of: .any) == first else { return nil }
        return first
    }

    /// The path of those steps.
    public init(_ segments: [Segment]) {
        self.segments = segments
    }
}

extension FieldPath {
    /// Whether an element's number is part of the path.
    package var hasIndex: Bool {
        segments.contains { if case .index = $0 { true } else { false } }
    }

    package var hasWildcard: Bool { segments.contains(.any) }

    /// The key, when the path is one member of the root object.
    package var rootKey: [UInt8]? {
        if segments.count == 1, case .key(let key) = segments[0] { return key }
        return nil
    }

    /// Whether some field can be at or below both paths.
    package func overlaps(_ other: FieldPath) -> Bool {
        for (left, right) in zip(segments, other.segments) where left != right && left != .any && right != .any {
            return false
        }
        return true
    }

    /// Whether whatever stands at `other` stands at this path or below it.
    package func covers(_ other: FieldPath) -> Bool {
        guard segments.count <= other.segments.count else { return false }
        return zip(segments, other.segments).allSatisfy { own, theirs in own == theirs || own == .any }
    }
}

extension FieldPath.Segment {
    /// Whether the member with that name is meant.
    package func matches(key name: Span<UInt8>) -> Bool {
        switch self {
        case .any: true
        case .key(let key): key.span.isEqual(to: name)
        case .index(let index): name.isDecimal(index)
        }
    }

    /// Whether the element with that number is meant.
    package func matches(index: Int) -> Bool {
        switch self {
        case .any: true
        case .key: false
        case .index(let own): own == index
        }
    }
}

extension FieldPath {
    /// Reads a path as it is written in the settings.
    ///
    /// Keys are joined by dots: `user.id`. Brackets hold an index in decimal (`items[0]`), `*` for every element or member
    /// (`items[*].qty`), or a key (`meta[title]`); a key `*` alone between dots means every one, too. A key in double
    /// quotes is literal, dots and all, with `\"` and `\\` inside: `"a.b".c`, `meta["0"]`. Keys without quotes hold no
    /// dot, bracket or quote.
    ///
    /// Throws `field_path` with the offset in `text`, in bytes.
    public init(parsing text: String) throws(ConversionError) {
        var parser = FieldPathParser(text: text)
        self.init(try parser.parse())
    }
}

extension FieldPath: CustomStringConvertible {
    /// The path in the spelling that `init(parsing:)` reads; bytes that are not UTF-8 become U+FFFD.
    public var description: String {
        var text = ""
        for segment in segments {
            switch segment {
            case .key(let key):
                if !text.isEmpty { text += "." }
                text += Self.spelling(of: key)
            case .index(let index): text += "[\(index)]"
            case .any: text += "[*]"
            }
        }
        return text
    }

    private static func spelling(of key: [UInt8]) -> String {
        let special = Array(".[]\"\\".utf8)
        let isPlain = !key.isEmpty && key != [UInt8(ascii: "*")] && !key.contains { special.contains($0) }
        if isPlain { return key.span.lossyString() }
        var quoted: [UInt8] = [UInt8(ascii: "\"")]
        for byte in key {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { quoted.append(UInt8(ascii: "\\")) }
            quoted.append(byte)
        }
        quoted.append(UInt8(ascii: "\""))
        return quoted.span.lossyString()
    }
}

/// Reads the text of a `FieldPath`. For settings, so it allocates as it likes.
private struct FieldPathParser {
    private let text: String
    private let bytes: [UInt8]
    private var at = 0

    init(text: String) {
        self.text = text
        self.bytes = Array(text.utf8)
    }

    mutating func parse() throws(ConversionError) -> [FieldPath.Segment] {
        var segments: [FieldPath.Segment] = []
        var expectsKey = true
        while at < bytes.count || expectsKey {
            if at < bytes.count, bytes[at] == UInt8(ascii: "["), !expectsKey || segments.isEmpty {
                segments.append(try bracketed())
            } else {
                guard expectsKey else { throw fault }
                segments.append(try dotted())
            }
            expectsKey = at < bytes.count && bytes[at] == UInt8(ascii: ".")
            if expectsKey { at += 1 }
        }
        return segments
    }

    private mutating func dotted() throws(ConversionError) -> FieldPath.Segment {
        guard at < bytes.count else { throw fault }
        if bytes[at] == UInt8(ascii: "\"") { return .key(try quoted()) }
        let key = try plain()
        return key == [UInt8(ascii: "*")] ? .any : .key(key)
    }

    private mutating func bracketed() throws(ConversionError) -> FieldPath.Segment {
        at += 1
        let segment: FieldPath.Segment
        if at < bytes.count, bytes[at] == UInt8(ascii: "\"") {
            segment = .key(try quoted())
        } else {
            let start = at
            // Inside brackets a dot is part of the key, as in a field's name.
            while at < bytes.count, bytes[at] == UInt8(ascii: ".") || !isSpecial(bytes[at]) { at += 1 }
            guard at > start else { throw fault }
            let key = Array(bytes[start..<at])
            if key == [UInt8(ascii: "*")] {
                segment = .any
            } else if let index = Self.index(key) {
                segment = .index(index)
            } else {
                segment = .key(key)
            }
        }
        guard at < bytes.count, bytes[at] == UInt8(ascii: "]") else { throw fault }
        at += 1
        return segment
    }

    private mutating func plain() throws(ConversionError) -> [UInt8] {
        let start = at
        while at < bytes.count, !isSpecial(bytes[at]) { at += 1 }
        guard at > start else { throw fault }
        return Array(bytes[start..<at])
    }

    private mutating func quoted() throws(ConversionError) -> [UInt8] {
        var key: [UInt8] = []
        at += 1
        while at < bytes.count, bytes[at] != UInt8(ascii: "\"") {
            if bytes[at] == UInt8(ascii: "\\") { at += 1 }
            guard at < bytes.count else { throw fault }
            key.append(bytes[at])
            at += 1
        }
        guard at < bytes.count else { throw fault }
        at += 1
        return key
    }

    private func isSpecial(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "."), UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "\""), UInt8(ascii: "\\"): true
        default: false
        }
    }

    /// The number of a canonical decimal index: `0`, `7`, `10`, not `07`.
    private static func index(_ key: [UInt8]) -> Int? {
        guard key.allSatisfy(ASCII.isDigit), key.count == 1 || key[0] != UInt8(ascii: "0") else { return nil }
        return Int(key.span.lossyString())
    }

    private var fault: ConversionError { FieldFault.path.error(offset: at, field: text) }
}
