internal import Glibc
internal import Octets

/// Points in time as logs write them; what changes once a second is made once a second.
struct LogTime {
    private var second = -1
    /// `2026-01-02T03:04:05.`
    private var prefix: [UInt8] = []
    private var combinedSecond = -1
    private var combinedText: [UInt8] = []

    /// Milliseconds since 1970.
    static func now() -> Int {
        var time = timespec()
        // SAFETY: the clock exists on every Linux, and the pointer is used only during the call.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    }

    /// Appends `YYYY-MM-DDTHH:MM:SS.mmmZ` (RFC 3339).
    mutating func append(_ milliseconds: Int, to output: inout OutputBuffer) {
        if milliseconds / 1000 != second {
            second = milliseconds / 1000
            prefix = Array(Clock.timestamp(second).utf8.dropLast()) + [UInt8(ascii: ".")]
        }
        output.append(prefix)
        let rest = milliseconds % 1000
        output.append(UInt8(ascii: "0") + UInt8(rest / 100))
        output.append(UInt8(ascii: "0") + UInt8(rest / 10 % 10))
        output.append(UInt8(ascii: "0") + UInt8(rest % 10))
        output.append(UInt8(ascii: "Z"))
    }

    /// As above, as an array.
    mutating func text(_ milliseconds: Int) -> [UInt8] {
        var output = OutputBuffer()
        append(milliseconds, to: &output)
        return output.span.copied()
    }

    /// Appends `02/Jan/2026:03:04:05 +0000`, as the combined format of Apache and nginx has it.
    mutating func appendCombined(_ milliseconds: Int, to output: inout OutputBuffer) {
        if milliseconds / 1000 != combinedSecond {
            combinedSecond = milliseconds / 1000
            combinedText = Clock.combined(combinedSecond)
        }
        output.append(combinedText)
    }
}
