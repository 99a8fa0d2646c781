public import Octets

/// One body on its way from one encoding to another.
///
/// `make` picks the lane; then the input is fed as it arrives, output is taken whenever there is some, and `finish` says
/// that the input has ended. Whatever way the input is cut and the output is taken, the bytes are the same.
///
/// After an error the conversion is over: it throws the same error again, and what it has written lacks its end, so nobody
/// can take it for a whole body.
public class Conversion {
    private enum Stage {
        /// Taking input; goes to `ending` and `failed`.
        case reading
        /// The input has ended and output is left; goes to `done` and `failed`.
        case ending
        case done
        case failed(ConversionError)
    }

    internal let plan: ConversionPlan
    /// The encoding of the input.
    public let inputEncoding: BodyEncoding
    internal private(set) var sources: [[UInt8]]
    private var stage = Stage.reading
    /// The Content-Type of the last body that was begun with `restart`.
    private var acceptedType = ByteStore()
    private var hasAccepted = false
    /// Bytes that this body may have: `limits.body`, unless somebody counts what arrives before it gets here. `restart` sets
    /// it back.
    public final var bodyLimit: Int
    /// Bytes taken so far.
    public private(set) var consumedCount = 0

    internal init(plan: ConversionPlan, inputEncoding: BodyEncoding, sources: [[UInt8]]) {
        self.plan = plan
        self.inputEncoding = inputEncoding
        self.sources = sources
        bodyLimit = plan.limits.body
    }

    // MARK: For everybody

    /// Takes the next bytes of the input and returns how many it consumed: all, unless the output is full. The caller then
    /// takes output and feeds the rest again.
    ///
    /// Throws what is wrong with the input, and `limit_body` beyond `limits.body` bytes.
    public final func feed(_ input: Span<UInt8>) throws(ConversionError) -> Int {
        guard try takes(input.count) else { return 0 }
        do throws(ConversionError) {
            let count = try decode(input)
            consumedCount += count
            return count
        } catch {
            stage = .failed(error)
            throw error
        }
    }

    /// The same, but long content that passes unchanged may be left where it is: behind the bytes that wait, the output then
    /// has those of `input` in `passed`, which lie in what was consumed. The caller takes both before anything else. Where
    /// there is nothing of that kind, `passed` is empty.
    ///
    /// Only from multipart to multipart is content left in the input, in pieces from 16 KiB on.
    public final func feed(_ input: Span<UInt8>, passing passed: inout Range<Int>) throws(ConversionError) -> Int {
        passed = 0..<0
        guard try takes(input.count) else { return 0 }
        do throws(ConversionError) {
            let count = try decode(input, passing: &passed)
            consumedCount += count
            return count
        } catch {
            passed = 0..<0
            stage = .failed(error)
            throw error
        }
    }

    /// Whether so many bytes of input are taken.
    private final func takes(_ count: Int) throws(ConversionError) -> Bool {
        switch stage {
        case .failed(let error): throw error
        case .reading: break
        case .ending, .done: return false
        }
        guard count <= bodyLimit - consumedCount else {
            let error = ConversionError.limit("body", of: bodyLimit, what: "the body", offset: bodyLimit)
            stage = .failed(error)
            throw error
        }
        return true
    }

    /// Says that the input has ended. Returns true when the output is complete; false when it is full, and then output is
    /// to be taken and `finish` called again.
    ///
    /// Throws when the input is incomplete, and what can be seen only at its end.
    public final func finish() throws(ConversionError) -> Bool {
        switch stage {
        case .failed(let error): throw error
        case .reading: stage = .ending
        case .ending: break
        case .done: return true
        }
        do throws(ConversionError) {
            guard try end() else { return false }
            stage = .done
            return true
        } catch {
            stage = .failed(error)
            throw error
        }
    }

    /// Makes the conversion as new for another body of the same plan and the same input encoding, with its allocations
    /// kept. Output that nobody took is gone.
    ///
    /// Throws as `make` does, and `unsupported_media_type` for another encoding than this conversion's.
    public final func restart(contentType: Span<UInt8>, sources: [[UInt8]]) throws(ConversionError) {
        // Most bodies of a route have the same type, letter by letter.
        if !hasAccepted || !contentType.isEqual(to: acceptedType.span) {
            guard try plan.inputEncoding(for: contentType) == inputEncoding else {
                throw ConversionPlan.unsupported("the body is not \(inputEncoding.mediaType)")
            }
            acceptedType.removeAll()
            acceptedType.append(contentsOf: contentType)
            hasAccepted = true
        }
        self.sources = sources
        consumedCount = 0
        bodyLimit = plan.limits.body
        stage = .reading
        do throws(ConversionError) {
            try reset(contentType: contentType)
        } catch {
            stage = .failed(error)
            throw error
        }
    }

    /// Calls `body` with the output, to take bytes from it.
    public final func withOutput<Result>(_ body: (inout OutputBuffer) -> Result) -> Result {
        var output = OutputBuffer()
        swapOutput(&output)
        defer { swapOutput(&output) }
        return body(&output)
    }

    /// The encoding of the output; nil while that isn't known, see `contentType`.
    public final var outputEncoding: BodyEncoding? {
        guard let plain = plan.outputWithoutFiles else { return plan.output }
        guard let first = contentType.first else { return nil }
        return first == UInt8(ascii: "m") ? .multipart : plain
    }

    // MARK: For lanes

    /// The Content-Type of the output, with its boundary where there is one. Where the plan's output is `auto`, it is known
    /// when there is output, or `finish` has returned true, and empty before.
    public var contentType: [UInt8] { laneIsMissing() }
    /// What became of the fields and files so far.
    public var accounting: Accounting { laneIsMissing() }
    /// Bytes that wait to be taken.
    public var outputCount: Int { laneIsMissing() }
    /// Bytes that are held apart from the output: a tree and what is to become one. What a tree counts is near to what it
    /// takes of memory. 0 for conversions that stream.
    public var heldCount: Int { 0 }
    /// Whether output should be taken before more input is fed.
    public var isFull: Bool { laneIsMissing() }
    /// Exchanges the output buffer, with what waits in it, for another one.
    public func swapOutput(_ buffer: inout OutputBuffer) { laneIsMissing() }

    internal func decode(_ input: Span<UInt8>) throws(ConversionError) -> Int { laneIsMissing() }
    internal func decode(_ input: Span<UInt8>, passing passed: inout Range<Int>) throws(ConversionError) -> Int {
        try decode(input)
    }
    internal func end() throws(ConversionError) -> Bool { laneIsMissing() }
    internal func reset(contentType: Span<UInt8>) throws(ConversionError) { laneIsMissing() }

    private func laneIsMissing() -> Never { preconditionFailure("only lanes are made") }
}
