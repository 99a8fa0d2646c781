package import Octets

/// The health service of gRPC (`grpc.health.v1.Health`): `Check` has one request (1 service) and one answer (1 status: 1 SERVING, 2
/// NOT_SERVING).
package enum Health {
    /// The service that a request asks for, from its message without a frame: empty for the server as a whole.
    package static func service(in message: Span<UInt8>) throws(CallError) -> [UInt8] {
        var service: [UInt8] = []
        var reader = FieldReader(0..<message.count)
        while let field = try reader.next(in: message) {
            if field.number == 1 { service = message.extracting(try field.bytes()).copied() }
        }
        return service
    }

    /// Writes an answer, in gRPC's frame.
    package static func write(isServing: Bool, to output: inout OutputBuffer) {
        GRPC.frame(2, to: &output)
        FieldWriter.number(1, isServing ? 1 : 2, to: &output)
    }
}
