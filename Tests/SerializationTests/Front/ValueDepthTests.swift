import Foundation
import Serialization
import Testing
import Transcoding

/// What goes through values that are nested deeply, on a thread with a stack as small as those of Foundation's are.
@Suite("Deep values")
struct ValueDepthTests {
    static let levels = 1000

    /// Objects, and arrays between them where they are mixed.
    static func nested(_ innermost: Value = 1, mixed: Bool = false) -> Value {
        (1...levels).reduce(innermost) { value, level in mixed && level % 2 == 1 ? [value] : ["a": value] }
    }

    static var options: DocumentOptions {
        var options = DocumentOptions()
        options.limits.depth = levels
        options.limits.keyDepth = levels
        options.limits.key = 4 * levels
        return options
    }

    static func comesBack(_ value: Value, as format: DocumentFormat, _ options: DocumentOptions) throws -> Bool {
        try Value(decoding: value.encoded(as: format, options: options), as: format, options: options) == value
    }

    /// What is done on the small stack, and whether it comes out right.
    static let operations: [(name: String, run: @Sendable () throws -> Bool)] = [
        ("make", { nested().object != nil }),
        ("compare", { nested(mixed: true) == nested(mixed: true) && nested(1) != nested(2) }),
        ("hash", { nested(mixed: true).hashValue == nested(mixed: true).hashValue }),
        ("describe", { nested().description.utf8.count == 6 * levels + 1 }),
        ("remove nulls", { nested([nil, 1], mixed: true).removingNulls() == nested([1], mixed: true) }),
        ("JSON", { try comesBack(nested(mixed: true), as: .json, options) }),
        ("XML", { try comesBack(nested("x"), as: .xml, options) }),
        ("property list", { try comesBack(nested(mixed: true), as: .propertyList, options) }),
        (
            "binary property list",
            {
                var options = Self.options
                options.propertyListEncoding.format = .binary
                return try comesBack(nested(mixed: true), as: .propertyList, options)
            }
        ),
        ("form", { try comesBack(nested("x"), as: .form, options) }),
        (
            "events",
            {
                var builder = ValueBuilder(limits: Limits())
                try nested(mixed: true).emit(into: &builder, limits: options.limits)
                return builder.value == nested(mixed: true)
            }
        ),
        ("decode", { try nested(mixed: true).decode(Value.self) == nested(mixed: true) }),
        (
            "encode",
            {
                do {
                    _ = try ValueEncoder().encode(nested())
                    return false
                } catch EncodingError.invalidValue(_, let context) {
                    return context.debugDescription.contains("128")
                }
            }
        ),
    ]

    @Test("A thousand levels need no large stack", arguments: operations.map(\.name))
    func depth(_ name: String) async throws {
        let operation = Self.operations.first { $0.name == name }!
        let isRight = try await withCheckedThrowingContinuation { continuation in
            let thread = Thread { continuation.resume(with: Result { try operation.run() }) }
            thread.stackSize = 512 * 1024
            thread.start()
        }
        #expect(isRight)
    }

    /// An object in an object, and so on, on the stack while it is made.
    private struct Link: Decodable {
        var levels: Int
        private enum CodingKeys: String, CodingKey { case a }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            levels = 1 + (try members.contains(.a) ? members.decode(Link.self, forKey: .a).levels : 0)
        }
    }

    /// The finding: where `limits.depth` had been raised, a body of 100,000 levels ran off the end of the stack.
    @Test("Types within types are refused beyond 512, whatever the limits say", arguments: [513, 514, 100_000])
    func types(_ levels: Int) throws {
        let text = String(repeating: #"{"a":"#, count: levels - 1) + "{}" + String(repeating: "}", count: levels - 1)
        var options = DocumentOptions()
        options.limits.depth = .max
        let read = Result { try ValueDecoder().decode(Link.self, from: text, as: .json, options: options).levels }
        switch read {
        case .success(let made): #expect(made == 513 && levels == 513)
        case .failure(DecodingError.dataCorrupted(let context)):
            #expect(levels > 513 && context.codingPath.count == 513 && context.debugDescription.contains("512"))
        case .failure(let error): Issue.record(error)
        }
        guard levels < 1000 else { return }
        let value = try Value(decoding: text, options: options)
        #expect((try? value.decode(Link.self).levels) == (levels == 513 ? 513 : nil))
        #expect(throws: ConversionError.self) { try ValueDecoder().decode(Link.self, from: text, as: .json) }
    }

    @Test("Values are compared by all that they are made of")
    func comparison() {
        let values: [Value] = [
            nil, false, true, 1, 2, 1.0, "1", .data([1]), .data([]), .date(Timestamp(seconds: 1)!), [], [1], [1, 2],
            [2],
            [[1], 2], [[1, 2]], [[], [1]], [[1], []], .set([]), .set([1]), .set([[1]]), [:], ["a": 1], ["b": 1],
            ["a": 2],
            ["a": 1, "b": 1], ["b": 1, "a": 1], ["a": ["b": 1]], ["a": [:], "b": 1], ["a": 1, "a": 1], [["a": 1]],
            ["a": [1]],
        ]
        for (place, value) in values.enumerated() {
            for (other, another) in values.enumerated() {
                #expect((value == another) == (place == other), "\(value) \(another)")
                #expect(value.hashValue != another.hashValue || place == other, "\(value) \(another)")
            }
        }
        #expect(Set(values).count == values.count)
        #expect(Value.set([2, 1, .set(["b", "a"]), "x"]).description == #"[1,2,["a","b"],"x"]"#)
        #expect([Value(Double.nan), Value(-Double.infinity)].map(\.description) == ["nan", "-inf"])
    }

    @Test("An error within sets whose elements go out one by one names the field once")
    func setPlaces() throws {
        let rows: [(Value, String)] = [
            (["a": .set([1, .set([Value(Double.nan)])])], "/a"), (["a": [.set([Value(Double.nan)])]], "/a/0/0"),
            (["a": .set([["b": Value(Double.nan)]])], "/a/b"), (.set([Value(Double.nan)]), "/"),
        ]
        for (value, field) in rows {
            var options = DocumentOptions()
            options.formEncoding = FieldEncodingOptions(dialect: .afnetworking)
            let error = #expect(throws: ConversionError.self) { try value.encoded(as: .form, options: options) }
            #expect(error?.code == "value_number" && error?.field == field)
        }
    }
}
