import Serialization
import Testing
import Transcoding

@Suite("Values")
struct ValueTests {
    @Test("Literals are what they say, in their order")
    func literals() {
        let value: Value = ["b": 1, "a": [true, nil, 1.5, "x"], "c": [:], "d": []]
        #expect(value.description == #"{"b":1,"a":[true,null,1.5,"x"],"c":{},"d":[]}"#)
        #expect(value["a"]?[3]?.string == "x")
        #expect(value["a"]?[4] == nil)
        #expect(value["z"] == nil)
        #expect(value["b"]?.int == 1)
        #expect(Value("x")["a"] == nil)
    }

    @Test("Members are set, replaced and removed")
    func members() {
        var value: Value = ["a": 1, "b": 2]
        value["a"] = 3
        value["c"] = nil
        value["b"] = nil
        value["d"] = .null
        #expect(value == ["a": 3, "d": nil])
        var text: Value = "x"
        text["a"] = 1
        #expect(text == ["a": 1])
    }

    @Test("Members and elements change where they are, and what isn't there stays away")
    func changes() {
        var value: Value = ["a": ["b": [1, ["c": "x"]]], "d": 2]
        let before = value
        value["a"]?["b"]?[1]?["c"] = "y"
        value["a"]?["b"]?[2] = 3
        value["a"]?["b"]?[0] = nil
        value["z"]?["b"] = 1
        value["d"]?[0] = 1
        value["a"]?["b"]?[7]?["c"] = 1
        value["a"]?["b"]?[7] = 1
        #expect(value == ["a": ["b": [["c": "y"], 3]], "d": 2])
        #expect(before == ["a": ["b": [1, ["c": "x"]]], "d": 2])
        value["d"]?["e"] = 4
        value["a"]?["b"] = nil
        #expect(value == ["a": [:], "d": ["e": 4]])
        var members: Value.Object = ["a": [1]]
        members.append("a", [2])
        members["a"]?[0] = 5
        #expect(members.map(\.value) == [[5], [2]])
        // All of the name, when one is taken away within.
        func clear(_ member: inout Value?) { member = nil }
        clear(&members["a"])
        clear(&value["d"])
        clear(&value["none"])
        #expect(members.isEmpty && value == ["a": [:]])
    }

    @Test("An element changes in its place: no other is copied")
    func places() {
        func place(_ value: Value) -> Int? {
            guard let list = value["a"]?[0]?["list"]?.array else { return nil }
            return unsafe list.withUnsafeBufferPointer { Int(bitPattern: $0.baseAddress) }
        }
        var value: Value = ["a": [["list": [1, "x", true]]]]
        let before = place(value)
        value["a"]?[0]?["list"]?[1] = "y"
        value["a"]?[0]?["other"] = 1
        #expect(value == ["a": [["list": [1, "y", true], "other": 1]]])
        #expect(place(value) == before && before != nil)
        let copy = value
        value["a"]?[0]?["list"]?[1] = "z"
        #expect(place(copy) == before && place(value) != before)
    }

    @Test("Composed and decomposed names are two")
    func names() {
        let value: Value = ["e\u{301}": 1, "\u{e9}": 2]
        #expect(value["\u{e9}"] == 2)
        #expect(value["e\u{301}"] == 1)
    }

    @Test(
        "Documents come back with their number texts and member order",
        arguments: [
            #"{"z":1.10,"a":[1e2,-0,12345678901234567890],"m":{"x":null,"":"é\u0000"}}"#, "[]", "null", #""x""#,
        ])
    func json(text: String) throws {
        #expect(try Value(decoding: text).encoded().text == text)
    }

    @Test("Forms are read and written")
    func form() throws {
        let value = try Value(decoding: "user[name]=Ada&tags[]=a&tags[]=b", as: .form)
        #expect(value == ["user": ["name": "Ada"], "tags": ["a", "b"]])
        #expect(try value.encoded(as: .form).text == "user%5Bname%5D=Ada&tags%5B%5D=a&tags%5B%5D=b")
        #expect(try Value(decoding: "", as: .form) == [:])
    }

    @Test("Bytes and dates are themselves in a property list, and text in JSON")
    func dataAndDates() throws {
        let value: Value = ["d": .data([1, 2, 3]), "t": .date(Timestamp("2024-02-29T12:00:00+01:00")!)]
        #expect(try Value(decoding: try value.encoded(as: .propertyList), as: .propertyList) == value)
        #expect(try value.encoded().text == #"{"d":"AQID","t":"2024-02-29T11:00:00Z"}"#)
    }

    @Test("XML is read and written by its conventions")
    func xml() throws {
        let text = #"<order id="7"><sku>A</sku><sku>B</sku></order>"#
        let value = try Value(decoding: text, as: .xml)
        #expect(value == ["order": ["@id": "7", "sku": ["A", "B"]]])
        var options = DocumentOptions()
        options.xmlEncoding.declaration = false
        #expect(try value.encoded(as: .xml, options: options).text == text)
    }

    @Test("The bytes of a document are bounded, to the last one")
    func limit() throws {
        // Two nodes, a name and a number.
        let cost = 2 * Tree.nodeCost + 1 + 2
        for limit in [cost - 1, cost, cost + 1] {
            var options = DocumentOptions()
            options.limits.tree = limit
            #expect(((try? Value(decoding: #"{"a":10}"#, options: options)) != nil) == (limit >= cost))
        }
    }

    @Test("A text in pieces is whole")
    func pieces() throws {
        let text = Array(#"{"a":"x\u00e9y\n","b":["","z"]}"#.utf8)
        let whole = try Value(decoding: text)
        for cut in text.indices {
            var decoder = JSON.Decoder(options: .init(), limits: .init())
            var builder = ValueBuilder(limits: .init())
            _ = try decoder.feed(text.span.extracting(..<cut), into: &builder)
            _ = try decoder.feed(text.span.extracting(cut...), into: &builder)
            try decoder.finish(into: &builder)
            #expect(builder.value == whole)
        }
    }

    @Test("Events that come out of order are refused")
    func eventOrder() throws {
        let events: [(name: String, send: (inout ValueBuilder) throws -> Void)] = [
            ("end of an object", { try $0.endObject() }), ("end of an array", { try $0.endArray() }),
            ("a name at the root", { try $0.key([0x61].span) }),
            (
                "a name in an array",
                {
                    try $0.beginArray()
                    try $0.key([0x61].span)
                }
            ),
            (
                "the other end",
                {
                    try $0.beginObject()
                    try $0.endArray()
                }
            ),
        ]
        for (name, send) in events {
            var builder = ValueBuilder(limits: .init())
            let error = #expect(throws: ConversionError.self, "\(name)") { try send(&builder) }
            #expect(error?.code == "event_order", "\(name)")
        }
    }

    @Test(
        "Numbers are texts in JSON's grammar",
        arguments: [
            ("0", true), ("-0", true), ("01", false), ("1.", false), (".5", false), ("1e", false), ("1e+5", true),
            ("", false),
            ("-", false), ("0x1", false), ("1.0e-10", true), ("nan", false), (" 1", false),
        ])
    func numberGrammar(text: String, isNumber: Bool) {
        #expect((Value.Number(text) != nil) == isNumber)
    }

    @Test(
        "A number is an integer where it is one",
        arguments: [
            ("5", 5), ("5.0", 5), ("5e2", 500), ("5.5", nil), ("9223372036854775807", Int.max),
            ("9223372036854775808", nil),
            ("1e400", nil), ("9007199254740993.0", 9_007_199_254_740_993),
        ] as [(String, Int?)])
    func integers(text: String, value: Int?) {
        #expect(Value.Number(text)?.int == value)
    }

    @Test(
        "Times are read and written as RFC 3339 has them",
        arguments: [
            ("1970-01-01T00:00:00Z", 0, nil), ("2001-01-01T00:02:03.456Z", 978_307_323, nil),
            ("2000-02-29T23:59:59Z", 951_868_799, nil), ("0001-01-01T00:00:00Z", -62_135_596_800, nil),
            ("9999-12-31T23:59:59Z", 253_402_300_799, nil), ("1969-12-31T23:59:59.5Z", -1, nil),
            ("2024-03-01t00:00:00-01:30", 1_709_256_600, "2024-03-01T01:30:00Z"),
        ] as [(String, Int64, String?)])
    func times(text: String, seconds: Int64, written: String?) throws {
        let time = try #require(Timestamp(text))
        #expect(time.seconds == seconds)
        #expect(time.description == written ?? text)
        #expect(Timestamp(seconds: time.seconds, nanoseconds: time.nanoseconds) == time)
        #expect(Timestamp(secondsSince1970: time.secondsSince1970) == time)
    }

    /// The finding: tenths before 1970 were `-0.09999999999999998`, and seconds since 2001, which Alamofire's forms have, lost the last
    /// digits of a fraction on their way by 1970.
    @Test("Seconds are the nearest number")
    func nearest() throws {
        #expect(try #require(Timestamp("1969-12-31T23:59:59.9Z")).secondsSince1970 == -0.1)
        #expect(try #require(Timestamp("2025-01-01T00:00:00.1Z")).secondsSince2001 == 757_382_400.1)
        #expect(try #require(Timestamp("757382400.1", as: .alamofire)).description == "2025-01-01T00:00:00.1Z")
        #expect(try #require(Timestamp("-0.1", as: .alamofire)).description == "2000-12-31T23:59:59.9Z")
        var random = SystemRandomNumberGenerator()
        for round in 0..<20_000 {
            // Near 1970, up to 100 days or a little more, and anywhere.
            let bound: Int64 = [10, 9_000_002, 60_000_000_000][round % 3]
            let seconds = Int64.random(in: -bound..<bound, using: &random)
            let nanoseconds = Int32.random(in: 0..<1_000_000_000, using: &random)
            let time = try #require(Timestamp(seconds: seconds, nanoseconds: nanoseconds))
            #expect(time.secondsSince1970 == Self.number(seconds, nanoseconds), "\(time)")
            #expect(time.secondsSince2001 == Self.number(seconds - 978_307_200, nanoseconds), "\(time)")
        }
    }

    /// The number that the C library makes of the decimal text.
    private static func number(_ seconds: Int64, _ nanoseconds: Int32) -> Double? {
        let isBelow = seconds < 0 && nanoseconds > 0
        let fraction = String(1_000_000_000 + Int64(isBelow ? 1_000_000_000 - nanoseconds : nanoseconds)).dropFirst()
        return Double("\(seconds < 0 ? "-" : "")\((isBelow ? seconds + 1 : seconds).magnitude).\(fraction)")
    }

    @Test(
        "What is no time isn't read",
        arguments: [
            "", "2001-01-01", "2001-02-29T00:00:00Z", "2001-13-01T00:00:00Z", "2001-01-01T24:00:00Z",
            "2001-01-01T00:00:00",
            "2001-01-01T00:00:00.Z", "2001-01-01T00:00:00+1:00", "0000-01-01T00:00:00Z", "2001-01-01T00:00:00Zx",
            "0001-01-01T00:00:00+01:00", "2001-01-00T00:00:00Z",
        ])
    func noTimes(text: String) {
        #expect(Timestamp(text) == nil)
    }

    @Test("Days go on and on")
    func days() throws {
        // Every day of 400 years, which is the whole cycle of the calendar.
        var time = Timestamp("1900-01-01T00:00:00Z")!
        for _ in 0..<146_097 {
            let next = Timestamp(seconds: time.seconds + 86_400)!
            #expect(Timestamp(next.description) == next)
            time = next
        }
        #expect(time.description == "2300-01-01T00:00:00Z")
    }
}
