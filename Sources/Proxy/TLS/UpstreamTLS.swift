public import EventLoop

/// The TLS of an upstream: what the settings say, and the context that was loaded last, with the sessions that can be
/// taken up.
public final class UpstreamTLS: Sendable, Hashable {
    public let options: TLSClientOptions
    let loaded: LoadedTLS<TLSClientContext>

    /// Loads the files.
    /// - Parameter system: the system's authorities, where upstreams beside it believe them, too. A later load reads them anew.
    public init(_ options: TLSClientOptions, system: TLSSystemAnchors? = nil) throws(TLSFileError) {
        self.options = options
        loaded = try LoadedTLS(
            options.files, first: { () throws(TLSFileError) in try TLSClientContext(options, system: system) },
            make: { () throws(TLSFileError) in try TLSClientContext(options) })
    }

    /// What new connections begin with.
    public var context: TLSClientContext { loaded.context }

    /// Whether no server can be believed, since the system, whose authorities are asked, has none.
    public var lacksAuthorities: Bool { context.lacksAuthorities }

    public static func == (one: UpstreamTLS, other: UpstreamTLS) -> Bool { one.options == other.options }
    public func hash(into hasher: inout Hasher) { hasher.combine(options) }
}
