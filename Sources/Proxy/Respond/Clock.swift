#if canImport(Glibc)
internal import Glibc
#endif
internal import EventLoop

/// The Date field's value, made anew once a second.
final class Clock {
    private unowned let loop: EventLoop
    private var second = -1
    /// The current second as an IMF-fixdate (RFC 9110 §5.6.7).
    private var text: [UInt8] = []

    init(loop: EventLoop) {
        self.loop = loop
    }

    var date: [UInt8] {
        let now = loop.wallClockSeconds
        if now != second {
            second = now
            text = Self.format(now)
        }
        return text
    }

    private static let days: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    static func format(_ seconds: Int) -> [UInt8] {
        var time = time_t(seconds)
        var parts = tm()
        unsafe gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let text =
            "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) \(parts.tm_year + 1900) "
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)) GMT"
        return Array(text.utf8)
    }

    /// `YYYY-MM-DDTHH:MM:SSZ` (RFC 3339), for the log.
    static func timestamp(_ seconds: Int) -> String {
        var time = time_t(seconds)
        var parts = tm()
        unsafe gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))T"
            + "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
    }
}
