import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("FieldPath")
struct FieldPathTests {
    private static func key(_ text: String) -> FieldPath.Segment { .key(Array(text.utf8)) }

    @Test(
        "reads keys, indices and wildcards",
        arguments: [
            ("user", [key("user")]), ("user.id", [key("user"), key("id")]),
            ("items[0].sku", [key("items"), .index(0), key("sku")]),
            ("items[*].qty", [key("items"), .any, key("qty")]), ("items.*.qty", [key("items"), .any, key("qty")]),
            ("meta[title]", [key("meta"), key("title")]), ("meta[a.b]", [key("meta"), key("a.b")]),
            (#""a.b".c"#, [key("a.b"), key("c")]), (#"a."b[0]""#, [key("a"), key("b[0]")]),
            (#"meta["0"]"#, [key("meta"), key("0")]), (#""""#, [key("")]), (#""*""#, [key("*")]),
            (#""say \"hi\" \\""#, [key(#"say "hi" \"#)]), ("a[07]", [key("a"), key("07")]),
            ("a.0", [key("a"), key("0")]),
            ("a[10][2]", [key("a"), .index(10), .index(2)]), ("[0].a", [.index(0), key("a")]),
            ("[*]", [.any]), ("é ü.x-y_z", [key("é ü"), key("x-y_z")]),
            ("a[99999999999999999999]", [key("a"), key("99999999999999999999")]),
        ])
    func reads(text: String, segments: [FieldPath.Segment]) throws {
        #expect(try FieldPath(parsing: text).segments == segments)
    }

    @Test(
        "its description reads back as the same path",
        arguments: [
            [key("a")], [key("")], [key("a"), key("")], [key("a.b"), .index(3), .any, key("*")], [.any, key("0")],
            [.index(0), .index(1), key(#"x"y\z"#)], [key("[0]"), key("]"), key("a b")],
        ])
    func roundTrip(segments: [FieldPath.Segment]) throws {
        let path = FieldPath(segments)
        #expect(try FieldPath(parsing: path.description) == path)
    }

    @Test(
        "a path in its plain spelling is written as it was read",
        arguments: ["user.id", "items[0].sku", "items[*].qty", #""a.b".c"#])
    func spelling(text: String) throws {
        #expect(try FieldPath(parsing: text).description == text)
    }

    @Test(
        "what can't be read is refused at its byte",
        arguments: [
            ("", 0), (".", 0), ("a.", 2), (".a", 0), ("a..b", 2), ("a[", 2), ("a[]", 2), ("a[0", 3), ("a]", 1),
            ("a[0]b", 4), (#""a"#, 2), (#""a"b"#, 3), (#"a"b""#, 1), ("a.[0]", 2), ("a[b[c]]", 3), (#""a\"#, 3),
        ])
    func refused(text: String, offset: Int) {
        do throws(ConversionError) {
            let path = try FieldPath(parsing: text)
            Issue.record("read as \(path)")
        } catch {
            #expect(error.code == "field_path")
            #expect(error.offset == offset)
            #expect(error.field == text)
        }
    }
}
