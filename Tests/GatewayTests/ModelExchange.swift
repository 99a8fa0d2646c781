import TestSupport

@testable import Gateway

/// A driver of the machine without sockets, in which anything may happen at any time. Its content is numbered bytes, so that one
/// which is lost, repeated or out of order is seen; its connections remember what they got.
struct ModelExchange {
    private typealias Event = ExchangeMachine.Event

    private var machine = ExchangeMachine()
    private var random: SplitMix
    private(set) var faults: [String] = []
    private(set) var history: [String] = []
    private(set) var ending = ""

    /// The content is 0..<total; `next` is the first byte that hasn't come.
    private let total: Int
    private var next = 0
    /// Content that waits for the upstream, and how much may.
    private var waiting: [Int] = []
    private let room = 12
    private var spool: [Int]?
    /// Bytes of converted content that are held though nobody asks for that; nil: none.
    private let holds: Int?
    private let plan: ExchangeMachine.Plan

    /// What each connection got, and whether it got the request's end.
    private var connections: [(content: [Int], isEnded: Bool)] = []
    /// The one in use.
    private var current: Int?
    private var isConnecting = false
    private var queued = 0
    private var retryBuffer: [Int] = []
    private var keepsRetry = false
    private var retryIsCut = false
    /// The connection whose response the client gets, and whether it had all of the request, and nothing was queued, when that
    /// response ended.
    private var answering: Int?
    private var isAnsweredWhole: Bool?
    private var isReading = true
    private var clientAnswers = 0

    init(seed: UInt64) {
        random = SplitMix(state: seed)
        total = random.below(40)
        var plan = ExchangeMachine.Plan()
        // Content may be of no bytes: an empty chunked body, or a frame of HTTP/2 that only ends the stream.
        plan.hasContent = total > 0 ? true : random.below(2) == 0
        plan.isConverted = random.below(3) == 0
        plan.isSpooled = random.below(4) == 0
        plan.isVerified = random.below(6) == 0
        plan.expectsContinue = random.below(3) == 0
        plan.relaysExpectation = random.below(2) == 0
        plan.takesInterim = random.below(4) > 0
        if plan.hasContent { plan.hasMemory = random.below(8) > 0 }
        self.plan = plan
        holds = random.below(3) == 0 ? random.below(40) : nil
    }

    /// Runs one exchange until it ends, or until nothing can end it any more.
    mutating func run() {
        handle(.headRead(persists: random.below(4) > 0))
        if random.below(12) == 0 { refuse() } else { handle(.began(plan)) }
        for _ in 0..<400 where !machine.isOver && faults.isEmpty { step() }
        if faults.isEmpty, !machine.isOver { finish() }
        check()
    }

    // MARK: What happens

    private mutating func step() {
        switch random.below(20) {
        case 0..<6: receive()
        case 6: handleIfPossible(.paused(random.below(2) == 0 ? .rate : .tick))
        case 7: handle(.resumed(random.below(2) == 0 ? .rate : .tick))
        case 8, 9: connect()
        case 10, 11: drain()
        case 12: upstreamEnds()
        case 13, 14: respond()
        case 15, 16: continueResponse()
        case 17: handle(.downstreamDrained)
        case 18 where random.below(6) == 0: refuse()
        case 18 where random.below(6) == 0: timeOut()
        case 18 where random.below(6) == 0: handleIfPossible(.contentGivenUp)
        case 18: relay()
        default:
            if machine.request == .content, machine.pauses.contains(.memory) { handle(.memoryFreed) }
            if random.below(8) == 0 { handle(random.below(2) == 0 ? .clientHalfClosed : .lastRequest) }
        }
    }

    /// Nothing goes wrong from here on: the exchange must come to its end.
    private mutating func finish() {
        for _ in 0..<200 where !machine.isOver && faults.isEmpty {
            if machine.pauses.contains(.memory), machine.request == .content { handle(.memoryFreed) }
            if machine.pauses.contains(.rate) { handle(.resumed(.rate)) }
            if machine.pauses.contains(.tick) { handle(.resumed(.tick)) }
            if machine.takesContent || machine.expectation == .asked { receive(all: true) }
            connect(always: true)
            queued = 0
            if machine.upstream == .open { drain() }
            if machine.response == .awaited, machine.upstream == .open, machine.request == .sent { respond() }
            continueResponse(always: true)
        }
        if !machine.isOver { faults.append("it doesn't come to its end: \(machine)") }
    }

    private mutating func receive(all: Bool = false) {
        // A client that waits for its 100 may lose patience, or end what it never began.
        if machine.expectation == .asked, machine.request == .content, total > 0 { handle(.contentArrived) }
        while machine.takesContent, isReading, !machine.isOver {
            if next == total { return handle(.contentEnded) }
            let bytes = Array(next..<min(total, next + 1 + random.below(8)))
            let taken = take(bytes)
            next += taken
            if taken < bytes.count || !all, random.below(2) == 0 { return }
            if taken == 0 { return }
        }
    }

    private mutating func take(_ bytes: [Int]) -> Int {
        guard machine.request == .content else { return bytes.count }
        if plan.isVerified {
            spool = (spool ?? []) + bytes
            return bytes.count
        }
        if plan.isConverted { return convert(bytes) }
        switch machine.destination {
        case .upstream:
            write(bytes)
            if isFull { handle(.paused(.upstream)) }
        case .spool: spool = (spool ?? []) + bytes
        case .connection, .buffer:
            let taken = Array(bytes.prefix(room - waiting.count))
            waiting += taken
            if waiting.count == room { handle(.paused(.upstream)) }
            return taken.count
        case .nowhere: break
        }
        return bytes.count
    }

    /// A conversion that writes what it reads, as soon as it has some of it.
    private mutating func convert(_ bytes: [Int]) -> Int {
        waiting += bytes
        guard waiting.count >= room / 2 else { return bytes.count }
        switch machine.destination {
        case .connection where holds != nil && spool == nil:
            machine.holdContent()
            hold()
        case .connection: perform(.connect)
        case .spool: hold()
        case .nowhere: waiting = []
        case .buffer, .upstream: break
        }
        if machine.upstream == .open, !isFull { sendWaiting() }
        if isFull || waiting.count >= room { handleIfPossible(.paused(.upstream)) }
        return bytes.count
    }

    /// Takes what waits, unless that is more than can be held and needn't be: then it goes on behind what was.
    private mutating func hold() {
        let held = (spool ?? []) + waiting
        guard plan.isSpooled || held.count <= holds ?? 0 else {
            machine.releaseContent()
            return perform(.connect)
        }
        (spool, waiting) = (held, [])
    }

    private mutating func connect(always: Bool = false) {
        guard isConnecting, machine.upstream == .connecting else { return }
        guard always || random.below(5) > 0 else {
            isConnecting = false
            return refuse()
        }
        isConnecting = false
        opened()
        handle(.connected(atOnce: false))
    }

    private mutating func opened() {
        connections.append(([], false))
        current = connections.count - 1
        queued = 0
        keepsRetry = random.below(2) == 0 && !retryIsCut
    }

    private mutating func drain() {
        guard machine.upstream == .open else { return }
        queued = random.below(2) == 0 ? 0 : queued / 2
        handle(.upstreamDrained(isEmpty: queued == 0))
    }

    private mutating func upstreamEnds() {
        guard machine.upstream == .open, current != nil, random.below(3) == 0 else { return }
        if retries() { return }
        current = nil
        handle(.upstreamFailed)
    }

    /// Sends the request again, where that is safe: on a connection that nothing was written to, or with all that was.
    private mutating func retries() -> Bool {
        guard machine.mayRetry, machine.retries < 3, !machine.interimWasSent, !machine.hasWritten || keepsRetry else {
            return false
        }
        if !machine.hasWritten { retryBuffer = [] }
        current = nil
        isConnecting = true
        handle(.retried)
        return true
    }

    private mutating func relay() {
        guard machine.upstream == .open else { return }
        handle(random.below(2) == 0 ? .continued : .interim)
    }

    private mutating func respond() {
        guard machine.upstream == .open, machine.response == .awaited else { return }
        if random.below(6) == 0, retries() { return }
        if random.below(12) == 0, machine.canHappen(.switched) {
            current = nil
            return handle(.switched)
        }
        answering = current
        handle(.responseHead)
        if random.below(3) == 0 {
            handle(.responseBuffered)
        } else {
            handle(.responseBegan(untilClose: random.below(4) == 0, mayPersist: random.below(4) > 0))
        }
    }

    private mutating func continueResponse(always: Bool = false) {
        guard always || random.below(2) == 0 else { return }
        switch machine.response {
        case .buffering where machine.upstream == .open:
            noteAnswer()
            handle(.responseArrived(isEmpty: queued == 0))
        case .buffered:
            if !always, random.below(4) == 0 {
                handle(.responseRead)
                return refuse()
            }
            handle(.responseBegan(untilClose: false, mayPersist: true))
            end()
        case .streaming:
            if !always, random.below(8) == 0 { return handle(.responseFailed) }
            end()
        case .awaited, .buffering, .complete: break
        }
    }

    private mutating func noteAnswer() {
        if isAnsweredWhole == nil, let current { isAnsweredWhole = connections[current].isEnded && queued == 0 }
    }

    private mutating func end() {
        noteAnswer()
        handle(.responseEnded(isReusable: random.below(3) > 0, isEmpty: queued == 0))
    }

    private mutating func timeOut() {
        if machine.upstream == .open { handle(.upstreamTimedOut) }
    }

    private mutating func refuse() {
        guard !machine.isOver else { return }
        let left = total - next
        let rest: ExchangeMachine.Rest = left == 0 ? .nothing : left < 20 ? .short : .long
        handle(.refused(rest: rest, isFraming: random.below(6) == 0))
    }

    // MARK: What is done

    private mutating func handleIfPossible(_ event: ExchangeMachine.Event) {
        if machine.canHappen(event) { handle(event) }
    }

    private mutating func handle(_ event: ExchangeMachine.Event) {
        guard machine.canHappen(event) else { return }
        let before = machine
        do throws(Refusal) {
            let actions = try machine.handle(event)
            history.append("\(event): \(actions) -> \(machine.request) \(machine.upstream) \(machine.response)")
            for action in actions.inOrder where faults.isEmpty { perform(action) }
        } catch {
            history.append("\(event): throws \(error.code)")
            if before.isOver { faults.append("a refusal behind the end") }
            refuse()
        }
    }

    private mutating func perform(_ action: ExchangeMachine.Action) {
        if machine.isOver, ![.cut, .beginTunnel, .endAndClose, .endAndKeepAlive, .endAndLinger].contains(action),
            ![
                .answer, .closeUpstream, .returnUpstream, .finishResponse, .stopContentTimer, .releaseOutput,
                .releaseRequest,
            ].contains(action)
        {
            faults.append("\(action) behind the end")
        }
        switch action {
        case .connect:
            handle(.connecting)
            if random.below(2) == 0 {
                opened()
                handle(.connected(atOnce: true))
            } else {
                isConnecting = true
            }
        case .beginSpool: spool = []
        case .sendRetryBuffer:
            let again = retryBuffer
            retryBuffer = []
            writePlain(again)
            if keepsRetry { retryBuffer = again }
            // What was kept has the end of a request that was sent.
            if machine.request == .sent, let current { connections[current].isEnded = true }
        case .sendBuffered: sendWaiting()
        case .finishRequest: finishRequest()
        case .resumeFinish: if !isFull { finishRequest() }
        case .resumeContent:
            if isFull || waiting.count >= room || spool != nil { return }
            handle(.resumed(.upstream))
        case .dropRetryBuffer:
            keepsRetry = false
            retryBuffer = []
        case .pauseReading: isReading = false
        case .resumeReading: isReading = true
        case .answer:
            clientAnswers += 1
            if answering != nil, machine.response == .streaming { faults.append("an answer behind a response") }
        case .closeUpstream, .returnUpstream:
            if action == .returnUpstream, let current, !connections[current].isEnded {
                faults.append("a connection is given back in the middle of a request")
            }
            if action == .returnUpstream, isAnsweredWhole == false {
                faults.append("a connection is given back that answered before it had the request")
            }
            current = nil
            isConnecting = false
        case .cut, .beginTunnel, .endAndClose, .endAndKeepAlive, .endAndLinger:
            ending = "\(action)"
            if action == .endAndKeepAlive, next < total {
                faults.append("the connection serves on with content unread")
            }
        default: break
        }
    }

    private mutating func finishRequest() {
        guard machine.request == .ending else { return }
        if machine.upstream == .none {
            if let held = spool { (spool, waiting) = (held + waiting, []) }
            perform(.connect)
        }
        guard machine.upstream == .open, machine.request == .ending else { return }
        if let held = spool {
            spool = []
            write(held)
        }
        sendWaiting()
        if let current { connections[current].isEnded = true }
        machineWritten()
        handle(.requestWritten(isEmpty: queued == 0))
    }

    private mutating func machineWritten() { machine.noteWritten() }

    private var isFull: Bool { queued > 20 }

    private mutating func sendWaiting() {
        guard machine.upstream == .open else { return }
        if let held = spool {
            spool = nil
            for at in stride(from: 0, to: held.count, by: 8) {
                guard !isFull else {
                    spool = Array(held[at...])
                    return
                }
                write(Array(held[at..<min(at + 8, held.count)]))
            }
        }
        let bytes = waiting
        waiting = []
        write(bytes)
    }

    private mutating func write(_ bytes: [Int]) {
        guard current != nil else { return }
        if keepsRetry {
            if retryBuffer.count + bytes.count > 24 {
                (keepsRetry, retryIsCut, retryBuffer) = (false, true, [])
            } else {
                retryBuffer += bytes
            }
        }
        writePlain(bytes)
    }

    private mutating func writePlain(_ bytes: [Int]) {
        guard let current, !bytes.isEmpty else { return }
        machine.noteWritten()
        if connections[current].isEnded { faults.append("content behind the request's end") }
        connections[current].content += bytes
        queued += bytes.count
    }

    // MARK: What must be true

    /// Each connection got the content from its first byte on, in order; one that got the request's end got all of it.
    private mutating func check() {
        for (index, connection) in connections.enumerated() {
            if connection.content != Array(0..<connection.content.count) {
                faults.append("connection \(index) got \(connection.content)")
            }
            if connection.isEnded, connection.content.count != total {
                faults.append("connection \(index) got the end behind \(connection.content.count) of \(total) bytes")
            }
        }
        if clientAnswers > 1 { faults.append("\(clientAnswers) answers") }
        if machine.upstream != .open, machine.upstream != .connecting, current != nil {
            faults.append("a connection that is forgotten")
        }
    }
}
