public import Octets

/// Undoes the codings of one body after the other.
///
/// `begin`, then the body's bytes are fed as they come, and `finish` says that they have ended. What comes out is bounded by
/// `CodingLimits`, and each call writes 64 KiB at most, so that the taker of the bytes can pause it. Whatever way the input
/// is cut, the bytes are the same.
///
/// Memory, for each coding of the body: 44 KiB for gzip and deflate, at most 16.5 MiB for br and 8.5 MiB for zstd, by the
/// window that the sender chose; two codings have 16 KiB between them besides. What is kept for the next body is 384 KiB at most.
public final class ContentDecoder {
    private enum Engine {
        case inflate(InflateDecoder)
        case brotli(BrotliDecoder)
        case zstd(ZstdDecoder)

        init(_ coding: Coding) {
            switch coding {
            case .gzip, .deflate: self = .inflate(InflateDecoder(coding))
            case .br: self = .brotli(BrotliDecoder())
            case .zstd: self = .zstd(ZstdDecoder())
            }
        }

        func heldCount(after written: Int) -> Int {
            switch self {
            case .inflate(let decoder): decoder.heldCount
            case .brotli(let decoder): decoder.heldCount(after: written)
            case .zstd(let decoder): decoder.heldCount(after: written)
            }
        }

        var isAtEnd: Bool {
            switch self {
            case .inflate(let decoder): decoder.isAtEnd
            case .brotli(let decoder): decoder.isAtEnd
            case .zstd(let decoder): decoder.isAtEnd
            }
        }

        func reset() {
            switch self {
            case .inflate(let decoder): decoder.reset()
            case .brotli(let decoder): decoder.reset()
            case .zstd(let decoder): decoder.reset()
            }
        }

        func run(_ input: Span<UInt8>, into output: inout OutputBuffer, room: Int) throws(CodingError) -> Int {
            switch self {
            case .inflate(let decoder): try decoder.run(input, into: &output, room: room)
            case .brotli(let decoder): try decoder.run(input, into: &output, room: room)
            case .zstd(let decoder): try decoder.run(input, into: &output, room: room)
            }
        }
    }

    /// One coding that is undone: its decoder, and whether that may hold more than it had room for.
    private struct Stage {
        let coding: Coding
        let engine: Engine
        var hasMore = false
        /// Bytes that came out.
        var count = 0
        /// The count at which the ratio is looked at next; `begin` sets it.
        var nextCheck = 0

        init(_ coding: Coding) {
            self.coding = coding
            engine = Engine(coding)
        }

        var heldCount: Int { engine.heldCount(after: count) }

        mutating func reset() {
            engine.reset()
            hasMore = false
            count = 0
        }
    }

    /// What the bytes that arrive go through; what stands in `second` follows it where there are two codings.
    private var first: Stage?
    private var second: Stage?
    /// What has come out of `first` and waits for `second`.
    private var between = OutputBuffer(highWatermark: ContentDecoder.betweenSize)
    /// What is wrong behind what the last call wrote: the next one tells it.
    private var fault: CodingError?
    /// What is wrong with the bytes that arrived, behind what came out of `first` and waits for `second`.
    private var outerFault: CodingError?
    private var limits = CodingLimits()
    /// The codings of the body.
    public private(set) var codings = AppliedCodings()
    /// Bytes taken so far.
    public private(set) var inputCount = 0

    /// Bytes that one call writes at most.
    public static let pieceSize = 64 * 1024
    private static let betweenSize = 16 * 1024
    /// The least room that a decoder gets, so that short inputs need no large buffer.
    private static let leastRoom = 4 * 1024

    /// A decoder that has to be told to `begin`.
    public init() {}

    /// Bytes written so far.
    public var outputCount: Int { second?.count ?? first?.count ?? 0 }

    /// Bytes that its decoders hold now. It grows with what comes out, up to the numbers above.
    public var heldCount: Int { (first?.heldCount ?? 0) + (second?.heldCount ?? 0) }

    /// Whether there may be output without more input: then feed again, nothing if there is nothing.
    public var hasMore: Bool {
        first?.hasMore == true || second?.hasMore == true || !between.isEmpty || outerFault != nil || fault != nil
    }

    /// Makes it ready for a body with `codings`, of which there is at least one.
    public func begin(_ codings: AppliedCodings, limits: CodingLimits) {
        self.limits = limits
        self.codings = codings
        inputCount = 0
        between.removeAll()
        (fault, outerFault) = (nil, nil)
        if let coding = codings.first { Self.prepare(&first, for: coding) }
        if codings.outer != nil, let coding = codings.inner {
            Self.prepare(&second, for: coding)
        } else {
            second = nil
        }
        first?.nextCheck = limits.ratioFloor + 1
        second?.nextCheck = limits.ratioFloor + 1
    }

    private static func prepare(_ stage: inout Stage?, for coding: Coding) {
        if stage?.coding == coding { stage?.reset() } else { stage = Stage(coding) }
    }

    /// Gives back what is large, once a body is over.
    public func end() {
        first?.reset()
        second = nil
        between.removeAll()
        (fault, outerFault) = (nil, nil)
    }

    /// Takes bytes of the body and appends what they stand for to `output`, at most 64 KiB. Returns the bytes used: all,
    /// unless the 64 KiB are full.
    ///
    /// Throws what is wrong with them, and what passes a limit, in a call that writes nothing: what came out of the bytes before that is
    /// returned first, `hasMore` is true, and the next call throws. So whoever reads the output on finds what is wrong there first,
    /// however the input was cut. Of br the library keeps what came out in the call that fails. After an error it must be begun anew.
    public func feed(_ input: Span<UInt8>, into output: inout OutputBuffer) throws(CodingError) -> Int {
        if let fault { throw fault }
        let start = output.count
        do throws(CodingError) {
            return try undo(input, into: &output)
        } catch {
            guard output.count > start else { throw error }
            fault = error
            return input.count
        }
    }

    private func undo(_ input: Span<UInt8>, into output: inout OutputBuffer) throws(CodingError) -> Int {
        guard second != nil else {
            return try run(&first, input, into: &output, room: Self.room(for: input.count), input: true)
        }
        var waiting = OutputBuffer()
        swap(&waiting, &between)
        defer { swap(&waiting, &between) }
        var used = 0
        let start = output.count
        while true {
            let room = Self.pieceSize - (output.count - start)
            if !waiting.isEmpty || second?.hasMore == true {
                guard room > 0 else { return used }
                let taken = try run(&second, waiting.span, into: &output, room: room, input: false)
                waiting.drop(taken)
            } else if let outerFault {
                throw outerFault
            } else if used < input.count || first?.hasMore == true {
                do throws(CodingError) {
                    used += try run(
                        &first, input.extracting(used..<input.count), into: &waiting, room: Self.betweenSize,
                        input: true)
                } catch {
                    // What came out goes through the second before.
                    outerFault = error
                    used = input.count
                }
            } else {
                return used
            }
        }
    }

    /// Says that the body has ended, when all was fed and `hasMore` is false. Throws when its coding has not.
    public func finish() throws(CodingError) {
        if let first { try finish(first) }
        if let second { try finish(second) }
    }

    private func finish(_ stage: Stage) throws(CodingError) {
        guard stage.engine.isAtEnd else { throw .malformed(stage.coding, .truncated) }
        if stage.count > limits.ratioFloor { try checkRatio(stage.count) }
    }

    /// Lets one stage work. Of the first one `input` is what came on the wire.
    private func run(
        _ stage: inout Stage?, _ bytes: Span<UInt8>, into output: inout OutputBuffer, room: Int, input: Bool
    ) throws(CodingError) -> Int {
        guard let engine = stage?.engine, var count = stage?.count else { return bytes.count }
        // One byte more than may come shows that there are more.
        let left = limits.decompressed - count
        let room = left < room ? left + 1 : room
        let before = output.count
        var used = bytes.count
        var damage: CodingError?
        do throws(CodingError) {
            used = try engine.run(bytes, into: &output, room: room)
        } catch {
            damage = error
        }
        if input { inputCount += used }
        let written = output.count - before
        count += written
        stage?.count = count
        stage?.hasMore = written == room
        guard count <= limits.decompressed else {
            output.remove(output.count - (count - limits.decompressed)..<output.count)
            throw .decompressed(limits.decompressed)
        }
        // It lies behind what came out, the byte beyond the limit as well.
        if let damage { throw damage }
        if let next = stage?.nextCheck, count >= next {
            stage?.nextCheck = count + CodingLimits.floor
            // The end of a coded body, its sum for instance, makes no output: until that has come, 64 KiB are let pass.
            try checkRatio(count - CodingLimits.floor)
        }
        return used
    }

    private func checkRatio(_ count: Int) throws(CodingError) {
        let (most, overflow) = inputCount.multipliedReportingOverflow(by: limits.ratio)
        guard overflow || count <= most else { throw .ratio(limits.ratio) }
    }

    private static func room(for count: Int) -> Int {
        min(pieceSize, max(leastRoom, count &* 8))
    }
}
