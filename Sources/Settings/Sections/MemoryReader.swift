internal import Proxy

/// Reads the budgets of memory and disk, at the top of the file.
struct MemoryReader {
    let context: ReadingContext
    /// Bytes that a budget has at least: room for one body and a little.
    private static let leastBudget = 1024 * 1024

    /// Takes what the top of the file says; and what bounds the spool of each upstream, nil where that could not be read.
    func read(_ section: SectionReader) -> (memory: MemorySettings, spool: SectionReader.Bound<Int>?) {
        var settings = MemorySettings()
        let memory = section.part("memory")
        settings.bodies =
            memory.value("bodies", standard: Sourced(settings.bodies), describe: Self.describe, read: budget).value
        settings.wait = memory.time("wait", standard: Sourced(settings.wait)).value
        memory.finish()
        let spool = section.part("spool")
        let failures = context.failures
        settings.spoolTotal = spool.size("total", standard: Sourced(settings.spoolTotal), from: 0).value
        let bound = spool.bound("spool.total", settings.spoolTotal, since: failures)
        spool.finish()
        return (settings, bound)
    }

    private static func describe(_ budget: Int?) -> String { budget.map(Units.describe(bytes:)) ?? "auto" }

    /// A size or `auto`, which is nil inside.
    private func budget(_ node: SettingsNode, _ what: String) -> Int?? {
        guard let text = context.text(node, what) else { return nil }
        if text == "auto" { return .some(nil) }
        return context.size(node, what, from: Self.leastBudget, or: "auto").map { .some($0) } ?? nil
    }
}
