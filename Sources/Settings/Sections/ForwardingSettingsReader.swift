internal import Gateway
internal import Proxy

/// Reads what holds for the heads of all routes, at the top of the file.
struct ForwardingSettingsReader {
    private enum Minor: String, CaseIterable {
        case accept, refuse = "505"
    }

    private enum Characters: String, CaseIterable {
        case lenient, strict
    }

    private enum Escapes: String, CaseIterable {
        case reject, pass
    }

    let context: ReadingContext

    /// Takes what the top of the file says.
    func read(_ section: SectionReader) -> ForwardingSettings {
        var settings = ForwardingSettings()
        settings.via = via(section, settings.via)
        settings.addsViaToResponses = section.bool("via_responses", standard: settings.addsViaToResponses)
        settings.loopLimit = section.count("loop_limit", standard: Sourced(settings.loopLimit), in: 1...100).value
        settings.trusted = trusted(section)
        settings.refusesLaterMinor = section.word("http_minor", standard: Minor.accept) == .refuse
        settings.refusesUnwiseBytes = section.word("target_characters", standard: Characters.lenient) == .strict
        settings.refusesBadPercent = section.word("malformed_escapes", standard: Escapes.reject) != .pass
        let paths = section.part("paths")
        paths.word("dot_segments", into: &settings.paths.dotSegments)
        paths.word("empty_segments", into: &settings.paths.emptySegments)
        paths.finish()
        return settings
    }

    /// RFC 9110 §7.6.3: a pseudonym is a token.
    private func via(_ section: SectionReader, _ standard: String?) -> String? {
        let off = "off"
        let name = section.value("via", standard: Sourced(standard ?? off), describe: { $0 }) { node, what in
            if context.saysOff(node, what) { return off }
            guard let text = context.name(node, what, instead: "off or a name") else { return nil }
            if HeaderName.isValid(text), text.utf8.count <= 64 { return text }
            context.report(
                node.position,
                "\(what) is off, or a name of at most 64 letters, digits and signs that a token has, not \"\(text)\"")
            return nil
        }
        return name.value == off ? nil : name.value
    }

    private func trusted(_ section: SectionReader) -> TrustedPeers {
        let describe = { (text: String) in text }
        var peers = TrustedPeers()
        _ = section.value("trusted", standard: Sourced("none"), describe: describe) { node, what in
            var words: [String] = []
            for element in context.elements(node, what) ?? [] {
                guard let text = context.text(element, what) else { continue }
                words.append(text)
                if text == "unix" {
                    peers.unix = true
                } else if let network = TrustedPeers.Network(parsing: text) {
                    peers.networks.append(network)
                } else {
                    context.report(
                        element.position,
                        "\"\(text)\" is no network: write one as in 10.0.0.0/8 or fd00::/8 (with no bit set behind the "
                            + "prefix), an address, or unix")
                }
            }
            return words.joined(separator: ", ")
        }
        return peers
    }
}
