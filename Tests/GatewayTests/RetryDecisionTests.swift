import Testing

@testable import Gateway

/// Whether a request is sent once more, and when (F20, F21): the decision by itself.
@Suite struct RetryDecisionTests {
    private static let causes: [RetryCause] = [
        .staleConnection, .refused, .leftOut, .reset, .timeout, .status(503),
    ]

    private func options(_ change: (inout RetryOptions) -> Void = { _ in }) -> RetryOptions {
        var options = RetryOptions()
        change(&options)
        return options
    }

    /// Free retries of which each cause has had as many as stand behind it.
    private func counted(_ counts: [(RetryCause, Int)]) -> FreeRetries {
        var free = FreeRetries()
        for (cause, count) in counts { for _ in 0..<count { free.note(cause) } }
        return free
    }

    private static let spent: [(RetryCause, Int)] = [
        (.staleConnection, 1), (.refused, 1), (.leftOut, FreeRetries.mostLeftOut),
    ]

    private func all(_ options: inout RetryOptions) {
        options.statuses = [503]
        options.onReset = true
        options.onTimeout = true
        options.attempts = 3
    }

    private func decide(
        _ cause: RetryCause, _ options: RetryOptions, _ change: (inout RetryProgress) -> Void = { _ in },
        random: UInt64 = 0
    ) -> RetryDecision {
        var budget = RetryBudget()
        var progress = RetryProgress()
        progress.hasWritten = true
        change(&progress)
        return options.decide(on: cause, progress, budget: &budget, now: 0) { random }
    }

    @Test(
        "by default only what a reused connection lost, or a server refused, is sent again, at once", arguments: causes)
    func standard(_ cause: RetryCause) {
        #expect(decide(cause, options()) == (cause.isFree ? .retry(after: 0) : .unwanted))
    }

    @Test("each condition is asked for by itself")
    func conditions() {
        let ways: [(RetryCause, (inout RetryOptions) -> Void)] = [
            (.reset, { $0.onReset = true }), (.timeout, { $0.onTimeout = true }),
            (.status(503), { $0.statuses = [503] }),
        ]
        for (index, way) in ways.enumerated() {
            for (other, cause) in ways.map(\.0).enumerated() {
                let isWanted = decide(cause, options(way.1)) != .unwanted
                #expect(isWanted == (index == other))
            }
        }
        #expect(decide(.status(502), options { $0.statuses = [503] }) == .unwanted)
    }

    @Test("behind a byte of the response it is said where the route would have had a retry", arguments: causes)
    func behindAnswer(_ cause: RetryCause) {
        let standard: RetrySkip? = cause.isFree ? .responseStarted : nil
        #expect(options().skipBehindAnswer(on: cause) == standard)
        #expect(options(all).skipBehindAnswer(on: cause) == .responseStarted)
        let off = options {
            all(&$0); $0.isEnabled = false
        }
        #expect(off.skipBehindAnswer(on: cause) == .disabled)
    }

    @Test("what speaks against it is said, the first reason of several", arguments: causes)
    func skips(_ cause: RetryCause) {
        #expect(
            decide(
                cause,
                options {
                    all(&$0); $0.isEnabled = false
                }) == .skip(.disabled))
        let options = options(all)
        #expect(
            decide(cause, options) {
                $0.hasAnswered = true; $0.retries = 9
            } == .skip(.responseStarted))
        #expect(
            decide(cause, options) {
                $0.retries = 3; $0.freeRetries = counted(Self.spent); $0.isIdempotent = false
            } == .skip(.attempts))
        // Of what a server refused nothing was executed, either.
        #expect(
            decide(cause, options) {
                $0.isIdempotent = false; $0.isBuffered = false
            } == .skip(cause.isUntouched ? .bodyTooLarge : .notIdempotent))
        #expect(decide(cause, options) { $0.isBuffered = false } == .skip(.bodyTooLarge))
        // Where nothing was sent, nothing was executed.
        let unsent = decide(cause, options) {
            $0.isIdempotent = false; $0.isBuffered = false; $0.hasWritten = false
        }
        if case .retry = unsent {} else { Issue.record("\(unsent)") }
    }

    @Test(
        "a stale connection and a refusal are worth one more try whatever the route asks for, what is left out many, and each for itself",
        arguments: spent, [0, 1, 5])
    func free(_ own: (RetryCause, Int), _ attempts: Int) {
        let options = options { $0.attempts = attempts }
        let (cause, most) = own
        let others = Self.spent.filter { $0.0 != cause }
        for retries in [0, attempts, 9] {
            for count in [0, most - 1, most, most + 1] {
                let decision = decide(cause, options) {
                    $0.retries = retries; $0.freeRetries = counted(others + [(cause, count)])
                }
                #expect(decision == (count < most ? .retry(after: 0) : .skip(.attempts)))
            }
        }
    }

    @Test("free retries are counted, and no others")
    func freeCount() {
        #expect(counted(Self.spent).count == FreeRetries.mostLeftOut + 2)
        #expect(counted([(.reset, 3), (.timeout, 3), (.status(503), 3)]) == FreeRetries())
    }

    @Test("the route's tries are its own")
    func attempts() {
        let some = options {
            all(&$0); $0.attempts = 2
        }
        for free in [FreeRetries(), counted(Self.spent)] {
            for retries in 0..<4 {
                let decision = decide(.reset, some) { ($0.retries, $0.freeRetries) = (retries, free) }
                #expect((decision == .skip(.attempts)) == (retries >= 2))
            }
        }
        #expect(
            decide(
                .reset,
                options {
                    $0.onReset = true; $0.attempts = 0
                }) == .skip(.attempts))
    }

    @Test("pauses grow with each try and stay within their bounds", arguments: 0..<8)
    func pauses(retries: Int) {
        let options = options {
            all(&$0); $0.attempts = 100
        }
        let bound = min(250_000_000, 25_000_000 << UInt64(min(retries + 2, 4)))
        for random in [0, 1, 77_777_777, UInt64.max] {
            guard case .retry(let pause) = decide(.timeout, options, { $0.retries = retries }, random: random) else {
                Issue.record("not sent again")
                return
            }
            #expect(pause >= 25_000_000 && pause < bound)
        }
        #expect(decide(.timeout, options, { $0.retries = retries }) == .retry(after: 25_000_000))
    }

    @Test("the budget ends retries that the route asks for, and never those of stale connections")
    func budget() {
        let options = options {
            all(&$0); $0.attempts = .max
        }
        var budget = RetryBudget()
        var progress = RetryProgress()
        progress.hasWritten = true
        var sent = 0
        while sent < 100,
            options.decide(on: .reset, progress, budget: &budget, now: 0, random: { 0 }) != .skip(.budget)
        {
            sent += 1
        }
        // Ten saved ones and three of this second.
        #expect(sent == 13)
        #expect(
            options.decide(on: .staleConnection, progress, budget: &budget, now: 0, random: { 0 })
                == .retry(after: 0))
        for _ in 0..<5 { budget.earn() }
        #expect(
            options.decide(on: .reset, progress, budget: &budget, now: 0, random: { 0 })
                == .retry(after: 25_000_000))
        #expect(
            options.decide(on: .reset, progress, budget: &budget, now: 0, random: { 0 }) == .skip(.budget))
    }
}
