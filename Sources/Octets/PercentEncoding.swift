extension OutputBuffer {
    /// Appends `bytes` as application/x-www-form-urlencoded wants them (WHATWG URL §5.2): what `ByteSet.formUnescaped`
    /// holds stays, a space becomes `+` when `plusForSpace` holds, and every other byte becomes `%` and two upper-case
    /// hexadecimal digits, NUL included.
    public mutating func append(formEncoding bytes: Span<UInt8>, plusForSpace: Bool) {
        var start = 0
        while start < bytes.count {
            // A slice at a time, so that the room asked for stays near to what is used.
            let end = min(start + 1024, bytes.count)
            // SAFETY: no byte becomes more than three.
            unsafe storage.write(upTo: 3 * (end - start)) { target in
                var at = 0
                for index in start..<end {
                    let byte = bytes[index]
                    if ASCII.isKeptInForms(byte) {
                        unsafe target[at] = byte
                        at &+= 1
                    } else if byte == ASCII.space && plusForSpace {
                        unsafe target[at] = UInt8(ascii: "+")
                        at &+= 1
                    } else {
                        unsafe target[at] = UInt8(ascii: "%")
                        unsafe target[at &+ 1] = ASCII.upperHexDigit(byte >> 4)
                        unsafe target[at &+ 2] = ASCII.upperHexDigit(byte & 15)
                        at &+= 3
                    }
                }
                return at
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
}
