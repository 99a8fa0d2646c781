package import ContentCoding
package import HTTPWire
package import Octets

/// What a request's Accept-Encoding says (RFC 9110 §12.5.3).
package enum AcceptEncodingField {
    /// The coding among `offered` that the client gives the greatest weight, the first of equals; nil when it takes none of
    /// them, likes uncoded bodies better, or says nothing.
    package static func choose(among offered: [Coding], for head: borrowing MessageHead) -> Coding? {
        guard head.contains(.acceptEncoding) else { return nil }
        var best: Coding?
        // What a client doesn't speak of it takes uncoded, but likes least.
        var bestWeight = weight(of: nil, in: head) ?? 0
        for coding in offered {
            guard let weight = weight(of: coding, in: head), weight > 0 else { continue }
            if weight > bestWeight || best == nil && weight == bestWeight {
                best = coding
                bestWeight = weight
            }
        }
        return best
    }

    /// Writes the Accept-Encoding of a request upstream: those of `codings` that the client takes, too, for what comes may pass as it
    /// is; `identity` where there are none. Without the field the upstream might choose any (RFC 9110 §12.5.3).
    package static func write(_ codings: [Coding], takenBy head: borrowing MessageHead, into output: inout OutputBuffer)
    {
        output.append("Accept-Encoding: ")
        var isFirst = true
        if !codings.isEmpty, head.contains(.acceptEncoding) {
            for coding in codings where (weight(of: coding, in: head) ?? 0) > 0 {
                if !isFirst { output.append(", ") }
                output.append(coding.name)
                isFirst = false
            }
        }
        output.append(isFirst ? "identity\r\n" : "\r\n")
    }

    /// The weight of a coding, or of `identity`, in thousandths. A star stands for codings that the field doesn't name, not
    /// for `identity`, for which it would be a mere leave. Nil when nothing is said.
    private static func weight(of coding: Coding?, in head: borrowing MessageHead) -> Int? {
        var star: Int?
        for line in 0..<head.fieldCount where head.known(line) == .acceptEncoding {
            let value = head.value(line)
            var start = 0
            while start < value.count {
                let place = ListMember.at(start, in: value)
                let member = value.extracting(place.range)
                start = place.next
                let name = MediaRange.essence(member)
                if name.isEqual(to: "*") {
                    if coding != nil { star = star ?? weight(member) }
                } else if let coding {
                    if Coding(name: name) == coding { return weight(member) }
                } else if name.isEqualIgnoringCase(to: "identity") {
                    return weight(member)
                }
            }
        }
        return star
    }

    /// A member's weight in thousandths: 1000 without one, 0 for one that can't be read.
    private static func weight(_ member: Span<UInt8>) -> Int {
        guard let semicolon = Scan.firstIndex(of: UInt8(ascii: ";"), in: member) else { return 1000 }
        let text = MediaRange.essence(member.extracting(semicolon + 1..<member.count))
        guard text.count >= 3, text[0] | 0x20 == UInt8(ascii: "q"), text[1] == UInt8(ascii: "=") else { return 0 }
        guard text[2] == UInt8(ascii: "0") || text[2] == UInt8(ascii: "1") else { return 0 }
        var weight = Int(text[2] - UInt8(ascii: "0")) * 1000
        if text.count == 3 { return weight }
        guard text[3] == UInt8(ascii: "."), text.count <= 7 else { return 0 }
        var unit = 100
        for index in 4..<text.count {
            guard ASCII.isDigit(text[index]) else { return 0 }
            weight += Int(text[index] - UInt8(ascii: "0")) * unit
            unit /= 10
        }
        return min(weight, 1000)
    }
}
