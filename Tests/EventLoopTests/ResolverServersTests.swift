import EventLoop
import Foundation
import Testing

/// Which name servers are asked, and which of them first.
@Suite struct ResolverServers {
    @Test("a first server that is silent is asked behind the one that answers, for a while", arguments: [true, false])
    func silentFirst(_ isSoonForgotten: Bool) throws {
        let (silent, server) = (try NameServer(.isSilent), try NameServer(.answers))
        defer { for one in [silent, server] { one.stop() } }
        try withLoop { loop in
            let resolver = try Resolver(
                loop: loop, servers: [silent.address, server.address],
                silentTime: isSoonForgotten ? 1 : Resolver.silentTime)
            var asked: [Int] = []
            for index in 0..<3 {
                resolver.resolve("host\(index).recast.test", port: 81, timeout: 10 * second) { result, ttl in
                    #expect(throws: Never.self) { try result.get() }
                    #expect(ttl == 77)
                    loop.stop()
                }
                loop.run()
                asked.append(silent.questionsOverUDP)
            }
            #expect(asked[0] > 0)
            #expect((asked[1] > asked[0], asked[2] > asked[1]) == (isSoonForgotten, isSoonForgotten))
        }
    }

    @Test func `a first server that is silent about one family is asked first all the same`() throws {
        let (first, other) = (try NameServer(.ignoresIPv6), try NameServer(.answers))
        defer { for one in [first, other] { one.stop() } }
        try withLoop { loop in
            let resolver = try Resolver(loop: loop, servers: [first.address, other.address])
            var asked = 0
            for index in 0..<2 {
                resolver.resolve("host\(index).recast.test", port: 81, timeout: 10 * second) { result, _ in
                    #expect(throws: Never.self) { try result.get() }
                    loop.stop()
                }
                loop.run()
                #expect(first.questionsOverUDP > asked)
                asked = first.questionsOverUDP
            }
        }
    }

    @Test func `what resolv.conf says is read again when it has changed`() throws {
        let server = try NameServer(.saysNoSuchName)
        let file = URL(filePath: "/tmp/recast-resolv-\(UInt64.random(in: 0 ... .max))")
        defer {
            server.stop()
            try? FileManager.default.removeItem(at: file)
        }
        try withLoop { loop in
            var resolver: Resolver?
            // Each name is asked for once for either family: in each search domain, and by itself.
            for (text, names) in [("search a.test\n", 2), ("search a.test\n", 2), ("search a.test b.test c.test\n", 4)]
            {
                try Data(text.utf8).write(to: file, options: .atomic)
                let made = try resolver ?? Resolver(loop: loop, servers: [server.address], serversFile: file.path)
                resolver = made
                let before = server.questionsOverUDP
                made.resolve("app", port: 81, timeout: 10 * second) { result, _ in
                    #expect(result == .failure(.notFound))
                    loop.stop()
                }
                loop.run()
                #expect(server.questionsOverUDP - before == 2 * names, "\(text)")
            }
            try FileManager.default.removeItem(at: file)
            let before = server.questionsOverUDP
            resolver?.resolve("app", port: 81, timeout: 10 * second) { _, _ in loop.stop() }
            loop.run()
            #expect(server.questionsOverUDP - before == 8, "a file that is gone for a moment changes nothing")
        }
    }
}
