import EventLoop
import Glibc
import Octets
import Synchronization
import Testing

/// A name server for tests, on loopback, over UDP and TCP on one port, in a thread of its own.
final class NameServer: Sendable {
    /// What it does with a question.
    enum Manner: Sendable {
        case answers, isSilent
        /// Sends the answer with TC set and without records over UDP, whole over TCP.
        case cutsOverUDP
        case saysNoSuchName, refuses
        /// Says nothing to questions for AAAA.
        case ignoresIPv6
    }

    let address: SocketAddress
    private let counts: Counts
    private let thread: JoinHandle
    private let stopper: LoopInbox

    final class Counts: Sendable {
        let udp = Atomic<Int>(0)
        let tcp = Atomic<Int>(0)
    }

    var questionsOverUDP: Int { counts.udp.load(ordering: .relaxed) }
    var questionsOverTCP: Int { counts.tcp.load(ordering: .relaxed) }

    init(_ manner: Manner) throws {
        let counts = Counts()
        self.counts = counts
        let made = Mutex<Result<(SocketAddress, LoopInbox), any Error>?>(nil)
        let cell = Cell(made)
        thread = try startThread(name: "nameserver") {
            do {
                let loop = try EventLoop()
                let tcp = TCPSide(manner, counts)
                var streams: [Stream] = []
                let (listener, socket) = try NameServer.onePort(on: loop) { descriptor in
                    streams.append(Stream(loop: loop, descriptor: descriptor, handler: tcp))
                }
                // The loop has no datagrams: the socket is looked at with every tick.
                let udp = UDPSide(manner, counts, socket)
                let poll = Timer(loop: loop) { udp.answerAll() }
                udp.again = { [unowned poll] in poll.set(after: 1) }
                poll.set(after: 1)
                cell.value.withLock { $0 = .success((listener.address, loop.inbox)) }
                loop.context = listener
                loop.run()
                for stream in streams { stream.close() }
                listener.close()
                poll.cancel()
                udp.again = nil
                loop.context = nil
                close(socket)
            } catch {
                cell.value.withLock { $0 = .failure(error) }
            }
        }
        while true {
            if let outcome = cell.value.withLock({ $0 }) {
                (address, stopper) = try outcome.get()
                break
            }
            sched_yield()
        }
    }

    /// A listener and a datagram socket with one port. The listener's may be a datagram socket's already (a resolver's
    /// of another test, say): then they try again with another.
    private static func onePort(
        on loop: EventLoop, accepted: @escaping (Int32) -> Void
    ) throws -> (Listener, datagrams: Int32) {
        while true {
            let listener = try Listener(loop: loop, address: SocketAddress(ipv4: 0x7F00_0001, port: 0)) {
                descriptor, _ in
                accepted(descriptor)
            }
            do {
                return (listener, try UDPSide.bound(to: listener.address.port))
            } catch let error where error.errno == EADDRINUSE {
                listener.close()
            }
        }
    }

    private struct Unbound: Error {
        let errno: Int32
    }

    private final class Cell: Sendable {
        let value: Mutex<Result<(SocketAddress, LoopInbox), any Error>?>
        init(_ value: consuming Mutex<Result<(SocketAddress, LoopInbox), any Error>?>) { self.value = value }
    }

    func stop() {
        stopper.perform { $0.stop() }
        thread.join()
    }

    /// The answer to `question`: for A one record 192.0.2.7 with TTL 300 and one with TTL 77, for AAAA none.
    static func answer(to question: [UInt8], _ manner: Manner, overTCP: Bool) -> [UInt8]? {
        guard question.count > 16 else { return nil }
        var end = 12
        while question[end] != 0 { end += Int(question[end]) + 1 }
        let type = question[end + 2]
        end += 5
        var flags: (UInt8, UInt8) = (0x81, 0x80)
        var records = 0
        switch manner {
        case .isSilent: return nil
        case .ignoresIPv6 where type == 28: return nil
        case .saysNoSuchName: flags.1 |= 3
        case .refuses: flags.1 |= 5
        case .cutsOverUDP where !overTCP: flags.0 |= 2
        case .answers, .cutsOverUDP, .ignoresIPv6: records = type == 1 ? 2 : 0
        }
        var answer = Array(question[0..<2]) + [flags.0, flags.1, 0, 1, 0, UInt8(records), 0, 0, 0, 0]
        answer += question[12..<end]
        if records > 0 {
            answer += [0xC0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 192, 0, 2, 7]
            answer += [0xC0, 12, 0, 1, 0, 1, 0, 0, 0, 77, 0, 4, 192, 0, 2, 8]
        }
        return answer
    }

    private final class UDPSide {
        let manner: Manner
        let counts: Counts
        let socket: Int32
        var again: (() -> Void)?

        init(_ manner: Manner, _ counts: Counts, _ socket: Int32) {
            self.manner = manner
            self.counts = counts
            self.socket = socket
        }

        static func bound(to port: UInt16) throws(Unbound) -> Int32 {
            let socket = Glibc.socket(
                AF_INET, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let outcome = unsafe withUnsafeMutablePointer(to: &address) { pointer in
                unsafe bind(
                    socket, UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self),
                    socklen_t(MemoryLayout<sockaddr_in>.size))
            }
            guard outcome == 0 else {
                let error = Unbound(errno: errno)
                close(socket)
                throw error
            }
            return socket
        }

        func answerAll() {
            var storage = sockaddr_storage()
            unsafe withUnsafeMutablePointer(to: &storage) { pointer in
                let from = unsafe UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
                while true {
                    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
                    var bytes = [UInt8](repeating: 0, count: 1500)
                    let count = unsafe recvfrom(socket, &bytes, bytes.count, 0, from, &length)
                    guard count > 0 else { break }
                    counts.udp.add(1, ordering: .relaxed)
                    if let answer = NameServer.answer(to: Array(bytes[..<count]), manner, overTCP: false) {
                        _ = unsafe sendto(socket, answer, answer.count, 0, from, length)
                    }
                }
            }
            again?()
        }
    }

    private final class TCPSide: StreamHandler {
        let manner: Manner
        let counts: Counts

        init(_ manner: Manner, _ counts: Counts) {
            self.manner = manner
            self.counts = counts
        }

        func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
            guard bytes.count >= 2 else { return 0 }
            let length = Int(bytes[0]) << 8 | Int(bytes[1])
            guard bytes.count >= 2 + length else { return 0 }
            counts.tcp.add(1, ordering: .relaxed)
            let question = bytes.extracting(2..<2 + length).copied()
            if let answer = NameServer.answer(to: question, manner, overTCP: true) {
                let framed = [UInt8(answer.count >> 8), UInt8(answer.count & 0xFF)] + answer
                stream.write(framed.span)
            }
            stream.resumeReading()
            return 2 + length
        }

        func ended(_ stream: Stream) { stream.close() }
        func drained(_ stream: Stream) {}
        func failed(_ stream: Stream, _ errno: Int32) {}
    }
}

@Suite struct Resolving {
    private typealias Outcome = (result: Result<[SocketAddress], ResolveError>, ttl: Int)

    private func resolve(
        _ host: String, with servers: [SocketAddress] = [], timeout: UInt64 = 10 * second, on loop: EventLoop
    ) throws -> Outcome? {
        let resolver = try Resolver(loop: loop, servers: servers)
        var seen: Outcome?
        resolver.resolve(host, port: 81, timeout: timeout) { result, ttl in
            seen = (result, ttl)
            loop.stop()
        }
        #expect(seen == nil)
        loop.run()
        return seen
    }

    @Test(arguments: ["192.0.2.1", "2001:db8::1", "[2001:db8::1]"])
    func `numeric addresses are given back`(_ host: String) throws {
        try withLoop { loop in
            let outcome = try #require(try resolve(host, on: loop))
            let bare = String(host.filter { $0 != "[" && $0 != "]" })
            #expect(outcome.result == .success([SocketAddress.parseHost(bare, port: 81)!]))
            #expect(outcome.ttl == Resolver.numericTTL)
        }
    }

    @Test(arguments: ["", "a\0b"])
    func `what can't be a name is badName`(_ host: String) throws {
        try withLoop { loop in
            let outcome = try resolve(host, on: loop)
            #expect(outcome?.result == .failure(.badName))
        }
    }

    @Test(arguments: ["localhost", "localhost.", "LocalHost."])
    func `localhost is found without a name server, also as an absolute name`(_ name: String) throws {
        try withLoop { loop in
            let silent = SocketAddress(ipv4: 0x7F00_0001, port: 9)
            let outcome = try #require(try resolve(name, with: [silent], on: loop))
            let addresses = try outcome.result.get()
            #expect(outcome.ttl == Resolver.fileTTL)
            #expect(!addresses.isEmpty)
            #expect(addresses.contains { $0.ipv4 == 0x7F00_0001 && $0.port == 81 })
            #expect(Set(addresses).count == addresses.count)
        }
    }

    @Test func `a name server's answer gives its addresses and the smallest TTL`() throws {
        let server = try NameServer(.answers)
        defer { server.stop() }
        try withLoop { loop in
            let outcome = try #require(try resolve("app.recast.test", with: [server.address], on: loop))
            #expect(
                try Set(outcome.result.get())
                    == [0xC000_0207, 0xC000_0208].reduce(into: []) {
                        $0.insert(SocketAddress(ipv4: $1, port: 81))
                    })
            #expect(outcome.ttl == 77)
            #expect(server.questionsOverTCP == 0)
        }
    }

    @Test func `an answer that is cut over UDP is asked for over TCP`() throws {
        let server = try NameServer(.cutsOverUDP)
        defer { server.stop() }
        try withLoop { loop in
            let outcome = try #require(try resolve("app.recast.test", with: [server.address], on: loop))
            #expect(try outcome.result.get().count == 2)
            #expect(server.questionsOverUDP > 0)
            #expect(server.questionsOverTCP > 0)
        }
    }

    @Test func `a name that doesn't exist is notFound`() throws {
        let server = try NameServer(.saysNoSuchName)
        defer { server.stop() }
        try withLoop { loop in
            let outcome = try resolve("nobody.recast.test.", with: [server.address], on: loop)
            #expect(outcome?.result == .failure(.notFound))
            #expect(outcome?.ttl == 0)
        }
    }

    @Test func `a server that refuses is serverFailure`() throws {
        let server = try NameServer(.refuses)
        defer { server.stop() }
        try withLoop { loop in
            let result = try #require(try resolve("app.recast.test", with: [server.address], on: loop)).result
            guard case .failure(.serverFailure) = result else {
                Issue.record("\(result)")
                return
            }
        }
    }

    @Test func `a silent server ends by the deadline`() throws {
        let server = try NameServer(.isSilent)
        defer { server.stop() }
        try withLoop { loop in
            let start = loop.now
            let outcome = try resolve("app.recast.test", with: [server.address], timeout: second / 5, on: loop)
            #expect(outcome?.result == .failure(.timedOut))
            #expect(loop.now >= start + second / 5)
        }
    }

    @Test(arguments: [2, 10]) func `a server that is silent about IPv6 gives the addresses of IPv4`(_ seconds: UInt64)
        throws
    {
        let server = try NameServer(.ignoresIPv6)
        defer { server.stop() }
        try withLoop { loop in
            let outcome = try #require(
                try resolve("app.recast.test", with: [server.address], timeout: seconds * second, on: loop))
            #expect(try Set(outcome.result.get().map(\.ipv4)) == [0xC000_0207, 0xC000_0208])
            #expect(outcome.ttl == 77)
        }
    }

    @Test func `cancelled, it says nothing; dropped, the resolver goes when its look-ups are over`() throws {
        let server = try NameServer(.answers)
        defer { server.stop() }
        try withLoop { loop in
            weak var seen: Resolver?
            var found = false
            do {
                let resolver = try Resolver(loop: loop, servers: [server.address])
                seen = resolver
                let cancelled = resolver.resolve("one.recast.test", port: 1, timeout: second) { _, _ in
                    Issue.record("cancelled")
                }
                cancelled.cancel()
                #expect(!cancelled.isUnderWay)
                resolver.resolve("two.recast.test", port: 1, timeout: 10 * second) { result, _ in
                    found = (try? result.get()) != nil
                    loop.stop()
                }
            }
            #expect(seen != nil)
            loop.run()
            #expect(found)
            loop.stop()
            loop.run()
            #expect(seen == nil)
        }
    }

    @Test func `many look-ups at once are all answered`() throws {
        let server = try NameServer(.answers)
        defer { server.stop() }
        try withLoop { loop in
            let resolver = try Resolver(loop: loop, servers: [server.address])
            var answers = 0
            for index in 0..<50 {
                resolver.resolve("host\(index).recast.test", port: 1, timeout: 15 * second) { result, _ in
                    if case .success = result { answers += 1 }
                    if answers == 50 { loop.stop() }
                }
            }
            loop.run()
            #expect(answers == 50)
        }
    }
}
