package import HTTPWire
package import Octets

/// A copy of a request, made of the bytes that went upstream.
package enum ShadowRequest {
    /// What keeps a copy from being made.
    package enum Fault: Error {
        /// Not all of the request is there.
        case incomplete
        /// Its content has more bytes than a copy may have.
        case tooLarge
    }

    /// The field that tells the second upstream, and whoever reads its logs, that a request is a copy; its value is the route's name.
    package static let markName: StaticString = "Recast-Shadow"

    /// Fields that are of the other connection, or that the copy has its own of.
    private static let dropped: [StaticString] = [
        "connection", "content-length", "expect", "recast-shadow", "te", "trailer", "transfer-encoding", "upgrade",
    ]

    /// Where the head ends in bytes that went upstream, its empty line included; nil while it isn't whole.
    package static func headEnd(in bytes: Span<UInt8>) -> Int? {
        var at = 0
        while let feed = Scan.firstIndex(of: ASCII.lineFeed, in: bytes, from: at) {
            if feed == at + 1, bytes[at] == ASCII.carriageReturn { return feed + 1 }
            at = feed + 1
        }
        return nil
    }

    /// The content behind the head, without what framed it; trailer fields are left out.
    ///
    /// - Parameters:
    ///   - framing: how it was framed for the upstream.
    ///   - isSent: whether all of it is known to have been sent, where the framing doesn't say.
    ///   - limit: bytes that it may have.
    package static func appendContent(
        of bytes: Span<UInt8>, behind head: Int, framing: BodyFraming, isSent: Bool, limit: Int,
        to output: inout OutputBuffer
    ) throws(Fault) {
        var decoder = BodyDecoder(framing: framing)
        let start = output.count
        var at = head
        do throws(WireError) {
            while !decoder.isComplete {
                let rest = bytes.extracting(at..<bytes.count)
                let step = try decoder.next(rest)
                output.append(rest.extracting(step.skipped..<step.skipped + step.available))
                decoder.took(step.available)
                at += step.skipped + step.available
                if step.available == 0, !decoder.isComplete { break }
            }
        } catch {
            throw .incomplete
        }
        guard decoder.isComplete || framing == .untilClose && isSent else { throw .incomplete }
        guard output.count - start <= limit else { throw .tooLarge }
    }

    /// Writes the copy: the head with the fields that went upstream, a mark, and the length of `content`, and then that.
    ///
    /// - Parameters:
    ///   - head: as it went upstream, its empty line included.
    ///   - host: the line that takes the place of Host; empty: Host stays.
    ///   - route: the route's name, for the mark.
    package static func append(
        head: Span<UInt8>, content: Span<UInt8>, host: [UInt8], route: String, to output: inout OutputBuffer
    ) {
        var at = 0
        var hasLength = !content.isEmpty
        var isFirst = true
        while let feed = Scan.firstIndex(of: ASCII.lineFeed, in: head, from: at) {
            let line = head.extracting(at..<feed + 1)
            at = feed + 1
            if isFirst {
                output.append(line)
                isFirst = false
                continue
            }
            guard let colon = Scan.firstIndex(of: UInt8(ascii: ":"), in: line, from: 0) else { break }
            let name = line.extracting(0..<colon)
            if dropped.contains(where: { name.isEqualIgnoringCase(to: $0) }) {
                // A request that says that it has no content says so in the copy, too.
                if name.isEqualIgnoringCase(to: "content-length") { hasLength = true }
                continue
            }
            if !host.isEmpty, name.isEqualIgnoringCase(to: "host") {
                output.append(host.span)
            } else {
                output.append(line)
            }
        }
        HeadWriter.clean(markName, Array(route.utf8).span, into: &output)
        if hasLength { HeadWriter.field("Content-Length", decimal: content.count, into: &output) }
        HeadWriter.end(into: &output)
        output.append(content)
    }
}
