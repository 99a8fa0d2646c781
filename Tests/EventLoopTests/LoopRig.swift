import EventLoop
import Glibc
import Octets
import TestSupport
import Testing

/// Runs `body` with a loop of its own; a test that hangs ends with an issue instead.
func withLoop(_ body: (EventLoop) throws -> Void) throws {
    let loop = try EventLoop()
    let watchdog = Timer(loop: loop) { [unowned loop] in
        Issue.record("the loop was not stopped within \(patience) s")
        loop.stop()
    }
    watchdog.set(after: patience * second)
    try body(loop)
    watchdog.cancel()
}

let second: UInt64 = 1_000_000_000

/// Two connected, non-blocking unix sockets. A small `buffer` lets writes meet `EAGAIN` early.
func socketPair(buffer: Int32? = nil) -> (Int32, Int32) {
    var pair: [Int32] = [0, 0]
    let outcome = unsafe socketpair(
        AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair)
    #expect(outcome == 0)
    if let buffer {
        for descriptor in pair {
            var size = buffer
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_SNDBUF, &size, 4)
            _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &size, 4)
        }
    }
    return (pair[0], pair[1])
}

/// Two connected TCP sockets on loopback, non-blocking.
func tcpPair() throws -> (Int32, Int32) {
    let listening = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(listening) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let outcome = unsafe withUnsafeMutablePointer(to: &address) { pointer in
        let general = unsafe UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
        return unsafe bind(listening, general, length) | listen(listening, 8)
            | getsockname(listening, general, &length) | connect(client, general, length)
    }
    #expect(outcome == 0)
    let server = accept(listening, nil, nil)
    #expect(server >= 0)
    _ = fcntl(client, F_SETFL, O_NONBLOCK)
    _ = fcntl(server, F_SETFL, O_NONBLOCK)
    return (client, server)
}

/// Closes a descriptor, for all tests of this module. One that is closed already is an issue: closed once more, its number may be
/// that of a test beside this one, which then fails or, by SIGPIPE, ends all of them.
@discardableResult
func close(_ descriptor: Int32) -> Int32 {
    let outcome = Glibc.close(descriptor)
    #expect(outcome == 0, "descriptor \(descriptor) was closed already")
    return outcome
}

/// Writes to a plain descriptor; the bytes must fit its buffer.
func put(_ text: String, to descriptor: Int32) {
    let bytes = Array(text.utf8)
    #expect(unsafe write(descriptor, bytes, bytes.count) == bytes.count)
}

/// Closes a plain descriptor with a reset.
func reset(_ descriptor: Int32) {
    var option = linger(l_onoff: 1, l_linger: 0)
    _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    close(descriptor)
}

extension [UInt8] {
    var text: String { String(decoding: self, as: UTF8.self) }
}

extension Stream {
    func write(_ text: String) {
        let bytes = Array(text.utf8)
        write(bytes.span)
    }
}

/// A handler that notes what it is told, and does what the test says.
final class Probe: StreamHandler {
    /// What was consumed so far.
    var bytes: [UInt8] = []
    /// The sizes of what was handed over.
    var deliveries: [Int] = []
    var ends = 0
    var drains = 0
    var failures: [Int32] = []
    var peerGones = 0
    var backUps = 0

    var onReceived: ((Span<UInt8>, Stream) -> Int)?
    var onEnded: ((Stream) -> Void)?
    var onDrained: ((Stream) -> Void)?
    var onFailed: ((Stream) -> Void)?
    var onPeerGone: ((Stream) -> Void)?

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        deliveries.append(bytes.count)
        let used = onReceived?(bytes, stream) ?? bytes.count
        self.bytes.append(contentsOf: bytes.extracting(0..<used))
        return used
    }

    func ended(_ stream: Stream) {
        ends += 1
        onEnded?(stream)
    }

    func drained(_ stream: Stream) {
        drains += 1
        onDrained?(stream)
    }

    func failed(_ stream: Stream, _ errno: Int32) {
        failures.append(errno)
        #expect(stream.isClosed)
        onFailed?(stream)
    }

    func backedUp(_ stream: Stream) { backUps += 1 }

    func peerGone(_ stream: Stream) {
        peerGones += 1
        onPeerGone?(stream)
    }

    /// Breaks the cycles that the closures of a test make.
    func forget() {
        onReceived = nil
        onEnded = nil
        onDrained = nil
        onFailed = nil
        onPeerGone = nil
    }
}

/// Calls a closure at the end of the tick.
final class AtTickEnd: TickTask {
    private let action: () -> Void

    init(_ action: @escaping () -> Void) {
        self.action = action
    }

    func tickEnded() { action() }
}
