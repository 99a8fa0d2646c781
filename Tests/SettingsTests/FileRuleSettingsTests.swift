import Settings
import TestSupport
import Testing
import Transcoding

/// What `files` says of single fields, in words.
@Suite("Settings of file rules")
struct FileRuleSettingsTests {
    static func rule(_ text: String) throws -> FileRule {
        let plan = try Conversions.parse(text)
        #expect(plan.files.count == 1)
        return try #require(plan.files.first)
    }

    static func path(_ text: String) throws -> FieldPath { try FieldPath(parsing: text) }

    @Test("from says what makes a file of a value")
    func from() throws {
        #expect(
            try Self.rule("json -> multipart(files: {f: {from: data_url}})")
                == FileRule(path: Self.path("f"), policy: .stream, source: .dataURL))
        #expect(
            try Self.rule("form -> multipart(files: {f: {from: base64url}})")
                == FileRule(path: Self.path("f"), policy: .stream, source: .base64url))
        #expect(
            try Self.rule("json -> multipart(files: {f: {from: base64}})")
                == FileRule(path: Self.path("f"), policy: .base64))
        #expect(
            try Self.rule("auto -> multipart(files: {f: {from: base64}})")
                == FileRule(path: Self.path("f"), policy: .stream, source: .base64))
        #expect(
            try Self.rule("json -> multipart(files: {f: object})") == FileRule(path: Self.path("f"), policy: .object))
        #expect(
            try Self.rule("json(files: {f: {from: object}}) -> multipart")
                == FileRule(path: Self.path("f"), policy: .base64, source: .object))
    }

    @Test("names and types of parts")
    func names() throws {
        let rule = try Self.rule(
            "json -> multipart(files: {f: {from: base64, name: \"photo{index}\", types: [image/*, application/pdf]}})")
        #expect(rule.name == FileNameTemplate("photo{index}"))
        #expect(rule.types.map(\.text) == ["image/*", "application/pdf"])
        #expect(try Self.rule("multipart -> json(files: {f: {do: base64, types: 'image/*'}})").types.count == 1)
    }

    @Test(
        "what is no rule is told",
        arguments: [
            ("json -> multipart(files: {f: {from: base46}})", "\"from\" is not \"base46\""),
            ("json -> multipart(files: {f: {name: 'a{x}'}})", "\"name\" is a name in which"),
            ("json -> multipart(files: {f: {types: []}})", "\"types\" takes at least one"),
            ("json -> multipart(files: {f: {types: [image]}})", "\"types\" are media types"),
            ("json -> json(files: {f: {from: data_url}})", "only multipart has parts"),
            ("form -> multipart(files: {f: {from: object}})", "a form and multipart have no objects"),
            ("json -> multipart(files: {f: {from: object}}, order: sorted)", "data last"),
        ])
    func mistakes(_ text: String, _ expected: String) {
        do {
            _ = try Conversions.parse(text)
            Issue.record("\(text) is read")
        } catch {
            #expect("\(error)".contains(expected), "\(error)")
        }
    }
}
