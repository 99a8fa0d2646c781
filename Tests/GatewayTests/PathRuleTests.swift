import Gateway
import HTTPWire
import Octets
import Testing

/// What walks around a route, and what the table makes of it (H2).
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
        let routes = try Self.paths.enumerated().map { index, path in
            Route(index: index, name: "r\(index)", match: RouteMatch(path: try PathPattern(parsing: path)), upstream: 0)
        }
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
}
