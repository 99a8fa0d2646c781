internal import Proxy

/// Reads what a route says of the speed of bodies, in the route or in "defaults".
struct RateReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what `section` says and keeps the rest of `options`.
    func read(_ section: SectionReader, into options: inout RateOptions) {
        section.notYet("rate")
    }
}
