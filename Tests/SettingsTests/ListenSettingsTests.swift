import Gateway
import Proxy
import Settings
import Testing

/// What the file says of where connections are accepted, and for what.
@Suite struct ListenSettingsTests {
    private static let processing = """
        version: 1
        listen: [{ address: "127.0.0.1:9000", serves: ext_proc }]
        routes:
          - { name: all, match: /*, request: form -> json }
        """

    @Test("where data planes forward all requests, routes need no upstream")
    func withoutUpstreams() throws {
        let file = try SettingsTestFile.parse(Self.processing)
        #expect(file.settings.upstreams.isEmpty)
        #expect(file.settings.routes.map(\.upstream) == [nil])
        let listener = file.settings.listener(at: .tcp(host: "127.0.0.1", port: 9000))
        #expect(listener.service == .externalProcessing)
        #expect(listener.versions == .http2)
        #expect(file.effective.contains { $0.key == "listen.127.0.0.1:9000.serves" && $0.value == "ext_proc" })
    }

    @Test("a route may have an upstream all the same, which must be there")
    func withUpstream() throws {
        let text = Self.processing.replacing("match: /*,", with: "match: /*, upstream: app,")
        #expect(
            SettingsTestFile.mistakes(text) == [
                "4:39: there is no upstream \"app\": there is none"
            ])
        let file = try SettingsTestFile.parse(
            text.replacing("routes:", with: "upstreams: { app: \"127.0.0.1:1\" }\nroutes:"))
        #expect(file.settings.routes.map(\.upstream) == [0])
    }

    @Test("how long a client of HTTP/2 may be silent while a request of its is on its way")
    func ping() throws {
        func shown(_ more: String) throws -> String? {
            let file = try SettingsTestFile.parse(Self.processing.replacing("routes:", with: more + "routes:"))
            return file.effective.first { $0.key == "http2.ping" }?.value
        }
        #expect(try shown("") == "30s")
        #expect(try shown("http2: { ping: 5s }\n") == "5s")
        let never = Self.processing.replacing("routes:", with: "http2: { ping: 0s }\nroutes:")
        #expect(SettingsTestFile.mistakes(never).count == 1)
    }

    @Test("one address of HTTP is enough for routes to need one")
    func mixed() {
        let text = Self.processing.replacing("serves: ext_proc }]", with: "serves: ext_proc }, \"127.0.0.1:8080\"]")
        let mistakes = SettingsTestFile.mistakes(text)
        #expect(mistakes.count == 2)
        #expect(mistakes.contains { $0.contains("needs \"upstreams\"") })
        #expect(mistakes.contains { $0.contains("needs \"upstream\"") })
    }

    @Test(
        "an address may stand beside all addresses of the other family, of another port, or where sockets are shared",
        arguments: [
            "[0.0.0.0:1, \"[::]:1\", \"[::1]:2\"]", "[0.0.0.0:0, 127.0.0.1:0]", "[127.0.0.1:1, 127.0.0.2:1]",
            "[127.0.0.1:1, 0.0.0.0:1]\nreuse_port: true",
        ])
    func neighbours(_ listen: String) {
        let head = SettingsTestFile.head.replacing("127.0.0.1:8080", with: listen)
        #expect(SettingsTestFile.mistakes(head + "  - { name: all, match: /*, upstream: app }") == [])
    }

    @Test("what a data plane takes in one message is Envoy's own limit, or is said")
    func buffer() throws {
        let address = ListenAddress.tcp(host: "127.0.0.1", port: 9000)
        #expect(try SettingsTestFile.parse(Self.processing).settings.listener(at: address).buffer == 1 << 20)
        let text = Self.processing.replacing("serves: ext_proc", with: "serves: ext_proc, buffer: 4MiB")
        let file = try SettingsTestFile.parse(text)
        #expect(file.settings.listener(at: address).buffer == 4 << 20)
        #expect(file.effective.contains { $0.key == "listen.127.0.0.1:9000.buffer" && $0.value == "4MiB" })
    }

    @Test(
        "the mode of a unix socket is read as octal, whether it is written as a number or as a text",
        arguments: [
            ("0660", "0660"), ("'0660'", "0660"), ("660", "0660"), ("0o660", "0660"), ("\"0o777\"", "0777"),
            ("200", "0200"),
        ])
    func mode(_ spelling: String, _ shown: String) throws {
        let socket = "{ address: \"unix:/run/a.sock\", mode: \(spelling) }"
        let text =
            SettingsTestFile.head.replacing("127.0.0.1:8080", with: "[\(socket)]")
            + "  - { name: all, match: /*, upstream: app }\n"
            + "admin: \(socket.replacing("/a", with: "/b"))\nstatus: \(socket.replacing("/a", with: "/c"))\n"
        let file = try SettingsTestFile.parse(text)
        #expect(file.settings.listener(at: .unix(path: "/run/a.sock")).mode?.description == shown)
        #expect(file.settings.admin.mode?.description == shown)
        #expect(file.settings.admin.statusMode?.description == shown)
        for key in ["listen.unix:/run/a.sock.mode", "admin.mode", "status.mode"] {
            #expect(file.effective.contains { $0.key == key && $0.value == shown }, "\(key)")
            #expect(ServerRestart.isNeeded(for: key))
        }
    }

    @Test(
        "what is no mode of a unix socket is a mistake, a number in decimals among it",
        arguments: [
            ("unix:/run/a.sock", "432", "is three octal digits"), ("unix:/run/a.sock", "0", "is three octal digits"),
            ("unix:/run/a.sock", "060", "is three octal digits"), ("unix:/run/a.sock", "0680", "is three octal digits"),
            ("unix:/run/a.sock", "1660", "is three octal digits"), ("unix:/run/a.sock", "rw-rw----", "octal digits"),
            ("unix:/run/a.sock", "0x1B0", "is three octal digits"), ("unix:/run/a.sock", "+600", "octal digits"),
            ("127.0.0.1:1", "0660", "is for the file of a unix socket"), ("systemd:web", "0660", "SocketMode="),
        ])
    func noMode(_ address: String, _ mode: String, _ mistake: String) {
        let listen = "[{ address: \"\(address)\", mode: \(mode) }]"
        let found = SettingsTestFile.mistakes(
            SettingsTestFile.head.replacing("127.0.0.1:8080", with: listen)
                + "  - { name: all, match: /*, upstream: app }")
        #expect(found.count == 1 && found[0].contains("\"mode\" ") && found[0].contains(mistake), "\(found)")
    }

    @Test(
        "what is wrong is reported",
        arguments: [
            ("serves: grpc", "\"serves\" is not \"grpc\": known are http, ext_proc"),
            ("serves: ext_proc, http: [2]", "\"http\" is for listeners that serve http"),
            ("buffer: 1MiB", "\"buffer\" is for listeners that serve ext_proc"),
            ("serves: ext_proc, buffer: 1GiB", "\"buffer\" is at most 256MiB"),
            ("serves: ext_proc, buffer: 100B", "\"buffer\""),
        ])
    func mistakes(_ spelling: String, _ mistake: String) {
        let mistakes = SettingsTestFile.mistakes(Self.processing.replacing("serves: ext_proc", with: spelling))
        #expect(mistakes.contains { $0.contains(mistake) }, "\(mistakes)")
    }
}
