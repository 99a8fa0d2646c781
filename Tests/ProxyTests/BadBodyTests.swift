import Foundation
import Gateway
import Proxy
import Testing
import Transcoding

/// Bodies that can't be converted: what the client is told, and that the upstream can't take anything for a
/// whole request.
@Suite struct BadBodyTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let input: BodyEncoding
        let output: BodyEncoding
        var type: String
        let body: String
        let status: Int
        let code: String
        var offset: Int?
        var field: String?
        var setting: String?

        var testDescription: String { "\(input) → \(output): \(code)" }
    }

    static let cases: [Case] = [
        Case(
            input: .json, output: .form, type: jsonType, body: #"{"a":"SECRET",}"#, status: 400,
            code: "json_unexpected_byte", offset: 14),
        Case(
            input: .json, output: .multipart, type: jsonType, body: #"{"a":"SECRET"#, status: 400,
            code: "json_unexpected_end", offset: 12),
        Case(
            input: .json, output: .json, type: jsonType, body: "", status: 400, code: "json_empty_body", offset: 0),
        Case(
            input: .json, output: .form, type: jsonType, body: #"{"a":"SECRET","a":2}"#, status: 400,
            code: "json_duplicate_key", field: "/a", setting: "duplicates"),
        Case(
            input: .form, output: .json, type: formType, body: "a=SECRET&b=%FF", status: 400,
            code: "form_invalid_utf8", field: "b", setting: "invalid_utf8"),
        Case(
            input: .multipart, output: .json, type: multipartType,
            body: "--x\r\nContent-Disposition: form-data; name=a\r\n\r\nSECRET\r\n", status: 400,
            code: "multipart_truncated"),
        Case(
            input: .multipart, output: .form, type: multipartType,
            body: "--x\r\nContent-Disposition: form-data\r\n\r\nSECRET\r\n--x--\r\n", status: 400,
            code: "multipart_name_missing"),
        Case(
            input: .multipart, output: .multipart, type: "multipart/form-data", body: "--x--", status: 400,
            code: "multipart_boundary_missing"),
        Case(
            input: .multipart, output: .form, type: multipartType,
            body:
                "--x\r\nContent-Disposition: form-data; name=photo; filename=SECRET\r\n\r\nSECRET\r\n--x--\r\n",
            status: 422, code: "", field: "photo", setting: "files"),
        Case(
            input: .json, output: .form, type: jsonType, body: #"{"a":{"b":[]},"c":"SECRET"}"#, status: 422,
            code: "", field: "a[b]", setting: "empties"),
        Case(
            input: .json, output: .form, type: jsonType, body: #"{"a":[[[[[["SECRET"]]]]]]}"#, status: 413,
            code: "limit_depth", setting: "limits.depth"),
        Case(
            input: .form, output: .json, type: formType, body: "a=SECRET&b=1&c=1&d=1", status: 413,
            code: "limit_fields", setting: "limits.fields"),
        Case(
            input: .form, output: .json, type: jsonType, body: #"{"a":"SECRET"}"#, status: 415,
            code: "unsupported_media_type"),
        Case(
            input: .form, output: .json, type: "text/SECRET", body: "a=SECRET", status: 415,
            code: "unsupported_media_type"),
    ]

    private func limits() -> Limits {
        var limits = Limits()
        limits.depth = 5
        limits.fields = 3
        return limits
    }

    /// The request, whole or cut before the last byte of its body, framed by a length or in one chunk.
    private func request(_ item: Case, chunked: Bool) -> String {
        guard chunked else { return post("/", item.type, item.body) }
        let size = String(item.body.utf8.count, radix: 16)
        let chunk = item.body.isEmpty ? "" : "\(size)\r\n\(item.body)\r\n"
        return
            "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: \(item.type)\r\nTransfer-Encoding: chunked\r\n\r\n"
            + "\(chunk)0\r\n\r\n"
    }

    @Test(
        "a bad body is answered with a problem that says what and where, and the upstream is not even asked",
        arguments: cases)
    func refused(item: Case) throws {
        try withRig([convert(item.input, item.output, limits: limits())]) { rig in
            for chunked in [false, true] {
                let client = try rig.connect(sending: request(item, chunked: chunked))
                let response = try rig.response(to: client)
                #expect(response.status == item.status)
                #expect(response["Content-Type"] == "application/problem+json")
                #expect(response["Cache-Control"] == "no-store")
                let problem = try #require(
                    JSONSerialization.jsonObject(with: Data(response.body)) as? [String: Any])
                #expect(problem["type"] as? String == "about:blank")
                #expect(problem["status"] as? Int == item.status)
                #expect(item.code.isEmpty || problem["code"] as? String == item.code, "\(response.text)")
                #expect((problem["detail"] as? String)?.isEmpty == false)
                #expect(problem["title"] as? String != nil)
                #expect(problem["request_id"] as? String == response["X-Request-Id"])
                if let offset = item.offset { #expect(problem["offset"] as? Int == offset) }
                if let field = item.field { #expect((problem["field"] ?? problem["pointer"]) as? String == field) }
                if let setting = item.setting { #expect(problem["setting"] as? String == setting) }
                #expect(!response.text.contains("SECRET"))
                if item.status == 415 { #expect(response["Accept-Post"] == item.input.mediaType) }
            }
            rig.settle()
            #expect(rig.upstreams.isEmpty)
        }
    }

    @Test(
        "a body that turns out bad after the upstream request has begun aborts it: no last chunk"
    )
    func abortedUpstream() throws {
        let large = String(repeating: "x", count: 600_000)
        let part = "--x\r\nContent-Disposition: form-data; name=a; filename=f\r\n\r\n\(large)"
        let bodies: [(Route, String, String)] = [
            (convert(.json, .form), jsonType, #"{"a":"\#(large)","b":}"#),
            (convert(.json, .json), jsonType, #"{"a":"\#(large)""#),
            (convert(.json, .multipart), jsonType, #"{"a":"\#(large)","b":[1,]}"#),
            (convert(.multipart, .multipart), multipartType, part),
            (
                convert(.multipart, .json, plan: { $0.fieldDecoding.files = .base64 }), multipartType,
                part + "\r\n--x\r\nbad\r\n\r\n"
            ),
            (convert(.form, .form), formType, "a=\(large)&b=%FF"),
        ]
        for (route, type, body) in bodies {
            try withRig([route]) { rig in
                // A form can't be padded: it streams where the client hasn't said how long it is.
                let isForm = route.conversion?.plan.output == .form
                let chunked =
                    "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "\(String(body.utf8.count, radix: 16))\r\n\(body)\r\n0\r\n\r\n"
                let client = try rig.connect(sending: isForm ? chunked : post("/", type, body))
                let response = try rig.response(to: client)
                #expect(response.status == 400)
                let upstream = try rig.upstream()
                try rig.until("the upstream's connection ends") { upstream.isOver }
                #expect(upstream.text.contains(!isForm ? "Content-Length: " : "Transfer-Encoding: chunked\r\n"))
                #expect(!upstream.has(), "the upstream got a whole request from \(type)")
                #expect(!upstream.text.hasSuffix("0\r\n\r\n"))
                rig.settle()
                #expect(rig.upstreams.count == 1)
            }
        }
    }

    @Test(
        "R20 a body beyond limits.body is refused by its length, or where it passes the limit",
        arguments: [true, false])
    func bodyLimit(converted: Bool) throws {
        var limits = Limits()
        limits.body = 20
        let route = converted ? convert(.form, .json, limits: limits) : forward(limits: limits)
        try withRig([route]) { rig in
            for count in [19, 20] {
                let body = "a=" + String(repeating: "b", count: count - 2)
                #expect(try rig.exchange(post("/", formType, body)).response.status == 200)
            }
            let body = "a=" + String(repeating: "b", count: 19)
            let requests = [
                post("/", formType, body),
                "POST / HTTP/1.1\r\nHost: a\r\nContent-Type: \(formType)\r\nTransfer-Encoding: chunked\r\n\r\n"
                    + "14\r\n\(body.prefix(20))\r\n1\r\nb\r\n0\r\n\r\n",
            ]
            for request in requests {
                let response = try rig.response(to: try rig.connect(sending: request))
                #expect(response.status == 413)
                #expect(response.text.contains("limit_body"))
                #expect(response.text.contains("limits.body"))
            }
            rig.settle()
            for upstream in rig.upstreams {
                _ = upstream.take()
                _ = upstream.take()
                #expect(!upstream.has(), "a refused request went up whole")
            }
        }
    }

    @Test(
        "R36 a content coding that can't be undone is refused on a converting route, and any passes on a plain one")
    func contentCoding() throws {
        let gzip = "Content-Encoding: gzip\r\n"
        try withRig([convert(.form, .json, "/c"), forward(index: 1)]) { rig in
            let unknown = post("/c", formType, "a=1", fields: "Content-Encoding: exi\r\n")
            let refused = try rig.response(to: try rig.connect(sending: unknown))
            #expect(refused.status == 415)
            #expect(refused.text.contains("unsupported_content_coding"))
            let plain = try rig.exchange(post("/", formType, "a=1", fields: gzip)).request
            #expect(plain["Content-Encoding"] == "gzip")
            let identity = try rig.exchange(post("/c", formType, "a=1", fields: "Content-Encoding: Identity\r\n"))
            #expect(identity.request.text == #"{"a":"1"}"#)
        }
    }

    @Test("another type passes as it is where the route says so")
    func otherTypesPass() throws {
        try withRig([convert(.form, .json, otherTypes: .pass)]) { rig in
            let (request, _, _) = try rig.exchange(post("/", "text/plain", "hello", fields: "Digest: d\r\n"))
            #expect(request.text == "hello")
            #expect(request["Content-Type"] == "text/plain")
            #expect(request["Digest"] == "d")
        }
    }

    @Test("a request that no route takes is told so, with what would be taken")
    func noRoute() throws {
        let match = RouteMatch(path: try PathPattern(parsing: "/a"), methods: ["POST", "PUT"])
        try withRig([Route(index: 0, name: "r", match: match, upstream: 0)]) { rig in
            let client = try rig.connect(sending: "GET /b HTTP/1.1\r\nHost: a\r\n\r\n")
            let missing = try rig.response(to: client)
            #expect(missing.status == 404)
            #expect(missing.text.contains("no_route"))
            client.send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n")
            let method = try rig.response(to: client)
            #expect(method.status == 405)
            #expect(method["Allow"] == "POST, PUT")
            client.send("HEAD /b HTTP/1.1\r\nHost: a\r\n\r\n")
            let head = try rig.response(to: client, .none)
            #expect(head.status == 404)
            #expect(client.rest.isEmpty)
        }
    }

    @Test("a head that can't be read gets 400, and the connection ends whatever follows")
    func badHead() throws {
        try withRig { rig in
            let client = try rig.connect(
                sending: "GET / HTTP/1.1\r\nHost: a\r\nBad Name: x\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let response = try rig.response(to: client)
            #expect(response.status == 400)
            #expect(response["Connection"] == "close")
            #expect(response["Content-Type"] == "application/problem+json")
            try rig.until("the end") { client.isOver }
            #expect(client.rest.isEmpty)
            #expect(rig.upstreams.isEmpty)
        }
    }
}
