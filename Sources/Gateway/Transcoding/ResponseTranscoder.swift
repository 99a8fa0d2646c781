package import ContentCoding
package import Octets
package import Transcoding

/// Re-encodes the body of one response: undoes its content codings, converts it, and keeps the result until it is whole, so that
/// a body that can't be read becomes a 502 and never half an answer.
///
/// It has no I/O. A caller calls `begin`, `feed` with each piece of the body as it comes, `bodyEnded`, and then `continueSlice` and
/// `finish` until both say that nothing is left. Each call does one slice of work, bounded in input and in output; the caller
/// calls again in the next tick of its loop, so that other connections are served in between.
///
/// An instance serves one response after the other (`reset`) and keeps buffers of ordinary size.
package final class ResponseTranscoder {
    package private(set) var rule: ResponseRules.Rule?
    package private(set) var conversion: Conversion?
    private var output = OutputBuffer()
    private var limit = 0
    /// What goes with the head once the body is converted.
    package private(set) var changes: HeadChanges = []
    /// Bytes of the upstream's body.
    package private(set) var count = 0
    /// Whether they are one space so far, which is not converted before more comes.
    private var isOneSpace = false
    /// Undoes the body's codings; nil when it has none.
    private var decoder: ContentDecoder?
    private var decoded = OutputBuffer()
    /// Bytes as they came that wait for the next slice.
    private var input = OutputBuffer()
    /// Bytes that may still be decoded in this slice.
    private var decodedLeft = 0
    /// The second, coded copy that is being made, and how much of the body it has.
    package var coded: ResponseCoding?
    package var codedAt = 0
    /// Whether it was decided if there is one.
    package var isCodingChosen = false
    /// Bytes of a coded body, and how many there may be.
    package private(set) var codedCount = 0
    /// Bytes of the body that have come, coded or not.
    package var arrivedCount: Int { coding == nil ? count : codedCount }
    private var codedLimit = 0
    /// Whether the last error was the decoder's.
    package private(set) var hasCodingError = false
    /// What became of the fields; nil before the end.
    package private(set) var accounting: Accounting?

    package init() {}

    package var isActive: Bool { conversion != nil }
    /// Whether the body, now whole, passes as it is: it is empty, or the one space that stands for an empty one (as Rails
    /// had it), and neither is an error in any encoding.
    package var isUntouched: Bool { count == 0 || isOneSpace }

    /// Whether the upstream's body has come whole; slices of its conversion may still be due.
    package private(set) var isWhole = false
    /// Whether bytes of it wait for the next slice.
    package var hasInput: Bool { !input.isEmpty || !decoded.isEmpty || decoder?.hasMore == true }
    /// Bytes of memory that it takes, and the copies made of it.
    package var bufferedCount: Int {
        guard let conversion else { return 0 }
        return conversion.allocatedCount + conversion.outputCount + decoderCount + input.count + decoded.count
            + (coded.map { $0.output.count + ContentEncoder.heldCount(for: $0.encoder.coding) } ?? 0)
    }

    /// Bytes of input or output that one slice handles, about: 64 KiB.
    package static let sliceSize = WorkBounds.slice

    /// Begins with `conversion`, whose output may come to `limit` bytes.
    package func begin(_ conversion: Conversion, of rule: ResponseRules.Rule, changes: HeadChanges, limit: Int) {
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
    package func undo(with decoder: ContentDecoder, limit: Int) {
        self.decoder = decoder
        coding = decoder.codings.first
        codedLimit = limit
        conversion?.bodyLimit = .max
    }

    /// Whether a coded body has come.
    package var isDecoded: Bool { codedCount > 0 }

    /// The coding of the body that came, if it had one.
    package private(set) var coding: Coding?

    /// Bytes that the decoder holds.
    package var decoderCount: Int { decoder?.heldCount ?? 0 }

    /// Gives the decoder away, at the body's end.
    package func takeDecoder() -> ContentDecoder? {
        defer { decoder = nil }
        return decoder
    }

    /// Takes the next bytes of the body, and converts a slice of them. What the slice leaves is buffered (`hasInput`).
    package func feed(_ body: Span<UInt8>) throws(ConversionError) {
        if decoder != nil {
            guard body.count <= codedLimit - codedCount else { throw .limit("body", of: codedLimit, what: "the body") }
            codedCount += body.count
        }
        guard !hasInput else { return input.append(body) }
        let used = try convertSlice(body)
        input.append(body.extracting(used..<body.count))
    }

    /// Converts the next slice of what is buffered.
    package func continueSlice() throws(ConversionError) {
        if let conversion { beginSlice(conversion) }
        var bytes = OutputBuffer()
        swap(&bytes, &input)
        let used = try convertSlice(bytes.span)
        bytes.drop(used)
        swap(&bytes, &input)
    }

    /// The body is whole.
    package func bodyEnded() { isWhole = true }

    /// Converts what the slice has room for, and returns how many bytes of `body` went into it.
    private func convertSlice(_ body: Span<UInt8>) throws(ConversionError) -> Int {
        guard let decoder else { return try convert(body) }
        var at = 0
        while true {
            if !decoded.isEmpty {
                var piece = OutputBuffer()
                swap(&piece, &decoded)
                let used = try convert(piece.span)
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
    package func finishDecoding() throws(ConversionError) {
        guard let decoder, isDecoded else { return }
        do throws(CodingError) {
            try decoder.finish()
        } catch {
            hasCodingError = true
            throw ConversionError(error)
        }
    }

    /// Takes the next bytes of the body without its codings; returns how many the slice had room for.
    private func convert(_ body: Span<UInt8>) throws(ConversionError) -> Int {
        guard !body.isEmpty else { return 0 }
        if count == 0, body.count == 1, body[0] == ASCII.space {
            count = 1
            isOneSpace = true
            return 1
        }
        if isOneSpace {
            isOneSpace = false
            _ = try pass(Self.space.span)
        }
        // What can't be converted has come all the same.
        count += body.count
        let used = try pass(body)
        count -= body.count - used
        return used
    }

    private func pass(_ body: Span<UInt8>) throws(ConversionError) -> Int {
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
    package func finish() throws(ConversionError) -> Bool {
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
    package var bodyCount: Int { isUntouched ? count : conversion?.outputCount ?? 0 }

    /// What there is to send: the converted body, or the one space.
    package func withBody(_ send: (Span<UInt8>) -> Void) {
        guard let conversion, !isUntouched else { return send(isOneSpace ? Self.space.span : Span()) }
        conversion.withOutput { send($0.span) }
    }

    /// As `withBody`, for the last time: `send` may take the memory along.
    package func takeBody(_ send: (inout OutputBuffer) -> Void) {
        if let conversion, !isUntouched { return conversion.withOutput(send) }
        var space = OutputBuffer()
        if isOneSpace { space.append(ASCII.space) }
        send(&space)
    }

    /// Ends it. Returns the conversion where it may serve again.
    package func end() -> Conversion? {
        let conversion = conversion
        conversion?.swapOutput(&output)
        self.conversion = nil
        return accounting == nil ? nil : conversion
    }

    package func reset() {
        rule = nil
        conversion = nil
        changes = []
        count = 0
        isOneSpace = false
        accounting = nil
        decoder = nil
        isWhole = false
        isCodingChosen = false
        codedAt = 0
        coding = nil
        codedCount = 0
        hasCodingError = false
        decoded.removeAll()
        decoded.shrink(to: WorkBounds.keptCapacity)
        input.removeAll()
        input.shrink(to: WorkBounds.keptCapacity)
        output.removeAll()
        output.shrink(to: WorkBounds.keptCapacity)
    }

    private static let space = [ASCII.space]
}

/// How much work and memory one exchange takes at a time.
public enum WorkBounds {
    /// Bytes of input or output that one slice of work handles, about: 64 KiB.
    @inlinable public static var slice: Int { 64 * 1024 }
    /// The capacity of a buffer that an exchange keeps for the next one: 16 KiB.
    @inlinable public static var keptCapacity: Int { 16 * 1024 }
}
