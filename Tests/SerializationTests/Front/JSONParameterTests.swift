import Serialization
import Testing
import Transcoding

/// AFNetworking's own tests of its JSON and property-list request serializers, and the rules around them.
@Suite("JSON and property-list parameters")
struct JSONParameterTests {
    private func body(_ parameters: Value?, _ serializer: some RequestSerializer = JSONRequestSerializer()) throws
        -> String?
    {
        try serializer.request(method: .post, url: "http://example.com", parameters: parameters).bodyBytes?.text
    }

    @Test("Dictionaries and arrays are JSON")
    func containers() throws {
        #expect(try body(["key": "value"]) == #"{"key":"value"}"#)
        #expect(try body([["key": "value"]]) == #"[{"key":"value"}]"#)
        #expect(try body(nil) == nil)
    }

    @Test(
        "What JSON can't carry makes no request",
        arguments: [
            ["key": .set(["value"])], ["key": Value(Double.nan)], "text", 1, .null,
        ] as [Value])
    func errorsWithInvalidJSON(parameters: Value) {
        let error = #expect(throws: SerializationError.self) { try body(parameters) }
        #expect(error?.domain == "com.alamofire.error.serialization.request")
        #expect(error?.code == -1016)
        #expect(error?.reason == "The `parameters` argument is not valid JSON.")
        #expect(error?.conversion != nil)
        #expect(error?.description.hasPrefix("The `parameters` argument is not valid JSON: ") == true)
    }

    @Test("A lone surrogate gets into no parameters")
    func loneSurrogate() {
        let error = #expect(throws: ConversionError.self) { try Value(decoding: #"{"key":"\ud800"}"#) }
        #expect(error?.code == "json_lone_surrogate")
    }

    @Test("A key that isn't a string gets into no parameters")
    func keyThatIsNoString() {
        #expect(throws: ConversionError.self) { try Value(decoding: #"{42:"value"}"#) }
        // A dictionary with other keys encodes itself as an array, which is what a property list then holds.
        let value = try? ValueEncoder().encode([Key(a: 1): "value"])
        #expect(value == [["a": 1], "value"])
    }

    struct Key: Hashable, Encodable { var a: Int }

    @Test("Numbers keep their text and members their order")
    func exact() throws {
        let parameters = try Value(decoding: #"{"z":1.10,"a":12345678901234567890123,"m":1e2}"#)
        #expect(try body(parameters) == #"{"z":1.10,"a":12345678901234567890123,"m":1e2}"#)
        #expect(try body(["pi": 3.25, "n": 1]) == #"{"pi":3.25,"n":1}"#)
    }

    @Test("Bytes are base64 and dates text in each dialect; all but two write slashes plainly")
    func otherDialects() throws {
        let time = Timestamp("2001-01-01T00:00:00Z")!
        for dialect in Dialect.allCases {
            let serializer = JSONRequestSerializer(dialect: dialect)
            #expect(
                try body(["d": .data([1]), "t": .date(time)], serializer) == #"{"d":"AQ==","t":"2001-01-01T00:00:00Z"}"#
            )
        }
        let plain = JSONRequestSerializer(dialect: .recast)
        #expect(try body(["u": "a/b", "d": .data([1, 2])], plain) == #"{"u":"a/b","d":"AQI="}"#)
        #expect(try body(["u": "a/b"]) == #"{"u":"a\/b"}"#)
    }

    @Test("A value nested too deep is refused")
    func depth() throws {
        for depth in [127, 128, 129] {
            let value = (0..<depth).reduce(nil as Value?) { inner, _ in .array(inner.map { [$0] } ?? []) }!
            let isFine = (try? body(value)) != nil
            #expect(isFine == (depth <= 128))
        }
    }

    @Test("A property list carries dates and bytes, and refuses null")
    func propertyList() throws {
        let time = Timestamp("2001-01-01T00:00:00Z")!
        let text = try body(["d": .date(time), "b": .data([1])], PropertyListRequestSerializer())
        #expect(text?.contains("<date>2001-01-01T00:00:00Z</date>") == true)
        for parameters in [["a": nil], ["a": .set([1])], ["a": Value(Double.nan)]] as [Value] {
            let error = #expect(throws: SerializationError.self) {
                try body(parameters, PropertyListRequestSerializer())
            }
            #expect(error?.domain == "NSCocoaErrorDomain")
            #expect(error?.code == 3851)
        }
    }
}
