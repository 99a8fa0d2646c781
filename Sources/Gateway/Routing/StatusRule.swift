internal import Octets
public import Transcoding

/// Takes a response's status from its body: services that answer 200 and say in an envelope what went wrong.
public struct StatusRule: Hashable, Sendable {
    /// What a value is compared with.
    public enum Key: Hashable, Sendable {
        /// The value's text, as it stands in the body: `0`, `E42`, `true`, `null`.
        case text([UInt8])
        /// Whole numbers.
        case range(ClosedRange<Int>)
        /// There is no such value.
        case missing
    }

    /// What a status becomes.
    public enum Outcome: Hashable, Sendable {
        /// This one: from 200 to 599, and one that content can come with.
        case status(Int)
        /// It stays the upstream's.
        case unchanged
    }

    public struct Entry: Hashable, Sendable {
        public var key: Key
        public var outcome: Outcome

        public init(_ key: Key, _ outcome: Outcome) {
            self.key = key
            self.outcome = outcome
        }
    }

    /// Where the value stands; without `*`.
    public var path: FieldPath
    /// Texts decide before ranges, and of these the first. Nil: the value itself is the status.
    public var map: [Entry]?
    /// What becomes of a status whose value says nothing: it isn't in `map`, or is no status.
    public var standard = Outcome.unchanged
    /// Bytes of a body, without its content coding, that are looked at; 64 KiB.
    public var look = StatusRule.standardLook
    /// What the body is read as, whatever its Content-Type; nil: what that says.
    public var encoding: BodyEncoding?

    /// Bytes of a body that are looked at where no setting says otherwise: 64 KiB.
    public static let standardLook = 64 * 1024
    /// The most that may be looked at: 1 MiB. It is held in memory.
    public static let longestLook = 1024 * 1024
    /// What a body can be read as.
    public static let encodings = BodyEncoding.values

    public init(path: FieldPath) {
        self.path = path
    }

    /// Why a response with content can't have that status; nil where it can.
    public static func fault(of status: Int) -> String? {
        if !(200...599).contains(status) { return "a status is from 200 to 599, not \(status)" }
        return switch status {
        case 204, 205, 304: "a response with status \(status) has no content, and this one has"
        case 206: "a response with status 206 is a range of another, and this one is whole"
        default: nil
        }
    }
}

extension StatusRule {
    /// What the value says; nil where it says nothing, so that `standard` holds.
    package func outcome(of value: ValueSearch.Value) -> Outcome? {
        guard let map else {
            guard case .text(let text) = value, text.count == 3, let status = Self.number(text),
                Self.fault(of: status) == nil
            else { return nil }
            return .status(status)
        }
        switch value {
        case .other: return nil
        case .missing: return map.first { $0.key == .missing }?.outcome
        case .text(let text):
            if let entry = map.first(where: { $0.key == .text(text) }) { return entry.outcome }
            guard let number = Self.number(text) else { return nil }
            for entry in map {
                if case .range(let range) = entry.key, range.contains(number) { return entry.outcome }
            }
            return nil
        }
    }

    /// Digits alone, at most 18.
    private static func number(_ text: [UInt8]) -> Int? {
        guard !text.isEmpty, text.count <= 18, text.allSatisfy(ASCII.isDigit) else { return nil }
        return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }
}

extension StatusRule.Key {
    /// A key as settings write it: `missing`, `40000-40099`, `4xx`, or a text.
    public init(parsing text: String) throws(PatternFault) {
        let bytes = Array(text.utf8)
        if text == "missing" {
            self = .missing
            return
        }
        if bytes.count == 3, bytes[1...] == [UInt8(ascii: "x"), UInt8(ascii: "x")], ASCII.isDigit(bytes[0]) {
            let first = Int(bytes[0] - UInt8(ascii: "0")) * 100
            self = .range(first...first + 99)
            return
        }
        let sides = bytes.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        if sides.count == 2, let first = StatusRule.number(Array(sides[0])),
            let last = StatusRule.number(Array(sides[1]))
        {
            guard first <= last else { throw PatternFault("the range \"\(text)\" ends before it begins", at: 0) }
            self = .range(first...last)
            return
        }
        self = .text(bytes)
    }
}

extension StatusRule.Key: CustomStringConvertible {
    /// As settings write it.
    public var description: String {
        switch self {
        case .text(let text): String(decoding: text, as: UTF8.self)
        case .range(let range): "\(range.lowerBound)-\(range.upperBound)"
        case .missing: "missing"
        }
    }
}

extension StatusRule.Outcome: CustomStringConvertible {
    /// As settings write it.
    public var description: String {
        switch self {
        case .status(let status): "\(status)"
        case .unchanged: "unchanged"
        }
    }
}

/// Makes an RFC 9457 problem of the envelope that an error comes in.
public struct ProblemRule: Hashable, Sendable {
    /// Where the problem's `detail` is taken from: the first of these that is a text or a number.
    public var detail = ProblemRule.usualDetails
    /// Where its `title` is taken from; nil, and where nothing is there: the status' phrase.
    public var title: FieldPath?
    /// A URI reference.
    public var type = "about:blank"
    /// Bytes of the envelope, without its content coding, which is held until it is whole; 64 KiB.
    public var look = StatusRule.standardLook
    /// What the body is read as, whatever its Content-Type; nil: what that says.
    public var encoding: BodyEncoding?

    public init() {}

    /// Members that say in words what went wrong, in the order in which they are asked.
    public static let usualDetails: [FieldPath] =
        [
            ["detail"], ["message"], ["error_description"], ["errmsg"], ["error_msg"], ["msg"], ["error", "message"],
            ["error", "detail"], ["error"], ["description"], ["reason"],
        ].map { FieldPath($0.map { .key(Array($0.utf8)) }) } + [
            FieldPath([.key(Array("errors".utf8)), .index(0), .key(Array("message".utf8))]),
            FieldPath([.key(Array("errors".utf8)), .index(0), .key(Array("detail".utf8))]),
            FieldPath([.key(Array("errors".utf8)), .index(0)]),
        ]
}
