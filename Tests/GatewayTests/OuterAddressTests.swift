import HTTPWire
import Octets
import Testing
import Transcoding

@testable import Gateway

/// The way back from an upstream's addresses to those that clients know.
@Suite struct OuterAddressTests {
    /// A route for `path` whose rewrite is `inner`, with `$0`, `$1` for its variables; empty: it has none.
    private static func route(
        _ index: Int, _ path: String, _ inner: String = "", upstream: Int = 0, hosts: [HostPattern] = []
    ) throws -> Route {
        var pieces: [Rewrite.PathPiece] = []
        for (number, part) in inner.split(separator: "$", omittingEmptySubsequences: false).enumerated() {
            var text = part
            if number > 0 { pieces.append(.variable(try #require(Int(String(text.removeFirst()))))) }
            if !text.isEmpty { pieces.append(.literal(String(text))) }
        }
        var options = RouteOptions()
        options.forwarding.addresses = .outer
        return Route(
            index: index, name: "r\(index)", match: RouteMatch(path: try PathPattern(parsing: path), hosts: hosts),
            upstream: upstream, rewrite: inner.isEmpty ? nil : Rewrite(path: pieces), options: options)
    }

    /// The ways of the first of `routes`.
    private static func addresses(_ routes: [Route]) throws -> OuterAddresses {
        try #require(OuterAddresses.all(of: routes) { _ in hosts }[0])
    }

    private static let hosts = ["app:8000", "10.0.0.1", "own.example:9000"]

    private static func outer(_ text: String, by routes: [Route]) throws -> String? {
        try outer(text, by: routes, called: ["shop.example"])
    }

    private static func outer(_ text: String, by routes: [Route], called: [String]) throws -> String? {
        let reference = Array(text.utf8)
        return try addresses(routes).outer(reference: reference.span, called.map { Array($0.utf8) })
            .map { String(decoding: $0, as: UTF8.self) }
    }

    @Test(
        "F29 an address is undone by the rewrite that could have made it",
        arguments: [
            ("/api/*", "/$0", "/login", "/api/login"), ("/api/*", "/$0", "/", "/api/"),
            ("/api/*", "/$0", "/a?b=/c#/d", "/api/a?b=/c#/d"), ("/*", "/svc/$0", "/svc/a/b", "/a/b"),
            ("/*", "/svc/$0", "/svc/", "/"), ("/*", "/svc/$0", "/svc", nil), ("/*", "/svc/$0", "/svcs/a", nil),
            ("/shop/*", "/svc/$0", "/svc//a", "/shop//a"), ("/shop/*", "/svc/$0", "/svc///", "/shop///"),
            // A star that stands for nothing leaves one slash at the beginning.
            ("/a/*", "/$0/x", "/x", "/a/"), ("/a/*", "/$0/x", "/b/x", "/a/b"), ("/a/*", "/$0/x", "/x/x", "/a/x"),
            ("/a/*", "/$0/x", "/y", nil), ("/a/*", "/$0/", "/", "/a/"), ("/{a}/*", "/$1/$0", "/b", "/b/"),
            ("/{a}/*", "/$1/$0", "/c/b", "/b/c"), ("/a/*", "/$0-x", "/-x", "/a/"), ("/a/*", "/svc/$0/x", "/svc/x", nil),
            ("/v1*", "/$0", "/a", "/v1a"), ("/o/{id}", "/v1/o/$0", "/v1/o/7", "/o/7"),
            ("/o/{id}", "/v1/o/$0", "/v1/o/7/lines", nil), ("/o/{id}", "/v1/o/$0", "/v1/o/", nil),
            ("/o/{id}", "/$0.json", "/a.b.json?x", "/o/a.b?x"), ("/o/{id}", "/$0.json", "/a/b.json", nil),
            ("/{a}/{b}", "/x/$1/y/$0/z", "/x/2/y/1/z", "/1/2"), ("/{a}/{b}", "/x/$1/y/$0/z", "/x/2/y/1/", nil),
            ("/{a}/*", "/$0-x/$1", "/u-x-x/v/w", "/u-x/v/w"), ("/{a}/*", "/$0-x/$1", "/u-x/v/w", "/u/v/w"),
            ("/a/*", "/$0/end", "/b/end/end", "/a/b/end"), ("/orders", "/v1/orders", "/v1/orders", "/orders"),
            ("/o/{id}", "/v1/o/$0", "/v1/o/a%2Fb%20c", "/o/a%2Fb%20c"), ("/käse/*", "/$0", "/x", "/k%C3%A4se/x"),
            // What it is told of no host, of another one, and of its own.
            ("/api/*", "/$0", "login", nil), ("/api/*", "/$0", "", nil), ("/api/*", "/$0", "?a", nil),
            ("/api/*", "/$0", "mailto:/a", nil), ("/api/*", "/$0", "http://other/login", nil),
            ("/api/*", "/$0", "http://app/login", nil), ("/api/*", "/$0", "http://app:8000/login", "/api/login"),
            ("/api/*", "/$0", "HTTPS://APP:8000/login?a", "/api/login?a"),
            ("/api/*", "/$0", "//app:8000/login", "/api/login"), ("/api/*", "/$0", "http://app:8000", "/api/"),
            ("/api/*", "/$0", "http://app:8000?a=/b", "/api/?a=/b"),
            ("/api/*", "/$0", "http://10.0.0.1:80/a", "/api/a"), ("/api/*", "/$0", "https://10.0.0.1:80/a", nil),
            ("/api/*", "/$0", "https://10.0.0.1:443/a", "/api/a"), ("/api/*", "/$0", "http://u@app:8000/a", nil),
            ("/api/*", "/$0", "https://Shop.example/a", "https://Shop.example/api/a"),
            ("/api/*", "/$0", "http://shop.example", "http://shop.example/api/"),
            ("/api/*", "/$0", "http://shop.example:8080/a", nil),
            // What would lead elsewhere than it did.
            ("/*", "/svc/$0", "/svc//evil.example/x", nil), ("/*", "/svc/$0", "/svc/\\evil.example", nil),
            ("/*", "", "http://app:8000//evil.example", nil), ("/*", "/svc/$0", "/svc/\t/evil.example", nil),
            ("/*", "/svc/$0", "http://shop.example/svc//a", "http://shop.example//a"),
            ("/api/*", "/$0", "/../x", nil), ("/api/*", "/$0", "/a/%2e%2E/x", nil),
            ("/o/{id}", "/$0.json", "/...json", nil), ("/shop/*", "/x-$0", "/x-../a", nil),
            ("/shop/*", "/x-$0", "/x-%2e%2e/a", nil), ("/shop/*", "/x-$0", "/x-..a", "/shop/..a"),
            // Without a rewrite a path is its own.
            ("/*", "", "http://app:8000/a?b", "/a?b"), ("/a/*", "", "http://app:8000/b", nil), ("/*", "", "/a", "/a"),
            ("/a/*/b", "", "http://app:8000/a/x/b", "/a/x/b"),
        ] as [(String, String, String, String?)])
    func references(path: String, inner: String, text: String, expected: String?) throws {
        let routes = [try Self.route(0, path, inner)]
        #expect(try Self.outer(text, by: routes) == expected)
        guard let expected, text.hasPrefix("/"), !text.hasPrefix("//"), !text.contains("#"),
            let rewrite = routes[0].rewrite
        else { return }
        // The upstream is asked for what it named.
        let head = try requestHead(expected)
        guard case .found(let found) = RouteTable(routes).find(head) else {
            Issue.record("the route takes \(expected)")
            return
        }
        var target = OutputBuffer()
        let client: [UInt8] = []
        try rewrite.appendTarget(of: head, captures: found.captures, client: client.span, to: &target)
        let made = target.span.lossyString()
        #expect(made == text)
    }

    @Test(
        "F29 the client's own host is known by each name that it may have called, and by the usual port",
        arguments: [
            ("shop.example", "http://shop.example:80/x", true), ("shop.example", "https://shop.example:443/x", true),
            ("shop.example", "https://shop.example:80/x", false), ("shop.example", "http://shop.example:443/x", false),
            ("shop.example:80", "http://shop.example/x", true), ("shop.example:443", "https://Shop.example/x", true),
            ("shop.example:80", "https://shop.example/x", false), ("shop.example:8080", "http://shop.example/x", false),
            ("shop.example:8080", "http://shop.example:8080/x", true), ("shop.example", "//shop.example/x", true),
            ("shop.example", "//shop.example:80/x", false), ("[::80]", "http://[::80]:80/x", true),
            ("[::80]", "http://[:/x", false), ("inner shop.example", "http://shop.example/x", true),
            ("inner shop.example", "http://inner/x", true),
            ("inner shop.example:8443", "https://shop.example/x", false),
        ])
    func calledHosts(called: String, text: String, isOwn: Bool) throws {
        let names = called.split(separator: " ").map(String.init)
        let outer = try Self.outer(text, by: [try Self.route(0, "/api/*", "/$0")], called: names)
        #expect(outer == (isOwn ? text.replacing("/x", with: "/api/x") : nil))
    }

    @Test("the route that answers comes first, then those of its upstream and hosts in their order")
    func others() throws {
        let host = [try HostPattern(parsing: "a.example")]
        var routes = [
            try Self.route(0, "/orders", "/v1/orders"), try Self.route(1, "/other/*", "/v1/$0", upstream: 1),
            try Self.route(2, "/hosts/*", "/v1/$0", hosts: host), try Self.route(3, "/orders/{id}", "/v1/orders/$0"),
            try Self.route(4, "/all/*", "/$0"),
        ]
        #expect(try Self.outer("/v1/orders", by: routes) == "/orders")
        #expect(try Self.outer("/v1/orders/7", by: routes) == "/orders/7")
        #expect(try Self.outer("/v1/orders/7/x", by: routes) == "/all/v1/orders/7/x")
        routes.swapAt(0, 4)
        #expect(try Self.outer("/v1/orders/7", by: routes) == "/all/v1/orders/7")
    }

    @Test("thousands of routes share their ways")
    func many() throws {
        let routes = try (0..<4000).map { try Self.route($0, "/a\($0)/*", "/b\($0)/$0") }
        let all = OuterAddresses.all(of: routes) { _ in [] }
        for index in stride(from: 0, to: routes.count, by: 39) {
            let other = (index + 2000) % routes.count
            let reference = Array("/b\(other)/x".utf8)
            let addresses = try #require(all[index])
            let outer = addresses.outer(reference: reference.span, [])
            #expect(outer == Array("/a\(other)/x".utf8))
        }
    }

    @Test("routes that don't ask have none")
    func notAsked() throws {
        let route = Route(index: 0, name: "r", match: RouteMatch(path: try PathPattern(parsing: "/*")), upstream: 0)
        #expect(OuterAddresses.all(of: [route]) { _ in [] }.map { $0 == nil } == [true])
        let other = try Self.route(1, "/a/*", "/$0")
        #expect(OuterAddresses.all(of: [route, other]) { _ in [] }.map { $0 == nil } == [true, false])
    }

    @Test(
        "what doesn't say of which path it was made can't be undone",
        arguments: [
            ("/a/{b}", "/x", false), ("/a/{b}", "/$0/$0", false), ("/{a}/{b}", "/$0$1", false), ("/a/*/b", "/x", false),
            ("/{a}/{b}", "/$0-$1", true), ("/a/{b}", "", true), ("/a/*/b", "", true), ("/a", "/b", true),
        ])
    func oneWay(path: String, inner: String, expected: Bool) throws {
        let route = try Self.route(0, path, inner)
        #expect(OuterAddresses.canReturn(route) == expected)
        if !expected { #expect(try Self.outer("/x", by: [route]) == nil) }
    }

    @Test(
        "a cookie's path is undone, with a slash at its end or without, and the upstream's domain goes",
        arguments: [
            ("/api/*", "/$0", "a=b", "a=b"), ("/api/*", "/$0", "a=b; Path=/", "a=b; Path=/api/"),
            ("/api/*", "/$0", "a=\"/x\";path = /x ;Secure", "a=\"/x\";path = /api/x;Secure"),
            ("/api/*", "/$0", "Path=/a; PATH=/b; HttpOnly", "Path=/a; PATH=/api/b; HttpOnly"),
            ("/*", "/svc/$0", "a=b; Path=/svc", "a=b; Path=/"), ("/*", "/svc/$0", "a=b; Path=/svc/x/", "a=b; Path=/x/"),
            ("/shop/*", "/svc/$0", "a=b; Path=/svc", "a=b; Path=/shop"),
            ("/*", "/svc/$0", "a=b; Path=/", "a=b; Path=/"), ("/api/*", "/$0", "a=b; Path=x", "a=b; Path=x"),
            ("/api/*", "/$0", "a=b; Path", "a=b; Path"), ("/api/*", "/$0", "a=b;;", "a=b;;"), ("/api/*", "/$0", "", ""),
            ("/api/*", "/$0", "__Host-a=b; Path=/; Secure", "__Host-a=b; Path=/; Secure"),
            ("/api/*", "/$0", " __host-a=b; Path=/", " __host-a=b; Path=/"),
            ("/api/*", "/$0", "a=b; Domain=app; Path=/", "a=b; Path=/api/"),
            ("/api/*", "/$0", "a=b; domain=.APP", "a=b"), ("/api/*", "/$0", "a=b; Domain=10.0.0.1", "a=b"),
            ("/api/*", "/$0", "a=b; Domain=example", "a=b; Domain=example"),
            ("/api/*", "/$0", "a=b; Domain=own.example", "a=b"),
            ("/api/*", "/$0", "a=b; Domain=shop.example", "a=b; Domain=shop.example"),
            ("/api/*", "/$0", "a=b; Path=/../x", "a=b; Path=/../x"),
        ])
    func cookies(path: String, inner: String, value: String, expected: String) throws {
        let (cookie, called) = (Array(value.utf8), [Array("shop.example:8080".utf8)])
        let outer = try Self.addresses([try Self.route(0, path, inner)]).outer(cookie: cookie.span, called)
        #expect(String(decoding: outer, as: UTF8.self) == expected)
    }

    @Test(
        "a domain that a browser takes from the host that was called stays",
        arguments: [
            ("own.example", true), ("OWN.example:8443", true), ("www.own.example", true), ("xown.example", false),
            ("example", false), ("other.example", false), ("", false),
        ])
    func domains(authority: String, stays: Bool) throws {
        let cookie = Array("a=b; Domain=.own.example".utf8)
        for called in [[authority], ["inner", authority]] {
            let outer = try Self.addresses([try Self.route(0, "/*")]).outer(
                cookie: cookie.span, called.map { Array($0.utf8) })
            #expect(String(decoding: outer, as: UTF8.self) == (stays ? "a=b; Domain=.own.example" : "a=b"))
        }
    }
}
