internal import Octets

/// The open streams of a connection by their number: a table of places, each stream at its own or, where that is taken, at the next free
/// one. Dictionaries spend more on hashing a number than on all else.
internal struct StreamTable {
    /// The number of the stream at each place, 0 where there is none: who looks for a stream touches no other. A power of two, and at
    /// least twice the count.
    internal private(set) var ids: [Int32] = []
    private var streams: [HTTP2Stream?] = []
    internal private(set) var count = 0
    /// Keyed: peers choose the numbers, and could crowd them. All bits of a number count: streams follow one another, and a product
    /// alone puts such numbers next to each other, or all in one place, by what it multiplies with.
    private let hash = ByteHash()
    private static let leastPlaces = 16

    internal var isEmpty: Bool { count == 0 }

    /// The streams, in no order.
    internal var all: [HTTP2Stream] { streams.compactMap { $0 } }

    /// The place where stream `id` belongs.
    internal func home(of id: Int32) -> Int {
        Int(truncatingIfNeeded: hash(UInt64(truncatingIfNeeded: id), 0)) & (ids.count - 1)
    }

    /// Where stream `id` is, or else the free place where it would be. There must be places.
    private func place(of id: Int32) -> Int {
        var place = home(of: id)
        while ids[place] != id, ids[place] != 0 { place = (place + 1) & (ids.count - 1) }
        return place
    }

    internal func find(_ id: Int32) -> HTTP2Stream? { ids.isEmpty ? nil : streams[place(of: id)] }

    /// Enters a stream; none of its number may be there.
    internal mutating func insert(_ stream: HTTP2Stream) {
        if 2 * (count + 1) > ids.count { grow() }
        put(stream)
        count += 1
    }

    private mutating func put(_ stream: HTTP2Stream) {
        let place = place(of: stream.id)
        ids[place] = stream.id
        streams[place] = stream
    }

    private mutating func grow() {
        let old = streams
        let count = max(Self.leastPlaces, 2 * old.count)
        ids = Array(repeating: 0, count: count)
        streams = Array(repeating: nil, count: count)
        for case let stream? in old { put(stream) }
    }

    /// Takes stream `id` out and returns it.
    internal mutating func remove(_ id: Int32) -> HTTP2Stream? {
        guard !ids.isEmpty else { return nil }
        var free = place(of: id)
        guard let found = streams[free].take() else { return nil }
        ids[free] = 0
        count -= 1
        // Those behind it move up, as far as that brings them no further than home.
        let mask = ids.count - 1
        var next = (free + 1) & mask
        while ids[next] != 0 {
            if (next - home(of: ids[next])) & mask >= (next - free) & mask {
                ids.swapAt(free, next)
                streams.swapAt(free, next)
                free = next
            }
            next = (next + 1) & mask
        }
        return found
    }
}
