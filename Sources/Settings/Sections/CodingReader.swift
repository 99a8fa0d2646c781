internal import Proxy

/// Reads what a route says of content codings, in the route or in "defaults".
struct CodingReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what `section` says and keeps the rest of `options`.
    func read(_ section: SectionReader, into options: inout CodingOptions) {
    }
}
