import EventLoop
import Glibc
import Octets
import Testing

/// A path for a unix socket that no other test uses.
func socketPath(_ name: String) -> String { "/tmp/recast-test-\(getpid())-\(name)" }

private let loopback = SocketAddress(ipv4: 0x7F00_0001, port: 0)

@Suite struct Listening {
    @Test(arguments: ["127.0.0.1:0", "[::1]:0", "unix:"])
    func `a connection is made, carries bytes both ways, and knows its peer`(_ text: String) throws {
        try withLoop { loop in
            let path = socketPath("both-ways")
            let asked = try #require(text == "unix:" ? SocketAddress(unixPath: path) : SocketAddress.parse(text))
            let server = Probe()
            let client = Probe()
            var streams: [Stream] = []
            let listener = try Listener(loop: loop, address: asked) { descriptor, peer in
                #expect(peer.isUnix == asked.isUnix)
                #expect(peer.isIPv6 == asked.isIPv6)
                if !peer.isUnix { #expect(peer.port != 0) }
                #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
                #expect(fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0)
                streams.append(Stream(loop: loop, descriptor: descriptor, handler: server))
            }
            #expect(asked.isUnix || listener.address.port != 0)
            server.onReceived = { bytes, stream in
                stream.write(bytes)
                return bytes.count
            }
            client.onReceived = { bytes, _ in
                loop.stop()
                return bytes.count
            }
            Connect.start(loop: loop, address: listener.address, timeout: 5 * second) { result in
                guard case .success(let descriptor) = result else {
                    Issue.record("\(result)")
                    return loop.stop()
                }
                #expect(fcntl(descriptor, F_GETFL) & O_NONBLOCK != 0)
                let stream = Stream(loop: loop, descriptor: descriptor, handler: client)
                stream.write("there and back")
                streams.append(stream)
            }
            loop.run()
            #expect(client.bytes.text == "there and back")
            for stream in streams { stream.close() }
            listener.close()
            if asked.isUnix { #expect(unsafe access(path, F_OK) != 0) }
            server.forget()
            client.forget()
        }
    }

    @Test func `a burst of 100 is accepted 1, 2, 4 and at last 32 a tick`() throws {
        try withLoop { loop in
            var ticks: [UInt64: Int] = [:]
            var accepted: [Int32] = []
            let listener = try Listener(loop: loop, address: loopback, backlog: 200) { descriptor, _ in
                ticks[loop.tickCount, default: 0] += 1
                accepted.append(descriptor)
                if accepted.count == 100 { loop.stop() }
            }
            var clients: [Connecting] = []
            var connected: [Int32] = []
            for _ in 0..<100 {
                clients.append(
                    Connect.start(loop: loop, address: listener.address, timeout: 5 * second) { result in
                        if case .success(let descriptor) = result { connected.append(descriptor) }
                    })
            }
            loop.run()
            #expect(accepted.count == 100)
            // The first of them may come before the others.
            let counts = ticks.sorted { $0.key < $1.key }.map(\.value)
            #expect(counts.contains(Listener.acceptsPerTick))
            for (before, count) in zip(counts, counts.dropFirst()) {
                #expect(count <= min(2 * before, Listener.acceptsPerTick))
            }
            for client in clients { client.cancel() }
            for descriptor in accepted + connected { close(descriptor) }
            listener.close()
        }
    }

    @Test func `a paused listener lets connections wait`() throws {
        try withLoop { loop in
            var accepted: [Int32] = []
            let listener = try Listener(loop: loop, address: loopback) { descriptor, _ in
                accepted.append(descriptor)
                loop.stop()
            }
            listener.pause()
            Connect.start(loop: loop, address: listener.address, timeout: 5 * second) { result in
                #expect(accepted.isEmpty)
                if case .success(let descriptor) = result { accepted.append(descriptor) }
                listener.resume()
            }
            loop.run()
            #expect(accepted.count == 2)
            for descriptor in accepted { close(descriptor) }
            listener.close()
        }
    }

    @Test func `a listener may be closed while it accepts`() throws {
        try withLoop { loop in
            weak var seen: Listener?
            var accepted = 0
            var connected: [Int32] = []
            do {
                var listener: Listener?
                listener = try Listener(loop: loop, address: loopback) { descriptor, _ in
                    accepted += 1
                    close(descriptor)
                    listener?.close()
                    listener = nil
                    loop.stop()
                }
                seen = listener
                for _ in 0..<3 {
                    Connect.start(loop: loop, address: listener!.address, timeout: 5 * second) { result in
                        if case .success(let descriptor) = result { connected.append(descriptor) }
                    }
                }
            }
            loop.run()
            loop.stop()
            loop.run()
            #expect(accepted == 1)
            #expect(seen == nil)
            for descriptor in connected { close(descriptor) }
        }
    }

    @Test func `an address in use is an error that names it, with reusePort it is shared`() throws {
        try withLoop { loop in
            let first = try Listener(loop: loop, address: loopback, reusePort: true) {
                close($0); _ = $1
            }
            let second = try Listener(loop: loop, address: first.address, reusePort: true) {
                close($0); _ = $1
            }
            #expect(throws: LoopError.addressInUse(first.address)) {
                try Listener(loop: loop, address: first.address) {
                    close($0); _ = $1
                }
            }
            first.close()
            second.close()
        }
    }

    @Test func `a stale unix socket is replaced, a live one and a plain file are not`() throws {
        try withLoop { loop in
            let address = SocketAddress(unixPath: socketPath("stale"))
            let first = try Listener(loop: loop, address: address) {
                close($0); _ = $1
            }
            #expect(throws: LoopError.addressInUse(address)) {
                try Listener(loop: loop, address: address) {
                    close($0); _ = $1
                }
            }
            // The listener goes, the file stays: what a crash leaves.
            let moved = socketPath("moved")
            #expect(unsafe rename(address.path, moved) == 0)
            first.close()
            #expect(unsafe rename(moved, address.path) == 0)
            let second = try Listener(loop: loop, address: address) {
                close($0); _ = $1
            }
            second.close()
            #expect(unsafe access(address.path, F_OK) != 0)
            close(unsafe open(address.path, O_CREAT | O_WRONLY, 0o600))
            #expect(throws: LoopError.system(call: "bind \(address)", errno: EEXIST)) {
                try Listener(loop: loop, address: address) {
                    close($0); _ = $1
                }
            }
            unsafe unlink(address.path)
        }
    }

    @Test(arguments: [107, 108])
    func `a unix path may have 107 bytes`(_ length: Int) throws {
        try withLoop { loop in
            let start = socketPath("long-")
            let path = start + String(repeating: "x", count: length - start.utf8.count)
            if length <= 107 {
                try Listener(loop: loop, address: SocketAddress(unixPath: path)) {
                    close($0); _ = $1
                }.close()
            } else {
                #expect(throws: LoopError.pathTooLong(path)) {
                    try Listener(loop: loop, address: SocketAddress(unixPath: path)) {
                        close($0); _ = $1
                    }
                }
            }
        }
    }

    @Test func `two loops' listeners share one unix socket through a duplicate`() throws {
        try withLoop { loop in
            let address = SocketAddress(unixPath: socketPath("shared"))
            var accepted = 0
            let socket = try ListeningSocket.open(address, sharing: .none, backlog: 8)
            let duplicate = try socket.duplicate()
            let first = Listener(loop: loop, socket: socket) { _, _ in Issue.record("paused") }
            first.pause()
            let second = Listener(loop: loop, socket: duplicate) { descriptor, _ in
                accepted += 1
                close(descriptor)
                loop.stop()
            }
            Connect.start(loop: loop, address: address, timeout: second5) { result in
                if case .success(let descriptor) = result { close(descriptor) }
            }
            loop.run()
            #expect(accepted == 1)
            second.close()
            #expect(unsafe access(address.path, F_OK) == 0)
            first.close()
            #expect(unsafe access(address.path, F_OK) != 0)
        }
    }

    @Test func `without descriptors the loop doesn't spin, and accepts again when there are some`() async {
        await #expect(processExitsWith: .success) {
            let loop = try EventLoop()
            var isRelieved = false
            let listener = try Listener(loop: loop, address: SocketAddress(ipv4: 0x7F00_0001, port: 0)) {
                descriptor, _ in
                close(descriptor)
                if isRelieved { loop.stop() }
            }
            // Two clients of the time of the shortage, and one after it.
            func client() -> Int32 {
                socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            }
            func connect(_ descriptor: Int32) {
                var address = sockaddr_in()
                address.sin_family = sa_family_t(AF_INET)
                address.sin_port = listener.address.port.bigEndian
                address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
                let size = socklen_t(MemoryLayout<sockaddr_in>.size)
                _ = unsafe withUnsafeMutablePointer(to: &address) { pointer in
                    unsafe Glibc.connect(
                        descriptor, UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), size)
                }
            }
            let clients = [client(), client(), client()]
            var limit = rlimit()
            _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            let before = limit.rlim_cur
            // No descriptor beyond those that are open.
            let next = dup(0)
            close(next)
            limit.rlim_cur = rlim_t(next)
            _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            connect(clients[0])
            connect(clients[1])
            var ticks: UInt64 = 0
            let relief = Timer(loop: loop) {
                ticks = loop.tickCount
                _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                limit.rlim_cur = before
                _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
                isRelieved = true
                connect(clients[2])
            }
            relief.set(after: 350_000_000)
            loop.run()
            let noticed = listener.shortages > 0 && listener.shortages < 10
            exit(!noticed ? 1 : ticks >= 60 ? 2 : 0)
        }
    }
}

private let second5 = 5 * second

@Suite struct ConnectingTo {
    private func outcome(
        of address: SocketAddress, timeout: UInt64 = 5 * second, on loop: EventLoop
    ) -> Result<Int32, ConnectError>? {
        var seen: Result<Int32, ConnectError>?
        Connect.start(loop: loop, address: address, timeout: timeout) { result in
            seen = result
            loop.stop()
        }
        #expect(seen == nil)
        loop.run()
        return seen
    }

    @Test func `where nobody listens is refused`() throws {
        try withLoop { loop in
            let listener = try Listener(loop: loop, address: loopback) {
                close($0); _ = $1
            }
            let address = listener.address
            listener.close()
            #expect(outcome(of: address, on: loop) == .failure(.refused))
        }
    }

    @Test func `a unix socket that isn't there, and one whose listener is gone`() throws {
        try withLoop { loop in
            let missing = SocketAddress(unixPath: socketPath("missing"))
            #expect(outcome(of: missing, on: loop) == .failure(.system(ENOENT)))
            let long = SocketAddress(unixPath: String(repeating: "x", count: 108))
            #expect(outcome(of: long, on: loop) == .failure(.system(ENAMETOOLONG)))
            let path = socketPath("dead")
            let listener = try Listener(loop: loop, address: SocketAddress(unixPath: path)) {
                close($0); _ = $1
            }
            unsafe rename(path, path + "-moved")
            listener.close()
            #expect(outcome(of: SocketAddress(unixPath: path + "-moved"), on: loop) == .failure(.refused))
            unsafe unlink(path + "-moved")
        }
    }

    /// A listener that accepts nothing, with its backlog filled up.
    private func withFullBacklog(_ address: SocketAddress, on loop: EventLoop, _ body: (Listener) throws -> Void) throws
    {
        let listener = try Listener(loop: loop, address: address, backlog: 0) { _, _ in Issue.record("paused") }
        listener.pause()
        var held: [Int32] = []
        while case .success(let descriptor)? = outcome(of: listener.address, timeout: 200_000_000, on: loop) {
            held.append(descriptor)
        }
        #expect(held.count < 5)
        try body(listener)
        for descriptor in held { close(descriptor) }
        listener.close()
    }

    @Test(arguments: [false, true])
    func `a full backlog ends by the deadline`(isUnix: Bool) throws {
        try withLoop { loop in
            let address = isUnix ? SocketAddress(unixPath: socketPath("full")) : loopback
            try withFullBacklog(address, on: loop) { listener in
                let start = loop.now
                #expect(outcome(of: listener.address, timeout: 100_000_000, on: loop) == .failure(.timedOut))
                #expect(loop.now >= start + 100_000_000)
                #expect(loop.tickCount < 200)
            }
        }
    }

    @Test func `a unix socket whose backlog has room again is connected before the deadline`() throws {
        try withLoop { loop in
            let address = SocketAddress(unixPath: socketPath("room"))
            var accepted: [Int32] = []
            let listener = try Listener(loop: loop, address: address, backlog: 0) { descriptor, _ in
                accepted.append(descriptor)
            }
            listener.pause()
            let first = try #require(try? outcome(of: address, on: loop)?.get())
            let timer = Timer(loop: loop) { listener.resume() }
            timer.set(after: 60_000_000)
            let second = try #require(try? outcome(of: address, on: loop)?.get())
            #expect(!accepted.isEmpty)
            for descriptor in accepted + [first, second] { close(descriptor) }
            listener.close()
        }
    }

    @Test func `cancelled, it says nothing and closes its socket`() throws {
        try withLoop { loop in
            weak var seen: Connecting?
            let missing = SocketAddress(unixPath: socketPath("cancelled"))
            let listener = try Listener(loop: loop, address: loopback) {
                close($0); _ = $1
            }
            for isLate in [false, true] {
                do {
                    var connecting: Connecting?
                    // Before start, so that it runs before what start may have to tell.
                    if isLate { loop.afterTick(AtTickEnd { connecting?.cancel() }) }
                    let address = isLate ? missing : listener.address
                    connecting = Connect.start(loop: loop, address: address, timeout: 5 * second) { _ in
                        Issue.record("cancelled")
                    }
                    seen = connecting
                    if !isLate {
                        connecting?.cancel()
                        connecting?.cancel()
                        #expect(connecting?.isUnderWay == false)
                    }
                }
                loop.stop()
                loop.run()
                loop.stop()
                loop.run()
                #expect(seen == nil)
            }
            listener.close()
        }
    }
}

/// A plain socket that is connected to `port` on loopback, where it may still wait to be accepted.
private func connected(to port: UInt16) -> Int32 {
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    address.sin_port = port.bigEndian
    let outcome = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        let general = unsafe UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
        return unsafe connect(client, general, socklen_t(MemoryLayout<sockaddr_in>.size))
    }
    #expect(outcome == 0)
    return client
}

@Suite struct Accepting {
    /// Where the socket that is listened on comes from.
    enum Origin: CaseIterable {
        case own, duplicate, takenOver
    }

    @Test(arguments: Origin.allCases)
    func `an accepted socket sends short writes at once, also one that waited before`(_ origin: Origin) throws {
        try withLoop { loop in
            // One that was opened elsewhere lacks the option, and so does what waits in its backlog.
            let foreign =
                origin == .takenOver ? socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue), 0) : -1
            var listening: ListeningSocket
            if foreign >= 0 {
                #expect(listen(foreign, 8) == 0)
                var bound = sockaddr_in()
                var size = socklen_t(MemoryLayout<sockaddr_in>.size)
                let outcome = unsafe withUnsafeMutablePointer(to: &bound) { pointer in
                    let general = unsafe UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
                    return unsafe getsockname(foreign, general, &size)
                }
                #expect(outcome == 0)
                let address = SocketAddress(ipv4: 0x7F00_0001, port: UInt16(bigEndian: bound.sin_port))
                listening = ListeningSocket(descriptor: foreign, address: address, isShared: false)
            } else {
                listening = try ListeningSocket.open(loopback, sharing: .none, backlog: 8)
            }
            let original = listening
            if origin == .duplicate { listening = try listening.duplicate() }
            let client = connected(to: listening.address.port)
            var option: Int32 = 0
            let listener = Listener(loop: loop, socket: listening) { descriptor, _ in
                var size = socklen_t(MemoryLayout<Int32>.size)
                #expect(unsafe getsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &option, &size) == 0)
                close(descriptor)
                loop.stop()
            }
            loop.run()
            #expect(option == 1)
            listener.close()
            if origin == .duplicate { original.close() }
            close(client)
        }
    }

    @Test(arguments: [1, 2, 5])
    func `what came along with several connections is read in the tick that accepts them`(_ count: Int) throws {
        try withLoop { loop in
            let handler = Probe()
            // The ticks in which each stream was accepted, and got its bytes.
            var accepted: [UInt64] = []
            var received: [UInt64?] = []
            var streams: [Stream] = []
            handler.onReceived = { bytes, stream in
                received[streams.firstIndex { $0 === stream } ?? 0] = loop.tickCount
                if handler.deliveries.count == count { loop.stop() }
                return bytes.count
            }
            let listener = try Listener(loop: loop, address: loopback) { descriptor, _ in
                accepted.append(loop.tickCount)
                received.append(nil)
                streams.append(Stream(loop: loop, descriptor: descriptor, isAccepted: true, handler: handler))
            }
            let clients = (0..<count).map { _ in connected(to: listener.address.port) }
            for client in clients { put("hello", to: client) }
            loop.run()
            // One, then two, then what is left.
            #expect(accepted.map { $0 - accepted[0] } == Array([0, 1, 1, 2, 2].prefix(count)))
            for (index, tick) in accepted.enumerated() {
                let isAlone = accepted.filter { $0 == tick }.count == 1
                #expect(received[index] == tick + (isAlone ? 1 : 0))
            }
            #expect(handler.bytes.text == String(repeating: "hello", count: count))
            for stream in streams { stream.close() }
            for client in clients { close(client) }
            listener.close()
            handler.forget()
        }
    }

    @Test(arguments: [false, true])
    func `an accepted stream without bytes, or paused, hears its peer all the same`(_ isPaused: Bool) throws {
        try withLoop { loop in
            let handler = Probe()
            var streams: [Stream] = []
            let listener = try Listener(loop: loop, address: loopback) { descriptor, _ in
                let stream = Stream(loop: loop, descriptor: descriptor, isAccepted: true, handler: handler)
                if isPaused { stream.pauseReading() }
                streams.append(stream)
                if streams.count == 2 { loop.stop() }
            }
            let clients = (0..<2).map { _ in connected(to: listener.address.port) }
            loop.run()
            #expect(handler.deliveries.isEmpty)
            handler.onPeerGone = { _ in if handler.peerGones == 2 { loop.stop() } }
            handler.onReceived = { bytes, _ in
                if handler.bytes.count + bytes.count == 10 { loop.stop() }
                return bytes.count
            }
            for client in clients {
                if isPaused { reset(client) } else { put("hello", to: client) }
            }
            loop.run()
            #expect(isPaused ? handler.peerGones == 2 : handler.bytes.count == 10)
            for stream in streams { stream.close() }
            if !isPaused { for client in clients { close(client) } }
            listener.close()
            handler.forget()
        }
    }
}
