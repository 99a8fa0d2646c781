import Gateway
import Proxy
import TestSupport
import Testing
import Transcoding

@testable import Settings

/// Routes that are tried: written down without a file, read by the readers of files, given back as YAML for one.
@Suite struct RouteDefinitionTests {
    private static let place = RouteDefinition.Place(upstream: "app", upstreams: ["app", "other"])

    private static func mistakes(_ text: String) -> [String] {
        do {
            _ = try RouteDefinition(reading: text, at: place)
            return []
        } catch {
            return error.all.map(\.description)
        }
    }

    @Test(
        "what can't be read without a variable is told, and nothing is made up for it",
        arguments: [
            "request: form -> json\nupstream: \"${env:NONE}\"", "match: \"${file:/none}\"\nrequest: form -> json",
            "request:\n  decode: { as: \"${env:NONE}\" }\n  encode: { as: json }",
            "request: { decode: \"${env:NONE}\", encode: json }",
        ])
    func dependsOnVariables(_ text: String) {
        let line = text.split(separator: "\n").firstIndex { $0.contains("${") } ?? 0
        #expect(
            Self.mistakes(text) == [
                "\(line + 1):1: the route can't be read without what ${env:…} or ${file:…} gives here: write the value itself"
            ])
    }

    /// What the readers of files make of `yaml`, in a file around it.
    private static func read(_ yaml: String) throws -> SettingsFile {
        let upstreams = "upstreams: { app: \"127.0.0.1:3000\", other: \"127.0.0.1:3000\" }\n"
        return try SettingsTestFile.parse("version: 1\nlisten: 127.0.0.1:8080\n" + upstreams + yaml)
    }

    @Test(
        "a definition is read, and its YAML gives the same route in a file",
        arguments: [
            "request: form -> json",
            "request: \"form -> json(numbers: exact)\"",
            "# what it is for\nrequest:\n  decode: { as: json } # as it comes\n  encode: { as: form, arrays: indices }\n",
            "request: json -> form\n\nlimits: { body: 1MiB }\n\n\n",
            "{ request: form -> json }",
            "---\nrequest: form -> json\n...\n",
            "%YAML 1.1\n---\nrequest: form -> json\n",
            "request: form -> json\r\nlimits: { fields: 5 }\r\n",
            "&a request: form -> json",
            "limits: &l { fields: 5 }\nrequest: form -> json",
            "name: mine\nmatch: { method: PUT, path: \"/a/{id}\" }\nupstream: other\nrequest: json -> json",
            "\"request\": 'form -> json'",
            "request:\n  decode: { as: json }\n  map: { set: { a: 1, b: \"1\", c: null, d: ~, e: \"\", f: [1, \"x: y\", [], {}], "
                + "g: [[1, [2]], { h: [{ i: 1 }] }], '\"g h\"': true } }\n"
                + "  encode: { as: json }",
            "request:\n  decode: { as: json }\n  map:\n    set:\n      a: |\n        one\n\n        two\n      b: >-\n        three\n        four\n"
                + "  encode: { as: form }",
            "request:\n  decode: { as: json }\n  map: { set: { a: "
                + "\"\\x00\\u2028\\\"\\\\\\n\\x7f\\U0001F600 - # ü\" } }\n  encode: { as: json }",
            "response: json -> form",
            "response:\n  - when: { status: [4xx, 5xx] }\n    pass: true\n  - when: { type: application/json }\n    convert: json -> form",
            "request: form -> json\nexamples:\n  - { in_fields: [ \"a[]=1\" ], out: { a: [ \"1\" ] } }",
            "verify: { preset: github, secret: \"${env:NONE}\" }\nrequest: form -> json",
            "{}",
        ])
    func reads(_ text: String) throws {
        let definition = try RouteDefinition(reading: text, at: Self.place)
        #expect(definition.yaml.hasPrefix("routes:\n  - "))
        // Where it has variables, that file has them.
        let yaml = definition.yaml.replacing("${env:NONE}", with: "sesame")
        let read = try Self.read(yaml)
        try read.runExamples()
        #expect(read.settings.routes.count == 1)
        let (one, two) = (definition.file.settings.routes[0], read.settings.routes[0])
        #expect(one.name == two.name)
        #expect(one.match == two.match)
        #expect(one.upstream == two.upstream)
        #expect(one.limits == two.limits)
        #expect(one.conversion?.plan == two.conversion?.plan)
        #expect(one.responses.count == two.responses.count)
        func values(_ file: SettingsFile) -> [String] { file.effectiveOfRoutes[0].map { "\($0.key): \($0.value)" } }
        #expect(values(definition.file) == values(read))
        // The other way to write it is one, too.
        let anew = RouteDefinition(of: 0, in: read, text: "version: 1\n" + yaml).yaml
        if !anew.contains("# left out") { #expect(values(try Self.read(anew)) == values(read)) }
    }

    @Test func theTextStaysAsItWasWritten() throws {
        let text = "# what it is for\nrequest: form -> json # as it comes\n\nlimits: { fields: 5 }\n"
        let yaml = try RouteDefinition(reading: text, at: Self.place).yaml
        #expect(
            yaml == """
                routes:
                  - name: tried
                    match: /tried
                    upstream: app
                    # what it is for
                    request: form -> json # as it comes

                    limits: { fields: 5 }

                """)
    }

    @Test(
        "what is wrong stands where the definition has it",
        arguments: [
            ("", ["1:1: there is nothing here"]),
            ("- a", ["1:1: a route is a mapping of keys to values, not a list"]),
            ("request: form -> jsn", ["1:18: there is no encoding \"jsn\": did you mean \"json\"?"]),
            ("# one\n\nreqest: form -> json", ["3:1: a route has no key \"reqest\": did you mean \"request\"?"]),
            (
                "request: json -> form\nfields: {}\nlimits:\n  boddy: 1",
                [
                    "2:1: a route has no key \"fields\": it stands in ",
                    "4:3: \"limits\" has no key \"boddy\": did you mean \"body\"?",
                ]
            ),
            ("upstream: ap", ["1:11: there is no upstream \"ap\": did you mean \"app\"?"]),
            ("a: [", ["1:4: this [ is not closed"]),
            (
                "request: form -> json\nexamples: [{ in_fields: [ a=1 ], out: {} }]",
                ["2:12: the example of the route \"tried\" fails: "]
            ),
            ("request: form -> json\n- name: evil", ["2:1: "]),
            ("request: form -> json\n---\nversion: 1", ["2:1: "]),
        ])
    func tells(_ text: String, _ expected: [String]) {
        let found = Self.mistakes(text)
        #expect(found.count == expected.count, "\(found)")
        for (one, two) in zip(found, expected) { #expect(one.hasPrefix(two), "\(found)") }
    }

    @Test("keys stand in their usual order, with the comments above them")
    func order() throws {
        let text =
            "# to where\nupstream: app\nlimits: { fields: 5 }\n# what it does\n# and why\nrequest: form -> json # so\nname: mine\n"
        #expect(
            try RouteDefinition(reading: text, at: Self.place).yaml == """
                routes:
                  - name: mine
                    match: /tried
                    # to where
                    upstream: app
                    # what it does
                    # and why
                    request: form -> json # so
                    limits: { fields: 5 }

                """)
        // A comment before all keys stands above the element.
        let first = try RouteDefinition(reading: "# mine\nname: a\nmatch: /a\nupstream: app\n", at: Self.place)
        #expect(first.yaml == "routes:\n  # mine\n  - name: a\n    match: /a\n    upstream: app\n")
        #expect(first.item == "  # mine\n  - name: a\n    match: /a\n    upstream: app\n")
    }

    @Test("a whole file is one that is read, with the upstreams that the route has")
    func wholeFile() throws {
        for text in ["request: form -> json", "shadow: { upstream: other }\nrequest: form -> json"] {
            let file = try #require(try RouteDefinition(reading: text, at: Self.place).wholeFile)
            let names = try SettingsTestFile.parse(file).settings.upstreams.map(\.name)
            #expect(names == (text.hasPrefix("shadow") ? ["app", "other"] : ["app"]))
        }
    }

    @Test(
        "a whole file listens where what runs does not",
        arguments: [
            ("127.0.0.1:3000", "127.0.0.1:8080"), ("0.0.0.0:8080", "127.0.0.1:8081"),
            ("[127.0.0.1:8081, '[::1]:8080', 'unix:/run/a.sock']", "127.0.0.1:8082"),
            ("127.0.0.1:8080\nadmin: 127.0.0.1:8081", "127.0.0.1:8082"),
        ])
    func freeAddress(taken: String, expected: String) throws {
        let text =
            "version: 1\nlisten: \(taken)\nupstreams: { app: 127.0.0.1:1 }\n"
            + "routes: [{ name: a, match: /a, upstream: app }]\n"
        let running = try SettingsTestFile.parse(text)
        #expect(RouteDefinition.listen(beside: running) == expected)
        let served = try #require(RouteDefinition(of: 0, in: running, text: text).wholeFile)
        var place = Self.place
        place.listen = expected
        let built = try #require(try RouteDefinition(reading: "request: form -> json", at: place).wholeFile)
        for file in [served, built] { #expect(file.contains("\nlisten: \(expected)\n")) }
    }

    @Test("the tree has the members in order, a request in its long form")
    func tree() throws {
        func tree(_ text: String) throws -> String { try RouteDefinition(reading: text, at: Self.place).tree.json }
        let head = #"{"members":[["name",{"text":"tried"}],["match",{"text":"/tried"}],["upstream",{"text":"app"}],"#
        let sides =
            #"["decode",{"members":[["as",{"text":"form"}],["types",{"text":"safe"}]]}],"#
            + #"["encode",{"members":[["as",{"text":"json"}]]}]"#
        #expect(
            try tree("request: 'form(types: safe) -> json'") == head + #"["request",{"members":["# + sides + "]}]]}")
        #expect(
            try tree("request: { decode: { as: form, types: safe }, encode: json, map: { remove: [a, \"b\"] } }")
                == head + #"["request",{"members":["# + sides
                + #",["map",{"members":[["remove",{"list":[{"text":"a"},{"text":"b","quoted":true}]}]]}]]}]]}"#)
    }

    @Test func aDefinitionHasABound() {
        let text = "request: form -> json #"
        let whole = text + String(repeating: "x", count: RouteDefinition.limit - text.utf8.count)
        #expect(Self.mistakes(String(whole.dropLast())) == [])
        #expect(Self.mistakes(whole) == [])
        #expect(Self.mistakes(whole + "x") == ["1:1: a definition has at most 16384 bytes here"])
    }

    @Test(
        "no variable and no file gets into a route",
        arguments: ["${env:PATH}", "${env:HOME}", "${file:/etc/hostname}"])
    func opensNothing(_ reference: String) throws {
        let text = "request:\n  decode: { as: json }\n  map: { set: { a: \"\(reference)\" } }\n  encode: { as: json }"
        let definition = try RouteDefinition(reading: text, at: Self.place)
        let set = definition.file.settings.routes[0].conversion?.plan.map.set
        #expect(set?.map(\.value) == [.literal(.string("placeholder1"))])
        #expect(definition.file.unresolvedLines == [3])
        #expect(definition.yaml.contains(reference))
    }

    /// The worst that so many bytes can hold: every value wrong, or repeated.
    @Test(
        "what a definition costs is bounded",
        arguments: [
            String((0..<1600).map { "k\($0): 1\n" }.joined()),
            "request: json -> form(" + String((0..<1500).map { "k\($0): 1, " }.joined()) + ")",
            "a: &a [x,x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b,*b]\n"
                + "d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c,*c]\nexamples: [*d,*d,*d,*d,*d,*d,*d,*d]",
            String(repeating: "[", count: 5000),
            "limits: { " + String((0..<1500).map { "k\($0): x, " }.joined()) + "}",
        ])
    func isBounded(_ text: String) {
        #expect(text.utf8.count <= RouteDefinition.limit)
        // Without optimization: ten times what the proxy's loop would wait.
        var found: [String] = []
        let time = processorTime { found = Self.mistakes(text) }
        #expect(time < .seconds(5))
        #expect(!found.isEmpty)
    }

    @Test func secretsOfARunningRouteAreLeftOut() throws {
        let text = """
            version: 1
            listen: 127.0.0.1:8080
            admin: 127.0.0.1:9901
            upstreams: { app: "127.0.0.1:3000" }
            routes:
              - { name: a, match: /a, upstream: app }
              - name: hook
                match: { method: POST, path: /hook }
                upstream: app
                verify: "github(secret: sesame)"
                request: "form -> json" # for now

            """
        let file = try SettingsTestFile.parse(text)
        let definition = RouteDefinition(of: 1, in: file, text: file.text)
        let yaml = definition.yaml
        #expect(definition.leftOut == ["verify"])
        #expect(!definition.tree.json.contains("sesame") && definition.wholeFile?.contains("sesame") == false)
        #expect(
            yaml == """
                routes:
                  - name: hook
                    match:
                      method: POST
                      path: /hook
                    upstream: app
                    request: "form -> json"
                    # left out, because secrets may stand there: verify

                """)
        #expect(try Self.read(yaml).settings.routes[0].conversion?.plan == file.settings.routes[1].conversion?.plan)
        #expect(RouteDefinition(of: 1, in: file, text: nil).yaml == "")
    }
}

/// The list of what a conversion can say, which is what its readers ask for.
@Suite struct ConversionWordTests {
    /// Whether an expression with that side reads, before or behind any other one.
    private static func reads(_ word: ConversionWord, _ option: String, isInput: Bool) -> Bool {
        // What only stands beside another option.
        var texts = [option.hasPrefix("rest:") ? "document: a, \(option)" : option]
        if option.hasPrefix("filenames:") { texts.append("\(option), files: {f: {from: object}}") }
        return ConversionWord.all.contains { other in
            texts.contains { text in
                let side = "\(word.name)(\(text))"
                let expression = isInput ? "\(side) -> \(other.name)" : "\(other.name) -> \(side)"
                return (try? Conversions.parse(expression)) != nil
            }
        }
    }

    @Test func eachWordReads() {
        for word in ConversionWord.all {
            for option in word.options {
                for value in option.values ?? [] {
                    let text = "\(option.name): \(value)"
                    if option.reads { #expect(Self.reads(word, text, isInput: true), "\(word.name) \(text)") }
                    if option.writes { #expect(Self.reads(word, text, isInput: false), "\(word.name) \(text)") }
                }
                if let standard = option.standard, let values = option.values { #expect(values.contains(standard)) }
            }
        }
    }

    @Test func eachOptionOfTheTablesIsThere() {
        for encoding in BodyEncoding.allCases {
            let word = ConversionWord.all.first { $0.name == encoding.rawValue }
            for (table, isInput) in [(ConversionReader.inputOptions, true), (ConversionReader.outputOptions, false)] {
                let wanted = Set(table.filter { $0.encodings.contains(encoding) }.map(\.name))
                let found = Set((word?.options ?? []).filter { isInput ? $0.reads : $0.writes }.map(\.name))
                #expect(found == wanted, "\(encoding) \(isInput ? "reading" : "writing")")
            }
        }
    }

    @Test func someAreAsTheDocumentationHasThem() {
        let form = ConversionWord.all.first { $0.name == "form" }
        #expect(form?.mediaType == "application/x-www-form-urlencoded")
        #expect(
            form?.options.first { $0.name == "nulls" && $0.reads }
                == .init(name: "nulls", reads: true, writes: false, values: ["empty", "key"], standard: "empty"))
        #expect(form?.options.first { $0.name == "arrays" && $0.writes }?.values?.contains("indices") == true)
        #expect(ConversionWord.all.map(\.name).suffix(2) == ["auto", "query"])
        let auto = ConversionWord.all.first { $0.name == "auto" }
        #expect(auto?.options.contains { $0.name == "without_files" && $0.writes } == true)
    }
}
