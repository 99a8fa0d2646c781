public import Transcoding

/// The conversion expressions as the command line takes them: `json(numbers: exact) -> multipart`.
public enum Conversions {
    /// Reads an expression into a plan with the standard limits. Columns count from the expression's first character.
    public static func parse(_ text: String) throws(SettingsMistakes) -> ConversionPlan {
        let context = ReadingContext(text, environment: .process(folder: ""))
        let node = SettingsNode(position: .init(line: 1, column: 1), content: .scalar(text, isPlain: true))
        let sides = ConversionExpression(node, text, context).read()
        let plan = sides.flatMap { ConversionReader(context: context).plan(decode: $0.decode, encode: $0.encode) }
        if let plan, context.mistakes.isEmpty { context.check(plan, at: node.position) }
        guard let plan, context.mistakes.isEmpty else { throw SettingsMistakes(context.mistakes) }
        return plan
    }

    /// Reads limits as they stand in a route, without the braces: `body: 1GiB, fields: 5000`. What isn't named is as in
    /// `standard`. Columns count from the first character.
    public static func parseLimits(_ text: String, standard: Limits = Limits()) throws(SettingsMistakes) -> Limits {
        let context = ReadingContext(text, environment: .process(folder: ""))
        var settings = LimitSettings(standard: standard)
        // Line ends can't be in options, and columns count from the text's own first character.
        let braced = "{\(String(text.map { $0.isNewline ? " " : $0 }))}"
        let form = YAMLText.ShortForm(
            brace: .init(line: 1, column: 1), place: { .init(line: 1, column: max(1, $0.column - 1)) })
        if let node = YAMLText.read(braced, context, within: form),
            let section = SectionReader(node, "\"limits\"", context)
        {
            settings.read(section)
        }
        guard context.mistakes.isEmpty else { throw SettingsMistakes(context.mistakes) }
        return settings.limits
    }
}
