/// What a line of the access log looks like.
public struct AccessLogForm: Hashable, Sendable {
    /// JSON with all fields by default, or the combined format of Apache and nginx.
    public var format = AccessLogFormat.json
    /// What a line shows of the target's query, of the parameters of its path's segments, and of the same of the referer; their
    /// values are left out by default.
    public var query = LoggedQuery.redact
    /// Fields of the request, and of the upstream's response, that a line of JSON shows; names in lower case.
    public var requestFields: [String] = []
    public var responseFields: [String] = []

    public init() {}
}

/// The formats of the access log.
public enum AccessLogFormat: String, Hashable, Sendable, CaseIterable {
    /// One object a line.
    case json
    /// The combined format of Apache and nginx.
    case combined
}

/// What the access log shows of a query.
public enum LoggedQuery: String, Hashable, Sendable, CaseIterable {
    /// Names, and `*` for each value.
    case redact
    /// All of it.
    case keep
    /// Nothing.
    case drop
}
