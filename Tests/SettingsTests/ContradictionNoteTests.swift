import Settings
import Testing

/// What `check` says of settings that are fine one by one, and of which one takes from another what it says.
@Suite("Notes of settings that contradict one another")
struct ContradictionNoteTests {
    /// The codes among `codes` that are noted, each with its line, of one route with these lines behind those of the file.
    private func notes(
        _ route: String, _ top: String = "", listen: String = "127.0.0.1:8080", _ codes: [String]
    ) throws -> [String] {
        let file = try SettingsTestFile.parse(
            """
            version: 1
            listen: "\(listen)"
            upstreams: { app: "127.0.0.1:3000" }
            \(top)
            routes:
              - { name: a, upstream: app, \(route) }
              - { name: rest, match: "/*", upstream: app }
            """)
        return file.notes.filter { codes.contains($0.code) }.map { "\($0.line) \($0.severity.rawValue) \($0.code)" }
    }

    @Test(
        "limits that let in what the memory for bodies can't hold",
        arguments: [
            ("memory: { bodies: 2MiB }", "request: json -> plist", []),
            ("memory: { bodies: 2047KiB }", "request: json -> plist", ["tree"]),
            ("memory: { bodies: 8MiB }", "request: json -> plist, limits: { tree: 4MiB }", []),
            ("memory: { bodies: 8MiB }", "request: json -> plist, limits: { tree: 4097KiB }", ["tree"]),
            ("memory: { bodies: 8MiB }", "limits: { tree: 64MiB }", []),
            ("memory: { bodies: auto }", "request: json -> plist, limits: { tree: 1GiB }", []),
            ("", "request: json -> plist, limits: { tree: 1GiB }", []),
            // What passes value by value is no document that is held.
            ("memory: { bodies: 2047KiB }", "request: json -> form", []),
            ("memory: { bodies: 2047KiB }", "request: json -> json", []),
            ("memory: { bodies: 2047KiB }", "request: form -> json", ["tree"]),
            ("memory: { bodies: 2047KiB }", "request: \"json -> form(dialect: alamofire)\"", ["tree"]),
            ("memory: { bodies: 2047KiB }", "request: json -> auto", ["tree"]),
            ("memory: { bodies: 8MiB }", "response: json -> form", []),
            ("memory: { bodies: 8191KiB }", "response: json -> form", ["response"]),
            ("memory: { bodies: 8MiB }", "response: json -> plist", []),
            ("memory: { bodies: 8191KiB }", "response: json -> plist", ["response"]),
            (
                "memory: { bodies: 8MiB }", "response: json -> plist, limits: { response: 16MiB, tree: 8MiB }",
                ["tree", "response"]
            ),
            ("memory: { bodies: 4MiB }", "request: json -> plist, limits: { response: 16MiB }", []),
            ("memory: { bodies: 4MiB }", "shadow: { convert: json -> plist }, limits: { tree: 3MiB }", ["tree"]),
        ] as [(String, String, [String])])
    func memory(top: String, route: String, found: [String]) throws {
        let codes = ["tree_beyond_memory", "response_beyond_memory"]
        #expect(try notes("match: /a, \(route)", top, codes) == found.map { "6 warning \($0)_beyond_memory" })
    }

    @Test(
        "content that is held for its signature, and that the limit of bodies refuses before",
        arguments: [
            ("VERIFY, limits: { signed: 2MiB, body: 2097151B }", "", ["6 note signed_beyond_body"]),
            ("VERIFY, limits: { signed: 2MiB, body: 2MiB }", "", []),
            ("VERIFY, limits: { body: 1MiB }", "", []),
            // The default is no claim.
            ("VERIFY, limits: { body: 64KiB }", "", []),
            ("VERIFY, limits: { body: 1MiB }", "defaults: { limits: { signed: 2MiB } }", ["6 note signed_beyond_body"]),
            ("SIGN, limits: { signed: 101MiB }", "", ["6 note signed_beyond_body"]),
            ("SIGN, limits: { signed: 100MiB }", "", []),
            // What is signed is what the conversion has made.
            ("SIGN, request: form -> json, limits: { signed: 101MiB }", "", []),
            ("VERIFY, request: form -> json, limits: { signed: 101MiB }", "", ["6 note signed_beyond_body"]),
        ] as [(String, String, [String])])
    func signed(route: String, top: String, found: [String]) throws {
        let route =
            route
            .replacing("VERIFY", with: "verify: 'github(secret: \"a text of 16 bytes or more\")'")
            .replacing("SIGN", with: "sign: 'standard-webhooks(secret: \"whsec_bG9uZyBlbm91Z2ggdG8gYmUgb25l\")'")
        #expect(try notes("match: /a, \(route)", top, ["signed_beyond_body"]) == found)
    }

    @Test(
        "a value of the client's certificate that no listener asks for",
        arguments: [
            ("headers: { request: { set: { X-Client: \"${client.certificate.dns}\" } } }", "", true),
            ("headers: { request: { set: { X-Client: \"a ${client.certificate.subject}\" } } }", "", true),
            ("headers: { response: { set: { X-Client: \"${client.certificate.uri}\" } } }", "", true),
            ("headers: { request: { set: { X-Client: \"${client.ip}\" } } }", "", false),
            // Once for all that have it from there.
            ("", "defaults: { headers: { request: { set: { X-Client: \"${client.certificate.dns}\" } } } }", true),
        ] as [(String, String, Bool)])
    func certificates(route: String, top: String, isFound: Bool) throws {
        let route = route.isEmpty ? "match: /a" : "match: /a, \(route)"
        #expect(
            try notes(route, top.isEmpty ? "# none" : top, ["certificate_never"])
                == (isFound ? ["6 warning certificate_never"] : []))
    }

    @Test(
        "checks of health that take longer than the time between them",
        arguments: [
            ("", []), ("interval: 1s", []), ("interval: 999ms", ["3 note check_timeout"]),
            ("timeout: 2s", []), ("timeout: 2001ms", ["3 note check_timeout"]),
            ("interval: 5s, timeout: 5s", []), ("interval: 5s, timeout: 6s", ["3 note check_timeout"]),
        ] as [(String, [String])])
    func checks(keys: String, found: [String]) throws {
        let file = try SettingsTestFile.parse(
            """
            version: 1
            listen: 127.0.0.1:8080
            upstreams: { app: { address: "127.0.0.1:3000", health: { active: { path: /\(keys.isEmpty ? "" : ", " + keys) } } } }
            routes: [{ name: rest, match: "/*", upstream: app }]
            """)
        #expect(
            file.notes.filter { $0.code == "check_timeout" }.map { "\($0.line) \($0.severity.rawValue) \($0.code)" }
                == found)
    }

    @Test(
        "keys of what is off itself",
        arguments: [
            ("admin: { address: off, console: on }", ["4 note admin_off"]),
            ("admin: { address: off, console: { entries: 5 } }", ["4 note admin_off"]),
            ("admin: { address: off, console: on, hosts: [a.internal] }", ["4 note admin_off", "4 note admin_off"]),
            ("admin: { address: off, hosts: [a.internal] }", ["4 note admin_off"]),
            ("admin: { address: off }", []), ("admin: off", []), ("", []),
            ("admin: { address: \"127.0.0.1:9901\", console: on, hosts: [a.internal] }", []),
            ("access_log: { to: off, fields: { request: [X-Tenant] } }", ["4 note access_log_off"]),
            ("access_log: { to: off, fields: { response: [X-Cache] } }", ["4 note access_log_off"]),
            ("access_log: { to: off, query: drop }", ["4 note access_log_off"]),
            ("access_log: { to: off }", []), ("access_log: off", []),
            ("access_log: { fields: { request: [X-Tenant] } }", []),
            ("via: off\nloop_limit: 2", ["5 note via_off"]), ("via_responses: true\nvia: off", ["4 note via_off"]),
            ("via: off\nvia_responses: false", []), ("via: edge\nloop_limit: 2\nvia_responses: true", []),
        ] as [(String, [String])])
    func off(top: String, found: [String]) throws {
        #expect(try notes("match: /a", top, ["admin_off", "access_log_off", "via_off"]) == found)
    }

    @Test(
        "conditions of a retry that never come",
        arguments: [
            ("match: { path: /a, method: POST }, retry: { on: [503] }", "", ["6 warning retry_method"]),
            (
                "match: { path: /a, method: [POST, PATCH, PROPFIND] }, retry: { on: reset }", "",
                ["6 warning retry_method"]
            ),
            ("match: { path: /a, method: [POST, PUT] }, retry: { on: [503] }", "", []),
            ("match: /a, retry: { on: [503] }", "", []),
            ("match: { path: /a, method: POST }, retry: { attempts: 2 }", "", []),
            ("match: { path: /a, method: POST }, retry: off", "defaults: { retry: { on: [503] } }", []),
            // What all routes have is meant for the others.
            ("match: { path: /a, method: POST }", "defaults: { retry: { on: [503] } }", []),
            ("match: /a, retry: { on: timeout }, timeouts: { request: 5s }", "", ["6 note retry_timeout"]),
            (
                "match: /a, retry: { on: timeout }, timeouts: { request: 5s, first_byte: 5s }", "",
                ["6 note retry_timeout"]
            ),
            ("match: /a, retry: { on: timeout }, timeouts: { request: 5s, first_byte: 4999ms }", "", []),
            ("match: /a, retry: { on: [503, reset] }, timeouts: { request: 5s }", "", []),
            ("match: /a, retry: { on: timeout }", "", []),
        ] as [(String, String, [String])])
    func retries(route: String, top: String, found: [String]) throws {
        #expect(try notes(route, top, ["retry_method", "retry_timeout"]) == found)
    }

    @Test("what stands in \"defaults\" is none of a route's own, wherever they stand")
    func retriesBehind() throws {
        let route = "name: a, upstream: app, match: { path: /a, method: POST }"
        for (own, defaults, isNoted) in [
            ("", "retry: { on: [503] }", false), ("retry: { attempts: 2 }", "retry: { on: [503] }", false),
            ("retry: { on: [502] }", "retry: { on: [503] }", true), ("retry: { on: [503] }", "retry: off", true),
            ("retry: { on: [503] }", "forwarded: off", true),
        ] {
            let file = try SettingsTestFile.parse(
                """
                version: 1
                listen: "127.0.0.1:8080"
                upstreams: { app: "127.0.0.1:3000" }
                routes:
                  - { \(route)\(own.isEmpty ? "" : ", " + own) }
                defaults:
                  \(defaults)
                """)
            #expect(file.notes.contains { $0.code == "retry_method" } == isNoted, "\(own), \(defaults)")
        }
    }

    @Test(
        "proxies that are counted as clients, and networks that hold everybody",
        arguments: [
            ("trusted: 10.0.0.0/8", "0.0.0.0:80", ["4 note proxies_counted"]),
            ("trusted: [127.0.0.0/8, \"fd00::/8\"]", "[::]:80", ["4 note proxies_counted"]),
            ("trusted: 10.0.0.0/8", "127.0.0.1:80", []), ("trusted: 10.0.0.0/8", "unix:/run/a.sock", []),
            ("trusted: [127.0.0.1, \"::1\", unix]", "0.0.0.0:80", []), ("", "0.0.0.0:80", []),
            ("trusted: 10.0.0.1\nconnections: { per_client: off }", "0.0.0.0:80", []),
            ("trusted: 10.0.0.1\nconnections: { per_client: 300 }", "0.0.0.0:80", []),
            ("trusted: 0.0.0.0/0\nconnections: { per_client: off }", "0.0.0.0:80", ["4 note trusted_anybody"]),
            ("trusted: [\"::/0\"]", "0.0.0.0:80", ["4 note trusted_anybody", "4 note proxies_counted"]),
            ("trusted: 0.0.0.0/0", "127.0.0.1:80", []),
        ] as [(String, String, [String])])
    func peers(top: String, listen: String, found: [String]) throws {
        #expect(try notes("match: /a", top, listen: listen, ["trusted_anybody", "proxies_counted"]) == found)
    }

    @Test(
        "the port of HTTPS without TLS",
        arguments: [
            ("\"a.example:443\"", true), ("{ address: [\"a:80\", \"10.0.0.1:443\"] }", true),
            ("\"a.example:8443\"", false),
            ("{ address: \"a.example:443\", tls: true }", false), ("{ address: \"a.example:443\", tls: {} }", false),
            ("{ address: \"a.example:443\", tls: false }", false), ("\"unix:/run/a:443\"", false),
        ])
    func plain(upstream: String, isNoted: Bool) throws {
        // Without secrets nothing of TLS is loaded, and it is there all the same.
        for lacksSecrets in [false, true] {
            var environment = SettingsTestFile.environment
            environment.lacksSecrets = lacksSecrets
            let file = try SettingsFile.parse(
                """
                version: 1
                listen: 127.0.0.1:8080
                upstreams: { app: \(upstream) }
                routes: [{ name: rest, match: "/*", upstream: app }]
                """, environment: environment)
            #expect(file.notes.contains { $0.code == "upstream_plain" && $0.severity == .warning } == isNoted)
        }
    }
}
