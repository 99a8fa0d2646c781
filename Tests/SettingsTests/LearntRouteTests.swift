import Foundation
import Gateway
import Proxy
import Settings
import TestSupport
import Testing
import Transcoding

/// Definitions that are proposed by what bodies look like.
@Suite struct LearntRouteTests {
    private static let form = "application/x-www-form-urlencoded"
    private static let multipart = "multipart/form-data; boundary=b"

    private static func forms(_ bodies: [String]) -> [LearntRoute.Sample] {
        bodies.map { LearntRoute.Sample(type: form, body: Array($0.utf8)) }
    }

    /// The lines of the definition between `request:` and `encode:`, or of all where there is more behind.
    private static func rules(_ bodies: [String]) -> [String] {
        let lines = (try? LearntRoute(from: forms(bodies)))?.definition.split(separator: "\n").map(String.init) ?? []
        guard let start = lines.firstIndex(of: "  fields:") else { return [] }
        return lines[(start + 1)...].prefix { $0.hasPrefix("    ") }.map { String($0.dropFirst(4)) }
    }

    /// What the readers of settings make of the definition.
    private static func plan(_ learnt: LearntRoute) throws -> ConversionPlan {
        let place = RouteDefinition.Place(upstream: "app", upstreams: ["app"])
        let definition = try RouteDefinition(reading: learnt.definition, at: place)
        return try #require(definition.file.settings.routes[0].conversion?.plan)
    }

    @Test(
        "types are those that all values have",
        arguments: [
            (["a=1", "a=-20"], ["a: integer"]),
            (["a=1", "a=2.5"], ["a: number"]),
            (["a=1", "a=x"], []),
            (["a=1", "a="], []),
            (["a=true", "a=false"], ["a: boolean"]),
            (["a=true", "a=1"], []),
            (["a=007"], []),
            (["a=+49"], []),
            (["a=1234567890123456"], ["a: integer"]),
            (["a=12345678901234567"], []),
            (["a=%7B%22b%22:1%7D&b=x"], ["a: json"]),
            (["a=%7B%22b%22:1%7D", "b=x"], ["a: json"]),
            (["a=%7B%22b%22:1"], []),
            (["a=1&a=2"], ["a: array", "\"a[*]\": integer"]),
            (["a=x", "a=x&a=y"], ["a: array"]),
            (["a=x", "a[]=y"], ["a: array"]),
            (["a[]=1&a[]=2"], ["\"a[*]\": integer"]),
            (["a[0][b]=1&a[1][b]=2"], ["\"a[*].b\": integer"]),
            (["a[b]=1&a[c]=x"], ["a.b: integer"]),
            (["a=1", "a[b]=2"], []),
            (["a.b=1&a.c=2"], ["a.b: integer", "a.c: integer"]),
            (["a.b=1"], ["\"\\\"a.b\\\"\": integer"]),
        ])
    func types(_ bodies: [String], _ expected: [String]) {
        #expect(Self.rules(bodies) == expected)
    }

    @Test(
        "a form's one field that holds an object or an array is the document",
        arguments: ["payload={\"a\":1}", "mandrill_events=[{\"a\":1}]", "a[b]={\"a\":[]}", "m={}"])
    func documents(body: String) throws {
        let name = String(body.prefix { $0 != "=" }.replacing("[", with: ".").replacing("]", with: ""))
        let learnt = try LearntRoute(from: Self.forms([body, body]))
        #expect(
            learnt.definition
                == "request:\n  decode:\n    as: form\n    document: \(name)\n  encode:\n    as: json\n")
        let rule = try #require(try Self.plan(learnt).document)
        #expect(rule.path.description == name && rule.rest == .reject)
        // It says nothing to what has no objects.
        #expect(try !LearntRoute(from: Self.forms([body]), to: .form).definition.contains("document"))
    }

    @Test("a field with an object beside others is a value, and a comment says how it would be the document")
    func documentsBesideOthers() throws {
        let body = "formID=231&pretty=x&rawRequest={\"q\":{\"first\":\"Ann\"}}"
        let learnt = try LearntRoute(from: Self.forms([body]))
        #expect(learnt.definition.contains("rawRequest: json\n"))
        #expect(learnt.definition.hasSuffix("in decode document: rawRequest and rest: merge, without its type\n"))
        #expect(try Self.plan(learnt).document == nil)
        for other in [
            "x=1&a={\"x\":2}", "x=1&a=[1]", "a={}&b={}", "a={}&a={}&x=1", "a=1&b=2", "\"x=1&a%20b={}",
        ] {
            let found = try LearntRoute(from: Self.forms([other])).definition
            #expect(!found.contains("document"), "\(other): \(found)")
        }
        // One body without the field, and one in JSON.
        #expect(try !LearntRoute(from: Self.forms(["a={}", "b=1"])).definition.contains("document"))
        let json = LearntRoute.Sample(type: "application/json", body: Array("{\"a\":{}}".utf8))
        #expect(try !LearntRoute(from: Self.forms(["a={}"]) + [json]).definition.contains("document"))
    }

    @Test func encodingsAndFilesAreThoseThatCame() throws {
        let part =
            "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\nContent-Type: image/png; q=1\r\n\r\nX\r\n--b--\r\n"
        let file = LearntRoute.Sample(type: Self.multipart, body: Array(part.utf8))
        let learnt = try LearntRoute(from: [file])
        #expect(
            learnt.definition == "request:\n  decode:\n    as: multipart\n  encode:\n    as: json\n    files: base64\n")
        #expect(learnt.fields.map(\.types) == [["image/png"]])
        #expect(learnt.fields.map(\.isFile) == [true])
        let both = try LearntRoute(from: [file] + Self.forms(["a=1"]))
        #expect(both.definition.contains("as: auto\n"))
        #expect(try Self.plan(both).inputs == BodyEncoding.structured)
        let flat = try LearntRoute(from: [file], to: .multipart)
        #expect(flat.definition == "request:\n  decode:\n    as: multipart\n  encode:\n    as: multipart\n")
        let json = LearntRoute.Sample(
            type: "application/json", body: Array(#"{"a":[{"b":1},{"b":2.5}],"c":null}"#.utf8))
        let document = try LearntRoute(from: [json], to: .form)
        #expect(document.fields.map(\.path) == ["a[*].b", "c"])
        #expect(document.fields.map(\.kinds) == [["integer", "number"], ["null"]])
        #expect(!document.definition.contains("fields"))
    }

    @Test(
        "a file in one object with fields gets a name of its own",
        arguments: [
            (["u[n]", "u[f]:"], ["u.f: u_f"]), (["u[f]:", "u[n]"], ["u.f: u_f"]),
            (["u[n]", "u[f][]:", "u[f][]:"], ["u.f: u_f"]),
            (["u[n]", "u[a][f]:", "u[g]:"], ["u.a.f: u_a_f", "u.g: u_g"]),
            (["n", "u[f]:"], []), (["u_f", "u[f]:"], []),
        ])
    func filesBesideFields(_ names: [String], _ renames: [String]) throws {
        let sample = LearntRoute.Sample(type: Self.multipart, body: Self.body(of: names))
        let learnt = try LearntRoute(from: [sample])
        let lines = learnt.definition.split(separator: "\n").map { $0.drop { $0 == " " } }
        #expect(lines.contains("map:") == !renames.isEmpty)
        for rename in renames { #expect(lines.contains(Substring(rename)), "\(learnt.definition)") }
        #expect(ConversionRun.run(try Self.plan(learnt), .whole(sample.body)).failure == nil)
    }

    @Test("a file has no name of its own among elements, under a field's name, and where the name is taken")
    func filesAmongFields() throws {
        for names in [["i[0][n]", "i[0][f]:"], ["f", "f:"], ["u[n]", "u[f]:", "u_f"]] {
            let sample = LearntRoute.Sample(type: Self.multipart, body: Self.body(of: names))
            #expect(throws: LearntRoute.Unreadable(bodies: ["files_shared_root": 1])) {
                try LearntRoute(from: [sample])
            }
        }
    }

    /// A multipart body of parts of these names, a file where one ends in `:`.
    private static func body(of names: [String]) -> [UInt8] {
        let parts = names.map { name in
            let file = name.hasSuffix(":") ? "\"; filename=\"x" : ""
            return
                "--b\r\nContent-Disposition: form-data; name=\"\(name.replacing(":", with: ""))\(file)\"\r\n\r\nv\r\n"
        }
        return Array((parts.joined() + "--b--\r\n").utf8)
    }

    @Test func whatCannotBeReadIsCounted() throws {
        let learnt = try LearntRoute(from: Self.forms(["a=1", "a=1&a[b]=2", "b=1", "a=1&a[b]=3"]))
        #expect(learnt.bodies == 2)
        #expect(learnt.unreadable == ["form_conflict": 2])
        #expect(throws: LearntRoute.Unreadable(bodies: ["form_conflict": 2])) {
            try LearntRoute(from: Self.forms(["a=1&a[b]=2", "b=1&b[c]=2"]))
        }
        #expect(throws: LearntRoute.Unreadable(bodies: [:])) { try LearntRoute(from: []) }
        #expect(throws: LearntRoute.Unreadable(bodies: ["unsupported_media_type": 1])) {
            try LearntRoute(from: [.init(type: "image/png", body: [1])])
        }
    }

    @Test("the number of names is bounded", arguments: [(499, 0), (500, 0), (501, 1)])
    func bounds(_ count: Int, _ leftOut: Int) throws {
        let body = (0..<count).map { "n\($0)=1" }.joined(separator: "&")
        let learnt = try LearntRoute(from: Self.forms([body]))
        #expect(learnt.leftOut == leftOut)
        #expect(learnt.fields.count == min(count, 500))
        #expect(try Self.plan(learnt).types.count == min(count, 500))
    }

    @Test("a name's length is bounded", arguments: [(199, 0), (200, 0), (201, 1)])
    func lengths(_ count: Int, _ leftOut: Int) throws {
        let learnt = try LearntRoute(from: Self.forms([String(repeating: "n", count: count) + "=1"]))
        #expect(learnt.leftOut == leftOut)
    }

    @Test("the depth of a name is bounded", arguments: [(15, 0), (16, 0), (17, 1)])
    func depths(_ count: Int, _ leftOut: Int) throws {
        let name = "a" + String(repeating: "[b]", count: count - 1)
        let learnt = try LearntRoute(from: Self.forms([name + "=1"]))
        #expect(learnt.leftOut == leftOut)
    }

    @Test("no value gets out", arguments: [1, 2])
    func canaries(_ count: Int) throws {
        let canary = "c4n4ry"
        let part = """
            --b\r\nContent-Disposition: form-data; name="f"; filename="\(canary)"\r\n\r\n\(canary)\r\n\
            --b\r\nContent-Disposition: form-data; name="g"\r\n\r\n\(canary)\r\n--b--\r\n
            """
        let samples = [
            LearntRoute.Sample(
                type: Self.form, body: Array("a=\(canary)&b[]=\(canary)&c=%7B%22\(canary)%22:1%7D".utf8)),
            .init(type: Self.multipart, body: Array(part.utf8)),
            .init(type: "application/json", body: Array(#"{"a":"\#(canary)","b":["\#(canary)"]}"#.utf8)),
            .init(type: "application/xml", body: Array("<r><a>\(canary)</a></r>".utf8)),
        ]
        for sample in samples {
            let learnt = try LearntRoute(from: Array(repeating: sample, count: count))
            #expect(!"\(learnt)".contains(canary), "\(sample.type)")
        }
    }

    @Test(
        "names of any kind are written so that they are read",
        arguments: [
            "a b", "a: b", "- a", "#", "'", "\"", "\\", "{", "&a", "*a", "!a", "%61", "null", "true", "~", "1", "<<",
            "=", "@", "`",
            "a\nb", "a\u{0}b", "a\u{85}b", "a\u{2028}b", "ü", "\u{1F600}", "a\"]: {x: y}\n  evil: \"1", "a.b", "a[b",
            "a]", "request", "${env:HOME}",
            "$", "a\tb", "\u{FEFF}a", " a ", "?", "a #b", "*",
        ])
    func hostile(_ name: String) throws {
        let encoded = name.utf8.map { "%" + ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let learnt = try LearntRoute(from: Self.forms(["\(encoded)=1"]))
        let plan = try Self.plan(learnt)
        #expect(plan.types.map(\.type) == [.integer], "\(learnt.definition)")
        let output = try plan.convert(Array("\(encoded)=1".utf8), contentType: Self.form)
        #expect(String(decoding: output.body, as: UTF8.self).hasSuffix(":1}"))
        #expect(learnt.definition.split(separator: "\n").count == 7)
    }

    @Test func whatIsLearntConvertsWhatItWasLearntFrom() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../Vectors/form-decode-vectors.json")
        struct Vectors: Decodable {
            struct Vector: Decodable { var input: String }
            var vectors: [Vector]
        }
        let inputs = try JSONDecoder().decode(Vectors.self, from: Data(contentsOf: file)).vectors.map(\.input)
        #expect(inputs.count > 500)
        var random = SplitMix(state: 19)
        var learntOf = 0
        for index in 0..<2 * inputs.count {
            // Each alone, then with another one.
            let bodies =
                index < inputs.count
                ? [inputs[index]]
                : [inputs[index - inputs.count], inputs[Int.random(in: inputs.indices, using: &random)]]
            guard let learnt = try? LearntRoute(from: Self.forms(bodies)) else { continue }
            learntOf += 1
            let plan = try Self.plan(learnt)
            let readable = bodies.filter { (try? LearntRoute(from: Self.forms([$0]))) != nil }
            #expect(readable.count == learnt.bodies)
            for body in readable {
                do throws(ConversionError) {
                    _ = try plan.convert(Array(body.utf8), contentType: Self.form)
                } catch {
                    Issue.record("\(body) of \(bodies): \(error)\n\(learnt.definition)")
                }
            }
        }
        #expect(learntOf > 900)
    }
}
