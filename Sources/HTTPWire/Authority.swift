internal import Octets

/// `uri-host [ ":" port ]` (RFC 9110 §7.2, RFC 3986 §3.2.2), as it stands in Host or in an absolute target.
internal struct Authority {
    var host: ByteRange
    /// Host and port; without the colon where the port is empty.
    var whole: ByteRange
    var port: Int?

    /// Reads an authority, or nil when it isn't one: empty host, userinfo, bytes that no host has, a port above 65535.
    ///
    /// Percent-encoded names are refused though RFC 3986 has them: they are a second spelling of one host, and a list of
    /// hosts must not pass for one, so a comma is refused too.
    static func parse(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Authority? {
        guard start < end else { return nil }
        var at = start
        if bytes[start] == UInt8(ascii: "[") {
            guard let close = endOfLiteral(bytes, start, end) else { return nil }
            at = close
        } else {
            at = min(Scan.endOfPlainName(in: bytes, from: at), end)
            while at < end, isHostByte(bytes[at]) { at &+= 1 }
        }
        guard at > start else { return nil }
        let host = ByteRange(start, at)
        guard at < end else { return Authority(host: host, whole: host, port: nil) }
        guard bytes[at] == UInt8(ascii: ":"), end - at <= 6 else { return nil }
        guard at + 1 < end else { return Authority(host: host, whole: host, port: nil) }
        var port = 0
        var digit = at + 1
        while digit < end {
            guard ASCII.isDigit(bytes[digit]) else { return nil }
            port = port * 10 + Int(bytes[digit] &- 0x30)
            digit += 1
        }
        return port <= 65535 ? Authority(host: host, whole: ByteRange(start, end), port: port) : nil
    }

    /// Letters, digits and `-._~!$&'()*+;=`: `reg-name` without percent-encoding and comma.
    @inline(__always)
    private static func isHostByte(_ byte: UInt8) -> Bool {
        let word: UInt64 = byte & 0x40 == 0 ? 0x2BFF_6FD2_0000_0000 : 0x47FF_FFFE_87FF_FFFE
        return (word >> UInt64(byte & 63)) & UInt64(1 &- byte >> 7) != 0
    }

    /// The index behind the `]` of an IPv6 literal: hexadecimal digits, colons and dots, two colons at least.
    private static func endOfLiteral(_ bytes: Span<UInt8>, _ start: Int, _ end: Int) -> Int? {
        var colons = 0
        var at = start + 1
        while at < end {
            let byte = bytes[at]
            at += 1
            if byte == UInt8(ascii: "]") { return colons >= 2 ? at : nil }
            if byte == UInt8(ascii: ":") {
                colons += 1
            } else if ASCII.hexValue(byte) == nil && byte != UInt8(ascii: ".") {
                return nil
            }
        }
        return nil
    }
}

extension MessageHead {
    /// Where the host of an authority stands, an IPv6 literal with its brackets, and its port; nil of what is no authority.
    package static func authority(in text: Span<UInt8>) -> (host: Range<Int>, port: Int?)? {
        guard let authority = Authority.parse(text, 0, text.count) else { return nil }
        return (authority.host.range, authority.port)
    }

    /// Makes this the effective host, in lower case: host names know no case, and one spelling must reach every hop.
    internal mutating func setAuthority(_ authority: Authority) {
        hostRange = authority.host
        authorityRange = authority.whole
        port = authority.port
        guard Scan.holdsUppercase(span(hostRange)) else { return }
        for index in authority.host.range { bytes[index] = ASCII.lowercased(bytes[index]) }
    }
}
