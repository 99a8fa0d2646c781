public import Octets

/// Reads the fields of one message, whose bytes are all there, in their order. Lengths are checked against what is there before
/// anything is read; nested messages are read by a reader of their own, so nothing recurses.
///
/// Encoding: varints of at most ten bytes; a field is a varint of its number × 8 and its wire type, and a value: a varint (0), 8 bytes
/// (1), a varint length and as many bytes (2), or 4 bytes (5). Groups (3 up to the 4 with the same number), which were given up with
/// proto2, are skipped, as by every reader of proto3.
package struct FieldReader {
    package enum Value: Hashable, Sendable {
        case number(UInt64)
        /// The place of the bytes among those that are read.
        case bytes(Range<Int>)
        /// 8 or 4 bytes, or a group, none of which a field of the service has.
        case fixed
    }

    package struct Field: Hashable, Sendable {
        package let number: Int
        package let value: Value

        /// Its bytes, where it must have some.
        package func bytes() throws(CallError) -> Range<Int> {
            guard case .bytes(let range) = value else { throw otherType }
            return range
        }

        /// Its number, where it must be one.
        package func integer() throws(CallError) -> UInt64 {
            guard case .number(let number) = value else { throw otherType }
            return number
        }

        private var otherType: CallError {
            CallError(.invalidArgument, "field \(number) has another type than it should have")
        }
    }

    private var at: Int
    private let end: Int

    /// Reads the fields in `range` of what is given to `next`.
    package init(_ range: Range<Int>) {
        at = range.lowerBound
        end = range.upperBound
    }

    /// The next field; nil at the end.
    package mutating func next(in bytes: Span<UInt8>) throws(CallError) -> Field? {
        guard at < end else { return nil }
        let tag = try Self.varint(bytes, &at, end)
        let number = try Self.number(of: tag)
        switch tag & 7 {
        case 0: return Field(number: number, value: .number(try Self.varint(bytes, &at, end)))
        case 1: try skip(8)
        case 2: return Field(number: number, value: .bytes(try skipBytes(bytes)))
        case 3: try skipGroup(number, bytes)
        case 5: try skip(4)
        default: throw Self.unknown(tag)
        }
        return Field(number: number, value: .fixed)
    }

    /// Skips what follows the beginning of a group, its end included. Groups in it are skipped without recursion.
    @inline(never)
    private mutating func skipGroup(_ number: Int, _ bytes: Span<UInt8>) throws(CallError) {
        var open = [number]
        while let innermost = open.last {
            guard at < end else { throw Self.truncated }
            let tag = try Self.varint(bytes, &at, end)
            let number = try Self.number(of: tag)
            switch tag & 7 {
            case 0: _ = try Self.varint(bytes, &at, end)
            case 1: try skip(8)
            case 2: _ = try skipBytes(bytes)
            case 3:
                guard open.count < Self.deepest else { throw CallError(.invalidArgument, "groups are nested too deep") }
                open.append(number)
            case 4:
                guard number == innermost else { throw CallError(.invalidArgument, "a group ends as another one") }
                open.removeLast()
            case 5: try skip(4)
            default: throw Self.unknown(tag)
            }
        }
    }

    /// Groups in each other at most, as libraries take by default.
    private static let deepest = 100

    /// Skips a length and as many bytes, and returns where these are.
    private mutating func skipBytes(_ bytes: Span<UInt8>) throws(CallError) -> Range<Int> {
        let count = try Self.varint(bytes, &at, end)
        guard count <= UInt64(end - at) else { throw Self.truncated }
        let start = at
        at += Int(count)
        return start..<at
    }

    private static func unknown(_ tag: UInt64) -> CallError {
        CallError(.invalidArgument, "a field has wire type \(tag & 7)")
    }

    private mutating func skip(_ count: Int) throws(CallError) {
        guard count <= end - at else { throw Self.truncated }
        at += count
    }

    /// The number in a field's tag.
    package static func number(of tag: UInt64) throws(CallError) -> Int {
        guard tag >> 3 >= 1, tag >> 3 <= 536_870_911 else { throw CallError(.invalidArgument, "a field has no number") }
        return Int(tag >> 3)
    }

    private static func varint(
        _ bytes: Span<UInt8>, _ at: inout Int, _ end: Int
    ) throws(CallError) -> UInt64 {
        var varint = Varint()
        while at < end {
            let byte = bytes[at]
            at += 1
            if let value = try varint.add(byte) { return value }
        }
        throw truncated
    }

    private static var truncated: CallError {
        CallError(.invalidArgument, "a message ends before its last field does")
    }
}

/// A varint as its bytes come.
package struct Varint: Hashable, Sendable {
    private var value: UInt64 = 0
    private var shift: UInt64 = 0

    package init() {}

    /// Takes a byte. Returns the number with its last one, and is ready for another then.
    package mutating func add(_ byte: UInt8) throws(CallError) -> UInt64? {
        // The tenth byte has room for one bit.
        guard shift < 63 || byte <= 1 else { throw CallError(.invalidArgument, "a varint has more than 64 bits") }
        value |= UInt64(byte & 0x7F) << shift
        guard byte >= 0x80 else {
            defer { self = Varint() }
            return value
        }
        shift += 7
        return nil
    }
}

/// Writes fields behind each other.
@usableFromInline
package enum FieldWriter {
    /// Bytes of `value` as a varint: seven bits in each.
    @inlinable
    package static func count(of value: Int) -> Int {
        (Int.bitWidth + 6 - (value | 1).leadingZeroBitCount) / 7
    }

    @inlinable
    package static func varint(_ value: Int, to output: inout OutputBuffer) {
        forEachByte(of: value) { output.append($0) }
    }

    /// Puts a varint behind the bytes of a word, which has room for it: seven bits of `value` take one.
    @inlinable
    @inline(__always)
    package static func varint(_ value: Int, to word: inout OutputBuffer.Word) {
        forEachByte(of: value) { word = word.followed(by: $0) }
    }

    @inlinable
    @inline(__always)
    internal static func forEachByte(of value: Int, _ body: (UInt8) -> Void) {
        // Most tags and most lengths.
        if value <= 0x7F { return body(UInt8(value)) }
        var rest = value
        while rest > 0x7F {
            body(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        body(UInt8(rest))
    }

    /// A field that is a number, a bool or an enum.
    @inlinable
    package static func number(_ field: Int, _ value: Int, to output: inout OutputBuffer) {
        varint(field << 3, to: &output)
        varint(value, to: &output)
    }

    /// A field of eight bytes: a fixed64, or the bits of a double.
    @inlinable
    package static func fixed(_ field: Int, _ value: UInt64, to output: inout OutputBuffer) {
        varint(field << 3 | 1, to: &output)
        output.append(.init(bits: value, count: 8))
    }

    /// The tag and the length of a field with `count` bytes, which follow: `count` is below 2^42, and `field` below 2^11.
    @inlinable
    package static func head(_ field: Int, _ count: Int, to output: inout OutputBuffer) {
        var word = OutputBuffer.Word()
        head(field, count, to: &word)
        output.append(word)
    }

    /// As above, behind the bytes of a word, which has room for it.
    @inlinable
    @inline(__always)
    package static func head(_ field: Int, _ count: Int, to word: inout OutputBuffer.Word) {
        // Most tags and most lengths are a byte each.
        if (field << 3 | 2) | count <= 0x7F {
            return word = word.followed(by: .init(bits: UInt64(count << 8 | field << 3 | 2), count: 2))
        }
        varint(field << 3 | 2, to: &word)
        varint(count, to: &word)
    }

    /// A field of bytes, a text, or a message that is written.
    @inlinable
    package static func bytes(_ field: Int, _ value: Span<UInt8>, to output: inout OutputBuffer) {
        head(field, value.count, to: &output)
        output.append(value)
    }

    /// Bytes that `bytes` writes for a value of `count`.
    @inlinable
    package static func fieldCount(_ field: Int, _ count: Int) -> Int {
        self.count(of: field << 3) + self.count(of: count) + count
    }
}
