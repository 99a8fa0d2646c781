import HTTPWire
import Octets
import Proxy
import Testing

/// What walks around a route, and what becomes of it (H2).
@Suite struct PathRuleTests {
    private static let paths = ["/admin/*", "/*"]

    private func rules(_ dots: PathRules.DotSegments, _ empty: PathRules.EmptySegments) -> PathRules {
        var rules = PathRules()
        rules.dotSegments = dots
        rules.emptySegments = empty
        return rules
    }

    /// The route's index and the path as it goes on, or why there is none.
    private func found(_ target: String, _ rules: PathRules) throws -> String {
        let routes = Self.paths.enumerated().map { forward($1, index: $0) }
        let table = RouteTable(routes, paths: rules)
        var head = try requestHead(target)
        table.normalize(&head)
        switch table.find(head) {
        case .found(let found): return "\(found.route.name) \(head.path.lossyString())"
        case .dotSegment(let offset): return "dot at \(offset)"
        case .emptySegment(let offset): return "empty at \(offset)"
        default: return "other"
        }
    }

    @Test(
        "R41 R42 nothing walks around a route by default",
        arguments: [
            ("/admin/x", "r0 /admin/x"), ("//admin/x", "r0 //admin/x"), ("///admin//x", "r0 ///admin//x"),
            ("/./admin/x", "dot at 1"), ("/x/../admin/y", "dot at 3"), ("/%2e/admin/y", "dot at 1"),
            ("/x/%2E%2e/admin", "dot at 3"), ("/x/..%2fadmin", "dot at 3"), ("/x/..;/admin", "dot at 3"),
            ("/x/..", "dot at 3"),
            ("/x//y", "r1 /x//y"), ("/x.y/z", "r1 /x.y/z"), ("/%252e%252e/admin", "r1 /%252e%252e/admin"),
        ])
    func standard(target: String, expected: String) throws {
        #expect(try found(target, PathRules()) == expected)
    }

    @Test(
        "each setting does what its word says",
        arguments: [
            (PathRules.DotSegments.pass, PathRules.EmptySegments.pass, "/x/../admin/y", "r1 /x/../admin/y"),
            (.pass, .pass, "//admin/y", "r1 //admin/y"), (.pass, .ignore, "//admin/../y", "r0 //admin/../y"),
            (.normalize, .ignore, "/x/../admin/y?a", "r0 /admin/y"), (.normalize, .ignore, "/admin/../y", "r1 /y"),
            (.normalize, .ignore, "/x/..;/admin", "dot at 3"), (.normalize, .pass, "/x/..%5cadmin", "dot at 3"),
            (.normalize, .merge, "//x/..//admin/y", "r0 /admin/y"), (.reject, .merge, "//admin//y", "r0 /admin/y"),
            (.reject, .merge, "/./admin", "dot at 1"), (.reject, .reject, "//admin", "empty at 1"),
            (.pass, .reject, "/a/b//", "empty at 5"), (.reject, .reject, "/a/b/", "r1 /a/b/"),
        ])
    func words(
        dots: PathRules.DotSegments, empty: PathRules.EmptySegments, target: String, expected: String
    ) throws {
        #expect(try found(target, rules(dots, empty)) == expected)
    }

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
