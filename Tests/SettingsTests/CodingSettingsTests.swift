import ContentCoding
import Gateway
import Proxy
import Settings
import Testing

/// What a route says of content codings. A route in the tables stands in line 5.
@Suite struct CodingSettingsTests {
    private func file(_ keys: String) throws -> SettingsFile {
        try SettingsTestFile.parseRoutes("  - { name: a, match: /a, upstream: app, \(keys) }")
    }

    private func options(_ keys: String) throws -> CodingOptions { try file(keys).settings.routes[0].options.coding }

    @Test("without a word all codings are undone, nothing is compressed, and the upstream is asked for no coding")
    func standard() throws {
        let file = try file("request: form -> json")
        let coding = file.settings.routes[0].options.coding
        #expect(coding == CodingOptions())
        #expect(coding.undone == [.gzip, .deflate, .br, .zstd] && !coding.asks && coding.compress == nil)
        #expect(coding.limits.decompressed == 100 << 20 && coding.limits.ratio == 100)
        let effective = file.effectiveOfRoutes[0]
        for (key, value) in [
            ("codings", "gzip, deflate, br, zstd"), ("compress", "off"), ("limits.decompressed", "100MiB"),
            ("limits.ratio", "100"),
        ] {
            #expect(effective.contains { $0.key == key && $0.value == value && $0.origin == .standard }, "\(key)")
        }
    }

    @Test("codings can be chosen, switched off, and asked for")
    func codings() throws {
        #expect(try options("codings: [br, gzip]").undone == [.br, .gzip])
        #expect(try options("codings: zstd").undone == [.zstd])
        #expect(try options("codings: off").undone.isEmpty)
        #expect(try options("codings: false").undone.isEmpty)
        let asking = try options("codings: { undo: [gzip], ask: true }")
        #expect(asking.undone == [.gzip] && asking.asks)
        #expect(try options("codings: { ask: true }").undone == Coding.allCases)
        #expect(try file("codings: off").effectiveOfRoutes[0].contains { $0.key == "codings" && $0.value == "off" })
    }

    @Test("limits of coded bodies")
    func limits() throws {
        let coding = try options("limits: { decompressed: 3MiB, ratio: 7 }")
        #expect(coding.limits.decompressed == 3 << 20 && coding.limits.ratio == 7)
    }

    @Test("compress in its forms")
    func compress() throws {
        let convert = "response: json -> form"
        #expect(try options("\(convert), compress: true").compress == CompressOptions())
        #expect(try options("\(convert), compress: false").compress == nil)
        #expect(try options("\(convert), compress: off").compress == nil)
        let compress = try #require(
            try options(
                "compress: { codings: [zstd, gzip], min: 2KiB, types: [text/*, +json], level: 9, plain: true }"
            ).compress)
        #expect(compress.codings == [.zstd, .gzip] && compress.least == 2048 && compress.plain)
        #expect(compress.types.map(\.description) == ["text/*", "+json"] && compress.level == CodingLevel(9))
        let effective = try file("compress: { plain: true }").effectiveOfRoutes[0]
        #expect(effective.contains { $0.key == "compress" && $0.value == "br, zstd, gzip" && $0.origin == .line(5) })
        #expect(effective.contains { $0.key == "compress.min" && $0.value == "1KiB" && $0.origin == .standard })
        #expect(effective.contains { $0.key == "compress.plain" && $0.value == "true" })
    }

    @Test("what is in effect is shown, whether the route says it, or all do, or nobody")
    func effective() throws {
        func shown(_ defaults: String, _ route: String) throws -> [String] {
            let file = try SettingsTestFile.parse(
                """
                version: 1
                listen: 127.0.0.1:8080
                upstreams: { app: "127.0.0.1:3000" }
                defaults: { \(defaults) }
                routes:
                  - { name: a, match: /a, upstream: app, response: json -> form, \(route) }
                """)
            return file.effectiveOfRoutes[0].filter { $0.key.hasPrefix("codings") || $0.key.hasPrefix("compress") }
                .map { value in
                    let line = if case .line(let line) = value.origin { "\(line)" } else { "-" }
                    return "\(value.key): \(value.value) \(line)"
                }
        }
        let all = "gzip, deflate, br, zstd"
        #expect(try shown("", "host: preserve") == ["codings: \(all) -", "codings.ask: false -", "compress: off -"])
        #expect(
            try shown("codings: { ask: true }, compress: { min: 2KiB, level: 3 }", "codings: gzip") == [
                "codings: gzip 6", "codings.ask: true 4", "compress.min: 2KiB 4", "compress.types: what is text -",
                "compress.level: 3 4", "compress.plain: false -", "compress: br, zstd, gzip 4",
            ])
        #expect(
            try shown("compress: { types: text/*, plain: true }", "compress: true") == [
                "codings: \(all) -", "codings.ask: false -", "compress.min: 1KiB -", "compress.types: text/* 4",
                "compress.level: each coding's own -", "compress.plain: true 4", "compress: br, zstd, gzip 6",
            ])
        #expect(try shown("compress: { level: 9 }", "compress: off").last == "compress: off 6")
        // What a route doesn't say of a mapping comes from where it stands.
        #expect(
            try shown("codings: { undo: gzip, ask: true }", "codings: { ask: false }").prefix(2) == [
                "codings: gzip 4", "codings.ask: false 6",
            ])
        #expect(
            try shown("codings: { undo: gzip, ask: true }", "codings: off").prefix(2) == [
                "codings: off 6", "codings.ask: true 4",
            ])
        // A route that asks for what "defaults" switch off would ask for nothing.
        let mistakes = #expect(throws: SettingsMistakes.self) { try shown("codings: off", "codings: { ask: true }") }
        #expect(
            mistakes?.all.first?.message
                == "\"ask\" is for codings that are undone, and \"defaults\" undo none: say which, as in undo: gzip, or remove it"
        )
    }

    @Test(
        "what is wrong is reported at its place",
        arguments: [
            ("codings: [gzip, bz2]", "5:58: \"codings\" is not \"bz2\": known are gzip, deflate, br, zstd"),
            ("codings: gzipp", "5:51: \"codings\" is not \"gzipp\": did you mean \"gzip\"?"),
            ("codings: [gzip, gzip]", "5:58: \"codings\" has \"gzip\" twice"),
            ("codings: { undo: gzip, asks: true }", "5:65: \"codings\" has no key \"asks\": did you mean \"ask\"?"),
            ("codings: { ask: 1 }", "5:58: \"ask\" is true or false, not \"1\""),
            (
                "codings: { ask: true, undo: off }",
                "5:58: \"ask\" is for codings that are undone, and \"undo\" is off: remove one of them"
            ),
            (
                "compress: 1",
                "5:52: \"compress\" is true, off or a mapping, not \"1\": write compress: { codings: [gzip] }"
            ),
            ("compress: { plain: true, level: 0 }", "5:74: \"level\" is from 1 to 9, not 0"),
            ("compress: { plain: true, level: 10 }", "5:74: \"level\" is from 1 to 9, not 10"),
            ("compress: { plain: true, min: 0B }", "5:72: \"min\" is at least 1B, not 0B"),
            (
                "compress: { plain: true, lvl: 1 }",
                "5:67: \"compress\" has no key \"lvl\": known are codings, min, types, level, plain"
            ),
            (
                "compress: { plain: true, codings: off }",
                "5:76: \"codings\" is not \"off\": known are gzip, deflate, br, zstd"
            ),
            (
                "compress: true",
                "5:42: \"compress\" is for converted responses, and this route converts none: write compress: "
                    + "{plain: true} to compress those that it passes on"
            ),
            ("limits: { decompressed: 0B }", "5:66: \"decompressed\" is at least 1B, not 0B"),
            ("limits: { ratio: 1000001 }", "5:59: \"ratio\" is from 1 to 1000000, not 1000001"),
        ])
    func mistakes(keys: String, mistake: String) {
        let route = "  - { name: a, match: /a, upstream: app, \(keys) }"
        #expect(SettingsTestFile.mistakesOfRoutes(route) == [mistake])
    }

    @Test("what defaults say holds for each route, plain ones are left alone, and a route can differ")
    func defaults() throws {
        let text = """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: "127.0.0.1:3000" }
            defaults: { compress: { level: 2 }, codings: gzip, limits: { ratio: 5 } }
            routes:
              - { name: a, match: /a, upstream: app, response: json -> form }
              - { name: b, match: /b, upstream: app, compress: { plain: true }, codings: br }
              - { name: c, match: /c, upstream: app, compress: off, limits: { ratio: 6 } }
              - { name: d, match: /d, upstream: app }
            """
        let coding = try SettingsTestFile.parse(text).settings.routes.map(\.options.coding)
        #expect(coding.map { $0.compress?.level } == [CodingLevel(2), CodingLevel(2), nil, CodingLevel(2)])
        #expect(coding.map { $0.compress?.plain } == [false, true, nil, false])
        #expect(coding.map(\.undone) == [[.gzip], [.br], [.gzip], [.gzip]])
        #expect(coding.map(\.limits.ratio) == [5, 5, 6, 5])
    }
}
