import Octets
import Testing
import Transcoding

/// Layouts of JSON texts: all bytes of strings are kept, and white space stands between tokens only.
@Suite("JSON layouts")
struct JSONLayoutTests {
    private func applied(_ text: String, pretty: Bool, slashes: Bool) -> String {
        var layout = JSON.WritingOptions()
        if pretty { layout.insert(.prettyPrinted) }
        if !slashes { layout.insert(.withoutEscapingSlashes) }
        return layout.applied(to: Array(text.utf8).span).span.lossyString()
    }

    @Test(
        "as Apple's serializer prints",
        arguments: [
            (#"{"a":1,"b":[true,null]}"#, "{\n  \"a\" : 1,\n  \"b\" : [\n    true,\n    null\n  ]\n}"),
            ("{}", "{\n\n}"), ("[]", "[\n\n]"), ("[[],{}]", "[\n  [\n\n  ],\n  {\n\n  }\n]"),
            (#"[{"a":{}}]"#, "[\n  {\n    \"a\" : {\n\n    }\n  }\n]"),
            ("1", "1"), (#""a""#, #""a""#),
        ])
    func pretty(_ compact: String, _ expected: String) {
        #expect(applied(compact, pretty: true, slashes: false) == expected)
    }

    @Test(
        "what stands in a string is no token, behind escapes neither",
        arguments: [#"{"a,b:{}[]":"{\"x\":[1,2]}"}"#, #"["\\","\\\"",":","\\/"]"#, #"{"\"":"\""}"#])
    func strings(_ compact: String) {
        let printed = applied(compact, pretty: true, slashes: false)
        let tokens = printed.split(separator: "\n").map { $0.drop { $0 == " " }.replacing("\" : \"", with: "\":\"") }
        #expect(tokens.joined() == compact)
        #expect(applied(compact, pretty: false, slashes: false) == compact)
    }

    @Test("slashes are escaped in strings and names, with other escapes around")
    func slashes() {
        #expect(applied(#"{"a/b":"//\\\"/"}"#, pretty: false, slashes: true) == #"{"a\/b":"\/\/\\\"\/"}"#)
    }
}
