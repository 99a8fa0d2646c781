package import HTTPWire
internal import Octets

/// The trace of a request, as W3C Trace Context (https://www.w3.org/TR/trace-context/) carries it.
///
/// Where no spans are made of a request, a valid `traceparent` is passed on unchanged with its `tracestate`. An invalid one, or
/// several, would be ignored by whoever comes next, and `tracestate` with it (§3.2.2, §4.3): both are left out, so that nobody
/// reads them in another way.
package enum TraceContext {
    /// Where the id of the trace stands: 32 lower-case hexadecimal digits of the field line's value. Nil when the field is
    /// missing, repeated or invalid.
    package static func traceID(of head: borrowing MessageHead) -> (line: Int, range: Range<Int>)? {
        guard let line = head.first(.traceparent), isValid(head.value(line)) else { return nil }
        for other in line + 1..<head.fieldCount where head.known(other) == .traceparent { return nil }
        return (line, 3..<35)
    }

    /// `version "-" trace-id "-" parent-id "-" flags` (§3.2): version 00 has nothing more, later ones may go on behind a
    /// dash; ff is no version, and ids of zeros only are no ids.
    package static func isValid(_ value: Span<UInt8>) -> Bool {
        guard value.count >= 55 else { return false }
        for index in 0..<55 {
            switch index {
            case 2, 35, 52: if value[index] != UInt8(ascii: "-") { return false }
            default: if !isLowerHex(value[index]) { return false }
            }
        }
        if value[0] == UInt8(ascii: "f"), value[1] == UInt8(ascii: "f") { return false }
        let isFirstVersion = value[0] == UInt8(ascii: "0") && value[1] == UInt8(ascii: "0")
        if value.count > 55, isFirstVersion || value[55] != UInt8(ascii: "-") { return false }
        return hasDigit(value.extracting(3..<35)) && hasDigit(value.extracting(36..<52))
    }

    private static func isLowerHex(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f")
    }

    /// Whether one of the digits isn't 0.
    private static func hasDigit(_ digits: Span<UInt8>) -> Bool {
        for index in digits.indices where digits[index] != UInt8(ascii: "0") { return true }
        return false
    }
}
