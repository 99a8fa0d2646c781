public import HTTPTypes
internal import Transcoding

/// When a request is sent again, and after how long: Alamofire's `RetryPolicy`, whose names <doc:DifferencesFromAFNetworking> has.
///
/// The wait is `scale` times the power of `base`, and a day at most. It decides only; who sends requests waits and takes a new body
/// stream, see `MultipartFormData.makeStream()`.
public struct RetryPolicy: Hashable, Sendable {
    /// How often a request is sent again at most.
    public var limit = 2
    /// What the wait grows by from one time to the next; below 0 it is 0.
    public var base = 2
    /// What the powers of `base` are counted in, 0.5 s: the waits are 0.5 s, 1 s, 2 s and so on, a day at most; below 0 it is 0.
    public var scale = Duration.milliseconds(500)
    /// The methods whose requests may be sent twice without harm, in upper case.
    public var methods: Set<String> = ["DELETE", "GET", "HEAD", "OPTIONS", "PUT", "TRACE"]
    /// The statuses that may be different next time.
    public var statusCodes: Set<Int> = [408, 500, 502, 503, 504]

    /// Alamofire's defaults.
    public init() {}

    /// How long to wait before sending a request again that was answered with `status`; nil: don't.
    ///
    /// - Parameter retries: how often it was sent again already.
    public func delay(after status: HTTPResponse.Status, to method: HTTPRequest.Method, retries: Int) -> Duration? {
        guard statusCodes.contains(status.code) else { return nil }
        return delay(to: method, retries: retries)
    }

    /// How long to wait before sending a request again whose connection was lost; nil: don't.
    public func delayAfterLostConnection(to method: HTTPRequest.Method, retries: Int) -> Duration? {
        delay(to: method, retries: retries)
    }

    private func delay(to method: HTTPRequest.Method, retries: Int) -> Duration? {
        guard retries >= 0, retries < limit, methods.contains(method.rawValue) else { return nil }
        var delay = min(max(scale, .zero), Self.longest)
        guard retries > 0, delay > .zero, base != 1 else { return delay }
        guard base > 1 else { return .zero }
        // The wait doubles at least, so this ends, however many times there are.
        for _ in 0..<retries {
            // Compared before it is multiplied: the product may be beyond all durations.
            guard delay <= Self.longest / base else { return Self.longest }
            delay *= base
        }
        return delay
    }

    /// A day.
    private static var longest: Duration { .seconds(86_400) }
}
