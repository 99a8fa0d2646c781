import Gateway
import HTTPWire
import Octets
import Proxy
import Testing
import Transcoding

/// Routes that move parameters between the query of the target and the body.
@Suite struct QueryTests {
    private static func route(_ output: BodyEncoding, reads: Bool, rewrite: Rewrite? = nil) throws -> Route {
        var plan = ConversionPlan(inputs: [reads ? .form : .json], output: output)
        plan.readsQuery = reads
        plan.writesQuery = !reads
        return Route(
            index: 0, name: "query", match: RouteMatch(path: try PathPattern(parsing: "/*")), upstream: 0,
            rewrite: rewrite, request: .convert(plan, otherTypes: .reject, sources: []))
    }

    @Test(
        "a query becomes the body, and the target loses it",
        arguments: [
            ("/p?a=1&b[]=2&b[]=x+y", "/p", #"{"a":"1","b":["2","x y"]}"#),
            ("/p?a%5Bb%5D=%C3%A4", "/p", #"{"a":{"b":"ä"}}"#),
            ("/p?", "/p", "{}"),
            ("/p", "/p", "{}"),
        ])
    func reads(target: String, sent: String, body: String) throws {
        try withRig([Self.route(.json, reads: true)]) { rig in
            let (request, response, _) = try rig.exchange("GET \(target) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(request.startLine == "GET \(sent) HTTP/1.1")
            #expect(request["Content-Type"] == "application/json")
            #expect(request["Content-Length"] == String(body.utf8.count))
            #expect(request.text == body)
            #expect(response.text == "ok")
        }
    }

    @Test("a query beyond 64 KiB of output goes out whole, and the next exchange is bounded as before")
    func manyParts() throws {
        var plan = ConversionPlan(inputs: [.form], output: .multipart)
        plan.readsQuery = true
        let route = Route(
            index: 0, name: "query", match: RouteMatch(path: try PathPattern(parsing: "/*")), upstream: 0,
            request: .convert(plan, otherTypes: .reject, sources: []))
        try withRig([route]) { rig in
            let query = (0..<1000).map { "k\($0)=1" }.joined(separator: "&")
            let (request, _, client) = try rig.exchange("GET /p?\(query) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(request.text.contains("name=\"k999\""))
            #expect((Int(request["Content-Length"] ?? "") ?? 0) > 64 * 1024)
            client.send("GET /p?a=1 HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try rig.request().text.contains("name=\"a\""))
            rig.upstreams[0].send(ok)
            #expect(try rig.response(to: client).text == "ok")
        }
    }

    @Test("a query that can't be read is refused, and so is a body that the query's would replace")
    func refusedQuery() throws {
        try withRig([Self.route(.json, reads: true)]) { rig in
            let client = try rig.connect(sending: "GET /p?a=1&a[b]=2 HTTP/1.1\r\nHost: a\r\n\r\n")
            let conflict = try rig.response(to: client)
            #expect(conflict.startLine.contains("400") && conflict.text.contains("form_conflict"))
            client.send(post("/p?a=1", "application/json", "{}"))
            let twice = try rig.response(to: client)
            #expect(twice.startLine.contains("422") && twice.text.contains("query_with_body"))
            #expect(rig.upstreams.isEmpty)
        }
    }

    @Test(
        "a body becomes the query, behind what the target has",
        arguments: [
            ("/p", #"{"a":1,"b":[{"c":"x y"}]}"#, "/p?a=1&b%5B0%5D%5Bc%5D=x%20y"),
            ("/p?z=0", #"{"a":"&"}"#, "/p?z=0&a=%26"),
            ("/p?z=0", "{}", "/p?z=0"),
        ])
    func writes(target: String, body: String, sent: String) throws {
        try withRig([Self.route(.form, reads: false)]) { rig in
            let (request, _, _) = try rig.exchange(post(target, "application/json", body))
            #expect(request.startLine == "POST \(sent) HTTP/1.1")
            #expect(request["Content-Type"] == nil)
            #expect(request["Content-Length"] == "0")
            #expect(request.text.isEmpty)
        }
    }

    @Test("what the route rewrites stands before the query that is written, and is kept where the query is read")
    func rewritten() throws {
        let rewrite = Rewrite(path: [.literal("/o.php")], query: [.init(name: "v", value: .clientAddress)])
        try withRig([Self.route(.form, reads: false, rewrite: rewrite)]) { rig in
            let (request, _, _) = try rig.exchange(post("/p?z=0", "application/json", #"{"a":1}"#))
            #expect(request.startLine == "POST /o.php?z=0&v=127.0.0.1&a=1 HTTP/1.1")
        }
        try withRig([Self.route(.json, reads: true, rewrite: rewrite)]) { rig in
            let (request, _, _) = try rig.exchange("GET /p?z=0 HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(request.startLine == "GET /o.php?v=127.0.0.1 HTTP/1.1")
            #expect(request.text == #"{"z":"0"}"#)
        }
    }

    @Test(
        "a request line has room for 16 KiB with its query, and a longer one is refused",
        arguments: [(-1, true), (0, true), (1, false), (60_000, false), (200_000, false)])
    func length(more: Int, isSent: Bool) throws {
        try withRig([Self.route(.form, reads: false)]) { rig in
            let beside = "POST /p?a= HTTP/1.1".utf8.count
            let value = String(repeating: "x", count: WireLimits().requestLine - beside + more)
            let client = try rig.connect(sending: post("/p", "application/json", #"{"a":"\#(value)"}"#))
            if isSent {
                #expect(try rig.request().startLine == "POST /p?a=\(value) HTTP/1.1")
                rig.upstreams[0].send(ok)
                #expect(try rig.response(to: client).text == "ok")
            } else {
                let refusal = try rig.response(to: client)
                #expect(refusal.startLine.contains("422") && refusal.text.contains("query_too_long"))
                #expect(rig.upstreams.isEmpty)
            }
        }
    }
}
