internal import Octets

/// Values that were masked somewhere, which a rule or the other side may have brought elsewhere, and there spelled in another way: as
/// JSON, forms or XML do, one within the other.
struct Secrets {
    /// Values times bytes to look for them in, at most: a fifth of a second. Who fills a body with fields that are masked must not hold the
    /// main loop when it is looked at.
    static let workLimit = 100_000_000
    /// Bytes that are compared in one text at most: long values may be much alike, and like what they are looked for in.
    private static let comparisonLimit = 4_000_000
    /// Values that are looked for in heads then.
    static let headLimit = 100
    /// Bytes of a value from which on it is looked for: a shorter one would be found where it isn't.
    static let shortest = 6

    /// Each once, in the order of their bytes.
    private let values: [[UInt8]]
    /// Those that begin with the same bytes, by these bytes.
    private let places: [UInt64: Range<Int>]
    /// A bit for each remainder of these bytes, by which most places of a text are passed over.
    private let beginnings: UInt64

    /// - Parameter values: as they are spelled where they were found, and as they are.
    init(_ values: [[UInt8]]) {
        var all: Set<[UInt8]> = []
        for value in values where value.count >= Self.shortest {
            for plain in PlainText.all(of: value).map(\.bytes) where plain.count >= Self.shortest {
                all.insert(plain.map(Self.folded))
                // A file's content is base64 where it is a value, and a value may become a file's.
                for other in [Self.base64(plain), Base64Decoder.bytes(of: plain.span)] {
                    if let other, other.count >= Self.shortest { all.insert(other.map(Self.folded)) }
                }
                // What one charset writes by a byte, a conversion writes in UTF-8.
                if String(validating: plain, as: UTF8.self) == nil {
                    all.insert(plain.flatMap { Array(String(Unicode.Scalar($0)).utf8) }.map(Self.folded))
                }
            }
        }
        let sorted = all.sorted { $0.lexicographicallyPrecedes($1) }
        var places: [UInt64: Range<Int>] = [:]
        var beginnings: UInt64 = 0
        for index in sorted.indices {
            let key = sorted[index][..<Self.shortest].reduce(0) { $0 << 8 | UInt64($1) }
            places[key] = (places[key]?.lowerBound ?? index)..<index + 1
            beginnings |= 1 << (key % Self.remainders)
        }
        self.values = sorted
        self.places = places
        self.beginnings = beginnings
    }

    private static let remainders: UInt64 = 61
    /// Bytes of a value that is looked for as base64, too.
    private static let base64Limit = 64 * 1024

    /// The value in base64, without what fills it up.
    private static func base64(_ value: [UInt8]) -> [UInt8]? {
        guard value.count <= base64Limit else { return nil }
        return Array(Base64Encoder.text(of: value.span).span.copied().prefix { $0 != UInt8(ascii: "=") })
    }

    /// Forms write a space as a plus. Both are taken for one, so that nobody needs to know what is a form.
    private static func folded(_ byte: UInt8) -> UInt8 { byte == ASCII.space ? UInt8(ascii: "+") : byte }

    /// `bytes` with a replacement for each of the values, however that is spelled, and how many these are.
    func hide(in bytes: [UInt8]) -> (bytes: [UInt8], count: Int) {
        guard !values.isEmpty, bytes.count >= Self.shortest else { return (bytes, 0) }
        var found: [Range<Int>] = []
        for plain in PlainText.all(of: bytes) where !find(in: plain, &found) {
            return (Array("\(NameMask.replacement)".utf8), 1)
        }
        guard !found.isEmpty else { return (bytes, 0) }
        var merged: [Range<Int>] = []
        for range in found.sorted(by: { $0.lowerBound < $1.lowerBound }) {
            if let last = merged.last, range.lowerBound < last.upperBound {
                merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
            } else {
                merged.append(range)
            }
        }
        var output: [UInt8] = []
        var at = 0
        for range in merged {
            output += bytes[at..<range.lowerBound]
            output += "\(NameMask.replacement)".utf8
            at = range.upperBound
        }
        return (output + bytes[at...], merged.count)
    }

    /// Finds the longest value at each place: also where another one ends behind it. Returns false where that takes long.
    private func find(in plain: PlainText, _ found: inout [Range<Int>]) -> Bool {
        let text = plain.bytes
        var key: UInt64 = 0
        var work = 0
        for end in text.indices {
            key = (key << 8 | UInt64(Self.folded(text[end]))) & 0xFFFF_FFFF_FFFF
            let start = end + 1 - Self.shortest
            guard start >= 0, beginnings >> (key % Self.remainders) & 1 != 0, let range = places[key] else { continue }
            let length = longest(range, text[start...], &work)
            if length > 0 { found.append(Int(plain.places[start])..<Int(plain.places[start + length])) }
            if work > Self.comparisonLimit { return false }
        }
        return true
    }

    /// The length of the longest of some values that begin alike with which the text begins; 0 where it begins with none.
    private func longest(_ range: Range<Int>, _ text: ArraySlice<UInt8>, _ work: inout Int) -> Int {
        var (first, last) = (range.lowerBound, range.upperBound)
        var found = 0
        var length = Self.shortest
        while true {
            // One that ends here comes first among those that begin so.
            if values[first].count == length {
                found = length
                first += 1
            }
            guard first < last, length < text.count else { return found }
            let byte = Self.folded(text[text.startIndex + length])
            if last - first > 1 {
                work += 16
                first = Self.first(first..<last) { values[$0][length] >= byte }
                last = Self.first(first..<last) { values[$0][length] > byte }
                if first == last { return found }
            } else {
                work += 1
                if values[first][length] != byte { return found }
            }
            length += 1
        }
    }

    /// The first number for which it is so, which it is for all behind that.
    private static func first(_ range: Range<Int>, where isSo: (Int) -> Bool) -> Int {
        var (low, high) = (range.lowerBound, range.upperBound)
        while low < high {
            let middle = (low + high) / 2
            if isSo(middle) { high = middle } else { low = middle + 1 }
        }
        return low
    }

    /// Whether `bytes` hold what stands for a masked value.
    static func holdsReplacement(_ bytes: [UInt8]) -> Bool {
        let mark = Array("\(NameMask.replacement)".utf8)
        return bytes.indices.dropLast(mark.count - 1).contains { bytes[$0..<$0 + mark.count].elementsEqual(mark) }
    }
}

/// What the console hides of texts that no exchange is: what comes out where somebody tries a route.
package enum ForeignValues {
    /// `bytes` with a replacement for each of `values`, however that is spelled there, and how many these are.
    package static func hide(_ values: [String], in bytes: [UInt8]) -> (bytes: [UInt8], count: Int) {
        Secrets(values.map { Array($0.utf8) }).hide(in: bytes)
    }
}
