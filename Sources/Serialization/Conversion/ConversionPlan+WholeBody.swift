internal import Octets

extension ConversionPlan {
    /// Converts a body that lies in memory, for programs that have no stream to convert. The bytes are those that a
    /// `Conversion` gives piece by piece.
    ///
    /// - Parameters:
    ///   - body: the whole input.
    ///   - contentType: the input's Content-Type, which chooses among `inputs`; for multipart it holds the boundary.
    /// - Returns: the output with its Content-Type.
    /// - Throws: what is wrong with the plan, the input, or what the output can't carry.
    public func convert(
        _ body: [UInt8], contentType: String
    ) throws(ConversionError) -> (contentType: String, body: [UInt8]) {
        let conversion = try Conversion.make(plan: self, contentType: Array(contentType.utf8).span)
        var output: [UInt8] = []
        var at = 0
        while at < body.count {
            at += try conversion.feed(body.span.extracting(at..<body.count))
            conversion.moveOutput(to: &output)
        }
        while try !conversion.finish() { conversion.moveOutput(to: &output) }
        conversion.moveOutput(to: &output)
        return (String(decoding: conversion.contentType, as: UTF8.self), output)
    }
}

extension Conversion {
    /// Takes all output that waits.
    fileprivate func moveOutput(to bytes: inout [UInt8]) {
        bytes += withOutput { buffer in
            let taken = buffer.span.copied()
            buffer.removeAll()
            return taken
        }
    }
}
