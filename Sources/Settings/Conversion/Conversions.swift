public import Transcoding

/// The conversion expressions as the command line takes them: `json(numbers: exact) -> multipart`.
public enum Conversions {
    /// Reads an expression into a plan with the standard limits. Columns count from the expression's first character.
    public static func parse(_ text: String) throws(SettingsMistakes) -> ConversionPlan {
        let context = ReadingContext(text, environment: .process(folder: ""))
        let node = SettingsNode(position: .init(line: 1, column: 1), content: .scalar(text, isPlain: true))
        let sides = ConversionExpression(node, text, context).read()
        let plan = sides.flatMap { ConversionReader(context).plan(decode: $0.decode, encode: $0.encode) }
        if let plan, context.mistakes.isEmpty { context.check(plan, at: node.position) }
        guard let plan, context.mistakes.isEmpty else { throw SettingsMistakes(context.mistakes) }
        return plan
    }

    /// Reads limits as they stand in a route, without the braces: `body: 1GiB, fields: 5000`. What isn't named is as in
    /// `standard`. Columns count from the first character.
    public static func parseLimits(_ text: String, standard: Limits = Limits()) throws(SettingsMistakes) -> Limits {
        let context = ReadingContext(text, environment: .process(folder: ""))
        var settings = LimitSettings(standard: standard)
        let braced = "{\(text)}"
        let inner = ReadingContext(braced, environment: context.environment)
        if let node = YAMLText.read(braced, inner), let section = SectionReader(node, "\"limits\"", inner) {
            settings.read(section)
        }
        for mistake in inner.mistakes {
            context.report(.init(line: mistake.line, column: max(1, mistake.column - 1)), mistake.message)
        }
        guard context.mistakes.isEmpty else { throw SettingsMistakes(context.mistakes) }
        return settings.limits
    }
}
