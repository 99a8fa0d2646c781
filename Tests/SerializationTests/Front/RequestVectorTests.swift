import HTTPTypes
import Serialization
import Testing
import Transcoding

/// The rows of `afn-vectors.json` on where parameters go and which header fields a request has. The rows on how a query or
/// form is spelled are those of the form codec's tests.
@Suite("Request vectors")
struct RequestVectorTests {
    /// Rows that are not followed, each with the reason.
    static let notFollowed = [
        "afn-u-020": "bodies are UTF-8; a form in UTF-16 is read by no server"
    ]

    /// Rows that say what a value can't be, each with the reason.
    static let impossible = [
        "afn-j-004": "a Swift string holds no lone surrogate; see JSONParameterTests",
        "afn-j-010": "the keys of a Value are strings; see JSONParameterTests",
    ]

    private static let all = AFNetworkingVector.rows([
        "afn-u", "afn-h", "afn-j", "afn-p", "alf-u-001", "alf-u-002", "alf-u-003", "alf-u-004", "alf-u-009", "alf-j",
    ])

    static let followed = all.filter { notFollowed[$0.id] == nil && impossible[$0.id] == nil }

    private func serializer(_ vector: AFNetworkingVector) throws -> any RequestSerializer {
        let dialect = vector.row["source"]?.string == "Alamofire" ? Dialect.alamofire : .afnetworking
        var words = (vector.options["writing_options"]?.array ?? []).compactMap(\.string)
        words += (vector.options["formatting"]?.array ?? []).compactMap(\.string)
        var serializer: any RequestSerializer
        switch vector.area {
        case "json":
            var options: JSONRequestSerializer.WritingOptions = []
            if words.contains("pretty") { options.insert(.prettyPrinted) }
            if words.contains("sorted_keys") { options.insert(.sortedKeys) }
            if words.contains("without_escaping_slashes") { options.insert(.withoutEscapingSlashes) }
            serializer = JSONRequestSerializer(dialect: dialect, writingOptions: options)
        case "plist":
            let format: PropertyList.Format = vector.options["format"]?.string == "binary" ? .binary : .xml
            serializer = PropertyListRequestSerializer(format: format)
        default: serializer = HTTPRequestSerializer(dialect: dialect)
        }
        if let methods = vector.options["methods_in_uri"]?.array {
            serializer.methodsEncodingParametersInURI = Set(methods.compactMap(\.string))
        }
        if vector.options["destination"]?.string == "query_string" {
            serializer.methodsEncodingParametersInURI = ["GET", "POST"]
        }
        switch vector.options["query_block"]?.string {
        case "join key ** value":
            serializer.querySerialization = { _, parameters in
                parameters.object?.map { "\($0.key)**\($0.value.string ?? "")" }.joined()
            }
        case "fail(domain TestDomain, code 0)":
            serializer.querySerialization = { _, _ in throw TestDomain() }
        case "returns nothing, no error": serializer.querySerialization = { _, _ in nil }
        default: break
        }
        if let pair = vector.options["basic_auth"]?.array {
            try serializer.setAuthorization(username: pair[0].string!, password: pair[1].string!)
        }
        if let languages = vector.options["preferred_languages"]?.array {
            try serializer.setAcceptLanguage(languages.compactMap(\.string))
        }
        for member in vector.options["serializer_headers"]?.object ?? [:] {
            try serializer.setValue(member.value.string, forHeaderField: member.key)
        }
        for member in vector.options["then_set"]?.object ?? [:] {
            try serializer.setValue(member.value.string, forHeaderField: member.key)
        }
        return serializer
    }

    struct TestDomain: Error {}

    /// The request of a row. Fields of the request itself are there before it is serialized.
    private func request(_ vector: AFNetworkingVector) throws -> SerializedRequest {
        let serializer = try serializer(vector)
        let method = HTTPRequest.Method(vector.options["method"]?.string ?? (vector.area == "json" ? "POST" : "GET"))!
        let url = vector.options["url"]?.string ?? "http://example.com"
        let parameters = AFNetworkingVector.value(vector.rawInput)
        // A null in place of the parameters is none at all here.
        let given = parameters?.isNull == true ? nil : parameters
        guard let fields = vector.options["request_headers"]?.object else {
            return try serializer.request(method: method, url: url, parameters: given)
        }
        var head = HTTPRequest(method: method, scheme: "http", authority: "example.com", path: "/")
        for field in fields { head.headerFields[HTTPField.Name(field.key)!] = field.value.string }
        return try serializer.serialize(head, parameters: given)
    }

    /// What differs from the row, nothing where the request is as it says.
    func difference(_ vector: AFNetworkingVector) -> String? {
        do {
            let request = try request(vector)
            let expect = vector.expect
            if expect["error"] != nil { return "no error" }
            if let url = expect["url"]?.string, plain(request.url) != plain(url) { return request.url }
            for key in ["url_query", "query"] {
                if let query = expect[key], request.query != query.string { return request.query ?? "no query" }
            }
            if let body = expect["body"], request.bodyBytes?.text != body.string {
                return request.bodyBytes?.text ?? "no body"
            }
            if let body = expect["body_hex"]?.string, request.bodyBytes != [UInt8](hex: body) { return "other bytes" }
            for field in expect["headers"]?.object ?? [:] {
                let value = request.head.headerFields[HTTPField.Name(field.key)!]
                if value != field.value.string { return "\(field.key): \(value ?? "none")" }
            }
            return nil
        } catch let error as SerializationError {
            guard let expected = vector.expect["error"] else { return "\(error)" }
            if expected["domain"]?.string == "TestDomain" {
                return error.underlying is TestDomain ? nil : "\(error)"
            }
            guard error.domain == expected["domain"]?.string, error.code == expected["code"]?.int else {
                return "\(error.domain) \(error.code)"
            }
            if let reason = expected["reason"]?.string, reason != error.reason { return error.reason }
            return nil
        } catch {
            return "\(error)"
        }
    }

    /// `http://h` and `http://h/` are the same (RFC 3986 §6.2.3).
    private func plain(_ url: String) -> String {
        url.replacing("example.com/?", with: "example.com?").replacing(#/example\.com/$/#, with: "example.com")
    }

    @Test("A request is the one that AFNetworking and Alamofire make", arguments: followed.map(\.id))
    func request(id: String) {
        let vector = Self.followed.first { $0.id == id }!
        #expect(difference(vector) == nil)
    }

    static let queries = AFNetworkingVector.rows(["afn-q"])

    @Test("A query of a Value is the one that AFNetworking makes", arguments: queries.map(\.id))
    func query(id: String) throws {
        let vector = Self.queries.first { $0.id == id }!
        if let escaped = vector.expect["escaped"]?.string {
            #expect(HTTPRequestSerializer.percentEscaped(vector.rawInput.string!) == escaped)
            return
        }
        let parameters = try #require(AFNetworkingVector.value(vector.rawInput))
        #expect(try HTTPRequestSerializer.queryString(from: parameters) == vector.expect["query"]?.string)
    }

    @Test("Rows that are not followed do differ")
    func listedRowsDiffer() {
        for id in Self.notFollowed.keys {
            let vector = Self.all.first { $0.id == id }!
            #expect(difference(vector) != nil, "\(id)")
        }
    }

    @Test("Every row of these areas is run or listed")
    func counts() {
        #expect(Self.queries.count == 36)
        #expect(Self.all.count == 51)
        #expect(Self.followed.count == Self.all.count - Self.notFollowed.count - Self.impossible.count)
    }
}
