internal import EventLoop
internal import HTTPWire
internal import Octets
internal import Transcoding

/// One connection of the echo: reads requests one after the other and answers each with a description of it.
final class EchoConnection: StreamHandler {
    private var stream: Stream!
    private var parser = RequestParser(limits: WireLimits())
    private var head = MessageHead()
    private var decoder: BodyDecoder?
    private var body = EchoBody(contentType: Span())
    private let onEnd: (EchoConnection) -> Void

    /// `onEnd` is called once when the connection is closed.
    init(_ descriptor: Int32, loop: EventLoop, onEnd: @escaping (EchoConnection) -> Void) {
        self.onEnd = onEnd
        stream = Stream(loop: loop, descriptor: descriptor, handler: self)
    }

    func received(_ bytes: Span<UInt8>, on stream: Stream) -> Int {
        var at = 0
        do throws(WireError) {
            while !stream.isClosed {
                let rest = bytes.extracting(at..<bytes.count)
                guard decoder != nil else {
                    guard !rest.isEmpty, let used = try parser.parse(rest, into: &head) else { break }
                    at += used
                    begin()
                    continue
                }
                let step = try decoder!.next(rest)
                at += step.skipped + step.available
                if step.available > 0 {
                    body.take(rest.extracting(step.skipped..<step.skipped + step.available))
                    decoder!.took(step.available)
                } else if step.isEnd {
                    answer()
                } else {
                    break
                }
            }
        } catch {
            refuse(error)
            return bytes.count
        }
        return at
    }

    private func begin() {
        decoder = BodyDecoder(framing: head.framing, limits: WireLimits(), isResponse: false)
        if let type = head.first(.contentType) {
            body = EchoBody(contentType: head.value(type))
        } else {
            body = EchoBody(contentType: Span())
        }
        if head.expectsContinue {
            var interim = OutputBuffer()
            HeadWriter.statusLine(100, into: &interim)
            HeadWriter.end(into: &interim)
            stream.write(interim.span)
        }
    }

    /// The request is whole: describes it and makes ready for the next one.
    private func answer() {
        decoder = nil
        parser.reset()
        var json = JSON.Encoder(options: JSON.EncodingOptions())
        json.beginObject()
        json.member("method", head.method.lossyString())
        json.member("target", head.target.lossyString())
        json.key("headers")
        json.beginArray()
        for index in 0..<head.fieldCount {
            json.string("\(head.name(index).lossyString()): \(head.value(index).lossyString())")
        }
        json.endArray()
        do throws(ConversionError) {
            try body.describe(into: &json)
        } catch {
            json.member("error", error.description)
        }
        json.endObject()
        json.finish()
        json.output.append("\n")
        send(200, type: "application/json", body: json.output, keepsAlive: head.isKeepAlive)
        if !head.isKeepAlive { close() }
    }

    private func refuse(_ error: WireError) {
        var text = OutputBuffer()
        text.append(text: error.description + "\n")
        send(error.status, type: "text/plain", body: text, keepsAlive: false)
        close()
    }

    private func send(_ status: Int, type: StaticString, body: OutputBuffer, keepsAlive: Bool) {
        var output = OutputBuffer()
        HeadWriter.statusLine(status, into: &output)
        HeadWriter.field("Content-Type", type, into: &output)
        HeadWriter.field("Content-Length", decimal: body.count, into: &output)
        if !keepsAlive { HeadWriter.field("Connection", "close", into: &output) }
        HeadWriter.end(into: &output)
        if head.methodKind == .head { stream.write(output.span) } else { stream.write(output.span, body.span) }
    }

    private func close() {
        guard !stream.isClosed else { return }
        stream.close()
        onEnd(self)
    }

    func ended(_ stream: Stream) { close() }
    func drained(_ stream: Stream) {}
    func failed(_ stream: Stream, _ errno: Int32) { onEnd(self) }
}
