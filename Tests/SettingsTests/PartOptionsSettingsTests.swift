import Settings
import Testing
import Transcoding

/// How parts and texts are read and written, in words.
@Suite("Settings of parts and charsets")
struct PartOptionsSettingsTests {
    @Test("each word reaches the plan")
    func words() throws {
        let plan = try Conversions.parse(
            "multipart(charset: [utf-8, Latin1], charset_hint: use, transfer_encoding: decode, mixed_parts: flatten, "
                + "json_parts: parse, filenames: base) -> multipart(parts: {a.b: json})")
        let latin1 = try #require(Charset(label: "iso-8859-1"))
        #expect(plan.fieldDecoding.charsets == [.utf8, latin1])
        #expect(plan.fieldDecoding.charsetHint == .use)
        #expect(plan.fieldDecoding.transferEncoding == .decode)
        #expect(plan.fieldDecoding.mixed == .flatten)
        #expect(plan.fieldDecoding.jsonParts == .parse)
        #expect(plan.fieldDecoding.filenames == .base)
        for rule in ["object", "{from: object}", "{from: base64, filename: '${field.name}'}"] {
            let named = try Conversions.parse("json(filenames: base) -> multipart(files: {f: \(rule)})")
            #expect(named.fieldDecoding.filenames == .base, "\(rule)")
        }
        #expect(try Conversions.parse("multipart -> json").fieldDecoding.filenames == .keep)
        let both = try Conversions.parse("multipart(filenames: base) -> multipart(dialect: whatwg, filenames: both)")
        #expect(both.fieldDecoding.filenames == .base && both.fieldEncoding.filenames == .both)
        #expect(try Conversions.parse("json -> multipart(dialect: whatwg)").fieldEncoding.filenames == .plain)
        #expect(try Conversions.parse("json -> multipart(dialect: qs)").fieldEncoding.filenames == .both)
        let typed = try Conversions.parse("multipart(file_types: [image/*, Application/Octet-Stream]) -> json")
        #expect(typed.fieldDecoding.fileTypes.map(\.text) == ["image/*", "application/octet-stream"])
        let one = try Conversions.parse("multipart(file_types: image/png) -> multipart")
        #expect(one.fieldDecoding.fileTypes.map(\.text) == ["image/png"] && plan.fieldDecoding.fileTypes.isEmpty)
        #expect(plan.jsonParts == [try FieldPath(parsing: "a.b")])
        #expect(
            try Conversions.parse("form(charset: sjis) -> json").fieldDecoding.charsets.map(\.name) == ["shift_jis"])
        #expect(try Conversions.parse("form(charset: utf8) -> json").fieldDecoding.charsets.isEmpty)
    }

    @Test(
        "a word where it says nothing, or that is none, is told",
        arguments: [
            "form(mixed_parts: flatten) -> json", "form(filenames: base) -> json",
            "multipart -> form(filenames: plain)", "multipart -> multipart(filenames: base)",
            "multipart(filenames: plain) -> multipart",
            "form(transfer_encoding: decode) -> json",
            "json(charset: latin1) -> form",
            "multipart(file_types: []) -> json", "multipart(file_types: image) -> json",
            "form(file_types: image/*) -> json", "multipart -> multipart(file_types: image/*)",
            "multipart(json_parts: yes) -> json", "form -> json(parts: {a: json})",
            "form -> multipart(parts: {a: xml})",
            "json(filenames: base) -> multipart", "json(filenames: base) -> multipart(files: {f: base64})",
            "xml(filenames: base) -> json", "json -> multipart(filenames: plain)",
            "form -> multipart(filenames: plain)",
            "json -> multipart(files: base64)", "json -> multipart(files: drop)", "form -> json(files: reject)",
            "xml -> auto(files: drop)", "json -> multipart(files: {\"*\": drop})",
            "form(charset: []) -> json", "form(charset: [utf-8, x]) -> json",
        ])
    func mistakes(_ text: String) {
        #expect(throws: SettingsMistakes.self) { try Conversions.parse(text) }
    }
}
