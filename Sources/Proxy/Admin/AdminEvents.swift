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

/// The uploads in flight as events, for one reader: the list at once, and again whenever it has changed.
final class TransferFeed {
    private let events: AdminEvents
    private let selection: TransferSelection
    private let interval: UInt64
    private let signTime: UInt64
    private let look: (@escaping (TransferList, _ missing: Int) -> Void) -> Void
    private let loop: EventLoop
    private var timer: Timer!
    private var isLooking = false
    /// Whether any upload was seen.
    private var hasBegun = false
    private var told: [Transfer]?
    private var toldAt: UInt64 = 0

    /// Nanoseconds between two looks where the reader says nothing, and what it may say: 1 s, 100 ms to 60 s.
    static let interval: UInt64 = 1_000_000_000
    static let intervals: ClosedRange<UInt64> = 100_000_000...60_000_000_000

    /// - Parameters:
    ///   - interval: nanoseconds between two looks, within `intervals`.
    ///   - signTime: nanoseconds without an event after which a sign is sent.
    ///   - look: gathers the uploads of the selection, and says how many workers were silent.
    init(
        _ events: AdminEvents, of selection: TransferSelection, every interval: UInt64, loop: EventLoop,
        signTime: UInt64 = 15_000_000_000,
        look: @escaping (@escaping (TransferList, _ missing: Int) -> Void) -> Void
    ) {
        self.events = events
        self.selection = selection
        self.interval = interval
        self.signTime = signTime
        self.loop = loop
        self.look = look
        timer = Timer(loop: loop) { [unowned self] in tick() }
        tick()
    }

    private func tick() {
        timer.set(after: interval)
        guard !isLooking, events.hasRoom else { return }
        isLooking = true
        look { [weak self] list, missing in self?.take(list, missing) }
    }

    private func take(_ list: TransferList, _ missing: Int) {
        isLooking = false
        guard events.hasRoom else { return }
        if !list.transfers.isEmpty { hasBegun = true }
        // Those of a worker that is silent for now haven't ended.
        if let id = selection.id, hasBegun, list.transfers.isEmpty, missing == 0 {
            events.send("end", .object([("id", .text(id))]))
            return events.end()
        }
        if let told, told.elementsEqual(list.transfers, by: { $0.stands(as: $1) }) {
            if loop.now &- toldAt >= signTime { tell { events.sendSign() } }
            return
        }
        told = list.transfers
        tell { events.send("transfers", list.value(missing: missing)) }
    }

    private func tell(_ send: () -> Void) {
        toldAt = loop.now
        send()
    }
}
