import Foundation
import Glibc
import Octets
import Testing

@testable import EventLoop

/// Names of a long `/etc/hosts`, which c-ares doesn't read.
@Suite struct HostsFileTests {
    /// Lines for other names, more than c-ares may read at each look-up.
    private static let others = (0..<3000).map { "0.0.0.0 ads\($0).tracker.example\n" }.joined()

    private func withFile(_ body: (URL) throws -> Void) throws {
        let file = URL(filePath: "/tmp/recast-hosts-\(UInt64.random(in: 0 ... .max))")
        defer { try? FileManager.default.removeItem(at: file) }
        try body(file)
    }

    private func write(_ text: String, to file: URL) throws { try Data(text.utf8).write(to: file, options: .atomic) }

    @Test(
        "an address and the names behind it, up to a #, each in any case",
        arguments: [
            ("10.0.0.1 app", ["10.0.0.1"]), ("10.0.0.1 app\n", ["10.0.0.1"]),
            ("10.0.0.1\tother\t App \r\n", ["10.0.0.1"]),
            ("  ::1   x APP#y", ["::1"]), ("10.0.0.1 app\n::1 app\n10.0.0.1 app", ["10.0.0.1", "::1"]),
            ("#10.0.0.1 app", []), ("10.0.0.1 x # app", []), ("10.0.0.1 apps", []), ("10.0.0.1 my.app", []),
            ("10.0.0.1 app.test", []), ("10.0.0.1 xapp app", ["10.0.0.1"]), ("app 10.0.0.1", []), (" app app", []),
            ("app", []), ("nonsense app", []), ("10.0.0.1\napp", []), ("", []),
        ])
    func lines(text: String, addresses: [String]) {
        for (front, back) in [("", ""), ("127.0.0.1 a ap\n", "\n127.0.0.1 pp p")] {
            let found = HostsFile.addresses(of: Array("app".utf8), in: Array((front + text + back).utf8))
            #expect(found == addresses.map { SocketAddress.parseHost($0, port: 0) }, "\(front)\(text)\(back)")
        }
    }

    @Test("a short file, and none, is left to c-ares; a long one is searched again when it has changed")
    func changes() throws {
        try withFile { file in
            var hosts = HostsFile(file.path)
            #expect(hosts.addresses(of: "app") == nil)
            try write("10.0.0.1 app\n", to: file)
            #expect(hosts.addresses(of: "app") == nil)
            for address in ["10.0.0.2", "10.0.0.3"] {
                try write(Self.others + "\(address) app\n", to: file)
                for name in ["app", "APP"] {
                    #expect(hosts.addresses(of: name) == [SocketAddress.parseHost(address, port: 0)!])
                }
                #expect(hosts.addresses(of: "nobody") == [])
            }
            try write(Self.others, to: file)
            #expect(hosts.addresses(of: "app") == [])
            try write("10.0.0.1 app\n", to: file)
            #expect(hosts.addresses(of: "app") == nil)
        }
    }

    @Test("a name that a long file has is found there, any other at the name servers, and this machine's as ever")
    func resolving() throws {
        let server = try NameServer(.answers)
        defer { server.stop() }
        try withFile { file in
            try write(Self.others + "10.0.0.1 app.hosts.test\n", to: file)
            try withLoop { loop in
                let resolver = try Resolver(loop: loop, servers: [server.address], hosts: file.path)
                func resolve(_ name: String) throws -> ([SocketAddress], ttl: Int) {
                    var seen: (Result<[SocketAddress], ResolveError>, Int)?
                    resolver.resolve(name, port: 81, timeout: 10 * second) { result, ttl in
                        seen = (result, ttl)
                        loop.stop()
                    }
                    #expect(seen == nil)
                    loop.run()
                    let (result, ttl) = try #require(seen)
                    return (try result.get(), ttl)
                }
                let own = try resolve("app.hosts.test")
                #expect(own.0 == [SocketAddress(ipv4: 0x0A00_0001, port: 81)] && own.ttl == Resolver.fileTTL)
                #expect(server.questionsOverUDP == 0)
                let other = try resolve("app.recast.test")
                #expect(other.0.contains(SocketAddress(ipv4: 0xC000_0207, port: 81)) && other.ttl == 77)
                #expect(server.questionsOverUDP > 0)
                #expect(try resolve("localhost").0.contains(SocketAddress(ipv4: 0x7F00_0001, port: 81)))
            }
        }
    }
}
