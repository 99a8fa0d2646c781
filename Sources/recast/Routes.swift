internal import ArgumentParser
internal import Gateway
internal import Proxy
internal import Settings

/// `recast routes`: what is in effect for each route, and where each value comes from.
struct Routes: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Print the routes in their order with every value in effect and where it comes from.")

    @Argument(help: "The settings file; - is standard input.", completion: .file())
    var file = SettingsPath.standard

    @OptionGroup var secrets: SecretsOption

    func run() throws {
        let loaded = try SettingsPath.load(file, secrets)
        var lines = rows(loaded.effective.map(loaded.redacted))
        for (route, values) in zip(loaded.settings.routes, loaded.effectiveOfRoutes) {
            lines += ["", route.name] + rows(values.map(loaded.redacted))
        }
        try StandardStreams.write(lines: lines)
    }

    /// The values in three columns.
    private func rows(_ values: [EffectiveValue]) -> [String] {
        // Escaped first, so that the columns stand below each other.
        let texts = values.map { (key: PlainText.line($0.key), value: PlainText.line($0.value)) }
        let keyWidth = texts.map(\.key.count).max() ?? 0
        let valueWidth = texts.map(\.value.count).max() ?? 0
        return zip(values, texts).map { value, text in
            let origin =
                switch value.origin {
                case .standard: "default"
                case .line(let line): "\(SettingsPath.shown(file)):\(line)"
                }
            return "  \(text.key.padded(to: keyWidth))  \(text.value.padded(to: valueWidth))  \(origin)"
        }
    }
}
