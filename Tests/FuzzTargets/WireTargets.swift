internal import HTTPWire
internal import Octets

/// What decides where a message ends: heads, framing, bodies, chunks, trailers.
extension FuzzTarget {
    static var wire: [FuzzTarget] {
        [
            FuzzTarget("http-request", corpus: "http-request") { variant, bytes in
                messages(variant, bytes, .requests)
            },
            FuzzTarget("http-response", corpus: "http-response") { variant, bytes in
                messages(variant, bytes, .responses(toHead: variant.bit))
            },
            FuzzTarget("http-chunked", corpus: "http-chunked") { variant, bytes in chunks(variant, bytes) },
        ]
    }

    /// A connection gives the same messages or the same error however it is cut; no head is accepted that could be read in
    /// two ways or passes a limit; and each whole message, written anew for the next hop, is read there as the same one.
    private static func messages(_ variant: Variant, _ bytes: [UInt8], _ side: WireConnection.Side) -> String? {
        let limits = wireLimits(variant)
        let whole = WireConnection.read(bytes, as: side, limits: limits, every: .max)
        if !whole.violations.isEmpty { return "\(whole.violations)" }
        for (size, most) in [(variant.size, Int.max), (variant.size, 3), (Int.max, 1)] {
            let cut = WireConnection.read(bytes, as: side, limits: limits, every: size, taking: most)
            if !cut.violations.isEmpty { return "cut: \(cut.violations)" }
            if !isSame(cut.transcript, whole.transcript) { return "\(whole.transcript), cut: \(cut.transcript)" }
        }
        for message in whole.transcript.messages where message.isWhole {
            guard let written = message.written(every: variant.size * 3) else { return "an encoder refused \(message)" }
            var limits = WireLimits()
            limits.body = message.body.count
            let again = WireConnection.read(written, as: side, limits: limits, every: .max)
            guard again.violations.isEmpty, again.transcript.error == nil, again.transcript.rest == 0,
                again.transcript.messages.count == 1, message.isSame(to: again.transcript.messages[0])
            else { return "\(message) is read by the next hop as \(again)" }
        }
        return nil
    }

    /// A body until close that passes its limit ends within the slice that did, so how much of it came before isn't compared.
    private static func isSame(_ one: WireConnection.Transcript, _ other: WireConnection.Transcript) -> Bool {
        var one = one
        var other = other
        if one.error != nil, one.messages.count == other.messages.count, one.messages.last?.framing == .untilClose {
            let last = one.messages.count - 1
            one.messages[last].body = []
            other.messages[last].body = []
            one.rest = 0
            other.rest = 0
        }
        // What came behind an error was never read.
        if one.error != nil, other.error != nil {
            one.rest = 0
            other.rest = 0
        }
        return one == other
    }

    /// The chunk reader on its own, with `keepsTrailers`: no byte behind the end is taken, and what was read can be written.
    private static func chunks(_ variant: Variant, _ bytes: [UInt8]) -> String? {
        let limits = wireLimits(variant)
        let whole = ReadChunks(bytes, limits, every: .max, taking: .max)
        for most in [1, Int.max] {
            let cut = ReadChunks(bytes, limits, every: variant.size, taking: most)
            if cut != whole { return "\(whole), cut: \(cut)" }
        }
        if whole.body.count > limits.body { return "a body of \(whole.body.count) bytes" }
        guard whole.isWhole else { return nil }
        // Whatever follows belongs to the next message.
        let more = ReadChunks(Array(bytes[..<whole.consumed]) + [UInt8(ascii: "0")], limits, every: .max, taking: .max)
        if more != whole { return "\(whole), with another end: \(more)" }
        var output = OutputBuffer()
        var encoder = BodyEncoder(framing: .chunked)
        do throws(WireError) {
            try encoder.begin(whole.body.count, into: &output)
            output.append(whole.body.span)
            try encoder.finish(into: &output) { $0.append(whole.trailers.span) }
        } catch {
            return "\(error)"
        }
        let again = ReadChunks(output.span.copied(), WireLimits(), every: variant.size, taking: .max)
        let isSame = again.isWhole && again.body == whole.body && again.trailers == whole.trailers
        return isSame && again.consumed == output.count ? nil : "\(whole) is read again as \(again)"
    }

    /// The defaults, or limits so low that a fuzzer meets them.
    private static func wireLimits(_ variant: Variant) -> WireLimits {
        var limits = WireLimits()
        limits.body = 4096
        guard variant.byte & 0x40 != 0 else { return limits }
        limits.requestLine = 40
        limits.fieldLine = 50
        limits.head = 200
        limits.fieldCount = 5
        limits.body = 30
        limits.chunkExtensionLine = 12
        limits.chunkExtensions = 20
        limits.chunkOverhead = 30
        limits.trailerBytes = 40
        limits.trailerCount = 2
        limits.interimCount = 2
        limits.interimBytes = 120
        return limits
    }
}

/// A chunked body as it was read.
private struct ReadChunks: Equatable {
    var body: [UInt8] = []
    var trailers: [UInt8] = []
    var trailerCount = 0
    /// Bytes up to the end of the body, or of the input; 0 after an error, which has its own place.
    var consumed = 0
    var isWhole = false
    var error: WireError?

    init(_ bytes: [UInt8], _ limits: WireLimits, every size: Int, taking most: Int) {
        var decoder = BodyDecoder(framing: .chunked, limits: limits)
        decoder.keepsTrailers = true
        do throws(WireError) {
            var arrived = 0
            while arrived < bytes.count, !decoder.isComplete {
                arrived = size >= bytes.count - arrived ? bytes.count : arrived + size
                while !decoder.isComplete {
                    let step = try decoder.next(bytes.span.extracting(consumed..<arrived))
                    let count = min(step.available, most)
                    let start = consumed + step.skipped
                    body += bytes[start..<start + count]
                    decoder.took(count)
                    consumed = start + count
                    if step.skipped + count == 0 { break }
                }
            }
        } catch {
            self.error = error
            consumed = 0
        }
        isWhole = decoder.isComplete
        trailers = decoder.trailers.written
        trailerCount = decoder.trailerCount
    }
}
