internal import Images
internal import Transcoding

/// Reads `image`, what a file that is a picture becomes: `{max: 1080, quality: 50, format: jpeg}`.
struct ImageRuleReader {
    let context: ReadingContext
    /// Pixels of a side, at most: what PNG can have.
    private static let longestSide = 1...Int(Int32.max)
    private static let pixelUnits: [(unit: String, factor: Int)] = [
        ("k", 1000), ("M", 1_000_000), ("G", 1_000_000_000),
    ]

    /// - Parameters:
    ///   - what: names the file in messages.
    ///   - path: leads to the rule, for the effective values.
    func read(_ node: SettingsNode, of what: String, path: String, _ plan: ConversionPlan) -> ImageRule? {
        guard let section = SectionReader(node, "\"image\"", path: path, context) else { return nil }
        let failures = context.failures
        var rule = ImageRule()
        rule.longestSide = side("max", section)
        rule.width = side("width", section)
        rule.height = side("height", section)
        if let node = section.take("format") {
            let words = ImageFormat.allCases.map(\.rawValue)
            rule.format = context.word(node, "\"format\"", among: words).flatMap(ImageFormat.init)
            if let format = rule.format { section.record("format", format.rawValue, .line(node.position.line)) }
        }
        section.knows("quality")
        if rule.format == .png {
            section.refuse("quality", "is for jpeg and webp: a png loses nothing")
        } else {
            rule.quality = section.count("quality", standard: Sourced(rule.quality), in: 1...100).value
        }
        let metadata = section.value("metadata", standard: Sourced("keep"), describe: { $0 }) {
            context.word($0, $1, among: ["keep", "drop"])
        }
        rule.keepsMetadata = metadata.value == "keep"
        rule.pixels =
            section.value("pixels", standard: Sourced(rule.pixels), describe: Self.describe(pixels:)) { node, _ in
                pixels(node)
            }.value
        section.word("on_other", into: &rule.others)
        section.finish()
        if rule.longestSide == nil, rule.width == nil, rule.height == nil, rule.format == nil, rule.keepsMetadata,
            context.failures == failures
        {
            context.report(
                node.position, "\"image\" of \(what) changes nothing: say max, width, height, format or metadata: drop")
        }
        check(node, of: what, plan)
        return context.failures == failures ? rule : nil
    }

    /// What can't be with the rest of the conversion.
    private func check(_ node: SettingsNode, of what: String, _ plan: ConversionPlan) {
        guard PictureHeader.isBuiltIn else {
            return context.report(
                node.position, "\"image\" of \(what): this program was built without pictures (the trait Images)")
        }
        if plan.readsQuery || plan.writesQuery {
            context.report(node.position, "\"image\" of \(what): a query holds no pictures")
        }
        if plan.output.hasDates {
            context.report(
                node.position, "\"image\" of \(what): pictures go to multipart, json, form, xml, text and raw")
        }
    }

    /// Pixels of a side, where they are bounded.
    private func side(_ key: String, _ section: SectionReader) -> Int? {
        guard let node = section.take(key),
            let pixels = context.count(node, "\"\(key)\"", in: Self.longestSide)
        else { return nil }
        section.record(key, String(pixels), .line(node.position.line))
        return pixels
    }

    /// As settings write it: `50M`.
    private static func describe(pixels: Int) -> String {
        let unit = pixelUnits.last { pixels >= $0.factor && pixels.isMultiple(of: $0.factor) }
        return unit.map { "\(pixels / $0.factor)\($0.unit)" } ?? String(pixels)
    }

    /// A number of pixels: `50M`, `800k`, `2000000`.
    private func pixels(_ node: SettingsNode) -> Int? {
        guard let text = context.text(node, "\"pixels\"") else { return nil }
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        let factor = unit.isEmpty ? 1 : Self.pixelUnits.first { $0.unit == unit }?.factor
        guard let number = Int(digits), number > 0, let factor,
            case let (product, false) = number.multipliedReportingOverflow(by: factor)
        else {
            context.report(node.position, "\"pixels\" is a whole number, or thousands (k) or millions (M), as in 50M")
            return nil
        }
        return product
    }
}
