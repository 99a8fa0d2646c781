/// Scans and comparisons for names and values of header fields: HTTP/1.1 heads, trailers, the heads of multipart parts.
extension Scan {
    /// The first index at or after `start` whose byte may not stand in a field value: a control other than HTAB, or DEL
    /// (RFC 9110 §5.5). The count when there is none. A CR or LF is such a byte, so this also finds where a line ends.
    @inlinable
    public static func firstControl(in bytes: Span<UInt8>, from start: Int) -> Int {
        let end = bytes.count
        guard start < end else { return end }
        // SAFETY: sixteen or eight bytes are loaded only while as many are left, single bytes only while at < count.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            var at = start
            let space = SIMD16<UInt8>(repeating: 0x20)
            let tab = SIMD16<UInt8>(repeating: 0x09)
            let delete = SIMD16<UInt8>(repeating: 0x7F)
            while at &+ 16 <= end {
                let block = unsafe raw.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self)
                let stops = ((block .< space) .& (block .!= tab)) .| (block .== delete)
                let marks = unsafe unsafeBitCast(stops, to: SIMD2<UInt64>.self)
                if marks[0] != 0 { return at &+ marks[0].trailingZeroBitCount / 8 }
                if marks[1] != 0 { return at &+ 8 &+ marks[1].trailingZeroBitCount / 8 }
                at &+= 16
            }
            while at &+ 8 <= end {
                let marks = unsafe marksOfControls(raw.loadUnaligned(fromByteOffset: at, as: UInt64.self))
                if marks == 0 {
                    at &+= 8
                    continue
                }
                at &+= marks.trailingZeroBitCount / 8
                if unsafe raw[at] != ASCII.tab { return at }
                at &+= 1
            }
            while at < end {
                let byte = unsafe raw[at]
                if byte < 0x20 && byte != ASCII.tab || byte == 0x7F { return at }
                at &+= 1
            }
            return end
        }
    }

    /// Whether `firstControl` finds one.
    @inlinable
    @inline(__always)
    public static func holdsControl(_ bytes: Span<UInt8>) -> Bool {
        if bytes.count <= 16 {
            // Two words cover a short value. A tab has a mark of its own, so only a mark is worth a closer look.
            let words = edges(of: bytes)
            if marksOfControls(words.0) | marksOfControls(words.1) == 0 { return false }
        }
        return firstControl(in: bytes, from: 0) < bytes.count
    }

    /// A byte's high bit is set where it is below 0x20, or equal to 0x7F. A borrow can only reach a byte above a marked one, so
    /// the lowest mark is exact.
    @inlinable
    @inline(__always)
    internal static func marksOfControls(_ word: UInt64) -> UInt64 {
        let deletes = word ^ 0x7F7F_7F7F_7F7F_7F7F
        return ((word &- 0x2020_2020_2020_2020) & ~word | (deletes &- 0x0101_0101_0101_0101) & ~deletes)
            & 0x8080_8080_8080_8080
    }

    /// The first index at or after `start` whose byte is neither a letter nor a digit, hyphen or dot, or a byte so near to the
    /// end that it was not looked at. Names of fields and hosts have nothing else as a rule.
    @inlinable
    public static func endOfPlainName(in bytes: Span<UInt8>, from start: Int) -> Int {
        let end = bytes.count
        // SAFETY: sixteen or eight bytes are loaded only while as many are left.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            var at = start
            let (bit5, a, zero) = (
                SIMD16<UInt8>(repeating: 0x20), SIMD16<UInt8>(repeating: 0x61), SIMD16<UInt8>(repeating: 0x30)
            )
            let (letterCount, digitCount) = (SIMD16<UInt8>(repeating: 26), SIMD16<UInt8>(repeating: 10))
            let (hyphen, dot) = (SIMD16<UInt8>(repeating: 0x2D), SIMD16<UInt8>(repeating: 0x2E))
            while at &+ 16 <= end {
                let block = unsafe raw.loadUnaligned(fromByteOffset: at, as: SIMD16<UInt8>.self)
                let letters = ((block | bit5) &- a) .< letterCount
                let digits = (block &- zero) .< digitCount
                let plain = letters .| digits .| (block .== hyphen) .| (block .== dot)
                let marks = unsafe unsafeBitCast(plain, to: SIMD2<UInt64>.self)
                if marks[0] != .max { return at &+ (~marks[0]).trailingZeroBitCount / 8 }
                if marks[1] != .max { return at &+ 8 &+ (~marks[1]).trailingZeroBitCount / 8 }
                at &+= 16
            }
            while at &+ 8 <= end {
                let word = unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                // Seven bits and a sum that sets the eighth from a bound on: two such sums differ between two bounds.
                let low = word & 0x7F7F_7F7F_7F7F_7F7F
                let folded = low | 0x2020_2020_2020_2020
                let letters = (folded &+ 0x1F1F_1F1F_1F1F_1F1F) ^ (folded &+ 0x0505_0505_0505_0505)
                let digits = (low &+ 0x5050_5050_5050_5050) ^ (low &+ 0x4646_4646_4646_4646)
                let others = (low &+ 0x5353_5353_5353_5353) ^ (low &+ 0x5151_5151_5151_5151)
                let marks = (~(letters | digits | others) | word) & 0x8080_8080_8080_8080
                if marks != 0 { return at &+ marks.trailingZeroBitCount / 8 }
                at &+= 8
            }
            return at
        }
    }

    /// Whether one of the bytes is an upper-case ASCII letter.
    @inlinable
    public static func holdsUppercase(_ bytes: Span<UInt8>) -> Bool {
        let end = bytes.count
        // SAFETY: eight bytes are loaded only while at + 8 <= count, single ones only while at < count.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            var at = 0
            var found: UInt64 = 0
            while at &+ 8 <= end {
                let word = unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                // Seven bits and a sum that sets the eighth from a bound on: the sums differ between both bounds.
                let low = word & 0x7F7F_7F7F_7F7F_7F7F
                found |= ((low &+ 0x3F3F_3F3F_3F3F_3F3F) ^ (low &+ 0x2525_2525_2525_2525)) & ~word
                at &+= 8
            }
            if found & 0x8080_8080_8080_8080 != 0 { return true }
            while at < end {
                if unsafe raw[at] &- 0x41 < 26 { return true }
                at &+= 1
            }
            return false
        }
    }

    /// The first index at or after `start` whose byte can't be part of a request target, or a byte so near to the end that
    /// it was not looked at: a space, a control, DEL, a byte above it, or one of `"#<>\`. `%` and `?` are passed on demand only.
    @inlinable
    @inline(__always)
    public static func endOfPlainTarget(in bytes: Span<UInt8>, from start: Int, passesMarks: Bool) -> Int {
        let end = bytes.count
        let ones: UInt64 = 0x0101_0101_0101_0101
        let sevens = ones &* 0x7F
        // SAFETY: eight bytes are loaded only while at + 8 <= count.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            let raw = UnsafeRawBufferPointer(buffer)
            var at = start
            while at &+ 8 <= end {
                let word = unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                // Sums of seven bits that set the eighth: from 0x21 on, for DEL, and for what differs from a byte.
                let low = word & sevens
                var plain = (low &+ ones &* 0x5F) & ~(low &+ ones)
                plain &= ((low ^ ones &* 0x22) & (ones &* 0x7E)) &+ sevens  // " and #
                plain &= ((low ^ ones &* 0x3C) & (ones &* 0x7D)) &+ sevens  // < and >
                plain &= (low ^ ones &* 0x5C) &+ sevens
                if !passesMarks {
                    plain &= (low ^ ones &* UInt64(UInt8(ascii: "%"))) &+ sevens
                    plain &= (low ^ ones &* UInt64(UInt8(ascii: "?"))) &+ sevens
                }
                let marks = (~plain | word) & (ones &* 0x80)
                if marks != 0 { return at &+ marks.trailingZeroBitCount / 8 }
                at &+= 8
            }
            return at
        }
    }

    /// The first index at or after `start` whose byte is not a token byte (RFC 9110 §5.6.2), or the count.
    @inlinable
    public static func endOfToken(in bytes: Span<UInt8>, from start: Int) -> Int {
        let end = bytes.count
        guard start < end else { return end }
        // SAFETY: bytes are read only while at < count.
        return unsafe bytes.withUnsafeBufferPointer { buffer in
            var at = endOfPlainName(in: bytes, from: start)
            while at < end, unsafe ASCII.isTokenByte(buffer[at]) { at &+= 1 }
            return at
        }
    }

    /// The first index at or after `start` that holds neither a space nor a tab, or the count.
    @inlinable
    public static func endOfBlanks(in bytes: Span<UInt8>, from start: Int) -> Int {
        var at = start
        while at < bytes.count, bytes[at] == ASCII.space || bytes[at] == ASCII.tab { at &+= 1 }
        return at
    }
}

extension ASCII {
    /// The question of `isToken`, as two constant words and no branch on which of them.
    @inlinable
    internal static func isTokenByte(_ byte: UInt8) -> Bool {
        let word: UInt64 = byte & 0x40 == 0 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return (word >> UInt64(byte & 63)) & UInt64(1 &- byte >> 7) != 0
    }
}

extension Span where Element == UInt8 {
    /// Whether the bytes are the field name or other word `text`, where letters match in either case.
    ///
    /// Both must consist of token bytes, and `text` of letters, digits and hyphens only: the comparison sets bit 5 of every
    /// byte, which maps no other token byte onto one of those.
    @inlinable
    @inline(__always)
    public func isSameWord(as text: StaticString) -> Bool {
        let length = count
        guard length == text.utf8CodeUnitCount else { return false }
        // SAFETY: both hold `length` bytes. Words that may overlap cover from one word's size to twice that.
        return unsafe withUnsafeBufferPointer { buffer in
            let left = UnsafeRawBufferPointer(buffer)
            let right = unsafe UnsafeRawBufferPointer(start: text.utf8Start, count: length)
            guard length >= 8 else {
                for index in 0..<length where unsafe (left[index] ^ right[index]) & ~0x20 != 0 { return false }
                return true
            }
            var difference: UInt64 = 0
            var at = 0
            while at < length &- 8 {
                unsafe difference |=
                    left.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                    ^ right.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                at &+= 8
            }
            unsafe difference |=
                left.loadUnaligned(fromByteOffset: length &- 8, as: UInt64.self)
                ^ right.loadUnaligned(fromByteOffset: length &- 8, as: UInt64.self)
            return difference & ~0x2020_2020_2020_2020 == 0
        }
    }

    /// Whether both hold the same bytes, where ASCII letters match in either case.
    @inlinable
    public func isEqualIgnoringCase(to other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        for index in indices where ASCII.lowercased(self[index]) != ASCII.lowercased(other[index]) { return false }
        return true
    }
    /// The bytes without the blanks at both ends: spaces and tabs, the optional white space of RFC 9110 §5.6.3.
    @inlinable
    public var withoutBlanks: Span<UInt8> {
        @_lifetime(copy self)
        get { extracting(rangeWithoutBlanks(in: 0..<count)) }
    }

    /// What of `range` lies between the blanks at its ends.
    @inlinable
    public func rangeWithoutBlanks(in range: Range<Int>) -> Range<Int> {
        var start = range.lowerBound
        var end = range.upperBound
        while start < end, self[start] == ASCII.space || self[start] == ASCII.tab { start &+= 1 }
        while end > start, self[end &- 1] == ASCII.space || self[end &- 1] == ASCII.tab { end &-= 1 }
        return start..<end
    }
}
