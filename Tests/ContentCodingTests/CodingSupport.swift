import ContentCoding
import Octets

/// `body` in `coding`, as our encoder writes it.
func encoded(_ body: [UInt8], _ coding: Coding, level: Int? = nil, flushEvery size: Int? = nil) -> [UInt8] {
    let encoder = ContentEncoder(coding, level: CodingLevel(level))
    var output = OutputBuffer()
    var isFine = true
    var at = 0
    while at < body.count {
        let end = min(at + (size ?? body.count), body.count)
        isFine = encoder.encode(body.span.extracting(at..<end), into: &output) && isFine
        if size != nil { isFine = encoder.flush(into: &output) && isFine }
        at = end
    }
    isFine = encoder.finish(into: &output) && isFine
    precondition(isFine, "\(coding) failed")
    return output.span.copied()
}

/// What a body became: the bytes until its end, or until the error.
struct Decoded: Equatable {
    var bytes: [UInt8] = []
    var error: CodingError?
}

/// Feeds `body` to `decoder` in slices of `size` bytes, and takes the output after every call.
func decoded(
    _ body: [UInt8], _ codings: AppliedCodings, every size: Int = .max, limits: CodingLimits = CodingLimits(),
    with decoder: ContentDecoder = ContentDecoder()
) -> Decoded {
    decoder.begin(codings, limits: limits)
    var result = Decoded()
    var output = OutputBuffer()
    do throws(CodingError) {
        var at = 0
        while at < body.count || decoder.hasMore {
            let end = size >= body.count - at ? body.count : at + size
            var from = at
            repeat {
                from += try decoder.feed(body.span.extracting(from..<end), into: &output)
                precondition(output.count <= ContentDecoder.pieceSize, "a piece of \(output.count) bytes")
                result.bytes += output.span.copied()
                output.removeAll()
            } while from < end || decoder.hasMore
            at = end
        }
        try decoder.finish()
    } catch {
        precondition(output.isEmpty, "a call that throws wrote \(output.count) bytes")
        result.error = error
    }
    return result
}

func decoded(_ body: [UInt8], _ coding: Coding, every size: Int = .max, limits: CodingLimits = CodingLimits())
    -> Decoded
{
    decoded(body, AppliedCodings(coding), every: size, limits: limits)
}

/// A body to which `inner` was applied, and then `outer`.
func pair(_ inner: Coding, _ outer: Coding) -> AppliedCodings {
    var codings = AppliedCodings(inner)
    precondition(codings.append(outer))
    return codings
}

/// Bytes that compress a little, the same in every run.
func text(_ count: Int) -> [UInt8] {
    var state: UInt64 = 42
    return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(ascii: "a") + UInt8(state >> 60)
    }
}

extension Span<UInt8> {
    func copied() -> [UInt8] {
        var bytes: [UInt8] = []
        for index in indices { bytes.append(self[index]) }
        return bytes
    }
}
