import HTTPTypes
import Serialization
import TestSupport
import Testing
import Transcoding

/// What a program holds in memory already is read whatever its size, unless the program says otherwise.
@Suite("Limits of bodies in memory")
struct BodyLimitTests {
    @Test("A limit below 0 is 0, and its error names a place")
    func belowZero() {
        let documents: [(DocumentFormat, String)] = [
            (.json, #"{"a":[1,"x"]}"#), (.form, "a[b]=1&c=x"), (.xml, "<a b='1'><c>x</c></a>"),
            (.propertyList, "<plist><dict><key>a</key><integer>1</integer></dict></plist>"),
        ]
        let paths: [WritableKeyPath<Limits, Int>] = [
            \.body, \.tree, \.fields, \.field, \.keyDepth, \.depth, \.key, \.number, \.parts, \.partHeaders,
            \.partHeaderLine,
            \.partHeaderBytes, \.preamble, \.boundary,
        ]
        for path in paths {
            for number in [-1, Int.min] {
                var limits = Limits(), zero = Limits()
                limits[keyPath: path] = number
                zero[keyPath: path] = 0
                #expect(limits == zero && limits[keyPath: path] == 0)
                for (format, text) in documents {
                    var options = DocumentOptions()
                    options.limits = limits
                    do {
                        _ = try Value(decoding: text, as: format, options: options)
                    } catch {
                        #expect((0...text.utf8.count).contains(error.offset ?? 0), "\(path) \(format) \(error)")
                    }
                }
            }
        }
    }

    @Test("What a document is written with may be beyond the limits that it is read by")
    func writtenBeyondLimits() throws {
        let many = Dictionary(uniqueKeysWithValues: (0...1000).map { ("k\($0)", "x") })
        let long = [String(repeating: "k", count: 1025): "x"]
        let rows: [([String: String], DocumentFormat, WritableKeyPath<DocumentOptions, Int>, String)] = [
            (many, .form, \.limits.fields, "limit_fields"), (long, .json, \.limits.key, "limit_key"),
            (long, .propertyList, \.limits.key, "limit_key"),
        ]
        for (source, format, limit, code) in rows {
            var options = DocumentOptions()
            let bytes = try ValueEncoder().encode(source, as: format, options: options)
            let error = #expect(throws: ConversionError.self) {
                try ValueDecoder().decode([String: String].self, from: bytes, as: format, options: options)
            }
            #expect(error?.code == code)
            options[keyPath: limit] = 2000
            #expect(
                try ValueDecoder().decode([String: String].self, from: bytes, as: format, options: options) == source)
        }
    }

    @Test("A description has what lies beneath, of whatever kind it is")
    func descriptions() {
        struct Closed: Error, CustomStringConvertible { var description: String { "socket closed" } }
        var form = MultipartFormData()
        let error = #expect(throws: SerializationError.self) {
            try form.append(.once { _ in throw Closed() }, length: 5, name: "a", fileName: nil, mimeType: "text/plain")
            _ = try form.encode()
        }
        #expect(error?.description == "the stream of a part failed (socket closed)")
        let inner = SerializationError(.unacceptableStatusCode, reason: "the status is 404")
        let outer = SerializationError(.unreadableBody, reason: "the body is none", underlying: inner)
        #expect(outer.description == "the body is none (the status is 404)")
        #expect(SerializationError(.emptyBody, reason: "Whole.").description == "Whole.")
    }

    private static func head(_ type: String) -> HTTPResponse {
        var head = HTTPResponse(status: .ok)
        head.headerFields[.contentType] = type
        return head
    }

    private static func list(_ count: Int, _ element: String = "1") -> [UInt8] {
        Array(("[" + Array(repeating: element, count: count).joined(separator: ",") + "]").utf8)
    }

    @Test("Small values by the thousand are read", arguments: [22_000, tries(1_000_000)])
    func smallValues(count: Int) throws {
        let body = Self.list(count)
        let result = JSONResponseSerializer().serialize(Self.head("application/json"), body: body)
        #expect(try result.get()?.array?.count == count)
        #expect(try ValueDecoder().decode([Int].self, from: body, as: .json) == Array(repeating: 1, count: count))
    }

    /// Bodies of which each byte makes as much as one of the format can, as often as it takes to pass 1 MiB.
    static let densest: [(DocumentFormat, String, String, String)] = [
        (.json, "[", "0,", "0]"), (.json, "[", "[],", "0]"), (.json, "[", "{},", "[]]"),
        (.json, "[", #"{"":0},"#, "0]"), (.json, "[", #""","#, "0]"), (.xml, "<a>", "<b/>", "</a>"),
        (.xml, "<a>", "<b c=''/>", "</a>"), (.propertyList, "<plist><array>", "<true/>", "</array></plist>"),
        (.propertyList, "<plist><array>", "<array/>", "</array></plist>"), (.form, "", "a&", "a"),
        (.form, "", "a[]&", "a[]"), (.form, "", "a[][][][][][]&", "b"),
    ]

    @Test("No byte of a body makes more than it may", arguments: densest.indices)
    func dense(_ index: Int) throws {
        let (format, start, piece, end) = Self.densest[index]
        let body = Array((start + String(repeating: piece, count: 30_000) + end).utf8)
        var options = DocumentOptions()
        options.limits.fields = .max
        _ = try Value(decoding: body, as: format, options: options)
        _ = try ValueDecoder().decode(Value.self, from: body, as: format, options: options)
        guard format == .xml else { return }
        let serializer = XMLDocumentResponseSerializer()
        #expect(try serializer.serialize(Self.head("text/xml"), body: body).get() != nil)
    }

    @Test("Property lists are read, XML and binary, whatever their size")
    func propertyLists() throws {
        let value = Value.array(Array(repeating: 1, count: 30_000))
        for format in PropertyList.Format.allCases {
            var options = DocumentOptions()
            options.propertyListEncoding.format = format
            let body = try value.encoded(as: .propertyList, options: options)
            let result = PropertyListResponseSerializer().serialize(Self.head("application/x-plist"), body: body)
            #expect(try result.get() == value)
            #expect(try ValueDecoder().decode([Int].self, from: body, as: .propertyList).count == 30_000)
        }
    }

    @Test(
        "A text is read whatever its length, in the formats that bound one that streams",
        arguments: ["<a>#</a>", "<a b='#'/>", "a=#"])
    func longTexts(frame: String) throws {
        let body = frame.replacing("#", with: String(repeating: "x", count: 200_000))
        let format: DocumentFormat = frame.hasPrefix("<") ? .xml : .form
        var options = DocumentOptions()
        let value = try Value(decoding: body, as: format)
        #expect("\(value)".utf8.count > 200_000)
        #expect(try ValueDecoder().decode(Value.self, from: body, as: format) == value)
        if format == .xml {
            let serializer = XMLDocumentResponseSerializer()
            #expect(try serializer.serialize(Self.head("text/xml"), body: Array(body.utf8)).get() == value)
        }
        for limit in [199_999, 200_000, 200_001, 64 * 1024] {
            options.limits.field = limit
            #expect(((try? Value(decoding: body, as: format, options: options)) != nil) == (limit >= 200_000))
        }
    }

    @Test("A document in memory is written whatever its size, unless the program says otherwise")
    func writing() throws {
        let text = String(repeating: "x", count: 2_000_000)
        let value: Value = ["b": .string(text), "a": 1]
        var options = DocumentOptions()
        options.propertyListEncoding.format = .binary
        #expect(try value.encoded(as: .propertyList, options: options).count > 2_000_000)
        let list = PropertyListRequestSerializer(format: .binary)
        #expect(try list.request(method: .post, url: "/", parameters: value).bodyBytes?.count ?? 0 > 2_000_000)
        let form = HTTPRequestSerializer(dialect: .alamofire)
        #expect(try form.request(method: .post, url: "/", parameters: value).bodyBytes?.count == 2_000_006)
        #expect(try form.multipartRequest(url: "/", parameters: value).contentLength ?? 0 > 2_000_000)
        options.limits.tree = 1024 * 1024
        let error = #expect(throws: ConversionError.self) {
            try value.encoded(as: .propertyList, options: options)
        }
        #expect(error?.code == "limit_tree")
    }

    @Test("A limit of the program's own holds at n - 1, n and n + 1, also at the number that it has by itself")
    func ownLimit() {
        for count in [3, 21_399] {
            let body = Self.list(count)
            let cost = Tree.nodeCost + count * (Tree.nodeCost + 1)
            for limit in [cost - 1, cost, cost + 1] {
                var serializer = JSONResponseSerializer()
                serializer.options.limits.tree = limit
                let result = serializer.serialize(Self.head("application/json"), body: body)
                #expect((result.value != nil) == (limit >= cost))
                #expect(result.error?.kind == (limit >= cost ? nil : .unreadableBody))
                let decoded = try? ValueDecoder().decode(
                    [Int].self, from: body, as: .json, options: serializer.options)
                #expect((decoded != nil) == (limit >= cost))
            }
        }
        var limits = Limits()
        #expect(limits.tree == 1024 * 1024)
        #expect(limits.tree(forBody: 16_384) == 1024 * 1024)
        #expect(limits.tree(forBody: 16_385) == 1024 * 1024 + 64)
        #expect(limits.tree(forBody: .max) == .max)
        limits.tree = limits.tree
        #expect(limits.tree(forBody: 1 << 30) == 1024 * 1024)
        #expect(limits != Limits())
    }

    @Test("A body beyond a limit is said to be that, and not to be none of its format")
    func reason() {
        let deep = Array((String(repeating: "[", count: 129) + String(repeating: "]", count: 129)).utf8)
        let json = JSONResponseSerializer().serialize(Self.head("text/json"), body: deep).error
        #expect(json?.reason == "the body is beyond limits.depth")
        #expect(json?.conversion?.code == "limit_depth")
        var lists = PropertyListResponseSerializer()
        lists.options.limits.tree = 10
        let list = Array("<plist><array><true/></array></plist>".utf8)
        let error = lists.serialize(Self.head("application/x-plist"), body: list).error
        #expect(error?.reason == "the body is beyond limits.tree")
        var documents = XMLDocumentResponseSerializer()
        documents.limits.tree = 10
        let document = documents.serialize(Self.head("text/xml"), body: Array("<a><b>0123456789</b></a>".utf8)).error
        #expect(document?.reason == "the body is beyond limits.tree")
        let none = JSONResponseSerializer().serialize(Self.head("text/json"), body: Array("{".utf8)).error
        #expect(none?.reason == "the body is not JSON")
    }
}
