internal import EventLoop
internal import HTTPWire
internal import Octets

/// Server-sent events to one operator (WHATWG HTML §9.2), which a page's EventSource reads, and `curl -N`.
///
/// An event tells how things stand, so one for which the reader has no room is left out: the next one says it all.
final class AdminEvents {
    /// Set by the connection that sends them.
    weak var connection: AdminConnection?
    /// Called once when the reader is gone, or `end` was called.
    var onEnd: () -> Void = {}

    /// Whether the reader has taken all that was sent, so that another event makes sense.
    var hasRoom: Bool { connection?.hasRoomForEvents ?? false }

    /// Sends an event with a document, which is one line.
    func send(_ name: StaticString, _ value: AdminValue) {
        var text = OutputBuffer()
        text.append("event: ")
        text.append(name)
        text.append("\ndata: ")
        text.append(value.document.span)
        text.append(ASCII.lineFeed)
        connection?.sendEvents(text.span)
    }

    /// Sends a comment, from which whoever stands between here and the reader sees that the connection is in use.
    func sendSign() {
        var text = OutputBuffer()
        text.append(":\n\n")
        connection?.sendEvents(text.span)
    }

    /// Closes the connection behind what was sent.
    func end() { connection?.endEvents() }
}

/// Looks at something again and again for one reader of events, and tells how it stands where that is of interest, else now and then that
/// the connection is in use.
final class EventFeed<Found> {
    enum Outcome {
        case nothing
        case event(StaticString, AdminValue)
        /// The last event.
        case end(StaticString, AdminValue)
    }

    private let events: AdminEvents
    private let interval: UInt64
    private let signTime: UInt64
    private let loop: EventLoop
    private let look: (@escaping (Found, _ missing: Int) -> Void) -> Void
    private let tell: (Found, _ missing: Int) -> Outcome
    private let timer: Timer
    private var isLooking = false
    private var toldAt: UInt64 = 0

    /// - Parameters:
    ///   - interval: nanoseconds between two looks.
    ///   - signTime: nanoseconds without an event after which a sign is sent.
    ///   - look: gathers what there is, and says how many workers were silent. Called at once, and not while it looks.
    ///   - tell: what the reader is told of that. Called where it has room for an event.
    init(
        _ events: AdminEvents, every interval: UInt64, signTime: UInt64 = 15_000_000_000, loop: EventLoop,
        look: @escaping (@escaping (Found, _ missing: Int) -> Void) -> Void,
        tell: @escaping (Found, _ missing: Int) -> Outcome
    ) {
        self.events = events
        self.interval = interval
        self.signTime = signTime
        self.loop = loop
        self.look = look
        self.tell = tell
        timer = Timer(loop: loop)
        timer.action = { [unowned self] in tick() }
        tick()
    }

    private func tick() {
        timer.set(after: interval)
        guard !isLooking, events.hasRoom else { return }
        isLooking = true
        look { [weak self] found, missing in self?.take(found, missing) }
    }

    private func take(_ found: Found, _ missing: Int) {
        isLooking = false
        // What has no room now is told by the next look.
        guard events.hasRoom else { return }
        switch tell(found, missing) {
        case .event(let name, let value): events.send(name, value)
        case .end(let name, let value):
            events.send(name, value)
            return events.end()
        case .nothing:
            guard loop.now &- toldAt >= signTime else { return }
            events.sendSign()
        }
        toldAt = loop.now
    }
}

/// What a reader was told of the uploads in flight: the list at once, and again whenever it has changed.
struct TransferFollower {
    /// Nanoseconds between two looks where the reader says nothing, and what it may say: 1 s, 100 ms to 60 s.
    static let interval: UInt64 = 1_000_000_000
    static let intervals: ClosedRange<UInt64> = 100_000_000...60_000_000_000

    private let selection: TransferSelection
    /// Whether any upload was seen.
    private var hasBegun = false
    private var told: [Transfer]?

    init(of selection: TransferSelection) { self.selection = selection }

    /// The feed that tells it.
    static func feed(
        _ events: AdminEvents, of selection: TransferSelection, every interval: UInt64, loop: EventLoop,
        signTime: UInt64 = 15_000_000_000,
        look: @escaping (@escaping (TransferList, _ missing: Int) -> Void) -> Void
    ) -> EventFeed<TransferList> {
        var follower = TransferFollower(of: selection)
        return EventFeed(events, every: interval, signTime: signTime, loop: loop, look: look) { follower.tell($0, $1) }
    }

    private mutating func tell(_ list: TransferList, _ missing: Int) -> EventFeed<TransferList>.Outcome {
        if !list.transfers.isEmpty { hasBegun = true }
        // Those of a worker that is silent for now haven't ended.
        if let id = selection.id, hasBegun, list.transfers.isEmpty, missing == 0 {
            return .end("end", .object([("id", .text(id))]))
        }
        if let told, told.elementsEqual(list.transfers, by: { $0.stands(as: $1) }) { return .nothing }
        told = list.transfers
        return .event("transfers", list.value(missing: missing))
    }
}
