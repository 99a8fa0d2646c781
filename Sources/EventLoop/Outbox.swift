internal import Octets

/// Short writes of one tick, sent when the tick ends.
///
/// A write wakes the peer that waits for it on another core, and waking is most of what a short write costs. Sent one behind the
/// other at the end of the tick, the first wakes the peer and the others find it awake. What a stream writes in several
/// pieces leaves in one call, and in order: whatever else a stream does to its socket sends what is held first.
///
/// SAFETY of `@exclusivity(unchecked)`: one thread uses it, and a piece is copied out before its stream is called.
@safe
final class Outbox {
    /// Bytes of one write at most: copying them costs far less than a wake-up. 4 KiB.
    static let longest = 4 * 1024
    /// Bytes of all. A write that finds no room goes out at once. 64 KiB.
    static let capacity = 64 * 1024
    /// What may be done before the first that is held has waited enough, in bytes read: 64 KiB, of which each read counts for
    /// one at least. A tick may have thousands of reads; this is about a millisecond of them.
    private static let patience = 64 * 1024
    private static let readCost = 1024

    /// What one stream holds. A stream has one piece at most and takes it back before it goes.
    @safe
    private struct Piece {
        var stream: Unmanaged<Stream>?
        var start: Int
        var end: Int
    }

    private let bytes = UnsafeMutablePointer<UInt8>.allocate(capacity: Outbox.capacity)
    @safe @exclusivity(unchecked) private var pieces: [Piece] = []
    @safe @exclusivity(unchecked) private var used = 0
    /// What was read since the first piece was held.
    @safe @exclusivity(unchecked) private var work = 0

    deinit {
        // SAFETY: allocated with self; no piece is left, because a stream that holds one keeps the loop.
        unsafe bytes.deallocate()
    }

    /// Keeps `span` behind what `stream` holds already. `false`: it is long, there is no room, or others have written meanwhile.
    @inline(__always)
    func hold(_ span: Span<UInt8>, for stream: Stream) -> Bool {
        let start = used
        guard grow(by: span.count, for: stream) else { return false }
        copy(span, to: start)
        return true
    }

    /// As `hold`, for two pieces that leave as one.
    @inline(__always)
    func hold(_ first: Span<UInt8>, _ second: Span<UInt8>, for stream: Stream) -> Bool {
        let start = used
        guard grow(by: first.count + second.count, for: stream) else { return false }
        copy(first, to: start)
        copy(second, to: start + first.count)
        return true
    }

    private func grow(by count: Int, for stream: Stream) -> Bool {
        guard count <= Self.longest, count <= Self.capacity - used else { return false }
        if stream.outboxIndex < 0 {
            stream.outboxIndex = pieces.count
            // SAFETY: a stream takes its piece back in `tearDown`, so the reference is alive as long as it is in the list.
            unsafe pieces.append(Piece(stream: .passUnretained(stream), start: used, end: used + count))
        } else {
            guard stream.outboxIndex == pieces.count - 1 else { return false }
            pieces[pieces.count - 1].end += count
        }
        used += count
        return true
    }

    @inline(__always)
    private func copy(_ span: Span<UInt8>, to offset: Int) {
        // SAFETY: `grow` made room for it; the span isn't memory of ours.
        unsafe span.withUnsafeBufferPointer { source in
            guard let base = source.baseAddress else { return }
            unsafe (bytes + offset).update(from: base, count: source.count)
        }
    }

    /// Sends what `stream` holds.
    func send(_ stream: Stream) {
        let index = stream.outboxIndex
        guard index >= 0 else { return }
        let piece = pieces[index]
        stream.outboxIndex = -1
        if index == pieces.count - 1 {
            pieces.removeLast()
            used = piece.start
        } else {
            unsafe pieces[index].stream = nil
        }
        // SAFETY: the bytes lie in the buffer, and nothing is held while they are sent.
        unsafe stream.sendHeld(UnsafeBufferPointer(start: bytes + piece.start, count: piece.end - piece.start))
    }

    /// Says that `count` bytes are about to be handed over, which may take a while.
    @inline(__always)
    func noteRead(_ count: Int) {
        guard !pieces.isEmpty else { return }
        work += Self.readCost + count
        if work > Self.patience { sendAll() }
    }

    /// Sends everything, in the order in which it was written. To be called when no handler is on the stack.
    func sendAll() {
        var index = 0
        while index < pieces.count {
            let piece = pieces[index]
            // SAFETY: see `grow`: who is in the list is open.
            if let held = unsafe piece.stream {
                unsafe pieces[index].stream = nil
                unsafe send(piece, of: held)
            }
            index += 1
        }
        pieces.removeAll(keepingCapacity: true)
        used = 0
        work = 0
    }

    @inline(__always)
    private func send(_ piece: Piece, of held: Unmanaged<Stream>) {
        // SAFETY: see `grow`: the stream is open, so the loop's reference keeps it while it sends.
        let isBackedUp = unsafe held._withUnsafeGuaranteedRef { stream in
            stream.outboxIndex = -1
            unsafe stream.sendHeld(UnsafeBufferPointer(start: bytes + piece.start, count: piece.end - piece.start))
            return stream.queued > 0
        }
        guard isBackedUp else { return }
        // The handler may close it: from here on it is held.
        let stream = unsafe held.takeUnretainedValue()
        stream.handler.backedUp(stream)
    }
}
