public import EventLoop
internal import Synchronization

/// The TLS of an upstream: what the settings say, and the context that was loaded last, with the sessions that can be
/// taken up. All workers share it.
public final class UpstreamTLS: Sendable, Hashable {
    public let options: TLSClientOptions
    private let slot: Mutex<TLSClientContext>

    /// Loads the files.
    public init(_ options: TLSClientOptions) throws(TLSFileError) {
        self.options = options
        slot = Mutex(try TLSClientContext(options))
    }

    /// What new connections begin with.
    public var context: TLSClientContext { slot.withLock { $0 } }

    /// Loads the files anew. What was loaded stays when one of them can't be used.
    func reload() throws(TLSFileError) {
        let made = try TLSClientContext(options)
        slot.withLock { $0 = made }
    }

    /// Goes on with what `other` has loaded of the same files.
    func use(_ other: UpstreamTLS) {
        let made = other.context
        slot.withLock { $0 = made }
    }

    /// The client certificate's file with its life.
    var lives: [(file: String, validity: TLSValidity?)] {
        options.identity.map { [($0.certificate, context.validity)] } ?? []
    }

    public static func == (one: UpstreamTLS, other: UpstreamTLS) -> Bool { one.options == other.options }
    public func hash(into hasher: inout Hasher) { hasher.combine(options) }
}
