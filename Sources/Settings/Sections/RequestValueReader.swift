internal import Gateway
internal import Proxy

/// Reads values that may be taken from the request: `${header.x-tenant}`, `${path.id}`, `${query.q}`, `${client.ip}`.
final class RequestValueReader {
    enum Value: Hashable {
        case text(String)
        case source(SourceReference)
    }

    private let context: ReadingContext
    /// The variables of the route's path; nil when the path could not be read.
    private let variables: [String?]?
    /// The sources so far, each once; a conversion's assignments count by them.
    private(set) var sources: [SourceReference] = []

    /// Whether this is under "defaults", where no path is known.
    private let isDefault: Bool
    /// What may stand here, for the message that something may not.
    private let known: String?
    /// Whether that may be a part of the client's certificate.
    private let takesCertificate: Bool

    init(
        _ context: ReadingContext, variables: [String?]?, isDefault: Bool = false, takesCertificate: Bool = false,
        sources known: String? = nil
    ) {
        self.context = context
        self.variables = variables
        self.isDefault = isDefault
        self.takesCertificate = takesCertificate
        self.known = known
    }

    /// What may be taken of a client's certificate, as messages have it.
    static let certificateParts = CertificatePart.allCases.map { "${client.certificate.\($0.rawValue)}" }

    /// What may be taken, as messages have it.
    static let taken = ["${header.NAME}", "${path.NAME}", "${query.NAME}", "${client.ip}"]

    /// The index of a source among `sources`.
    func index(of source: SourceReference) -> Int {
        if let index = sources.firstIndex(of: source) { return index }
        sources.append(source)
        return sources.count - 1
    }

    func value(_ node: SettingsNode, _ what: String) -> Value? {
        guard let pieces = context.pieces(node, what, sources: Self.taken) else { return nil }
        var mix: [SourceReference.Piece] = []
        for piece in pieces {
            switch piece {
            case .literal(let text): mix.append(.literal(text))
            case .reference(let kind, let name, _, let offset):
                let position = context.position(in: node, offset: offset)
                guard let source = source(kind, name, position, what) else { return nil }
                mix.append(.source(source))
            }
        }
        switch mix.count {
        case 0: return .text("")
        case 1:
            switch mix[0] {
            case .literal(let text): return .text(text)
            case .source(let source): return .source(source)
            }
        default: return .source(.literalMix(mix))
        }
    }

    private func source(
        _ kind: String, _ name: String, _ position: SettingsNode.Position, _ what: String
    ) -> SourceReference? {
        switch kind {
        case "header":
            if HeaderName.isValid(name) { return .header(name.lowercased()) }
            context.report(position, "\"\(name)\" is no name of a header", isCertain: true)
        case "query": return .query(name)
        case "client":
            if name == "ip" { return .clientAddress }
            let part = name.hasPrefix("certificate.") ? CertificatePart(rawValue: String(name.dropFirst(12))) : nil
            if let part, takesCertificate { return .clientCertificate(part) }
            let known =
                takesCertificate
                ? "${client.ip}, \(Self.certificateParts.joined(separator: ", ")) are known"
                : "only ${client.ip} is known\(part == nil ? "" : " here; its certificate can be named in \"headers\"")"
            context.report(position, "of the client \(known)", isCertain: true)
        case "path": return variable(name, position).map { .path($0, name) }
        default:
            context.report(
                position, "\(what) takes no ${\(kind).\(name)}" + (known.map { ": \($0)" } ?? ""), isCertain: true)
        }
        return nil
    }

    /// The index of a variable of the route's path.
    func variable(_ name: String, _ position: SettingsNode.Position) -> Int? {
        if isDefault {
            context.report(
                position, "${path.\(name)} is of a route's path: write this in the route", isCertain: true)
            return nil
        }
        guard let variables else { return nil }
        if let index = variables.firstIndex(of: name) { return index }
        let known = variables.compactMap(\.self)
        let hint =
            known.isEmpty
            ? "write it there as a segment, as in /orders/{\(name)}" : NearestWord.hint(for: name, among: known)
        context.report(position, "the route's path has no variable \"\(name)\": \(hint)", isCertain: true)
        return nil
    }
}

/// The names of header fields.
enum HeaderName {
    /// RFC 9110 §5.1: a token.
    static func isValid(_ name: String) -> Bool {
        !name.isEmpty
            && name.unicodeScalars.allSatisfy {
                $0.isASCII
                    && ($0.properties.isAlphabetic || "0123456789!#$%&'*+-.^_`|~".unicodeScalars.contains($0))
            }
    }
}
