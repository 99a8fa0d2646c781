internal import Proxy

/// Reads how an upstream wants bodies framed, and where they wait until their length is known.
struct UpstreamFramingReader {
    let context: ReadingContext
    /// What the bodies of all upstreams may be on disk; nil where that could not be read.
    let total: SectionReader.Bound<Int>?

    /// Takes `framing` and `spool` of the upstream that `section` describes.
    func read(_ section: SectionReader, into upstream: inout UpstreamSettings) {
        let failures = context.failures
        section.knows("framing", "spool")
        section.word("framing", into: &upstream.framing)
        // A word that can't be read may be another one.
        if upstream.framing == .chunked, context.failures == failures {
            return section.refuse("spool", "isn't used with \"framing: chunked\": remove one of them")
        }
        var settings = upstream.spool
        let isWritten = section.remaining.contains { $0.key == "spool" }
        let spool = section.part("spool")
        settings.memory = spool.size("memory", standard: Sourced(settings.memory), from: 0).value
        settings.disk =
            spool.bounded("disk", standard: settings.disk, by: total, describe: Units.describe(bytes:)) {
                context.size($0, $1, from: 0)
            }.value
        settings.directory =
            spool.value("dir", standard: Sourced(standardFolder), describe: { $0 }, read: folder).value
        if settings.memory == 0, settings.disk == 0 {
            context.report(spool.position, "\"spool\" has neither memory nor disk: give one of them a size")
        }
        spool.finish()
        // One that was not written is looked at too: it is where the bodies go. What "auto" would use it for does without.
        if upstream.framing != .auto || isWritten, settings.disk > 0, !context.environment.lacksSecrets,
            let reason = context.environment.folderFault(settings.directory)
        {
            context.report(
                spool.position, "the folder of spooled bodies, \(settings.directory), \(reason)")
        }
        upstream.spool = settings
    }

    private var standardFolder: String {
        let chosen = (try? context.environment.variable("TMPDIR")) ?? ""
        return chosen.hasPrefix("/") ? chosen : "/tmp"
    }

    private func folder(_ node: SettingsNode, _ what: String) -> String? {
        guard let text = context.text(node, what) else { return nil }
        guard text.hasPrefix("/") else {
            context.report(node.position, "\(what) is the path of a folder from the root on, as in /var/spool/recast")
            return nil
        }
        return text
    }
}
