import Gateway
import Proxy
import Settings
import Testing

/// Secrets and credentials as the settings write them: what is one, what is refused, and what `check` says of it.
@Suite struct CredentialSettingsTests {
    private static let hex = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
    private static let base64 = "n4bQgYhMfWWaL+qgxVrQFaO/TxsrC4Is0V1sFbDwCgg="
    private static let long = "a-long-enough-secret"

    private static func route(_ keys: String, match: String = "/a") -> String {
        SettingsTestFile.head + "  - { name: all, match: \(match), upstream: app, \(keys) }\n"
    }

    private static func authorization(
        _ keys: String, _ environment: SettingsEnvironment = SettingsTestFile.environment
    ) throws -> RequestAuthorization {
        let file = try SettingsFile.parse(route("authorize: \(keys)"), environment: environment)
        return try #require(file.settings.routes[0].authorization)
    }

    private static func digests(_ authorization: RequestAuthorization) -> [[UInt8]] {
        authorization.ways.flatMap { way in
            switch way {
            case .bearer(let tokens): tokens
            case .basic(let users): users.map(\.password)
            case .key(_, let keys): keys
            }
        }
    }

    private static let ways = ["{ bearer: SECRET }", "{ header: X-Key, keys: [SECRET] }", "{ basic: { ada: SECRET } }"]

    /// An environment whose one variable and whose one file have this text.
    private static func environment(_ text: String) -> SettingsEnvironment {
        SettingsEnvironment(variable: { _ in text }, file: { _ throws(SettingsEnvironment.FileFault) in text })
    }

    // MARK: Digests

    @Test("a token, a key and a password stand as their digests", arguments: ways)
    func digests(way: String) throws {
        for written in ["{SHA256}\(Self.hex)", "{SHA256}\(Self.hex.uppercased())", "{sha256}\(Self.base64)"] {
            let found = try Self.authorization(way.replacing("SECRET", with: "\"\(written)\""))
            #expect(Self.digests(found) == [RequestAuthorization.digest(Array("test".utf8))], "\(written)")
            let fromFile = try Self.authorization(
                way.replacing("SECRET", with: "\"${file:/x}\""), Self.environment("\u{FEFF}\(written)\r\n\n"))
            #expect(Self.digests(fromFile) == [RequestAuthorization.digest(Array("test".utf8))], "\(written)")
        }
    }

    @Test("a digest that is none, and a hash in a form that isn't read, are mistakes", arguments: ways)
    func mistakenDigests(way: String) {
        let cases = [
            ("{SHA256}", "64 digits of hex"), ("{SHA256}\(Self.hex)0", "64 digits of hex"),
            ("{SHA256}\(Self.hex.dropLast())x", "64 digits of hex"), ("{SHA256}\(Self.hex)  -", "64 digits of hex"),
            ("{sha256}test", "64 digits of hex"), ("{SHA}qUqP5cyxm6YcTAhz05Hph5gvu9M=", "of the form {SHA}"),
            ("{SSHA}MLi1xvVhHzPJvJ0PqO5C4Bm3pS0cU5Hq", "of the form {SSHA}"),
            ("{ssha512.b64}x", "of the form {SSHA512.B64}"),
            ("{MD5}CY9rzUYh03PK3k6DJie09g==", "of the form {MD5}"), ("{CRYPT}$6$a$b", "of the form {CRYPT}"),
            ("{ARGON2ID}$argon2id$v=19$m=65536", "of the form {ARGON2ID}"),
            ("$2y$05$wcCfVHH1kq4hPVnCbYkIFuIbOQO3Uj9zY9oJ1Y5J0Yx7hVYt1cB8G", "of the form $2y$"),
            ("$2b$10$wcCfVHH1kq4hPVnCbYkIFuIbOQO3Uj9zY9oJ1Y5J0Yx7hVYt1cB8G", "of the form $2b$"),
            ("$apr1$lZL6V/ci$eIMz/iKDkbtys/uU7LEK00", "of the form $apr1$"),
            ("$6$saltsalt$qFmFH.bQmmtXzyBY0s9v7Oicd2z4XSIecDzlB5KiA2", "of the form $6$"),
            ("$argon2id$v=19$m=65536,t=3,p=4$c2FsdA$aGFzaA", "of the form $argon2id$"),
        ]
        for (written, message) in cases {
            let mistakes = SettingsTestFile.mistakes(
                Self.route("authorize: " + way.replacing("SECRET", with: "\"\(written)\"")))
            #expect(mistakes.count == 1 && mistakes[0].contains(message), "\(written): \(mistakes)")
            let told = written.drop { $0 != "}" }.dropFirst().prefix(12)
            #expect(told.count < 4 || mistakes.allSatisfy { !$0.contains(told) }, "\(mistakes)")
        }
    }

    @Test(
        "what only resembles a hash is the secret itself",
        arguments: [
            "{sharp}-and-long-enough", "{name}", "{}SHA256", "$money$", "$1$ for lunch", "$2y-long-enough-secret", hex,
            "SHA256:\(hex)",
        ])
    func lookalikes(secret: String) throws {
        for way in Self.ways {
            let found = try Self.authorization(way.replacing("SECRET", with: "'\(secret)'"))
            #expect(Self.digests(found) == [RequestAuthorization.digest(Array(secret.utf8))])
        }
    }

    @Test("a digest that isn't here isn't judged")
    func withoutSecrets() throws {
        var environment = SettingsEnvironment(
            variable: { _ in nil }, file: { _ throws(SettingsEnvironment.FileFault) in "" })
        environment.lacksSecrets = true
        for way in Self.ways {
            let text = Self.route("authorize: " + way.replacing("SECRET", with: "\"{SHA256}${env:D}\""))
            let file = try SettingsFile.parse(text, environment: environment)
            #expect(file.settings.routes[0].authorization != nil)
            #expect(!file.notes.contains { $0.code == "secret_short" })
        }
    }

    // MARK: Users

    @Test(
        "one user as other programs write him is refused, and not taken for two",
        arguments: [
            ("user: ada, password: \(long)", "\"user\" and \"password\""),
            ("password: \(long), username: ada", "\"username\" and \"password\""),
            ("User: ada, Pass: \(long)", "\"User\" and \"Pass\""),
            ("name: ada, secret: \(long)", "\"name\" and \"secret\""),
            ("user_name: ada, pass-word: \(long)", "\"user_name\" and \"pass-word\""),
            ("login: ada, pwd: \(long), realm: x", "\"login\" and \"pwd\""),
        ])
    func pairs(users: String, names: String) {
        let mistakes = SettingsTestFile.mistakes(Self.route("authorize: { basic: { \(users) } }"))
        #expect(mistakes.count == 1, "\(mistakes)")
        #expect(
            mistakes.allSatisfy {
                $0.contains(names) && $0.contains("basic: { ada: \"${env:ADA}\" }") && !$0.contains(Self.long)
            }, "\(mistakes)")
    }

    @Test(
        "users of any name may come in",
        arguments: [
            "user: \(long)", "password: \(long)", "user: \(long), admin: \(long)", "ada: \(long), pass: \(long)",
        ])
    func users(users: String) {
        #expect(SettingsTestFile.mistakes(Self.route("authorize: { basic: { \(users) } }")) == [])
    }

    // MARK: What is around a secret

    @Test(
        "a byte order mark and line ends are none of a secret, wherever it comes from",
        arguments: ["\u{FEFF}\(long)", "\(long)\n", "\(long)\r\n", "\(long)\n\n", "\u{FEFF}\(long)\r\n\r\n"])
    func marks(text: String) throws {
        for reference in ["${env:S}", "${file:/s}"] {
            let environment = Self.environment(text)
            for way in Self.ways {
                let found = try Self.authorization(way.replacing("SECRET", with: "\"\(reference)\""), environment)
                #expect(Self.digests(found) == [RequestAuthorization.digest(Array(Self.long.utf8))])
            }
            for secret in ["secret: \"\(reference)\"", "secret: { value: \"\(reference)\", encoding: text }"] {
                let settings = Self.route(
                    "verify: { preset: meta, \(secret), verify_token: \"\(reference)\" }", match: "/b")
                let verification = try #require(
                    try SettingsFile.parse(settings, environment: environment).settings.routes[0].verification)
                #expect(verification.challengeToken == Array(Self.long.utf8))
            }
        }
    }

    @Test(
        "white space at the ends of a secret is a mistake",
        arguments: [" \(long)", "\(long) ", "\t\(long)", "\(long)\t", "\(long)\u{A0}", "\(long) \n", "\(long)\u{FEFF}"])
    func blanks(text: String) {
        let settings = [
            "authorize: { basic: { ada: \"${env:S}\" } }", "authorize: { bearer: \"${env:S}\" }",
            "authorize: { header: X-K, keys: [\"${env:S}\"] }", "verify: { preset: github, secret: \"${env:S}\" }",
            "verify: { preset: gitlab, secret: \"${env:S}\" }", "sign: { preset: github, secret: \"${env:S}\" }",
            "verify: { preset: meta, secret: \(Self.long), verify_token: \"${env:S}\" }",
        ]
        for setting in settings {
            do {
                _ = try SettingsFile.parse(Self.route(setting), environment: Self.environment(text))
                Issue.record("\(setting) was taken")
            } catch {
                let found = error.all.map(\.description)
                #expect(found.count == 1, "\(setting): \(found)")
                let says = found.allSatisfy { $0.contains("white space") || $0.contains("control") }
                #expect(says && found.allSatisfy { !$0.contains(Self.long) }, "\(setting): \(found)")
            }
        }
        let written = Self.route("verify: { preset: github, secret: { value: \" \(Self.long)\", encoding: text } }")
        #expect(SettingsTestFile.mistakes(written) == [])
    }

    // MARK: Notes

    private static func notes(_ keys: String, match: String = "/a", more: String = "") throws -> [SettingsNote] {
        try SettingsTestFile.parse(route(keys, match: match) + more).notes
    }

    @Test(
        "check warns of short secrets of each kind",
        arguments: [
            ("authorize: { bearer: FIFTEEN }", "a token of \"bearer\" of 15 bytes can be guessed by trying"),
            ("authorize: { bearer: [FIFTEEN, x] }", "a token of \"bearer\" of 1 byte can be guessed by trying"),
            ("authorize: { header: X-K, keys: [FIFTEEN] }", "a key of \"X-K\" of 15 bytes can be guessed by trying"),
            ("authorize: { basic: { ada: FIFTEEN } }", "the password of \"ada\" of 15 bytes can be guessed by trying"),
            ("sign: 'github(secret: FIFTEEN)'", "the secret of \"sign\" of 15 bytes can be guessed from one signed"),
            ("verify: 'github(secret: FIFTEEN)'", "a secret of 15 bytes can be guessed from one signed request"),
            ("verify: 'gitlab(secret: FIFTEEN)'", "a secret of 15 bytes can be guessed by trying one after the other"),
            (
                "verify: { header: X-A, algorithm: equal, secret: FIFTEEN }",
                "a secret of 15 bytes can be guessed by trying one after the other"
            ),
            (
                "verify: { preset: meta, secret: \(long), verify_token: FIFTEEN }",
                "\"verify_token\" of 15 bytes can be guessed by trying one after the other"
            ),
        ])
    func shortSecrets(keys: String, message: String) throws {
        let short = try Self.notes(keys.replacing("FIFTEEN", with: "fifteen-bytes-x"))
            .filter { $0.code == "secret_short" }
        #expect(short.count == 1 && short[0].severity == .warning, "\(short)")
        #expect(short.allSatisfy { $0.message.hasPrefix(message) && $0.line == 5 && $0.route == "all" }, "\(short)")
        let long = try Self.notes(
            keys.replacing(", x]", with: "]").replacing("FIFTEEN", with: "sixteen-bytes-xx"))
        #expect(!long.contains { $0.code == "secret_short" }, "\(long)")
        let hashed = try Self.notes("authorize: { bearer: \"{SHA256}\(Self.hex)\" }")
        #expect(!hashed.contains { $0.code == "secret_short" })
    }

    @Test(
        "check warns where messages of SNS are taken from topics of anybody, and nobody has said so",
        arguments: [
            ("", true), (", topics: any", false), (", topics: arn:aws:sns:eu-west-1:123456789012:orders", false),
        ])
    func topics(more: String, isNoted: Bool) throws {
        let notes = try Self.notes("verify: { preset: sns, fetch: true\(more) }").filter { $0.code == "topics_any" }
        #expect(notes.count == (isNoted ? 1 : 0))
        #expect(notes.allSatisfy { $0.severity == .warning && $0.route == "all" })
    }

    @Test(
        "check warns of challenges that are refused for want of a token, or that don't reach their route",
        arguments: [
            ("meta", "", "/a", ["challenge_token_missing"]), ("whatsapp", "", "/a", ["challenge_token_missing"]),
            ("meta", "challenge: forward", "/a", []), ("meta", "token", "/a", []),
            ("meta", "", "{ method: POST, path: /a }", ["challenge_token_missing", "challenge_unreachable"]),
            ("meta", "challenge: forward", "{ method: POST, path: /a }", ["challenge_unreachable"]),
            ("meta", "token", "{ method: [POST, GET], path: /a }", []),
            ("meta", "token", "{ type: application/json, path: /a }", ["challenge_unreachable"]),
            ("x", "", "{ method: POST, path: /a }", ["challenge_unreachable"]), ("x", "", "/a", []),
            ("dropbox", "", "{ method: [POST, HEAD], path: /a }", ["challenge_unreachable"]),
            ("intercom", "", "{ method: [POST, GET], path: /a }", ["challenge_unreachable"]),
            ("intercom", "", "{ method: [POST, HEAD], path: /a }", []),
            ("mandrill", "", "{ method: POST, path: /a }", ["challenge_unreachable"]),
            ("slack", "", "{ method: POST, path: /a }", []), ("github", "", "{ method: POST, path: /a }", []),
        ])
    func challenges(preset: String, more: String, match: String, codes: [String]) throws {
        let token = more == "token" ? ", verify_token: \(Self.long)" : ""
        let keys = "verify: { preset: \(preset), secret: \(Self.long)\(token) }"
        let all = more.isEmpty || more == "token" ? keys : "\(keys), \(more)"
        func found(_ more: String = "") throws -> [SettingsNote] {
            try Self.notes(all, match: match, more: more).filter { $0.code.hasPrefix("challenge_") }
        }
        let notes = try found()
        #expect(notes.map(\.code) == codes, "\(notes)")
        #expect(notes.allSatisfy { $0.severity == .warning && $0.route == "all" })
        // The service may have a route of its own for them.
        for (methods, isReached) in [("[GET, HEAD]", true), ("PUT", false)] {
            let other = "  - { name: other, match: { method: \(methods), path: /a }, upstream: app }\n"
            guard codes.contains("challenge_unreachable"), !match.contains("type") else { continue }
            #expect(try found(other).contains { $0.code == "challenge_unreachable" } != isReached)
        }
    }
}
