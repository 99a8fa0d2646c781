public import EventLoop

/// The peers whose word about the client is believed: networks, and unix sockets as one.
public struct TrustedPeers: Hashable, Sendable {
    /// Whether all that connect to a unix socket are trusted.
    public var unix = false
    public var networks: [Network] = []

    public init() {}

    public var isEmpty: Bool { !unix && networks.isEmpty }

    /// Whether the peer at `address` is one of them.
    public func contains(_ address: SocketAddress) -> Bool {
        if address.isUnix { return unix }
        for network in networks where network.contains(address) { return true }
        return false
    }

    /// Addresses with a common prefix: `10.0.0.0/8`, `fd00::/8`, or a single address.
    public struct Network: Hashable, Sendable {
        private let isIPv4: Bool
        private let high: UInt64
        private let low: UInt64
        /// Bits of the prefix, of 128; an IPv4 address is the last 32.
        private let bits: Int

        /// Reads `address/bits`, or an address alone. nil when it is neither, or when bits behind the prefix are set.
        public init?(parsing text: String) {
            let slash = text.firstIndex(of: "/")
            guard let address = SocketAddress.parseHost(String(text[..<(slash ?? text.endIndex)]), port: 0) else {
                return nil
            }
            let whole = address.isIPv4 ? 32 : 128
            var prefix = whole
            if let slash {
                let digits = String(text[text.index(after: slash)...])
                guard let number = Int(digits), String(number) == digits, (0...whole).contains(number) else {
                    return nil
                }
                prefix = number
            }
            isIPv4 = address.isIPv4
            (high, low) = Self.numbers(address)
            bits = prefix + 128 - whole
            let mask = Self.mask(bits)
            guard high & ~mask.high == 0, low & ~mask.low & (isIPv4 ? 0xFFFF_FFFF : .max) == 0 else { return nil }
        }

        func contains(_ address: SocketAddress) -> Bool {
            let address = address.unmapped
            guard address.isIPv4 == isIPv4 else { return false }
            let (high, low) = Self.numbers(address)
            let mask = Self.mask(bits)
            return (high ^ self.high) & mask.high == 0 && (low ^ self.low) & mask.low == 0
        }

        private static func numbers(_ address: SocketAddress) -> (high: UInt64, low: UInt64) {
            if let four = address.ipv4 { return (0, UInt64(four)) }
            return address.ipv6 ?? (0, 0)
        }

        private static func mask(_ bits: Int) -> (high: UInt64, low: UInt64) {
            bits <= 64 ? (bits == 0 ? 0 : .max << UInt64(64 - bits), 0) : (.max, .max << UInt64(128 - bits))
        }
    }
}
