extension OutputBuffer {
    /// Appends `bytes` with all but those of `kept` percent-encoded in upper-case digits. A space becomes `+` when
    /// `plusForSpace` holds. For what is compared or short: fields are written by tables.
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
