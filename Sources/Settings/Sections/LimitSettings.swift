internal import ContentCoding
internal import Gateway
internal import Proxy
internal import Transcoding

/// The limits of a route as settings. Each key is read here and nowhere else.
struct LimitSettings {
    private enum Kind {
        case size
        case count(ClosedRange<Int>)
    }

    private struct Key {
        var name: String
        var limit: any WritableKeyPath<Limits, Int> & Sendable
        var kind: Kind
    }

    /// Depths are bounded because documents are walked by recursion in places; a boundary by RFC 2046 §5.1.1.
    private static let keys: [Key] = [
        Key(name: "body", limit: \.body, kind: .size),
        Key(name: "tree", limit: \.tree, kind: .size),
        Key(name: "fields", limit: \.fields, kind: .count(1...1_000_000)),
        Key(name: "field", limit: \.field, kind: .size),
        Key(name: "depth", limit: \.depth, kind: .count(1...1000)),
        Key(name: "key_depth", limit: \.keyDepth, kind: .count(1...1000)),
        Key(name: "key", limit: \.key, kind: .size),
        Key(name: "number", limit: \.number, kind: .size),
        Key(name: "parts", limit: \.parts, kind: .count(1...1_000_000)),
        Key(name: "part_headers", limit: \.partHeaders, kind: .count(1...1000)),
        Key(name: "part_header_line", limit: \.partHeaderLine, kind: .size),
        Key(name: "part_header_bytes", limit: \.partHeaderBytes, kind: .size),
        Key(name: "preamble", limit: \.preamble, kind: .size),
        Key(name: "boundary", limit: \.boundary, kind: .count(1...70)),
    ]

    /// The limits that hold where nothing is written, in the order of the keys.
    private static let standards = keys.map { Limits()[keyPath: $0.limit] }

    /// What a route can limit, for those who look for it at the top of the file.
    static var routeKeys: [String] { keys.map(\.name) + RouteKey.allCases.map(\.rawValue) }

    /// The keys of a route that are no limits of a conversion.
    private enum RouteKey: String, CaseIterable { case response, decompressed, ratio, signed }

    private var values: [Sourced<Int>]
    /// Bytes of a converted response that are held: a route's, and no limit of the conversion itself.
    private var response: Sourced<Int>?
    /// The same: what is undone of a content coding isn't the conversion's to count.
    private var decompressed = Sourced(CodingLimits().decompressed)
    private var ratio = Sourced(CodingLimits().ratio)
    /// Bytes of content that are held until its signature is known.
    private var signed = Sourced(RequestVerification.standardLimit)

    /// The limits that hold where nothing is written. `response` is that of a route; nil where there is none.
    init(standard: Limits = Limits(), response: Int? = nil) {
        values = Self.keys.map { Sourced(standard[keyPath: $0.limit]) }
        self.response = response.map { Sourced($0) }
    }

    /// Takes what `section` says and keeps the rest.
    mutating func read(_ section: SectionReader) {
        let failures = section.context.failures
        let heads = section.remaining.filter { $0.key.hasPrefix("part_header_") }.map(\.value)
        let line = section.remaining.first { $0.key == "part_header_line" }?.value
        for (index, key) in Self.keys.enumerated() {
            values[index] =
                switch key.kind {
                case .size: section.size(key.name, standard: values[index])
                case .count(let range): section.count(key.name, standard: values[index], in: range)
                }
        }
        if let line, section.context.failures == failures, !heads.contains(where: section.context.isUnresolved) {
            // A longer line would pass the other limit.
            let bound = SectionReader.Bound(key: "part_header_bytes", value: limits.partHeaderBytes)
            _ = section.bounded(
                limits.partHeaderLine, line, "\"part_header_line\"", by: bound, describe: Units.describe(bytes:))
        }
        if let standard = response {
            for key in RouteKey.allCases {
                switch key {
                case .response: response = section.size(key.rawValue, standard: standard)
                case .decompressed: decompressed = section.size(key.rawValue, standard: decompressed)
                case .ratio: ratio = section.count(key.rawValue, standard: ratio, in: 1...1_000_000)
                case .signed: signed = section.size(key.rawValue, standard: signed)
                }
            }
        }
        for key in ["request_line", "head", "field_line", "header_fields"] {
            section.refuse(key, "holds before a route is known: write it under \"limits\" at the top of the file")
        }
        section.finish()
    }

    /// The limit of a converted response.
    var responseLimit: Int { response?.value ?? Route.standardResponseLimit }

    /// The limit of content that is verified.
    var signedLimit: Int { signed.value }

    /// The limits of bodies with a content coding.
    var codingLimits: CodingLimits {
        var limits = CodingLimits()
        limits.decompressed = decompressed.value
        limits.ratio = ratio.value
        return limits
    }

    var limits: Limits {
        var limits = Limits()
        // What was not written stays unset: a dialect may have a number of its own.
        for (index, value) in values.enumerated()
        where value.origin != .standard || value.value != Self.standards[index] {
            limits[keyPath: Self.keys[index].limit] = value.value
        }
        return limits
    }
}
