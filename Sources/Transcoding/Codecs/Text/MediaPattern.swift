internal import Octets

/// One media type, or all of one kind: `application/pdf`, `image/*`, `*/*`, `+json` (RFC 6839).
public struct MediaPattern: Hashable, Sendable, CustomStringConvertible {
    /// In lower case, without parameters.
    public let text: String
    private let type: [UInt8]?
    private let subtype: [UInt8]?
    /// What the subtype ends with, where that alone counts.
    private var suffix: [UInt8] = []

    /// As it is written, in lower case.
    public var description: String { text }

    /// Nil when `text` is none of the four forms.
    public init?(_ text: String) {
        if text.hasPrefix("+") {
            guard Self.isToken(text.dropFirst()), !text.dropFirst().contains("+") else { return nil }
            self.text = text.lowercased()
            suffix = Array(self.text.utf8)
            (type, subtype) = (nil, nil)
            return
        }
        let halves = text.lowercased().split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2, halves.allSatisfy({ $0 == "*" || Self.isToken($0) }) else { return nil }
        guard halves[0] != "*" || halves[1] == "*" else { return nil }
        self.text = text.lowercased()
        type = halves[0] == "*" ? nil : Array(halves[0].utf8)
        subtype = halves[1] == "*" ? nil : Array(halves[1].utf8)
    }

    private static func isToken(_ text: Substring) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { ASCII.isToken($0) && $0 != UInt8(ascii: "*") }
    }

    /// Whether the value of a Content-Type, parameters and all, is of this kind.
    internal func matches(_ value: Span<UInt8>) -> Bool {
        guard let end = ContentType.endOfMediaType(in: value),
            let slash = Scan.firstIndex(of: UInt8(ascii: "/"), in: value)
        else { return false }
        if let type, !value.extracting(0..<slash).isLowercased(type) { return false }
        if let subtype, !value.extracting(slash + 1..<end).isLowercased(subtype) { return false }
        guard !suffix.isEmpty else { return true }
        let start = end - suffix.count
        return start > slash + 1 && value.extracting(start..<end).isLowercased(suffix)
    }
}

extension Span where Element == UInt8 {
    /// Whether the text is `word`, which is in lower case, in any case.
    internal func isLowercased(_ word: [UInt8]) -> Bool {
        guard count == word.count else { return false }
        for index in indices where ASCII.lowercased(self[index]) != word[index] { return false }
        return true
    }
}
