import Foundation
import Serialization
import Testing
import Transcoding

/// A program's own types to values and back.
@Suite("Value coding")
struct ValueCodingTests {
    struct Order: Codable, Equatable {
        enum State: String, Codable { case open, closed }
        struct Line: Codable, Equatable {
            var sku: String
            var quantity: UInt8
        }
        var id: Int64
        var price: Double
        var isPaid: Bool
        var state: State
        var lines: [Line]
        var note: String?
        var tags: [String: Int]
        var bytes: [UInt8]
        var time: Timestamp
        var extra: Value
    }

    private let order = Order(
        id: -5, price: 1.25, isPaid: true, state: .open, lines: [.init(sku: "A", quantity: 255)], note: nil,
        tags: ["x": 1], bytes: [1, 2], time: Timestamp("2001-01-01T00:00:00Z")!, extra: ["n": [nil, 1.10]])

    @Test("A type becomes a value with its members in order, and comes back")
    func roundTrip() throws {
        let value = try ValueEncoder().encode(order)
        let expected: Value = [
            "id": -5, "price": 1.25, "isPaid": true, "state": "open", "lines": [["sku": "A", "quantity": 255]],
            "tags": ["x": 1], "bytes": .data([1, 2]), "time": .date(order.time), "extra": ["n": [nil, 1.10]],
        ]
        #expect(value == expected)
        #expect(try value.decode(Order.self) == order)
    }

    @Test("Numbers beyond a type are refused with their path", arguments: ["1e400", "-1e999", "1e309"])
    func tooLarge(text: String) throws {
        struct Numbers: Decodable {
            var a: [Double]
        }
        let body = Array("{\"a\":[0,\(text)]}".utf8)
        let value = try Value(decoding: body, as: .json)
        let error = #expect(throws: DecodingError.self) { try value.decode(Numbers.self) }
        #expect(error.map { "\($0)" }?.contains("fit") == true)
        #expect(throws: DecodingError.self) { try value["a"]?.decode([Float].self) }
        #expect(throws: DecodingError.self) {
            try Value(decoding: Array("[1e39]".utf8), as: .json).decode([Float].self)
        }
        #expect(try Value(decoding: Array("[1e39,1e-400]".utf8), as: .json).decode([Double].self) == [1e39, 0])
    }

    @Test(
        "Numbers that are integers are read exactly, however they are spelled",
        arguments: [
            ("1e16", 10_000_000_000_000_000), ("1e18", 1_000_000_000_000_000_000), ("1E+18", 1_000_000_000_000_000_000),
            ("9007199254740993.0", 9_007_199_254_740_993), ("-9007199254740993.000", -9_007_199_254_740_993),
            ("92233720368547758070e-1", Int.max), ("-9.223372036854775808e18", Int.min), ("0e999999999999999999999", 0),
            ("0.0", 0), ("-0.0e5", 0), ("1200e-2", 12), ("0.00012e5", 12), ("9.3e18", nil), ("-9.3e18", nil),
            ("1e-1", nil),
            ("1.5", nil), ("1e40", nil), ("1e999999999999999999999", nil), ("1e-999999999999999999999", nil),
            ("9223372036854775808.0", nil), ("0.1e0", nil), ("123e-1", nil),
        ] as [(String, Int?)])
    func exactIntegers(text: String, expected: Int?) throws {
        let value = try Value(decoding: Array("[\(text)]".utf8), as: .json)
        #expect(value[0]?.int == expected)
        if let expected {
            #expect(try value.decode([Int].self) == [expected])
        } else {
            #expect(throws: DecodingError.self) { try value.decode([Int].self) }
        }
        // Where Foundation has an integer, it is the same.
        if let theirs = try? JSONDecoder().decode([Int].self, from: Data("[\(text)]".utf8)) {
            #expect(expected == theirs[0] || expected == nil)
        }
    }

    @Test("Each width has its own bounds")
    func widths() throws {
        func decoded<T: Decodable & FixedWidthInteger>(_ text: String, _ type: T.Type) -> T? {
            (try? Value(decoding: Array("[\(text)]".utf8), as: .json).decode([T].self))?[0]
        }
        #expect(decoded("1e19", UInt64.self) == 10_000_000_000_000_000_000)
        #expect(decoded("2e19", UInt64.self) == nil)
        #expect(decoded("12.7e1", Int8.self) == 127)
        #expect(decoded("12.8e1", Int8.self) == nil)
        #expect(decoded("-12.8e1", Int8.self) == -128)
        #expect(decoded("2.55e2", UInt8.self) == 255)
        #expect(decoded("-1e0", UInt8.self) == nil)
        #expect(decoded("1e38", Int128.self) == Int128("100000000000000000000000000000000000000"))
    }

    class Animal: Codable {
        var name = "n"
    }

    final class Dog: Animal {
        var age = 3
        enum CodingKeys: String, CodingKey { case age }
        override init() { super.init() }
        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(age, forKey: .age)
            try super.encode(to: container.superEncoder())
        }
        required init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            age = try container.decode(Int.self, forKey: .age)
            try super.init(from: container.superDecoder())
        }
    }

    @Test("A class and its superclass share an object or have one each")
    func classes() throws {
        let value = try ValueEncoder().encode(Dog())
        #expect(value == ["name": "n", "age": 3, "super": ["name": "n"]])
        #expect(try value.decode(Dog.self).name == "n")
    }

    struct Nested: Codable, Equatable {
        var rows: [[Int?]]
        init(rows: [[Int?]]) { self.rows = rows }
        enum Outer: CodingKey { case outer }
        init(from decoder: any Decoder) throws {
            var list = try decoder.container(keyedBy: Outer.self).nestedUnkeyedContainer(forKey: .outer)
            rows = []
            while !list.isAtEnd {
                var row: [Int?] = []
                var inner = try list.nestedUnkeyedContainer()
                while !inner.isAtEnd { row.append(try inner.decodeNil() ? nil : inner.decode(Int.self)) }
                rows.append(row)
            }
        }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Outer.self)
            var list = container.nestedUnkeyedContainer(forKey: .outer)
            for row in rows {
                var inner = list.nestedUnkeyedContainer()
                for number in row {
                    if let number { try inner.encode(number) } else { try inner.encodeNil() }
                }
            }
        }
    }

    @Test("Nested containers are nested values")
    func nested() throws {
        let nested = Nested(rows: [[1, nil], []])
        let value = try ValueEncoder().encode(nested)
        #expect(value == ["outer": [[1, nil], []]])
        #expect(try value.decode(Nested.self) == nested)
    }

    @Test(
        "What doesn't fit is refused with its path",
        arguments: [
            (#"{"a":300}"#, "quantity"), (#"{"a":1.5}"#, "quantity"), (#"{"a":"1"}"#, "quantity"),
            (#"{"a":null}"#, "quantity"),
            ("[]", "root"), ("{}", "missing"),
        ])
    func misfits(json: String, what: String) throws {
        struct Small: Decodable { var a: UInt8 }
        let value = try Value(decoding: json)
        let error = #expect(throws: DecodingError.self) { try value.decode(Small.self) }
        switch error {
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            #expect(context.codingPath.map(\.stringValue) == (what == "root" ? [] : ["a"]))
            #expect(context.debugDescription.contains("doesn't fit") == (json.contains("300") || json.contains("1.5")))
        case .keyNotFound(let key, _): #expect(key.stringValue == "a" && what == "missing")
        default: Issue.record("another error")
        }
    }

    @Test("Text is read as numbers where a form needs it")
    func text() throws {
        struct Fields: Decodable, Equatable {
            var n: Int
            var x: Double
            var b: Bool
            var s: String
        }
        let value = try Value(decoding: "n=5&x=1.5&b=true&s=7", as: .form)
        #expect(throws: DecodingError.self) { try value.decode(Fields.self) }
        var decoder = ValueDecoder()
        decoder.readsText = true
        #expect(try decoder.decode(Fields.self, from: value) == Fields(n: 5, x: 1.5, b: true, s: "7"))
    }

    @Test("Foundation's types go through a transform")
    func transform() throws {
        struct Event: Codable, Equatable { var at: Date }
        var encoder = ValueEncoder()
        encoder.transform = { source in
            (source as? Date).flatMap { Timestamp(secondsSince1970: $0.timeIntervalSince1970) }.map(Value.date)
        }
        let event = Event(at: Date(timeIntervalSince1970: 5.5))
        let value = try encoder.encode(event)
        #expect(value == ["at": .date(Timestamp("1970-01-01T00:00:05.5Z")!)])
        var decoder = ValueDecoder()
        decoder.transform = { value, type in
            type == Date.self ? value.date.map { Date(timeIntervalSince1970: $0.secondsSince1970) } : nil
        }
        #expect(try decoder.decode(Event.self, from: value) == event)
    }

    @Test("Values go through other coders")
    func otherCoders() throws {
        let value: Value = ["a": [1, nil, "x", true, 1.5], "b": [:]]
        let data = try JSONEncoder().encode(value)
        let back = try JSONDecoder().decode(Value.self, from: data)
        #expect(back["a"] == value["a"])
        #expect(back["b"] == [:])
    }

    @Test("JSON is laid out as Foundation's encoder does")
    func jsonWriting() throws {
        let source = ["b": ["x/y": [1, 2], "w": []], "a": [:]] as [String: [String: [Int]]]
        let rows: [(JSON.WritingOptions, JSONEncoder.OutputFormatting)] = [
            ([.sortedKeys], [.sortedKeys]), ([.sortedKeys, .prettyPrinted], [.sortedKeys, .prettyPrinted]),
            (
                [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes],
                [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
            ),
        ]
        for (ours, theirs) in rows {
            var options = DocumentOptions()
            options.jsonWriting = ours
            let foundation = JSONEncoder()
            foundation.outputFormatting = theirs
            let expected = try foundation.encode(source)
            #expect(try Data(ValueEncoder().encode(source, as: .json, options: options)) == expected)
            #expect(try Data(ValueEncoder().encode(source).encoded(as: .json, options: options)) == expected)
        }
        var sorted = DocumentOptions()
        sorted.order = .sorted
        #expect(try (["b/": 1, "a": 2] as Value).encoded(as: .json, options: sorted) == Array(#"{"a":2,"b/":1}"#.utf8))
    }

    @Test("An endless type is refused")
    func endless() {
        struct Endless: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                try container.encode(Endless())
            }
        }
        #expect(throws: EncodingError.self) { try ValueEncoder().encode(Endless()) }
    }
}
