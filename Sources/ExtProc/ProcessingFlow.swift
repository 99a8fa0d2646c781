package import Octets

/// One direction of a `Process` stream: what the data plane may send next, and which of its messages each thing that we say is the answer
/// to. It has no I/O: what is to be sent is appended to a buffer.
///
/// The data plane sends a head, content, and perhaps trailers; what goes on is a head, content and its end again. How these meet is the
/// mode's:
///
/// | mode | the head is answered | content is answered |
/// |---|---|---|
/// | NONE | with what goes on as the head | it doesn't come |
/// | STREAMED | with what goes on as the head, before content comes | each message with what has come out; the last with the rest |
/// | BUFFERED | before content comes, with what is known of it | its one message with all that goes on, head and content |
/// | FULL_DUPLEX_STREAMED | when what goes on as the head is known | by as many messages as there is content for |
///
/// A head without content is answered when all is known that goes on, in each mode: content that comes out then goes with it.
///
/// What comes behind the end of content is dropped: some versions of Envoy send its last message twice (envoyproxy/envoy 46237).
package struct ProcessingFlow: Sendable {
    private enum Incoming: Hashable {
        /// → content, ended
        case head
        /// → ended
        case content
        /// All has come but, perhaps, trailers.
        case ended
    }

    /// The message of the data plane that waits for an answer.
    private enum Owed: Hashable { case nothing, head, content, trailers }

    package let direction: Direction
    /// Known before the head comes.
    package var mode = BodyMode.none
    private var incoming = Incoming.head
    private var owed = Owed.nothing
    /// Whether the head says that no content follows, or none comes in this mode.
    private var isHeadAlone = false
    private var isHeadSent = false
    private var isEnded = false
    private var endsWithTrailers = false
    private var hasTrailers = false
    /// Whether a message with content has come: where none has, none can be sent in FULL_DUPLEX_STREAMED.
    private var hasContentCome = false
    /// What becomes of the head, until it is said.
    private var head = HeaderMutation()
    /// What becomes of trailers.
    package var trailers = HeaderMutation()
    /// Content that goes on and isn't in a message yet.
    package private(set) var pending = OutputBuffer()
    /// Whether content goes on as it came, so that only FULL_DUPLEX_STREAMED says what it is.
    package var passesContent = false
    /// Bytes of content that are still to come, where a length was said.
    private var announced: Int?
    /// Bytes of content that have come.
    package private(set) var contentCount = 0

    package init(_ direction: Direction) {
        self.direction = direction
    }

    /// Makes it ready for another stream. Its memory stays, up to `limit` bytes of each buffer.
    package mutating func reset(keeping limit: Int) {
        var flow = ProcessingFlow(direction)
        swap(&flow.pending, &pending)
        swap(&flow.head, &head)
        flow.pending.removeAll()
        flow.pending.shrink(to: limit)
        flow.head.removeAll()
        flow.head.shrink(to: limit)
        self = flow
    }

    /// Whether the next piece of content that comes is wanted.
    package var takesContent: Bool { incoming == .content }
    /// Whether a head has come.
    package var hasBegun: Bool { incoming != .head }
    /// Whether all has been said that there is to say.
    package var isComplete: Bool { isEnded }
    /// Whether the content's bytes are held until the end of it: there is one message for all of it.
    package var holdsContent: Bool { mode == .buffered || isHeadAlone }

    // MARK: What comes

    /// A head has come.
    ///
    /// - Parameter length: of the content, where a length was said.
    package mutating func headCame(endsStream: Bool, length: Int?) throws(CallError) {
        guard incoming == .head else { throw Self.order("a head", behind: "a head") }
        isHeadAlone = endsStream || mode == .none
        incoming = isHeadAlone ? .ended : .content
        announced = length
        owed = .head
    }

    /// Content is about to come. Returns whether it is wanted.
    package mutating func contentComes() throws(CallError) -> Bool {
        guard incoming != .head else { throw Self.order("content", behind: "no head") }
        guard !isHeadAlone else { throw Self.order("content", behind: "a head with none, or in NONE") }
        hasContentCome = true
        return incoming == .content
    }

    /// So many bytes of content were taken.
    package mutating func contentCame(_ count: Int) throws(CallError) {
        contentCount += count
        guard let announced else { return }
        guard count <= announced else { throw CallError(.invalidArgument, "content is longer than its content-length") }
        self.announced = announced - count
    }

    /// A message with content is whole. Returns whether the content is.
    package mutating func contentMessageEnded(
        endsStream: Bool, to output: inout OutputBuffer
    ) throws(CallError) -> Bool {
        guard incoming != .head else { throw Self.order("content", behind: "no head") }
        guard incoming == .content else {
            // A message behind the end: where each has an answer, it has one that says nothing.
            if mode == .streamed { ProcessingResponse.write(.content, direction, HeaderMutation(), to: &output) }
            return false
        }
        guard owed != .head || mode == .fullDuplex else {
            throw Self.order("content", behind: "a head without an answer")
        }
        hasContentCome = true
        if mode != .fullDuplex { owed = .content }
        // Where no trailers are sent to us, nothing else tells in STREAMED that content is over which has some.
        let isLast = endsStream || mode == .buffered || mode == .streamed && announced == 0
        guard isLast else { return false }
        if let announced, announced > 0 {
            throw CallError(.invalidArgument, "content is shorter than its content-length")
        }
        incoming = .ended
        return true
    }

    /// Trailers have come. Returns whether the content ended with them.
    package mutating func trailersCame(to output: inout OutputBuffer) throws(CallError) -> Bool {
        guard incoming != .head, !hasTrailers else { throw Self.order("trailers", behind: "no head, or trailers") }
        hasTrailers = true
        guard incoming == .content else {
            // The content has ended before, or passes beside us.
            if isEnded {
                ProcessingResponse.writeTrailers(direction, trailers, to: &output)
            } else {
                endsWithTrailers = true
            }
            return false
        }
        if let announced, announced > 0 {
            throw CallError(.invalidArgument, "content is shorter than its content-length")
        }
        incoming = .ended
        endsWithTrailers = true
        return true
    }

    private static func order(_ what: StaticString, behind: StaticString) -> CallError {
        CallError(.invalidArgument, "\(what) came behind \(behind)")
    }

    // MARK: What goes on

    /// An empty mutation for the head, with memory that is there.
    package mutating func beginMutation() -> HeaderMutation {
        var mutation = HeaderMutation()
        swap(&mutation, &head)
        return mutation
    }

    /// Says what becomes of the head. In BUFFERED that goes with what becomes of the content, unless this passes.
    package mutating func sendHead(_ mutation: consuming HeaderMutation, to output: inout OutputBuffer) {
        head = mutation
        guard owed == .head, !isHeadAlone, mode != .buffered || passesContent else { return }
        writeHead(to: &output)
    }

    /// Whether no message is left whose answer could say what becomes of the head and of content: in BUFFERED the head was answered, and
    /// trailers came where content would have.
    package var lacksPlace: Bool {
        mode == .buffered && endsWithTrailers && owed == .nothing && !isHeadAlone && !isHeadSent && !isEnded
    }

    /// Whether the data plane waits for an answer to the head, without which it sends no content.
    package var owesHead: Bool { owed == .head && mode == .buffered && !isHeadAlone }

    /// Answers the head in BUFFERED where that wasn't said yet.
    ///
    /// - Parameter early: what will be said of the head with the content, too. Where no content comes but trailers, of which we
    ///   aren't told (`request_trailer_mode: SKIP`), it is the last word.
    package mutating func answerHead(_ early: HeaderMutation = HeaderMutation(), to output: inout OutputBuffer) {
        guard owesHead else { return }
        ProcessingResponse.write(.head, direction, early, to: &output)
        owed = .nothing
    }

    private mutating func writeHead(to output: inout OutputBuffer) {
        ProcessingResponse.write(.head, direction, head, to: &output)
        head.removeAll()
        isHeadSent = true
        owed = .nothing
    }

    /// Sends content behind the head.
    package mutating func send(_ content: Span<UInt8>, to output: inout OutputBuffer) {
        if passesContent, mode != .fullDuplex { return }
        guard mode == .fullDuplex, !isHeadAlone, hasContentCome else { return pending.append(content) }
        // The last piece waits: the end of the content may go with it.
        if pending.isEmpty {
            let count = stream(content, isLast: nil, to: &output)
            pending.append(content.extracting(count..<content.count))
        } else {
            pending.append(content)
            pending.drop(stream(pending.span, isLast: nil, to: &output))
        }
    }

    /// What one message may bring of content that waits for its end, where it has more than that.
    ///
    /// - Parameters:
    ///   - limit: what the data plane is known to take. One that has sent more in one message takes more, nobody knows how much.
    ///   - held: what may wait here.
    package func excess(over limit: Int, held: Int) -> Int? {
        guard holdsContent else { return nil }
        let most = contentCount > limit ? held : limit
        return pending.count > most ? most : nil
    }

    /// Sends content that waits for more, where it may go out now.
    package mutating func flush(to output: inout OutputBuffer) {
        guard mode == .fullDuplex, isHeadSent, hasContentCome, !pending.isEmpty else { return }
        _ = stream(pending.span, isLast: false, to: &output)
        pending.removeAll()
    }

    /// Sends content in pieces, and says with the last whether that is the end; where `isLast` is nil that piece isn't sent. Returns
    /// how many bytes were.
    private func stream(_ content: Span<UInt8>, isLast: Bool?, to output: inout OutputBuffer) -> Int {
        var at = 0
        repeat {
            let end = min(at + ProcessingResponse.contentLimit, content.count)
            let isEnd = end == content.count
            if isEnd, isLast == nil { return at }
            ProcessingResponse.write(
                .content, direction, HeaderMutation(), .stream(isLast: isEnd && isLast == true),
                content.extracting(at..<end), to: &output)
            at = end
        } while at < content.count
        return at
    }

    /// All that has come was looked at: in STREAMED, answers the message that waits, unless it is the last.
    package mutating func endTurn(to output: inout OutputBuffer) {
        guard mode == .streamed, owed == .content, incoming == .content else { return }
        answerContent(HeaderMutation(), to: &output)
    }

    /// Answers a message with content.
    private mutating func answerContent(_ mutation: HeaderMutation, to output: inout OutputBuffer) {
        let change: ProcessingResponse.ContentChange = passesContent ? .none : .replace
        ProcessingResponse.write(.content, direction, mutation, change, pending.span, to: &output)
        pending.removeAll()
        owed = .nothing
    }

    /// Ends what goes on.
    package mutating func end(to output: inout OutputBuffer) throws(CallError) {
        guard !isEnded else { return }
        isEnded = true
        if isHeadAlone {
            if !pending.isEmpty { setLength() }
            ProcessingResponse.write(
                .head, direction, head, pending.isEmpty ? .none : .replace, pending.span, replaces: !pending.isEmpty,
                to: &output)
            pending.removeAll()
            owed = .nothing
        } else if mode == .fullDuplex {
            if endsWithTrailers, !hasContentCome, !pending.isEmpty { throw Self.noPlace }
            if !endsWithTrailers || !pending.isEmpty {
                _ = stream(pending.span, isLast: !endsWithTrailers, to: &output)
            }
            pending.removeAll()
        } else if owed == .content {
            if mode == .buffered, !passesContent { setLength() }
            answerContent(head, to: &output)
        } else if !pending.isEmpty || !head.isEmpty {
            throw Self.noPlace
        }
        head.removeAll()
        if endsWithTrailers { ProcessingResponse.writeTrailers(direction, trailers, to: &output) }
    }

    private static var noPlace: CallError {
        CallError(.failedPrecondition, "trailers came where no content can be sent in front of them")
    }

    /// Where all of the content is known, so is its length.
    private mutating func setLength() {
        var digits = OutputBuffer()
        digits.append(decimal: pending.count)
        head.set(Self.contentLength.span, digits.span)
    }

    private static let contentLength = Array("content-length".utf8)
}
