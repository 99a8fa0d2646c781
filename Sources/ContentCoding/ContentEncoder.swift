public import Octets

/// Applies a coding to one body after the other.
///
/// Memory: 268 KiB for gzip and deflate, about 1 MiB for br, about 1.5 MiB for zstd.
public final class ContentEncoder {
    private enum Engine {
        case deflate(DeflateEncoder)
        case brotli(BrotliEncoder)
        case zstd(ZstdEncoder)
    }

    /// What is to happen once the bytes are taken.
    enum Step {
        case more, flush, finish
    }

    public let coding: Coding
    public let level: CodingLevel
    private let engine: Engine
    /// Whether bytes were taken that a receiver can't have yet.
    public private(set) var isPending = false
    /// Bytes taken and written for this body.
    public private(set) var inputCount = 0
    public private(set) var outputCount = 0

    static let pieceSize = 16 * 1024

    /// Bytes that an encoder of `coding` holds while a body goes through it, about.
    public static func heldCount(for coding: Coding) -> Int {
        switch coding {
        case .gzip, .deflate: 268 * 1024
        case .br: 1024 * 1024
        case .zstd: 1536 * 1024
        }
    }

    public init(_ coding: Coding, level: CodingLevel = CodingLevel()) {
        self.coding = coding
        self.level = level
        engine =
            switch coding {
            case .gzip, .deflate: .deflate(DeflateEncoder(coding, level))
            case .br: .brotli(BrotliEncoder(level))
            case .zstd: .zstd(ZstdEncoder(level))
            }
    }

    /// Makes it ready for another body.
    public func reset() {
        isPending = false
        inputCount = 0
        outputCount = 0
        switch engine {
        case .deflate(let encoder): encoder.reset()
        case .brotli(let encoder): encoder.reset()
        case .zstd(let encoder): encoder.reset()
        }
    }

    /// Takes the next bytes of the body and appends what is ready of their coded form. False when the library fails; then
    /// the body can't be completed.
    public func encode(_ input: Span<UInt8>, into output: inout OutputBuffer) -> Bool {
        guard !input.isEmpty else { return true }
        isPending = true
        return run(input, .more, &output)
    }

    /// Appends what it takes for a receiver to read all that was taken so far.
    public func flush(into output: inout OutputBuffer) -> Bool {
        guard isPending else { return true }
        isPending = false
        return run(Span(), .flush, &output)
    }

    /// Appends the end of the coded body.
    public func finish(into output: inout OutputBuffer) -> Bool {
        isPending = false
        return run(Span(), .finish, &output)
    }

    private func run(_ input: Span<UInt8>, _ step: Step, _ output: inout OutputBuffer) -> Bool {
        let before = output.count
        defer {
            inputCount += input.count
            outputCount += output.count - before
        }
        switch engine {
        case .deflate(let encoder): return encoder.run(input, step, into: &output)
        case .brotli(let encoder): return encoder.run(input, step, into: &output)
        case .zstd(let encoder): return encoder.run(input, step, into: &output)
        }
    }
}
