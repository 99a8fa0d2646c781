package import HTTPWire
package import Octets

/// What a valid `traceparent` says (W3C Trace Context §3.2), and how one is written: version 00.
package struct TraceParent: Hashable, Sendable {
    /// The trace, as two halves of 64 bits; not 0.
    package var high: UInt64
    package var low: UInt64
    /// The span that is the parent; not 0.
    package var span: UInt64
    package var flags: UInt8

    /// Whether the parent's spans are recorded.
    package static let sampled: UInt8 = 1
    /// Flags that are known and so passed on: `sampled`, and that the trace's low bits are random (level 2, §3.2.2.5).
    private static let known: UInt8 = 3

    package init(high: UInt64, low: UInt64, span: UInt64, flags: UInt8) {
        self.high = high
        self.low = low
        self.span = span
        self.flags = flags
    }

    /// That of a head; nil where it has none, several, or an invalid one.
    package init?(of head: borrowing MessageHead) {
        guard let line = TraceContext.traceID(of: head)?.line else { return nil }
        self.init(valid: head.value(line))
    }

    /// The parent that a field's value is; nil where it is invalid.
    package init?(parsing value: Span<UInt8>) {
        guard TraceContext.isValid(value) else { return nil }
        self.init(valid: value)
    }

    private init(valid value: Span<UInt8>) {
        self.init(
            high: Self.number(value.extracting(3..<19)), low: Self.number(value.extracting(19..<35)),
            span: Self.number(value.extracting(36..<52)),
            flags: UInt8(Self.number(value.extracting(53..<55))) & Self.known)
    }

    /// The number that at most 16 lower-case hexadecimal digits are.
    private static func number(_ digits: Span<UInt8>) -> UInt64 {
        var number: UInt64 = 0
        for index in digits.indices {
            let digit = digits[index]
            number = number << 4 | UInt64(digit <= UInt8(ascii: "9") ? digit & 0xF : digit - UInt8(ascii: "a") + 10)
        }
        return number
    }

    package var isSampled: Bool { flags & Self.sampled != 0 }

    /// The value as a field line with its line end, 70 bytes: made in one place, and appended in one piece, as each request has one.
    package var line: InlineArray<70, UInt8> {
        var line = Self.template
        let parent = span
        var lineSpan = line.mutableSpan
        // SAFETY: any byte is one of the array's elements.
        var bytes = unsafe lineSpan.mutableBytes
        Self.put(high, at: 16, in: &bytes)
        Self.put(low, at: 32, in: &bytes)
        Self.put(parent, at: 49, in: &bytes)
        let digits = HexDigits.eight(of: UInt32(flags)) >> 48
        bytes.storeBytes(of: UInt16(truncatingIfNeeded: digits).littleEndian, toByteOffset: 66, as: UInt16.self)
        return line
    }

    /// Writes sixteen digits.
    @inline(__always)
    private static func put(_ number: UInt64, at offset: Int, in bytes: inout MutableRawSpan) {
        let high = HexDigits.eight(of: UInt32(truncatingIfNeeded: number >> 32))
        let low = HexDigits.eight(of: UInt32(truncatingIfNeeded: number))
        bytes.storeBytes(of: high.littleEndian, toByteOffset: offset, as: UInt64.self)
        bytes.storeBytes(of: low.littleEndian, toByteOffset: offset + 8, as: UInt64.self)
    }

    private static let template: InlineArray<70, UInt8> = {
        var line = InlineArray<70, UInt8>(repeating: UInt8(ascii: "-"))
        for (index, byte) in "traceparent: 00-".utf8.enumerated() { line[index] = byte }
        line[68] = ASCII.carriageReturn
        line[69] = ASCII.lineFeed
        return line
    }()

    /// Appends the trace's id: 32 bytes.
    package func appendTraceID(to output: inout OutputBuffer) {
        Self.append(high, to: &output)
        Self.append(low, to: &output)
    }

    private static func append(_ number: UInt64, to output: inout OutputBuffer) {
        output.append(.init(bits: HexDigits.eight(of: UInt32(truncatingIfNeeded: number >> 32)), count: 8))
        output.append(.init(bits: HexDigits.eight(of: UInt32(truncatingIfNeeded: number)), count: 8))
    }
}

package enum HexDigits {
    /// The eight lower-case digits of a number, the first one in the lowest byte: the four bits of each move to a byte of their own.
    @inlinable
    package static func eight(of number: UInt32) -> UInt64 {
        var word = UInt64(number.byteSwapped)
        word = (word | word &<< 16) & 0x0000_FFFF_0000_FFFF
        word = (word | word &<< 8) & 0x00FF_00FF_00FF_00FF
        word = (word &>> 4 | word &<< 8) & 0x0F0F_0F0F_0F0F_0F0F
        // What is above 9 gets bit 4 by adding 6; from there it is 39 more to the letters.
        let letters = (word &+ 0x0606_0606_0606_0606) &>> 4 & 0x0101_0101_0101_0101
        return word &+ 0x3030_3030_3030_3030 &+ letters &* 0x27
    }
}

/// Which traces that begin here are recorded: OpenTelemetry's TraceIdRatioBased. It looks at the id alone, at its last eight bytes,
/// so services that sample more record all that those which sample less do.
package struct TraceRatio: Hashable, Sendable {
    /// Parts of a million, 0 to 1,000,000.
    package static let whole = 1_000_000
    package let millionths: Int
    /// Ids whose last eight bytes are less are recorded; 0 also where all are.
    private let threshold: UInt64

    /// - Parameter millionths: 0 to `whole`: 10,000 is one in a hundred.
    package init(millionths: Int) {
        precondition((0...Self.whole).contains(millionths), "a ratio is at most 1")
        self.millionths = millionths
        threshold =
            millionths == Self.whole
            ? 0 : UInt64(Self.whole).dividingFullWidth((UInt64(millionths), 0)).quotient
    }

    /// - Parameter low: the last eight bytes of the trace's id.
    package func takes(_ low: UInt64) -> Bool { low < threshold || millionths == Self.whole }
}

/// Ids of traces and spans: numbers in an order that nobody can tell, never 0. SplitMix64 from a random start: each of 2^64 numbers
/// comes once.
package struct TraceIDGenerator {
    private var state: UInt64
    private let key: UInt64

    package init() { self.init(state: .random(in: .min ... .max), key: .random(in: .min ... .max)) }

    package init(state: UInt64, key: UInt64) {
        self.state = state
        self.key = key
    }

    /// A number but 0.
    package mutating func next() -> UInt64 {
        while true {
            state &+= 0x9E37_79B9_7F4A_7C15
            var word = state
            word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
            word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
            word ^= word >> 31
            if word != 0 { return word }
        }
    }

    /// The first half of a trace's id, which two workers don't have in common.
    package mutating func nextHigh() -> UInt64 { next() ^ key }
}
