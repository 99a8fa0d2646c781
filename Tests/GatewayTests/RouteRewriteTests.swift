import Gateway
import HTTPWire
import Octets
import Testing
import Transcoding

/// A certificate whose parts are their names.
private struct ShownCertificate: ClientCertificate {
    func append(_ part: CertificatePart, to output: inout [UInt8]) { output.append(contentsOf: part.rawValue.utf8) }
}

/// A request and what its route's path took from it.
private struct Matched: ~Copyable {
    let request: MessageHead
    let captures: PathCaptures
}

@Suite struct RouteRewriteTests {
    /// Runs a request through a route for `/orders/{id}/*` and rewrites its target.
    private func rewritten(_ target: String, _ rewrite: Rewrite, fields: [(String, String)] = []) throws -> String {
        let matched = try matched(target, fields)
        var output = OutputBuffer()
        try rewrite.appendTarget(
            of: matched.request, captures: matched.captures, client: Array("192.0.2.1".utf8).span, to: &output)
        let text = output.span.lossyString()
        return text
    }

    @Test(
        "R42 slashes in front of what a star stands for go on, but never as two at the beginning",
        arguments: [
            ("/bucket/*", "/store/$0", "/bucket/key", "/store/key"),
            ("/bucket/*", "/store/$0", "/bucket//key", "/store//key"),
            ("/bucket/*", "/store/$0", "/bucket////", "/store////"),
            ("/bucket/*", "/store/$0", "//bucket//a//b", "/store//a//b"),
            ("/*", "/store/$0", "//key", "/store//key"), ("/bucket/*", "/$0", "/bucket//key", "/key"),
            ("/bucket/*", "/$0", "/bucket//", "/"), ("/bucket/*", "/$0/x", "/bucket//key//a", "/key//a/x"),
            ("/bucket/*", "/x$0", "/bucket//key", "/x/key"), ("/{a}/*", "/$1/$0", "/b///key", "/key/b"),
            ("/{a}/*", "/$0/$1", "/b///key", "/b///key"), ("/{a}/x", "/$0", "//b//x", "/b"),
            ("/{a}/*", "/$1/$0", "/b/", "/b"), ("/{a}/*", "/$1/$0", "/b///", "/b"),
            ("/bucket/*", "/$0/x", "/bucket/", "/x"), ("/bucket/*", "/$0//x", "/bucket/", "/x"),
            ("/bucket/*", "/$0/", "/bucket/", "/"), ("/bucket/*", "/$0/x", "/bucket/a/", "/a//x"),
            ("/bucket/*", "/store/$0/x", "/bucket/", "/store//x"), ("/v1*", "/$0/x", "/v1", "/x"),
            // What stands in front of a part of a segment, or of one segment, is the pattern's.
            ("/bucket/a*", "/store/$0", "/bucket//ab", "/store/b"),
            ("/bucket/{a}", "/store/$0", "/bucket//b", "/store/b"),
        ])
    func slashes(path: String, inner: String, target: String, expected: String) throws {
        #expect(try rewritten(target, by: path, inner, PathRules()) == expected)
    }

    @Test(
        "R42 where empty segments are told apart, a star stands for them as they came", arguments: ["/store/$0", "/$0"])
    func emptySegments(inner: String) throws {
        var rules = PathRules()
        rules.emptySegments = .pass
        let expected = inner.replacing("$0", with: "/key")
        #expect(try rewritten("/bucket//key", by: "/bucket/*", inner, rules) == expected)
        #expect(try rewritten("/a//key", by: "/a//*", inner, rules) == inner.replacing("$0", with: "key"))
    }

    /// Rewrites a target by a route for `path`, with `$0`, `$1` for its variables in `inner`.
    private func rewritten(_ target: String, by path: String, _ inner: String, _ rules: PathRules) throws -> String {
        var pieces: [Rewrite.PathPiece] = []
        for (number, part) in inner.split(separator: "$", omittingEmptySubsequences: false).enumerated() {
            var text = part
            if number > 0 { pieces.append(.variable(try #require(Int(String(text.removeFirst()))))) }
            if !text.isEmpty { pieces.append(.literal(String(text))) }
        }
        let rewrite = Rewrite(path: pieces)
        let route = Route(
            index: 0, name: "r", match: RouteMatch(path: try PathPattern(parsing: path)), upstream: 0, rewrite: rewrite)
        let request = try requestHead(target)
        guard case .found(let found) = RouteTable([route], paths: rules).find(request) else { return "none" }
        var output = OutputBuffer()
        let client: [UInt8] = []
        try rewrite.appendTarget(of: request, captures: found.captures, client: client.span, to: &output)
        let text = output.span.lossyString()
        return text
    }

    private func matched(
        _ target: String, _ fields: [(String, String)]
    ) throws -> Matched {
        let route = Route(
            index: 0, name: "r", match: RouteMatch(path: try PathPattern(parsing: "/orders/{id}/*")), upstream: 0)
        let request = try requestHead("GET", target, fields: fields)
        guard case .found(let found) = RouteTable([route]).find(request) else {
            Issue.record("the request must match")
            return Matched(request: request, captures: PathCaptures())
        }
        return Matched(request: request, captures: found.captures)
    }

    @Test("a rewritten path takes variables as they were received, escapes and all")
    func path() throws {
        let rewrite = Rewrite(path: [.literal("/o.php/"), .variable(0), .literal("/"), .variable(1)])
        #expect(try rewritten("/orders/a%2Fb/x/y%20z?q=1", rewrite) == "/o.php/a%2Fb/x/y%20z?q=1")
        #expect(try rewritten("/orders/7/", rewrite) == "/o.php/7/")
    }

    @Test(
        "parameters that are set replace those of their name, and all others stay as received",
        arguments: [
            ("/orders/7/", "/orders/7/?id=7"),
            ("/orders/7/?", "/orders/7/?&id=7"),
            ("/orders/7/?a=%zz&b", "/orders/7/?a=%zz&b&id=7"),
            ("/orders/7/?id=1&x=2&%69d=3&id&idx=4", "/orders/7/?x=2&idx=4&id=7"),
            ("/orders/a%26b%20c/", "/orders/a%26b%20c/?id=a%26b%20c"),
        ])
    func query(target: String, expected: String) throws {
        #expect(try rewritten(target, Rewrite(query: [.init(name: "id", value: .path(0, "id"))])) == expected)
    }

    @Test(
        "a source gives the value from the request's head, decoded once, and the empty text where there is none",
        arguments: [
            (SourceReference.path(0, "id"), "a/b"),
            (.path(1, "rest"), "x/y z"),
            (.query("q"), "1 2&"),
            (.query("a b"), "3"),
            (.query("bare"), ""),
            (.query("none"), ""),
            (.header("x-tenant"), "t1, t2"),
            (.header("x-none"), ""),
            (.clientAddress, "192.0.2.1"), (.clientCertificate(.subject), ""),
            (.literalMix([.literal("<"), .source(.header("x-one")), .literal(">")]), "<${path.id}>"),
        ])
    func sources(source: SourceReference, expected: String) throws {
        let matched = try matched(
            "/orders/a%2Fb/x/y%20z?q=1+2%26&a+b=3&bare",
            [("X-Tenant", "t1"), ("x-one", "${path.id}"), ("x-tenant", "t2")])
        var output: [UInt8] = []
        try source.append(
            from: matched.request, captures: matched.captures, client: Array("192.0.2.1".utf8).span, to: &output)
        #expect(String(decoding: output, as: UTF8.self) == expected)
    }

    @Test(
        "a field takes parts of the client's certificate, and nothing where there is none",
        arguments: CertificatePart.allCases)
    func certificate(part: CertificatePart) throws {
        let matched = try matched("/orders/a/b", [])
        let source = SourceReference.literalMix([.source(.clientCertificate(part)), .literal("!")])
        for certificate in [ShownCertificate(), nil] {
            var output: [UInt8] = []
            source.appendFieldValue(
                from: matched.request, captures: matched.captures, client: [UInt8]().span, certificate, to: &output)
            #expect(String(decoding: output, as: UTF8.self) == (certificate == nil ? "!" : "\(part.rawValue)!"))
        }
        #expect(source.readsCertificate && source.fieldNames == ["*"])
        #expect(source.description == "${client.certificate.\(part.rawValue)}!")
    }

    @Test("a value that is not UTF-8 is refused by its name")
    func invalidUTF8() throws {
        let matched = try matched("/orders/%FF/", [])
        var output: [UInt8] = []
        let client: [UInt8] = []
        var refusal: ConversionError?
        do {
            try SourceReference.path(0, "id").append(
                from: matched.request, captures: matched.captures, client: client.span, to: &output)
        } catch {
            refusal = error
        }
        let expected = ConversionError(
            .malformed, code: "source_invalid_utf8", reason: "the value of ${path.id} is not UTF-8")
        #expect(refusal == expected)
    }
}
