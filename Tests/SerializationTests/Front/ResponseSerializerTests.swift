import Foundation
import HTTPTypes
import Serialization
import Testing
import Transcoding

/// AFNetworking's own tests of its response serializers, and the rules around them.
@Suite("Response serializers")
struct ResponseSerializerTests {
    private func response(_ code: Int, _ type: String? = nil) -> HTTPResponse {
        var head = HTTPResponse(status: HTTPResponse.Status(code: code))
        head.headerFields[.contentType] = type
        return head
    }

    private let json = Array(#"{"foo":"bar"}"#.utf8)
    private let request = HTTPRequest(method: .get, scheme: "http", authority: "test.com", path: "/")

    @Test("All 2xx codes are fine, all others not")
    func statusCodes() {
        let serializer = HTTPResponseSerializer()
        for code in 100..<600 {
            let outcome = serializer.validate(response(code, "text/html"), body: Array("text".utf8))
            let isFine = (200..<300).contains(code)
            #expect(outcome.isValid == isFine)
            #expect(outcome.error?.code == (isFine ? nil : -1011))
            #expect(serializer.acceptableStatusCodes?.contains(code) == isFine)
        }
    }

    @Test("205 without type is fine without a body and not with one")
    func noContentType() {
        var serializer = HTTPResponseSerializer()
        serializer.acceptableContentTypes = ["text/html"]
        #expect(serializer.validate(response(205), body: nil).isValid)
        #expect(serializer.validate(response(205), body: []).isValid)
        let outcome = serializer.validate(response(205), body: Array("test".utf8))
        #expect(!outcome.isValid)
        #expect(outcome.error?.kind == .unacceptableContentType)
        #expect(outcome.error?.reason == "Request failed: no content-type")
        let unreadable = serializer.validate(response(205, "text"), body: Array("test".utf8))
        #expect(unreadable.error?.reason == "Request failed: unreadable content-type")
    }

    @Test(
        "JSON is application/json, text/json and text/javascript",
        arguments: [
            ("application/json", true), ("text/json", true), ("text/javascript", true), ("nonstandard/json", false),
            ("Application/JSON ; charset=utf-8", true), ("application/vnd.api+json", false), ("json", false),
            ("", false),
        ])
    func jsonTypes(type: String, isFine: Bool) {
        #expect(JSONResponseSerializer().validate(response(200, type), body: json).isValid == isFine)
    }

    @Test(
        "XML is application/xml and text/xml",
        arguments: [
            ("application/xml", true), ("text/xml", true), ("nonstandard/xml", false),
        ])
    func xmlTypes(type: String, isFine: Bool) {
        let body = Array("<a/>".utf8)
        #expect(XMLParserResponseSerializer().validate(response(200, type), body: body).isValid == isFine)
        #expect(XMLDocumentResponseSerializer().validate(response(200, type), body: body).isValid == isFine)
    }

    @Test("Suffixes and wildcards count when they are asked for")
    func looseTypes() {
        var serializer = JSONResponseSerializer()
        serializer.validation.matchesSuffixes = true
        #expect(serializer.validation.accepts(contentType: "application/vnd.api+json"))
        #expect(!serializer.validation.accepts(contentType: "application/vnd.api+xml"))
        #expect(!serializer.validation.accepts(contentType: "application/json5"))
        var request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        #expect(ResponseValidation(accept: request).accepts(contentType: "a/b"))
        request.headerFields[.accept] = "text/*;q=0.5, application/json, image/png;q=0, image/gif; Q = 0.000"
        let validation = ResponseValidation(accept: request)
        for (type, isFine) in [
            ("text/plain", true), ("application/json", true), ("image/png", false), ("image/gif", false),
        ] {
            #expect(validation.accepts(contentType: type) == isFine)
        }
    }

    @Test(
        "of two ranges of Accept the one counts that says more of the type",
        arguments: [
            (
                "*/*, text/html;q=0",
                ["text/plain": true, "text/html": false, "TEXT/HTML; charset=x": false, "a/b": true]
            ),
            ("text/html;q=0,*/*;q=0.1", ["text/plain": true, "text/html": false]),
            ("text/*;q=0, text/plain, */*", ["text/plain": true, "text/html": false, "image/png": true]),
            ("text/*, text/plain;q=0", ["text/plain": false, "text/html": true, "image/png": false]),
            ("*/*;q=0, text/plain", ["text/plain": true, "image/png": false]),
            ("*/*;q=0", ["text/plain": false]),
            ("text/html;level=1;q=0, text/html", ["text/html": true]),
            ("*/*, text/html;level=1;q=0", ["text/html": true]),
        ])
    func ranges(_ accept: String, _ types: [String: Bool]) {
        var request = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        request.headerFields[.accept] = accept
        let validation = ResponseValidation(accept: request)
        for (type, isFine) in types {
            #expect(validation.accepts(contentType: type) == isFine, "\(accept): \(type)")
            let response = HTTPResponse(status: .ok, headerFields: [.contentType: type])
            #expect(validation.validate(response, body: [1]).isValid == isFine)
        }
        // A response without a type is no other than it was.
        #expect(validation.validate(HTTPResponse(status: .ok), body: []).isValid)
    }

    @Test("types that aren't acceptable are told beside any, and kept with the rest")
    func unacceptable() throws {
        var validation = ResponseValidation()
        validation.unacceptableContentTypes = ["text/html"]
        #expect(validation.accepts(contentType: "a/b") && !validation.accepts(contentType: "text/html"))
        #expect(validation.validate(HTTPResponse(status: .ok), body: [1]).isValid)
        let kept = try JSONDecoder().decode(ResponseValidation.self, from: JSONEncoder().encode(validation))
        #expect(kept == validation)
    }

    /// Status, type, body, value, kind of the error and of the one beneath.
    static let outcomes: [(Int, String, String, Value?, SerializationError.Kind?, SerializationError.Kind?)] = [
        (200, "application/json", #"{"a":1}"#, ["a": 1], nil, nil),
        (200, "text/html", "x", nil, .unacceptableContentType, nil),
        (200, "text/html", "", nil, nil, nil),
        (204, "application/json", "", nil, nil, nil),
        (200, "application/json", " ", nil, nil, nil),
        (200, "application/json", "  ", nil, .unreadableBody, nil),
        (200, "application/json", "{invalid}", nil, .unreadableBody, nil),
        (404, "application/json", #"{"e":1}"#, ["e": 1], .unacceptableStatusCode, nil),
        (404, "application/json", "oops", nil, .unreadableBody, .unacceptableStatusCode),
        (404, "text/html", "<p>", nil, .unacceptableStatusCode, .unacceptableContentType),
        (404, "text/html", "", nil, .unacceptableStatusCode, nil),
        (200, "application/json", "null", nil, .unreadableBody, nil),
        (200, "application/json", "1", nil, .unreadableBody, nil),
    ]

    @Test("JSON gives object and error by status, type and body", arguments: outcomes.indices)
    func jsonOutcome(index: Int) {
        let row = Self.outcomes[index]
        let result = JSONResponseSerializer().serialize(response(row.0, row.1), body: Array(row.2.utf8), for: request)
        #expect(result.value == row.3)
        #expect(result.error?.kind == row.4)
        #expect(result.error?.underlyingError?.kind == row.5)
    }

    @Test("An error has response, body and URL, and the codec's own error")
    func errorDetails() throws {
        let result = JSONResponseSerializer().serialize(response(404, "text/html"), body: [1], for: request)
        let error = try #require(result.error)
        #expect(error.reason == "Request failed: client error (404)")
        #expect(error.underlyingError?.reason == "Request failed: unacceptable content-type: text/html")
        #expect(error.response?.status.code == 404)
        #expect(error.data == [1])
        #expect(error.url == "http://test.com/")
        #expect(throws: SerializationError.self) { try result.get() }
        let broken = JSONResponseSerializer().serialize(response(200, "text/json"), body: Array("{x".utf8))
        #expect(broken.error?.conversion?.code == "json_unexpected_byte")
        #expect(broken.error?.conversion?.offset == 1)
    }

    @Test("Nulls are removed where it is asked for")
    func nullRemoval() throws {
        let body = Array(
            #"{"key":"value","nullkey":null,"array":[{"subnullkey":null}],"arrayWithNulls":[null]}"#.utf8)
        var serializer = JSONResponseSerializer()
        #expect(try serializer.serialize(response(200, "text/json"), body: body).get()?["nullkey"] == .null)
        serializer.removesKeysWithNullValues = true
        let deep = try serializer.serialize(response(200, "text/json"), body: body).get()
        #expect(deep == ["key": "value", "array": [[:]], "arrayWithNulls": []])
        serializer.nullRemoval = .keys
        let keys = try serializer.serialize(response(200, "text/json"), body: body).get()
        #expect(keys == ["key": "value", "array": [[:]], "arrayWithNulls": [nil]])
        let nested: Value = ["a": [nil, [nil, 1]], "b": nil]
        #expect(nested.removingNulls() == ["a": [[1]]])
        #expect(Value.null.removingNulls() == .null)
    }

    @Test("Fragments, repeated names and numbers are read as the options say")
    func readingOptions() throws {
        var serializer = JSONResponseSerializer(allowsFragments: true)
        let head = response(200, "application/json")
        #expect(try serializer.serialize(head, body: Array("1.10".utf8)).get()?.number?.text == "1.10")
        let repeated = Array(#"{"a":1,"b":2,"a":3}"#.utf8)
        #expect(serializer.serialize(head, body: repeated).error?.conversion?.code == "json_duplicate_key")
        serializer.options.duplicates = .last
        #expect(try serializer.serialize(head, body: repeated).get() == ["a": 3, "b": 2])
        serializer.options.duplicates = .first
        #expect(try serializer.serialize(head, body: repeated).get() == ["a": 1, "b": 2])
        serializer.options.limits.tree = 100
        #expect(serializer.serialize(head, body: repeated).error?.conversion?.code == "limit_tree")
    }

    @Test("An empty body is an error where Alamofire says so")
    func emptyBodies() {
        var serializer = JSONResponseSerializer()
        serializer.emptyBodies = .whereExpected
        let head = HTTPRequest(method: .head, scheme: nil, authority: nil, path: "/")
        #expect(serializer.serialize(response(200, "text/json"), body: [], for: request).error?.kind == .emptyBody)
        #expect(serializer.serialize(response(200, "text/json"), body: [], for: head).error == nil)
        #expect(serializer.serialize(response(204, "text/json"), body: nil, for: request).error == nil)
    }

    @Test("Property lists are read, XML and binary; JSON is none")
    func propertyLists() throws {
        let head = response(200, "application/x-plist")
        let serializer = PropertyListResponseSerializer()
        for format in PropertyList.Format.allCases {
            var options = DocumentOptions()
            options.propertyListEncoding.format = format
            let body = try (["foo": "bar"] as Value).encoded(as: .propertyList, options: options)
            #expect(try serializer.serialize(head, body: body).get() == ["foo": "bar"])
        }
        let result = serializer.serialize(head, body: json)
        #expect(result.value == nil)
        #expect(result.error?.code == 3840)
        #expect(serializer.serialize(response(204, "application/x-plist"), body: nil).error == nil)
        #expect(serializer.serialize(head, body: []).error?.kind == .unreadableBody)
    }

    @Test("An XML document is read, and its parser hands it on unread")
    func xml() throws {
        let body = Array(
            #"<?xml version="1.0" encoding="UTF-8"?><foo attr1="1" attr2="2"><bar>someValue</bar></foo>"#.utf8)
        let head = response(200, "application/xml")
        let document = try XMLDocumentResponseSerializer().serialize(head, body: body).get()
        #expect(document?.object?.isEmpty == false)
        let parser = try #require(try XMLParserResponseSerializer().serialize(head, body: body).get())
        #expect(try parser.document() == document)
        let broken = Array("<foo".utf8)
        #expect(XMLDocumentResponseSerializer().serialize(head, body: broken).error?.code == 3840)
        let unread = try #require(try XMLParserResponseSerializer().serialize(head, body: broken).get())
        #expect(throws: ConversionError.self) { try unread.document() }
    }

    @Test(
        "A string is read in the charset of the response, ISO 8859-1 where it has none",
        arguments: [
            ("text/plain; charset=utf-8", [0xC3, 0xA9], "é"), ("text/plain", [0xE9], "é"),
            ("text/plain; charset=\"ISO-8859-1\"", [0xE9], "é"), ("text/plain; charset=utf-8", [0xE9], nil),
            ("text/plain; charset=us-ascii", [0xE9], nil), ("text/plain; charset=utf-16", [0x61], nil),
            ("text/plain; charset=utf-16", [0xFE, 0xFF, 0, 0x61], "a"),
            ("text/plain; charset=utf-16", [0xFF, 0xFE, 0x61, 0], "a"),
            ("text/plain; charset=utf-16", [0xFE, 0xFF], ""),
            ("text/plain; charset=utf-16", [0xFE], nil), ("text/plain; charset=utf-8", [0xEF, 0xBB, 0xBF, 0x61], "a"),
            ("text/plain; charset=utf-8", [0xEF, 0xBB, 0xBF, 0xEF, 0xBB, 0xBF], "\u{FEFF}"),
            ("text/plain; charset=utf-8", [0xEF, 0xBB], nil), ("text/plain", [0xEF, 0xBB, 0xBF], "ï»¿"),
            ("text/plain; charset=utf-16", [0x61, 0], "a"), ("text/plain; charset=Windows-1252", [0x80], "€"),
            ("text/plain; charset=\"shift_jis\"", [0x82, 0xA0], "あ"), ("text/plain; charset=shift_jis", [0x82], nil),
            ("text/plain; charset=nonsense", [0x61], nil), ("text/plain; charset=\"\"", [0x61], nil),
        ] as [(String, [UInt8], String?)])
    func strings(type: String, body: [UInt8], text: String?) {
        let result = StringResponseSerializer().serialize(response(200, type), body: body)
        #expect(result.value == text)
        #expect((result.error == nil) == (text != nil))
    }

    @Test("The line that keeps scripts away is dropped with either line end, and no other line is")
    func scriptGuard() throws {
        var serializer = StringResponseSerializer()
        serializer.dropsXSSIPrefix = true
        for (body, text) in [
            (")]}',\n{}", "{}"), (")]}',\r\n{}", "{}"), (")]}',{}", ")]}',{}"), (")]}'\n{}", ")]}'\n{}"),
            (" )]}',\n", " )]}',\n"), (")]}',\n)]}',\n", ")]}',\n"),
        ] {
            let result = serializer.serialize(response(200, "text/plain"), body: Array(body.utf8))
            #expect(try result.get() == text)
        }
    }

    @Test("Of several serializers the first that makes an object wins")
    func compound() throws {
        let serializer = CompoundResponseSerializer([ImageResponseSerializer(), JSONResponseSerializer()])
        let result = serializer.serialize(response(200, "application/json"), body: json, for: request)
        guard case .document(let value) = result.value else {
            Issue.record("no document")
            return
        }
        #expect(value == ["foo": "bar"])
        #expect(result.error == nil)
        #expect(serializer.responseSerializers.count == 2)
        let other = serializer.serialize(response(500, "text/html"), body: [1], for: request)
        guard case .bytes([1]) = other.value else {
            Issue.record("no bytes")
            return
        }
        #expect(other.error?.kind == .unacceptableStatusCode)
    }

    @Test("A copy has the same settings, and an archived serializer comes back")
    func copiesAndArchives() throws {
        var original = HTTPResponseSerializer()
        original.acceptableStatusCodes = [100]
        original.acceptableContentTypes = ["test/type"]
        var copy = original
        #expect(copy == original)
        copy.acceptableStatusCodes = nil
        #expect(original.acceptableStatusCodes == [100])
        let archive = try JSONEncoder().encode(original)
        #expect(try JSONDecoder().decode(HTTPResponseSerializer.self, from: archive) == original)
        #expect(copy.validate(response(500, "test/type"), body: nil).isValid)
    }
}
