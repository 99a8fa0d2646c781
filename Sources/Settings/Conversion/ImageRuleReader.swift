internal import Images
internal import Transcoding

/// Reads `image`, what a file that is a picture becomes: `{max: 1080, quality: 50, format: jpeg}`.
struct ImageRuleReader {
    private let context: ReadingContext
    /// Pixels of a side, at most: what PNG can have.
    private static let longestSide = 1...Int(Int32.max)
    private static let pixelUnits: [(unit: String, factor: Int)] = [
        ("k", 1000), ("M", 1_000_000), ("G", 1_000_000_000),
    ]

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// - Parameter what: names the file in messages.
    func read(_ node: SettingsNode, of what: String, _ plan: ConversionPlan) -> ImageRule? {
        guard let section = SectionReader(node, "\"image\"", context) else { return nil }
        let failures = context.failures
        var rule = ImageRule()
        if let node = section.take("max") { rule.longestSide = context.count(node, "\"max\"", in: Self.longestSide) }
        if let node = section.take("width") { rule.width = context.count(node, "\"width\"", in: Self.longestSide) }
        if let node = section.take("height") { rule.height = context.count(node, "\"height\"", in: Self.longestSide) }
        let quality = section.take("quality")
        if let quality { rule.quality = context.count(quality, "\"quality\"", in: 1...100) ?? rule.quality }
        if let node = section.take("format") {
            let words = ImageFormat.allCases.map(\.rawValue)
            rule.format = context.word(node, "\"format\"", among: words).flatMap(ImageFormat.init)
        }
        if rule.format == .png, let quality {
            context.report(quality.position, "\"quality\" is for jpeg and webp: a png loses nothing")
        }
        if let node = section.take("metadata") {
            rule.keepsMetadata = context.word(node, "\"metadata\"", among: ["keep", "drop"]) != "drop"
        }
        if let node = section.take("pixels") { rule.pixels = pixels(node) ?? rule.pixels }
        if let node = section.take("on_other") {
            let words = ImageRule.Others.allCases.map(\.rawValue)
            rule.others = context.word(node, "\"on_other\"", among: words).flatMap(ImageRule.Others.init) ?? rule.others
        }
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
        guard ImageHeader.isBuiltIn else {
            return context.report(
                node.position, "\"image\" of \(what): this program was built without pictures (the trait Images)")
        }
        if plan.readsQuery || plan.writesQuery {
            context.report(node.position, "\"image\" of \(what): a query holds no pictures")
        }
        if plan.output == .plist || plan.output == .bplist {
            context.report(
                node.position, "\"image\" of \(what): pictures go to multipart, json, form, xml, text and raw")
        }
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
