internal import ContentCoding
internal import Gateway
internal import Proxy

/// Reads what a route says of content codings, in the route or in "defaults".
struct CodingReader {
    let context: ReadingContext

    /// Takes what `section` says and keeps the rest of `options`.
    func read(_ section: SectionReader, into options: inout CodingOptions) {
        readCodings(section, into: &options)
        readCompress(section, into: &options)
    }

    /// Reports a "compress" in a route that has nothing to compress. `member` is where the route says so itself.
    func checkUse(_ member: SettingsNode.Member?, of options: CodingOptions, responses: [ResponseRule]) {
        guard let member, let compress = options.compress, !compress.plain, !context.isUnresolved(member.value) else {
            return
        }
        let converts = responses.contains { if case .convert = $0.action { true } else { false } }
        if converts { return }
        context.report(
            member.position,
            "\"compress\" is for converted responses, and this route converts none: write compress: {plain: true} to "
                + "compress those that it passes on")
    }

    // MARK: codings: off | [gzip, br] | {undo: …, ask: true}

    private func readCodings(_ section: SectionReader, into options: inout CodingOptions) {
        var origin = EffectiveValue.Origin.standard
        var originOfAsk = origin
        if let node = section.take("codings") {
            if case .mapping = node.content {
                guard let part = SectionReader(node, "\"codings\"", path: "codings", context) else { return }
                var isInherited = true
                if let node = part.take("undo"), let undo = undone(node, "\"undo\"") {
                    options.undone = undo
                    origin = .line(node.position.line)
                    isInherited = false
                }
                if let node = part.take("ask"), let asks = context.bool(node, "\"ask\"") {
                    options.asks = asks
                    originOfAsk = .line(node.position.line)
                    if asks, options.undone.isEmpty {
                        context.report(
                            node.position,
                            "\"ask\" is for codings that are undone, and "
                                + (isInherited
                                    ? "\"defaults\" undo none: say which, as in undo: gzip, or remove it"
                                    : "\"undo\" is off: remove one of them"))
                    }
                }
                part.finish()
            } else if let codings = undone(node, "\"codings\"") {
                options.undone = codings
                origin = .line(node.position.line)
            }
        }
        section.record("codings", options.undone.isEmpty ? "off" : Self.describe(options.undone), origin)
        section.record("codings.ask", "\(options.asks)", originOfAsk)
    }

    /// `off`, or codings. Nil when they can't be read.
    private func undone(_ node: SettingsNode, _ what: String) -> [Coding]? {
        if context.saysOff(node, what) { return [] }
        if case .scalar = node.content, let text = context.text(node, what), Coding(rawValue: text) == nil {
            let words = Coding.allCases.map(\.rawValue) + ["off"]
            context.report(node.position, "\(what) is not \"\(text)\": \(NearestWord.hint(for: text, among: words))")
            return nil
        }
        return codings(node, what)
    }

    private func codings(_ node: SettingsNode, _ what: String) -> [Coding]? {
        let words = Coding.allCases.map(\.rawValue)
        var codings: [Coding] = []
        for element in context.elements(node, what) ?? [] {
            guard let word = context.word(element, what, among: words), let coding = Coding(rawValue: word) else {
                return nil
            }
            if codings.contains(coding) { context.report(element.position, "\(what) has \"\(word)\" twice") }
            codings.append(coding)
        }
        return codings.isEmpty ? nil : codings
    }

    // MARK: compress: true | false | {codings, min, types, level, plain}

    private func readCompress(_ section: SectionReader, into options: inout CodingOptions) {
        let node = section.take("compress")
        let origin = node.map { EffectiveValue.Origin.line($0.position.line) } ?? .standard
        var part = SectionReader.absent("\"compress\"", path: "compress", context)
        if let node, case .mapping = node.content {
            options.compress = options.compress ?? CompressOptions()
            part = SectionReader(node, "\"compress\"", path: "compress", context) ?? part
        } else if let node, let isOn = isOn(node) {
            options.compress = isOn ? options.compress ?? CompressOptions() : nil
        }
        if var compress = options.compress {
            read(part, into: &compress)
            options.compress = compress
        }
        section.record("compress", options.compress.map { Self.describe($0.codings) } ?? "off", origin)
    }

    /// `true`, `false` or `off`. Codings alone are told where they go.
    private func isOn(_ node: SettingsNode) -> Bool? {
        var words: [String] = []
        switch node.content {
        case .sequence(let elements):
            for element in elements { if case .scalar(let text, _) = element.content { words.append(text) } }
        default:
            guard let text = context.text(node, "\"compress\"") else { return nil }
            switch text {
            case "true": return true
            case "false", "off": return false
            default: words = [text]
            }
        }
        let areCodings = !words.isEmpty && words.allSatisfy { Coding(rawValue: $0) != nil }
        let example = areCodings ? words.joined(separator: ", ") : "gzip"
        context.report(
            node.position,
            "\"compress\" is true, off or a mapping, not \(node.kind == "a list" ? "a list" : "\"\(words[0])\""): write compress: "
                + "{ codings: [\(example)] }")
        return nil
    }

    private func read(_ section: SectionReader, into compress: inout CompressOptions) {
        if let node = section.take("codings"), let codings = codings(node, "\"codings\"") {
            compress.codings = codings
        }
        compress.least = section.size("min", standard: Sourced(compress.least)).value
        compress.types =
            section.value(
                "types", standard: Sourced(compress.types),
                describe: Self.describe,
                read: { node, _ in types(node) }
            ).value
        compress.level =
            section.value(
                "level", standard: Sourced(compress.level), describe: Self.describe,
                read: { node, what in context.count(node, what, in: 1...9).map { CodingLevel($0) } }
            ).value
        let plainNode = section.take("plain")
        if let plainNode, let plain = context.bool(plainNode, "\"plain\"") { compress.plain = plain }
        section.record("plain", "\(compress.plain)", plainNode.map { .line($0.position.line) } ?? .standard)
        section.finish()
    }

    private func types(_ node: SettingsNode) -> [ResponseTypePattern]? {
        var types: [ResponseTypePattern] = []
        for element in context.elements(node, "\"types\"") ?? [] {
            guard let text = context.text(element, "\"types\""),
                let type = context.pattern(text, element, ResponseTypePattern.init(parsing:))
            else { return nil }
            types.append(type)
        }
        return types
    }

    private static func describe(_ codings: [Coding]) -> String {
        codings.map(\.rawValue).joined(separator: ", ")
    }

    private static func describe(_ types: [ResponseTypePattern]) -> String {
        types == CompressOptions.standardTypes ? "what is text" : types.map(\.description).joined(separator: ", ")
    }

    private static func describe(_ level: CodingLevel) -> String {
        level.chosen.map(String.init) ?? "each coding's own"
    }
}
