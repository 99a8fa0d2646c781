internal import ArgumentParser
internal import EventLoop
internal import Glibc
internal import HTTPWire

/// `recast probe`: asks a running proxy, or anything else that speaks HTTP, how it is; for health checks of containers that
/// have no other client, and for the admin port of such.
struct Probe: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send one request, and succeed when the answer's status is a 2xx.",
        discussion: """
            For health checks where there is no curl: recast probe 127.0.0.1:9901 /ready
            And for the rest of the admin port there: recast probe --print unix:/run/recast/admin.sock /upstreams
            """)

    enum RequestMethod: String, ExpressibleByArgument, CaseIterable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
    }

    @Argument(help: "Where to ask: 127.0.0.1:9901, [::1]:9901 or unix:/path.")
    var address = "127.0.0.1:9901"

    @Argument(help: "The path to ask for.")
    var path = "/ready"

    @Option(help: "The method; a POST or PUT has no body.")
    var method = RequestMethod.get

    @Flag(help: "Print the answer's body, whatever its status is.")
    var print = false

    @Option(help: "Seconds until the answer's first line must be there, or with --print all of it.")
    var timeout = 3

    func run() throws {
        guard let target = SocketAddress.parse(address), path.hasPrefix("/"), (1...3600).contains(timeout),
            path.utf8.allSatisfy({ 33...126 ~= $0 })
        else {
            throw CommandFault(
                CommandFault.usage, "recast probe: write an address and a path, as in 127.0.0.1:9901 /ready")
        }
        let line = try ask(target)
        // HTTP/1.1 200 OK
        let parts = line.split(separator: " ")
        guard parts.count > 1, parts[0].hasPrefix("HTTP/1."), parts[1].count == 3, parts[1].hasPrefix("2") else {
            throw CommandFault(
                CommandFault.unavailable, "recast probe: \(address)\(path) answers \"\(line.prefix(80))\"")
        }
    }

    /// Sends the request. Returns the answer's first line.
    private func ask(_ target: SocketAddress) throws -> String {
        let loop: EventLoop
        do {
            loop = try EventLoop()
        } catch {
            throw CommandFault(CommandFault.unavailable, "recast probe: \(error)")
        }
        // A path is no host.
        let host = target.isUnix ? "localhost" : address
        let length = method == .get ? "" : "Content-Length: 0\r\n"
        let probing = Probing(
            loop: loop,
            request: "\(method.rawValue) \(path) HTTP/1.1\r\nHost: \(host)\r\n\(length)Connection: close\r\n\r\n",
            prints: print)
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

/// One request on a loop of its own, up to the answer's first line, or to its end where it is printed.
private final class Probing: StreamHandler {
    private let loop: EventLoop
    private let request: String
    private let prints: Bool
    private var stream: Stream?
    private var parser = ResponseParser()
    private var head = MessageHead()
    /// Finds the body, once the head is there.
    private var decoder: BodyDecoder?
    private(set) var line = ""
    private(set) var fault: String?

    init(loop: EventLoop, request: String, prints: Bool) {
        self.loop = loop
        self.request = request
        self.prints = prints
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
        if prints { return takeAnswer(bytes) }
        for index in bytes.indices {
            if bytes[index] == UInt8(ascii: "\r") || line.utf8.count > 1000 {
                end(nil)
                break
            }
            line.unicodeScalars.append(Unicode.Scalar(bytes[index]))
        }
        return bytes.count
    }

    /// Prints what of the body has come; ends with it.
    private func takeAnswer(_ bytes: Span<UInt8>) -> Int {
        var at = 0
        do {
            while decoder == nil {
                guard let used = try parser.parse(bytes.extracting(at..<bytes.count), into: &head) else { return at }
                at += used
                // Interim responses say nothing.
                if head.status < 200 { continue }
                line = "\(head.version.text) \(head.status)"
                decoder = BodyDecoder(framing: try Framing.response(head, toHead: false), isResponse: true)
            }
            while true {
                let step = try decoder!.next(bytes.extracting(at..<bytes.count))
                at += step.skipped
                try StandardStreams.write(bytes.extracting(at..<at + step.available))
                decoder!.took(step.available)
                at += step.available
                if decoder!.isComplete {
                    end(nil)
                    break
                }
                if step.skipped == 0 && step.available == 0 { break }
            }
        } catch let error as WireError {
            end(error.description)
        } catch {
            end("standard output can't be written")
        }
        return at
    }

    func ended(_ stream: Stream) {
        guard decoder != nil else { return end("it closed without an answer") }
        do {
            try decoder!.endOfInput()
            end(nil)
        } catch {
            end("it closed before the end of its answer")
        }
    }

    func failed(_ stream: Stream, _ errno: Int32) { end("the connection broke") }
    func drained(_ stream: Stream) {}
    func peerGone(_ stream: Stream) {}
}
