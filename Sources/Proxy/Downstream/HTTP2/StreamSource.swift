internal import Gateway
internal import Octets

/// A source whose content waits with its stream of HTTP/2 while the exchange takes none.
protocol StreamSource: RequestSource {
    /// What it brings content to; nil when that is over.
    var exchange: Exchange? { get }
    /// Bytes of content that there may be.
    var contentLimit: Int { get }
    /// Bytes of content that the exchange has taken.
    var arrived: Int { get set }
}

extension StreamSource {
    /// Brings content to `exchange`; a refusal on the way is answered. Returns how many bytes the stream lets go of: fewer than there are
    /// where no more are taken for now, and none is brought then before `resumeReading`.
    ///
    /// - Parameter isLast: whether no content follows, where that is known already.
    func bring(_ content: Span<UInt8>, isLast: Bool, to exchange: Exchange) -> Int {
        exchange.contentArrived()
        var at = 0
        while at < content.count, self.exchange != nil {
            guard exchange.machine.takesContent else {
                pauseReading()
                break
            }
            guard content.count - at <= contentLimit - arrived else {
                exchange.refuse(.bodyTooLarge(contentLimit))
                return content.count
            }
            let count = min(content.count - at, exchange.longestSlice)
            let taken: Int
            do throws(Refusal) {
                taken = try exchange.receive(
                    content.extracting(at..<at + count), isLast: isLast && at + count == content.count)
            } catch {
                exchange.refuse(error)
                return content.count
            }
            at += taken
            arrived += taken
            if taken < count { break }
        }
        guard self.exchange != nil else { return content.count }
        if at < content.count { pauseReading() }
        exchange.contentRead(leftover: content.count - at)
        return at
    }
}
