import Testing

@testable import Proxy

private let step = MemoryCharge.step

@Suite("The budget of memory")
struct MemoryBudgetTests {
    @Test(
        "The pressure rises at 85, 90 and 95 %",
        arguments: [(0, 0), (849, 0), (850, 1), (899, 1), (900, 2), (949, 2), (950, 3), (1000, 3), (2000, 3)])
    func pressure(used: Int, level: Int) {
        let budget = MemoryBudget(limit: 1000)
        budget.force(used)
        #expect(budget.pressure == level)
    }

    @Test("No more is leased than there is", arguments: [(999, true), (1000, true), (1001, false)])
    func lease(bytes: Int, fits: Bool) {
        let budget = MemoryBudget(limit: 1000)
        #expect(budget.lease(bytes) == fits)
        #expect(budget.used == (fits ? bytes : 0))
    }

    @Test("Less than a step is free", arguments: [(0, 0), (step - 1, 0), (step, step), (step + 1, 2 * step)])
    func cost(held: Int, cost: Int) { #expect(MemoryCharge.cost(of: held) == cost) }

    @Test("A charge follows what is held, up and down, and gives everything back")
    func charge() {
        let allowance = MemoryAllowance(MemoryBudget(limit: 4 * step))
        var charge = MemoryCharge(.request)
        let taken = charge.set(3 * step, from: allowance)
        #expect(taken)
        #expect(allowance.held == 3 * step && allowance.held(.request) == 3 * step)
        let takenBeyond = charge.set(5 * step, from: allowance)
        #expect(!takenBeyond, "more than there is")
        #expect(allowance.held == 3 * step, "a refusal changes nothing")
        let given = charge.set(step, from: allowance)
        #expect(given)
        charge.force(9 * step, from: allowance)
        #expect(allowance.held == 9 * step && allowance.pressure == 3)
        charge.end(allowance)
        charge.end(allowance)
        #expect(allowance.held == 0 && allowance.held(.request) == 0 && allowance.budget.used == 0)
    }

    @Test("Two workers get all of the budget, and one that is idle takes nothing away from the other")
    func workers() {
        let budget = MemoryBudget(limit: 8 * step)
        let first = MemoryAllowance(budget)
        let second = MemoryAllowance(budget)
        #expect(first.take(5 * step, for: .request))
        #expect(second.take(3 * step, for: .response), "exactly the rest")
        #expect(!second.take(step, for: .response))
        first.give(5 * step, of: .request)
        #expect(second.take(5 * step, for: .response), "all of it")
        second.give(8 * step, of: .response)
        #expect(budget.used == 0)
    }

    @Test("From 90 % on, where bodies wait, nothing that is given back stays with the worker", arguments: [57, 56, 50])
    func noSpare(left: Int) {
        let budget = MemoryBudget(limit: 64 * step)
        let allowance = MemoryAllowance(budget)
        #expect(allowance.take(60 * step, for: .request))
        #expect(allowance.pressure == 2)
        for held in (left..<60).reversed() {
            allowance.give(step, of: .request)
            // 58 of 64 are 90.6 %.
            #expect(allowance.held == held * step && (allowance.pressure >= 2) == (held >= 58), "\(held)")
            #expect(budget.used <= allowance.held + (held >= 57 ? 0 : 2 * step), "\(held)")
        }
    }

    @Test(
        "Whatever is taken and given in whatever order: no more is leased than held and a step or two, and nothing is left"
    )
    func anyOrder() {
        let budget = MemoryBudget(limit: 1 << 28)
        let allowance = MemoryAllowance(budget)
        var charges = (0..<20).map { _ in MemoryCharge(.request) }
        var random = SystemRandomNumberGenerator()
        for _ in 0..<5000 {
            let index = Int.random(in: 0..<20, using: &random)
            let held = Int.random(in: 0..<40 * step, using: &random)
            let taken = charges[index].set(held, from: allowance)
            #expect(taken)
            #expect(budget.used >= allowance.held && budget.used <= allowance.held + 2 * budget.step)
            #expect(allowance.held == charges.reduce(0) { $0 + $1.bytes })
        }
        for index in charges.indices { charges[index].end(allowance) }
        #expect(budget.used == 0 && allowance.held == 0)
    }

    @Test("All copies together may hold an eighth", arguments: [(799, true), (800, true), (801, false)])
    func copies(bytes: Int, fits: Bool) {
        let budget = MemoryBudget(limit: 6400)
        let others = 300
        #expect(budget.takeForCopy(others))
        #expect(budget.takeForCopy(bytes - others) == fits)
        #expect(budget.usedByCopies == (fits ? bytes : others), "a refusal changes nothing")
    }

    @Test("Copies leave 15 % to bodies", arguments: [(849, true), (850, true), (851, false)])
    func copiesBesideBodies(sum: Int, fits: Bool) {
        let budget = MemoryBudget(limit: 1000)
        budget.force(sum - 100)
        #expect(budget.takeForCopy(100) == fits)
        #expect(budget.usedByCopies == (fits ? 100 : 0))
    }

    @Test("What copies hold is nobody else's concern: no pressure, and all of the budget is left")
    func copiesApart() {
        let budget = MemoryBudget(limit: 64 * step)
        let allowance = MemoryAllowance(budget)
        var copy = CopyCharge()
        let taken = copy.set(8 * step, from: allowance)
        #expect(taken && allowance.heldByCopies == 8 * step)
        #expect(budget.used == 0 && allowance.held == 0 && allowance.pressure == 0)
        #expect(allowance.take(54 * step, for: .request), "84 % of the budget")
        #expect(allowance.pressure == 0)
        var other = CopyCharge()
        let takenBeyond = other.set(step, from: allowance)
        #expect(!takenBeyond, "copies have all that they may have")
        #expect(allowance.take(10 * step, for: .response), "exactly the rest")
        #expect(!allowance.take(step, for: .response))
        let less = copy.set(step, from: allowance)
        #expect(less && allowance.heldByCopies == step, "giving back always works")
        copy.end(allowance)
        copy.end(allowance)
        other.end(allowance)
        #expect(allowance.heldByCopies == 0 && budget.usedByCopies == 0 && allowance.held == 64 * step)
    }

    @Test("Less than a step of a copy is free", arguments: [(step - 1, 0), (step, step), (step + 1, 2 * step)])
    func costOfCopies(held: Int, cost: Int) {
        let allowance = MemoryAllowance(MemoryBudget(limit: 64 * step))
        var copy = CopyCharge()
        let taken = copy.set(held, from: allowance)
        #expect(taken && copy.bytes == cost && allowance.heldByCopies == cost)
    }

    @Test("After a burst of copies the allocator may be told, too")
    func burstOfCopies() {
        let allowance = MemoryAllowance(MemoryBudget(limit: 1 << 30))
        var told = 0
        allowance.onEmpty = { told += 1 }
        for (bytes, times) in [(8 * 1024 * 1024 - step, 0), (8 * 1024 * 1024, 1)] {
            var copy = CopyCharge()
            let taken = copy.set(bytes, from: allowance)
            #expect(taken && told == 0)
            copy.end(allowance)
            #expect(told == times)
        }
    }

    @Test("After a burst, and only then, the allocator may be told")
    func burst() {
        let allowance = MemoryAllowance(MemoryBudget(limit: 1 << 30))
        var told = 0
        allowance.onEmpty = { told += 1 }
        #expect(allowance.take(8 * 1024 * 1024 - step, for: .request))
        allowance.give(8 * 1024 * 1024 - step, of: .request)
        #expect(told == 0)
        #expect(allowance.take(8 * 1024 * 1024, for: .request))
        allowance.give(step, of: .request)
        #expect(told == 0)
        allowance.give(8 * 1024 * 1024 - step, of: .request)
        #expect(told == 1)
    }

    @Test(
        "auto is half of what is allowed behind what the process takes itself, or a quarter of what is there",
        arguments: [
            (128 << 20, 8 << 30, 56 << 20), (nil, 8 << 30, 2 << 30), (10 << 20, 8 << 30, 8 << 20),
            (32 << 20, 8 << 30, 8 << 20), (33 << 20, 8 << 30, 17 << 19),
            (16 << 30, 8 << 30, 2 << 30), (nil, nil, 64 << 20),
        ] as [(Int?, Int?, Int)])
    func automatic(allowed: Int?, installed: Int?, budget: Int) {
        #expect(MemoryBudget.automatic(allowed: allowed, installed: installed) == budget)
    }
}
