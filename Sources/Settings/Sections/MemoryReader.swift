internal import Proxy

/// Reads the budgets of memory and disk, at the top of the file.
struct MemoryReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what the top of the file says.
    func read(_ section: SectionReader) -> MemorySettings {
        return MemorySettings()
    }
}
