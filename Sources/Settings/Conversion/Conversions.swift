public import Serialization

/// The conversion expressions of DESIGN §4.1 as the command line takes them: `json(numbers: exact) -> multipart`.
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
}
