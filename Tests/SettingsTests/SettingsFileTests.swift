import Gateway
import Proxy
import Settings
import Testing
import Transcoding

@Suite struct SettingsFileTests {
    @Test("a short file gets every standard value")
    func standards() throws {
        let settings = try SettingsTestFile.parseRoutes("  - { name: all, match: /*, upstream: app }").settings
        #expect(settings.listen == [.tcp(host: "127.0.0.1", port: 8080)])
        #expect(settings.workers >= 1)
        #expect(settings.accessLog == .stdout)
        #expect(settings.client == ClientTimeouts())
        #expect(settings.client.header == .seconds(10) && settings.client.keepAlive == .seconds(75))
        #expect(settings.client.bodyGap == .seconds(30) && settings.client.write == .seconds(60))
        #expect(settings.grace == .seconds(25))
        let upstream = try #require(settings.upstreams.first)
        #expect(upstream == UpstreamSettings(name: "app", addresses: [.tcp(host: "127.0.0.1", port: 3000)]))
        #expect(upstream.idle == .seconds(3) && upstream.connect == .seconds(3) && upstream.maxIdlePerLoop == 64)
        let route = try #require(settings.routes.first)
        #expect(route.name == "all" && route.index == 0 && route.upstream == 0 && route.rewrite == nil)
        #expect(route.limits == Limits() && route.timeouts == RouteTimeouts())
        #expect(route.timeouts.firstByte == .seconds(30) && route.timeouts.gap == .seconds(60))
        #expect(route.match == RouteMatch(path: try PathPattern(parsing: "/*")))
        #expect(route.conversion == nil)
    }

    @Test("a long file says everything")
    func everything() throws {
        let settings = try SettingsTestFile.parse(
            """
            version: 1
            listen: [ 0.0.0.0:80, "[::1]:81", localhost:82, unix:/run/recast.sock ]
            workers: 3
            access_log: /var/log/recast.log
            timeouts: { header: 1s, keep_alive: 2m, body_gap: 3s, write: 4s, grace: 1h }
            defaults:
              limits: { body: 2MiB, fields: 7 }
              timeouts: { gap: 250ms }
            upstreams:
              one: { address: app.internal:9000, idle: 1s, connect: 2s, max_idle: 0, framing: auto }
              two: "unix:/run/app.sock"
              three: "[fd00::1]:3000"
              four: { address: ["${env:HOST}:80"] }
            routes:
              - name: orders
                match:
                  method: [POST, PUT]
                  path: /api/orders/{id}
                  host: [Shop.Example, "*.shop.example"]
                  type: application/json
                  header: { X-V: ["2", "3"] }
                upstream: two
                rewrite: { path: "/o/${path.id}.php", query: { id: "${path.id}", t: "a-${header.X-T}", c: fix } }
                limits: { body: 1GiB, key_depth: 3 }
                timeouts: { first_byte: 5s }
                on_other_type: pass
                request:
                  decode: { as: json, duplicates: last }
                  map:
                    remove: [ token, "a.b" ]
                    rename: { user_id: user.id }
                    set: { tenant: "${header.x-tenant}", ip: "<${client.ip}>", also: "${header.x-tenant}", n: 1.0 }
                  fields: { user.id: string, "items[*].qty": integer }
                  blanks: null
                  accept: { type: [text/plain, "text/*"] }
                  encode:
                    as: multipart
                    arrays: indices
                    files: { photo: { from: base64, filename: "${field.photo_name}", type: image/jpeg, max: 10MiB } }
              - { name: rest, match: /*, upstream: one, rewrite: /all }
            """
        ).settings
        #expect(
            settings.listen == [
                .tcp(host: "0.0.0.0", port: 80), .tcp(host: "::1", port: 81), .tcp(host: "127.0.0.1", port: 82),
                .unix(path: "/run/recast.sock"),
            ])
        #expect(settings.workers == 3 && settings.accessLog == .file(path: "/var/log/recast.log"))
        #expect(settings.client.header == .seconds(1) && settings.client.keepAlive == .seconds(120))
        #expect(settings.client.bodyGap == .seconds(3) && settings.client.write == .seconds(4))
        #expect(settings.grace == .seconds(3600))
        #expect(settings.upstreams.map(\.name) == ["one", "two", "three", "four"])
        #expect(
            settings.upstreams.map(\.addresses) == [
                [.tcp(host: "app.internal", port: 9000)], [.unix(path: "/run/app.sock")],
                [.tcp(host: "fd00::1", port: 3000)], [.tcp(host: "10.0.0.9", port: 80)],
            ])
        #expect(settings.upstreams[0].idle == .seconds(1) && settings.upstreams[0].connect == .seconds(2))
        #expect(settings.upstreams[0].maxIdlePerLoop == 0)

        let route = settings.routes[0]
        #expect(route.upstream == 1)
        #expect(route.match.methods == ["POST", "PUT"])
        #expect(route.match.path.variables == ["id"])
        #expect(route.match.hosts.map(\.description) == ["shop.example", "*.shop.example"])
        #expect(route.match.types.map(\.description) == ["application/json"])
        #expect(route.match.headers == [HeaderCondition(name: "x-v", values: ["2", "3"])])
        #expect(
            route.rewrite
                == Rewrite(
                    path: [.literal("/o/"), .variable(0), .literal(".php")],
                    query: [
                        .init(name: "id", value: .path(0, "id")),
                        .init(name: "t", value: .literalMix([.literal("a-"), .source(.header("x-t"))])),
                        .init(name: "c", value: .literalMix([.literal("fix")])),
                    ]))
        #expect(route.limits.body == 1 << 30 && route.limits.fields == 7 && route.limits.keyDepth == 3)
        #expect(route.timeouts.firstByte == .seconds(5) && route.timeouts.gap == .milliseconds(250))
        #expect(route.timeouts.bodyGap == .seconds(3))
        let conversion = try #require(route.conversion)
        let plan = conversion.plan
        #expect(conversion.otherTypes == .pass)
        #expect(
            conversion.sources == [
                .header("x-tenant"), .literalMix([.literal("<"), .source(.clientAddress), .literal(">")]),
            ])
        #expect(plan.inputs == [.json] && plan.output == .multipart && plan.jsonDuplicates == .last)
        #expect(plan.limits == route.limits && plan.rewritesNames && plan.fieldEncoding.arrays == .indices)
        #expect(plan.map.remove.map(\.description) == ["token", "a.b"])
        #expect(plan.map.rename.map { "\($0.from) \($0.to)" } == ["user_id user.id"])
        #expect(plan.map.set.map(\.path.description) == ["tenant", "ip", "also", "n"])
        #expect(plan.map.set.map(\.value) == [.source(0), .source(1), .source(0), .literal(.number("1.0"))])
        #expect(plan.blanks == .null && plan.acceptedTypes.map(\.text) == ["text/plain", "text/*"])
        #expect(plan.types.map { "\($0.path) \($0.type)" } == ["user.id string", "items[*].qty integer"])
        #expect(
            plan.files == [
                FileRule(
                    path: try FieldPath(parsing: "photo"), policy: .base64,
                    filename: .field(try FieldPath(parsing: "photo_name")), mediaType: "image/jpeg",
                    max: 10 << 20)
            ])

        #expect(settings.routes[1].rewrite == Rewrite(path: [.literal("/all")]))
        #expect(settings.routes[1].limits.body == 2 << 20)
    }

    @Test("a value set keeps its YAML type, and its text where it is a number")
    func literals() throws {
        let file = try SettingsTestFile.parseRoutes(
            """
              - name: a
                match: /a
                upstream: app
                request:
                  decode: form
                  encode: json
                  map:
                    set: { a: 1, b: 1.50e+3, c: "1", d: true, e: "true", f: null, g: ~, h: , i: text, j: [1, [x]],
                           k: { x: { y: false } }, l: "$${x}", m: "${env:TOKEN}", n: 2024-01-01, o: 10.0.0.1,
                           p: "${env:EMPTY}", q: "x ${file:/run/secret} y", r: "yes" }
            """)
        let conversion = try #require(file.settings.routes[0].conversion)
        let plan = conversion.plan
        #expect(conversion.sources.isEmpty)
        let literals = plan.map.set.map { assignment -> Literal? in
            if case .literal(let literal) = assignment.value { return literal }
            return nil
        }
        #expect(
            literals == [
                .number("1"), .number("1.50e+3"), .string("1"), .bool(true), .string("true"), .null, .null, .null,
                .string("text"), .array([.number("1"), .array([.string("x")])]),
                .object([.init(name: "x", value: .object([.init(name: "y", value: .bool(false))]))]),
                .string("${x}"), .string("${header.x}"), .string("2024-01-01"), .string("10.0.0.1"), .string(""),
                .string("x s3cret y"), .string("yes"),
            ])
    }

    @Test(
        "sizes are whole numbers with a unit",
        arguments: [
            ("500B", 500), ("64KiB", 65_536), ("3MiB", 3_145_728), ("1GiB", 1 << 30), ("2TiB", 2 << 40),
            ("1024TiB", 1 << 50),
        ])
    func sizes(text: String, bytes: Int) throws {
        let route = "  - { name: a, match: /a, upstream: app, limits: { body: \(text) } }"
        let file = try SettingsTestFile.parseRoutes(route)
        #expect(file.settings.routes[0].limits.body == bytes)
        #expect(file.effectiveOfRoutes[0].contains { $0.key == "limits.body" && $0.value == text })
    }

    @Test(
        "times are whole numbers with a unit",
        arguments: [("250ms", 250), ("3s", 3000), ("5m", 300_000), ("2h", 7_200_000), ("24h", 86_400_000)])
    func times(text: String, milliseconds: Int) throws {
        let route = "  - { name: a, match: /a, upstream: app, timeouts: { first_byte: \(text) } }"
        let file = try SettingsTestFile.parseRoutes(route)
        #expect(file.settings.routes[0].timeouts.firstByte == .milliseconds(milliseconds))
        #expect(file.effectiveOfRoutes[0].contains { $0.key == "timeouts.first_byte" && $0.value == text })
    }

    @Test("every limit has a key of its own")
    func limits() throws {
        let file = try SettingsTestFile.parseRoutes(
            """
              - name: a
                match: /a
                upstream: app
                limits: { body: 1B, tree: 2B, fields: 3, field: 4B, key_depth: 5, depth: 6, key: 7B, number: 8B, parts: 9,
                          part_headers: 10, part_header_line: 11B, part_header_bytes: 12B, preamble: 13B, boundary: 14,
                          response: 15B }
            """)
        var expected = Limits()
        expected.body = 1
        expected.tree = 2
        expected.fields = 3
        expected.field = 4
        expected.keyDepth = 5
        expected.depth = 6
        expected.key = 7
        expected.number = 8
        expected.parts = 9
        expected.partHeaders = 10
        expected.partHeaderLine = 11
        expected.partHeaderBytes = 12
        expected.preamble = 13
        expected.boundary = 14
        #expect(file.settings.routes[0].limits == expected)
        #expect(file.settings.routes[0].responseLimit == 15)
    }

    @Test("an alias repeats a section, and a mistake in it is reported once")
    func aliases() throws {
        let settings = try SettingsTestFile.parseRoutes(
            """
              - { name: a, match: /a, upstream: app, limits: &small { body: 1KiB } }
              - { name: b, match: /b, upstream: app, limits: *small }
            """
        ).settings
        #expect(settings.routes.map(\.limits.body) == [1024, 1024])
        let mistakes = SettingsTestFile.mistakesOfRoutes(
            """
              - { name: a, match: /a, upstream: app, limits: &small { body: 1 } }
              - { name: b, match: /b, upstream: app, limits: *small }
            """)
        #expect(mistakes == ["5:65: \"body\": a size needs a unit (B, KiB, MiB, GiB, TiB), as in 64KiB"])
    }

    @Test("each value in effect says which line it comes from, or that it is the default")
    func origins() throws {
        let file = try SettingsTestFile.parse(
            """
            version: 1
            listen: 127.0.0.1:8080
            workers: 2
            defaults: { limits: { fields: 5 } }
            upstreams: { app: { address: "a:1", idle: 1s } }
            routes:
              - name: a
                match: /a
                upstream: app
                limits:
                  body: 64KiB
                request: "form -> json(order: sorted)"
            """)
        func origin(_ key: String, _ values: [EffectiveValue]) -> String? {
            values.first { $0.key == key }.map { value in
                switch value.origin {
                case .standard: "\(value.value) by default"
                case .line(let line): "\(value.value) in line \(line)"
                }
            }
        }
        #expect(origin("workers", file.effective) == "2 in line 3")
        #expect(origin("access_log", file.effective) == "stdout by default")
        #expect(origin("upstreams.app.idle", file.effective) == "1s in line 5")
        #expect(origin("upstreams.app.connect", file.effective) == "3s by default")
        let route = try #require(file.effectiveOfRoutes.first)
        #expect(origin("match.path", route) == "/a in line 8")
        #expect(origin("limits.body", route) == "64KiB in line 11")
        #expect(origin("limits.fields", route) == "5 in line 4")
        #expect(origin("limits.tree", route) == "1MiB by default")
        #expect(origin("timeouts.first_byte", route) == "30s by default")
        #expect(origin("request.decode.as", route) == "form in line 12")
        #expect(origin("request.encode.order", route) == "sorted in line 12")
        #expect(origin("request.encode.booleans", route) == "literal by default")
        #expect(origin("request.decode.duplicates", route) == "array by default")
    }

    @Test("a file that is not there is one mistake")
    func missingFile() {
        #expect(throws: SettingsMistakes.self) { try SettingsFile.load("/nowhere/recast.yaml") }
    }
}
