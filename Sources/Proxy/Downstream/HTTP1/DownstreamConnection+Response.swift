internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

/// How HTTP/1 writes a response: its head, the framing of its content (RFC 9112 §6), and what it says of the connection.
extension DownstreamConnection: Downstream, SwitchableSink {
    var isFull: Bool { stream.isAboveHighWatermark }
    var queued: Int { stream.queued }

    func pauseReading() { stream.pauseReading() }
    func resumeReading() { stream.resumeReading() }

    // MARK: Heads

    func sendInterim(_ head: borrowing MessageHead) {
        HeadWriter.statusLine(head.status, into: &output)
        _ = PassedFields(response: head).write(head, into: &output)
        HeadWriter.end(into: &output)
        flush()
    }

    func sendContinue() {
        output.append("HTTP/1.1 100 Continue\r\n\r\n")
        flush()
    }

    func begin(
        _ response: ResponseStart, of head: borrowing MessageHead,
        adding addFields: (inout OutputBuffer, PassedFields.Position) -> Void
    ) {
        let framing = Self.framing(of: response)
        encoder = BodyEncoder(framing: framing)
        if let status = response.status {
            HeadWriter.statusLine(status, into: &output)
        } else {
            HeadWriter.statusLine(of: head, into: &output)
        }
        let position = response.fields.write(head, into: &output)
        addFields(&output, position)
        if response.length == .asReceived, let length = head.first(.contentLength) {
            HeadWriter.clean("Content-Length", head.value(length), into: &output)
        } else {
            HeadWriter.framing(framing, into: &output)
        }
        if head.status == 426, response.status == nil { appendOffers(of: head) }
        output.append(response.isLast ? "Connection: close\r\n\r\n" : "\r\n")
        if worker.keepsExchanges { exchange?.tapAnswer(output, from: position.fields) }
    }

    /// Writes the protocols for which an upstream's 426 asks: without them it says nothing (RFC 9110 §15.5.22). HTTP/2 has no such field.
    private func appendOffers(of head: borrowing MessageHead) {
        guard head.contains(.upgrade) else { return }
        for line in 0..<head.fieldCount where head.known(line) == .upgrade {
            HeadWriter.clean("Upgrade", head.value(line), into: &output)
        }
        HeadWriter.field("Connection", "Upgrade", into: &output)
    }

    private static func framing(of response: ResponseStart) -> BodyFraming {
        switch response.length {
        case .none, .asReceived: .none
        case .known(let count): .length(count)
        case .unknown: response.endsByClose ? .untilClose : .chunked
        }
    }

    func answer(
        _ status: Int, isLast: Bool, content: Span<UInt8>, adding addFields: (inout OutputBuffer) -> Void
    ) -> Int {
        output.removeAll()
        AnswerWriter.write(status, isLast: isLast, content: content, into: &output, adding: addFields)
        let count = output.count
        flush()
        return count
    }

    func switchProtocols(
        by head: borrowing MessageHead, replacing replaced: KnownFieldSet, to upstream: UpstreamConnection,
        idle: UInt64,
        adding addFields: (inout OutputBuffer, PassedFields.Position) -> Void
    ) -> Tunnel {
        HeadWriter.statusLine(of: head, into: &output)
        let position = PassedFields(response: head, replacing: replaced).write(head, into: &output)
        addFields(&output, position)
        if let line = head.first(.upgrade) { HeadWriter.clean("Upgrade", head.value(line), into: &output) }
        HeadWriter.field("Connection", "Upgrade", into: &output)
        HeadWriter.end(into: &output)
        flush()
        leaveHTTP()
        return Tunnel(client: stream, upstream: upstream, owner: self, idle: idle)
    }

    // MARK: Content

    func send(_ content: Span<UInt8>) -> Bool {
        encoder.frame(content.count, into: &output)
        let lineEnd: InlineArray<2, UInt8> = [ASCII.carriageReturn, ASCII.lineFeed]
        let end = encoder.takeEnd() ? lineEnd.span : Span()
        stream.write(output.span, content, end)
        output.removeAll()
        return hasRoom()
    }

    func send(owned content: inout OutputBuffer) -> Bool {
        encoder.frame(content.count, into: &output)
        stream.write(output.span, taking: &content)
        output.removeAll()
        if encoder.takeEnd() {
            let lineEnd: InlineArray<2, UInt8> = [ASCII.carriageReturn, ASCII.lineFeed]
            stream.write(lineEnd.span)
        }
        return hasRoom()
    }

    /// Whether the client takes what comes; if not, it is waited for.
    private func hasRoom() -> Bool {
        guard stream.isAboveHighWatermark else { return true }
        expectDrain()
        return false
    }

    func flush() {
        guard !output.isEmpty else { return }
        stream.write(output.span)
        output.removeAll()
    }

    func end(adding addTrailers: (inout OutputBuffer) -> Void) {
        encoder.close(into: &output, writeTrailers: addTrailers)
        flush()
    }

    func withdraw() -> Bool {
        guard !output.isEmpty else { return false }
        output.removeAll()
        return true
    }

    /// Without a last chunk, short of the length that was told, or by a reset where only the end of the connection ends the content
    /// (docs/rules.md F14). What was written of it goes out: a connection that ends without a byte is one that had ended before the request
    /// came, to clients, which send it again.
    func cut() {
        flush()
        if endsByClose { close(reset: true) } else { closeShort() }
    }
}
