internal import EventLoop
internal import ExtProc
internal import Gateway
internal import HTTP2
internal import HTTPWire
internal import Octets

/// One call of gRPC's health check: SERVING, until the process drains.
final class HealthCall: HTTP2Call {
    static let path: StaticString = "/grpc.health.v1.Health/Check"

    private let connection: HTTP2Connection
    private let stream: HTTP2Stream
    /// The message in its frame, or what has come of it.
    private var message = OutputBuffer()

    /// Bytes of a request at most: a name is in it.
    private static let limit = 1024

    init(_ stream: HTTP2Stream, on connection: HTTP2Connection) {
        self.stream = stream
        self.connection = connection
        stream.handler = self
    }

    func begin() {
        if stream.isContentComplete { contentEnded(stream) }
    }

    func received(_ content: Span<UInt8>, on stream: HTTP2Stream) -> Int {
        if message.count <= Self.limit { message.append(content) }
        return content.count
    }

    func contentEnded(_ stream: HTTP2Stream) {
        do throws(CallError) {
            let service = try service()
            guard service.isEmpty || service.span.isEqual(to: "envoy.service.ext_proc.v3.ExternalProcessor") else {
                throw CallError(.notFound, "there is no such service")
            }
            var lines = OutputBuffer()
            lines.append(GRPC.headLines)
            stream.respond(200, &lines, hasContent: true)
            var answer = OutputBuffer()
            Health.write(isServing: !connection.worker.isDraining, to: &answer)
            _ = stream.write(answer.span)
            GRPC.appendStatus(.ok, to: &lines)
            stream.end(trailers: &lines)
        } catch {
            var lines = OutputBuffer()
            lines.append(GRPC.headLines)
            GRPC.appendStatus(error.status, error.reason, to: &lines)
            stream.respond(200, &lines, hasContent: false)
        }
        connection.schedule()
    }

    /// The service that is asked for.
    private func service() throws(CallError) -> [UInt8] {
        var bytes = OutputBuffer()
        swap(&bytes, &message)
        guard bytes.count <= Self.limit else { throw CallError(.resourceExhausted, "the message is too long") }
        guard bytes.count >= GRPC.prefix else { throw CallError(.invalidArgument, "there is no message") }
        guard bytes.span[0] == 0 else { throw CallError(.unimplemented, "the message is compressed") }
        var count = 0
        for index in 1..<GRPC.prefix { count = count << 8 | Int(bytes.span[index]) }
        guard count == bytes.count - GRPC.prefix else { throw CallError(.invalidArgument, "the message isn't whole") }
        return try Health.service(in: bytes.span.extracting(GRPC.prefix..<bytes.count))
    }

    func held(_ count: Int, on stream: HTTP2Stream) {}
    func drained(_ stream: HTTP2Stream) {}
    func closed(_ stream: HTTP2Stream, _ code: HTTP2ErrorCode) {}

    var exchange: Exchange? { nil }
    func settle() {}
    func resumeContent() {}
    func clientHalfClosed() { stream.reset(.cancel) }
    func clientStalled() {}
    func cutByDrain() {}
}
