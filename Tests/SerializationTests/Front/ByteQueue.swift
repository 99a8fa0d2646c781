import Synchronization

/// Bytes that are taken from the front, by whoever asks.
final class ByteQueue: Sendable {
    private let rest: Mutex<[UInt8]>

    init(_ text: String) { rest = Mutex(Array(text.utf8)) }

    func take(_ count: Int) -> [UInt8] {
        rest.withLock { rest in
            let bytes = Array(rest.prefix(count))
            rest.removeFirst(bytes.count)
            return bytes
        }
    }
}
