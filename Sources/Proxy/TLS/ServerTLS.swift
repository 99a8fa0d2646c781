public import EventLoop

/// The TLS of a listener: what the settings say, and the context that was loaded last.
public final class ServerTLS: Sendable {
    public let options: TLSServerOptions
    let loaded: LoadedTLS<TLSServerContext>

    /// Loads the files.
    public init(_ options: TLSServerOptions) throws(TLSFileError) {
        var options = options
        options.plainTextAnswer = Array(Self.plainTextAnswer.utf8)
        self.options = options
        loaded = try LoadedTLS(options.files) { [options] () throws(TLSFileError) in try TLSServerContext(options) }
    }

    /// What new connections begin with.
    public var context: TLSServerContext { loaded.context }

    /// For a client that speaks without TLS, before the connection is closed.
    private static let plainTextAnswer = """
        HTTP/1.1 400 Bad Request\r
        Content-Type: text/plain\r
        Content-Length: 48\r
        Cache-Control: no-store\r
        Connection: close\r
        \r
        This port speaks HTTPS: use https:// to ask it.\n
        """
}
