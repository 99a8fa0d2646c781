internal import HTTPWire
internal import Octets

/// Writes an answer of ours as a message of HTTP/1.
enum AnswerWriter {
    /// - Parameters:
    ///   - isLast: whether the connection ends with it.
    ///   - addFields: appends its fields, Content-Length among them where it has one.
    static func write(
        _ status: Int, isLast: Bool, content: Span<UInt8>, into output: inout OutputBuffer,
        adding addFields: (inout OutputBuffer) -> Void
    ) {
        HeadWriter.statusLine(status, into: &output)
        addFields(&output)
        if isLast { HeadWriter.field("Connection", "close", into: &output) }
        HeadWriter.end(into: &output)
        output.append(content)
    }
}
