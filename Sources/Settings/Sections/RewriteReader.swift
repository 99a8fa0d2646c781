internal import Gateway
internal import HTTPWire
internal import Proxy

/// Reads `rewrite`: a path, or a path and parameters of the query.
struct RewriteReader {
    let context: ReadingContext
    let values: RequestValueReader

    func read(_ node: SettingsNode) -> Rewrite? {
        if case .scalar = node.content {
            context.record("rewrite.path", text(of: node), .line(node.position.line))
            return Rewrite(path: path(node))
        }
        guard let section = SectionReader(node, "\"rewrite\"", path: "rewrite", context) else { return nil }
        var rewrite = Rewrite()
        if let node = section.take("path") {
            rewrite.path = path(node)
            section.record("path", text(of: node), .line(node.position.line))
        }
        if let node = section.take("query"), let query = SectionReader(node, "\"query\"", context) {
            for member in query.remaining {
                guard let value = values.value(member.value, "the parameter \"\(member.key)\"") else { continue }
                let source: SourceReference
                switch value {
                case .text(let text): source = .literalMix([.literal(text)])
                case .source(let reference): source = reference
                }
                rewrite.query.append(.init(name: member.key, value: source))
                section.record("query.\(member.key)", text(of: member.value), .line(member.position.line))
            }
        }
        section.finish()
        return rewrite
    }

    private func text(of node: SettingsNode) -> String {
        if case .scalar(let text, _) = node.content { return text }
        return ""
    }

    private func path(_ node: SettingsNode) -> [Rewrite.PathPiece] {
        guard let pieces = context.pieces(node, "the path of \"rewrite\"", sources: ["${path.NAME}"]) else { return [] }
        var path: [Rewrite.PathPiece] = []
        if pieces.isEmpty { context.report(node.position, "a path begins with a slash") }
        for (index, piece) in pieces.enumerated() {
            switch piece {
            case .literal(let text):
                guard check(text, isFirst: index == 0, node) else { return [] }
                path.append(.literal(text))
            case .reference(let kind, let name, let separator, let offset):
                let position = context.position(in: node, offset: offset)
                guard kind == "path" else {
                    context.report(
                        position, "a path takes variables of the route's path only, not ${\(kind)\(separator)\(name)}",
                        isCertain: true)
                    return []
                }
                if index == 0 { context.report(node.position, "a path begins with a slash") }
                guard let variable = values.variable(name, position) else { return [] }
                path.append(.variable(variable))
            }
        }
        let literals = path.map { if case .literal(let text) = $0 { text } else { "x" } }.joined()
        if DotSegment.first(in: literals.utf8Span.span) != nil {
            context.report(node.position, "a rewritten path has no dot segments: write the path that they lead to")
        }
        return path
    }

    /// A literal piece is copied into the target, so it holds what a target may hold (RFC 3986 §3.3).
    private func check(_ text: String, isFirst: Bool, _ node: SettingsNode) -> Bool {
        if isFirst, !text.hasPrefix("/") {
            context.report(node.position, "a path begins with a slash")
            return false
        }
        if text.contains("?") {
            context.report(
                node.position, "a rewritten query stands apart, as in rewrite: {path: /x, query: {name: value}}")
            return false
        }
        let bytes = Array(text.utf8)
        for (index, byte) in bytes.enumerated() {
            let isEscape =
                byte != UInt8(ascii: "%")
                || index + 2 < bytes.count && isHex(bytes[index + 1]) && isHex(bytes[index + 2])
            if !PercentText.mayHold(byte) || !isEscape {
                let scalar = text.unicodeScalars.first { !$0.isASCII }
                context.report(
                    node.position,
                    "a path can't hold \"\(byte < 0x80 ? Unicode.Scalar(byte) : scalar ?? " ")\": percent-encode it")
                return false
            }
        }
        return true
    }

    private func isHex(_ byte: UInt8) -> Bool { Unicode.Scalar(byte).properties.isASCIIHexDigit }
}
