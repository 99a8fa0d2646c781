/// Memory of buffers that ran empty, for those that fill next: making it anew costs more than writing to it, since it grows by
/// copies and is zeroed.
@frozen
public struct SpareBuffers: Sendable {
    @usableFromInline internal let most: Int
    @usableFromInline internal let capacity: Int
    @usableFromInline internal var buffers: [OutputBuffer] = []

    /// - Parameters:
    ///   - most: the buffers that are kept at once.
    ///   - capacity: the bytes of one that is kept, at most.
    @inlinable
    public init(most: Int, capacity: Int) {
        self.most = most
        self.capacity = capacity
    }

    /// Gives `buffer`, which must be empty, memory where there is some, and leaves its watermark as it is.
    @inlinable
    public mutating func lend(to buffer: inout OutputBuffer) {
        precondition(buffer.isEmpty, "bytes would be lost")
        guard var spare = buffers.popLast() else { return }
        // A spare has the watermark of its last user.
        spare.highWatermark = buffer.highWatermark
        buffer = spare
    }

    /// Gives `buffer` the memory of a spare, with what it holds, where it has no room for `count` more bytes and a spare has.
    @inlinable
    public mutating func enlarge(_ buffer: inout OutputBuffer, for count: Int) {
        guard buffer.room < count else { return }
        let whole = buffer.count + count
        guard let index = buffers.lastIndex(where: { $0.capacity >= whole }) else { return }
        var spare = buffers.remove(at: index)
        spare.highWatermark = buffer.highWatermark
        spare.append(buffer.span)
        buffer = spare
    }

    /// Leaves `buffer` empty and without memory, which is kept within the bounds.
    @inlinable
    public mutating func recycle(_ buffer: inout OutputBuffer) {
        guard buffer.capacity > 0 else { return }
        var spare = OutputBuffer()
        swap(&spare, &buffer)
        guard buffers.count < most, spare.capacity <= capacity else { return }
        spare.removeAll()
        buffers.append(spare)
    }
}
