internal import ContentCoding
internal import Octets
internal import Serialization

/// A response whose body is being converted. Nothing of it goes to the client before all of it is, so that a body that can't
/// be read is a 502 and never half an answer.
///
/// One stays with each exchange that has needed it, and keeps allocations of ordinary size.
final class HeldResponse {
    private(set) var rule: ResponseRules.Rule?
    private(set) var conversion: Conversion?
    private var output = OutputBuffer()
    private var limit = 0
    /// What goes with the head once the body is converted.
    private(set) var changes: HeadChanges = []
    /// Bytes of the upstream's body.
    private(set) var count = 0
    /// Whether they are one space so far, which is not fed before more comes.
    private var isOneSpace = false
    /// Undoes the body's codings; nil when it has none.
    private var decoder: ContentDecoder?
    private var decoded = OutputBuffer()
    /// Bytes of a coded body, and how many there may be.
    private(set) var codedCount = 0
    private var codedLimit = 0
    /// Whether the last error was the decoder's.
    private(set) var hasCodingError = false
    /// What became of the fields; nil before the end.
    private(set) var accounting: Accounting?

    var isActive: Bool { conversion != nil }
    /// Whether the body, now whole, passes as it is: it is empty, or the one space that stands for an empty one (as Rails
    /// had it), and neither is an error in any encoding.
    var isUntouched: Bool { count == 0 || isOneSpace }

    /// Begins with `conversion`, whose output may come to `limit` bytes.
    func begin(_ conversion: Conversion, of rule: ResponseRules.Rule, changes: HeadChanges, limit: Int) {
        self.conversion = conversion
        self.rule = rule
        self.changes = changes
        self.limit = limit
        // Full is what is beyond the limit.
        output.highWatermark = min(limit, .max - 1) + 1
        conversion.swapOutput(&output)
    }

    /// Lets `decoder` undo the body's codings. The body, as it comes, may have `limit` bytes.
    func undo(with decoder: ContentDecoder, limit: Int) {
        self.decoder = decoder
        coding = decoder.codings.first
        codedLimit = limit
        conversion?.bodyLimit = .max
    }

    /// Whether a coded body has come.
    var isDecoded: Bool { codedCount > 0 }

    /// The coding of the body that came, if it had one.
    private(set) var coding: Coding?

    /// Bytes that the decoder holds.
    var decoderCount: Int { decoder?.heldCount ?? 0 }

    /// Gives the decoder away, at the body's end.
    func takeDecoder() -> ContentDecoder? {
        defer { decoder = nil }
        return decoder
    }

    /// Takes the next bytes of the body.
    func take(_ body: Span<UInt8>) throws(ConversionError) {
        guard decoder != nil else { return try takeDecoded(body) }
        guard body.count <= codedLimit - codedCount else { throw .limit("body", of: codedLimit, what: "the body") }
        codedCount += body.count
        var at = 0
        while at < body.count || decoder?.hasMore == true { at += try decode(body.extracting(at..<body.count)) }
    }

    private func decode(_ body: Span<UInt8>) throws(ConversionError) -> Int {
        guard let decoder else { return body.count }
        let used: Int
        do throws(CodingError) {
            used = try decoder.feed(body, into: &decoded)
        } catch {
            hasCodingError = true
            throw ConversionError(error)
        }
        var piece = OutputBuffer()
        swap(&piece, &decoded)
        try takeDecoded(piece.span)
        piece.removeAll()
        swap(&piece, &decoded)
        return used
    }

    /// The body is whole: sees that its coding has ended. No body at all is none that was coded.
    func finishDecoding() throws(ConversionError) {
        guard let decoder, isDecoded else { return }
        do throws(CodingError) {
            try decoder.finish()
        } catch {
            hasCodingError = true
            throw ConversionError(error)
        }
    }

    /// Takes the next bytes of the body without its codings.
    private func takeDecoded(_ body: Span<UInt8>) throws(ConversionError) {
        guard !body.isEmpty else { return }
        if count == 0, body.count == 1, body[0] == ASCII.space {
            count = 1
            isOneSpace = true
            return
        }
        count += body.count
        if isOneSpace {
            isOneSpace = false
            try feed(Self.space.span)
        }
        try feed(body)
    }

    private func feed(_ body: Span<UInt8>) throws(ConversionError) {
        guard let conversion else { return }
        var at = 0
        while at < body.count {
            // A slice bounds what the output can grow by before the limit is looked at.
            let end = min(at + Exchange.sliceSize, body.count)
            at += try conversion.feed(body.extracting(at..<end))
            try checkLimit(conversion)
        }
    }

    /// The body is whole: makes the output whole.
    func finish() throws(ConversionError) {
        guard let conversion else { return }
        while try !conversion.finish() { try checkLimit(conversion) }
        try checkLimit(conversion)
        accounting = conversion.accounting
    }

    private func checkLimit(_ conversion: Conversion) throws(ConversionError) {
        guard conversion.outputCount <= limit else {
            throw .limit("response", of: limit, what: "the converted response")
        }
    }

    /// What there is to send: the converted body, or the one space.
    func withBody(_ send: (Span<UInt8>) -> Void) {
        guard let conversion, !isUntouched else { return send(isOneSpace ? Self.space.span : Span()) }
        conversion.withOutput { send($0.span) }
    }

    /// Ends it. Returns the conversion where it may serve again.
    func end() -> Conversion? {
        let conversion = conversion
        conversion?.swapOutput(&output)
        self.conversion = nil
        return accounting == nil ? nil : conversion
    }

    func reset() {
        rule = nil
        conversion = nil
        changes = []
        count = 0
        isOneSpace = false
        accounting = nil
        decoder = nil
        coding = nil
        codedCount = 0
        hasCodingError = false
        decoded.removeAll()
        decoded.shrink(to: Exchange.keptCapacity)
        output.removeAll()
        output.shrink(to: Exchange.keptCapacity)
    }

    private static let space = [ASCII.space]
}
