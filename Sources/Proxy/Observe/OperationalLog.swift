internal import Logging

/// What the proxy itself has to say: reloads, upstreams that come and go, resources that run out. Lines to standard error,
/// apart from the access log.
enum OperationalLog {
    static let logger = Logger(label: "recast") { _ in StreamLogHandler.standardError(label: "recast") }
}
