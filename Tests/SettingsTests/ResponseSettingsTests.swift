import Gateway
import Proxy
import Settings
import Testing
import Transcoding

/// What a route's `response` says, in all its forms, and what is wrong with it. A route in the tables stands in line 5.
@Suite struct ResponseSettingsTests {
    private func route(_ response: String, head: String = "match: /a") throws -> Route {
        try SettingsTestFile.parseRoutes("  - { name: a, \(head), upstream: app, response: \(response) }")
            .settings.routes[0]
    }

    private func converted(_ rule: ResponseRule?) -> ResponseConversion? {
        if case .convert(let conversion)? = rule?.action { conversion } else { nil }
    }

    @Test("the short form is one rule for all responses")
    func short() throws {
        let route = try route("\"json -> form(arrays: indices)\", limits: { body: 5KiB, response: 7KiB }")
        #expect(route.responses.count == 1 && route.responseLimit == 7168)
        #expect(route.responses[0].condition == ResponseCondition())
        let conversion = try #require(converted(route.responses.first))
        #expect(conversion.plan.inputs == [.json] && conversion.plan.output == .form)
        #expect(conversion.plan.fieldEncoding.arrays == .indices && conversion.plan.limits.body == 5120)
        #expect(conversion.otherTypes == .pass && conversion.acceptedTypes.isEmpty && conversion.sources.isEmpty)
    }

    @Test("without a response there is no rule, and 8 MiB may be held")
    func absent() throws {
        let file = try SettingsTestFile.parseRoutes("  - { name: a, match: /a, upstream: app }")
        #expect(file.settings.routes[0].responses.isEmpty)
        #expect(file.settings.routes[0].responseLimit == 8 << 20)
        #expect(file.effectiveOfRoutes[0].contains { $0.key == "response" && $0.value == "forward" })
    }

    @Test("a list of rules in the long form, with all that a rule may say")
    func long() throws {
        let file = try SettingsTestFile.parseRoutes(
            """
              - name: a
                match: "/a/{id}"
                upstream: app
                limits: { response: 1KiB }
                response:
                  - when: { status: [4xx, 500-502, 404], type: "application/*" }
                    pass: true
                  - when: { status: 2xx, type: [application/json, +JSON], accept: [Text/CSV, application/json] }
                    accept: { status: 200-204, type: [text/plain, +json] }
                    on_other_type: reject
                    decode: { as: json }
                    map: { remove: [secret], set: { id: "${path.id}" } }
                    fields: { age: integer }
                    encode: { as: json, remove_nulls: true }
                  - when: { status: 300 }
                    convert: json -> form
                    map: { rename: { a: b }, set: { id: "${path.id}" } }
                  - form -> json
            """)
        let rules = file.settings.routes[0].responses
        try #require(rules.count == 4)
        #expect(rules[0].condition.statuses.map(\.description) == ["4xx", "500-502", "404"])
        #expect(rules[0].condition.types.map(\.description) == ["application/*"])
        #expect(converted(rules[0]) == nil)
        #expect(rules[1].condition.types.map(\.description) == ["application/json", "+json"])
        #expect(rules[1].condition.accept.map(\.description) == ["text/csv", "application/json"])
        let second = try #require(converted(rules[1]))
        #expect(second.acceptedStatuses.map(\.description) == ["200-204"])
        #expect(second.acceptedTypes.map(\.description) == ["text/plain", "+json"])
        #expect(second.otherTypes == .reject && second.sources == [.path(0, "id")])
        #expect(second.plan.map.remove.count == 1 && second.plan.map.set.map(\.value) == [.source(0)])
        #expect(second.plan.types.map(\.type) == [.integer] && second.plan.removeNulls == .deep)
        let third = try #require(converted(rules[2]))
        #expect(third.plan.output == .form && third.plan.map.rename.count == 1 && third.sources == [.path(0, "id")])
        #expect(converted(rules[3])?.plan.inputs == [.form])
        let shown = file.effectiveOfRoutes[0].filter { $0.key.hasPrefix("response") || $0.key.hasSuffix(".response") }
            .map { value in "\(value.key) = \(value.value) \(value.origin == .standard ? "default" : "written")" }
        for wanted in [
            "limits.response = 1KiB written", "response[0].when.status = 4xx, 500-502, 404 written",
            "response[0].when.type = application/* written", "response[0].pass = true written",
            "response[1].when.accept = text/csv, application/json written",
            "response[1].accept.status = 200-204 written", "response[1].accept.type = text/plain, +json written",
            "response[1].on_other_type = reject written", "response[1].decode.as = json written",
            "response[1].map.remove = secret written", "response[1].fields.age = integer written",
            "response[1].encode.order = input default", "response[2].decode.as = json written",
            "response[2].map.rename = a to b written", "response[2].on_other_type = pass default",
            "response[3].encode.as = json written",
        ] {
            #expect(shown.contains(wanted), "\(wanted)")
        }
    }

    @Test("a request and a response of one route have their values apart, and defaults hold for responses too")
    func both() throws {
        let file = try SettingsTestFile.parse(
            """
            version: 1
            listen: 127.0.0.1:8080
            defaults: { limits: { response: 3MiB, fields: 9 } }
            upstreams: { app: "a:1" }
            routes:
              - name: a
                match: /a
                upstream: app
                request: { decode: form, map: { set: { x: "${header.x}", y: "${client.ip}" } }, encode: json }
                response: { convert: json -> form, map: { set: { y: "${client.ip}" } } }
            """)
        let route = file.settings.routes[0]
        let request = try #require(route.conversion)
        #expect(request.sources == [.header("x"), .clientAddress])
        let conversion = try #require(converted(route.responses.first))
        #expect(conversion.sources == [.clientAddress] && conversion.plan.limits.fields == 9)
        #expect(route.responseLimit == 3 << 20)
    }

    @Test(
        "what is wrong in a response is reported with line and column",
        arguments: [
            ("x", "5:53: a conversion is written as input -> output, as in form -> json: \"->\" is missing here"),
            ("json -> carrot", "5:60: there is no encoding \"carrot\": known are"),
            ("[]", "5:52: \"response\" is an empty list: leave it out or write a rule"),
            ("", "5:53: \"response\" is a single value, not nothing"),
            ("{}", "5:52: a rule of \"response\" says \"pass: true\" or \"convert: json -> form\""),
            (
                "{ when: { status: 2xx } }",
                "5:52: a rule of \"response\" says \"pass: true\" or \"convert: json -> form\""
            ),
            (
                "{ on_other_type: pass }",
                "5:52: a rule of \"response\" says \"pass: true\" or \"convert: json -> form\""
            ),
            ("[[json -> form]]", "5:53: a rule of \"response\" is a mapping of keys to values, not a list"),
            ("{ pass: false }", "5:60: \"pass\" is true, or the rule converts: convert: json -> form"),
            ("{ pass: yes }", "5:60: \"pass\" is true or false, not \"yes\""),
            (
                "{ pass: true, convert: json -> form }",
                "5:66: \"convert\" has no meaning beside \"pass\", which forwards the response as it is"
            ),
            (
                "{ pass: true, on_other_type: pass }",
                "5:66: \"on_other_type\" has no meaning beside \"pass\", which forwards the response as it is"
            ),
            ("{ pass: true, wehn: {} }", "5:66: a rule of \"response\" has no key \"wehn\": did you mean \"when\"?"),
            (
                "{ convert: json -> form, encode: json }",
                "5:77: \"encode\" stands beside \"convert\", which says the same: remove one"
            ),
            (
                "{ convert: json -> form, files: drop }", "5:77: \"files\" is an option of \"decode\" or \"encode\""
            ),
            ("{ decode: json }", "5:52: a rule of \"response\" needs \"encode\", as in encode: {as: form}"),
            ("{ encode: json }", "5:52: a rule of \"response\" needs \"decode\", as in decode: {as: form}"),
            ("query -> json", "5:52: a response has no query: write the encoding of a body"),
            ("{ convert: json -> query }", "5:63: a response has no query: write the encoding of a body"),
            (
                "{ decode: json, encode: { as: form, arays: repeat } }",
                "5:88: \"encode\" has no key \"arays\": did you mean \"arrays\"?"
            ),
            (
                "{ convert: json -> form, on_other_type: drop }",
                "5:92: \"on_other_type\" is not \"drop\": known are reject, pass"
            ),
            (
                "{ convert: json -> form, map: { set: { a: \"${path.id}\" } } }",
                "5:95: the route's path has no variable \"id\": write it there as a segment, as in /orders/{id}"
            ),
            ("{ when: 2xx, pass: true }", "5:60: \"when\" is a mapping of keys to values, not a single value"),
            ("{ when: {}, pass: true }", "5:60: \"when\" is empty: leave it out, or name status, type or accept"),
            ("{ when: { stauts: 2xx }, pass: true }", "5:62: \"when\" has no key \"stauts\": did you mean \"status\"?"),
            (
                "{ when: { status: [] }, pass: true }",
                "5:70: \"status\" is an empty list: leave it out or name something"
            ),
            (
                "{ when: { status: 2x }, pass: true }",
                "5:70: a status is written as 404, 4xx or 400-499, not \"2x\""
            ),
            ("{ when: { status: [404, 600] }, pass: true }", "5:76: a status is from 200 to 599, not \"600\""),
            (
                "{ when: { status: 1xx }, pass: true }",
                "5:70: interim responses pass as they are: a status is from 200 to 599"
            ),
            ("{ when: { status: 299-200 }, pass: true }", "5:70: the range \"299-200\" ends before it begins"),
            ("{ when: { status: [404, 404] }, pass: true }", "5:76: \"status\" has \"404\" twice"),
            ("{ when: { type: json }, pass: true }", "5:72: a media type has a slash, as in application/json"),
            (
                "{ when: { type: + }, pass: true }",
                "5:68: a suffix of media types is a plus sign and a name, as in +json"
            ),
            (
                "{ when: { accept: \"text/*\" }, pass: true }",
                "5:70: \"accept\" names a media type that the client may take, without a star"
            ),
            ("{ when: { accept: +json }, pass: true }", "5:75: a media type has a slash, as in application/json"),
            (
                "{ convert: json -> form, accept: json }",
                "5:85: \"accept\" is a mapping of keys to values, not a single value"
            ),
            (
                "{ convert: json -> form, accept: { types: a/b } }",
                "5:87: \"accept\" has no key \"types\": did you mean \"type\"?"
            ),
            (
                "{ convert: multipart -> form, accept: { type: a/b } }",
                "5:92: \"type\" says what is read as one encoding, and multipart needs its own type for the boundary: "
                    + "remove it, or decode form, json or another single encoding"
            ),
            (
                "[{ pass: true }, json -> form]",
                "5:69: the rule can never hold: the rule in line 5 takes every response before it"
            ),
            (
                "[{ when: { status: 4xx }, pass: true }, { when: { status: 404 }, convert: json -> form }]",
                "5:92: the rule can never hold: the rule in line 5 takes every response before it"
            ),
        ])
    func mistakes(response: String, mistake: String) {
        let found = SettingsTestFile.mistakesOfRoutes(
            "  - { name: a, match: /a, upstream: app, response: \(response) }")
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(mistake) == true, "\(found)")
    }

    @Test("every mistake of a list of rules is reported at once")
    func several() {
        let found = SettingsTestFile.mistakesOfRoutes(
            """
              - name: a
                match: /a
                upstream: app
                limits: { response: 8 }
                response:
                  - { when: { status: 9xx }, pass: true }
                  - { convert: json -> jsno, accept: { status: x } }
                  - { when: { type: "a/*b" }, decode: json, encode: form, map: { remove: [""] } }
            """)
        #expect(
            found.map { String($0.prefix { $0 != " " }) } == [
                "8:25:", "10:27:", "11:28:", "11:52:", "12:28:", "12:80:",
            ])
    }

    @Test("the limit of a response is none of the command line's")
    func commandLine() {
        #expect(throws: SettingsMistakes.self) { try Conversions.parseLimits("response: 1KiB") }
    }
}
