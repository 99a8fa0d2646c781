package import HTTPWire
package import Octets

/// What a valid `traceparent` says (W3C Trace Context §3.2), and how one is written: version 00.
@usableFromInline
package struct TraceParent: Hashable, Sendable {
    /// The trace, as two halves of 64 bits; not 0.
    package var high: UInt64
    package var low: UInt64
    /// The span that is the parent; not 0.
    package var span: UInt64
    @usableFromInline package var flags: UInt8

    /// Whether the parent's spans are recorded.
    @inlinable package static var sampled: UInt8 { 1 }
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

    @inlinable
    @inline(__always)
    package var isSampled: Bool { flags & Self.sampled != 0 }

    /// Appends the value as a field line with its line end, 70 bytes: in nine words, as each request has one. The first byte of a
    /// word is its lowest.
    package func appendLine(to output: inout OutputBuffer) {
        let high = HexDigits.sixteen(of: high)
        let low = HexDigits.sixteen(of: low)
        // Of a trace that begins here.
        let span = self.span == self.low ? low : HexDigits.sixteen(of: span)
        let dash = UInt64(UInt8(ascii: "-"))
        // Those that are known are two bits: a zero and one digit.
        let flags = 0x3030 | UInt64(flags & Self.known) &<< 8
        let end = UInt64(ASCII.lineFeed) &<< 40 | UInt64(ASCII.carriageReturn) &<< 32 | flags &<< 16 | dash &<< 8
        output.append(
            [
                Self.name.0, Self.name.1, high.0, high.1, low.0, low.1,
                dash | span.0 &<< 8, span.0 &>> 56 | span.1 &<< 8, span.1 &>> 56 | end,
            ] as InlineArray<9, UInt64>, count: 70)
    }

    /// `tracepar` and `ent: 00-`.
    private static var name: (UInt64, UInt64) { (0x7261_7065_6361_7274, 0x2D30_3020_3A74_6E65) }

    /// Appends the trace's id: 32 bytes.
    package func appendTraceID(to output: inout OutputBuffer) {
        Self.append(high, to: &output)
        Self.append(low, to: &output)
    }

    private static func append(_ number: UInt64, to output: inout OutputBuffer) {
        let digits = HexDigits.sixteen(of: number)
        output.append(.init(bits: digits.0, count: 8))
        output.append(.init(bits: digits.1, count: 8))
    }
}

@usableFromInline
package enum HexDigits {
    /// The sixteen lower-case digits of a number as two words, the first one in the lowest byte of the first, made in one
    /// register. (`.>` would be a loop over its bytes.)
    @inlinable
    @inline(__always)
    package static func sixteen(of number: UInt64) -> (UInt64, UInt64) {
        // Bytes have no shift of their own in the register.
        let halves = (number.bigEndian &>> 4 & 0x0F0F_0F0F_0F0F_0F0F, number.bigEndian & 0x0F0F_0F0F_0F0F_0F0F)
        var digits = SIMD16<UInt8>()
        // SAFETY: all are eight bytes, of which any value is one.
        digits.evenHalf = unsafe unsafeBitCast(halves.0, to: SIMD8<UInt8>.self)
        digits.oddHalf = unsafe unsafeBitCast(halves.1, to: SIMD8<UInt8>.self)
        // What is above 9 gets bit 4 by adding 6; no bit of a byte's moves into the next one there.
        // SAFETY: as above, of sixteen bytes.
        let sums = unsafe unsafeBitCast(digits &+ 6, to: SIMD2<UInt64>.self) &>> 4 & 0x0101_0101_0101_0101
        let letters = unsafe SIMD16<UInt8>(repeating: 0) &- unsafeBitCast(sums, to: SIMD16<UInt8>.self)
        digits &+= 0x30 &+ (letters & 0x27)
        // SAFETY: as above, of sixteen bytes.
        let words = unsafe unsafeBitCast(digits, to: SIMD2<UInt64>.self)
        return (words[0].littleEndian, words[1].littleEndian)
    }
}

/// Which traces that begin here are recorded: OpenTelemetry's TraceIdRatioBased. It looks at the id alone, at its last eight bytes,
/// so services that sample more record all that those which sample less do.
@usableFromInline
package struct TraceRatio: Hashable, Sendable {
    /// Parts of a million, 0 to 1,000,000.
    @inlinable package static var whole: Int { 1_000_000 }
    @usableFromInline package let millionths: Int
    /// Ids whose last eight bytes are less are recorded; 0 also where all are.
    @usableFromInline internal let threshold: UInt64

    /// - Parameter millionths: 0 to `whole`: 10,000 is one in a hundred.
    package init(millionths: Int) {
        precondition((0...Self.whole).contains(millionths), "a ratio is at most 1")
        self.millionths = millionths
        threshold =
            millionths == Self.whole
            ? 0 : UInt64(Self.whole).dividingFullWidth((UInt64(millionths), 0)).quotient
    }

    /// - Parameter low: the last eight bytes of the trace's id.
    @inlinable
    @inline(__always)
    package func takes(_ low: UInt64) -> Bool { low < threshold || millionths == Self.whole }
}

/// Ids of traces and spans: numbers in an order that nobody can tell, never 0. SplitMix64 from a random start: each of 2^64 numbers
/// comes once.
@usableFromInline
package struct TraceIDGenerator {
    @usableFromInline internal var state: UInt64
    @usableFromInline internal let key: UInt64

    package init() { self.init(state: .random(in: .min ... .max), key: .random(in: .min ... .max)) }

    package init(state: UInt64, key: UInt64) {
        self.state = state
        self.key = key
    }

    /// A number but 0.
    @inlinable
    @inline(__always)
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

    /// The first half of a trace's id, to be taken behind its second half: two workers don't have it in common, and no two traces of a
    /// worker. What can be told of it can be told of the second half, which is what samplers look at.
    @inlinable
    @inline(__always)
    package var high: UInt64 { state ^ key }
}
