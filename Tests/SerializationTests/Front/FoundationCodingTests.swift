import Foundation
import Serialization
import Testing
import Transcoding

/// What `ValueEncoder` makes of a type, beside what Foundation's `JSONEncoder` makes of it.
@Suite("Coding as Foundation does")
struct FoundationCodingTests {
    /// One way of encoding, and the members in the order in which they must come.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let type: @Sendable () -> any Encodable
        let keys: [String]

        init(_ name: String, _ keys: [String] = [], _ type: @escaping @Sendable () -> any Encodable) {
            (testDescription, self.keys, self.type) = (name, keys, type)
        }
    }

    enum Key: String, CodingKey { case a, b, c, meta }

    /// Encodes itself as it is told.
    struct Told: Encodable {
        let tell: @Sendable (any Encoder) throws -> Void
        init(_ tell: @escaping @Sendable (any Encoder) throws -> Void) { self.tell = tell }
        func encode(to encoder: any Encoder) throws { try tell(encoder) }
    }

    /// The finding: a class and its superclass write into one nested object.
    class Base: Encodable {
        var id = 7
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Key.self)
            var meta = container.nestedContainer(keyedBy: Key.self, forKey: .meta)
            try meta.encode(id, forKey: .a)
        }
    }

    final class Tagged: Base {
        var tag = "x"
        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: Key.self)
            var meta = container.nestedContainer(keyedBy: Key.self, forKey: .meta)
            try meta.encode(tag, forKey: .b)
        }
    }

    class Plain: Encodable {
        var a = 1
        var b: Int? = 2
    }

    final class Overriding: Plain {
        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: Key.self)
            try container.encode("again", forKey: .a)
            try container.encode(3, forKey: .c)
        }
    }

    static let rows: [Row] = [
        Row("a nested object opened by a class and by its superclass", ["meta"]) { Tagged() },
        Row("a member of the superclass encoded again", ["a", "b", "c"]) { Overriding() },
        Row("a key encoded twice has its last value, in its first place", ["a", "b"]) {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: .a)
                try container.encode(2, forKey: .b)
                try container.encode([3], forKey: .a)
            }
        },
        Row("a key encoded as a value and then as null", ["a"]) {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: .a)
                try container.encodeNil(forKey: .a)
            }
        },
        Row("a nested object that a value takes the place of", ["a"]) {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                var nested = container.nestedContainer(keyedBy: Key.self, forKey: .a)
                try nested.encode(1, forKey: .b)
                try container.encode(2, forKey: .a)
            }
        },
        Row("two arrays under one key are one", ["a"]) {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                var first = container.nestedUnkeyedContainer(forKey: .a)
                try first.encode(1)
                var second = container.nestedUnkeyedContainer(forKey: .a)
                try second.encode("two")
                try first.encode(3)
            }
        },
        Row("two arrays at the top are one") {
            Told { encoder in
                var first = encoder.unkeyedContainer()
                try first.encode(1)
                var second = encoder.unkeyedContainer()
                try second.encodeNil()
            }
        },
        Row("two objects at the top are one, deep down too", ["a", "b"]) {
            Told { encoder in
                for number in [1, 2] {
                    var container = encoder.container(keyedBy: Key.self)
                    var nested = container.nestedContainer(keyedBy: Key.self, forKey: .a)
                    var deep = nested.nestedContainer(keyedBy: Key.self, forKey: .b)
                    try deep.encode(number, forKey: number == 1 ? .a : .c)
                    try container.encode(number, forKey: .b)
                }
            }
        },
        Row("objects within an array don't meet") {
            Told { encoder in
                var list = encoder.unkeyedContainer()
                for number in [1, 2] {
                    var nested = list.nestedContainer(keyedBy: Key.self)
                    try nested.encode(number, forKey: .a)
                }
                var inner = list.nestedUnkeyedContainer()
                try inner.encode(true)
            }
        },
        Row("a super encoder, and one under a key", ["super", "a"]) {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try Plain().encode(to: container.superEncoder())
                try Plain().encode(to: container.superEncoder(forKey: .a))
            }
        },
        Row("a super encoder that nothing is encoded into", ["super"]) {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                _ = container.superEncoder()
            }
        },
        Row("super encoders of an array") {
            Told { encoder in
                var list = encoder.unkeyedContainer()
                try Plain().encode(to: list.superEncoder())
                try list.encode(1)
            }
        },
        Row("a member that encodes nothing is an empty object", ["a"]) {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(Told { _ in }, forKey: .a)
            }
        },
        Row("an element that encodes nothing, and one that is an empty array") {
            Told { encoder in
                var list = encoder.unkeyedContainer()
                try list.encode(Told { _ in })
                try list.encode([Int]())
            }
        },
        Row("empty arrays and objects of anything", ["a", "b", "c"]) {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode([String](), forKey: .a)
                try container.encode([String: [Int]](), forKey: .b)
                try container.encode([[Int]]([[]]), forKey: .c)
            }
        },
        Row("one value of another type") {
            Told { encoder in
                var container = encoder.singleValueContainer()
                try container.encode(["a": [1.5]])
            }
        },
        Row("one value that encodes nothing") {
            Told { encoder in
                var container = encoder.singleValueContainer()
                try container.encode(Told { _ in })
            }
        },
        Row("a container that nothing is encoded into") { Told { _ = $0.container(keyedBy: Key.self) } },
        Row("optionals in an array and in an object", ["a"]) { ["a": [1, nil, 3]] as [String: [Int?]] },
        Row("a dictionary of many members") {
            Dictionary(uniqueKeysWithValues: (0..<100).map { ("k\($0)", $0) })
        },
        Row("many keys, each encoded twice") {
            Told { encoder in
                struct Name: CodingKey {
                    var stringValue: String
                    var intValue: Int? { nil }
                    init(_ name: String) { stringValue = name }
                    init?(stringValue: String) { self.stringValue = stringValue }
                    init?(intValue: Int) { nil }
                }
                var container = encoder.container(keyedBy: Name.self)
                for round in 0..<2 {
                    for number in 0..<40 { try container.encode(round * 100 + number, forKey: Name("k\(number)")) }
                }
            }
        },
    ]

    @Test("A type becomes what Foundation makes of it", arguments: rows)
    func same(_ row: Row) throws {
        let value = try ValueEncoder().encode(row.type())
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let expected = try Value(decoding: [UInt8](encoder.encode(row.type())))
        var options = DocumentOptions()
        options.order = .sorted
        // Sorted, and refused by our own reader where a name stands twice.
        #expect(try Value(decoding: value.encoded(options: options)) == expected)
        if !row.keys.isEmpty { #expect(value.object?.keys == row.keys) }
    }

    @Test("Names that are one only to people stay two")
    func bytes() throws {
        let value = try ValueEncoder().encode(["\u{E9}": 1])
        #expect(value == ["\u{E9}": 1])
        struct Two: Encodable {
            enum CodingKeys: String, CodingKey { case composed, decomposed }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: Name.self)
                try container.encode(1, forKey: Name(stringValue: "\u{E9}"))
                try container.encode(2, forKey: Name(stringValue: "e\u{301}"))
            }
            struct Name: CodingKey {
                var stringValue: String
                var intValue: Int? { nil }
                init(stringValue: String) { self.stringValue = stringValue }
                init?(intValue: Int) { nil }
            }
        }
        #expect(try ValueEncoder().encode(Two()).object?.count == 2)
    }

    static let refused: [Row] = [
        Row("nothing at all") { Told { _ in } },
        Row("an object, then an array") {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: .a)
                var list = encoder.unkeyedContainer()
                try list.encode(1)
            }
        },
        Row("an array, then an object, under one key") {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                _ = container.nestedUnkeyedContainer(forKey: .a)
                _ = container.nestedContainer(keyedBy: Key.self, forKey: .a)
            }
        },
        Row("a number, then an object, under one key") {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: .a)
                var nested = container.nestedContainer(keyedBy: Key.self, forKey: .a)
                try nested.encode(2, forKey: .b)
            }
        },
        Row("two single values") {
            Told { encoder in
                var container = encoder.singleValueContainer()
                try container.encode(1)
                try container.encode(2)
            }
        },
        Row("a single value over an object") {
            Told { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: .a)
                var single = encoder.singleValueContainer()
                try single.encode("over it")
            }
        },
    ]

    /// Foundation stops the program for all but the first; nothing here may lose a value in silence either.
    @Test("Nothing, and two kinds of value in one place, are refused", arguments: refused)
    func refuses(_ row: Row) {
        #expect(throws: EncodingError.self) { try ValueEncoder().encode(row.type()) }
    }
}
