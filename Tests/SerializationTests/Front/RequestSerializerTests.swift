import HTTPTypes
import Serialization
import Testing
import Transcoding

/// AFNetworking's own tests of its request serializers, by their names, and the rules around them.
@Suite("Request serializers")
struct RequestSerializerTests {
    private let serializer = HTTPRequestSerializer()

    @Test("A POST has the parameters in a form body")
    func serializesPOSTRequestsProperly() throws {
        let request = try serializer.request(method: .post, url: "http://example.com", parameters: ["key": "value"])
        #expect(request.head.headerFields[.contentType] == "application/x-www-form-urlencoded")
        #expect(request.bodyBytes == Array("key=value".utf8))
    }

    @Test("A POST without parameters has an empty body")
    func serializesPOSTRequestsProperlyWhenNoParameterIsProvided() throws {
        let request = try serializer.request(method: .post, url: "http://example.com")
        #expect(request.head.headerFields[.contentType] == "application/x-www-form-urlencoded")
        #expect(request.bodyBytes == [])
        #expect(request.contentLength == 0)
    }

    @Test(
        "A GET has the parameters in the query",
        arguments: [
            ("value", "key=value"),
            (" :#[]@!$&'()*+,;=/?", "key=%20%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D/?"),
            (
                "%20%21%22%23%24%25%26%27%28%29%2A%2B%2C%2F",
                "key=%2520%2521%2522%2523%2524%2525%2526%2527%2528%2529%252A%252B%252C%252F"
            ),
        ])
    func serializesQueryParametersCorrectly(value: String, query: String) throws {
        let original = HTTPRequest(method: .get, scheme: "http", authority: "example.com", path: "/")
        let request = try serializer.serialize(original, parameters: ["key": .string(value)])
        #expect(request.query == query)
        #expect(request.body.contentLength == nil)
    }

    @Test("Empty parameters leave no bare question mark")
    func emptyDictionaryParametersAreProperlyEncoded() throws {
        let request = try serializer.request(method: .get, url: "http://example.com", parameters: [:])
        #expect(request.url == "http://example.com/")
        #expect(request.query == nil)
    }

    @Test("Emoji are escaped whole, however long the text")
    func emojiIsProperlyEncoded() throws {
        let emoji = "\u{1F474}\u{1F3FF}\u{1F477}\u{1F3FB}\u{1F46E}\u{1F3FD}"
        let escaped = "%F0%9F%91%B4%F0%9F%8F%BF%F0%9F%91%B7%F0%9F%8F%BB%F0%9F%91%AE%F0%9F%8F%BD"
        for count in 1...20 {
            let text = "!" + String(repeating: emoji, count: count)
            let request = try serializer.request(
                method: .get, url: "http://test.com", parameters: ["test": .string(text)])
            #expect(request.query == "test=%21" + String(repeating: escaped, count: count))
        }
    }

    @Test("Parameters are a query without a request too")
    func queryStringFromParameters() throws {
        let query = try HTTPRequestSerializer.queryString(from: ["key": "value", "key1": "value&"])
        #expect(query == "key=value&key1=value%26")
        #expect(
            HTTPRequestSerializer.percentEscaped(":#[]@!$&'()*+,;=?/")
                == "%3A%23%5B%5D%40%21%24%26%27%28%29%2A%2B%2C%3B%3D?/")
        #expect(HTTPRequestSerializer.percentEscaped("") == "")
        for dialect in Dialect.allCases {
            #expect(HTTPRequestSerializer.percentEscaped("a", dialect: dialect) == "a")
            #expect(HTTPRequestSerializer.percentEscaped("a=", dialect: dialect) == "a%3D")
            #expect(HTTPRequestSerializer.percentEscaped("=b&", dialect: dialect) == "%3Db%26")
        }
    }

    @Test("A default header field is read, and nil for one that was not set")
    func valueForHTTPHeaderField() throws {
        var serializer = serializer
        try serializer.setValue("Actual Value", forHeaderField: "Set-Header")
        #expect(serializer.value(forHeaderField: "Set-Header") == "Actual Value")
        #expect(serializer.value(forHeaderField: "set-header") == "Actual Value")
        #expect(serializer.value(forHeaderField: "Unset-Header") == nil)
        try serializer.setValue(nil, forHeaderField: "Set-Header")
        #expect(!serializer.headerFields.contains(HTTPField.Name("Set-Header")!))
    }

    @Test("A header field that can't be sent is refused")
    func illegalHeaderFields() {
        var serializer = serializer
        #expect(throws: SerializationError.self) { try serializer.setValue("x", forHeaderField: "a b") }
        #expect(throws: SerializationError.self) { try serializer.setValue("a\r\nb: c", forHeaderField: "a") }
        #expect(throws: SerializationError.self) { try serializer.setAcceptLanguage(["en\r\nx: y"]) }
        #expect(throws: SerializationError.self) { try serializer.setUserAgent(product: "\u{e9}", version: "1") }
        #expect(serializer.headerFields.isEmpty)
    }

    @Test("Default fields yield to those of the request, and those of the call win over all")
    func headerFieldOrder() throws {
        var serializer = serializer
        try serializer.setValue("default", forHeaderField: "field")
        let field = HTTPField.Name("Field")!
        let named = try serializer.request(method: .get, url: "/", headerFields: [field: "call", .contentType: "x/y"])
        #expect(named.head.headerFields[field] == "call")
        #expect(named.head.headerFields[.contentType] == "x/y")
        var head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
        head.headerFields[field] = "request"
        #expect(try serializer.serialize(head, parameters: nil).head.headerFields[field] == "request")
    }

    @Test("User-Agent has a product, a version and a comment")
    func userAgent() throws {
        var serializer = serializer
        try serializer.setUserAgent(product: "Alb\u{fc}m", version: "2.1-beta", comment: "Linux; \u{e9}x")
        #expect(serializer.headerFields[.userAgent] == "Albm/2.1-beta (Linux; x)")
        for (product, version, comment) in [
            ("My App", "1", "x"), ("App", "2.1 beta", "x"), ("A(b)", "1", "x"), ("A/b", "1", "x"), ("A", "1", "(x)"),
            ("A", "1", "x\\"), ("A", "1", "x\n"), ("A\r\nB: c", "1", "x"),
        ] {
            #expect(throws: SerializationError.self) {
                try serializer.setUserAgent(product: product, version: version, comment: comment)
            }
        }
        #expect(serializer.headerFields[.userAgent] == "Albm/2.1-beta (Linux; x)")
        for (value, reason) in [
            (" a ", "begins or ends with a space"), ("a\t", "begins or ends"), ("a\nb", "a control"),
        ] {
            let error = #expect(throws: SerializationError.self) {
                try serializer.setValue(value, forHeaderField: "X-A")
            }
            #expect(error?.reason.contains(reason) == true)
        }
        try serializer.setUserAgent(product: "A", version: "")
        #expect(serializer.headerFields[.userAgent] == "A")
    }

    @Test("A colon in a user name is refused but under AFNetworking's dialect")
    func colonInUserName() {
        var strict = HTTPRequestSerializer(dialect: .recast)
        #expect(throws: SerializationError.self) { try strict.setAuthorization(username: "a:b", password: "c") }
        strict.clearAuthorization()
        #expect(strict.headerFields.isEmpty)
    }

    /// URL, and what a GET with b=2 makes of its target.
    static let targets: [(String, String)] = [
        ("http://h", "/?b=2"), ("http://h?a=1", "/?a=1&b=2"), ("http://h/p?a=1&", "/p?a=1&b=2"),
        ("http://h/p#frag", "/p?b=2"), ("http://h/p?a#f?g", "/p?a&b=2"), ("/p", "/p?b=2"), ("url", "url?b=2"),
        ("http://h/a b?\u{e9}[1]", "/a%20b?%C3%A9%5B1%5D&b=2"), ("HTTP://h:8080/", "/?b=2"), ("http://[::1]/", "/?b=2"),
        ("http://h/p?", "/p?b=2"), ("http://[::ffff:1.2.3.4]:65535/", "/?b=2"), ("http://[v1.a:b]", "/?b=2"),
        ("http://h:/p", "/p?b=2"), ("http://a%41.example/", "/?b=2"), ("/p:q", "/p:q?b=2"), ("p/q:r", "p/q:r?b=2"),
        ("/100%?a=%4&c=%41", "/100%25?a=%254&c=%41&b=2"),
    ]

    @Test("The query goes behind the one that is there and in front of the fragment", arguments: targets)
    func target(url: String, target: String) throws {
        let serializer = HTTPRequestSerializer(dialect: .recast)
        let request = try serializer.request(method: .get, url: url, parameters: ["b": 2])
        #expect(request.head.path == target)
    }

    @Test("The fragment stays in the URL and out of the target")
    func fragment() throws {
        let request = try serializer.request(method: .get, url: "https://h/p#f", parameters: ["b": 2])
        #expect(request.url == "https://h/p?b=2#f")
        #expect(request.head.scheme == "https")
        #expect(request.head.authority == "h")
    }

    @Test(
        "The path of a request is a target by the rules of URLs, whatever the body is",
        arguments: [
            ("/p#f", "/p", "f"), ("/a b#f g", "/a%20b", "f%20g"), ("/a?x=1 2#", "/a?x=1%202", ""),
            ("/\u{e9}", "/%C3%A9", nil),
            ("*", "*", nil), ("/100%", "/100%25", nil), ("/p%20q", "/p%20q", nil),
        ] as [(String, String, String?)])
    func path(path: String, target: String, fragment: String?) throws {
        let serializers: [any RequestSerializer] = [
            HTTPRequestSerializer(dialect: .recast), JSONRequestSerializer(), PropertyListRequestSerializer(),
        ]
        for serializer in serializers {
            var head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: path)
            let posted = try serializer.serialize(head, parameters: ["b": 2])
            #expect(posted.head.path == target)
            #expect(posted.fragment == fragment)
            head.method = .get
            let asked = try serializer.serialize(head, parameters: ["b": 2])
            #expect(asked.head.path == target + (target.contains("?") ? "&" : "?") + "b=2")
            #expect(asked.fragment == fragment)
            head.path = "/a\tb"
            #expect(throws: SerializationError.self) { try serializer.serialize(head, parameters: nil) }
        }
    }

    @Test(
        "A URL that can't be asked for is refused",
        arguments: [
            "", "http://", "http:///p", "http://a b/", "http://h/\r\nX: y", "http://user@h/", "http://h\u{e9}/",
            "http://[::1/", "http://[::1", "http://[::g]/", "http://[1:2:3:4:5:6:7:8:9]/", "http://[]/",
            "http://[v.a]/",
            "http://[v1.]/", "http://[::1]x/", "http://[fe80::1%eth0]/", "http://a[b]/", "http://h]/", "http://h%zz/",
            "http://:80/", "http://h:65536/", "http://h:8o/", "http://h:80:80/", "http://h:-1/", "host:80",
            "mailto:a@b.c",
            "http:/p", "h:p?q", "1:2",
        ])
    func badURL(url: String) throws {
        let error = #expect(throws: SerializationError.self) { try serializer.request(method: .get, url: url) }
        #expect(error?.kind == .invalidURL)
        #expect(error?.code == -1000)
    }

    @Test("Parameters that a form can't carry are refused by name")
    func unwritableParameters() throws {
        let strict = HTTPRequestSerializer(dialect: .recast)
        let error = #expect(throws: SerializationError.self) {
            try strict.request(method: .post, url: "/", parameters: ["a": ["b": []]])
        }
        #expect(error?.kind == .invalidParameters)
        #expect(error?.conversion?.field == "a[b]")
        #expect(throws: SerializationError.self) {
            try serializer.request(method: .post, url: "/", parameters: ["a": Value(Double.infinity)])
        }
    }

    @Test("Sets and dates have AFNetworking's text")
    func setsAndDates() throws {
        let time = Timestamp("2001-01-01T00:02:03.5Z")!
        let parameters: Value = ["s": .set([10, 9, "b"]), "d": .date(time), "l": [.set(["x"])], "e": .set([])]
        let query = try HTTPRequestSerializer.queryString(from: parameters)
        #expect(query == "d=2001-01-01%2000%3A02%3A03%20%2B0000&l%5B%5D=x&s=10&s=9&s=b")
        let alamofire = try HTTPRequestSerializer.queryString(from: ["d": .date(time)], dialect: .alamofire)
        #expect(alamofire == "d=123.5")
    }

    @Test("A copy has the same settings and changes apart")
    func copies() throws {
        var original = JSONRequestSerializer(writingOptions: .sortedKeys)
        original.methodsEncodingParametersInURI = ["GET"]
        var copy = original
        copy.methodsEncodingParametersInURI = []
        copy.writingOptions = []
        #expect(original.methodsEncodingParametersInURI == ["GET"])
        #expect(original.writingOptions == .sortedKeys)
    }

    @Test("Alamofire's form has a charset, and nothing to send changes nothing")
    func alamofire() throws {
        let serializer = HTTPRequestSerializer(dialect: .alamofire)
        let request = try serializer.request(method: .post, url: "/", parameters: ["a": 1])
        #expect(request.head.headerFields[.contentType] == "application/x-www-form-urlencoded; charset=utf-8")
        let empty = try serializer.request(method: .post, url: "/")
        #expect(empty.bodyBytes == nil)
        #expect(!empty.head.headerFields.contains(.contentType))
    }

    @Test("Parameters may be any Encodable type")
    func encodable() throws {
        struct Order: Encodable {
            var sku = "A"
            var lines = [1, 2]
            var note: String?
        }
        let request = try JSONRequestSerializer().request(method: .post, url: "/", encoding: Order())
        #expect(request.bodyBytes?.text == #"{"sku":"A","lines":[1,2]}"#)
    }

    private struct Parameters: Encodable, Sendable {
        var id = 7
        var name = "Ada & \u{e4}"
        var paid: Bool? = true
        var list: [[String: Double]] = [["a": 1.5], [:]]
        var value: Value
    }

    private static let parameters: [Value] = [
        "text", .null, [1, .null, "b"], ["b": 1, "a": ["x": [], "y": 2]], .set(["b", "a"]), ["s": [.set([2, 10])]],
        .date(Timestamp("2001-09-09T01:46:40Z")!), .data([1, 2, 255]), .number(Value.Number(Double.nan)),
        ["n": [.number(Value.Number(Double.infinity))]], [[[[["deep"]]]]], .object(Value.Object([])),
    ]

    private static func outcome(_ make: () throws -> SerializedRequest) -> String {
        do {
            let request = try make()
            return "\(request.url) \(request.head.headerFields) \(request.bodyBytes?.text ?? "no body")"
        } catch {
            return "\(error)"
        }
    }

    @Test("A type in a request is the value that it encodes itself as", arguments: parameters, Dialect.allCases)
    func sameAsValue(_ value: Value, _ dialect: Dialect) throws {
        var plist = PropertyListRequestSerializer(dialect: dialect)
        plist.encoder.nils = .null
        var shallow = HTTPRequestSerializer(dialect: dialect)
        shallow.settings.limits.depth = 4
        shallow.settings.limits.key = 12
        let serializers: [any RequestSerializer] = [
            HTTPRequestSerializer(dialect: dialect), JSONRequestSerializer(dialect: dialect), shallow, plist,
            JSONRequestSerializer(dialect: dialect, writingOptions: [.sortedKeys, .prettyPrinted]),
            PropertyListRequestSerializer(format: .binary, dialect: dialect),
        ]
        for serializer in serializers {
            for method in [HTTPRequest.Method.get, .post] {
                // One instance for both, since each dictionary has an order of its own.
                let source = Parameters(value: value)
                let encoded = try serializer.encoder.encode(source)
                for (direct, byValue) in [
                    (
                        Self.outcome { try serializer.request(method: method, url: "/p?q=1", encoding: source) },
                        Self.outcome { try serializer.request(method: method, url: "/p?q=1", parameters: encoded) }
                    ),
                    (
                        Self.outcome { try serializer.request(method: method, url: "/", encoding: value) },
                        Self.outcome { try serializer.request(method: method, url: "/", parameters: value) }
                    ),
                ] { #expect(direct == byValue) }
            }
        }
    }

    @Test("The text of a query serialization can stand in a query, or is refused; in a body it is as it is")
    func customQueryText() throws {
        var serializer = HTTPRequestSerializer(dialect: .recast)
        for (text, query) in [
            ("a=b", "a=b"), ("a b#c=\u{fc}&d=%zz%41", "a%20b%23c=%C3%BC&d=%25zz%41"), ("", nil), ("a=1\r\nX: y", "!"),
            ("a\u{0}", "!"), ("a\u{7f}", "!"),
        ] {
            serializer.querySerialization = { _, _ in text }
            if query == "!" {
                let error = #expect(throws: SerializationError.self) {
                    try serializer.request(method: .get, url: "/p", parameters: ["a": 1])
                }
                #expect(error?.kind == .querySerialization)
            } else {
                #expect(try serializer.request(method: .get, url: "/p", parameters: ["a": 1]).query == query)
            }
            #expect(try serializer.request(method: .post, url: "/p", parameters: ["a": 1]).bodyBytes?.text == text)
        }
    }

    @Test("Basic credentials have no controls")
    func credentials() throws {
        for dialect in [Dialect.afnetworking, .recast] {
            var serializer = HTTPRequestSerializer(dialect: dialect)
            for (name, password) in [("a\r\n", "b"), ("a", "b\u{0}"), ("a\u{7f}", "")] {
                let error = #expect(throws: SerializationError.self) {
                    try serializer.setAuthorization(username: name, password: password)
                }
                #expect(error?.kind == .invalidHeaderField)
            }
            try serializer.setAuthorization(username: "J\u{fc}rgen", password: "a b")
            #expect(serializer.value(forHeaderField: "Authorization") == "Basic SsO8cmdlbjphIGI=")
        }
    }

    @Test("A property list is written as the options of the serializer say")
    func propertyListOptions() throws {
        var serializer = PropertyListRequestSerializer()
        let parameters: Value = ["a": .null, "b": 1]
        #expect(throws: SerializationError.self) {
            try serializer.request(method: .post, url: "/", parameters: parameters)
        }
        serializer.writingOptions.nulls = .omit
        #expect(serializer.format == .xml)
        let xml = try serializer.request(method: .post, url: "/", parameters: parameters)
        #expect(try Value(decoding: xml.bodyBytes ?? [], as: .propertyList) == ["b": 1])
        serializer.format = .binary
        let binary = try serializer.request(method: .post, url: "/", encoding: ["b": 1])
        #expect(binary.bodyBytes?.starts(with: "bplist00".utf8) == true)
    }

    @Test("A query serialization gets the value of a type")
    func customQuery() throws {
        var serializer = HTTPRequestSerializer(dialect: .recast)
        serializer.querySerialization = { _, parameters in parameters.description }
        let request = try serializer.request(method: .post, url: "/", encoding: Parameters(value: .set(["a"])))
        #expect(request.bodyBytes?.text.contains(#""value":["a"]"#) == true)
    }

    @Test("An error's numbers are those of AFNetworking")
    func numbers() {
        for kind in SerializationError.Kind.allCases {
            let error = SerializationError(kind, reason: "r")
            #expect([-1000, -1011, -1016, 3840, 3851].contains(error.code))
            #expect(
                error.domain.hasPrefix("com.alamofire.error.serialization.") || error.domain == "NSCocoaErrorDomain")
        }
    }
}
