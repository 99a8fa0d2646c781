package import HTTPWire
internal import Octets
internal import Signatures

/// The fields by which a route tells whether a request may come, where it passes names with `_`.
///
/// Servers of the CGI family read `svix_id` as `svix-id`: such a field would stand beside the one that was looked at, or in its place,
/// and nobody has looked at it.
package struct GuardedFields: Sendable {
    /// In lower case.
    private let names: [[UInt8]]

    /// Nil where there are none to guard: nothing is looked at, or no such name passes.
    init?(_ verification: RequestVerification?, _ authorization: RequestAuthorization?, _ underscores: UnderscoreRule) {
        guard underscores == .pass, verification != nil || authorization != nil else { return nil }
        let names = (verification?.options.scheme.readNames ?? []) + (authorization?.fieldNames ?? [])
        self.names = names.map { Array($0.lowercased().utf8) }
    }

    /// Whether a field of the request has a name with `_` for that of a field which is looked at, or which the request has as well: a
    /// signature by RFC 9421 covers whatever it likes.
    package func areImitated(in head: borrowing MessageHead) -> Bool {
        for line in 0..<head.fieldCount where head.hasUnderscore(line) {
            for name in names where Self.isImitation(head.name(line), of: name.span) { return true }
            for other in 0..<head.fieldCount where !head.hasUnderscore(other) {
                if Self.isImitation(head.name(line), of: head.name(other)) { return true }
            }
        }
        return false
    }

    private static func isImitation(_ name: Span<UInt8>, of other: Span<UInt8>) -> Bool {
        guard name.count == other.count else { return false }
        for index in name.indices where folded(name[index]) != folded(other[index]) { return false }
        return true
    }

    private static func folded(_ byte: UInt8) -> UInt8 {
        byte == UInt8(ascii: "_") ? UInt8(ascii: "-") : ASCII.lowercased(byte)
    }
}
