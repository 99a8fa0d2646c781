import HTTPTypes
import Serialization
import Testing
import Transcoding

/// The response rows of `afn-vectors.json`.
@Suite("Response vectors")
struct ResponseVectorTests {
    /// Rows that are not followed, each with the reason.
    static let notFollowed = [
        "afn-r-038": "an empty body with 204 is what the status says, not an unreadable property list",
        "afn-r-039": "old-style property lists are not read: they can't be told from any other text",
        "afn-r-040": "any bare word is an old-style property list; not read",
    ]

    private static let all = AFNetworkingVector.rows(["afn-r", "alf-r", "alf-y"])
    static let followed = all.filter { notFollowed[$0.id] == nil && !$0.id.hasPrefix("alf-y") }

    private func difference(_ vector: AFNetworkingVector) -> String? {
        let input = vector.rawInput
        var head = HTTPResponse(status: HTTPResponse.Status(code: input["status"]?.int ?? 200))
        head.headerFields[.contentType] = input["content_type"]?.string
        let body = input["body"]?.string.map { Array($0.utf8) }
        let method = HTTPRequest.Method(input["method"]?.string ?? "GET")!
        let request = HTTPRequest(method: method, scheme: "http", authority: "h", path: "/p")
        if let types = vector.options["validate_content_types"]?.array {
            var validation = ResponseValidation(acceptableContentTypes: Set(types.compactMap(\.string)))
            validation.matchesWildcards = true
            let isValid = validation.validate(head, body: body, for: request).isValid
            return isValid == vector.expect["valid"]?.bool ? nil : "valid: \(isValid)"
        }
        guard let serializer = serializer(vector) else { return "no such serializer" }
        return difference(serializer, head, body, request, vector.expect)
    }

    private func serializer(_ vector: AFNetworkingVector) -> (any ResponseSerializer)? {
        let isAlamofire = vector.row["source"]?.string == "Alamofire"
        let name = vector.options["serializer"]?.string ?? "data"
        if name.hasPrefix("compound[") {
            let names = name.dropFirst("compound[".count).dropLast().split(separator: ",")
            return CompoundResponseSerializer(names.compactMap { member(String($0), vector) })
        }
        if isAlamofire {
            var serializer = HTTPResponseSerializer()
            serializer.emptyBodies = .whereExpected
            serializer.dropsXSSIPrefix = vector.options["preprocessor"]?.string == "google_xssi"
            return serializer
        }
        return member(name, vector)
    }

    private func member(_ name: String, _ vector: AFNetworkingVector) -> (any ResponseSerializer)? {
        switch name {
        case "http":
            var serializer = HTTPResponseSerializer()
            if let types = vector.options["acceptable_content_types"]?.array {
                serializer.acceptableContentTypes = Set(types.compactMap(\.string))
            }
            return serializer
        case "json":
            var serializer = JSONResponseSerializer()
            serializer.removesKeysWithNullValues = vector.options["remove_null_keys"]?.bool ?? false
            return serializer
        case "plist": return PropertyListResponseSerializer()
        case "xml_parser": return XMLParserResponseSerializer()
        case "xml_document": return XMLDocumentResponseSerializer()
        default: return nil
        }
    }

    private func difference<Serializer: ResponseSerializer>(
        _ serializer: Serializer, _ head: HTTPResponse, _ body: [UInt8]?, _ request: HTTPRequest, _ expect: Value
    ) -> String? {
        let result = serializer.serialize(head, body: body, for: request)
        if let fault = difference(result.error, expect["error"] ?? .null) { return fault }
        let expected = expect["object"] ?? .null
        switch result.value.map(serializer.responseObject) {
        case nil: return expected.isNull ? nil : "no object"
        case .bytes(let bytes): return expected["$raw"]?.string == bytes.text ? nil : bytes.text
        case .document(let value):
            if expected["$xml_document"] != nil { return value.object == nil ? "no document" : nil }
            return value == expected ? nil : "\(value)"
        case .xmlParser: return expected["$xml_parser"] == true ? nil : "a parser"
        case .text, .image, .other: return "another object"
        }
    }

    private func difference(_ error: SerializationError?, _ expected: Value) -> String? {
        guard let error else { return expected.isNull ? nil : "no error" }
        guard error.domain == expected["domain"]?.string, error.code == expected["code"]?.int else { return "\(error)" }
        // A row names what lies beneath only where something does.
        guard let beneath = expected["underlying"] else { return nil }
        return difference(error.underlyingError, beneath)
    }

    @Test("A response becomes what AFNetworking and Alamofire make of it", arguments: followed.map(\.id))
    func response(id: String) {
        #expect(difference(Self.followed.first { $0.id == id }!) == nil)
    }

    @Test("Rows that are not followed do differ")
    func listedRowsDiffer() {
        for id in Self.notFollowed.keys {
            #expect(difference(Self.all.first { $0.id == id }!) != nil, "\(id)")
        }
    }

    /// `alf-y-001` and `alf-y-003`.
    @Test("Requests are sent again as Alamofire does")
    func retries() {
        let policy = RetryPolicy()
        let delays = (0...3).map { policy.delayAfterLostConnection(to: .get, retries: $0) }
        #expect(delays == [.milliseconds(500), .seconds(1), nil, nil])
        let retried = [408, 500, 502, 503, 504, 429, 501].map {
            policy.delay(after: HTTPResponse.Status(code: $0), to: .get, retries: 0) != nil
        }
        #expect(retried == [true, true, true, true, true, false, false])
        #expect(policy.delay(after: 503, to: .post, retries: 0) == nil)
    }

    @Test("Every row is run or listed")
    func counts() {
        #expect(Self.all.count == 37)
        #expect(Self.followed.count == Self.all.count - Self.notFollowed.count - 2)
    }
}
