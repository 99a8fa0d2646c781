package import HTTPWire
internal import Octets

/// A route's `ForwardingOptions`, prepared: what each request asks stands apart, so that nothing is copied.
package final class ForwardingRule: Sendable {
    package let format: ForwardedFormat
    package let realIP: Bool
    package let underscores: UnderscoreRule
    package let requiresLength: Bool
    /// The Expect field of a body that isn't converted goes on.
    package let forwardsExpect: Bool
    package let noTransform: NoTransformRule
    package let abortsOnHalfClose: Bool
    /// Names of trailer fields that pass; empty on routes that convert.
    package let trailers: [[UInt8]]
    package let passesTrailers: Bool
    /// Those of them that still hold when the content gets a coding: digests and tags are of the bytes that came.
    package let trailersOfCoded: [[UInt8]]
    /// Protocols that a connection may change to; empty on routes that convert.
    package let upgrades: [[UInt8]]
    /// Host of the request that goes upstream where it isn't the client's.
    package let host: HostRule
    package let replacesHost: Bool

    package init(_ options: ForwardingOptions, converts: Bool) {
        format = options.forwarded
        realIP = options.realIP
        underscores = options.underscores
        requiresLength = options.requiresLength
        forwardsExpect = options.expectContinue == .forward
        noTransform = options.noTransform
        abortsOnHalfClose = options.halfClose == .abort
        trailers = converts ? [] : options.trailers.map { Array($0.utf8) }
        passesTrailers = !trailers.isEmpty
        trailersOfCoded = trailers.filter { !PassedFields.isOfBytes($0.span) }
        upgrades = converts ? [] : (options.upgrade ?? ForwardingOptions.standardUpgrades).map { Array($0.utf8) }
        host = options.host
        replacesHost = options.host != .preserve
    }
}

extension MessageHead {
    /// How often Via says that a proxy named `pseudonym` has passed this message on (RFC 9110 §7.6.3).
    package func viaCount(of pseudonym: Span<UInt8>) -> Int {
        guard contains(.via) else { return 0 }
        var count = 0
        for line in 0..<fieldCount where known(line) == .via {
            let value = value(line)
            var start = 0
            while start < value.count {
                let member = ListMember.at(start, in: value)
                if Self.receivedBy(value.extracting(member.range)).isEqualIgnoringCase(to: pseudonym) { count += 1 }
                start = member.next
            }
        }
        return count
    }

    /// The name in `protocol RWS received-by [RWS comment]`; empty when there is none.
    @_lifetime(copy member)
    private static func receivedBy(_ member: Span<UInt8>) -> Span<UInt8> {
        func isSpace(_ index: Int) -> Bool { member[index] == ASCII.space || member[index] == ASCII.tab }
        var start = 0
        while start < member.count, !isSpace(start) { start += 1 }
        while start < member.count, isSpace(start) { start += 1 }
        var end = start
        while end < member.count, !isSpace(end) { end += 1 }
        return member.extracting(start..<end)
    }
}
