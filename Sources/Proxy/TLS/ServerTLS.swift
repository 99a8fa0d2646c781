public import EventLoop
internal import Synchronization

/// The TLS of a listener: what the settings say, and the context that was loaded last. All workers share it; connections
/// keep the context that they began with.
public final class ServerTLS: Sendable, LoadedFromFiles {
    public let options: TLSServerOptions
    private let slot: Mutex<LoadedTLS<TLSServerContext>>

    /// Loads the files.
    public init(_ options: TLSServerOptions) throws(TLSFileError) {
        var options = options
        options.plainTextAnswer = Array(Self.plainTextAnswer.utf8)
        self.options = options
        slot = Mutex(try Self.load(options))
    }

    private static func load(_ options: TLSServerOptions) throws(TLSFileError) -> LoadedTLS<TLSServerContext> {
        let stamps = options.files.map { FileStamp($0) }
        return LoadedTLS(context: try TLSServerContext(options), stamps: stamps)
    }

    /// What new connections begin with.
    public var context: TLSServerContext { slot.withLock { $0.context } }

    var files: [String] { options.files }
    var stamps: [FileStamp?] { slot.withLock { $0.stamps } }

    func reload() throws(TLSFileError) {
        let made = try Self.load(options)
        slot.withLock { $0 = made }
    }

    /// The certificates' files with their lives.
    var lives: [(file: String, validity: TLSValidity?)] {
        zip(options.identities, context.validities).map { ($0.certificate, $1) }
    }

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
