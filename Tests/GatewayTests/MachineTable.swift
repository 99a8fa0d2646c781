import Foundation
import Testing

@testable import Gateway

/// The table of `ExchangeMachine` in Tests/Vectors/exchange-machine.txt: its states and events by name, and how outcomes are
/// written there.
enum MachineTable {
    struct Row: CustomTestStringConvertible, Sendable {
        let state: String
        let event: String
        let outcome: String

        var testDescription: String { "\(state): \(event)" }
    }

    private static let vectors = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Vectors")
    private static let file = vectors.appending(path: "exchange-machine.txt")

    /// Events of one exchange in their order, behind `headRead`, and what comes of each.
    struct Sequence: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let steps: [(event: String, outcome: String)]
    }

    /// Those of Tests/Vectors/exchange-sequences.txt.
    static func sequences() throws -> [Sequence] {
        let text = try String(contentsOf: vectors.appending(path: "exchange-sequences.txt"), encoding: .utf8)
        return text.components(separatedBy: "\n\n").dropFirst().map { block in
            let lines = block.split(separator: "\n")
            let steps = lines.dropFirst().map { line in
                let halves = line.components(separatedBy: " = ")
                return (event: halves[0], outcome: halves[1])
            }
            return Sequence(testDescription: String(lines[0].dropFirst(2)), steps: steps)
        }
    }

    /// `RECAST_WRITE_TABLE=1` writes the file anew, to be read line by line in the diff.
    static func rows() throws -> [Row] {
        if ProcessInfo.processInfo.environment["RECAST_WRITE_TABLE"] != nil {
            var text = "# state: event = actions > state behind them\n"
            for state in states {
                text += "\n"
                for event in events {
                    text += "\(state.name): \(event.name) = \(outcome(of: event.name, in: state.name))\n"
                }
            }
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        let text = try String(contentsOf: file, encoding: .utf8)
        return text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            let halves = parts[1].split(separator: "=", maxSplits: 1)
            return Row(
                state: String(parts[0]), event: halves[0].trimmingCharacters(in: .whitespaces),
                outcome: halves[1].trimmingCharacters(in: .whitespaces))
        }
    }

    /// Events without their values. The switch below has no default: whoever adds an event adds a kind, and `tableIsComplete` then
    /// asks for it in `events`.
    enum Kind: CaseIterable {
        case headRead, began, memoryFreed, contentArrived, paused, resumed, contentEnded, contentGivenUp, connecting
        case connected
        case upstreamDrained, requestWritten, continued, interim, retried, responseHead, responseBegan
        case responseBuffered, responseArrived, responseRead, responseEnded, responseWithdrawn, upstreamFailed
        case upstreamTimedOut, switched, refused, responseFailed, downstreamDrained, clientHalfClosed
        case lastRequest
    }

    static func kind(of event: ExchangeMachine.Event) -> Kind {
        switch event {
        case .headRead: .headRead
        case .began: .began
        case .memoryFreed: .memoryFreed
        case .contentArrived: .contentArrived
        case .paused: .paused
        case .resumed: .resumed
        case .contentEnded: .contentEnded
        case .contentGivenUp: .contentGivenUp
        case .connecting: .connecting
        case .connected: .connected
        case .upstreamDrained: .upstreamDrained
        case .requestWritten: .requestWritten
        case .continued: .continued
        case .interim: .interim
        case .retried: .retried
        case .responseHead: .responseHead
        case .responseBegan: .responseBegan
        case .responseBuffered: .responseBuffered
        case .responseArrived: .responseArrived
        case .responseRead: .responseRead
        case .responseEnded: .responseEnded
        case .responseWithdrawn: .responseWithdrawn
        case .upstreamFailed: .upstreamFailed
        case .upstreamTimedOut: .upstreamTimedOut
        case .switched: .switched
        case .refused: .refused
        case .responseFailed: .responseFailed
        case .downstreamDrained: .downstreamDrained
        case .clientHalfClosed: .clientHalfClosed
        case .lastRequest: .lastRequest
        }
    }

    /// States that exchanges come to, by a name: those of the three parts, and what else decides.
    static let states: [(name: String, machine: ExchangeMachine)] = [
        ("head", ExchangeMachine()),
        ("head read", ExchangeMachine(request: .content, persists: true)),
        ("content, queued for memory", content(.none, pauses: .memory)),
        ("content, spooled", content(.none, plan: spooled)),
        ("content, converted", content(.none, plan: converted)),
        ("content, connecting", content(.connecting)),
        ("content, connecting, full", content(.connecting, pauses: .upstream)),
        ("content, connecting, asked", content(.connecting, expectation: .asked)),
        ("content, connecting again", content(.connecting, retries: 1)),
        ("content, open", content(.open)),
        ("content, open, full", content(.open, pauses: .upstream)),
        ("content, open, full and slow", content(.open, pauses: [.upstream, .rate])),
        ("content, open, asked", content(.open, expectation: .asked)),
        ("content, open, buffering", content(.open, .buffering)),
        ("content, open, streaming", content(.open, .streaming)),
        ("content, open, streaming, refused", content(.open, .streaming, expectation: .refused)),
        (
            "content, open, streaming, refused, slow",
            content(.open, .streaming, expectation: .refused, pauses: .rate, persists: false)
        ),
        ("content, gone, buffered", content(.gone, .buffered, isAnsweredEarly: true)),
        ("content, gone, streaming", content(.gone, .streaming, persists: false, isAnsweredEarly: true)),
        ("content, open, complete", content(.open, .complete, persists: false, isAnsweredEarly: true)),
        (
            "content, open, complete, full",
            content(.open, .complete, pauses: .upstream, persists: false, isAnsweredEarly: true)
        ),
        ("content, open, ticked", content(.open, pauses: .tick)),
        ("ending, none", state(.ending, .none)),
        ("ending, connecting", state(.ending, .connecting)),
        ("ending, open", state(.ending, .open)),
        ("ending, open, streaming", state(.ending, .open, .streaming)),
        ("ending, open, buffered, early", state(.ending, .open, .buffered, isAnsweredEarly: true)),
        ("ending, open, complete, early", state(.ending, .open, .complete, isAnsweredEarly: true)),
        ("sent, connecting again", state(.sent, .connecting, retries: 1)),
        ("sent, open", state(.sent, .open)),
        ("sent, open, one last", state(.sent, .open, persists: false)),
        ("sent, open, buffering", state(.sent, .open, .buffering)),
        ("sent, open, buffered", state(.sent, .open, .buffered)),
        ("sent, gone, buffered", state(.sent, .gone, .buffered)),
        ("sent, open, streaming", state(.sent, .open, .streaming)),
        ("sent, open, buffered, early", state(.sent, .open, .buffered, isAnsweredEarly: true)),
        ("sent, open, streaming, early", state(.sent, .open, .streaming, isAnsweredEarly: true)),
        ("sent, open, complete, early", state(.sent, .open, .complete, isAnsweredEarly: true)),
        ("discarding", state(.discarding, .gone, .complete)),
        ("discarded, open, buffering, refused", state(.discarded, .open, .buffering, expectation: .refused)),
        ("discarded, open, buffered, refused", state(.discarded, .open, .buffered, expectation: .refused)),
        ("discarded, open, streaming, refused", state(.discarded, .open, .streaming, expectation: .refused)),
    ]

    private static var spooled: ExchangeMachine.Plan {
        var plan = ExchangeMachine.Plan()
        plan.hasContent = true
        plan.isSpooled = true
        return plan
    }

    private static var converted: ExchangeMachine.Plan {
        var plan = ExchangeMachine.Plan()
        plan.hasContent = true
        plan.isConverted = true
        return plan
    }

    private static func content(
        _ upstream: ExchangeMachine.Upstream = .none, _ response: ExchangeMachine.Response = .awaited,
        expectation: ExchangeMachine.Expectation = .settled, pauses: ExchangeMachine.Pauses = [],
        plan: ExchangeMachine.Plan? = nil, persists: Bool = true, retries: Int = 0, isAnsweredEarly: Bool = false
    ) -> ExchangeMachine {
        var own = plan ?? ExchangeMachine.Plan()
        own.hasContent = true
        own.expectsContinue = expectation == .asked
        own.relaysExpectation = expectation == .asked
        return ExchangeMachine(
            request: .content, upstream: upstream, response: response, expectation: expectation, pauses: pauses,
            plan: own,
            hasBegun: true, persists: persists, retries: retries, isAnsweredEarly: isAnsweredEarly)
    }

    private static func state(
        _ request: ExchangeMachine.Request, _ upstream: ExchangeMachine.Upstream,
        _ response: ExchangeMachine.Response = .awaited, expectation: ExchangeMachine.Expectation = .settled,
        persists: Bool = true, retries: Int = 0, isAnsweredEarly: Bool = false
    ) -> ExchangeMachine {
        ExchangeMachine(
            request: request, upstream: upstream, response: response, expectation: expectation, hasBegun: true,
            persists: persists, retries: retries, isAnsweredEarly: isAnsweredEarly)
    }

    private static func plan(_ change: (inout ExchangeMachine.Plan) -> Void) -> ExchangeMachine.Plan {
        var plan = ExchangeMachine.Plan()
        plan.hasContent = true
        change(&plan)
        return plan
    }

    static let events: [(name: String, event: ExchangeMachine.Event)] = [
        ("headRead", .headRead(persists: true)),
        ("headRead, one last", .headRead(persists: false)),
        ("began without content", .began(plan { $0.hasContent = false })),
        ("began", .began(plan { _ in })),
        ("began, expects 100", .began(plan { $0.expectsContinue = true })),
        ("began, relays 100", .began(plan { ($0.expectsContinue, $0.relaysExpectation) = (true, true) })),
        ("began, converts", .began(plan { $0.isConverted = true })),
        (
            "began, converts, relays 100",
            .began(plan { ($0.isConverted, $0.expectsContinue, $0.relaysExpectation) = (true, true, true) })
        ),
        ("began, verifies", .began(plan { $0.isVerified = true })),
        (
            "began, verifies, spools, relays",
            .began(
                plan {
                    ($0.isVerified, $0.isSpooled, $0.expectsContinue, $0.relaysExpectation) = (true, true, true, true)
                })
        ),
        ("began, spools", .began(plan { $0.isSpooled = true })),
        ("began without memory", .began(plan { $0.hasMemory = false })),
        ("memoryFreed", .memoryFreed),
        ("contentArrived", .contentArrived),
        ("paused by upstream", .paused(.upstream)),
        ("paused by rate", .paused(.rate)),
        ("resumed by upstream", .resumed(.upstream)),
        ("resumed by rate", .resumed(.rate)),
        ("paused by a tick", .paused(.tick)),
        ("resumed by a tick", .resumed(.tick)),
        ("contentEnded", .contentEnded),
        ("contentGivenUp", .contentGivenUp),
        ("connecting", .connecting),
        ("connected at once", .connected(atOnce: true)),
        ("connected", .connected(atOnce: false)),
        ("upstreamDrained", .upstreamDrained(isEmpty: false)),
        ("upstreamDrained, empty", .upstreamDrained(isEmpty: true)),
        ("requestWritten", .requestWritten(isEmpty: false)),
        ("requestWritten, empty", .requestWritten(isEmpty: true)),
        ("continued", .continued),
        ("interim", .interim),
        ("retried", .retried),
        ("responseHead", .responseHead),
        ("responseBegan", .responseBegan(untilClose: false, mayPersist: true)),
        ("responseBegan until close", .responseBegan(untilClose: true, mayPersist: true)),
        ("responseBegan, one last", .responseBegan(untilClose: false, mayPersist: false)),
        ("responseBuffered", .responseBuffered),
        ("responseArrived", .responseArrived(isEmpty: false)),
        ("responseArrived, empty", .responseArrived(isEmpty: true)),
        ("responseRead", .responseRead),
        ("responseEnded", .responseEnded(isReusable: true, isEmpty: false)),
        ("responseEnded, empty", .responseEnded(isReusable: true, isEmpty: true)),
        ("responseEnded, not reusable", .responseEnded(isReusable: false, isEmpty: true)),
        ("responseWithdrawn", .responseWithdrawn),
        ("responseFailed", .responseFailed),
        ("upstreamFailed", .upstreamFailed),
        ("upstreamTimedOut", .upstreamTimedOut),
        ("switched", .switched),
        ("refused, nothing left", .refused(rest: .nothing, isFraming: false)),
        ("refused, little left", .refused(rest: .short, isFraming: false)),
        ("refused, much left", .refused(rest: .long, isFraming: false)),
        ("refused for framing", .refused(rest: .short, isFraming: true)),
        ("downstreamDrained", .downstreamDrained),
        ("clientHalfClosed", .clientHalfClosed),
        ("lastRequest", .lastRequest),
    ]

    /// What comes of an event, as the table writes it.
    static func outcome(of event: String, in state: String) -> String {
        guard var machine = states.first(where: { $0.name == state })?.machine else { return "?" }
        return outcome(of: event, on: &machine)
    }

    /// As above, of an event that happens to `machine`.
    static func outcome(of event: String, on machine: inout ExchangeMachine) -> String {
        guard let event = events.first(where: { $0.name == event })?.event else { return "?" }
        guard machine.canHappen(event) else { return "-" }
        do throws(Refusal) {
            let actions = try machine.handle(event)
            let names = actions.inOrder.map { "\($0)" }.joined(separator: " ")
            return (names.isEmpty ? "nothing" : names) + " > " + describe(machine)
        } catch {
            return "throws \(error.code) > " + describe(machine)
        }
    }

    private static func describe(_ machine: ExchangeMachine) -> String {
        var words = ["\(machine.request)", "\(machine.upstream)", "\(machine.response)"]
        if machine.expectation != .settled { words.append("\(machine.expectation)") }
        for (pause, name) in [
            (ExchangeMachine.Pauses.upstream, "full"), (.rate, "slow"), (.memory, "queued"), (.tick, "ticked"),
        ] where machine.pauses.contains(pause) { words.append(name) }
        if !machine.persists { words.append("last") }
        if machine.isAnsweredEarly { words.append("early") }
        if machine.isUntilClose { words.append("untilClose") }
        if machine.isOver { words.append("over") }
        return words.joined(separator: " ")
    }
}
