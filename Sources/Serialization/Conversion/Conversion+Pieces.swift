internal import Octets

/// For programs that have arrays of bytes and no buffers of their own.
extension Conversion {
    /// A conversion of one body by `plan`; see `make(plan:contentType:sources:)` with bytes.
    public static func make(plan: ConversionPlan, contentType: String) throws(ConversionError) -> Conversion {
        try make(plan: plan, contentType: contentType.utf8Span.span)
    }

    /// Takes a piece of the input, all of it, and returns the output that there is now, perhaps none.
    ///
    /// Memory grows with what the piece becomes: a piece of 64 KiB is a good size. Throws as `feed` does.
    public final func convert(_ piece: [UInt8]) throws(ConversionError) -> [UInt8] {
        var output: [UInt8] = []
        var at = 0
        while at < piece.count {
            at += try feed(piece.span.extracting(at..<piece.count))
            output += takeOutput()
        }
        return output
    }

    /// Says that the input has ended and returns the rest of the output. Throws as `finish` does.
    public final func convertEnd() throws(ConversionError) -> [UInt8] {
        var output: [UInt8] = []
        while try !finish() { output += takeOutput() }
        return output + takeOutput()
    }

    /// Takes the output that waits, all of it.
    public final func takeOutput() -> [UInt8] {
        withOutput { buffer in
            let bytes = buffer.span.copied()
            buffer.removeAll()
            return bytes
        }
    }
}
