extension OutputBuffer {
    /// Appends `bytes` as application/x-www-form-urlencoded wants them (WHATWG URL §5.2): what `ByteSet.formUnescaped`
    /// holds stays, a space becomes `+` when `plusForSpace` holds, and every other byte becomes `%` and two upper-case
    /// hexadecimal digits, NUL included.
    public mutating func append(formEncoding bytes: Span<UInt8>, plusForSpace: Bool) {
        var start = 0
        while start < bytes.count {
            // A slice at a time, so that the room asked for stays near to what is used.
            let end = min(start + 1024, bytes.count)
            // SAFETY: no byte becomes more than three, and a word is read and stored only while eight are left; of
            // what is stored, only the run in front counts. The fourth byte of an escape's store has room of its own.
            unsafe storage.write(upTo: 3 * (end - start) + 1) { target in
                unsafe bytes.withUnsafeBufferPointer { source in
                    let raw = UnsafeRawBufferPointer(source)
                    var to = 0
                    var at = start
                    while at < end {
                        while at &+ 8 <= end {
                            let word = unsafe raw.loadUnaligned(fromByteOffset: at, as: UInt64.self)
                            unsafe UnsafeMutableRawPointer(target + to).storeBytes(of: word, as: UInt64.self)
                            let others = ASCII.marksOfOthersInForms(UInt64(littleEndian: word))
                            // A branch, so that the next word needn't wait for where this one's run ends.
                            guard others == 0 else {
                                at &+= others.trailingZeroBitCount / 8
                                to &+= others.trailingZeroBitCount / 8
                                break
                            }
                            at &+= 8
                            to &+= 8
                        }
                        // What is not kept, and the bytes behind it until one is kept again.
                        while at < end {
                            let byte = unsafe raw[at]
                            let isKept = ASCII.isKeptInForms(byte)
                            if isKept, at &+ 8 <= end { break }
                            at &+= 1
                            if isKept {
                                unsafe target[to] = byte
                                to &+= 1
                            } else if byte == ASCII.space && plusForSpace {
                                unsafe target[to] = UInt8(ascii: "+")
                                to &+= 1
                            } else {
                                let escape = ASCII.percentEscape(byte).littleEndian
                                unsafe UnsafeMutableRawPointer(target + to).storeBytes(of: escape, as: UInt32.self)
                                to &+= 3
                            }
                        }
                    }
                    return to
                }
            }
            start = end
        }
    }
}

extension ASCII {
    /// Whether `ByteSet.formUnescaped` holds the byte, as two constant words and no branch on which of them.
    fileprivate static func isKeptInForms(_ byte: UInt8) -> Bool {
        let word: UInt64 = byte & 0x40 == 0 ? 0x03FF_6400_0000_0000 : 0x07FF_FFFE_87FF_FFFE
        return (word >> UInt64(byte & 63)) & UInt64(1 &- byte >> 7) != 0
    }

    /// `%` and two upper-case digits, the first byte lowest. A digit above 9 is 7 further on than `0` plus its value.
    @inline(__always)
    fileprivate static func percentEscape(_ byte: UInt8) -> UInt32 {
        let digits = UInt32(byte >> 4) | UInt32(byte & 0x0F) << 8
        let letters = (digits &+ 0x0606) &>> 4 & 0x0101
        return 0x25 | (digits &+ 0x3030 &+ letters &* 7) &<< 8
    }

    /// The high bit of each byte of the word that is not kept.
    @inline(__always)
    fileprivate static func marksOfOthersInForms(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let high: UInt64 = 0x8080_8080_8080_8080
        let low = word & ~high
        let kept =
            marks(low | 0x20 &* ones, from: 0x61, to: 0x7A) | marks(low, from: 0x30, to: 0x39)
            | marks(low, from: 0x2D, to: 0x2E) | marks(low, from: 0x5F, to: 0x5F) | marks(low, from: 0x2A, to: 0x2A)
        return (word | ~kept) & high
    }

    /// The high bit of each byte that lies in the range, where all bytes are below 0x80: no sum passes its byte.
    @inline(__always)
    private static func marks(_ bytes: UInt64, from first: UInt64, to last: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        return (bytes &+ (0x80 &- first) &* ones) & ~(bytes &+ (0x7F &- last) &* ones)
    }
}

extension OutputBuffer {
    /// Appends `bytes` with all but those of `kept` percent-encoded in upper-case digits. A space becomes `+` when
    /// `plusForSpace` holds. For the sets of one library or another; WHATWG's has `append(formEncoding:plusForSpace:)`.
    public mutating func append(percentEncoding bytes: Span<UInt8>, keeping kept: ByteSet, plusForSpace: Bool) {
        var start = 0
        while start < bytes.count {
            // A slice at a time, so that the room asked for stays near to what is used.
            let end = min(start + 1024, bytes.count)
            // SAFETY: no byte becomes more than three.
            unsafe storage.write(upTo: 3 * (end - start)) { target in
                var to = 0
                for at in start..<end {
                    let byte = bytes[at]
                    if kept.contains(byte) {
                        unsafe target[to] = byte
                        to &+= 1
                    } else if byte == ASCII.space && plusForSpace {
                        unsafe target[to] = UInt8(ascii: "+")
                        to &+= 1
                    } else {
                        unsafe target[to] = UInt8(ascii: "%")
                        unsafe target[to &+ 1] = ASCII.upperHexDigit(byte >> 4)
                        unsafe target[to &+ 2] = ASCII.upperHexDigit(byte & 15)
                        to &+= 3
                    }
                }
                return to
            }
            start = end
        }
    }
}

extension ByteSet {
    /// What AFNetworking and Alamofire leave alone in a query or a form: letters, digits and `-._~/?` (RFC 3986 §3.4
    /// without the sub-delimiters).
    @inlinable public static var queryUnescaped: ByteSet { ByteSet(0x83FF_E000_0000_0000, 0x47FF_FFFE_87FF_FFFE) }
    /// What qs leaves alone in its format RFC1738: letters, digits and `-._~()`.
    @inlinable public static var unreservedAndParentheses: ByteSet {
        ByteSet(0x03FF_6300_0000_0000, 0x47FF_FFFE_87FF_FFFE)
    }
    /// What PHP's `urlencode` leaves alone: letters, digits and `-._`.
    @inlinable public static var alphanumericAndDashes: ByteSet {
        ByteSet(0x03FF_6000_0000_0000, 0x07FF_FFFE_87FF_FFFE)
    }
}
