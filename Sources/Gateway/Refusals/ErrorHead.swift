package import HTTPWire
internal import Octets

/// What the client gets of an error's head where its body can't be converted: an error stays one, and is no fault of a gateway, which
/// clients and meshes would try again.
package struct ErrorHead: Sendable {
    package let status: Int
    /// Lines of the fields without which the status is half said: who may come in (RFC 9110 §11.6.1), when (§10.2.3), by which
    /// method (§10.2.1).
    private let fields: [UInt8]

    /// Nil for what is no error, and for 426, which says nothing without Upgrade (RFC 9110 §15.5.22): that is of the connection.
    ///
    /// - Parameter status: the client's, which is another than the head's where an envelope says so.
    package init?(_ head: borrowing MessageHead, status: Int) {
        guard status >= 400, status != 426 else { return nil }
        self.status = status
        var lines = OutputBuffer()
        for line in 0..<head.fieldCount where Self.passed.contains(head.known(line)) && !head.isHopByHop(line) {
            HeadWriter.field(line, of: head, into: &lines)
        }
        fields = lines.span.copied()
    }

    /// Appends the fields, as lines.
    func append(to output: inout OutputBuffer) { output.append(fields.span) }

    private static let passed: KnownFieldSet = [.wwwAuthenticate, .retryAfter, .allow]
}
