internal import Octets

extension Multipart {
    /// Where content may stay in the input that it came in, instead of being copied to the output.
    @safe
    internal struct Passage {
        /// Copying less costs less than another piece in a write. 16 KiB.
        static let least = 16 * 1024

        /// The input of the call that is under way.
        private var start: UnsafeRawPointer?
        private var count = 0
        /// What was left in it.
        private(set) var taken = 0..<0

        var isTaken: Bool { !taken.isEmpty }

        /// The input of a call begins; it stays until `close`.
        mutating func open(_ input: Span<UInt8>) {
            unsafe start = input.withUnsafeBufferPointer { unsafe UnsafeRawPointer($0.baseAddress) }
            count = input.count
        }

        /// The call is over. Returns what of its input was left there.
        mutating func close() -> Range<Int> {
            let taken = taken
            self = Self()
            return taken
        }

        /// Leaves `piece` where it is, if that is in the input and worth it.
        mutating func take(_ piece: Span<UInt8>) -> Bool {
            guard piece.count >= Self.least, let start = unsafe start else { return false }
            let address = unsafe piece.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
            // A piece of other memory is far off, on either side.
            let offset = Int(bitPattern: address &- UInt(bitPattern: start))
            guard offset >= 0, offset <= count - piece.count else { return false }
            taken = offset..<offset + piece.count
            return true
        }

        /// Copies to `output` what was left in the input, which isn't the last of this call's output after all.
        mutating func copy(to output: inout OutputBuffer) {
            guard let start = unsafe start else { return }
            // SAFETY: a part of the input of the call that is under way.
            let bytes = unsafe UnsafeBufferPointer(
                start: start.assumingMemoryBound(to: UInt8.self) + taken.lowerBound, count: taken.count)
            unsafe output.append(bytes.span)
            taken = 0..<0
        }
    }
}

extension Multipart.Encoder {
    /// Lets content stay in `input` until `endPassing`. What is left there stands behind the output; the encoder is full then.
    internal mutating func beginPassing(_ input: Span<UInt8>) { passage.open(input) }

    /// Returns what of the input was left there.
    internal mutating func endPassing() -> Range<Int> { passage.close() }

    internal mutating func copyPassed() { passage.copy(to: &output) }
}
