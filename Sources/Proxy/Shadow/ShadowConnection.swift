internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

/// A connection to an upstream for copies of requests, one after the other. It is none of that upstream's pool, whose requests have
/// clients that wait.
final class ShadowConnection: StreamHandler {
    enum Outcome {
        case answered(ShadowAnswer)
        /// There is no connection, for this reason.
        case unreachable(String)
        case timedOut
        /// The connection broke, or its answer can't be read.
        case failed
    }

    private let sender: ShadowSender
    private let address: UpstreamAddress
    private var timer: Timer!
    private var connector: Connector?
    private var stream: Stream?
    private var request = OutputBuffer()
    private var completion: ((ShadowConnection, Outcome) -> Void)?
    private var isHead = false
    /// Copies that it has carried.
    private(set) var requests = 0

    private var parser = ResponseParser()
    private var head = MessageHead()
    /// Set behind the head.
    private var decoder: BodyDecoder?
    private var answer: ShadowAnswer?
    private var mayReuse = false

    init(_ sender: ShadowSender, to address: UpstreamAddress) {
        self.sender = sender
        self.address = address
        timer = Timer(loop: sender.loop) { [unowned self] in timedOut() }
    }

    /// Whether an idle connection can carry another copy: nothing has come on it.
    var isUsable: Bool { stream?.isQuiet == true }
    /// Whether another copy may follow.
    var isReusable: Bool { mayReuse && stream != nil }

    /// Sends a copy. `completion` comes once, from the loop, never from inside this call, and not after `close()`.
    func send(
        _ request: consuming OutputBuffer, isHead: Bool,
        _ completion: @escaping (ShadowConnection, Outcome) -> Void
    ) {
        precondition(self.completion == nil, "one copy at a time")
        self.completion = completion
        self.isHead = isHead
        requests += 1
        parser.reset()
        head.removeAll()
        decoder = nil
        answer = nil
        mayReuse = false
        timer.set(after: sender.options.timeout.nanoseconds)
        self.request = request
        if stream != nil { return write() }
        guard let target = sender.target else { return }
        connector = Connector(
            to: address, secured: target.settings.tls.map { (address.host, $0.context) },
            within: min(target.settings.connect.nanoseconds, sender.options.timeout.nanoseconds), loop: sender.loop,
            resolver: target.resolver, handler: self
        ) { [unowned self] result in
            connector = nil
            switch result {
            case .success(let stream):
                self.stream = stream
                write()
            case .failure(.unreachable(let reason)), .failure(.insecure(let reason)): end(.unreachable(reason))
            }
        }
    }

    private func write() {
        stream?.write(&request)
        request = OutputBuffer()
    }

    /// Keeps the connection open for another copy, for a while.
    func becomeIdle() { timer.set(after: sender.target?.settings.idle.nanoseconds ?? 0) }

    /// Closes the connection. No completion comes.
    func close() {
        completion = nil
        timer.cancel()
        connector?.cancel()
        connector = nil
        request = OutputBuffer()
        answer?.end(sender.memory)
        answer = nil
        if let stream {
            self.stream = nil
            stream.close()
        }
    }

    private func timedOut() {
        if completion == nil { sender.remove(self) } else { end(.timedOut) }
    }

    /// The copy has had its end.
    private func end(_ outcome: Outcome) {
        timer.cancel()
        guard let completion else { return sender.remove(self) }
        self.completion = nil
        if case .answered = outcome {} else { mayReuse = false }
        completion(self, outcome)
    }

    // MARK: The stream

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        guard completion != nil else {
            // Nobody asked.
            sender.remove(self)
            return bytes.count
        }
        var at = 0
        do throws(WireError) {
            while decoder == nil {
                guard let used = try parser.parse(bytes.extracting(at..<bytes.count), into: &head) else { return at }
                at += used
                guard head.status >= 200 else {
                    // What switches to another protocol was asked by nobody.
                    if head.status == 101 {
                        end(.failed)
                        return bytes.count
                    }
                    head.removeAll()
                    continue
                }
                let framing = try Framing.response(head, toHead: isHead)
                decoder = BodyDecoder(framing: framing, isResponse: true)
                mayReuse = head.isKeepAlive && framing != .untilClose
                answer = ShadowAnswer(head, route: sender.route, limit: sender.answerLimit)
            }
            while let isComplete = decoder?.isComplete, !isComplete {
                let rest = bytes.extracting(at..<bytes.count)
                let step = try decoder!.next(rest)
                let content = rest.extracting(step.skipped..<step.skipped + step.available)
                answer?.append(content, sender.memory)
                decoder!.took(step.available)
                at += step.skipped + step.available
                if answer?.isTooLong == true {
                    // Enough is known of it: reading on would cost the requests time.
                    mayReuse = false
                    finish(isWhole: false)
                    return bytes.count
                }
                if step.available == 0, decoder?.isComplete == false { return at }
            }
        } catch {
            end(.failed)
            return bytes.count
        }
        if at < bytes.count || stream.queued > 0 { mayReuse = false }
        finish(isWhole: true)
        return bytes.count
    }

    private func finish(isWhole: Bool) {
        guard var answer else { return end(.failed) }
        self.answer = nil
        answer.isWhole = isWhole
        end(.answered(answer))
    }

    func ended(_ stream: Stream) {
        mayReuse = false
        guard completion != nil, decoder != nil, !stream.isTruncated, (try? decoder?.endOfInput()) != nil else {
            return end(.failed)
        }
        finish(isWhole: true)
    }

    func drained(_ stream: Stream) {}

    func failed(_ stream: Stream, _ errno: Int32) {
        self.stream = nil
        // Before the answer begins: the server of TLS 1.3 has refused our certificate.
        if decoder == nil, let alert = stream.tlsAlert { return end(.unreachable("\(alert)")) }
        end(.failed)
    }
}
