internal import ContentCoding
internal import Octets

extension FuzzTarget {
    /// One for each content coding: its decoder over any bytes, and its encoder over them too.
    static var codings: [FuzzTarget] {
        Coding.allCases.map { coding in
            FuzzTarget(coding.rawValue, corpus: coding.rawValue) { variant, body in
                var codings = AppliedCodings(coding)
                // Half of the inputs go through gzip's decoder before, or after, their own.
                if variant.bit, !codings.append(.gzip) { return "a second coding wasn't taken" }
                let whole = undo(body, codings, every: .max)
                let cut = undo(body, codings, every: variant.size)
                if whole.tooMuch || cut.tooMuch { return "more than the limit came out" }
                if whole.isFine != cut.isFine { return "whole: \(whole.isFine), cut: \(cut.isFine)" }
                if whole.isFine, whole.bytes != cut.bytes { return "the bytes depend on the cut" }
                let again = undo(
                    apply(coding, to: body, every: variant.size), AppliedCodings(coding), every: variant.size)
                return again.isFine && again.bytes == body ? nil : "what was encoded isn't what was decoded"
            }
        }
    }

    private struct Undone {
        var bytes: [UInt8] = []
        var isFine = false
        var tooMuch = false
    }

    /// Far below what a fuzzer's input could become.
    private static let codingLimit = 1 << 20

    private static func undo(_ body: [UInt8], _ codings: AppliedCodings, every size: Int) -> Undone {
        var limits = CodingLimits()
        limits.decompressed = codingLimit
        // The ratio is looked at in steps, so it depends on the cut.
        limits.ratio = codingLimit
        let decoder = ContentDecoder()
        decoder.begin(codings, limits: limits)
        var result = Undone()
        var output = OutputBuffer()
        do throws(CodingError) {
            var at = 0
            while at < body.count || decoder.hasMore {
                let end = size >= body.count - at ? body.count : at + size
                at += try decoder.feed(body.span.extracting(at..<end), into: &output)
                if output.count > ContentDecoder.pieceSize { result.tooMuch = true }
                result.bytes.append(contentsOf: output.span)
                output.removeAll()
            }
            try decoder.finish()
            result.isFine = true
        } catch {
            result.isFine = false
        }
        if result.bytes.count > codingLimit { result.tooMuch = true }
        return result
    }

    private static func apply(_ coding: Coding, to body: [UInt8], every size: Int) -> [UInt8] {
        let encoder = ContentEncoder(coding)
        var output = OutputBuffer()
        var isFine = true
        var at = 0
        while at < body.count {
            let end = min(at + size * 50, body.count)
            isFine = encoder.encode(body.span.extracting(at..<end), into: &output) && isFine
            isFine = encoder.flush(into: &output) && isFine
            at = end
        }
        isFine = encoder.finish(into: &output) && isFine
        return isFine ? output.span.copied() : []
    }
}
