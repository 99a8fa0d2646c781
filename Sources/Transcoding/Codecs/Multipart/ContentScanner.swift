internal import Octets

/// Finds the delimiter, `CRLF "--" boundary`, behind the content of a part, wherever the input is cut.
///
/// A carriage return stands only at the delimiter's start. So after a mismatch nothing before the byte at hand can
/// begin one, and what was held back over the end of a slice is known without keeping it: it is the delimiter's own
/// first bytes. Each byte is looked at once by `Scan.delimiterStart` and at most once more for each carriage return in
/// front of it that is followed by a part of the delimiter: work is linear, and memory is the delimiter.
internal struct ContentScanner {
    /// What the next bytes of the input are.
    enum Finding {
        /// This range of the input is content, and more follows; may be empty.
        case content(Range<Int>)
        /// This range of the delimiter, held back before, is content.
        case held(Range<Int>)
        /// This range of the input is the last of the content, and the delimiter follows it.
        case delimiter(Range<Int>)
        /// The delimiter stands right behind the headers, whose line end it would share.
        case glued
    }

    private(set) var delimiter: [UInt8]
    /// How many bytes of the delimiter the input taken so far ends with.
    private(set) var matched = 0
    /// How many of those are not content in any case: the line end of the headers at the start of a part.
    private var borrowed = 0

    /// How many bytes of the input taken so far may be content or a delimiter.
    var heldCount: Int { matched - borrowed }

    init(boundary: Multipart.Boundary) {
        delimiter = []
        setBoundary(boundary)
    }

    mutating func setBoundary(_ boundary: Multipart.Boundary) {
        delimiter.removeAll(keepingCapacity: true)
        delimiter += [ASCII.carriageReturn, ASCII.lineFeed, UInt8(ascii: "-"), UInt8(ascii: "-")]
        delimiter += boundary.bytes
        matched = 0
        borrowed = 0
    }

    /// Starts a part's content. The line end of its headers counts as the start of a delimiter, to find one that is
    /// glued.
    mutating func begin() {
        matched = 2
        borrowed = 2
    }

    /// Looks at the input from `at` on and moves `at` behind what it has found.
    mutating func next(in input: Span<UInt8>, from at: inout Int) -> Finding {
        if matched > 0 {
            while matched < delimiter.count {
                guard at < input.count else { return .content(at..<at) }
                guard input[at] == delimiter[matched] else {
                    let held = borrowed..<matched
                    (matched, borrowed) = (0, 0)
                    return .held(held)
                }
                matched += 1
                at += 1
            }
            let isGlued = borrowed > 0
            (matched, borrowed) = (0, 0)
            return isGlued ? .glued : .delimiter(at..<at)
        }
        let start = at
        var from = at
        while true {
            let candidate = Scan.delimiterStart(in: input, from: from)
            guard candidate < input.count else { break }
            var length = 1
            while length < delimiter.count, candidate + length < input.count,
                input[candidate + length] == delimiter[length]
            {
                length += 1
            }
            if length == delimiter.count {
                at = candidate + length
                return .delimiter(start..<candidate)
            }
            if candidate + length == input.count {
                matched = length
                at = input.count
                return .content(start..<candidate)
            }
            // No carriage return can stand among the bytes that matched after the first.
            from = candidate + length
        }
        at = input.count
        return .content(start..<input.count)
    }
}
