internal import Proxy

/// Reads how much is taken at once, at the top of the file.
struct AdmissionReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what the top of the file says.
    func read(_ section: SectionReader) -> AdmissionSettings {
        return AdmissionSettings()
    }
}
