import Gateway
import Proxy
import Testing

@testable import Settings

/// Words that switch something off, or leave it to Recast, wherever they may stand: as they are, and by a variable.
@Suite struct OffSettingsTests {
    private func route(_ keys: String) throws -> SettingsFile {
        try SettingsTestFile.parseRoutes("  - { name: all, match: /*, upstream: app, \(keys) }")
    }

    @Test(
        "what routes and defaults have is off where a word says so, or a variable",
        arguments: ["trailers", "upgrade", "codings", "compress", "retry", "rate", "min_rate", "rate_limit"],
        ["off", "\"${env:OFF}\""])
    func ofDefaults(_ key: String, _ word: String) throws {
        let options = try route("\(key): \(word)").settings.routes[0].options
        let isOff =
            switch key {
            case "trailers": options.forwarding.trailers.isEmpty
            case "upgrade": options.forwarding.upgrade?.isEmpty == true
            case "codings": options.coding.undone.isEmpty
            case "compress": options.coding.compress == nil
            case "retry": !options.retry.isEnabled
            case "rate": options.rate.request == 0 && options.rate.response == 0
            case "min_rate": options.rate.minimumRequest == 0 && options.rate.minimumResponse == 0
            default: options.rateLimit == nil
            }
        #expect(isOff)
    }

    @Test(
        "so is what routes alone have",
        arguments: ["shadow", "verify", "sign", "authorize"], ["off", "\"off\"", "false", "\"${env:OFF}\""])
    func ofRoutes(_ key: String, _ word: String) throws {
        let file = try route("\(key): \(word)")
        let route = file.settings.routes[0]
        #expect(route.shadow == nil && route.verification == nil && route.signing == nil)
        #expect(route.authorization == nil)
        let value = try #require(file.effectiveOfRoutes[0].first { $0.key == key })
        #expect(file.redacted(value).value.contains("off") || value.value == "off")
        #expect(value.origin == .line(5))
    }

    @Test("so is the envelope of a response", arguments: ["off", "false", "\"${env:OFF}\""])
    func ofEnvelopes(_ word: String) throws {
        let file = try route("response: { convert: json -> form, status_from: \(word), problem: \(word) }")
        #expect(!file.effectiveOfRoutes[0].contains { $0.key.contains("status_from") || $0.key.contains("problem") })
        // A field of that name is written in full.
        let named = try route("response: { convert: json -> form, status_from: { path: off } }")
        #expect(
            named.effectiveOfRoutes[0].contains { $0.key == "response.status_from.path" && $0.value == "off" })
    }

    @Test("so is what stands at the top of the file, and what is left to Recast is chosen by it")
    func ofFile() throws {
        func parse(_ keys: String) throws -> SettingsFile {
            try SettingsTestFile.parse(
                "\(keys)\n" + SettingsTestFile.head + "  - { name: all, match: /*, upstream: app }")
        }
        for word in ["off", "\"${env:OFF}\""] {
            let file = try parse(
                "via: \(word)\ntracing: \(word)\nadmin: { address: 127.0.0.1:9901, console: { mask: \(word) } }")
            #expect(file.settings.forwarding.via == nil)
            #expect(file.settings.tracing == nil)
            #expect(file.settings.admin.console?.mask.isEmpty == true)
        }
        for word in ["auto", "\"${env:AUTO}\""] {
            let file = try parse("memory: { bodies: \(word) }\nimages: { threads: \(word) }")
            #expect(file.settings.memory.bodies == nil)
            #expect(file.settings.images.threads == nil)
        }
    }

    @Test("a route's shadow may be chosen by a variable")
    func shadow() throws {
        let file = try route("request: form -> json, shadow: \"${env:CONVERT}\"")
        #expect(file.settings.routes[0].shadow != nil)
    }

    @Test(
        "a word that would be taken for a name, or for nothing, is refused",
        arguments: [
            ("codings: [off]", "5:54: \"codings\" is not \"off\": known are gzip, deflate, br, zstd"),
            ("codings: { undo: [off] }", "5:62: \"undo\" is not \"off\": known are gzip, deflate, br, zstd"),
            ("codings: identity", "5:53: \"codings\" is not \"identity\": known are gzip, deflate, br, zstd, off"),
            (
                "host: off",
                "5:50: \"host\" is no switch: write preserve, upstream, or a host as in api.example, or \"off\""
            ),
            ("trailers: [off]", "5:55: \"trailers\" is no switch: write off or names, or \"off\" in quotes"),
            ("upgrade: [websocket, off]", "5:65: \"upgrade\" is no switch: write off or names"),
            (
                "trailers: \"*\"",
                "5:54: \"trailers\" takes no \"*\": a star stands for nothing here, so write each name"
            ),
            ("trailers: [X-A-*]", "5:55: \"trailers\" takes no \"X-A-*\": a star stands for nothing here"),
            ("upgrade: \"*\"", "5:53: \"upgrade\" takes no \"*\": a star stands for nothing here"),
            ("rewrite: \"\"", "5:53: a path begins with a slash"),
            ("rewrite: { path: \"\" }", "5:61: a path begins with a slash"),
            ("rewrite: /caf\u{e9}", "5:53: a path can't hold \"\u{e9}\": percent-encode it"),
        ])
    func refused(_ keys: String, _ expected: String) {
        let mistakes = SettingsTestFile.mistakesOfRoutes("  - { name: all, match: /*, upstream: app, \(keys) }")
        #expect(mistakes.count == 1 && mistakes[0].hasPrefix(expected), "\(mistakes)")
    }

    @Test("a file is read once, however often its text is looked at: it may be a pipe")
    func once() throws {
        final class Reads: @unchecked Sendable { var paths: [String] = [] }
        let reads = Reads()
        let environment = SettingsEnvironment(
            variable: { _ in nil },
            file: { path throws(SettingsEnvironment.FileFault) in
                reads.paths.append(path)
                if path == "/none" { throw SettingsEnvironment.FileFault("there is none") }
                return "off\n"
            })
        func mistakes(_ path: String) -> [String] {
            let value = "\"${file:\(path)}\""
            let text =
                SettingsTestFile.head
                + "  - { name: all, match: /*, upstream: app, codings: \(value), trailers: \(value), rate_limit: \(value) }"
            do throws(SettingsMistakes) {
                _ = try SettingsFile.parse(text, environment: environment)
                return []
            } catch {
                return error.all.map(\.message)
            }
        }
        #expect(mistakes("/pipe") == [])
        #expect(mistakes("/none") == ["there is none", "there is none", "there is none"])
        #expect(reads.paths == ["/pipe", "/none"])
    }

    @Test("a star is no method")
    func method() {
        #expect(
            SettingsTestFile.mistakesOfRoutes("  - { name: all, match: { method: [\"*\"] }, upstream: app }") == [
                "5:36: no star stands for methods: leave \"method\" out where a route takes any of them"
            ])
    }
}
