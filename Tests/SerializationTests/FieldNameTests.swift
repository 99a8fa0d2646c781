import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("FieldName")
struct FieldNameTests {
    /// The segments of `name` joined by `/`, a push as `+`; or the code of the error.
    private func split(
        _ name: String, nesting: NestingStyle = .brackets, malformedKey: MalformedKeyPolicy = .literal,
        limits: Limits = .init()
    ) -> String {
        var options = FieldDecodingOptions()
        options.nesting = nesting
        options.malformedKey = malformedKey
        var parsed = FieldName()
        do throws(ConversionError) {
            try parsed.parse(Array(name.utf8).span, options: options, limits: limits)
        } catch {
            return error.code
        }
        return (0..<parsed.segmentCount).map {
            parsed.kind($0) == .push ? "+" : parsed.segment($0).lossyString()
        }.joined(separator: "/")
    }

    @Test(
        "brackets after a root are segments, an empty pair is a push",
        arguments: [
            ("a", "a"), ("", ""), ("a[b]", "a/b"), ("a[b][c]", "a/b/c"), ("a[]", "a/+"), ("a[][]", "a/+/+"),
            ("a[][x]", "a/+/x"), ("a[0]", "a/0"), ("a[01]", "a/01"), ("a[ ]", "a/ "), ("a.b[c.d]", "a.b/c.d"),
            ("é[ü]", "é/ü"), ("a b[c d]", "a b/c d"), ("a[\u{0}]", "a/\u{0}"),
        ])
    func brackets(name: String, segments: String) {
        #expect(split(name) == segments)
        #expect(split(name, malformedKey: .reject) == segments)
    }

    @Test(
        "any other use of brackets is one literal key, or an error under reject",
        arguments: [
            "[", "]", "[]", "[a]", "[][a]", "a[", "a]", "a]b", "a[b", "a[b]c", "a[b]c[d]", "a[b][", "a[b][c", "a[[b]]",
            "a[b]]", "a[b[c]]", "a[]b", "a[b] ",
        ])
    func malformed(name: String) {
        #expect(split(name) == name)
        #expect(split(name, malformedKey: .reject) == "field_malformed_key")
        #expect(split(name, nesting: .flat, malformedKey: .reject) == name)
        #expect(split(name, nesting: .json, malformedKey: .reject) == name)
    }

    @Test("flat and json names have no structure", arguments: [NestingStyle.flat, .json])
    func flat(nesting: NestingStyle) {
        for name in ["a[b]", "a[]", "a.b", "", "a"] { #expect(split(name, nesting: nesting) == name) }
    }

    @Test(
        "dots join segments that are not empty, and mix with brackets",
        arguments: [
            ("a", "a"), ("", ""), ("a.b", "a/b"), ("a.b.c", "a/b/c"), ("a.0.b", "a/0/b"), ("a[0].b", "a/0/b"),
            ("a.b[]", "a/b/+"), ("a[b.c].d", "a/b.c/d"),
        ])
    func dots(name: String, segments: String) {
        #expect(split(name, nesting: .dots) == segments)
        #expect(split(name, nesting: .dots, malformedKey: .reject) == segments)
    }

    @Test(
        "dots out of place make one literal key, or an error under reject",
        arguments: [".", ".a", "a.", "a..b", "a.[b]", "a.b]", "a[b]c", "a[b", "[a].b", "a.b.", "a[0].", "a]b.c"])
    func malformedDots(name: String) {
        #expect(split(name, nesting: .dots) == name)
        #expect(split(name, nesting: .dots, malformedKey: .reject) == "field_malformed_key")
    }

    @Test("the segments after the root are limited", arguments: [(31, true), (32, true), (33, false)])
    func depth(segments: Int, isTaken: Bool) {
        let bracketed = "a" + String(repeating: "[b]", count: segments)
        let path = "a" + String(repeating: "/b", count: segments)
        #expect(split(bracketed) == (isTaken ? path : "limit_key_depth"))
        #expect(
            split("a" + String(repeating: ".b", count: segments), nesting: .dots)
                == (isTaken ? path : "limit_key_depth"))
        #expect(split(bracketed + "]") == bracketed + "]")
    }

    @Test("errors name the field and the setting")
    func errors() {
        var options = FieldDecodingOptions()
        options.malformedKey = .reject
        var limits = Limits()
        limits.keyDepth = 1
        var name = FieldName()
        #expect(
            throws: ConversionError(
                .malformed, code: "field_malformed_key",
                reason: "the brackets or dots of the name are not balanced or are out of place", field: "a[b",
                setting: "malformed_key")
        ) { try name.parse(Array("a[b".utf8).span, options: options, limits: limits) }
        #expect(
            throws: ConversionError.limit("key_depth", of: 1, what: "the nesting of a field's name", field: "a[b][c]")
        ) { try name.parse(Array("a[b][c]".utf8).span, options: options, limits: limits) }
    }

    @Test("a name is forgotten when the next is parsed")
    func reuse() throws {
        var name = FieldName()
        try name.parse(Array("a[b][c]".utf8).span, options: .init(), limits: .init())
        #expect(name.segmentCount == 3)
        try name.parse(Array("xyz".utf8).span, options: .init(), limits: .init())
        #expect(name.segmentCount == 1)
        #expect(name.segment(0).lossyString() == "xyz")
    }
}
