internal import EventLoop
internal import Glibc

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

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    static func format(_ seconds: Int) -> [UInt8] {
        let at = CivilTime(seconds)
        let text =
            "\(days[at.weekday]), \(pad(at.day)) \(months[at.month - 1]) \(at.year) "
            + "\(pad(at.hour)):\(pad(at.minute)):\(pad(at.second)) GMT"
        return Array(text.utf8)
    }

    /// `YYYY-MM-DDTHH:MM:SSZ` (RFC 3339), for the log.
    static func timestamp(_ seconds: Int) -> String {
        let at = CivilTime(seconds)
        return "\(at.year)-\(pad(at.month))-\(pad(at.day))T\(pad(at.hour)):\(pad(at.minute)):\(pad(at.second))Z"
    }

    /// `02/Jan/2026:03:04:05 +0000`, for the combined format of the log.
    static func combined(_ seconds: Int) -> [UInt8] {
        let at = CivilTime(seconds)
        let text =
            "\(pad(at.day))/\(months[at.month - 1])/\(at.year):\(pad(at.hour)):\(pad(at.minute)):\(pad(at.second)) +0000"
        return Array(text.utf8)
    }

    private static func pad(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

/// A second since 1970 as date and time in UTC. The system's calendar: leap years and all are its business.
private struct CivilTime {
    let year, month, day, weekday, hour, minute, second: Int

    init(_ seconds: Int) {
        var time = time_t(seconds)
        // SAFETY: both pointers are valid during the call, and gmtime_r fills every field that is read.
        var parts = unsafe tm()
        unsafe gmtime_r(&time, &parts)
        year = unsafe Int(parts.tm_year) + 1900
        month = unsafe Int(parts.tm_mon) + 1
        day = unsafe Int(parts.tm_mday)
        weekday = unsafe Int(parts.tm_wday)
        hour = unsafe Int(parts.tm_hour)
        minute = unsafe Int(parts.tm_min)
        second = unsafe Int(parts.tm_sec)
    }
}
