import Foundation
import Serialization
import Testing
import Transcoding

/// Types straight to the bytes of a document and back: the same as by way of a `Value`.
@Suite("Types straight to documents")
struct DirectCodingTests {
    private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

    @Test("What a type encodes is the same bytes as its value's", arguments: FoundationCodingTests.rows)
    func sameBytes(_ row: FoundationCodingTests.Row) throws {
        // One instance for all, since each dictionary has an order of its own.
        let source = row.type()
        let value = try ValueEncoder().encode(source)
        #expect(try ValueEncoder().encode(source, as: .json) == value.encoded(as: .json))
        var sorted = DocumentOptions()
        sorted.order = .sorted
        #expect(try ValueEncoder().encode(source, as: .json, options: sorted) == value.encoded(options: sorted))
        for format in [DocumentFormat.form, .propertyList, .xml] {
            let byValue = Result { try value.encoded(as: format) }
            let direct = Result { try ValueEncoder().encode(source, as: format) }
            switch (byValue, direct) {
            case (.success(let one), .success(let other)): #expect(one == other)
            case (.failure(let one), .failure(let other)):
                #expect((one as? ConversionError)?.code == (other as? ConversionError)?.code)
            default: Issue.record("one of both refuses \(format)")
            }
        }
    }

    @Test("A type that is refused as a value is refused as a document", arguments: FoundationCodingTests.refused)
    func refuses(_ row: FoundationCodingTests.Row) {
        #expect(throws: EncodingError.self) { try ValueEncoder().encode(row.type(), as: .json) }
    }

    @Test("A form of each dialect is the same, and comes back", arguments: DialectCodingTests.spellings)
    func forms(_ spelling: FieldEncodingOptions) throws {
        var options = DocumentOptions()
        options.formEncoding = spelling
        options.formDecoding = FieldDecodingOptions(dialect: spelling.dialect)
        options.formDecoding.nulls = spelling.nulls == .key ? .key : options.formDecoding.nulls
        for nils in ValueEncoder.NilStrategy.allCases where nils == .omit || spelling.nulls != .reject {
            var encoder = ValueEncoder()
            encoder.nils = nils
            let source = DialectCodingTests.Everything()
            let form = try encoder.encode(source, as: .form, options: options)
            #expect(try form == encoder.encode(source).encoded(as: .form, options: options))
            let decoder = ValueDecoder(reading: spelling)
            let read = try decoder.decode(DialectCodingTests.Everything.self, from: form, as: .form, options: options)
            #expect(read == source)
        }
    }

    struct Sets: Encodable {
        var one: Value = .set(["b", "a", .set(["d", "c"])])
        var list: [Value] = [.set([2, 1]), 3]
        var none: Value = .set([])
        var time: Value = .date(Timestamp("2001-01-01T00:02:03.5Z")!)
    }

    @Test("Sets and dates within a type are written as the dialect has them", arguments: Dialect.allCases)
    func sets(_ dialect: Dialect) throws {
        var options = DocumentOptions()
        options.formEncoding = FieldEncodingOptions(dialect: dialect)
        options.formEncoding.empties = .omit
        let form = try ValueEncoder().encode(Sets(), as: .form, options: options)
        #expect(try form == ValueEncoder().encode(Sets()).encoded(as: .form, options: options))
        #expect(try ValueEncoder().encode(Sets())["one"] == Sets().one)
    }

    @Test("Numbers have all their digits both ways")
    func numbers() throws {
        struct Numbers: Codable, Equatable {
            var a = UInt64.max
            var b = Int64.min
            var c = 0.1
            var d = Float(0.1)
            var e = 1e300
            var f = UInt128.max
            var g = Int128.min
            var h = -0.0
            var i = 123_456_789_012_345.678
            var j = Double.leastNonzeroMagnitude
            var k = Value.Number("1.10").map(Value.number)
            var l: Int8 = -128
        }
        let bytes = try ValueEncoder().encode(Numbers(), as: .json)
        #expect(
            text(bytes)
                == #"{"a":18446744073709551615,"b":-9223372036854775808,"c":0.1,"d":0.1,"e":1e+300,"#
                + #""f":340282366920938463463374607431768211455,"g":-170141183460469231731687303715884105728,"h":-0.0,"#
                + #""i":123456789012345.67,"j":5e-324,"k":1.10,"l":-128}"#)
        #expect(try ValueDecoder().decode(Numbers.self, from: bytes, as: .json) == Numbers())
        let wide = [UInt128.max, 0]
        #expect(
            try ValueDecoder().decode([UInt128].self, from: ValueEncoder().encode(wide, as: .json), as: .json) == wide)
        #expect(
            try ValueDecoder().decode(Int128?.self, from: ValueEncoder().encode(Int128?.some(-7), as: .json), as: .json)
                == -7)
        #expect(try ValueDecoder().decode([Double].self, from: "[-0]", as: .json)[0].sign == .minus)
    }

    @Test(
        "A Float in a property list is the same number for Foundation, and comes back",
        arguments: [
            PropertyList.Format.xml, .binary,
        ])
    func floats(_ format: PropertyList.Format) throws {
        struct Measure: Codable, Equatable {
            var one: Float
            var all: [Float]
        }
        let numbers: [Float] = [
            0.1, 1.1, -3.3, 16_777_216, 1e30, 5, -0.0, .pi, .ulpOfOne, .leastNonzeroMagnitude, .leastNormalMagnitude,
            .greatestFiniteMagnitude,
        ]
        var options = DocumentOptions()
        options.propertyListEncoding.format = format
        let serializer = PropertyListRequestSerializer(format: format)
        for number in numbers {
            let measure = Measure(one: number, all: numbers)
            let direct = try ValueEncoder().encode(measure, as: .propertyList, options: options)
            let sent = try serializer.request(method: .post, url: "/", encoding: measure).bodyBytes ?? []
            for bytes in [direct, sent] {
                let foundations = try PropertyListDecoder().decode(Measure.self, from: Data(bytes))
                #expect(foundations == measure)
                let read = try ValueDecoder().decode(Measure.self, from: bytes, as: .propertyList)
                #expect(read == measure)
                #expect(read.all.map(\.bitPattern) == numbers.map(\.bitPattern))
            }
        }
        // Everything else has the shortest text.
        #expect(try text(ValueEncoder().encode([Float(0.1)], as: .json)) == "[0.1]")
        let query = try serializer.request(method: .get, url: "/", encoding: ["a": Float(0.1)])
        #expect(query.url == "/?a=0.1")
        #expect(Value(Float(0.1)) == 0.1 && Value(Float.nan).description == "nan")
        #expect(try Value(Float(0.1)).decode(Float.self) == 0.1)
    }

    @Test("A second value in one place is refused with what is there, and with itself")
    func secondValues() throws {
        struct Pair: Encodable {
            var isKeyed: Bool
            func encode(to encoder: any Encoder) throws {
                if isKeyed {
                    var container = encoder.container(keyedBy: FoundationCodingTests.Key.self)
                    try container.encode(1, forKey: .a)
                    var list = encoder.unkeyedContainer()
                    try list.encode(2)
                } else {
                    var container = encoder.singleValueContainer()
                    try container.encode(1)
                    try container.encode(2)
                }
            }
        }
        for (isKeyed, words) in [(true, "an object"), (false, "a value")] {
            let error = #expect(throws: EncodingError.self) { try ValueEncoder().encode(["x": Pair(isKeyed: isKeyed)]) }
            guard case .invalidValue(let value, let context)? = error else { continue }
            #expect(isKeyed ? value is Pair : value as? Int == 2)
            #expect(context.codingPath.map(\.stringValue) == ["x"])
            #expect(context.debugDescription == "\(words) is encoded in this place already")
        }
    }

    @Test("A Double is the nearest one of its text")
    func nearestDoubles() throws {
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<20_000 {
            let digits = String(UInt64.random(in: 0...UInt64.max, using: &generator) >> UInt64.random(in: 0...63))
            let split = Int.random(in: 0...digits.count)
            let fraction = digits.suffix(split)
            let whole = digits.dropLast(split)
            let number = (whole.isEmpty ? "0" : whole) + (fraction.isEmpty ? "" : "." + fraction)
            let read = try ValueDecoder().decode([Double].self, from: "[\(number),-\(number)]", as: .json)
            #expect(read == [Double(number)!, -Double(number)!], "\(number)")
        }
    }

    @Test(
        "Integers are read exactly or refused",
        arguments: [
            ("9223372036854775807", Int64.max), ("9223372036854775808", nil), ("-9223372036854775808", Int64.min),
            ("-9223372036854775809", nil), ("999999999999999999", 999_999_999_999_999_999), ("5.0", 5), ("5e2", 500),
            ("5.5", nil), ("-0", 0), ("1e30", nil), ("9007199254740993.0", 9_007_199_254_740_993),
        ] as [(String, Int64?)])
    func integers(_ text: String, _ expected: Int64?) {
        #expect((try? ValueDecoder().decode([Int64].self, from: "[\(text)]", as: .json))?[0] == expected)
    }

    struct Outer: Codable {
        enum CodingKeys: String, CodingKey { case inner = "in ner" }
        struct Inner: Codable {
            var list: [[UInt8]]
        }
        var inner: [String: Inner]
    }

    @Test("An error has the path of what doesn't fit, by the keys of the types")
    func paths() throws {
        let text = #"{"in ner":{"k":{"list":[[1],[2,300]]}}}"#
        let error = #expect(throws: DecodingError.self) {
            try ValueDecoder().decode(Outer.self, from: text, as: .json)
        }
        guard case .typeMismatch(_, let context)? = error else {
            Issue.record("another error")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["in ner", "k", "list", "1", "1"])
        #expect(context.codingPath.first is Outer.CodingKeys)
        #expect(context.codingPath.map(\.intValue) == [nil, nil, nil, 1, 1])
    }

    @Test("An encoder's path is that of its keys")
    func encodingPath() throws {
        let row = FoundationCodingTests.Told { encoder in
            var container = encoder.container(keyedBy: FoundationCodingTests.Key.self)
            var list = container.nestedUnkeyedContainer(forKey: .a)
            try list.encode(1)
            try list.encode(
                FoundationCodingTests.Told { inner in
                    #expect(inner.codingPath.map(\.stringValue) == ["a", "1"])
                    #expect(inner.codingPath.first is FoundationCodingTests.Key)
                    var single = inner.singleValueContainer()
                    try single.encode(["x": ["y"]])
                })
            let above = container.superEncoder()
            #expect(above.codingPath.map(\.stringValue) == ["super"])
        }
        #expect(try text(ValueEncoder().encode(row, as: .json)) == #"{"a":[1,{"x":["y"]}],"super":{}}"#)
    }

    /// Decodes itself later, as types do whose kind is known only when others have been read.
    struct Postponed: Decodable {
        var decoder: any Decoder
        init(from decoder: any Decoder) { self.decoder = decoder }
    }

    @Test("A decoder that a type keeps has its path when others have been decoded since")
    func keptDecoder() throws {
        struct Page: Decodable {
            var rows: [String: [Postponed]]
            var rest: [[String: Int]]
        }
        let text = #"{"rows":{"r":[1,{"x":["no"]}]},"rest":[{"a":1},{"b":2},{"c":3}]}"#
        let page = try ValueDecoder().decode(Page.self, from: text, as: .json)
        let decoders = try #require(page.rows["r"]).map(\.decoder)
        #expect(decoders.map { $0.codingPath.map(\.stringValue) } == [["rows", "r", "0"], ["rows", "r", "1"]])
        #expect(try decoders[0].singleValueContainer().decode(Int.self) == 1)
        let error = #expect(throws: DecodingError.self) { try [String: [Int]](from: decoders[1]) }
        guard case .typeMismatch(_, let context)? = error else {
            Issue.record("another error")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["rows", "r", "1", "x", "0"])
    }

    final class Kept { var encoder: (any Encoder)? }

    struct Keeping: Encodable {
        let kept: Kept
        func encode(to encoder: any Encoder) throws {
            _ = encoder.container(keyedBy: FoundationCodingTests.Key.self)
            kept.encoder = encoder
        }
    }

    /// Writes by an encoder that is another's, when that is through.
    struct Late: Encodable {
        func encode(to encoder: any Encoder) throws {
            typealias Key = FoundationCodingTests.Key
            let kept = Kept()
            var container = encoder.container(keyedBy: Key.self)
            var list = container.nestedUnkeyedContainer(forKey: .a)
            try list.encode(Keeping(kept: kept))
            try container.encode([["x": 1]], forKey: .b)
            var late = try #require(kept.encoder).container(keyedBy: Key.self)
            #expect(late.codingPath.map(\.stringValue) == ["a", "0"])
            try late.encode([2], forKey: .b)
        }
    }

    @Test("An encoder that is kept has its path when others have been encoded since, and its container takes members")
    func keptEncoder() throws {
        #expect(try text(ValueEncoder().encode(Late(), as: .json)) == #"{"a":[{"b":[2]}],"b":[{"x":1}]}"#)
    }

    @Test("An encode that fails leaves nothing behind")
    func failedMember() throws {
        struct Failing: Encodable {
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: FoundationCodingTests.Key.self)
                try container.encode(1, forKey: .b)
                throw CancellationError()
            }
        }
        let row = FoundationCodingTests.Told { encoder in
            var container = encoder.container(keyedBy: FoundationCodingTests.Key.self)
            try container.encode(2, forKey: .a)
            try? container.encode(Failing(), forKey: .a)
            try? container.encode(Failing(), forKey: .c)
            var list = container.nestedUnkeyedContainer(forKey: .meta)
            try? list.encode(Failing())
            try list.encode(3)
        }
        #expect(try text(ValueEncoder().encode(row, as: .json)) == #"{"a":2,"meta":[3]}"#)
        // A number that isn't finite is refused, too, and what stood under its key stays.
        let numbers = FoundationCodingTests.Told { encoder in
            var container = encoder.container(keyedBy: FoundationCodingTests.Key.self)
            try container.encode(2.5, forKey: .a)
            try? container.encode(Double.nan, forKey: .a)
            try? container.encode(Float.infinity, forKey: .c)
            try? container.encodeIfPresent(Double?.some(.nan), forKey: .b)
            var list = container.nestedUnkeyedContainer(forKey: .meta)
            try? list.encode(Double.nan)
            try? list.encode(-Float.infinity)
            try list.encode(3)
        }
        #expect(try text(ValueEncoder().encode(numbers, as: .json)) == #"{"a":2.5,"meta":[3]}"#)
        let foundation = JSONEncoder()
        foundation.outputFormatting = .sortedKeys
        #expect(try text(ValueEncoder().encode(numbers, as: .json)) == text([UInt8](foundation.encode(numbers))))
        // A `Value` has a place for them.
        #expect(try ValueEncoder().encode(numbers)["meta"]?.array?.count == 3)
    }

    @Test("Members are found in any order, and the first of a name that repeats")
    func order() throws {
        struct Letters: Codable, Equatable {
            var a, b, c: Int
        }
        for text in [#"{"a":1,"b":2,"c":3}"#, #"{"c":3,"b":2,"a":1}"#, #"{"x":0,"b":2,"y":[{}],"a":1,"c":3,"z":{}}"#] {
            #expect(try ValueDecoder().decode(Letters.self, from: text, as: .json) == Letters(a: 1, b: 2, c: 3))
        }
        let repeated = #"{"a":1,"b":2,"c":3,"a":4,"b":5,"c":6}"#
        for (duplicates, first) in [(DuplicatePolicy.keep, true), (.array, true), (.first, true), (.last, false)] {
            var options = DocumentOptions()
            options.duplicates = duplicates
            let read = try ValueDecoder().decode(Letters.self, from: repeated, as: .json, options: options)
            #expect(read == (first ? Letters(a: 1, b: 2, c: 3) : Letters(a: 4, b: 5, c: 6)))
        }
        #expect(throws: ConversionError.self) { try ValueDecoder().decode(Letters.self, from: repeated, as: .json) }
        let many = (0..<100).map { #""k\#($0)":\#($0)"# }.shuffled().joined(separator: ",")
        let read = try ValueDecoder().decode([String: Int].self, from: "{\(many)}", as: .json)
        #expect(read == Dictionary(uniqueKeysWithValues: (0..<100).map { ("k\($0)", $0) }))
    }

    @Test("Limits hold at n - 1, n and n + 1")
    func limits() throws {
        for depth in [127, 128, 129] {
            let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let value = try? Value(decoding: nested)
            #expect((value != nil) == (depth <= 128))
            #expect((try? ValueDecoder().decode(Value.self, from: nested, as: .json)) == value)
        }
        struct Deep: Encodable {
            var levels: Int
            func encode(to encoder: any Encoder) throws {
                var container = encoder.unkeyedContainer()
                if levels > 1 { try container.encode(Deep(levels: levels - 1)) }
            }
        }
        for (levels, limit) in [(127, 128), (128, 128), (129, 128), (3, 4), (4, 4), (5, 4)] {
            var options = DocumentOptions()
            options.limits.depth = limit
            let made = try? ValueEncoder().encode(Deep(levels: levels), as: .json, options: options)
            #expect((made != nil) == (levels <= limit))
        }
        var options = DocumentOptions()
        let text = #"{"a":"bcd"}"#
        let cost = 4 + 2 * Tree.nodeCost
        for limit in [cost - 1, cost, cost + 1] {
            options.limits.tree = limit
            let made = try? ValueDecoder().decode([String: String].self, from: text, as: .json, options: options)
            #expect((made != nil) == (limit >= cost))
        }
    }

    @Test("What is no number in JSON is refused, and a document that is cut off")
    func refused() {
        for number in [Double.nan, .infinity, -.infinity] {
            let error = #expect(throws: ConversionError.self) { try ValueEncoder().encode([number], as: .json) }
            #expect(error?.code == "value_number")
            #expect(error?.field == "/0")
        }
        let error = #expect(throws: ConversionError.self) {
            try ValueDecoder().decode([Int].self, from: "[1,2", as: .json)
        }
        #expect(error?.code == "json_unexpected_end")
    }

    @Test("Texts are escaped and unescaped as JSON has them")
    func texts() throws {
        let texts = [
            "", "\"\\/\u{8}\u{C}\n\r\t\u{1}", "M\u{FC}nchen \u{1F600}", String(repeating: "x\"", count: 40_000),
        ]
        let bytes = try ValueEncoder().encode(texts, as: .json)
        #expect(try JSONDecoder().decode([String].self, from: Data(bytes)) == texts)
        #expect(try ValueDecoder().decode([String].self, from: bytes, as: .json) == texts)
    }

    /// Values with one that JSON or a property list can't carry, the format, the depth, and what the error says.
    static let unwritable: [(value: Value, format: DocumentFormat, depth: Int, code: String, field: String?)] = [
        (Value(Double.nan), .json, 32, "value_number", nil),
        (["a": [1, ["b/c": ["~": Value(Double.infinity)]]]], .json, 32, "value_number", "/a/1/b~1c/~0"),
        (["a": ["b": .set([1])]], .propertyList, 32, "value_set", "/a/b"),
        (.set(["x"]), .propertyList, 32, "value_set", nil),
        (["a": [[1]]], .json, 2, "limit_depth", "/a/0"),
        (["a": 1], .json, 0, "limit_depth", nil),
    ]

    @Test("An error names the value at fault, whichever way it was encoded", arguments: unwritable)
    func places(value: Value, format: DocumentFormat, depth: Int, code: String, field: String?) throws {
        struct Outer: Encodable {
            var outer: [Value]
        }
        var options = DocumentOptions()
        options.limits.depth = depth
        let direct = #expect(throws: ConversionError.self) { try value.encoded(as: format, options: options) }
        let encoded = #expect(throws: ConversionError.self) {
            try ValueEncoder().encode(value, as: format, options: options)
        }
        options.limits.depth += 2
        let within = #expect(throws: ConversionError.self) {
            try ValueEncoder().encode(Outer(outer: [.null, value]), as: format, options: options)
        }
        for error in [direct, encoded, within] { #expect(error?.code == code) }
        #expect(direct?.field == field)
        #expect(encoded?.field == field)
        #expect(within?.field == "/outer/1" + (field ?? ""))
    }

    @Test("An error names the property at fault, in every kind of container")
    func propertyPlaces() throws {
        struct Row: Encodable {
            var weight: Double
        }
        struct Rows: Encodable {
            var rows: [Row]
            var single: [String: Double?] = [:]
        }
        struct Late: Encodable {
            enum CodingKeys: CodingKey { case list, other }
            func encode(to encoder: any Encoder) throws {
                var container = encoder.container(keyedBy: CodingKeys.self)
                var nested = container.nestedUnkeyedContainer(forKey: .list)
                try container.encode(1, forKey: .other)
                try nested.encode(1.5)
                try nested.encode(Float.nan)
            }
        }
        let place = { (source: any Encodable) in
            (#expect(throws: ConversionError.self) { try ValueEncoder().encode(source, as: .json) })?.field
        }
        #expect(place(Row(weight: .nan)) == "/weight")
        #expect(place(Rows(rows: [Row(weight: 1), Row(weight: .infinity)])) == "/rows/1/weight")
        #expect(place(Rows(rows: [], single: ["a/b": .nan])) == "/single/a~1b")
        #expect(place(Late()) == "/list/1")
        #expect(place(Double.nan) == nil)
    }

    @Test("A transform may throw, and types find what the program left for them")
    func transformsThrow() throws {
        struct Refusal: Error {}
        let key = CodingUserInfoKey(rawValue: "currency")!
        struct Price: Codable {
            var text: String
            init(_ text: String) { self.text = text }
            init(from decoder: any Decoder) throws {
                let currency = decoder.userInfo[CodingUserInfoKey(rawValue: "currency")!] as? String
                text = try decoder.singleValueContainer().decode(String.self) + (currency ?? "?")
            }
            func encode(to encoder: any Encoder) throws {
                let currency = encoder.userInfo[CodingUserInfoKey(rawValue: "currency")!] as? String
                var container = encoder.singleValueContainer()
                try container.encode(text + (currency ?? "?"))
            }
        }
        var encoder = ValueEncoder()
        encoder.userInfo[key] = "EUR"
        #expect(try text(encoder.encode([Price("1")], as: .json)) == #"["1EUR"]"#)
        encoder.transform = { _ in throw Refusal() }
        #expect(throws: Refusal.self) { try encoder.encode([1], as: .json) }
        var decoder = ValueDecoder()
        decoder.userInfo[key] = "USD"
        #expect(try decoder.decode([Price].self, from: #"["2"]"#, as: .json).map(\.text) == ["2USD"])
        decoder.transform = { _, _ in throw Refusal() }
        #expect(throws: Refusal.self) { try decoder.decode([Int].self, from: "[1]", as: .json) }
    }

    @Test("A transform is asked for every value, of documents too")
    func transforms() throws {
        var encoder = ValueEncoder()
        encoder.transform = { ($0 as? Int).map { .string("#\($0)") } }
        #expect(try text(encoder.encode(["a": [1, 2]], as: .json)) == ##"{"a":["#1","#2"]}"##)
        var decoder = ValueDecoder()
        decoder.transform = { value, type in type == Int.self ? value.string.flatMap { Int($0.dropFirst()) } : nil }
        #expect(try decoder.decode([String: [Int]].self, from: ##"{"a":["#1","#2"]}"##, as: .json) == ["a": [1, 2]])
    }
}
