internal import Synchronization
internal import Transcoding

/// Where the bytes of a stream part come from: a function that is asked for the next ones.
///
/// The function is called with the greatest number of bytes that are wanted, and returns as many or fewer; more are kept for
/// later. None at all are the end. What it throws ends the multipart stream with `bodyUnreadable`.
public struct BodySource: Sendable {
    /// Gives the next bytes, at most `maximum`, or none at the end.
    public typealias Read = (_ maximum: Int) throws -> [UInt8]

    private enum Kind: Sendable {
        case once(Claim)
        case restartable(@Sendable () throws -> Read)
    }

    /// A function that belongs to the first who asks for it.
    private final class Claim: Sendable {
        private let read: Mutex<Read?>

        init(_ read: sending @escaping Read) {
            self.read = Mutex(read)
        }

        var wasTaken: Bool { read.withLock { $0 == nil } }

        func take() -> Read? {
            read.withLock { read in
                defer { read = nil }
                return read
            }
        }
    }

    private let kind: Kind

    /// A source that can be read once, as from a socket. Another stream over the same form, for a retry, fails with
    /// `streamConsumed` instead of sending nothing.
    ///
    /// The function may change variables that it has for itself, as the rest of what there is to send.
    public static func once(_ read: sending @escaping Read) -> BodySource {
        BodySource(kind: .once(Claim(read)))
    }

    /// A source that can be read again from its start: `open` is called for each stream and returns the function to ask.
    public static func restartable(_ open: @escaping @Sendable () throws -> Read) -> BodySource {
        BodySource(kind: .restartable(open))
    }

    /// Whether the source was read and can't be read again.
    internal var isConsumed: Bool {
        if case .once(let claim) = kind { claim.wasTaken } else { false }
    }

    internal func open() throws(SerializationError) -> Read {
        switch kind {
        case .once(let claim):
            guard let read = claim.take() else { throw Self.consumed }
            return read
        case .restartable(let open):
            do {
                return try open()
            } catch {
                throw Self.failed(error)
            }
        }
    }

    internal static let consumed = SerializationError(
        .streamConsumed, reason: "the stream of a part has been read already and can't be read again")

    internal static func failed(_ error: any Error) -> SerializationError {
        SerializationError(.bodyUnreadable, reason: "the stream of a part failed", underlying: error)
    }
}
