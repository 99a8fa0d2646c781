import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// What stands in the quotes of a name and a filename: each dialect reads what its server was seen to read of the same bytes, and writes
/// what that reads as it was meant.
@Suite("Names in quotes")
struct NameQuotingTests {
    private typealias Part = FieldRecorder.Part

    private static func decode(_ body: String, _ dialect: Dialect) -> FieldRecording {
        Multipart.decode(body, options: .init(dialect: dialect))
    }

    /// The dispositions of what comes out of `body`, without their type; or `!code field`.
    private static func dispositions(
        _ plan: ConversionPlan, _ body: String
    ) -> [String] {
        let run = ConversionRun.run(plan, .whole(Array(body.utf8)))
        guard run.failure == nil else { return [run.result] }
        let start = "Content-Disposition: form-data; "
        return String(decoding: run.output.bytes, as: UTF8.self).split(separator: "\r\n")
            .filter { $0.hasPrefix(start) }.map { String($0.dropFirst(start.count)) }
    }

    /// multipart to multipart, the same dialect on both sides.
    private static func passing(_ dialect: Dialect) -> ConversionPlan {
        plan(.multipart, .multipart) {
            $0.fieldDecoding = .init(dialect: dialect)
            $0.fieldEncoding = .init(dialect: dialect)
        }
    }

    private static func reading(_ dialect: Dialect, to output: BodyEncoding) -> ConversionPlan {
        plan(.multipart, output) { $0.fieldDecoding = .init(dialect: dialect) }
    }

    private static func writing(_ dialect: Dialect) -> ConversionPlan {
        plan(.json, .multipart) { $0.fieldEncoding = .init(dialect: dialect) }
    }

    // MARK: Reading

    /// What PHP 8.2, busboy and Go make of a name, with Rack 3.2's where that differs; and what our own dialect and HTML's rule do.
    static let names: [(wire: String, recast: String, servers: String, rack: String?, html: String?)] = [
        (#"a\\b"#, #"a\\b"#, #"a\b"#, nil, #"a\\b"#),
        (#"a\b"#, #"a\b"#, #"a\b"#, "ab", #"a\b"#),
        (#"a\"b"#, #"a"b"#, #"a"b"#, nil, nil),
        (#"a\\\"b"#, #"a\"b"#, #"a\"b"#, nil, nil),
        (#"ab\\"#, #"ab\\"#, #"ab\"#, nil, #"ab\\"#),
        (#"\\"#, #"\\"#, #"\"#, nil, #"\\"#),
        (#"ab\d\\e"#, #"ab\d\\e"#, #"ab\d\e"#, #"abd\e"#, #"ab\d\\e"#),
        (#"a\\\\b"#, #"a\\\\b"#, #"a\\b"#, nil, #"a\\\\b"#),
        (#"a\"b\c"#, #"a"b\c"#, #"a"b\c"#, #"a"bc"#, nil),
        ("a%22b", "a\"b", "a%22b", nil, "a\"b"),
        ("a%0D%0Ab", "a\r\nb", "a%0D%0Ab", nil, "a\r\nb"),
        ("a%0d%5C%41", "a%0d%5C%41", "a%0d%5C%41", nil, "a%0d%5C%41"),
        (#"a\"b%22c"#, #"a"b%22c"#, #"a"b%22c"#, nil, nil),
        (#"a\\%22c"#, #"a\\"c"#, #"a\%22c"#, nil, #"a\\"c"#),
    ]

    @Test("A dialect reads a name as its server does", arguments: names)
    func read(wire: String, recast: String, servers: String, rack: String?, html: String?) {
        for dialect in Dialect.allCases {
            let expected: String?
            switch dialect {
            case .recast: expected = recast
            case .php, .qs: expected = servers
            case .rack: expected = rack ?? servers
            case .whatwg: expected = html
            case .afnetworking, .alamofire: continue
            }
            let recording = Self.decode(
                Multipart.body(headers: "Content-Disposition: form-data; name=\"\(wire)\""), dialect)
            if let expected {
                #expect(recording == FieldRecording([Part(name: ByteString(expected), content: "v")]), "\(dialect)")
            } else {
                #expect(recording.failure?.code == "multipart_parameters", "\(dialect)")
            }
        }
    }

    /// Rack percent-decodes a filename if all of it can be.
    static let filenames: [(wire: String, recast: String, php: String, rack: String)] = [
        (#"C:\d\x.txt"#, #"C:\d\x.txt"#, #"C:\d\x.txt"#, #"C:\d\x.txt"#),
        (#"C:\\d\\x.txt"#, #"C:\\d\\x.txt"#, #"C:\d\x.txt"#, #"C:\d\x.txt"#),
        (#"a\"b.txt"#, #"a"b.txt"#, #"a"b.txt"#, #"a"b.txt"#),
        ("a%22b.txt", "a\"b.txt", "a%22b.txt", "a\"b.txt"),
        ("a%20b.txt", "a%20b.txt", "a%20b.txt", "a b.txt"),
        ("100%.txt", "100%.txt", "100%.txt", "100%.txt"),
        ("a%20%.txt", "a%20%.txt", "a%20%.txt", "a%20%.txt"),
        ("a%20%4", "a%20%4", "a%20%4", "a%20%4"),
        ("%C3%BC%2541", "%C3%BC%2541", "%C3%BC%2541", "ü%41"),
    ]

    @Test("A dialect reads a filename as its server does", arguments: filenames)
    func readFilename(wire: String, recast: String, php: String, rack: String) {
        for (dialect, expected) in [(Dialect.recast, recast), (.php, php), (.qs, php), (.rack, rack)] {
            let header = "Content-Disposition: form-data; name=\"f\"; filename=\"\(wire)\""
            let recording = Self.decode(Multipart.body(headers: header), dialect)
            #expect(recording.parts.map(\.filename) == [ByteString(expected)], "\(dialect)")
        }
    }

    @Test("A filename that Rack would decode to a control is refused, and to bytes that are no UTF-8, too")
    func undecodable() {
        for (wire, code) in [("a%00b", "multipart_name_control"), ("a%FF", "multipart_invalid_utf8")] {
            let body = Multipart.body(headers: "Content-Disposition: form-data; name=\"f\"; filename=\"\(wire)\"")
            #expect(Self.decode(body, .rack).failure?.code == code)
            #expect(Self.decode(body, .php).failure == nil)
        }
    }

    @Test("In another charset half a character isn't taken for a backslash")
    func otherCharset() {
        var options = FieldDecodingOptions()
        options.charsets = [Charset(label: "shift_jis")!]
        // 0x95 0x5C is one character.
        let body = Array("--b\r\nContent-Disposition: form-data; name=\"".utf8) + [0x95, 0x5C, 0x5C, 0x78]
        let recording = Multipart.decode(body + Array("\"\r\n\r\nv\r\n--b--\r\n".utf8), options: options)
        #expect(recording.parts.map(\.name) == ["表\\x"])
    }

    // MARK: Writing

    static let written: [(name: String, recast: String?, servers: String, html: String?)] = [
        (#"a\b"#, #"a\b"#, #"a\\b"#, #"a\b"#),
        (#"a\\b"#, #"a\\b"#, #"a\\\\b"#, #"a\\b"#),
        (#"a\"#, nil, #"a\\"#, nil),
        (#"a"b"#, "a%22b", #"a\"b"#, "a%22b"),
        (#"a\"b"#, #"a\%22b"#, #"a\\\"b"#, #"a\%22b"#),
        (#"a"; filename="b"#, "a%22; filename=%22b", #"a\"; filename=\"b"#, "a%22; filename=%22b"),
        ("a%22", "a%22", "a%22", "a%22"),
        ("a\n\r\r\nb", "a%0D%0A%0D%0A%0D%0Ab", "a%0D%0A%0D%0A%0D%0Ab", "a%0D%0A%0D%0A%0D%0Ab"),
    ]

    @Test("A name is written as the dialect's server reads it", arguments: written)
    func write(name: String, recast: String?, servers: String, html: String?) throws {
        for dialect in Dialect.allCases {
            let expected: String?
            switch dialect {
            case .recast: expected = recast
            case .php, .qs, .rack: expected = servers
            case .afnetworking, .alamofire, .whatwg: expected = html
            }
            let part = Part(name: ByteString(name), content: "v")
            let result: Result<[UInt8], ConversionError> = Result { () throws(ConversionError) in
                try Multipart.encode([part], options: .init(dialect: dialect))
            }
            guard let expected else {
                #expect(throws: ConversionError.self) { try result.get() }
                continue
            }
            let body = try result.get()
            let line = "Content-Disposition: form-data; name=\"\(expected)\""
            #expect(ByteString(body) == ByteString(Multipart.body(headers: line)), "\(dialect)")
            // What servers don't decode they can't give back.
            let isBack = !name.contains("\r") && !(dialect == .recast && name == "a%22")
            if isBack, [.recast, .php, .qs, .rack].contains(dialect) {
                #expect(
                    Multipart.decode(body, options: .init(dialect: dialect)) == FieldRecording([part]), "\(dialect)")
            }
        }
    }

    @Test(
        "A filename comes back from Rack as it was",
        arguments: [
            "a b.txt", "100%.txt", "a%20b.txt", "a%20%.txt", "%", "%41", "a\"%22b", "ü%C3%BC", "a\\b%2541", "a\r\nb",
            "a\n%",
            "%zz\n", "\"", "C:\\x",
        ])
    func rackFilename(name: String) throws {
        let part = Part(name: "f", isFile: true, filename: ByteString(name), mediaType: "a/b")
        let body = try Multipart.encode([part], options: .init(dialect: .rack))
        #expect(Multipart.decode(body, options: .init(dialect: .rack)) == FieldRecording([part]))
    }

    // MARK: Names that become one

    static let pairs: [(first: String, second: String, one: [Dialect])] = [
        (#"a\b"#, #"a\\b"#, [.recast, .afnetworking, .alamofire, .whatwg]),
        (#"a\\\b"#, #"a\\\\b"#, [.recast, .afnetworking, .alamofire, .whatwg]),
        (#"a"b"#, "a%22b", [.recast, .afnetworking, .alamofire, .whatwg]),
        ("a\nb", "a%0D%0Ab", Dialect.allCases),
        ("a\nb", "a\rb", Dialect.allCases),
        (#"a"b"#, #"a\"b"#, []),
        (#"a"b"#, "ab", []),
    ]

    @Test("Two names that a reader of what is written takes for one are refused, and no others", arguments: pairs)
    func collapsed(first: String, second: String, one: [Dialect]) throws {
        for dialect in Dialect.allCases {
            for (first, second) in [(first, second), (second, first)] {
                let parts = [Part(name: ByteString(first), content: "1"), Part(name: ByteString(second), content: "2")]
                let result: Result<[UInt8], ConversionError> = Result { () throws(ConversionError) in
                    try Multipart.encode(parts, options: .init(dialect: dialect))
                }
                switch result {
                case .success: #expect(!one.contains(dialect), "\(dialect)")
                case .failure(let error):
                    #expect(one.contains(dialect), "\(dialect)")
                    #expect(error.code == "multipart_name_collapsed" && error.kind == .unrepresentable)
                }
            }
        }
    }

    @Test(
        "Two spellings that read as one name are refused whatever comes out",
        arguments: [
            (#"e\"f"#, "e%22f"), (#"a\%22"#, #"a\\\""#),
        ])
    func spellings(first: String, second: String) {
        for (first, second) in [(first, second), (second, first)] {
            let body = multipart("\(first)=1", "x=2", "\(first)=3", "\(second)=4")
            for output in [BodyEncoding.json, .form, .multipart, .xml] {
                #expect(
                    convert(Self.reading(.recast, to: output), body).hasPrefix("!multipart_name_collapsed"), "\(output)"
                )
            }
            // The second of two bodies knows nothing of the first.
            let alone = multipart("\(first)=1", "\(first)=2")
            #expect(!convert(Self.reading(.recast, to: .json), alone).hasPrefix("!"))
        }
    }

    @Test("To the dialects whose servers tell them apart they are two names")
    func apart() {
        let body = multipart(#"e\"f=1"#, "e%22f=2")
        for dialect in [Dialect.php, .qs, .rack] {
            #expect(convert(Self.reading(dialect, to: .json), body) == #"{"e\"f":"1","e%22f":"2"}"#)
            #expect(
                Self.dispositions(Self.passing(dialect), body) == [#"name="e\"f""#, #"name="e%22f""#], "\(dialect)")
        }
        let backslashes = #"{"a\\b":"one","a\\\\b":"two"}"#
        for dialect in [Dialect.php, .qs, .rack] {
            #expect(
                Self.dispositions(Self.writing(dialect), backslashes) == [#"name="a\\b""#, #"name="a\\\\b""#],
                "\(dialect)")
        }
        for dialect in [Dialect.recast, .afnetworking, .alamofire, .whatwg] {
            #expect(Self.dispositions(Self.writing(dialect), backslashes)[0].hasPrefix("!multipart_name_collapsed"))
        }
    }

    // MARK: From multipart to multipart

    static let passed: [(wire: String, recast: String)] = [
        (#"name="e\"f""#, #"name="e\"f""#),
        (#"name="e%22f""#, #"name="e%22f""#),
        (#"name="f"; filename="my \"q\".txt""#, #"name="f"; filename="my \"q\".txt""#),
        (#"name="f"; filename="my %22q%22.txt""#, #"name="f"; filename="my %22q%22.txt""#),
        (#"name="f"; filename="a\\b""#, #"name="f"; filename="a\\b""#),
        (#"name="f"; filename="C:\d\x""#, #"name="f"; filename="C:\d\x""#),
        (#"name="f"; filename="C:\\d \"q\"""#, #"name="f"; filename="C:\\d \"q\"""#),
        // Whoever takes the quotation mark for the end would find another parameter.
        (#"name="a\"; filename=\"b""#, #"name="a%22; filename=%22b""#),
        (#"name*=UTF-8''e%22f"#, #"name="e%22f""#),
    ]

    @Test("A quotation mark goes on as the client wrote it", arguments: passed)
    func quotes(wire: String, recast: String) {
        #expect(
            Self.dispositions(Self.passing(.recast), Multipart.body(headers: "Content-Disposition: form-data; \(wire)"))
                == [recast])
    }

    @Test("A name that a rule gives is written anew, the filename as it came")
    func renamed() {
        var plan = Self.passing(.recast)
        plan.map.rename = [.init(from: path("f"), to: path("g"))]
        let body = Multipart.body(headers: #"Content-Disposition: form-data; name="f"; filename="a\"b""#)
        #expect(Self.dispositions(plan, body) == [#"name="g"; filename="a\"b""#])
    }

    // MARK: Empty names

    static let empty: [(headers: String, rack: String)] = [
        ("", #"{"text/plain":["v"]}"#),
        ("filename=\"f.txt\"\r\nContent-Type: a/b", #"{"f.txt":"dg=="}"#),
        ("filename=\"f.txt\"\r\nContent-ID: c[x]", #"{"c":{"x":"dg=="}}"#),
        ("name=\"\"; filename=\"f.txt\"\r\nContent-ID: c", #"{"f.txt":"dg=="}"#),
        (#"name="""#, #"{"text/plain":["v"]}"#),
        ("name=\"\"\r\nContent-Type: application/json", #"{"application/json":["v"]}"#),
        ("name=\"\"\r\nContent-Type: text/plain; charset=utf-8", #"{"text/plain; charset=utf-8":["v"]}"#),
        ("name=\"\"; filename=\"f.txt\"\r\nContent-Type: a/b", #"{"f.txt":"dg=="}"#),
        ("name=\"\"; filename=\"d/e\\\\f.txt\"\r\nContent-Type: a/b", #"{"f.txt":"dg=="}"#),
        ("name=\"\"; filename=\"f[x]\"\r\nContent-Type: a/b", #"{"f":{"x":"dg=="}}"#),
    ]

    @Test("An empty name is another to Rack, refused under qs as multer does, and nothing to PHP", arguments: empty)
    func emptyName(headers: String, rack: String) {
        let body = Multipart.body(headers: "Content-Disposition: form-data" + (headers.isEmpty ? "" : "; \(headers)"))
        func read(_ dialect: Dialect) -> String {
            var plan = Self.reading(dialect, to: .json)
            plan.fieldEncoding.files = .base64
            return convert(plan, body)
        }
        #expect(read(.rack) == rack)
        #expect(read(.qs).hasPrefix("!multipart_name_missing"))
        let php = read(.php)
        #expect(
            ["{}", "[]"].contains(php) || !headers.contains("name=\"\"") && php.hasPrefix("!multipart_name_missing"))
    }

    @Test("What Rack would name like a field's, and the limit of names")
    func replacedName() {
        let headers = "Content-Disposition: form-data; name=\"\"; filename=\"/\""
        #expect(Self.decode(Multipart.body(headers: headers), .rack).failure?.code == "multipart_name_missing")
        for (length, isFine) in [(7, true), (8, true), (9, false)] {
            let name = String(repeating: "f", count: length)
            let recording = Multipart.decode(
                Multipart.body(headers: "Content-Disposition: form-data; name=\"\"; filename=\"\(name)\""),
                options: .init(dialect: .rack), limits: .with { $0.key = 8 })
            #expect(recording.failure?.code == (isFine ? nil : "limit_key"))
        }
    }
}
