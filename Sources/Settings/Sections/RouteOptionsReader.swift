internal import Gateway
internal import Proxy

/// Reads what a route, or "defaults", can say besides matching and converting.
struct RouteOptionsReader {
    private let context: ReadingContext

    init(_ context: ReadingContext) {
        self.context = context
    }

    /// Takes what `section` says and keeps the rest of `options`.
    func read(_ section: SectionReader, into options: inout RouteOptions) {
        ForwardingReader(context).read(section, into: &options.forwarding)
        CodingReader(context).read(section, into: &options.coding)
        RetryReader(context).read(section, into: &options.retry)
        RateReader(context).read(section, into: &options.rate)
    }
}
