import TestSupport
import Testing

@testable import Gateway

/// The machine alone: what each event gives in each state, and what holds whatever comes. No socket, no clock, no bytes.
@Suite struct ExchangeMachineTests {
    typealias Machine = ExchangeMachine
    typealias Actions = ExchangeMachine.Actions

    // MARK: The table

    /// Each line of the vector file: a state, an event, and what the machine answers with: actions and the state behind them, a
    /// refusal, or `-` for what can't happen.
    @Test(arguments: try MachineTable.rows()) func table(_ row: MachineTable.Row) throws {
        #expect(MachineTable.outcome(of: row.event, in: row.state) == row.outcome, "\(row.state) \(row.event)")
    }

    /// The table has each of its states with each event, and every kind of event.
    @Test func tableIsComplete() throws {
        #expect(Set(MachineTable.events.map { MachineTable.kind(of: $0.event) }) == Set(MachineTable.Kind.allCases))
        let rows = try MachineTable.rows()
        let states = Set(rows.map(\.state))
        #expect(states == Set(MachineTable.states.map(\.name)))
        for state in states {
            #expect(
                Set(rows.filter { $0.state == state }.map(\.event)) == Set(MachineTable.events.map(\.name)), "\(state)")
        }
    }

    /// Orders of events that seldom come.
    @Test(arguments: try MachineTable.sequences()) func sequence(_ sequence: MachineTable.Sequence) {
        var machine = ExchangeMachine()
        _ = MachineTable.outcome(of: "headRead", on: &machine)
        for (event, outcome) in sequence.steps {
            #expect(MachineTable.outcome(of: event, on: &machine) == outcome, "\(event)")
        }
    }

    // MARK: What holds in each state

    /// Whether the parts go together: what an exchange can come to.
    private static func isConsistent(_ machine: Machine) -> Bool {
        if !machine.pauses.isEmpty, machine.request != .content { return false }
        if machine.pauses.contains(.memory), machine.upstream != .none { return false }
        if machine.isAnsweredEarly, [.awaited, .buffering].contains(machine.response) { return false }
        if machine.request == .head { return machine.upstream == .none && machine.response == .awaited }
        if machine.request == .discarding { return machine.upstream == .gone && machine.response == .complete }
        switch machine.response {
        case .awaited: return machine.upstream != .gone
        case .buffering: return machine.upstream == .open
        // What has come whole is converted on without its connection.
        case .buffered, .streaming: return machine.upstream == .open || machine.upstream == .gone
        case .complete: return machine.upstream == .open || machine.upstream == .gone
        }
    }

    /// All combinations of the three parts that go together, with those of the flags that decide something.
    private static var everyState: [Machine] {
        var all: [Machine] = []
        for request in Machine.Request.allCases {
            for upstream in Machine.Upstream.allCases {
                for response in Machine.Response.allCases {
                    for expectation in Machine.Expectation.allCases {
                        for pauses in [[], .upstream, [.upstream, .rate], .memory, .tick] as [Machine.Pauses] {
                            for (persists, isEarly) in [(true, false), (false, false), (true, true), (false, true)] {
                                let machine = Machine(
                                    request: request, upstream: upstream, response: response,
                                    expectation: expectation, pauses: pauses, hasBegun: request != .head,
                                    persists: persists, isAnsweredEarly: isEarly)
                                if isConsistent(machine) { all.append(machine) }
                            }
                        }
                    }
                }
            }
        }
        return all
    }

    private static let ends: Actions = [
        .cut, .beginTunnel, .endAndKeepAlive, .endAndClose, .endAndLinger,
    ]

    /// Runs `check` on each event that can happen in each state.
    private func always(_ check: (Machine, Machine.Event, Machine, Actions?) -> Void) {
        for before in Self.everyState {
            for event in MachineTable.events.map(\.event) where before.canHappen(event) {
                var after = before
                var actions: Actions?
                do throws(Refusal) { actions = try after.handle(event) } catch {}
                // A refusal follows where one is thrown, and behind a head that was taken back.
                if actions != nil, !after.isOver, event != .responseWithdrawn {
                    #expect(Self.isConsistent(after), "\(event): \(before)")
                }
                check(before, event, after, actions)
            }
        }
    }

    @Test("an exchange ends with one action, and with nothing behind it") func endsOnce() {
        always { before, event, after, actions in
            let ends = (actions ?? []).intersection(Self.ends)
            #expect(ends.rawValue.nonzeroBitCount == (after.isOver ? 1 : 0), "\(before) \(event)")
            if after.isOver {
                for event in MachineTable.events { #expect(!after.canHappen(event.event)) }
            }
        }
    }

    @Test("a final response is begun once, and never behind an answer") func oneResponse() {
        always { before, event, after, actions in
            if before.response == .complete { #expect(after.response == .complete, "\(event)") }
            if actions?.contains(.answer) == true {
                #expect(before.awaitsResponse && after.response == .complete, "\(before) \(event)")
            }
        }
    }

    @Test("what was streamed is never answered anew, only cut") func cutIsNoEnd() {
        always { before, event, after, actions in
            guard before.response == .streaming, case .refused = event else { return }
            #expect(actions == .cut && after.isOver)
        }
    }

    @Test("an upstream's connection is given up once, and told so") func upstreamIsReleased() {
        always { before, event, after, actions in
            let released = (actions ?? []).intersection([.closeUpstream, .returnUpstream])
            #expect(released.rawValue.nonzeroBitCount <= 1)
            if !released.isEmpty {
                #expect(before.upstream == .open || before.upstream == .connecting, "\(before) \(event)")
                #expect(after.upstream == .gone)
            }
            // A connection is only given back with nothing of its exchange on it.
            if actions?.contains(.returnUpstream) == true {
                #expect(after.request == .sent && !after.isAnsweredEarly, "\(before) \(event)")
            }
            if after.isOver, actions != .cut { #expect(after.upstream == .gone || after.upstream == .none) }
        }
    }

    @Test("a connection serves on only behind a request that was read to its end") func keepAliveIsClean() {
        always { before, event, after, actions in
            guard actions?.contains(.endAndKeepAlive) == true else { return }
            #expect(after.persists && after.isRequestRead, "\(before) \(event)")
        }
    }

    @Test("content is read on only where none of the reasons to wait is left") func resumes() {
        always { before, event, after, actions in
            guard actions?.contains(.resumeReading) == true else { return }
            #expect(after.pauses.isEmpty || event == .memoryFreed, "\(before) \(event)")
        }
    }

    @Test("a connection that is past a request doesn't come back to life") func persistsNoMore() {
        always { before, event, after, _ in
            if case .headRead = event { return }
            if !before.persists { #expect(!after.persists, "\(before) \(event)") }
        }
    }

    // MARK: Random sequences

    /// Runs whole exchanges with anything happening at any time, on a driver that moves numbered bytes.
    @Test(arguments: 0..<40) func randomSequences(_ seed: Int) throws {
        var endings: Set<String> = []
        for run in 0..<250 {
            var model = ModelExchange(seed: UInt64(seed * 1000 + run))
            model.run()
            #expect(
                model.faults.isEmpty,
                "seed \(seed), run \(run): \(model.faults)\n\(model.history.joined(separator: "\n"))")
            if !model.faults.isEmpty { return }
            endings.insert(model.ending)
        }
        // A model that always ends alike tries nothing.
        #expect(endings.count >= 4, "\(endings)")
    }
}
