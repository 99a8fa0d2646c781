internal import ArgumentParser
internal import EventLoop
internal import Glibc

/// `recast probe`: asks a running proxy, or anything else that speaks HTTP, how it is; for health checks of containers that
/// have no other client.
struct Probe: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send one GET, and succeed when the answer's status is a 2xx.",
        discussion: "For health checks where there is no curl: recast probe 127.0.0.1:9901 /ready")

    @Argument(help: "Where to ask: 127.0.0.1:9901, [::1]:9901 or unix:/path.")
    var address = "127.0.0.1:9901"

    @Argument(help: "The path to ask for.")
    var path = "/ready"

    @Option(help: "Seconds until the answer's first line must be there.")
    var timeout = 3

    func run() throws {
        guard let target = SocketAddress.parse(address), path.hasPrefix("/"), (1...3600).contains(timeout),
            path.utf8.allSatisfy({ 33...126 ~= $0 })
        else {
            throw CommandFault(
                CommandFault.usage, "recast probe: write an address and a path, as in 127.0.0.1:9901 /ready")
        }
        let line = try firstLine(of: target)
        // HTTP/1.1 200 OK
        let parts = line.split(separator: " ")
        guard parts.count > 1, parts[0].hasPrefix("HTTP/1."), parts[1].count == 3, parts[1].hasPrefix("2") else {
            throw CommandFault(
                CommandFault.unavailable, "recast probe: \(address)\(path) answers \"\(line.prefix(80))\"")
        }
    }

    private func firstLine(of target: SocketAddress) throws -> String {
        let loop: EventLoop
        do {
            loop = try EventLoop()
        } catch {
            throw CommandFault(CommandFault.unavailable, "recast probe: \(error)")
        }
        // A path is no host.
        let host = target.isUnix ? "localhost" : address
        let probing = Probing(
            loop: loop, request: "GET \(path) HTTP/1.1\r\nHost: \(host)\r\nConnection: close\r\n\r\n")
        let time = UInt64(timeout) * 1_000_000_000
        let timer = Timer(loop: loop) { [unowned probing] in probing.end("no answer within \(timeout) s") }
        timer.set(after: time)
        Connect.start(loop: loop, address: target, timeout: time) { [unowned probing] result in
            switch result {
            case .success(let descriptor): probing.begin(descriptor)
            case .failure(let error): probing.end("\(error)")
            }
        }
        loop.run()
        if let fault = probing.fault {
            throw CommandFault(CommandFault.unavailable, "recast probe: \(address): \(fault)")
        }
        return probing.line
    }
}

/// One request on a loop of its own, up to the answer's first line.
private final class Probing: StreamHandler {
    private let loop: EventLoop
    private let request: String
    private var stream: Stream?
    private(set) var line = ""
    private(set) var fault: String?

    init(loop: EventLoop, request: String) {
        self.loop = loop
        self.request = request
    }

    func begin(_ descriptor: Int32) {
        let stream = Stream(loop: loop, descriptor: descriptor, handler: self)
        self.stream = stream
        stream.write(Array(request.utf8).span)
    }

    func end(_ fault: String?) {
        guard self.fault == nil else { return }
        self.fault = fault
        stream?.close()
        stream = nil
        loop.stop()
    }

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        for index in bytes.indices {
            if bytes[index] == UInt8(ascii: "\r") || line.utf8.count > 1000 {
                end(nil)
                break
            }
            line.unicodeScalars.append(Unicode.Scalar(bytes[index]))
        }
        return bytes.count
    }

    func ended(_ stream: Stream) { end("it closed without an answer") }
    func failed(_ stream: Stream, _ errno: Int32) { end("the connection broke") }
    func drained(_ stream: Stream) {}
    func peerGone(_ stream: Stream) {}
}
