public import EventLoop
internal import Synchronization

/// The TLS of an upstream: what the settings say, and the context that was loaded last, with the sessions that can be
/// taken up. All workers share it.
public final class UpstreamTLS: Sendable, Hashable, LoadedFromFiles {
    public let options: TLSClientOptions
    private let slot: Mutex<LoadedTLS<TLSClientContext>>

    /// Loads the files.
    public init(_ options: TLSClientOptions) throws(TLSFileError) {
        self.options = options
        slot = Mutex(try Self.load(options))
    }

    private static func load(_ options: TLSClientOptions) throws(TLSFileError) -> LoadedTLS<TLSClientContext> {
        let stamps = options.files.map { FileStamp($0) }
        return LoadedTLS(context: try TLSClientContext(options), stamps: stamps)
    }

    /// What new connections begin with.
    public var context: TLSClientContext { slot.withLock { $0.context } }

    var files: [String] { options.files }
    var stamps: [FileStamp?] { slot.withLock { $0.stamps } }

    func reload() throws(TLSFileError) {
        let made = try Self.load(options)
        slot.withLock { $0 = made }
    }

    /// Goes on with what `other` has loaded of the same files.
    func use(_ other: UpstreamTLS) {
        let made = other.slot.withLock { $0 }
        slot.withLock { $0 = made }
    }

    /// The client certificate's file with its life.
    var lives: [(file: String, validity: TLSValidity?)] {
        options.identity.map { [($0.certificate, context.validity)] } ?? []
    }

    public static func == (one: UpstreamTLS, other: UpstreamTLS) -> Bool { one.options == other.options }
    public func hash(into hasher: inout Hasher) { hasher.combine(options) }
}
