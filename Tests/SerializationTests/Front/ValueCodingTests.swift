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
