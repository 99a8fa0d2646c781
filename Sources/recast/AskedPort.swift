internal import EventLoop
internal import HTTPWire

/// The one HTTP client of the commands: sends a request without a body, on a connection and a loop of its own.
struct AskedPort {
    /// What stands in `Host`, and in faults.
    let name: String
    private let address: SocketAddress

    /// - Parameter text: `127.0.0.1:9901`, `[::1]:9901` or `unix:/path`; anything else is nil.
    init?(_ text: String) {
        guard let address = SocketAddress.parse(text) else { return nil }
        self.address = address
        name = text
    }

    struct Answer {
        /// The first line; of an answer whose body is taken its version and status alone.
        var line: String

        /// The status of the line, `HTTP/1.1 200 OK`; nil where it is none.
        var status: Int? {
            let parts = line.split(separator: " ")
            guard parts.count > 1, parts[0].hasPrefix("HTTP/1."), parts[1].utf8.count == 3 else { return nil }
            return Int(parts[1])
        }
    }

    /// Why there is no answer, or no whole one.
    struct Fault: Error {
        var reason: String
    }

    /// Sends the request and waits.
    /// - Parameters:
    ///   - target: visible ASCII that begins with `/`.
    ///   - fields: further lines of the head, each with CRLF.
    ///   - seconds: until the first line must be there, or where the body is taken all of it.
    ///   - take: takes the body as it comes, whatever the status is; returns why it can't. nil: no more than the first line is read.
    func ask(
        _ method: String, _ target: String, fields: String = "", within seconds: Int,
        _ take: ((Span<UInt8>) -> String?)? = nil
    ) throws(Fault) -> Answer {
        let loop: EventLoop
        do throws(LoopError) {
            loop = try EventLoop()
        } catch {
            throw Fault(reason: "\(error)")
        }
        // A path is no host.
        let host = address.isUnix ? "localhost" : name
        let length = method == "GET" ? "" : "Content-Length: 0\r\n"
        let asking = Asking(
            loop: loop,
            request: "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n\(fields)\(length)Connection: close\r\n\r\n",
            take: take)
        let time = UInt64(seconds) * 1_000_000_000
        let timer = Timer(loop: loop) { [unowned asking] in asking.end("no answer within \(seconds) s") }
        timer.set(after: time)
        Connect.start(loop: loop, address: address, timeout: time) { [unowned asking] result in
            switch result {
            case .success(let descriptor): asking.begin(descriptor)
            case .failure(let error): asking.end("\(error)")
            }
        }
        loop.run()
        if let fault = asking.fault { throw Fault(reason: fault) }
        return Answer(line: asking.line)
    }
}

/// One request, up to the answer's first line, or to its end where its body is taken.
private final class Asking: StreamHandler {
    private let loop: EventLoop
    private let request: String
    private let take: ((Span<UInt8>) -> String?)?
    private var stream: Stream?
    private var parser = ResponseParser()
    private var head = MessageHead()
    /// Finds the body, once the head is there.
    private var decoder: BodyDecoder?
    private(set) var line = ""
    private(set) var fault: String?

    init(loop: EventLoop, request: String, take: ((Span<UInt8>) -> String?)?) {
        self.loop = loop
        self.request = request
        self.take = take
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
        if let take { return takeAnswer(bytes, take) }
        for index in bytes.indices {
            if bytes[index] == UInt8(ascii: "\r") || line.utf8.count > 1000 {
                end(nil)
                break
            }
            line.unicodeScalars.append(Unicode.Scalar(bytes[index]))
        }
        return bytes.count
    }

    /// Hands on what of the body has come; ends with it.
    private func takeAnswer(_ bytes: Span<UInt8>, _ take: (Span<UInt8>) -> String?) -> Int {
        var at = 0
        do throws(WireError) {
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
                if let fault = take(bytes.extracting(at..<at + step.available)) {
                    end(fault)
                    break
                }
                decoder!.took(step.available)
                at += step.available
                if decoder!.isComplete {
                    end(nil)
                    break
                }
                if step.skipped == 0 && step.available == 0 { break }
            }
        } catch {
            end(error.description)
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
