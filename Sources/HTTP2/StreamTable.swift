/// The open streams of a connection by their number: a table of places, each stream at its own or, where that is taken, at the next free
/// one. Dictionaries spend more on hashing a number than on all else.
internal struct StreamTable {
    /// A power of two, and at least twice the count.
    private var places: [HTTP2Stream?] = []
    internal private(set) var count = 0
    /// Odd, and another one in each process: peers choose the numbers, and could crowd them.
    private static let multiplier = UInt32.random(in: .min ... .max) | 1
    private static let leastPlaces = 16

    internal var isEmpty: Bool { count == 0 }

    /// The streams, in no order.
    internal var all: [HTTP2Stream] { places.compactMap { $0 } }

    /// The place where stream `id` belongs.
    private func home(of id: Int32) -> Int {
        let hash = UInt32(bitPattern: id) &* Self.multiplier
        return Int(hash &>> UInt32(32 - places.count.trailingZeroBitCount))
    }

    /// Where stream `id` is, or else the free place where it would be. There must be places.
    private func place(of id: Int32) -> Int {
        var place = home(of: id)
        while let stream = places[place], stream.id != id { place = (place + 1) & (places.count - 1) }
        return place
    }

    internal func find(_ id: Int32) -> HTTP2Stream? { places.isEmpty ? nil : places[place(of: id)] }

    /// Enters a stream; none of its number may be there.
    internal mutating func insert(_ stream: HTTP2Stream) {
        if 2 * (count + 1) > places.count { grow() }
        places[place(of: stream.id)] = stream
        count += 1
    }

    private mutating func grow() {
        let old = places
        places = Array(repeating: nil, count: max(Self.leastPlaces, 2 * old.count))
        for case let stream? in old { places[place(of: stream.id)] = stream }
    }

    /// Takes stream `id` out and returns it.
    internal mutating func remove(_ id: Int32) -> HTTP2Stream? {
        guard !places.isEmpty else { return nil }
        var free = place(of: id)
        guard let found = places[free] else { return nil }
        places[free] = nil
        count -= 1
        // Those behind it move up, as far as that brings them no further than home.
        let mask = places.count - 1
        var next = (free + 1) & mask
        while let stream = places[next] {
            if (next - home(of: stream.id)) & mask >= (next - free) & mask {
                places[free] = stream
                places[next] = nil
                free = next
            }
            next = (next + 1) & mask
        }
        return found
    }
}
