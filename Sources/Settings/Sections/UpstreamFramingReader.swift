internal import Proxy

/// Reads how an upstream wants bodies framed, and where they wait until their length is known.
struct UpstreamFramingReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes `framing` and `spool` of the upstream that `section` describes.
    func read(_ section: SectionReader, into upstream: inout UpstreamSettings) {
        let failures = context.failures
        section.word("framing", into: &upstream.framing)
        // A word that can't be read may be that one.
        guard upstream.framing == .length || context.failures > failures else {
            return section.refuse("spool", "is used with \"framing: length\" only: add that, or remove it")
        }
        let spool = section.part("spool")
        var settings = upstream.spool
        settings.memory = spool.size("memory", standard: Sourced(settings.memory), from: 0).value
        settings.disk = spool.size("disk", standard: Sourced(settings.disk), from: 0).value
        settings.directory =
            spool.value("dir", standard: Sourced(standardFolder), describe: { $0 }, read: folder).value
        if settings.memory == 0, settings.disk == 0 {
            context.report(spool.position, "\"spool\" has neither memory nor disk: give one of them a size")
        }
        spool.finish()
        // One that was not written is looked at too: it is where the bodies go.
        if settings.disk > 0, !context.environment.lacksSecrets,
            let reason = context.environment.folderFault(settings.directory)
        {
            context.report(
                spool.position, "the folder of spooled bodies, \(settings.directory), \(reason)")
        }
        upstream.spool = settings
    }

    private var standardFolder: String {
        let chosen = context.environment.variable("TMPDIR") ?? ""
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
