package import HTTPWire
package import Octets

extension HeadWriter {
    /// A field whose value we made, or took from a head that was parsed: it can't hold a line end.
    @inline(__always)
    package static func clean(_ name: StaticString, _ value: Span<UInt8>, into output: inout OutputBuffer) {
        let isWritten = field(name, value, into: &output)
        precondition(isWritten, "a field value of ours holds a control character")
    }
}
