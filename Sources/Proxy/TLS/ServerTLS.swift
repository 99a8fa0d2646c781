public import EventLoop

/// The TLS of a listener: what the settings say, and the context that was loaded last.
public final class ServerTLS: Sendable {
    let loaded: LoadedTLS<TLSServerContext>

    /// Loads the files.
    public init(_ options: TLSServerOptions) throws(TLSFileError) {
        var options = options
        options.plainTextAnswer = Self.answer("This port speaks HTTPS: use https:// to ask it.\n")
        options.proxyHeaderAnswer = Self.answer(
            "This port doesn't take the PROXY protocol: turn it off in what stands before it.\n")
        loaded = try LoadedTLS(options.files) { [options] () throws(TLSFileError) in try TLSServerContext(options) }
    }

    /// What new connections begin with.
    public var context: TLSServerContext { loaded.context }

    /// For a client that doesn't begin with TLS, before the connection is closed.
    private static func answer(_ text: String) -> [UInt8] {
        let head = """
            HTTP/1.1 400 Bad Request\r
            Content-Type: text/plain\r
            Content-Length: \(text.utf8.count)\r
            Cache-Control: no-store\r
            Connection: close\r
            \r

            """
        return Array((head + text).utf8)
    }
}
