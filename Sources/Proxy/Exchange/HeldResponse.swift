internal import ContentCoding
internal import Gateway
internal import Octets
internal import Serialization

/// A response whose body is being converted. Nothing of it goes to the client before all of it is, so that a body that can't
/// be read is a 502 and never half an answer.
///
/// Its work is done in slices: what one call converts, of input and of output, is bounded, and the rest waits for the next turn of the
/// loop, so that the other connections have theirs.
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
    /// Bytes as they came that wait for their turn.
    private var input = OutputBuffer()
    /// Whose body it is, once all of it has come: the head goes out at the end. The connection may be gone by then.
    private(set) var source: UpstreamConnection?
    /// Whether that connection may serve another exchange.
    private(set) var isReusable = false
    /// Bytes that may still be decoded in this turn.
    private var decodedLeft = 0
    /// The second, coded copy that is being made, and how much of the body it has.
    var coded: ResponseCoding?
    var codedAt = 0
    /// Whether it was decided if there is one.
    var isCodingChosen = false
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

    /// Whether the upstream's body has come whole; its conversion may still have slices to go.
    var isWhole: Bool { source != nil }
    /// Whether bytes of it wait for their turn.
    var hasInput: Bool { !input.isEmpty || !decoded.isEmpty || decoder?.hasMore == true }
    /// Bytes of it that wait, and of the copies made of it.
    var heldCount: Int {
        guard let conversion else { return 0 }
        return conversion.heldCount + conversion.outputCount + decoderCount + input.count + decoded.count
            + (coded.map { $0.output.count + ContentEncoder.heldCount(for: $0.encoder.coding) } ?? 0)
    }

    /// Bytes of input or output that one slice handles, about: 64 KiB.
    static let sliceSize = Exchange.sliceSize

    /// Begins with `conversion`, whose output may come to `limit` bytes.
    func begin(_ conversion: Conversion, of rule: ResponseRules.Rule, changes: HeadChanges, limit: Int) {
        self.conversion = conversion
        self.rule = rule
        self.changes = changes
        self.limit = limit
        conversion.swapOutput(&output)
        beginSlice(conversion)
    }

    /// Gives the conversion room for one slice of output. Full is at last what is beyond the limit.
    private func beginSlice(_ conversion: Conversion) {
        decodedLeft = Self.sliceSize
        conversion.withOutput {
            $0.highWatermark = min($0.count + Self.sliceSize, min(limit, .max - 1) + 1)
        }
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

    /// Takes the next bytes of the body. What a slice leaves of them waits (`hasInput`).
    func take(_ body: Span<UInt8>) throws(ConversionError) {
        if decoder != nil {
            guard body.count <= codedLimit - codedCount else { throw .limit("body", of: codedLimit, what: "the body") }
            codedCount += body.count
        }
        guard !hasInput else { return input.append(body) }
        let used = try convertSlice(body)
        input.append(body.extracting(used..<body.count))
    }

    /// Converts a slice of what waits.
    func takeWaiting() throws(ConversionError) {
        if let conversion { beginSlice(conversion) }
        var bytes = OutputBuffer()
        swap(&bytes, &input)
        let used = try convertSlice(bytes.span)
        bytes.drop(used)
        swap(&bytes, &input)
    }

    /// The body is whole; `source` brought it, and may serve others if it `isReusable`.
    func bodyEnded(from source: UpstreamConnection, isReusable: Bool) {
        self.source = source
        self.isReusable = isReusable
    }

    /// Converts what the slice has room for, and returns how many bytes of `body` went into it.
    private func convertSlice(_ body: Span<UInt8>) throws(ConversionError) -> Int {
        guard let decoder else { return try takeDecoded(body) }
        var at = 0
        while true {
            if !decoded.isEmpty {
                var piece = OutputBuffer()
                swap(&piece, &decoded)
                let used = try takeDecoded(piece.span)
                piece.drop(used)
                swap(&piece, &decoded)
                guard decoded.isEmpty else { return at }
            }
            guard decodedLeft > 0, at < body.count || decoder.hasMore else { return at }
            do throws(CodingError) {
                at += try decoder.feed(body.extracting(at..<body.count), into: &decoded)
            } catch {
                hasCodingError = true
                throw ConversionError(error)
            }
            decodedLeft -= decoded.count
        }
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

    /// Takes the next bytes of the body without its codings; returns how many the slice had room for.
    private func takeDecoded(_ body: Span<UInt8>) throws(ConversionError) -> Int {
        guard !body.isEmpty else { return 0 }
        if count == 0, body.count == 1, body[0] == ASCII.space {
            count = 1
            isOneSpace = true
            return 1
        }
        if isOneSpace {
            isOneSpace = false
            _ = try feed(Self.space.span)
        }
        // What can't be converted has come all the same.
        count += body.count
        let used = try feed(body)
        count -= body.count - used
        return used
    }

    private func feed(_ body: Span<UInt8>) throws(ConversionError) -> Int {
        guard let conversion else { return body.count }
        var at = 0
        while at < body.count, !conversion.isFull {
            // A piece bounds what the output can grow by before the limit is looked at.
            let end = min(at + Self.sliceSize, body.count)
            at += try conversion.feed(body.extracting(at..<end))
            try checkLimit(conversion)
        }
        return at
    }

    /// The body is whole and converted: makes a slice of what is left of the output. Returns whether that is all.
    func finish() throws(ConversionError) -> Bool {
        guard let conversion, accounting == nil else { return true }
        beginSlice(conversion)
        let isOver = try conversion.finish()
        try checkLimit(conversion)
        if isOver { accounting = conversion.accounting }
        return isOver
    }

    private func checkLimit(_ conversion: Conversion) throws(ConversionError) {
        guard conversion.outputCount <= limit else {
            throw .limit("response", of: limit, what: "the converted response")
        }
    }

    /// Bytes of what there is to send.
    var bodyCount: Int { isUntouched ? count : conversion?.outputCount ?? 0 }

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
        source = nil
        isReusable = false
        isCodingChosen = false
        codedAt = 0
        coding = nil
        codedCount = 0
        hasCodingError = false
        decoded.removeAll()
        decoded.shrink(to: Exchange.keptCapacity)
        input.removeAll()
        input.shrink(to: Exchange.keptCapacity)
        output.removeAll()
        output.shrink(to: Exchange.keptCapacity)
    }

    private static let space = [ASCII.space]
}
