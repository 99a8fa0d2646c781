import HTTPTypes
import Serialization
import Testing
import Transcoding

/// Content-Length is set wherever there is a body, says its length, and is its only framing.
@Suite("Content-Length of requests")
struct ContentLengthTests {
    static let parameters: Value = ["a": "\u{E9}", "b": [1, 2]]

    private func check(_ request: SerializedRequest, _ comment: Comment? = nil) throws {
        let length = request.head.headerFields[.contentLength]
        #expect(length == request.contentLength.map(String.init), comment)
        #expect(request.head.headerFields[.transferEncoding] == nil, comment)
        switch request.body {
        case .none: #expect(length == nil, comment)
        case .bytes(let bytes): #expect(length == String(bytes.count), comment)
        case .multipart(let form): #expect(try length == String(form.encode().count), comment)
        }
    }

    @Test("Each serializer sets it, in each dialect and for each method", arguments: Dialect.allCases)
    func serializers(_ dialect: Dialect) throws {
        let serializers: [any RequestSerializer] = [
            HTTPRequestSerializer(dialect: dialect), JSONRequestSerializer(dialect: dialect),
            PropertyListRequestSerializer(dialect: dialect),
            PropertyListRequestSerializer(format: .binary, dialect: dialect),
        ]
        for var serializer in serializers {
            serializer.encoding.empties = .omit
            if dialect == .whatwg { serializer.encoding.nesting = .brackets }
            for method in [HTTPRequest.Method.get, .head, .delete, .post, .put, .patch, .init("PURGE")!] {
                for parameters in [nil, Self.parameters, [:]] as [Value?] {
                    let request = try serializer.request(method: method, url: "/p", parameters: parameters)
                    try check(request, "\(type(of: serializer)) \(method)")
                }
            }
            let form = try serializer.multipartRequest(url: "/p", parameters: ["a": 1])
            try check(form)
        }
    }

    @Test("What the caller says of it doesn't count where there is a body")
    func callers() throws {
        var serializer = HTTPRequestSerializer()
        serializer.headerFields[.contentLength] = "3"
        serializer.headerFields[.transferEncoding] = "chunked"
        let fields: HTTPFields = [.contentLength: "5", .contentType: "text/x", .transferEncoding: "gzip, chunked"]
        let request = try serializer.request(
            method: .post, url: "/", parameters: Self.parameters, headerFields: fields)
        try check(request)
        #expect(request.head.headerFields[.contentType] == "text/x")
        let multipart = try serializer.multipartRequest(url: "/", parameters: ["a": 1], headerFields: fields)
        try check(multipart)
        var head = HTTPRequest(method: .post, scheme: nil, authority: nil, path: "/")
        head.headerFields[.contentLength] = "9"
        head.headerFields[.transferEncoding] = "chunked"
        try check(serializer.serialize(head, parameters: Self.parameters))
    }

    @Test("A request without a body announces none, whatever the caller says")
    func withoutBody() throws {
        let fields: HTTPFields = [.contentLength: "5", .transferEncoding: "chunked"]
        var serializer = HTTPRequestSerializer()
        for isDefault in [false, true] {
            if isDefault { serializer.headerFields = fields }
            for method in [HTTPRequest.Method.get, .head, .delete] {
                let own = isDefault ? [:] : fields
                try check(serializer.request(method: method, url: "/", parameters: ["a": 1], headerFields: own))
                var head = HTTPRequest(method: method, scheme: nil, authority: nil, path: "/")
                head.headerFields = own
                try check(serializer.serialize(head, parameters: nil))
            }
        }
        // These have no body without parameters.
        try check(JSONRequestSerializer().request(method: .post, url: "/", headerFields: fields))
        try check(PropertyListRequestSerializer().request(method: .put, url: "/", headerFields: fields))
        let empty = try JSONRequestSerializer().request(method: .post, url: "/", headerFields: [.contentLength: "0"])
        #expect(empty.head.headerFields[.contentLength] == "0")
    }
}
