import Testing

@testable import Settings

/// The exact messages and places. A route in the tables stands in line 5.
@Suite struct SettingsMistakeTests {
    @Test(
        "what is wrong at the top of a file is reported with line and column",
        arguments: [
            ("version: 2", "1:10: \"version\" is not \"2\": only \"1\" is known"),
            ("version: 1\nworker: 3", "2:1: the file has no key \"worker\": did you mean \"workers\"?"),
            ("version: 1\nworkers: many", "2:10: \"workers\" is auto or a whole number from 1 to 1024, not \"many\""),
            ("version: 1\nworkers: 0", "2:10: \"workers\" is auto or a whole number from 1 to 1024, not \"0\""),
            ("version: 1\nworkers: [1]", "2:10: \"workers\" is a single value, not a list"),
            ("version: 1\nworkers:", "2:9: \"workers\" is a single value, not nothing"),
            (
                "version: 1\naccess_log: yes",
                "2:13: \"access_log\" is stdout, off or a path with a slash, as in /var/log/recast.log, not \"yes\""
            ),
            (
                "version: 1\naccess_log: { to: yes }",
                "2:19: \"to\" is stdout, off or a path with a slash, as in /var/log/recast.log, not \"yes\""
            ),
            (
                "version: 1\naccess_log: { format: xml }",
                "2:23: \"format\" is not \"xml\": known are json, combined"
            ),
            (
                "version: 1\naccess_log: { querry: keep }",
                "2:15: \"access_log\" has no key \"querry\": did you mean \"query\"?"
            ),
            (
                "version: 1\nadmin: localhost",
                "2:8: \"admin\": \"localhost\" has no port: write HOST:PORT, as in 127.0.0.1:8080, \"[::1]:8080\" or "
                    + "unix:/run/recast.sock; or off for no admin port"
            ),
            (
                "version: 1\nlog: text",
                "2:6: \"log\" is a mapping of keys to values, not a single value: its keys are format, level"
            ),
            (
                "version: 1\nlog: { level: loud }",
                "2:15: \"level\" is not \"loud\": known are debug, info, warning, error"
            ),
            (
                "version: 1\ntls: {}",
                "2:1: \"tls\" belongs to an address: write listen: {address: 0.0.0.0:8443, tls: {…}}"
            ),
            (
                "version: 1\nadmin: systemd:web",
                "2:8: \"admin\": it has no socket of the service manager's: write an address; or off for no admin port"
            ),
            (
                "version: 1\nadmin: localhost:8080",
                "2:8: \"admin\": 127.0.0.1:8080 is listened on already; or off for no admin port"
            ),
            (
                "version: 1\nadmin: 0.0.0.0:8080",
                """
                2:8: "admin": 0.0.0.0:8080 and 127.0.0.1:8080 can't both be listened on: one is every address of this machine; \
                or off for no admin port
                """
            ),
            ("version: 1\ntimeouts: { header: 10 }", "2:21: \"header\": a time needs a unit (ms, s, m, h), as in 3s"),
            (
                "version: 1\ntimeouts: { gap: 10s }",
                "2:13: \"gap\" is a route's: write it under \"defaults: {timeouts: …}\" or in a route"
            ),
            (
                "version: 1\ndefaults: { limit: {} }",
                "2:13: \"defaults\" has no key \"limit\": did you mean \"limits\"?"
            ),
            ("version: 1\nworkers: 1\nworkers: 2", "3:1: the key \"workers\" occurs twice, first in line 2"),
            (
                "version: 1\nworkers: \"${env:NOPE}\"",
                "2:11: the environment has no variable NOPE: set it before starting"
            ),
            ("version: 1\nworkers: ${file:/nope}", "2:10: there is no file /nope"),
            (
                "version: 1\nworkers: ${env.NOPE}", "2:10: \"${env.NOPE}\" is written as ${env:NAME}"
            ),
            ("version: 1\nworkers: a${header.x}", "2:11: \"workers\" takes no ${header.x}"),
            (
                "version: 1\nworkers: ${nope.x}",
                "2:10: \"${nope.x}\" is no source that is known: known are ${env:NAME}, ${file:PATH}"
            ),
            (
                "version: 1\nworkers: \"${\"",
                "2:11: \"${\" is never closed: write \"$${\" for the characters themselves"
            ),
            ("version: !!int 1", "1:10: YAML tags mean nothing here: remove tag:yaml.org,2002:int"),
            ("version: 1\n? [a]\n: b", "2:3: a key is a single value"),
        ])
    func top(text: String, mistake: String) {
        let rest = """

            listen: 127.0.0.1:8080
            upstreams: { app: "127.0.0.1:3000" }
            routes: [{ name: all, match: /*, upstream: app }]
            """
        #expect(SettingsTestFile.mistakes(text + rest) == [mistake])
    }

    @Test(
        "of sources those are offered that the place takes",
        arguments: [
            (
                #"headers: { request: { set: { X-A: "@" } } }"#,
                "${header.NAME}, ${path.NAME}, ${query.NAME}, ${client.ip}"
            ),
            (
                #"request: { decode: json, map: { set: { a: "@" } }, encode: json }"#,
                "${header.NAME}, ${path.NAME}, ${query.NAME}, ${client.ip}"
            ),
            (#"rewrite: { path: "/a/@" }"#, "${path.NAME}"),
            (
                #"request: { decode: json, encode: { as: multipart, files: { p: { from: base64, filename: "@" } } } }"#,
                "${field.PATH}"
            ),
            (#"timeouts: { gap: "@" }"#, ""),
        ])
    func sources(rule: String, taken: String) {
        for text in ["${nope.x}", "${nope}"] {
            let mistakes = SettingsTestFile.mistakesOfRoutes(
                "  - { name: a, match: /a, upstream: app, \(rule.replacing("@", with: text)) }")
            let known = "known are ${env:NAME}, ${file:PATH}" + (taken.isEmpty ? "" : ", \(taken)")
            #expect(mistakes.count == 1 && mistakes[0].hasSuffix(": \(known)"), "\(mistakes)")
        }
    }

    @Test(
        "an address that can't be listened on is reported",
        arguments: [
            ("8080", "\"8080\" has no port: write HOST:PORT, "),
            (":8080", "\":8080\" has no host: write HOST:PORT, "),
            ("\"*:8080\"", "\"*\" is no address to listen on: write one, "),
            ("app:80", "\"app\" is no address to listen on: write one, "),
            ("127.0.0.1:65536", "\"65536\" is no port from 0 to 65535: write HOST:PORT, "),
            ("127.0.0.1:080", "\"080\" is no port from 0 to 65535: write HOST:PORT, "),
            ("127.0.0.01:80", "\"127.0.0.01\" is no address to listen on: write one, "),
            ("::1:80", "an IPv6 address stands in brackets and, in YAML, in quotes, as in \"[::1]:8080\""),
            ("\"[::1::2]:80\"", "\"[::1::2]\" is no IPv6 address"),
            ("\"[1:2:3:4:5:6:7]:80\"", "\"[1:2:3:4:5:6:7]\" is no IPv6 address"),
            ("\"[::1]\"", "\"[::1]\" has no port: write HOST:PORT, "),
            ("unix:run/x", "a unix socket has an absolute path, as in unix:/run/app.sock"),
            ("unix:/run/x/", "a unix socket's path ends in the socket's own name, as in unix:/run/app.sock"),
            ("unix:/run/x/..", "a unix socket's path ends in the socket's own name, as in unix:/run/app.sock"),
            ("[\"[0:0:0:0:0:0:0:1]:1\", \"[::1]:1\"]", "[::1]:1 is listened on already"),
            ("[\"[2001:DB8::0:1]:1\", \"[2001:db8:0::1]:1\"]", "[2001:db8::1]:1 is listened on already"),
            ("[\"[::ffff:127.0.0.1]:1\", 127.0.0.1:1]", "127.0.0.1:1 is listened on already"),
            ("[\"[::ffff:7f00:1]:1\", localhost:1]", "127.0.0.1:1 is listened on already"),
            (
                "[\"[::ffff:0.0.0.0]:1\", 127.0.0.1:1]",
                "127.0.0.1:1 and 0.0.0.0:1 can't both be listened on: one is every address of this machine"
            ),
            ("[\"[0::0]:1\", \"[::1]:1\"]", "[::1]:1 and [::]:1 can't both be listened on: "),
            (
                "[\"unix:/tmp/a.sock\", \"unix:/tmp//a.sock\"]",
                "unix:/tmp//a.sock is listened on already, as unix:/tmp/a.sock"
            ),
            (
                "[\"unix:/tmp/x/../a.sock\", \"unix:/tmp/./a.sock\"]",
                "unix:/tmp/./a.sock is listened on already, as unix:"
            ),
            ("\"[fe80::1]:80\"", "the link-local address [fe80::1] can't be listened on without its interface, "),
            ("\"[fe80::1%eth0]:80\"", "the interface in \"[fe80::1%eth0]\" has no place here: "),
            ("\"[ff02::1]:80\"", "[ff02::1] is a group's address: write one of this machine, "),
            ("127.0.0.1:1, 127.0.0.1:2", "several addresses are a list: write [\"127.0.0.1:1\", \"127.0.0.1:2\"]"),
            ("127.0.0.1:1 unix:/a", "several addresses are a list: write [\"127.0.0.1:1\", \"unix:/a\"]"),
            ("\"[::1]:1,[::1]:2\"", "several addresses are a list: write [\"[::1]:1\", \"[::1]:2\"]"),
            (
                "{ address: \"127.0.0.1:80\", tls: {} }",
                "\"tls\" needs \"certificate\", as in certificate: server.pem"
            ),
            ("[127.0.0.1:1, {tls: {}}]", "\"listen\" needs \"address\", as in address: 0.0.0.0:8443"),
            ("[127.0.0.1:1, 127.0.0.1:1]", "127.0.0.1:1 is listened on already"),
            (
                "[127.0.0.1:1, 0.0.0.0:1]",
                "0.0.0.0:1 and 127.0.0.1:1 can't both be listened on: one is every address of this machine"
            ),
            ("[\"[::]:1\", \"[::1]:1\"]", "[::1]:1 and [::]:1 can't both be listened on: "),
            ("\"systemd:\"", "systemd: is followed by the name of a socket, as in systemd:web"),
            ("\"systemd:a:b\"", "systemd: is followed by the name of a socket, as in systemd:web"),
            ("/run/a.sock", "a path is no address; for a unix socket write \"unix:/run/a.sock\""),
            ("http://127.0.0.1:1", "an address has no scheme: write \"127.0.0.1:1\""),
            (
                "\"http://localhost:1/a\"",
                "an address has no scheme and no path: write \"localhost:1\"; paths are matched by routes"
            ),
            (
                "\"https://0.0.0.0:8443\"",
                "an address has no scheme: write \"address: 0.0.0.0:8443\" and \"tls: { certificate: …, key: … }\""
            ),
            (
                "http://app.example",
                "an address has no scheme: write HOST:PORT, as in 127.0.0.1:8080, \"[::1]:8080\" or unix:/run/recast.sock"
            ),
            ("[]", "\"listen\" is an empty list: leave it out or name something"),
        ])
    func listen(address: String, message: String) {
        let mistakes = SettingsTestFile.mistakes(
            """
            version: 1
            upstreams: { app: "127.0.0.1:3000" }
            routes: [{ name: all, match: /*, upstream: app }]
            listen: \(address)
            """)
        #expect(
            mistakes.count == 1 && mistakes[0].hasPrefix("4:") && mistakes[0].contains(": " + message), "\(mistakes)")
    }

    @Test(
        "an upstream that can't be used is reported",
        arguments: [
            ("http://a:1", "4:6: an address has no scheme: write \"a:1\""),
            ("http://a:1/", "4:6: an address has no scheme: write \"a:1\""),
            ("HTTP://a", "4:6: an address has no scheme: write \"a:80\""),
            ("\"http://[::1]\"", "4:6: an address has no scheme: write \"[::1]:80\""),
            ("h2c://a:1", "4:6: an address has no scheme: write \"a:1\""),
            ("https://a:1", "4:6: an address has no scheme: write \"address: a:1\" and \"tls: true\""),
            (
                "https://a.example/api/v1?x",
                "4:6: an address has no scheme and no path: write \"address: a.example:443\" and \"tls: true\"; "
                    + "a path goes into a route's \"rewrite\""
            ),
            ("/run/a.sock", "4:6: a path is no address; for a unix socket write \"unix:/run/a.sock\""),
            ("a:1/", "4:6: an address has no path: write \"a:1\""),
            ("a:1/api", "4:6: an address has no path: write \"a:1\"; a path goes into a route's \"rewrite\""),
            (
                "http://user:word@a:1",
                "4:6: an address has no scheme: write HOST:PORT, "
                    + "as in 127.0.0.1:3000, app.internal:3000 or unix:/run/app.sock"
            ),
            (
                "a",
                "4:6: \"a\" has no port: write HOST:PORT, as in 127.0.0.1:3000, app.internal:3000 or unix:/run/app.sock"
            ),
            (
                "\"[fe80::1]:80\"",
                "4:6: the link-local address [fe80::1] can't be connected to without its interface, which has no place here: "
                    + "write one that holds by itself, as in 127.0.0.1:3000, app.internal:3000 or unix:/run/app.sock"
            ),
            (
                "\"[fe80::1%eth0]:80\"",
                "4:6: the interface in \"[fe80::1%eth0]\" has no place here: write an address that holds by itself, "
                    + "as in 127.0.0.1:3000, app.internal:3000 or unix:/run/app.sock"
            ),
            (
                "a:0",
                "4:6: \"0\" is no port from 1 to 65535: write HOST:PORT, "
                    + "as in 127.0.0.1:3000, app.internal:3000 or unix:/run/app.sock"
            ),
            (
                "1.2.3:80",
                "4:6: \"1.2.3\" is neither a name nor an address: write one, "
                    + "as in 127.0.0.1:3000, app.internal:3000 or unix:/run/app.sock"
            ),
            ("[a:1, a:1]", "4:12: the upstream \"x\" has the address a:1 twice"),
            (
                "[\"[::1]:1\", \"[0:0::1]:1\"]", "4:18: the upstream \"x\" has the address [::1]:1 twice"
            ),
            (
                "[unix:/run/a, unix:/run/./a]", "4:20: the upstream \"x\" has the address unix:/run/./a twice"
            ),
            ("a:1, b:1", "4:6: several addresses are a list: write [\"a:1\", \"b:1\"]"),
            ("{ idle: 1s }", "4:6: the upstream \"x\" needs \"address\", as in address: 127.0.0.1:3000"),
            (
                "{ address: \"a:1\", idel: 1s }",
                "4:24: the upstream \"x\" has no key \"idel\": did you mean \"idle\"?"
            ),
            (
                "{ address: \"a:1\", framing: lenght }",
                "4:33: \"framing\" is not \"lenght\": did you mean \"length\"?"
            ),
            (
                "{ address: \"a:1\", framing: chunked, spool: { memory: 1KiB } }",
                "4:42: \"spool\" isn't used with \"framing: chunked\": remove one of them"
            ),
            (
                "{ address: \"a:1\", framing: length, spool: { dir: x } }",
                "4:55: \"dir\" is the path of a folder from the root on, as in /var/spool/recast"
            ),
            (
                "{ address: \"a:1\", framing: length, spool: { memory: 0B, disk: 0B } }",
                "4:48: \"spool\" has neither memory nor disk: give one of them a size"
            ),
            ("{ address: \"a:1\", tls: maybe }", "4:29: \"tls\" is true or false, not \"maybe\""),
            (
                "{ address: \"a:1\", tls: { verify: false, crl: c.pem } }",
                "4:46: \"crl\" is not looked at with \"verify: false\": remove one of them"
            ),
            (
                "{ address: \"a:1\", tls: { ca: c.pem, verify: false } }",
                "4:31: \"ca\" is not looked at with \"verify: false\": remove one of them"
            ),
            (
                "{ address: \"a:1\", tls: { verify: false, verify_name: true } }",
                "4:46: \"verify_name\" is not looked at with \"verify: false\": remove one of them"
            ),
            (
                "{ address: \"a:1\", tls: { verify: false, name: b, sni: c } }",
                "4:46: \"name\" is not looked at with \"verify: false\" beside \"sni\": remove one of them"
            ),
            (
                "{ address: \"a:1\", tls: { verify_name: false, name: b, sni: c } }",
                "4:51: \"name\" is not looked at with \"verify_name: false\" beside \"sni\": remove one of them"
            ),
            (
                "{ address: \"a:1\", tls: { name: \"b:443\" } }",
                "4:37: \"name\" is a name or an address alone, as in app.internal, without a scheme, a port, a path or "
                    + "brackets, not \"b:443\""
            ),
            (
                "{ address: \"a:1\", tls: { sni: \"https://b\" } }",
                "4:36: \"sni\" is a name alone, as in app.internal, without a scheme, a port, a path or brackets, not "
                    + "\"https://b\""
            ),
            (
                "{ address: \"a:1\", tls: { sni: bücher.example } }",
                "4:36: \"sni\" is a name alone, as in app.internal, without a scheme, a port, a path or brackets, not "
                    + "\"bücher.example\": a name goes on the wire in ASCII, with its other letters as in xn--bcher-kva.example "
                    + "(`idn2` prints that form)"
            ),
            (
                "{ address: \"a:1\", tls: { sni: 10.0.0.1 } }",
                "4:36: \"sni\" is a name: an address is never asked for (RFC 6066 §3); \"name\" may be one"
            ),
            (
                "{ address: \"a:1\", max_connections: 10, max_idle: 11 }",
                "4:55: \"max_idle\" is at most \"max_connections\", which is 10 here, not 11"
            ),
            (
                "{ address: \"a:1\", max_requests: 11, max_connections: 10 }",
                "4:38: \"max_requests\" is at most \"max_connections\", which is 10 here, not 11"
            ),
            ("{ address: \"a:1\", max_idle: -1 }", "4:34: \"max_idle\" is from 0 to 65535, not -1"),
        ])
    func upstreams(upstream: String, mistake: String) {
        let mistakes = SettingsTestFile.mistakes(
            """
            version: 1
            listen: 127.0.0.1:80
            upstreams:
              x: \(upstream)
            routes: [{ name: all, match: /*, upstream: x }]
            """)
        #expect(mistakes == [mistake])
    }

    @Test(
        "what is wrong in a route is reported with line and column",
        arguments: [
            ("match: /a, upstream: app", "5:5: a route needs \"name\", as in name: orders"),
            ("name: a, upstream: app", "5:5: a route needs \"match\", as in match: /orders/*"),
            ("name: a, match: /a", "5:5: a route needs \"upstream\", as in upstream: app"),
            (
                "name: a b, match: /a, upstream: app",
                "5:13: the route's name \"a b\" has 1 to 64 letters, digits and the characters - _ . only"
            ),
            ("name: a, match: /a, upstream: ap", "5:37: there is no upstream \"ap\": did you mean \"app\"?"),
            ("name: a, match: /a, upstream: zzz", "5:37: there is no upstream \"zzz\": only \"app\" is known"),
            ("name: a, match: a, upstream: app", "5:23: a path begins with a slash"),
            ("name: a, match: /a/x*y, upstream: app", "5:27: a star stands for a whole segment or ends the path"),
            (
                "name: a, match: { path: \"/{x\" }, upstream: app",
                "5:33: a variable is a whole segment, as in /orders/{id}"
            ),
            (
                "name: a, match: { method: post }, upstream: app",
                "5:33: methods are in capitals: write \"POST\", not \"post\""
            ),
            ("name: a, match: { method: CONNECT }, upstream: app", "5:33: CONNECT is never forwarded"),
            ("name: a, match: { method: [GET, GET] }, upstream: app", "5:39: \"method\" has \"GET\" twice"),
            ("name: a, match: { host: \"a:80\" }, upstream: app", "5:33: a host is matched without its port"),
            ("name: a, match: { type: json }, upstream: app", "5:35: a media type has a slash, as in application/json"),
            ("name: a, match: { header: { a b: 1 } }, upstream: app", "5:35: \"a b\" is no name of a header"),
            (
                "name: a, match: { paht: /x }, upstream: app",
                "5:25: \"match\" has no key \"paht\": did you mean \"path\"?"
            ),
            (
                "name: a, match: /a, upstream: app, respons: x",
                "5:42: a route has no key \"respons\": did you mean \"response\"?"
            ),
            (
                "name: a, match: /a, upstream: app, request: { decode: { as: form }, encode: { as: json }, framing: length }",
                "5:97: \"framing\" is an upstream's: write upstreams: {NAME: {address: …, framing: length}}"
            ),
            (
                "name: a, match: /a, upstream: app, on_other_type: pass",
                "5:57: \"on_other_type\" of a route is for its requests, which it doesn't convert: add \"request\" or remove it; for "
                    + "responses it stands in \"response\", as in response: { convert: json -> xml, on_other_type: reject }"
            ),
            (
                "name: a, match: /a, upstream: app, request: form -> json, on_other_type: drop",
                "5:80: \"on_other_type\" is not \"drop\": known are reject, pass"
            ),
            (
                "name: a, match: /a, upstream: app, limits: { body: 1GB }",
                "5:58: \"body\": the unit \"GB\" is not known for a size: did you mean \"1GiB\"?"
            ),
            (
                "name: a, match: /a, upstream: app, limits: { body: 1 MiB }",
                "5:58: \"body\": the unit \" MiB\" is not known for a size: did you mean \"1MiB\"?"
            ),
            ("name: a, match: /a, upstream: app, limits: { body: 0B }", "5:58: \"body\" is at least 1B, not 0B"),
            (
                "name: a, match: /a, upstream: app, limits: { depth: 18446744073709551616 }",
                "5:59: \"depth\" is from 1 to 1000, not 18446744073709551616"
            ),
            (
                "name: a, match: /a, upstream: app, limits: { depth: 3B }",
                "5:59: \"depth\" is a whole number, not \"3B\""
            ),
            (
                "name: a, match: /a, upstream: app, limits: { boundary: 71 }",
                "5:62: \"boundary\" is from 1 to 70, not 71"
            ),
            (
                "name: a, match: /a, upstream: app, limits: { part_header_line: 17KiB }",
                "5:70: \"part_header_line\" is at most \"part_header_bytes\", which is 16KiB here, not 17KiB"
            ),
            (
                "name: a, match: /a, upstream: app, limits: { part_header_line: 8KiB, part_header_bytes: 4KiB }",
                "5:70: \"part_header_line\" is at most \"part_header_bytes\", which is 4KiB here, not 8KiB"
            ),
            (
                "name: a, match: /a, upstream: app, limits: { ratio: 0 }",
                "5:59: \"ratio\" is from 1 to 1000000, not 0"
            ),
            (
                "name: a, match: /a, upstream: app, limits: { bodi: 1B }",
                "5:52: \"limits\" has no key \"bodi\": did you mean \"body\"?"
            ),
            (
                "name: a, match: /a, upstream: app, limits: { body: 1125899906842625B }",
                "5:58: \"body\": a size is at most 1024TiB, not 1125899906842625B"
            ),
            (
                "name: a, match: /a, upstream: app, timeouts: { gap: 99999999999999999999s }",
                "5:59: \"gap\": a time as large as 99999999999999999999s can't be counted"
            ),
            (
                "name: a, match: /a, upstream: app, timeouts: { gap: 25h }",
                "5:59: \"gap\": a time is at most 24h, not 25h"
            ),
            (
                "name: a, match: /a, upstream: app, timeouts: { gap: 1.5s }",
                "5:59: \"gap\": a time is one whole number and one unit: did you mean \"1500ms\"?"
            ),
            (
                "name: a, match: /a, upstream: app, timeouts: { connect: 1s }",
                "5:54: \"connect\" is set per upstream: upstreams: {NAME: {address: …, connect: 3s}}"
            ),
            (
                "name: a, match: \"/{id}\", upstream: app, rewrite: \"/x/${path.ix}\"",
                "5:60: the route's path has no variable \"ix\": did you mean \"id\"?"
            ),
            (
                "name: a, match: /a, upstream: app, rewrite: \"/x/${path.id}\"",
                "5:55: the route's path has no variable \"id\": write it there as a segment, as in /orders/{id}"
            ),
            ("name: a, match: /a, upstream: app, rewrite: x", "5:51: a path begins with a slash"),
            (
                "name: a, match: /a, upstream: app, rewrite: \"/x?y=1\"",
                "5:51: a rewritten query stands apart, as in rewrite: {path: /x, query: {name: value}}"
            ),
            ("name: a, match: /a, upstream: app, rewrite: /ä", "5:51: a path can't hold \"ä\": percent-encode it"),
            (
                "name: a, match: /a, upstream: app, rewrite: \"/x${header.y}\"",
                "5:54: a path takes variables of the route's path only, not ${header.y}"
            ),
            (
                "name: a, match: /a, upstream: app, rewrite: { query: { a: \"${client.port}\" } }",
                "5:66: of the client only ${client.ip} is known"
            ),
            (
                "name: a, match: /a, upstream: app, rewrite: { query: { a: \"${client.certificate.uri}\" } }",
                "5:66: of the client only ${client.ip} is known here; its certificate can be named in \"headers\""
            ),
            (
                "name: a, match: /a, upstream: app, headers: { request: { set: { X-A: \"${client.certificate.cn}\" } } }",
                "5:77: of the client ${client.ip}, ${client.certificate.subject}, ${client.certificate.dns}, "
                    + "${client.certificate.uri}, ${client.certificate.sha256} are known"
            ),
            (
                "name: a, match: /a, upstream: app, headers: { request: { add: { X-A: \"${client.certificate.uri}\" } } }",
                "5:76: \"add\" leaves what the client says under that name in front of its certificate: write it under \"set\""
            ),
        ])
    func routes(route: String, mistake: String) {
        #expect(SettingsTestFile.mistakesOfRoutes("  - { \(route) }") == [mistake])
    }

    @Test("a condition that can't be read hides no mistake of another one") func conditions() {
        #expect(
            SettingsTestFile.mistakesOfRoutes("  - { name: a, match: { path: a, host: \"a:80\" }, upstream: app }")
                == ["5:31: a path begins with a slash", "5:42: a host is matched without its port"])
    }

    @Test(
        "a key that another section of a route has is told with its place, whatever it looks like here",
        arguments: [
            (
                "rename: { a: b }, request: form -> json",
                "a route has no key \"rename\": it stands in \"request.map\", in the long form of \"request\": decode, map, fields and "
                    + "encode below it"
            ),
            (
                "fields: {}, request: { decode: form, encode: json }",
                "a route has no key \"fields\": it stands in \"request\" or \"limits\" or \"rate_limit\""
            ),
            ("map: {}", "a route has no key \"map\": it stands in \"request\""),
            (
                "request: { decode: form, encode: json, rename: { a: b } }",
                "\"request\" has no key \"rename\": it stands in \"request.map\""
            ),
            (
                "request: { decode: form, encode: json, types: safe }",
                "\"request\" has no key \"types\": it stands in \"request.decode\""
            ),
            (
                "request: { decode: { as: form, map: {} }, encode: json }",
                "\"decode\" has no key \"map\": it stands in \"request\""
            ),
            (
                "request: { decode: form, encode: json, limits: {} }",
                "\"request\" has no key \"limits\": it stands in the route itself"
            ),
            ("method: POST", "a route has no key \"method\": it stands in \"match\""),
            (
                "response: { decode: json, encode: form, rename: {} }",
                "a rule of \"response\" has no key \"rename\": it stands in \"response.map\""
            ),
            ("limits: { first_byte: 1s }", "\"limits\" has no key \"first_byte\": it stands in \"timeouts\""),
        ])
    func misplaced(route: String, mistake: String) {
        let found = SettingsTestFile.mistakesOfRoutes("  - { name: a, match: /a, upstream: app, \(route) }")
        #expect(found.map { String($0.split(separator: " ", maxSplits: 1)[1]) } == [mistake])
    }

    @Test("all that a section has is told once")
    func toldOnce() {
        let found = SettingsTestFile.mistakesOfRoutes(
            "  - { name: a, match: /a, upstream: app, request: { decode: form, encode: json, qqqq: 1, wwww: 2 } }")
        #expect(found.count == 2)
        #expect(found.filter { $0.contains(": known are ") }.count == 1)
        #expect(found.last?.hasSuffix("\"request\" has no key \"wwww\"") == true)
    }

    @Test("each section of a route is known with its keys")
    func places() {
        #expect(
            SettingsKeys.place(of: "set", notIn: "", shortened: false)
                == "it stands in \"request.map\" or \"headers.request\" or \"headers.response\"")
        #expect(SettingsKeys.place(of: "burst", notIn: "", shortened: false) == "it stands in \"rate_limit\"")
        #expect(SettingsKeys.place(of: "secret", notIn: "", shortened: false) == "it stands in \"verify\"")
        #expect(SettingsKeys.place(of: "nonsense", notIn: "", shortened: false) == nil)
        #expect(
            RouteKeys.sorted(["examples", "other", "request", "name"], key: \.self) == [
                "name", "request", "other", "examples",
            ])
    }

    @Test(
        "what is wrong in a long request is reported with line and column",
        arguments: [
            ("{ decode: json }", "5:14: \"request\" needs \"encode\", as in encode: {as: form}"),
            ("{ encode: json }", "5:14: \"request\" needs \"decode\", as in decode: {as: form}"),
            ("{ encode: { as: form } }", "5:14: \"request\" needs \"decode\", as in decode: {as: json}"),
            ("{ decode: { as: form } }", "5:14: \"request\" needs \"encode\", as in encode: {as: json}"),
            ("{ decode: { arrays: auto }, encode: json }", "5:24: \"decode\" needs \"as\", as in as: json"),
            ("{ decode: jsn, encode: form }", "5:24: there is no encoding \"jsn\": did you mean \"json\"?"),
            (
                "{ decode: form, encode: { as: form, without_files: json } }",
                "5:50: \"without_files\" is for the output auto only"
            ),
            (
                "{ decode: form, encode: json, mapp: {} }",
                "5:44: \"request\" has no key \"mapp\": did you mean \"map\"?"
            ),
            (
                "{ decode: form, encode: json, blanks: omit }",
                "5:52: \"blanks\" is about the types that \"fields\" declares"
            ),
            (
                "{ decode: form, encode: json, fields: { a: string, b: data }, blanks: omit }",
                "5:84: \"blanks\" is about the types integer, number, boolean, json, date, of which \"fields\" declares none"
            ),
            (
                "{ decode: query, encode: json, accept: { type: text/plain } }",
                "5:55: \"type\" is about a body, and query reads none: remove it"
            ),
            (
                "{ decode: raw, encode: multipart, accept: { type: text/plain } }",
                "5:58: raw reads bodies of any type: remove \"type\""
            ),
            (
                "{ decode: form, encode: json, accept: { type: [text/plain, text] } }",
                "5:73: \"text\" is no media type: write text/plain, text/*, +json or */*"
            ),
            (
                "{ decode: form, encode: json, accept: { type: [text/plain, Text/Plain] } }",
                "5:73: \"type\" has \"Text/Plain\" twice"
            ),
            (
                "{ decode: xml, encode: { as: xml, convention: lossless, nulls: omit } }",
                "5:70: \"nulls\" is for convention: attributes: lossless carries everything in one way"
            ),
            (
                "{ decode: { as: xml, root: drop, convention: lossless }, encode: json }",
                "5:35: \"root\" is for convention: attributes: lossless carries everything in one way"
            ),
            (
                "{ decode: multipart, encode: json, accept: { type: text/plain } }",
                "5:59: \"type\" says what is read as one encoding, and multipart needs its own type for the boundary: "
                    + "remove it, or decode form, json or another single encoding"
            ),
            (
                "{ decode: form, encode: json, map: { remove: [\"a[]\"] } }",
                "5:63: the path can't be read; write a.b, a[0].b, a[*].b, and names with other characters in double quotes"
                    + "; the elements of an array are a[*]"
            ),
            ("{ decode: form, encode: json, files: {} }", "5:44: \"files\" is an option of \"decode\" or \"encode\""),
            (
                "{ decode: form, encode: json, map: { remove: [a..b] } }",
                "5:62: the path can't be read; write a.b, a[0].b, a[*].b, and names with other characters in double quotes"
            ),
            (
                "{ decode: form, encode: json, map: { append: { \"a[*]\": 1 } } }",
                "5:69: a field that is set has one place: \"*\" means many"
            ),
            (
                "{ decode: form, encode: json, map: { set: { a: yes } } }",
                "5:61: \"yes\" is not clear: write true, false or null, or the text in quotes"
            ),
            (
                "{ decode: form, encode: json, map: { set: { a: 0x1F } } }",
                "5:61: \"0x1F\" is not written as JSON writes numbers: write it so, or the text in quotes"
            ),
            (
                "{ decode: form, encode: json, map: { set: { a: 007 } } }",
                "5:61: \"007\" is not written as JSON writes numbers: write it so, or the text in quotes"
            ),
            (
                "{ decode: form, encode: json, map: { set: { a: 1_000 } } }",
                "5:61: \"1_000\" is not written as JSON writes numbers: write it so, or the text in quotes"
            ),
            (
                "{ decode: form, encode: json, map: { set: { \"a[*]\": 1 } } }",
                "5:66: a field that is set has one place: \"*\" means many"
            ),
            (
                "{ decode: form, encode: json, map: { set: { a: [\"${query.q}\"] } } }",
                "5:63: a value inside a list or a mapping takes no ${query.q}"
            ),
            (
                "{ decode: form, encode: json, map: { set: { a: \"${field.x}\" } } }",
                "5:62: the value of \"a\" takes no ${field.x}"
            ),
            (
                "{ decode: form, encode: json, fields: { a: bool } }",
                "5:57: the type of \"a\" is not \"bool\": did you mean \"boolean\"?"
            ),
            (
                "{ decode: json, encode: { as: multipart, files: { a: { from: data } } } }",
                "5:75: \"from\" is not \"data\": did you mean \"data_url\"?"
            ),
            (
                "{ decode: json, encode: { as: multipart, files: { a: { from: base64, do: drop } } } }",
                "5:87: the file \"a\" has \"from\" or \"do\", not both"
            ),
            (
                "{ decode: json, encode: { as: multipart, files: { a: { max: 3 } } } }",
                "5:74: \"max\": a size needs a unit (B, KiB, MiB, GiB, TiB), as in 64KiB"
            ),
            (
                "{ decode: json, encode: { as: multipart, files: { a: { type: image/* } } } }",
                "5:75: \"type\" is one media type, as in image/jpeg"
            ),
            (
                "{ decode: json, encode: { as: multipart, files: { a: { filename: \"x${field.y}\" } } } }",
                "5:79: \"filename\" is a name, or ${field.PATH} alone"
            ),
            (
                "{ decode: json, encode: { as: multipart, files: { a: { types: x } } } }",
                "5:76: \"types\" are media types, as in [image/*, application/pdf]"
            ),
        ])
    func requests(request: String, mistake: String) {
        let route = "  - request: \(request)\n    name: a\n    match: /a\n    upstream: app"
        #expect(SettingsTestFile.mistakesOfRoutes(route) == [mistake])
    }

    @Test("all mistakes are reported at once, in the order of the file, those of doubled keys too")
    func all() {
        let mistakes = SettingsTestFile.mistakes(
            """
            version: 1
            listen: 127.0.0.1:80
            listen: 127.0.0.1:81
            upstreams: { app: "a:1", "app": "b:2" }
            routes:
              - { name: a, match: /a, upstream: ap, name: b }
              - { name: a, match: /b, upstream: app, limits: { body: 1 } }
              - { name: c, match: /c, request: form > json }
            """)
        #expect(
            mistakes == [
                "3:1: the key \"listen\" occurs twice, first in line 2",
                "4:26: the key \"app\" occurs twice, first in line 4",
                "6:37: there is no upstream \"ap\": did you mean \"app\"?",
                "6:41: the key \"name\" occurs twice, first in line 6",
                "7:13: the name \"a\" is that of the route in line 6 too",
                "7:58: \"body\": a size needs a unit (B, KiB, MiB, GiB, TiB), as in 64KiB",
                "8:5: a route needs \"upstream\", as in upstream: app",
                "8:41: a conversion is written as input -> output, as in form -> json: \"->\" is missing here",
            ])
    }

    @Test(
        "a route that an earlier one covers is reported, and one that it covers in part is not",
        arguments: [
            ("/*", "/a", true), ("{ path: /a, method: POST }", "/a", false), ("/a", "{ path: /a, method: POST }", true),
            ("{ path: /*, host: \"*.b\" }", "{ path: /a, host: a.b }", true), ("\"/a/{x}\"", "/a/b/c", false),
            ("{ path: /a, type: image/* }", "{ path: /a, type: [image/png, image/jpeg] }", true),
            ("{ path: /a, header: {x: 1} }", "{ path: /a, header: {y: 1} }", false),
        ])
    func unreachable(first: String, second: String, isCovered: Bool) {
        let mistakes = SettingsTestFile.mistakesOfRoutes(
            """
              - { name: a, match: \(first), upstream: app }
              - { name: b, match: \(second), upstream: app }
            """)
        let message = "6:13: the route \"b\" can never match: the route \"a\" in line 5 takes every request before it"
        #expect(mistakes == (isCovered ? [message] : []))
    }

    @Test(
        "text that is no YAML is reported where it breaks",
        arguments: [
            ("", "1:1: there is nothing here"),
            ("a: [", "1:4: this [ is not closed before the text ends: a comma parts its elements, and ] ends them"),
            ("a: b: c", "1:5: a value with a colon and a space in it is read as a key: put it in quotes"),
            ("[1, 2]", "1:1: the file is a mapping of keys to values, not a list"),
            ("a: \u{1}", "1:4: this is not YAML: control characters are not allowed"),
            (
                "a: *b",
                "1:4: a value that begins with * is an alias in YAML: put it in quotes; a path that takes all is \"/*\""
            ),
            (
                "a: 1\n---\nb: 2",
                "2:1: this is not YAML: one document is expected, and here begins another"
            ),
        ])
    func notYAML(text: String, mistake: String) {
        #expect(SettingsTestFile.mistakes(text) == [mistake])
    }

    @Test("aliases that multiply and collections without end are bounded")
    func bombs() {
        var text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
        for level in 1...9 {
            text +=
                "a\(level): &a\(level) [" + Array(repeating: "*a\(level - 1)", count: 10).joined(separator: ", ")
                + "]\n"
        }
        let mistakes = SettingsTestFile.mistakes(text)
        #expect(mistakes.count == 1)
        #expect(mistakes[0].contains("there are more than 100000 values here"))

        for depth in [60, 70] {
            let nested = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
            let mistakes = SettingsTestFile.mistakes("version: \(nested)")
            #expect(mistakes.contains { $0.contains("more than 64 lists and mappings") } == (depth > 64))
        }
    }

    @Test("a guess is made for each of many names that aren't there, as long as that takes no time")
    func manyNames() {
        let count = 500
        let upstreams = (0..<count).map { "  service-\($0): 127.0.0.1:3000\n" }.joined()
        let routes = (0..<count).map { "  - { name: r\($0), match: /r\($0), upstream: servica-\($0) }\n" }.joined()
        let mistakes = SettingsTestFile.mistakes(
            "version: 1\nlisten: 127.0.0.1:8080\nupstreams:\n\(upstreams)routes:\n\(routes)")
        #expect(mistakes.count == count)
        #expect(mistakes.first?.hasSuffix("no upstream \"servica-0\": did you mean \"service-0\"?") == true)
        #expect(mistakes.last?.hasSuffix("no upstream \"servica-499\": it is none of the 500 that there are") == true)
    }
}
