import HTTPWire
import Octets
import Testing

/// Dot segments in the spellings that servers know, and what becomes of a path that is normalized.
@Suite struct DotSegmentTests {
    @Test(
        "a dot segment is seen in every spelling, and where it begins",
        arguments: [
            ("/..", 1), ("/.", 1), ("/a/../b", 3), ("/a/./b", 3), ("/a/..", 3), ("/a/.", 3), ("/../", 1),
            ("/%2e%2e/x", 1), ("/%2E./x", 1), ("/.%2e/x", 1), ("/a/%2e", 3), ("/a/%2E/b", 3),
            ("/..%2fx", 1), ("/..%2Fx", 1), ("/a%2f../x", 5), ("/a%2F%2e%2E%2fx", 5), ("/..%5cx", 1), ("/a%5C..", 5),
            ("/..;/x", 1), ("/..;a=b/x", 1), ("/.;/x", 1), ("/..%3b/x", 1), ("/..%3Bx", 1), ("/%2e%2e;x=1/a", 1),
            ("/..%00/x", 1), ("/.%00", 1), ("..", 0), ("/a//..", 4),
        ])
    func seen(path: String, offset: Int) {
        #expect(DotSegment.first(in: Array(path.utf8).span) == offset)
    }

    @Test(
        "what only has dots in it is none",
        arguments: [
            "/", "", "/a", "/.a", "/..a", "/a.", "/a..", "/...", "/....", "/a.b/c..d", "/.well-known/x", "/%2ehtaccess",
            "/a%2eb", "/%252e%252e/x", "/..%252fx", "/a;..", "/a;/b", "/%c0%ae%c0%ae/x", "/.%zz", "/%2", "/%2e%2e%2e",
            "/;..",
            "/.git", "/x/1.2.3", "/%2e%2ea",
        ])
    func unseen(path: String) {
        #expect(DotSegment.first(in: Array(path.utf8).span) == nil)
    }

    private func normalized(_ target: String, dots: Bool, slashes: Bool) throws -> String {
        let bytes = Array("GET \(target) HTTP/1.1\r\nHost: a\r\nX-After: kept\r\n\r\n".utf8)
        var head = MessageHead()
        var parser = RequestParser()
        #expect(try parser.parse(bytes.span, into: &head) == bytes.count)
        head.normalizePath(resolvingDots: dots, mergingSlashes: slashes)
        var output = OutputBuffer()
        HeadWriter.requestLine(of: head, into: &output)
        #expect(head.value(1).lossyString() == "kept")
        let line = output.span.lossyString()
        var query = ""
        if let text = head.query { query = "?" + text.lossyString() }
        #expect(line == "GET \(head.path.lossyString())\(query) HTTP/1.1\r\n")
        return String(line.dropFirst(4).dropLast(10))
    }

    @Test(
        "dot segments are resolved as RFC 3986 has it, and never beyond the root",
        arguments: [
            ("/a/b/../c", "/a/c"), ("/a/./b", "/a/b"), ("/a/..", "/"), ("/a/b/..", "/a/"), ("/a/b/.", "/a/b/"),
            ("/.", "/"),
            ("/..", "/"), ("/../../x", "/x"), ("/a/%2e%2E/b", "/b"), ("/a/.%2e/b?x=../y", "/b?x=../y"),
            ("/a//../b", "/a/b"), ("//../a", "/a"), ("/a/b/c/./../../g", "/a/g"), ("/x/../admin?q", "/admin?q"),
            ("/a/..;/b", "/a/..;/b"), ("/a/..%2fb", "/a/..%2fb"), ("/a/...", "/a/..."), ("/", "/"), ("/a//b", "/a//b"),
            ("/a/../?", "/?"),
        ])
    func dots(target: String, expected: String) throws {
        #expect(try normalized(target, dots: true, slashes: false) == expected)
        let absolute = expected.hasPrefix("/") ? expected : "/" + expected
        #expect(try normalized("http://a\(target)", dots: true, slashes: false) == absolute)
    }

    @Test(
        "several slashes become one",
        arguments: [
            ("//admin", "/admin"), ("/a//b///c", "/a/b/c"), ("/a//", "/a/"), ("//", "/"), ("///?a//b", "/?a//b"),
            ("/a/./b", "/a/./b"),
        ])
    func slashes(target: String, expected: String) throws {
        #expect(try normalized(target, dots: false, slashes: true) == expected)
    }

    @Test("both at once, and a target without a path stays")
    func both() throws {
        #expect(try normalized("/a//.././/b/..//c", dots: true, slashes: true) == "/c")
        #expect(try normalized("http://a", dots: true, slashes: true) == "/")
        #expect(try normalized("http://a?x=1", dots: true, slashes: true) == "/?x=1")
    }
}
