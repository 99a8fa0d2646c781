import Gateway
import HTTPWire
import Octets
import Proxy
import Testing

/// What walks around a route, and what becomes of it (H2).
@Suite struct PathRuleTests {
    @Test("a request with a dot segment is a 400 with a code, and the connection goes on")
    func refused() throws {
        try withRig { rig throws in
            let client = try rig.connect(sending: "GET /x/%2e%2e/admin HTTP/1.1\r\nHost: a\r\n\r\n")
            expectProblem(try rig.response(to: client), 400, "http_dot_segment")
            client.send("GET /x//y HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(try rig.request().startLine == "GET /x//y HTTP/1.1")
        }
        try withRig(configure: { $0.forwarding.paths.emptySegments = .reject }) { rig throws in
            let client = try rig.connect(sending: "GET /x//y HTTP/1.1\r\nHost: a\r\n\r\n")
            expectProblem(try rig.response(to: client), 400, "http_empty_segment")
        }
    }

    @Test("a normalized path is what goes upstream, the query as it came")
    func normalized() throws {
        try withRig(configure: {
            $0.forwarding.paths.dotSegments = .normalize; $0.forwarding.paths.emptySegments = .merge
        }) { rig throws in
            let (request, _, _) = try rig.exchange("GET /a//b/./../c?d=..//e HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(request.startLine == "GET /a/c?d=..//e HTTP/1.1")
        }
    }

    @Test(
        "what a rewrite takes from the path never leads out of it, whatever the settings say of paths",
        arguments: [
            "..", ".", "%2e%2e", "%2E.", ".%2e", "..%2fadmin", "..%5cadmin", "a%2f..%2fb", "..;", "..;v=1",
            "%2e%2e%3bx", "..%00",
        ])
    func rewrite(insertion: String) throws {
        let rewrite = Rewrite(path: [.literal("/base/"), .variable(0)])
        try withRig(
            [forward("/files/{x}", rewrite: rewrite)],
            configure: { $0.forwarding.paths.dotSegments = .pass }
        ) { rig throws in
            let client = try rig.connect(sending: "GET /files/\(insertion) HTTP/1.1\r\nHost: a\r\n\r\n")
            expectProblem(try rig.response(to: client), 400, "rewrite_dot_segment")
            #expect(rig.upstreams.isEmpty)
        }
    }

    @Test(
        "what only has dots is inserted as it came",
        arguments: ["a.b", "...", ".a", "%252e%252e", "a;..", "x%2fy"])
    func inserted(insertion: String) throws {
        let rewrite = Rewrite(path: [.literal("/base/"), .variable(0)])
        try withRig([forward("/files/{x}", rewrite: rewrite)]) { rig throws in
            let (request, _, _) = try rig.exchange("GET /files/\(insertion) HTTP/1.1\r\nHost: a\r\n\r\n")
            #expect(request.startLine == "GET /base/\(insertion) HTTP/1.1")
        }
    }

    @Test("a dot segment that the literal and the variable make together is one too")
    func composed() throws {
        let rewrite = Rewrite(path: [.literal("/base/."), .variable(0)])
        try withRig([forward("/files/*", rewrite: rewrite)]) { rig throws in
            for rest in ["", "%2e", "%2fx"] {
                let client = try rig.connect(sending: "GET /files/\(rest) HTTP/1.1\r\nHost: a\r\n\r\n")
                let answer = try rig.response(to: client)
                #expect(answer.status == 400, "\(rest)")
            }
        }
    }
}
