internal import EventLoop
internal import Logging
internal import Octets

/// Sends spans to a collector by OTLP over HTTP: many at a time, one request after the other, on the worker's loop. Requests that
/// are served never wait for it: what the collector doesn't take in time is dropped and counted.
final class SpanExporter {
    private var settings: TracingSettings
    private let loop: EventLoop
    private let counters: TracingCounters
    private let connection: CollectorConnection
    private var queue: SpanQueue
    private var backoff = ExportBackoff()
    /// The batch on its way, with its request; kept to be sent again.
    private var batch: (count: Int, body: OutputBuffer)?
    /// Those that were one batch with it, and too much for the collector together; and as many of them as it may take at once.
    private var rest: [[UInt8]] = []
    private var most = 0
    /// Whether a batch was too long, which was logged then.
    private var isTooLong = false
    /// Sends what waits; or, while there is a batch, that again.
    private var timer: Timer!
    /// Called once when nothing is left: no more spans come.
    private var finishing: (() -> Void)?
    private var finishTimer: Timer?
    /// Whether the end doesn't wait for further attempts.
    private var isHurried = false
    private var isFinished = false
    /// Whether the last batch could not be sent, which was logged then.
    private var isFailing = false
    /// Whether the collector took the last batch without some of its spans.
    private var isRejecting = false

    init(_ settings: TracingSettings, loop: EventLoop, resolver: Resolver, counters: TracingCounters) {
        self.settings = settings
        self.loop = loop
        self.counters = counters
        queue = SpanQueue(limit: settings.queue)
        connection = CollectorConnection(settings, loop: loop, resolver: resolver)
        timer = Timer(loop: loop) { [unowned self] in if batch == nil { send() } else { post() } }
    }

    /// Takes a span, where there is room.
    func add(_ span: [UInt8]) {
        guard !isFinished, queue.add(span) else {
            counters.droppedQueue += 1
            return
        }
        counters.waiting += 1
        guard batch == nil else { return }
        if queue.waitingCount >= settings.batch {
            // Not now: the end of an exchange isn't the place to make connections.
            if !isSoon { timer.set(after: 0) }
            isSoon = true
        } else if !timer.isSet {
            timer.set(after: settings.interval.nanoseconds)
        }
    }

    /// Whether the timer is set to the next tick.
    private var isSoon = false

    /// Goes on by other settings with all that it has, where they only say how many spans go at once, how long they wait for each other
    /// and how many may wait. Returns false, and changes nothing, where what waits was to go elsewhere, or in another way.
    func goesOn(by other: TracingSettings) -> Bool {
        var same = other
        same.sample = settings.sample
        same.parent = settings.parent
        same.queue = settings.queue
        same.batch = settings.batch
        same.interval = settings.interval
        guard same == settings, finishing == nil, !isFinished else { return false }
        if other.batch != settings.batch { isTooLong = false }
        settings = other
        queue.limit = other.queue
        if batch == nil, queue.waitingCount > 0, !isSoon {
            isSoon = queue.waitingCount >= other.batch
            timer.set(after: isSoon ? 0 : other.interval.nanoseconds)
        }
        return true
    }

    /// Sends what waits as it would have been sent, in as many attempts, and then calls `done`. No more spans come.
    func retire(_ done: @escaping () -> Void) {
        finishing = done
        guard queue.count > 0 else { return giveUp() }
        if batch == nil { send() }
    }

    /// Sends what waits, one batch after the other, and then calls `done`, at the latest after `nanoseconds`. One that has retired calls
    /// this `done` alone.
    func finish(within nanoseconds: UInt64, _ done: @escaping () -> Void) {
        guard !isFinished else { return done() }
        finishing = done
        isHurried = true
        guard queue.count > 0 else { return giveUp() }
        let end = Timer(loop: loop) { [unowned self] in giveUp() }
        end.set(after: nanoseconds)
        finishTimer = end
        // A batch that waits for its next attempt has it now.
        if batch == nil { send() } else if timer.isSet { post() }
    }

    /// Drops what is left, and calls what `finish` or `retire` was given.
    func giveUp() {
        guard let done = finishing else { return }
        finishing = nil
        isFinished = true
        timer.cancel()
        finishTimer?.cancel()
        connection.close()
        let left = queue.count
        if left > 0 {
            counters.droppedFailed += UInt64(left)
            OperationalLog.logger.warning("\(left) spans were not sent before the end")
        }
        counters.waiting -= left
        queue.sent(queue.sending)
        _ = queue.drop()
        (batch, rest) = (nil, [])
        done()
    }

    // MARK: A batch

    private func send() {
        isSoon = false
        let spans = queue.take(settings.batch)
        guard !spans.isEmpty else { return }
        post(spans)
    }

    private func post(_ spans: [[UInt8]]) {
        batch = (spans.count, SpanWriter.request(spans, service: settings.service))
        post()
    }

    /// Sends half of a batch that was too long, and the others behind it. Returns false of a single span.
    private func halve(_ batch: (count: Int, body: OutputBuffer)) -> Bool {
        guard batch.count > 1 else { return false }
        counters.retried += 1
        backoff.end()
        let spans = SpanWriter.spans(in: batch.body.span)
        most = (batch.count + 1) / 2
        if !isTooLong {
            OperationalLog.logger.warning(
                """
                the collector of spans, \(settings.host):\(settings.port), takes no \(batch.count) spans at once, which go in \
                halves: a smaller tracing.batch spares the attempt
                """)
        }
        isTooLong = true
        rest = spans[most...] + rest
        post(Array(spans[..<most]))
        return true
    }

    private func post() {
        guard let batch else { return }
        timer.cancel()
        connection.post(batch.body.span) { [unowned self] outcome in took(outcome) }
    }

    private func took(_ outcome: CollectorConnection.Outcome) {
        guard let batch else { return }
        let reason: String
        switch outcome {
        case .answered(let answer):
            if (200..<300).contains(answer.status) {
                let rejected = min(batch.count, SpanWriter.rejected(in: answer.content.span))
                counters.exported += 1
                counters.rejected += UInt64(rejected)
                counters.sent += UInt64(batch.count - rejected)
                if rejected > 0, !isRejecting {
                    let message = SpanWriter.message(in: answer.content.span)
                    let taken =
                        "\(batch.count - rejected) of \(batch.count) spans\(message.isEmpty ? "" : ": \(message)")"
                    OperationalLog.logger.warning(
                        "the collector of spans, \(settings.host):\(settings.port), takes \(taken)")
                }
                isRejecting = rejected > 0
                if isFailing { OperationalLog.logger.info("the collector of spans takes them again") }
                isFailing = false
                return endBatch()
            }
            reason = "it answers with \(answer.status)"
            if answer.status == 413, halve(batch) { return }
            if ExportBackoff.repeats(answer.status), repeats(asked: answer.retryAfter) { return }
        case .failed(let why):
            reason = why
            if repeats(asked: nil) { return }
        }
        counters.failed += 1
        counters.droppedFailed += UInt64(batch.count)
        if !isFailing {
            OperationalLog.logger.warning(
                "the collector of spans, \(settings.host):\(settings.port), takes none, which are dropped: \(reason)")
        }
        isFailing = true
        endBatch()
    }

    /// Lets the batch be sent again later. Returns false where it is given up.
    private func repeats(asked: Int?) -> Bool {
        guard !isHurried, let time = backoff.next(asked: asked, random: .random(in: .min ... .max)) else {
            return false
        }
        counters.retried += 1
        timer.set(after: time)
        return true
    }

    private func endBatch() {
        backoff.end()
        let count = batch?.count ?? 0
        counters.waiting -= count
        queue.sent(count)
        batch = nil
        if !rest.isEmpty {
            let next = Array(rest.prefix(most))
            rest.removeFirst(next.count)
            return post(next)
        }
        if queue.waitingCount == 0 {
            if finishing != nil { giveUp() }
        } else if queue.waitingCount >= settings.batch || finishing != nil {
            send()
        } else {
            timer.set(after: settings.interval.nanoseconds)
        }
    }
}
