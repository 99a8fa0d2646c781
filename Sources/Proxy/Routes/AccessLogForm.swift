/// What a line of the access log looks like.
public struct AccessLogForm: Hashable, Sendable {
    /// JSON with all fields by default, or the combined format of Apache and nginx.
    public var format = AccessLogFormat.json
    /// What a line shows of the target's query; its values are left out by default.
    public var query = LoggedQuery.redact

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
