import Foundation
import Serialization
import Testing
import Transcoding

/// What a type becomes in each dialect's form, and what `ValueDecoder` makes of it again.
@Suite("Types through forms of each dialect")
struct DialectCodingTests {
    struct Everything: Codable, Equatable {
        enum State: String, Codable { case open, closed }
        var yes = true
        var no = false
        var optionalYes: Bool? = true
        var small: Int8 = -5
        var one = 1
        var zero: UInt64? = 0
        var large = UInt64.max
        var real = 1.5
        var whole = 5.0
        var tiny = 1e-7
        var huge: Float = 1.5e30
        var text = "true & 1"
        var digits = "1"
        var state = State.closed
        var time = Timestamp("2001-01-01T00:02:03Z")!
        var late: Timestamp? = Timestamp("2026-11-22T08:00:00Z")!
        var bytes: [UInt8] = [0, 255, 62]
        var noBytes: [UInt8] = []
        var nilBool: Bool?
        var nilInt: Int?
        var nilReal: Double?
        var nilTime: Timestamp?
        var nilBytes: [UInt8]?
        var nilState: State?
    }

    /// The bundles of all dialects, and each of them with the other booleans and other nulls.
    static let spellings: [FieldEncodingOptions] = Dialect.allCases.flatMap { dialect in
        BooleanStyle.allCases.flatMap { booleans in
            NullStyle.allCases.map { nulls in
                var options = FieldEncodingOptions(dialect: dialect)
                options.booleans = booleans
                options.nulls = nulls
                return options
            }
        } + [FieldEncodingOptions(dialect: dialect)]
    }

    private func read(_ value: Value, _ spelling: FieldEncodingOptions, _ types: TypeInference) throws -> Value {
        var options = DocumentOptions()
        options.formEncoding = spelling
        options.formDecoding = FieldDecodingOptions(dialect: spelling.dialect)
        options.formDecoding.types = types
        // A form says `a` for a null where this is the way of reading it.
        options.formDecoding.nulls = spelling.nulls == .key ? .key : options.formDecoding.nulls
        return try Value(decoding: value.encoded(as: .form, options: options), as: .form, options: options)
    }

    @Test("Booleans, numbers, nils, times and bytes come back", arguments: spellings)
    func roundTrip(_ spelling: FieldEncodingOptions) throws {
        for nils in ValueEncoder.NilStrategy.allCases where nils == .omit || spelling.nulls != .reject {
            var encoder = ValueEncoder()
            encoder.nils = nils
            let value = try encoder.encode(Everything())
            for types in TypeInference.allCases {
                let read = try read(value, spelling, types)
                var expected = Everything()
                var source = read
                // With `safe` types a text of digits has become a number; that is what was asked for.
                if types == .safe {
                    expected.digits = ""
                    source["digits"] = ""
                }
                #expect(try ValueDecoder(reading: spelling).decode(Everything.self, from: source) == expected)
            }
        }
    }

    @Test("The bundle of a dialect is what its decoder reads", arguments: Dialect.allCases)
    func bundle(_ dialect: Dialect) throws {
        let spelling = FieldEncodingOptions(dialect: dialect)
        let read = try read(["admin": true, "banned": false], spelling, .strings)
        struct User: Decodable { var admin, banned: Bool }
        let user = try ValueDecoder(reading: dialect).decode(User.self, from: read)
        #expect(user.admin && !user.banned)
        let isNumeric = [.afnetworking, .alamofire, .php].contains(dialect)
        #expect(read["admin"] == (isNumeric ? "1" : "true"))
    }

    @Test(
        "Only what is written for a boolean is one",
        arguments: ["1", "0", "true", "false", "2", "01", "yes", "TRUE", "1.0", ""])
    func booleans(_ text: String) {
        for style in BooleanStyle.allCases {
            var spelling = FieldEncodingOptions()
            spelling.booleans = style
            let read = try? ValueDecoder(reading: spelling).decode(Bool.self, from: .string(text))
            switch text {
            case "true", "false": #expect(read == (text == "true"))
            case "1", "0": #expect(read == (style == .numeric ? text == "1" : nil))
            default: #expect(read == nil)
            }
        }
        // A document has booleans of its own.
        #expect((try? ValueDecoder().decode(Bool.self, from: .string(text))) == nil)
        #expect((try? ValueDecoder().decode(Bool.self, from: 1)) == nil)
    }

    @Test("A text that stands for nil stays a text where one is asked for")
    func emptyTexts() throws {
        struct Texts: Codable, Equatable {
            var text: String?
            var list: [String?]
            var value: Value?
            var number: Int?
            var numbers: [Int?]
        }
        for (nulls, text) in [(NullStyle.empty, ""), (.literal, "null")] {
            var spelling = FieldEncodingOptions()
            spelling.nulls = nulls
            let texts: Value = .string(text)
            let value: Value = [
                "text": texts, "list": [texts], "value": texts, "number": texts, "numbers": ["1", texts],
            ]
            let read = try ValueDecoder(reading: spelling).decode(Texts.self, from: value)
            #expect(read == Texts(text: text, list: [text], value: texts, number: nil, numbers: [1, nil]))
            #expect(throws: DecodingError.self) { try ValueDecoder().decode(Texts.self, from: value) }
        }
    }

    struct Order: Encodable, Sendable {
        var id = 1
        var note: String?
        var count: Int?
        var lines: [Int?] = [nil]
    }

    private func body(_ serializer: some RequestSerializer) throws -> String? {
        let request = try serializer.request(method: .post, url: "/", encoding: Order())
        return request.bodyBytes?.text
    }

    @Test("Nil is left out or written, as the settings say")
    func nils() throws {
        var json = JSONRequestSerializer()
        #expect(try body(json) == #"{"id":1,"lines":[null]}"#)
        json.encoder.nils = .null
        #expect(try body(json) == #"{"id":1,"note":null,"count":null,"lines":[null]}"#)
        var form = HTTPRequestSerializer(dialect: .recast)
        form.encoder.nils = .null
        for (nulls, expected) in [
            (NullStyle.empty, "id=1&note=&count=&lines%5B%5D="), (.key, "id=1&note&count&lines%5B%5D"),
            (.literal, "id=1&note=null&count=null&lines%5B%5D=null"),
        ] {
            form.encoding.nulls = nulls
            #expect(try body(form) == expected)
        }
    }

    struct Event: Codable, Equatable { var at: Date }
    static let event = Event(at: Date(timeIntervalSince1970: 1_000_000_000))

    /// The finding: what the documentation shows for dates was refused by the serializer that is there by default.
    @Test("Foundation's dates go through the documented transforms", arguments: Dialect.allCases)
    func dates(_ dialect: Dialect) throws {
        var json = JSONRequestSerializer(dialect: dialect)
        json.encoder.transform = {
            ($0 as? Date).flatMap { Timestamp(secondsSince1970: $0.timeIntervalSince1970) }.map(Value.date)
        }
        let body = try json.request(method: .post, url: "/", encoding: Self.event).bodyBytes
        #expect(body?.text == #"{"at":"2001-09-09T01:46:40Z"}"#)
        #expect(try decoder(ValueDecoder()).decode(Event.self, from: Value(decoding: body ?? [])) == Self.event)

        let read = try read(json.encoder.encode(Self.event), FieldEncodingOptions(dialect: dialect), .strings)
        #expect(try decoder(ValueDecoder(reading: dialect)).decode(Event.self, from: read) == Self.event)
    }

    private func decoder(_ times: ValueDecoder) -> ValueDecoder {
        var decoder = times
        decoder.transform = { value, type in
            guard type == Date.self, let time = try? times.decode(Timestamp.self, from: value) else { return nil }
            return Date(timeIntervalSince1970: time.secondsSince1970)
        }
        return decoder
    }

    @Test("Bytes are read from base64 of any document, and from nothing else")
    func bytes() throws {
        struct Photo: Codable, Equatable { var data: [UInt8] }
        let photo = Photo(data: [1, 2, 250])
        let value = try ValueEncoder().encode(photo)
        for format in DocumentFormat.allCases where format != .xml {
            let read = try Value(decoding: value.encoded(as: format), as: format)
            #expect(try read.decode(Photo.self) == photo)
        }
        #expect(try Value(decoding: #"{"data":[1,2,250]}"#).decode(Photo.self) == photo)
        for text in ["AQL", "AQL6=", "AQ L6", "!", "AQL_"] {
            #expect(throws: DecodingError.self) { try ValueDecoder().decode([UInt8].self, from: .string(text)) }
        }
    }
}
