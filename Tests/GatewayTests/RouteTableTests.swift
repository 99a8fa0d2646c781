import HTTPWire
import Octets
import TestSupport
import Testing

@testable import Gateway

@Suite struct RouteTableTests {
    private static func route(
        _ index: Int, _ path: String, methods: [String] = [], hosts: [String] = [], types: [String] = [],
        headers: [HeaderCondition] = []
    ) throws -> Route {
        Route(
            index: index, name: "r\(index)",
            match: RouteMatch(
                path: try PathPattern(parsing: path), methods: methods,
                hosts: try hosts.map { try HostPattern(parsing: $0) },
                types: try types.map { try MediaRange(parsing: $0) }, headers: headers),
            upstream: 0)
    }

    private static func table(_ paths: [String]) throws -> RouteTable {
        RouteTable(try paths.enumerated().map { try route($0.offset, $0.element) })
    }

    /// The look-up's result as text: the route's name with its captures, or why there is none.
    private static func describe(_ lookup: RouteTable.Lookup, _ request: borrowing MessageHead) -> String {
        switch lookup {
        case .found(let found):
            let captures = zip(found.route.match.path.variables, 0...).map { name, index in
                "\(name ?? "_")=\(text(of: found.captures[index], in: request))"
            }
            return ([found.route.name] + captures).joined(separator: " ")
        case .noRoute: return "404"
        case .methodNotAllowed(let methods): return "405 " + methods.joined(separator: ", ")
        case .typeNotAccepted(let types): return "415 " + types.joined(separator: ", ")
        case .malformedPath(let offset): return "400 at \(offset)"
        case .dotSegment(let offset): return "dot segment at \(offset)"
        case .emptySegment(let offset): return "empty segment at \(offset)"
        }
    }

    @Test(
        "a path matches by segments, free segments and a star at the end",
        arguments: [
            ("/", "/", "r0"),
            ("/", "/a", "404"),
            ("/a", "/a", "r0"),
            ("/a", "/a/", "404"),
            ("/a/", "/a/", "r0"),
            ("/a", "/A", "404"),
            ("/a", "/aa", "404"),
            ("/a", "/", "404"),
            ("/orders/{id}", "/orders/7", "r0 id=7"),
            ("/orders/{id}", "/orders/", "404"),
            ("/orders/{id}", "/orders", "404"),
            ("/orders/{id}", "/orders/7/", "404"),
            ("/orders/{id}/lines/{line}", "/orders/7/lines/x%20y", "r0 id=7 line=x%20y"),
            ("/a/*/b", "/a/x/b", "r0 _=x"),
            ("/a/*/b", "/a//b", "404"),
            ("/a/*/b", "/a/x/y/b", "404"),
            ("/*", "/", "r0 *="),
            ("/*", "/a/b/c", "r0 *=a/b/c"),
            ("/a/*", "/a", "404"),
            ("/a/*", "/a/", "r0 *="),
            ("/a/*", "/a/b//c", "r0 *=b//c"),
            ("/v1*", "/v1", "r0 *="),
            ("/v1*", "/v1.2/x", "r0 *=.2/x"),
            ("/v1*", "/v", "404"),
            ("/{a}/*", "/x/y/z", "r0 a=x *=y/z"),
        ])
    func paths(pattern: String, path: String, expected: String) throws {
        let request = try requestHead(path)
        #expect(Self.describe(try Self.table([pattern]).find(request), request) == expected)
    }

    @Test(
        "a path is decoded once, and an escaped NUL, CR, LF, slash or backslash never changes the route",
        arguments: [
            ("/caf\u{E9}", "/caf%C3%A9", "r0"),
            ("/caf%C3%A9", "/caf%c3%a9", "r0"),
            ("/a b", "/a%20b", "r0"),
            ("/%61", "/a", "r0"),
            ("/a", "/%61", "r0"),
            ("/a/b", "/a%2Fb", "404"),
            ("/a/b", "/a%2fb", "404"),
            ("/a%2Fb", "/a%2fb", "r0"),
            ("/a%2Fb", "/a%252Fb", "404"),
            ("/a%2Fb", "/a/b", "404"),
            ("/a%252Fb", "/a%252fb", "404"),
            ("/{x}", "/a%2Fb", "r0 x=a%2Fb"),
            ("/a\\b", "/a%5Cb", "404"),
            ("/a%00", "/a%00", "r0"),
            ("/a", "/a%00", "404"),
            ("/a", "/a%0d%0a", "404"),
            ("/*", "/%zz", "400 at 1"),
            ("/*", "/a%", "400 at 2"),
            ("/*", "/a%4", "400 at 2"),
        ])
    func escapes(pattern: String, path: String, expected: String) throws {
        let request = try requestHead(path)
        #expect(Self.describe(try Self.table([pattern]).find(request), request) == expected)
    }

    @Test(
        "the first route in order that matches decides, however specific the others are",
        arguments: [
            ("/a/b", "r0 x=b"), ("/a/c/d", "r2 *=c/d"), ("/b", "r3 *=b"), ("/a/", "r2 *="),
        ])
    func order(path: String, expected: String) throws {
        let table = try Self.table(["/a/{x}", "/a/b", "/a/*", "/*", "/b"])
        let request = try requestHead(path)
        #expect(Self.describe(table.find(request), request) == expected)
    }

    @Test(
        "variables that give access by their names are known whatever else the routes of their paths ask for",
        arguments: [
            ("GET", "/hooks/abc", ["abc"]), ("POST", "/hooks/abc", ["abc"]), ("GET", "/h%6Foks/abc", ["abc"]),
            ("GET", "/hooks/abc/", ["abc"]), ("GET", "/hooks/", []), ("GET", "/hooks/abc/def", ["abc", "def"]),
            ("GET", "/of/abc/x", ["abc"]), ("GET", "/of/abc/y", []), ("GET", "/ids/abc", []), ("OPTIONS", "*", []),
        ])
    func secrets(method: String, target: String, expected: [String]) throws {
        // More of one path than are compared one by one.
        let many = try (5..<15).map { index in
            try Self.route(index, "/of/{secret}/x", headers: [HeaderCondition(name: "x-a", values: ["\(index)"])])
        }
        let table = RouteTable(
            [
                try Self.route(0, "/hooks/{token}", methods: ["POST"], hosts: ["other.example"]),
                try Self.route(1, "/hooks/{access_token}/*"), try Self.route(2, "/hooks/{id}/{Password}"),
                try Self.route(3, "/ids/{id}"), try Self.route(4, "/*"),
            ] + many)
        let request = try requestHead(method, target)
        #expect(table.secretVariables(of: request).map { text(of: $0, in: request) } == expected)
        #expect(try Self.table(["/ids/{id}"]).secretVariables(of: request) == [])
    }

    @Test("a target that is no path has no route")
    func asterisk() throws {
        let request = try requestHead("OPTIONS", "*")
        #expect(Self.describe(try Self.table(["/*"]).find(request), request) == "404")
    }

    @Test("a look-up among a thousand routes finds each of them")
    func manyRoutes() throws {
        let table = try Self.table((0..<1000).map { "/service-\($0)/{id}" })
        for index in 0..<1000 {
            let request = try requestHead("/service-\(index)/x")
            #expect(Self.describe(table.find(request), request) == "r\(index) id=x")
        }
    }

    @Test(
        "conditions on method, host, type and header all hold, or the answer says which kind failed",
        arguments: [
            ("POST", "/x", "a.example", "application/json", "r0"),
            ("POST", "/x", "a.example", "APPLICATION/JSON ; charset=utf-8", "r0"),
            ("PUT", "/x", "a.example", "application/x-www-form-urlencoded", "r1"),
            ("PATCH", "/x", "a.example", "application/json", "405 POST, PUT"),
            ("post", "/x", "a.example", "application/json", "405 POST, PUT"),
            ("POST", "/x", "a.example", "text/plain", "415 application/json, image/*"),
            ("POST", "/x", "a.example", "", "415 application/json, image/*"),
            ("POST", "/x", "a.example", "image/png", "r2"),
            ("POST", "/x", "a.example", "image", "415 application/json, image/*"),
            ("GET", "/y", "A.Example:8080", "", "r3"),
            ("GET", "/y", "a.example.", "", "r3"),
            ("GET", "/y", "b.a.example", "", "r4"),
            ("GET", "/y", "b.a.example.:80", "", "r4"),
            ("GET", "/y", "b.example", "", "r7"),
            ("GET", "/y", "B.example.", "", "r7"),
            ("GET", "/y", "c.b.example.", "", "r8"),
            ("GET", "/y", "b.example..", "", "404"),
            ("GET", "/y", "c.b.a.example:1", "", "r4"),
            ("GET", "/y", "xa.example", "", "404"),
            ("GET", "/y", "[::1]:80", "", "r5"),
            ("GET", "/z", "a.example", "", "404"),
        ])
    func conditions(method: String, path: String, host: String, type: String, expected: String) throws {
        let table = RouteTable([
            try Self.route(0, "/x", methods: ["POST"], types: ["application/json"]),
            try Self.route(1, "/x", methods: ["PUT"], types: ["application/x-www-form-urlencoded"]),
            try Self.route(2, "/x", methods: ["POST"], types: ["image/*"]),
            try Self.route(3, "/y", hosts: ["a.example"]),
            try Self.route(4, "/y", hosts: ["*.a.example"]),
            try Self.route(5, "/y", hosts: ["[::1]"]),
            try Self.route(6, "/z", headers: [HeaderCondition(name: "x-v", values: ["2", "3"])]),
            // The dot that ends an absolute name is none of the pattern either.
            try Self.route(7, "/y", hosts: ["b.Example."]),
            try Self.route(8, "/y", hosts: ["*.b.example."]),
        ])
        let request = try requestHead(
            method, path, host: host, fields: type.isEmpty ? [] : [("Content-Type", type)])
        #expect(Self.describe(table.find(request), request) == expected)
    }

    @Test("a header condition holds when one line of the field has one of the values")
    func headerConditions() throws {
        let table = RouteTable([
            try Self.route(0, "/z", headers: [HeaderCondition(name: "x-v", values: ["2", "3"])]),
            try Self.route(1, "/z"),
        ])
        for (fields, expected) in [
            ([("X-V", "2")], "r0"), ([("x-v", "1"), ("X-v", "3")], "r0"), ([("x-v", "2, 3")], "r1"), ([], "r1"),
        ] {
            let request = try requestHead("GET", "/z", fields: fields)
            #expect(Self.describe(table.find(request), request) == expected)
        }
    }

    @Test("the fields that choose are those of routes for the same paths, methods and hosts")
    func fieldsThatChoose() throws {
        let v = HeaderCondition(name: "x-v", values: ["2"])
        let table = RouteTable([
            try Self.route(0, "/a", methods: ["POST"], headers: [v]),
            try Self.route(1, "/b", hosts: ["b"], headers: [v]),
            try Self.route(2, "/c", types: ["application/json"]),
            try Self.route(3, "/d", headers: [v, HeaderCondition(name: "x-w", values: ["1"])]),
            try Self.route(4, "/*"), try Self.route(5, "/d", headers: [HeaderCondition(name: "x-late", values: ["1"])]),
        ])
        for (path, host, fields, wanted) in [
            ("/a", "a", [], []), ("/b", "a", [], []), ("/b", "b", [], ["x-v"]), ("/c", "a", [], ["content-type"]),
            ("/c", "a", [("Content-Type", "application/json")], ["content-type"]), ("/d", "a", [], ["x-v"]),
            ("/d", "a", [("X-V", "2")], ["x-w"]), ("/d", "a", [("X-V", "2"), ("X-W", "1")], ["x-v", "x-w"]),
            ("/e", "a", [("X-V", "2")], []),
        ] as [(String, String, [(String, String)], [String])] {
            let request = try requestHead("GET", path, host: host, fields: fields)
            guard case .found(let found) = table.find(request) else {
                Issue.record("no route for \(path)")
                continue
            }
            let names = table.fieldsThatChoose(found.route, for: request)
            #expect(names == wanted, "\(path) \(fields)")
        }
        // As many as are hashed: none that comes behind, and none whose answers no cache keeps.
        let many = RouteTable(
            try [Self.route(0, "/a")]
                + (1...9).map { try Self.route($0, "/*", headers: [HeaderCondition(name: "x-t", values: ["\($0)"])]) }
                + (10...19).map {
                    try Self.route(
                        $0, "/b", methods: ["POST"], headers: [HeaderCondition(name: "x-e", values: ["\($0)"])])
                } + [Self.route(20, "/b"), Self.route(21, "/*")])
        for (path, index, wanted) in [("/a", 0, []), ("/b", 20, ["x-t"]), ("/c", 21, ["x-t"])]
            as [(String, Int, [String])]
        {
            let names = many.fieldsThatChoose(many.routes[index], for: try requestHead("GET", path, fields: []))
            #expect(names == wanted, "\(path)")
        }
        let plain = RouteTable([try Self.route(0, "/a", methods: ["POST"], headers: [v]), try Self.route(1, "/*")])
        let request = try requestHead("GET", "/a", fields: [])
        let none = plain.fieldsThatChoose(plain.routes[1], for: request)
        #expect(none.isEmpty)
    }

    @Test("a route whose type differs is passed over when a later one matches")
    func typeMismatchGoesOn() throws {
        let table = RouteTable([
            try Self.route(0, "/x", types: ["application/json"]), try Self.route(1, "/*"),
        ])
        let request = try requestHead("POST", "/x", fields: [("Content-Type", "text/plain")])
        #expect(Self.describe(table.find(request), request) == "r1 *=x")
    }
}

/// Tables of so many routes that hosts and header fields are hashed, beside the same question asked of each route.
@Suite struct ManyRoutesTests {
    private static let hosts = [
        "a.example", "b.example", "*.example", "*.b.example", "x.b.example", "a.example.", "[::1]",
    ]
    private static let paths = ["/*", "/a", "/a/*", "/{x}", "/a/{y}", "/v*", "/v1*", "/%61", "/", "/a/", "//b"]

    private static func matches(_ count: Int, _ generator: inout SplitMix) throws -> [RouteMatch] {
        try (0..<count).map { _ in
            var match = RouteMatch(path: try PathPattern(parsing: paths.randomElement(using: &generator)!))
            if Bool.random(using: &generator) {
                match.hosts = try (0..<Int.random(in: 1...2, using: &generator)).map { _ in
                    try HostPattern(parsing: hosts.randomElement(using: &generator)!)
                }
            }
            for name in ["x-tenant", "x-v"] where Int.random(in: 0..<3, using: &generator) == 0 {
                let values = Set((0..<2).map { _ in "\(Int.random(in: 0..<4, using: &generator))" })
                match.headers.append(HeaderCondition(name: name, values: values.sorted()))
            }
            match.headers.shuffle(using: &generator)
            if Int.random(in: 0..<4, using: &generator) == 0 { match.methods = ["POST"] }
            if Int.random(in: 0..<6, using: &generator) == 0 { match.types = [try MediaRange(parsing: "text/plain")] }
            return match
        }
    }

    private static func routes(_ matches: [RouteMatch]) -> [Route] {
        matches.enumerated().map { Route(index: $0, name: "r\($0)", match: $1, upstream: 0) }
    }

    private static func name(_ lookup: RouteTable.Lookup) -> String {
        switch lookup {
        case .found(let found): found.route.name
        case .noRoute: "404"
        case .methodNotAllowed(let methods): "405 \(methods)"
        case .typeNotAccepted(let types): "415 \(types)"
        default: "400"
        }
    }

    @Test("many routes are found as each of them alone would be", arguments: 0..<40)
    func lookup(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        let matches = try Self.matches(Int.random(in: 20...120, using: &generator), &generator)
        let table = RouteTable(Self.routes(matches))
        let alone = Self.routes(matches).map {
            RouteTable([Route(index: 0, name: $0.name, match: $0.match, upstream: 0)])
        }
        for _ in 0..<60 {
            var fields: [(String, String)] = []
            for name in ["X-Tenant", "x-v", "X-V"] where Bool.random(using: &generator) {
                fields.append((name, "\(Int.random(in: 0..<4, using: &generator))"))
            }
            let host = ["a.example", "B.Example:80", "x.b.example", "y.x.b.example.", "example", "[::1]", "other"]
                .randomElement(using: &generator)!
            let path = ["/", "/a", "/a/", "/a/b", "/v", "/v1/x", "/b", "/a//", "/z/z"].randomElement(using: &generator)!
            let method = ["GET", "POST"].randomElement(using: &generator)!
            let request = try requestHead(method, path, host: host, fields: fields)
            let each = alone.map { Self.name($0.find(request)) }
            let expected =
                each.first { $0.hasPrefix("r") } ?? (each.contains { $0.hasPrefix("415") } ? "415" : nil)
                ?? (each.contains { $0.hasPrefix("405") } ? "405" : "404")
            let found = Self.name(table.find(request))
            #expect(
                expected.hasPrefix("r") ? found == expected : found.hasPrefix(expected),
                "\(method) \(host) \(path) \(fields)")
            for index in matches.indices.prefix(5) {
                let one = table.find(at: index, for: request) != nil
                #expect(one == (alone[index].find(at: 0, for: request) != nil))
            }
        }
    }

    @Test("of many beginnings behind one slash the first route decides, with its rest", arguments: 0..<40)
    func beginnings(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        let pieces = ["a", "b", "%61", "%2F", "-", "ab", "%C3%A4"]
        func text(_ most: Int) -> String {
            (0..<Int.random(in: 0...most, using: &generator)).map { _ in pieces.randomElement(using: &generator)! }
                .joined()
        }
        let matches = try (0..<Int.random(in: 1...60, using: &generator)).map { index in
            let path = index.isMultiple(of: 5) ? "/\(text(3))" : "/\(text(3))*"
            var match = RouteMatch(path: try PathPattern(parsing: path))
            if Int.random(in: 0..<4, using: &generator) == 0 { match.methods = ["POST"] }
            return match
        }
        let table = RouteTable(Self.routes(matches))
        let alone = matches.map { RouteTable([Route(index: 0, name: "r", match: $0, upstream: 0)]) }
        for _ in 0..<60 {
            let slash = Bool.random(using: &generator) ? "/" : ""
            let end = ["", "/", "/a"].randomElement(using: &generator)!
            let path = "/\(slash)\(text(4))\(end)"
            let request = try requestHead("GET", path)
            var expected: (index: Int, captures: PathCaptures)?
            for (index, one) in alone.enumerated() where expected == nil {
                if case .found(let found) = one.find(request) { expected = (index, found.captures) }
            }
            guard case .found(let found) = table.find(request) else {
                #expect(expected == nil, "\(path)")
                continue
            }
            #expect(found.route.index == expected?.index, "\(path)")
            let count = found.route.match.path.variables.count
            for variable in 0..<count { #expect(found.captures[variable] == expected?.captures[variable], "\(path)") }
        }
    }

    @Test("a request that has the same in the fields that chose a route finds the same", arguments: 0..<40)
    func fieldsThatChoose(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        let table = RouteTable(
            Self.routes(try Self.matches(Int.random(in: 4...120, using: &generator), &generator)))
        func fields() -> [(String, String)] {
            var fields: [(String, String)] = []
            for name in ["x-tenant", "x-v", "x-v"] where Bool.random(using: &generator) {
                fields.append((name, "\(Int.random(in: 0..<4, using: &generator))"))
            }
            if Bool.random(using: &generator) { fields.append(("content-type", "text/plain")) }
            return fields
        }
        for _ in 0..<60 {
            let host = ["a.example", "x.b.example", "other"].randomElement(using: &generator)!
            let path = ["/", "/a", "/a/b", "/v1/x", "/b"].randomElement(using: &generator)!
            let own = fields()
            let request = try requestHead("GET", path, host: host, fields: own)
            guard case .found(let found) = table.find(request) else { continue }
            let names = table.fieldsThatChoose(found.route, for: request)
            #expect(Set(names).count == names.count)
            #expect(found.mayBeByFields || names.isEmpty)
            for _ in 0..<8 {
                let others = own.filter { names.contains($0.0) } + fields().filter { !names.contains($0.0) }
                let other = try requestHead("GET", path, host: host, fields: others)
                #expect(Self.name(table.find(other)) == found.route.name, "\(host) \(path) \(own) \(others) \(names)")
            }
            let post = try requestHead("POST", path, host: host, fields: own)
            let none = table.fieldsThatChoose(found.route, for: post)
            #expect(none.isEmpty)
        }
    }

    @Test("the first route that covers another is found as by comparing all", arguments: 0..<40)
    func coverage(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        let matches = try Self.matches(150, &generator)
        var coverage = RouteCoverage()
        for (index, match) in matches.enumerated() {
            #expect(coverage.firstCovering(match) == matches[..<index].firstIndex { $0.covers(match) }, "\(match)")
            coverage.append(match)
        }
    }

    @Test("and so it is of routes that types alone tell apart", arguments: 0..<10)
    func coverageByTypes(seed: UInt64) throws {
        var generator = SplitMix(state: seed)
        let types = ["*/*", "text/*", "text/plain", "text/html", "application/*", "application/json", "a/b"]
        let matches = try (0..<100).map { _ in
            var match = RouteMatch(path: try PathPattern(parsing: Bool.random(using: &generator) ? "/a" : "/*"))
            match.types = try (0..<Int.random(in: 0...2, using: &generator)).map { _ in
                try MediaRange(parsing: types.randomElement(using: &generator)!)
            }
            if Int.random(in: 0..<3, using: &generator) == 0 { match.methods = ["POST"] }
            return match
        }
        var coverage = RouteCoverage()
        for (index, match) in matches.enumerated() {
            #expect(coverage.firstCovering(match) == matches[..<index].firstIndex { $0.covers(match) }, "\(match)")
            #expect(
                coverage.indices(covering: match.path)
                    == matches[..<index].indices.filter { matches[$0].path.covers(match.path) })
            coverage.append(match)
        }
    }

    @Test("the tests before this have routes of all kinds")
    func kinds() throws {
        var generator = SplitMix(state: 1)
        let matches = try Self.matches(150, &generator)
        #expect(matches.contains { $0.hosts.count == 2 } && matches.contains { $0.headers.count == 2 })
        var coverage = RouteCoverage()
        var covered = 0
        for match in matches {
            if coverage.firstCovering(match) != nil { covered += 1 }
            coverage.append(match)
        }
        #expect(covered > 20 && covered < 140)
    }
}

@Suite struct RouteMatchTests {
    @Test(
        "a path covers another when every path of the other is one of its own",
        arguments: [
            ("/*", "/a/{b}", true), ("/*", "/", true), ("/*", "/*", true), ("/a/*", "/a", false),
            ("/a/*", "/a/b/c", true), ("/a/*", "/a/*", true), ("/a/*", "/a/b/*", true), ("/a/b/*", "/a/*", false),
            ("/v*", "/v1/*", true), ("/v*", "/v1*", true), ("/v1*", "/v*", false), ("/v*", "/{x}/*", false),
            ("/{x}", "/a", true), ("/{x}", "/{y}", true), ("/a", "/{x}", false), ("/{x}", "/", false),
            ("/a/{x}", "/a/*", false), ("/a", "/a", true), ("/a", "/%61", true), ("/a", "/a/", false),
            ("/*/b", "/a/b", true), ("/a", "/a*", false), ("/a*", "/a", true),
        ])
    func pathCovers(first: String, second: String, expected: Bool) throws {
        let earlier = RouteMatch(path: try PathPattern(parsing: first))
        #expect(earlier.covers(RouteMatch(path: try PathPattern(parsing: second))) == expected)
    }

    @Test("a condition covers one that is as narrow or narrower in every part")
    func conditionsCover() throws {
        let path = try PathPattern(parsing: "/x")
        let any = RouteMatch(path: path)
        let post = RouteMatch(path: path, methods: ["POST"])
        let both = RouteMatch(path: path, methods: ["PUT", "POST"])
        let images = RouteMatch(path: path, types: [try MediaRange(parsing: "image/*")])
        let png = RouteMatch(path: path, types: [try MediaRange(parsing: "image/png")])
        let below = RouteMatch(path: path, hosts: [try HostPattern(parsing: "*.example")])
        let shop = RouteMatch(path: path, hosts: [try HostPattern(parsing: "Shop.Example")])
        let bare = RouteMatch(path: path, hosts: [try HostPattern(parsing: "example")])
        let header = RouteMatch(path: path, headers: [HeaderCondition(name: "x-v", values: ["1", "2"])])
        let narrow = RouteMatch(path: path, headers: [HeaderCondition(name: "x-v", values: ["2"])])
        for narrower in [post, both, images, png, below, shop, bare, header] {
            #expect(any.covers(narrower) && !narrower.covers(any))
        }
        #expect(both.covers(post) && !post.covers(both))
        #expect(images.covers(png) && !png.covers(images))
        #expect(below.covers(shop) && !below.covers(bare) && !shop.covers(below))
        #expect(header.covers(narrow) && !narrow.covers(header))
    }

    @Test(
        "a pattern that can't be read says what is wrong and where",
        arguments: [
            ("a", "a path begins with a slash", 0),
            ("", "a path begins with a slash", 0),
            ("/a?b", "a path is matched without its query", 2),
            ("/a*/b", "a star stands for a whole segment or ends the path", 2),
            ("/a/x{id}", "a variable is a whole segment, as in /orders/{id}", 4),
            ("/a/{id}x", "a variable is a whole segment, as in /orders/{id}", 3),
            ("/a/{i-d}", "a variable's name has letters, digits and _ only", 3),
            ("/{a}/{a}", "the variable a occurs twice", 5),
            ("/%4", "a percent sign needs two hexadecimal digits", 1),
            ("/*/*/*/*/*/*/*/*/*", "a path has at most 8 variables and stars", 0),
        ])
    func badPaths(pattern: String, reason: String, offset: Int) {
        #expect(throws: PatternFault(reason, at: offset)) { try PathPattern(parsing: pattern) }
    }

    @Test(
        "a host or media type that can't be read says what is wrong and where",
        arguments: [
            ("a.example:80", "a host is matched without its port", 9),
            ("https://a.example", "a host is matched without a scheme", 0),
            ("a.*.example", "a star stands only at the start of a host, as in *.shop.example", 2),
            ("a b", "this byte does not occur in a host", 1),
            (
                "a.bücher.example",
                "clients ask for a host in ASCII, with its other letters as in xn--bcher-kva.example (`idn2` prints that form)",
                3
            ),
            ("", "a host is empty", 0),
            ("*.", "a host is empty", 0),
            (".", "a host has something between its dots, and before the last one", 0),
            ("a..example", "a host has something between its dots, and before the last one", 1),
            ("a.example..", "a host has something between its dots, and before the last one", 9),
            ("*..example", "a host has something between its dots, and before the last one", 1),
            (".example", "a host doesn't begin with a dot: all names below one are *.example", 0),
        ])
    func badHosts(host: String, reason: String, offset: Int) {
        #expect(throws: PatternFault(reason, at: offset)) { try HostPattern(parsing: host) }
    }

    @Test(
        "a media type that can't be read says what is wrong and where",
        arguments: [
            ("json", "a media type has a slash, as in application/json", 4),
            ("text/plain; charset=utf-8", "a media type is matched without its parameters", 10),
            ("text/", "a media type has two halves, as in application/json", 4),
            ("*/json", "a media type's first half is a star only in */*", 0),
            ("text/x-*", "a star stands for a whole half, as in image/*", 5),
        ])
    func badTypes(type: String, reason: String, offset: Int) {
        #expect(throws: PatternFault(reason, at: offset)) { try MediaRange(parsing: type) }
    }
}
