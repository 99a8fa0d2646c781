internal import Octets

/// Decides how a body is framed. This is the only place that reads Content-Length and Transfer-Encoding.
public enum Framing {
    /// The framing of a request's body, whatever its method: RFC 9112 §6.3.
    ///
    /// Throws 400 for anything that could be read in two ways, 501 for a transfer coding other than chunked.
    public static func request(_ head: borrowing MessageHead) throws(WireError) -> BodyFraming {
        guard head.present & fields != 0 else {
            // §6.3 step 7: a request with neither has no body, and never one until close.
            return .none
        }
        // §6.3 step 3: with both, either could be a smuggled one. The RFC lets a server refuse; this one does.
        return try declared(head)
    }

    /// The framing of a response's body. `toHead` says that it answers a HEAD request. Every error has status 502.
    ///
    /// A response that answers CONNECT isn't known here: CONNECT is refused.
    public static func response(_ head: borrowing MessageHead, toHead: Bool) throws(WireError) -> BodyFraming {
        let framing: BodyFraming?
        do {
            // The fields are checked first: they are forwarded with a HEAD response too, and must be readable in one way.
            framing = head.present & fields == 0 ? nil : try declared(head)
        } catch {
            throw error.asUpstreamFault
        }
        // §6.3 step 1: no body whatever the fields say.
        if toHead || head.status < 200 || head.status == 204 || head.status == 304 { return .none }
        // RFC 9110 §15.3.6: a 205 has no content, so none is waited for. Its fields may frame some all the same (RFC 9112 §6.3),
        // if only a last chunk: who would use the connection again has to ask `declaresEmpty`.
        if head.status == 205 { return .length(0) }
        // Steps 4 to 6.
        if let framing { return framing }
        // Step 8.
        return .untilClose
    }

    /// Whether a response to any other request than HEAD says that not one byte follows its head, whatever its status means.
    public static func declaresEmpty(_ head: borrowing MessageHead) -> Bool { announcedLength(head) == 0 }

    /// Whether Content-Length or Transfer-Encoding is there: a 204 has neither (RFC 9110 §8.6, RFC 9112 §6.1).
    public static func declaresFraming(_ head: borrowing MessageHead) -> Bool {
        head.contains(.contentLength) || head.contains(.transferEncoding)
    }

    /// The length that Content-Length gives, whether or not a body of it follows: in an answer to HEAD it is what GET would get. nil
    /// where there is none to rely on.
    public static func announcedLength(_ head: borrowing MessageHead) -> Int? {
        guard !head.contains(.transferEncoding), !head.isRepeated(.contentLength),
            let index = head.first(.contentLength)
        else { return nil }
        return length(head.value(index))
    }

    private static let fields: UInt64 =
        1 << UInt64(KnownField.contentLength.rawValue) | 1 << UInt64(KnownField.transferEncoding.rawValue)

    /// What Transfer-Encoding or Content-Length say, where there is at least one of them.
    private static func declared(_ head: borrowing MessageHead) throws(WireError) -> BodyFraming {
        if let index = head.first(.transferEncoding) {
            let at = Int(head.lines[index].value.start)
            if head.contains(.contentLength) { throw WireError(.lengthAndTransferEncoding, at: at) }
            // RFC 9112 §6.1: in HTTP/1.0 the framing is faulty whatever it says.
            if head.version == .http1_0 { throw WireError(.transferEncodingInOldVersion, at: at) }
            if head.isRepeated(.transferEncoding) { throw WireError(.badTransferEncoding, at: at) }
            let value = head.value(index)
            if value.isEqualIgnoringCase(to: "chunked") { return .chunked }
            throw WireError(endsInChunked(value) ? .unknownTransferCoding : .badTransferEncoding, at: at)
        }
        guard let index = head.first(.contentLength) else { return .none }
        let at = Int(head.lines[index].value.start)
        if head.isRepeated(.contentLength) { throw WireError(.repeatedContentLength, at: at) }
        guard let length = length(head.value(index)) else { throw WireError(.badContentLength, at: at) }
        return .length(length)
    }

    /// `1*DIGIT` up to `Int.max`, of at most 19 digits; nil for anything else, lists included.
    private static func length(_ value: Span<UInt8>) -> Int? {
        guard value.count > 0, value.count <= 19 else { return nil }
        var length: UInt64 = 0
        for index in value.indices {
            guard ASCII.isDigit(value[index]) else { return nil }
            // 19 nines fit into 64 bits without a sign.
            length = length &* 10 &+ UInt64(value[index] &- 0x30)
        }
        return Int(exactly: length)
    }

    /// Whether the value is a list of other codings and then chunked: it could be framed, but not undone.
    private static func endsInChunked(_ value: Span<UInt8>) -> Bool {
        var start = 0
        while true {
            let member = ListMember.at(start, in: value)
            let coding = value.extracting(member.range)
            start = member.next
            let isLast = start > value.count
            let isChunked = coding.isEqualIgnoringCase(to: "chunked")
            if isLast { return isChunked }
            if isChunked || !ListMember.isToken(coding) { return false }
        }
    }
}
