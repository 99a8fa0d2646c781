import Glibc
import Octets
import Testing

@testable import EventLoop

/// How a listener ends without losing a client: `Listener.finish`, and who may share an address.
@Suite struct ListenerEndTests {
    private static let loopback = SocketAddress(ipv4: 0x7F00_0001, port: 0)

    /// A blocking client's connect, which the system answers without the listener.
    private func connect(to address: SocketAddress) -> Int32 {
        let descriptor = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var system = sockaddr_in()
        system.sin_family = sa_family_t(AF_INET)
        system.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        system.sin_port = address.port.bigEndian
        _ = unsafe withUnsafePointer(to: &system) {
            unsafe Glibc.connect(
                descriptor, UnsafeRawPointer($0).assumingMemoryBound(to: sockaddr.self),
                socklen_t(MemoryLayout<sockaddr_in>.size))
        }
        return descriptor
    }

    @Test(arguments: [0, 60_000_000] as [UInt64])
    func `what waits is accepted, all of it, before the socket is closed`(time: UInt64) throws {
        try withLoop { loop in
            var accepted = 0
            let listener = try Listener(loop: loop, address: Self.loopback) { descriptor, _ in
                accepted += 1
                close(descriptor)
            }
            // More than one tick takes, on a listener that takes none at the moment.
            listener.pause()
            let clients = (0..<Listener.acceptsPerTick * 2 + 3).map { _ in connect(to: listener.address) }
            var isDone = false
            listener.finish(after: time) {
                isDone = true
                loop.stop()
            }
            #expect(isDone == (time == 0))
            if time > 0 { loop.run() }
            #expect(isDone && accepted == clients.count && listener.isClosed)
            for client in clients { close(client) }
        }
    }

    @Test func `new handshakes are left to the one who listens next`() throws {
        try withLoop { loop in
            let first = try ListeningSocket.open(Self.loopback, sharing: .laterOnes, backlog: 128)
            let second = try ListeningSocket.open(first.address, sharing: .anybody, backlog: 128)
            var counts = [0, 0]
            let old = Listener(loop: loop, socket: first) { descriptor, _ in
                counts[0] += 1
                close(descriptor)
            }
            let new = Listener(loop: loop, socket: second) { descriptor, _ in
                counts[1] += 1
                close(descriptor)
                if counts[1] == 40 { loop.stop() }
            }
            var isDone = false
            old.finish(after: 50_000_000) { isDone = true }
            let before = counts[0]
            let clients = (0..<40).map { _ in connect(to: first.address) }
            // Half of them meet the old one first; the system tries again after a second.
            loop.run()
            #expect(isDone && counts == [before, 40])
            new.close()
            for client in clients { close(client) }
        }
    }

    @Test func `an address that is shared with later ones of ours is refused to others`() throws {
        let first = try ListeningSocket.open(Self.loopback, sharing: .laterOnes, backlog: 8)
        for sharing in [ListeningSocket.Sharing.none, .laterOnes] {
            #expect(throws: LoopError.self) { try ListeningSocket.open(first.address, sharing: sharing, backlog: 8) }
        }
        let second = try ListeningSocket.open(first.address, sharing: .anybody, backlog: 8)
        first.close()
        second.close()
    }

    @Test func `a unix socket is taken over in one step, and the old one leaves the new file alone`() throws {
        let address = SocketAddress(unixPath: "/tmp/recast-\(UInt64.random(in: 0 ... .max)).sock")
        let first = try ListeningSocket.open(address, sharing: .none, backlog: 8)
        #expect(throws: LoopError.self) { try ListeningSocket.open(address, sharing: .none, backlog: 8) }
        let second = try ListeningSocket.open(address, sharing: .anybody, backlog: 8)
        first.close()
        #expect(unsafe access(address.path, F_OK) == 0)
        second.close()
        #expect(unsafe access(address.path, F_OK) != 0)
    }

    @Test func `a socket that takes no place yet takes no clients, and none when it is closed`() throws {
        try withLoop { loop in
            let first = try ListeningSocket.open(Self.loopback, sharing: .anybody, backlog: 128)
            var count = 0
            let old = Listener(loop: loop, socket: first) { descriptor, _ in
                count += 1
                close(descriptor)
                if count % 40 == 0 { loop.stop() }
            }
            for isLeft in [true, false] {
                let second = try ListeningSocket.open(
                    first.address, sharing: .anybody, backlog: 128, takesPlace: false)
                let clients = (0..<40).map { _ in connect(to: first.address) }
                loop.run()
                for client in clients { close(client) }
                if isLeft { second.close() } else { try second.takePlace() }
                guard !isLeft else { continue }
                old.close()
                let client = connect(to: first.address)
                let (accepted, _) = SocketAddress.accept(from: second.descriptor)
                #expect(accepted >= 0)
                close(accepted)
                close(client)
                second.close()
            }
            #expect(count == 80)
        }
    }

    @Test func `a unix socket keeps its place until the next one takes it, and is lost where that one leaves`() throws {
        try withLoop { loop in
            let address = SocketAddress(unixPath: "/tmp/recast-\(UInt64.random(in: 0 ... .max)).sock")
            let socket = try ListeningSocket.open(address, sharing: .none, backlog: 8)
            let first = Listener(loop: loop, socket: socket) { descriptor, _ in close(descriptor) }
            defer { first.close() }
            let given = try ListeningSocket.open(address, sharing: .anybody, backlog: 8, takesPlace: false)
            let beside = "\(address.path).\(getpid())"
            #expect(unsafe access(beside, F_OK) == 0)
            given.close()
            #expect(unsafe access(beside, F_OK) != 0)
            #expect(!first.isLost)
            let second = try ListeningSocket.open(address, sharing: .anybody, backlog: 8, takesPlace: false)
            try second.takePlace()
            #expect(unsafe access(beside, F_OK) != 0)
            #expect(!first.isLost)
            // As of a process that was killed.
            close(second.descriptor)
            #expect(first.isLost)
            #expect(unsafe unlink(address.path) == 0)
            #expect(first.isLost)
            // Nothing can be listened on in the place of what is no socket.
            #expect(unsafe mkdir(address.path, 0o700) == 0)
            #expect(!first.isLost)
            #expect(unsafe rmdir(address.path) == 0)
        }
    }

    @Test func `sockets whose names have no room for more wait beside each other in their folder`() throws {
        let folder = "/tmp/recast-\(UInt64.random(in: 0 ... .max))"
        #expect(unsafe mkdir(folder, 0o700) == 0)
        defer { #expect(unsafe rmdir(folder) == 0) }
        let addresses = ["a", "b", "c"].map { letter in
            let name = String(repeating: letter, count: SocketAddress.longestPath - folder.utf8.count - 1)
            return SocketAddress(unixPath: "\(folder)/\(name)")
        }
        let old = try addresses.map { try ListeningSocket.open($0, sharing: .none, backlog: 8) }
        let new = try addresses.map {
            try ListeningSocket.open($0, sharing: .anybody, backlog: 8, takesPlace: false)
        }
        for socket in new { try socket.takePlace() }
        for socket in old { socket.close() }
        for (address, socket) in zip(addresses, new) {
            #expect(UnixSocketFile.isListenedOn(address))
            socket.close()
        }
    }

    @Test(
        arguments: [
            (0, 32), (99_999_999, 32), (100_000_000, 320), (159_999_999, 480), (160_000_000, 512), (5_000_000_000, 512),
        ] as [(UInt64, Int)])
    func `after a long tick as many are accepted as short ones would have taken`(passed: UInt64, count: Int) {
        #expect(Listener.accepts(behind: 32, after: passed) == count)
        #expect(Listener.accepts(behind: 16, after: passed) == count)
        #expect(passed < 100_000_000 || Listener.accepts(behind: 1, after: passed) == count)
    }

    @Test(arguments: [(1, 2), (2, 4), (8, 16), (15, 30), (16, 32), (32, 32), (320, 32), (512, 32)])
    func `each tick that finds more than the one before took accepts twice as many`(before: Int, count: Int) {
        #expect(Listener.accepts(behind: before, after: 0) == count)
    }

    @Test func `a backlog is not starved by ticks that are long`() throws {
        try withLoop { loop in
            var ticks: [UInt64: Int] = [:]
            var accepted: [Int32] = []
            let listener = try Listener(loop: loop, address: Self.loopback, backlog: 200) { descriptor, _ in
                // What the other connections of a busy loop would do: the first tick takes 110 ms.
                if accepted.isEmpty { usleep(110_000) }
                ticks[loop.tickCount, default: 0] += 1
                accepted.append(descriptor)
                if accepted.count == 150 { loop.stop() }
            }
            // They are in the backlog before the loop runs.
            let clients = (0..<150).map { _ in connect(to: listener.address) }
            loop.run()
            #expect(ticks.values.sorted() == [1, 149])
            for descriptor in accepted + clients { close(descriptor) }
            listener.close()
        }
    }
}
