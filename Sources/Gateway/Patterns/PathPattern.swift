internal import HTTPWire
internal import Octets

/// A path that a route is for: segments that are literal, one free segment (`*` or `{name}`), and perhaps a star at the
/// end that stands for all the rest.
///
/// Paths are compared after one round of percent-decoding; an escaped NUL, CR, LF, slash or backslash stays escaped and
/// so never equals the character it stands for.
public struct PathPattern: Hashable, Sendable {
    enum Segment: Hashable, Sendable {
        case literal(PathLiteral)
        /// Any segment that is not empty.
        case any
    }

    /// Free segments in one pattern at most, the star at the end included.
    public static let maximumVariables = 8
    /// The name of what the star at the end stands for.
    public static let restName = "*"

    /// As written.
    public let text: String
    /// Between the slashes, the first one not counted: `/a/` has `a` and the empty segment.
    let segments: [Segment]
    /// What the text behind the last slash begins with when a star ends the pattern: empty in `/a/*`, `v` in `/a/v*`.
    let rest: PathLiteral?
    /// The names of the free segments in order, nil for a nameless one.
    public let variables: [String?]

    /// Reads a pattern: `/`, `/api/orders/{id}`, `/a/*/b`, `/static/*`, `/v1*`.
    public init(parsing text: String) throws(PatternFault) {
        self.text = text
        let bytes = Array(text.utf8)
        guard bytes.first == UInt8(ascii: "/") else { throw PatternFault("a path begins with a slash", at: 0) }
        if let at = bytes.firstIndex(where: { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "#") }) {
            throw PatternFault("a path is matched without its query", at: at)
        }
        var segments: [Segment] = []
        var variables: [String?] = []
        var rest: PathLiteral?
        var start = 1
        while start <= bytes.count {
            let end = bytes[start...].firstIndex(of: UInt8(ascii: "/")) ?? bytes.count
            let segment = bytes[start..<end]
            if segment.first == UInt8(ascii: "{") {
                let name = try Self.variableName(segment)
                if variables.contains(name) { throw PatternFault("the variable \(name) occurs twice", at: start) }
                variables.append(name)
                segments.append(.any)
            } else if segment.last == UInt8(ascii: "*"), end == bytes.count {
                rest = try PathLiteral(parsing: segment.dropLast())
                variables.append(Self.restName)
            } else if segment.elementsEqual([UInt8(ascii: "*")]) {
                variables.append(nil)
                segments.append(.any)
            } else {
                segments.append(.literal(try PathLiteral(parsing: segment)))
            }
            start = end + 1
        }
        if variables.count > Self.maximumVariables {
            throw PatternFault("a path has at most \(Self.maximumVariables) variables and stars", at: 0)
        }
        self.segments = segments
        self.rest = rest
        self.variables = variables
    }

    private static func variableName(_ segment: ArraySlice<UInt8>) throws(PatternFault) -> String {
        guard segment.last == UInt8(ascii: "}") else {
            throw PatternFault("a variable is a whole segment, as in /orders/{id}", at: segment.startIndex)
        }
        let name = segment.dropFirst().dropLast()
        func isWord(_ byte: UInt8) -> Bool { ASCII.isAlpha(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "_") }
        guard !name.isEmpty, name.allSatisfy(isWord) else {
            throw PatternFault("a variable's name has letters, digits and _ only", at: segment.startIndex)
        }
        return String(decoding: name, as: UTF8.self)
    }

    /// Whether it holds a dot segment, in any spelling.
    public var hasDotSegment: Bool { DotSegment.first(in: text.utf8Span.span) != nil }

    /// Whether two slashes stand behind each other in it.
    public var hasEmptySegment: Bool { text.contains("//") }

    /// Whether every path that `other` takes is taken here too.
    func covers(_ other: PathPattern) -> Bool {
        for (index, segment) in segments.enumerated() {
            guard index < other.segments.count else { return false }
            switch (segment, other.segments[index]) {
            case (.literal(let mine), .literal(let theirs)): if mine != theirs { return false }
            case (.literal, .any): return false
            case (.any, .literal(let theirs)): if theirs.isEmpty { return false }
            case (.any, .any): break
            }
        }
        guard let rest else { return other.segments.count == segments.count && other.rest == nil }
        if other.segments.count == segments.count { return other.rest?.hasPrefix(rest) ?? false }
        if rest.isEmpty { return true }
        if case .literal(let next) = other.segments[segments.count] { return next.hasPrefix(rest) }
        return false
    }
}

extension PathPattern: CustomStringConvertible {
    public var description: String { text }
}

/// Bytes of a path after one round of percent-decoding, with those apart that stay escaped.
struct PathLiteral: Hashable, Sendable {
    /// A byte, or 0x100 and the byte where it stays escaped.
    let units: [UInt16]

    /// Marks a byte that is not taken for the character it stands for.
    private static let escaped: UInt16 = 0x100

    static let empty = PathLiteral(units: [])

    var isEmpty: Bool { units.isEmpty }

    init(units: [UInt16]) { self.units = units }

    init(parsing bytes: ArraySlice<UInt8>) throws(PatternFault) {
        var units: [UInt16] = []
        let slice = Array(bytes)
        var at = 0
        while at < slice.count {
            switch slice[at] {
            case UInt8(ascii: "*"):
                throw PatternFault("a star stands for a whole segment or ends the path", at: bytes.startIndex + at)
            case UInt8(ascii: "{"), UInt8(ascii: "}"):
                throw PatternFault("a variable is a whole segment, as in /orders/{id}", at: bytes.startIndex + at)
            default: break
            }
            guard let unit = Self.next(slice.span, &at) else {
                throw PatternFault("a percent sign needs two hexadecimal digits", at: bytes.startIndex + at)
            }
            units.append(unit)
        }
        self.units = units
    }

    func hasPrefix(_ prefix: PathLiteral) -> Bool { units.starts(with: prefix.units) }

    /// The unit at `at`, which moves behind it; nil, and nothing moves, at a percent sign without its digits.
    @inline(__always)
    private static func next(_ path: Span<UInt8>, _ at: inout Int) -> UInt16? {
        let byte = path[at]
        guard byte == UInt8(ascii: "%") else {
            at += 1
            return UInt16(byte)
        }
        guard at + 2 < path.count, let high = ASCII.hexValue(path[at + 1]), let low = ASCII.hexValue(path[at + 2])
        else {
            return nil
        }
        at += 3
        let value = high << 4 | low
        return switch value {
        case 0x00, 0x0A, 0x0D, UInt8(ascii: "/"), UInt8(ascii: "\\"): Self.escaped | UInt16(value)
        default: UInt16(value)
        }
    }

    /// As above; a percent sign without its digits is a byte like any other, where such are let in at all.
    @inline(__always)
    static func nextOrByte(_ path: Span<UInt8>, _ at: inout Int) -> UInt16 {
        if let unit = next(path, &at) { return unit }
        at += 1
        return UInt16(UInt8(ascii: "%"))
    }

    /// Where the literal that has these units ends in `path` when it stands at `start`, else nil.
    static func end(of units: Span<UInt16>, in path: Span<UInt8>, from start: Int, to limit: Int) -> Int? {
        var at = start
        for index in units.indices {
            guard at < limit, nextOrByte(path, &at) == units[index] else { return nil }
        }
        return at
    }

    /// The offset of a percent sign without two hexadecimal digits, or nil.
    static func malformedEscape(in path: Span<UInt8>) -> Int? {
        var at = 0
        while let sign = Scan.firstIndex(of: UInt8(ascii: "%"), in: path, from: at) {
            at = sign
            if next(path, &at) == nil { return sign }
        }
        return nil
    }

    /// A hash of the units of `path` in `range`: FNV-1a, the same for equal segments however they are escaped.
    static func hash(_ path: Span<UInt8>, _ range: Range<Int>) -> UInt64 {
        var hash = FNV1a()
        var at = range.lowerBound
        while at < range.upperBound {
            hash.combine(nextOrByte(path, &at))
        }
        return hash.value
    }

    /// The same hash of this literal.
    var hash: UInt64 {
        units.reduce(into: FNV1a()) { $0.combine($1) }.value
    }
}
