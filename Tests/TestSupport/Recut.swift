/// One way to cut an input into the slices that a decoder is fed.
public struct Cut: Sendable, CustomStringConvertible {
    /// How it was cut, for the message of a failed test.
    public let name: String
    public let slices: [[UInt8]]

    public init(name: String, slices: [[UInt8]]) {
        self.name = name
        self.slices = slices
    }

    /// The input in one slice.
    public static func whole(_ input: [UInt8]) -> Cut {
        Cut(name: "whole", slices: [input])
    }

    /// The input in slices of `size` bytes, the last one shorter.
    public static func every(_ size: Int, of input: [UInt8]) -> Cut {
        let slices = stride(from: 0, to: input.count, by: size).map { start in
            Array(input[start..<min(start + size, input.count)])
        }
        return Cut(name: "every \(size)", slices: slices)
    }

    /// This cut with an empty slice before, between and after its slices.
    public var withEmptySlices: Cut {
        Cut(name: name + " with empty slices", slices: [[]] + slices.flatMap { [$0, []] })
    }

    public var description: String { name }
}

/// The ways to cut an input. A decoder must give the same joined events, or the same error, for all of them.
public enum Recut {
    /// Whole, byte by byte, in slices of 2, 3 and 7 bytes, cut in two at every index, and each with empty slices between.
    ///
    /// The cuts in two are all made up to `splits` bytes of input; of a longer input the first and the last `splits / 2`
    /// indices and every 97th in the middle. On a change a sanitizer sees a tenth of them: it is slower, and what it finds
    /// depends on which ways are gone, hardly on each index.
    public static func cuts(of input: [UInt8], splits: Int = 400) -> [Cut] {
        let splits = triesTenth ? splits / 10 : splits
        var cuts: [Cut] = [.whole(input), .every(1, of: input)]
        for size in [2, 3, 7] where size < input.count {
            cuts.append(.every(size, of: input))
        }
        for index in input.indices.dropFirst() {
            let isNearAnEnd = index < splits / 2 || index >= input.count - splits / 2
            guard isNearAnEnd || index % 97 == 0 else { continue }
            cuts.append(Cut(name: "cut at \(index)", slices: [Array(input[..<index]), Array(input[index...])]))
        }
        return cuts + cuts.map(\.withEmptySlices)
    }
}
