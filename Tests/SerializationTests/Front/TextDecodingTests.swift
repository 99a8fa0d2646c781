import Foundation
import Octets
import Serialization
import Testing
import Transcoding

/// Types of documents that have text only, where one thing can't be told from another; and what else `ValueDecoder` is asked for.
@Suite("Types from texts")
struct TextDecodingTests {
    struct Person: Decodable, Equatable {
        var name: String
        var age: Int?
        var admin: Bool?
    }

    @Test("A bare name is nil where the dialect writes nulls so")
    func bareNames() throws {
        for dialect in Dialect.allCases {
            let spelling = FieldEncodingOptions(dialect: dialect)
            let read = try? ValueDecoder(reading: dialect).decode(Person.self, from: "age&name=Ada&admin", as: .form)
            let isNil = spelling.nulls == .key || spelling.nulls == .empty
            #expect(read == (isNil ? Person(name: "Ada", age: nil, admin: nil) : nil), "\(dialect)")
        }
        // What the program says of the form goes first, and a decoder of no texts has nothing to say.
        var options = DocumentOptions()
        options.formDecoding.duplicates = .first
        let decoder = ValueDecoder(reading: .afnetworking)
        #expect(throws: DecodingError.self) {
            try decoder.decode(Person.self, from: "age&name=Ada", as: .form, options: options)
        }
        #expect(try ValueDecoder().decode([String: String?].self, from: "a", as: .form) == ["a": ""])
        #expect(try decoder.decode([String: String?].self, from: "a&b=", as: .form) == ["a": nil, "b": ""])
    }

    @Test("A form is read by the arrays and the nesting that it was written with")
    func styles() throws {
        struct Body: Codable, Equatable {
            struct Inner: Codable, Equatable { var list: [Int] }
            var inner: Inner
            var list: [Int]
        }
        for count in 1...3 {
            let body = Body(inner: .init(list: Array(1...count)), list: Array(1...count))
            for arrays in ArrayStyle.allCases {
                for nesting in NestingStyle.allCases where nesting != .flat {
                    // Under `nesting: json` names are literal, so these two have no reader at all.
                    if nesting == .json, arrays == .brackets || arrays == .indices { continue }
                    var options = DocumentOptions()
                    options.formEncoding.arrays = arrays
                    options.formEncoding.nesting = nesting
                    let text = try ValueEncoder().encode(body, as: .form, options: options)
                    let decoder = ValueDecoder(reading: options.formEncoding)
                    #expect(
                        try decoder.decode(Body.self, from: text, as: .form) == body, "\(arrays) \(nesting) \(text)")
                }
            }
        }
    }

    struct Lists: Decodable, Equatable {
        var numbers: [Int]
        var texts: Set<String>?
        var pairs: [[String: Int]]?
    }

    @Test("A lone value is an array of one where nothing tells the two apart")
    func loneValues() throws {
        for arrays in ArrayStyle.allCases {
            var spelling = FieldEncodingOptions()
            spelling.arrays = arrays
            let decoder = ValueDecoder(reading: spelling)
            let read = try? decoder.decode(Lists.self, from: "numbers=1&texts=x", as: .form)
            let isSame = arrays == .repeated || arrays == .comma
            #expect((read == Lists(numbers: [1], texts: ["x"], pairs: nil)) == isSame, "\(arrays)")
            // A text without characters is one, too, though it may stand for nil elsewhere.
            let empty = try? decoder.decode([String: [String]].self, from: "texts=", as: .form)
            #expect((empty == ["texts": [""]]) == isSame, "\(arrays)")
            let value: Value = ["numbers": "1"]
            #expect(((try? decoder.decode(Lists.self, from: value)) != nil) == isSame)
        }
        let xml = "<a><numbers>1</numbers><texts>x</texts><pairs><b>2</b></pairs></a>"
        var reader = ValueDecoder()
        #expect(throws: DecodingError.self) { try reader.decode([String: Lists].self, from: xml, as: .xml) }
        reader.readsText = true
        let expected = Lists(numbers: [1], texts: ["x"], pairs: [["b": 2]])
        #expect(try reader.decode([String: Lists].self, from: xml, as: .xml) == ["a": expected])
        let many = xml.replacing("</a>", with: "<numbers>2</numbers><pairs><b>3</b></pairs></a>")
        let two = Lists(numbers: [1, 2], texts: ["x"], pairs: [["b": 2], ["b": 3]])
        #expect(try reader.decode([String: Lists].self, from: many, as: .xml) == ["a": two])
        // JSON has arrays of its own.
        #expect(throws: DecodingError.self) { try reader.decode(Lists.self, from: #"{"numbers":1}"#, as: .json) }
        let error = #expect(throws: DecodingError.self) {
            try reader.decode([String: [Int]].self, from: "<a>x</a>", as: .xml)
        }
        guard case .typeMismatch(_, let context) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(context.codingPath.map(\.stringValue) == ["a", "0"])
    }

    struct Sparse: Codable, Equatable {
        struct Inner: Codable, Equatable {
            var note: String?
            var count: Int?
        }
        var name: String
        var texts: [String]
        var raw: [UInt8]
        var inner: Inner
        var named: [String: String]
    }

    @Test("What is written as an element of XML without content is read as what the type asks for")
    func emptyElements() throws {
        let sparse = Sparse(name: "", texts: ["x", "", "y"], raw: [], inner: .init(), named: ["key": ""])
        let bytes = try ValueEncoder().encode(["sparse": sparse], as: .xml)
        var decoder = ValueDecoder()
        #expect(try decoder.decode([String: Sparse].self, from: bytes, as: .xml) == ["sparse": sparse])
        decoder.readsText = true
        #expect(try decoder.decode([String: Sparse].self, from: bytes, as: .xml) == ["sparse": sparse])
        // It is nil where that may be, and no value of any other kind.
        let text = "<a><name/><inner/></a>"
        #expect(
            try decoder.decode([String: [String: String?]].self, from: text, as: .xml) == [
                "a": ["name": nil, "inner": nil]
            ])
        #expect(throws: DecodingError.self) { try decoder.decode([String: [String: Int]].self, from: text, as: .xml) }
        #expect(throws: DecodingError.self) { try decoder.decode([String: [String: [Int]]].self, from: text, as: .xml) }
        #expect(
            try decoder.decode([String: [String: Sparse.Inner]].self, from: text, as: .xml)["a"]?["name"] == .init())
        let error = #expect(throws: DecodingError.self) {
            try decoder.decode([String: Sparse].self, from: "<a/>", as: .xml)
        }
        guard case .keyNotFound(let key, let context)? = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(key.stringValue == "name" && context.codingPath.map(\.stringValue) == ["a"])
    }

    @Test("An array of XML whose one element is empty, or nil, comes back as one")
    func loneEmptyElements() throws {
        struct Lists: Codable, Equatable {
            struct Item: Codable, Equatable {
                var note: String?
            }
            var texts = [""]
            var nils: [String?] = [nil]
            var raw: [[UInt8]] = [[]]
            var items = [Item()]
            var numbers: [Int?] = [nil]
            var named: [[String: Int]] = [[:]]
            var absent: [String]?
        }
        let bytes = try ValueEncoder().encode(["lists": Lists()], as: .xml)
        var decoder = ValueDecoder()
        decoder.readsText = true
        #expect(try decoder.decode([String: Lists].self, from: bytes, as: .xml) == ["lists": Lists()])
        // Where there may be nothing, nothing is what was there.
        let optional = try decoder.decode([String: [String: [String]?]].self, from: "<a><b/></a>", as: .xml)
        #expect(optional == ["a": ["b": nil]])
        // Nothing tells an array without elements from one of an empty one.
        var options = DocumentOptions()
        options.xmlEncoding.empties = .marker
        let empty = try ValueEncoder().encode(["a": ["b": [String]()]], as: .xml, options: options)
        #expect(try decoder.decode([String: [String: [String]]].self, from: empty, as: .xml) == ["a": ["b": [""]]])
        #expect(throws: DecodingError.self) {
            try decoder.decode([String: [String: [Int]]].self, from: empty, as: .xml)
        }
        // No array is one of itself, and of what is nothing no array is made without text.
        #expect(throws: DecodingError.self) { try decoder.decode([String: [[Int]]].self, from: "<a/>", as: .xml) }
        #expect(throws: DecodingError.self) { try ValueDecoder().decode([String: [Int?]].self, from: "<a/>", as: .xml) }
        #expect(
            try decoder.decode(Anything.self, from: "<a/>", as: .xml)
                == .list([.members(["a": .list([.members([:])])])]))
        // A form has nils of that kind as well.
        let repeated = ValueDecoder(reading: .whatwg)
        #expect(try repeated.decode([String: [String?]].self, from: ["a": nil]) == ["a": [nil]])
    }

    @Test("A null that says it is one is no text")
    func saidNulls() throws {
        var options = DocumentOptions()
        options.xmlDecoding.recognize = .nulls
        let text = #"<a xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"><b xsi:nil="true"/></a>"#
        #expect(throws: DecodingError.self) {
            try ValueDecoder().decode([String: [String: String]].self, from: text, as: .xml, options: options)
        }
        #expect(throws: DecodingError.self) {
            try ValueDecoder().decode([String: String].self, from: #"{"a":null}"#, as: .json)
        }
    }

    /// A type that asks for an array of itself before anything else.
    indirect enum Anything: Decodable, Equatable {
        case list([Anything]), members([String: Anything]), text(String)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let list = try? container.decode([Anything].self) {
                self = .list(list)
            } else if let members = try? container.decode([String: Anything].self) {
                self = .members(members)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    @Test("A type that asks for arrays of itself comes to an end")
    func recursion() throws {
        var decoder = ValueDecoder(reading: .whatwg)
        #expect(try decoder.decode(Anything.self, from: .string("x")) == .list([.text("x")]))
        decoder = ValueDecoder()
        decoder.readsText = true
        #expect(
            try decoder.decode(Anything.self, from: "<a><b>1</b></a>", as: .xml)
                == .list([.members(["a": .list([.members(["b": .list([.text("1")])])])])]))
    }

    @Test("What a transform makes is of the type that was asked for, or nothing is made")
    func transforms() throws {
        struct Visit: Decodable, Equatable { var at: Date? }
        var decoder = ValueDecoder()
        decoder.transform = { value, type in type == Date.self ? value.string : nil }
        let error = #expect(throws: DecodingError.self) { try decoder.decode(Visit.self, from: ["at": "x"]) }
        guard case .typeMismatch(let type, let context) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(type is Date.Type)
        #expect(context.codingPath.map(\.stringValue) == ["at"])
        #expect(context.debugDescription.contains("String") && context.debugDescription.contains("Date"))
        decoder.transform = { value, type in type == Date.self ? Date(timeIntervalSince1970: value.double ?? 0) : nil }
        #expect(try decoder.decode(Visit.self, from: ["at": 1]) == Visit(at: Date(timeIntervalSince1970: 1)))
    }

    /// Decodes its superclass from a member that may not be there.
    final class Child: Decodable {
        let isNil: Bool, isNilUnderKey: Bool
        let path: [String]
        enum Key: String, CodingKey { case above }
        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Key.self)
            let above = try container.superDecoder()
            isNil = try above.singleValueContainer().decodeNil()
            path = above.codingPath.map(\.stringValue)
            isNilUnderKey = try container.superDecoder(forKey: .above).singleValueContainer().decodeNil()
            if isNil {
                #expect(throws: DecodingError.self) { try container.superDecoder().container(keyedBy: Key.self) }
            }
        }
    }

    @Test("A superclass without a member decodes itself from null, as with Foundation")
    func superclasses() throws {
        for text in ["{}", #"{"super":{"a":1},"above":1}"#, #"{"super":null,"above":null}"#] {
            let ours = try? ValueDecoder().decode(Child.self, from: text, as: .json)
            let foundations = try? JSONDecoder().decode(Child.self, from: Data(text.utf8))
            #expect(ours?.isNil == foundations?.isNil && ours?.isNilUnderKey == foundations?.isNilUnderKey)
            if let ours { #expect(ours.path == ["super"]) }
        }
        let absent = try ValueDecoder().decode(Child.self, from: "{}", as: .json)
        #expect(absent.isNil && absent.isNilUnderKey)
    }

    @Test("A value that a type holds is nested no deeper than the type's own containers")
    func depth() throws {
        for depth in [127, 128, 129] {
            var nested: Value = 1, set: Value = 1
            for _ in 0..<depth {
                nested = [nested]
                set = .set([set])
            }
            for value in [nested, set] {
                #expect(((try? ValueEncoder().encode(value)) != nil) == (depth <= 128))
                let held = try? ValueEncoder().encode(["a": value])
                #expect((held != nil) == (depth < 128))
            }
            if depth > 128 {
                #expect(throws: EncodingError.self) { try ValueEncoder().encode(nested) }
                #expect(throws: EncodingError.self) { try ValueEncoder().encode(["a": nested]) }
            }
            // What is there already is read.
            #expect(try ValueDecoder().decode(Value.self, from: nested) == nested)
        }
    }

    @Test("Two members of one name are written where readers take them, and nowhere else")
    func repeatedMembers() throws {
        struct Held: Encodable {
            var value: Value
        }
        let many = (0..<20).map { Value.Object.Member(key: "k\($0)", value: 1) }
        let twice: [(Value, String?)] = [
            (["a": 1, "b": 2, "a": 3], nil), (["x": ["y": [["a": 1, "a": 2]]]], "/x/y/0"),
            (.object(Value.Object(many + [.init(key: "k3", value: 2)])), nil),
        ]
        for (value, field) in twice {
            for format in DocumentFormat.allCases {
                let isRefused = format == .json || format == .propertyList
                var error: ConversionError?
                do throws(ConversionError) { _ = try value.encoded(as: format) } catch let thrown { error = thrown }
                #expect(error?.code == (isRefused ? "value_duplicate" : nil), "\(format)")
                #expect(error?.field == (isRefused ? field : nil))
                let held = Result { try ValueEncoder().encode(Held(value: value), as: format) }
                #expect(((try? held.get()) == nil) == isRefused, "\(format)")
                var options = DocumentOptions()
                // An array of the two is not for documents: both stay.
                for duplicates in [DuplicatePolicy.keep, .array] {
                    options.duplicates = duplicates
                    let kept = try value.encoded(as: format, options: options)
                    if isRefused { #expect(try Value(decoding: kept, as: format, options: options) == value) }
                }
            }
            let serializers: [any RequestSerializer] = [JSONRequestSerializer(), PropertyListRequestSerializer()]
            for serializer in serializers {
                let error = #expect(throws: SerializationError.self) {
                    try serializer.request(method: .post, url: "/", parameters: value)
                }
                #expect(error?.conversion?.code == "value_duplicate")
                let held = #expect(throws: SerializationError.self) {
                    try serializer.request(method: .post, url: "/", encoding: Held(value: value))
                }
                #expect(held?.conversion?.code == "value_duplicate")
                #expect(held?.conversion?.field == "/value" + (field ?? ""))
            }
        }
        let composed = Value.object(
            Value.Object([.init(key: "\u{E9}", value: 1), .init(key: "e\u{301}", value: 2)]))
        #expect(try Value(decoding: composed.encoded()) == composed)
    }

    @Test("Elements are set, appended and removed by their index")
    func elements() {
        var value: Value = ["a": [1, 2], "b": 3]
        value["a"]?[0] = 7
        value["a"]?[2] = 8
        #expect(value == ["a": [7, 2, 8], "b": 3])
        value["a"]?[1] = nil
        value["a"]?[9] = 1
        value["a"]?[-1] = 1
        value["a"]?[2] = nil
        value["b"]?[0] = 1
        #expect(value == ["a": [7, 8], "b": 3])
        #expect(value["a"]?[0] == 7 && value["a"]?[2] == nil)
    }

    @Test("A builder takes the numbers of JSON and no other texts")
    func numbers() throws {
        for (text, isNumber) in [
            ("1", true), ("-0.5e+3", true), ("a", false), ("", false), ("nan", false), ("01", false),
        ] {
            var builder = ValueBuilder(limits: Limits())
            let bytes = Array(text.utf8)
            let error: ConversionError?
            do throws(ConversionError) {
                try builder.number(bytes.span)
                error = nil
            } catch let thrown {
                error = thrown
            }
            #expect(error?.code == (isNumber ? nil : "value_number"), "\(text)")
            #expect((builder.value != nil) == isNumber)
        }
    }
}
