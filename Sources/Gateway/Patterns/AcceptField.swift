package import HTTPWire
internal import Octets

/// What a request's Accept fields say (RFC 9110 §12.5.1).
package enum AcceptField {
    /// What one media range of the field says of a type.
    private struct Opinion {
        /// 3 for the type itself, 2 for `type/*`, 1 for `*/*`, 0 when the range doesn't take the type.
        var precision = 0
        /// Whether its weight isn't 0.
        var isWelcome = true
    }

    /// Whether the client takes `type`, which has no star: the most precise range that takes it decides, and a weight of 0 is
    /// a no. Without an Accept, or with one in which nothing can be read, every type is taken.
    static func allows(_ type: MediaRange, in head: borrowing MessageHead) -> Bool {
        guard let best = best(type, in: head) else { return true }
        return best.precision > 0 && best.isWelcome
    }

    /// Whether the client asks for `type`, which has no star, by its name, with another weight than 0.
    package static func names(_ type: MediaRange, in head: borrowing MessageHead) -> Bool {
        guard let best = best(type, in: head) else { return false }
        return best.precision == 3 && best.isWelcome
    }

    /// What the most precise range says that takes `type`; nil without a range that can be read.
    private static func best(_ type: MediaRange, in head: borrowing MessageHead) -> Opinion? {
        var best = Opinion()
        var hasRanges = false
        for line in 0..<head.fieldCount where head.known(line) == .accept {
            let value = head.value(line)
            var at = 0
            while at < value.count {
                let end = endOfMember(in: value, from: at)
                if let opinion = opinion(value.extracting(at..<end), of: type) {
                    hasRanges = true
                    if opinion.precision > best.precision {
                        best = opinion
                    } else if opinion.precision == best.precision, opinion.isWelcome {
                        // The same type once more, with other parameters: one that is welcome suffices.
                        best.isWelcome = true
                    }
                }
                at = end + 1
            }
        }
        return hasRanges ? best : nil
    }

    /// What one member of the list says of `type`; nil when it can't be read.
    private static func opinion(_ member: Span<UInt8>, of type: MediaRange) -> Opinion? {
        let essence = MediaRange.essence(member)
        var opinion = Opinion()
        if let slash = Scan.firstIndex(of: UInt8(ascii: "/"), in: essence) {
            let main = essence.extracting(0..<slash)
            let sub = essence.extracting(slash + 1..<essence.count)
            guard ListMember.isToken(main), ListMember.isToken(sub) else { return nil }
            let isAnySub = sub.isEqual(to: "*")
            if main.isEqual(to: "*") {
                guard isAnySub else { return nil }
                opinion.precision = 1
            } else if main.isEqualIgnoringCase(to: type.type.utf8Span.span) {
                if isAnySub {
                    opinion.precision = 2
                } else if sub.isEqualIgnoringCase(to: type.subtype.utf8Span.span) {
                    opinion.precision = 3
                }
            }
        } else if essence.isEqual(to: "*") {
            // Java's old client sends it.
            opinion.precision = 1
        } else {
            return nil
        }
        guard let isWelcome = weight(member) else { return nil }
        opinion.isWelcome = isWelcome
        return opinion
    }

    /// Whether the member's weight isn't 0; true without one, nil for one that can't be read.
    private static func weight(_ member: Span<UInt8>) -> Bool? {
        var at = endOfParameter(in: member, from: 0)
        while at < member.count {
            let end = endOfParameter(in: member, from: at + 1)
            let parameter = MediaRange.essence(member.extracting(at + 1..<end))
            at = end
            guard parameter.count >= 2, parameter[0] | 0x20 == UInt8(ascii: "q"), parameter[1] == UInt8(ascii: "=")
            else { continue }
            var points = 0
            var digits = 0
            var isZero = true
            for index in 2..<parameter.count {
                switch parameter[index] {
                case UInt8(ascii: "."): points += 1
                case let byte where ASCII.isDigit(byte):
                    digits += 1
                    if byte != UInt8(ascii: "0") { isZero = false }
                default: return nil
                }
            }
            return digits > 0 && points <= 1 ? !isZero : nil
        }
        return true
    }

    private static func endOfMember(in value: Span<UInt8>, from start: Int) -> Int {
        end(UInt8(ascii: ","), in: value, from: start)
    }

    private static func endOfParameter(in value: Span<UInt8>, from start: Int) -> Int {
        end(UInt8(ascii: ";"), in: value, from: start)
    }

    /// The next `mark` outside quotes, or the end.
    private static func end(_ mark: UInt8, in value: Span<UInt8>, from start: Int) -> Int {
        var at = start
        var isQuoted = false
        while at < value.count {
            if value[at] == UInt8(ascii: "\"") {
                isQuoted.toggle()
            } else if isQuoted, value[at] == UInt8(ascii: "\\") {
                at += 1
            } else if !isQuoted, value[at] == mark {
                return at
            }
            at += 1
        }
        return value.count
    }
}
