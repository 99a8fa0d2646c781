internal import Glibc

/// Answers and closes a connection that was accepted and isn't wanted, at a bounded cost: no object, no event, no timer.
public enum RefusedConnection {
    /// Bytes that are read and dropped before closing: what has arrived of a small request.
    private static let discarded = 16 * 1024

    /// Sends `answer` as far as the socket takes it at once, which for some hundred bytes is whole, then the FIN, and closes
    /// `descriptor`. What has arrived by now is read first, since closing over unread bytes sends a reset, and that could
    /// overtake the answer. A client whose request arrives later may still see the reset.
    public static func close(_ descriptor: Int32, answer: Span<UInt8>) {
        // SAFETY: the pointers are used only during the calls, and the buffer has the size that recv is told.
        unsafe answer.withUnsafeBufferPointer {
            _ = unsafe send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
        }
        _ = shutdown(descriptor, Int32(SHUT_WR))
        unsafe withUnsafeTemporaryAllocation(byteCount: discarded, alignment: 1) { buffer in
            _ = unsafe recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
        }
        _ = Glibc.close(descriptor)
    }
}
