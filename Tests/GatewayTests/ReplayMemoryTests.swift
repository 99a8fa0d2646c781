import Testing

@testable import Gateway

/// What a route remembers of the signed requests that came.
@Suite struct ReplayMemoryTests {
    private func remember(_ memory: inout ReplayMemory, _ key: ReplayMemory.Key, _ now: UInt64) -> Bool {
        memory.remember(key, now: now)
    }

    private func key(_ text: String) -> ReplayMemory.Key { ReplayMemory.Key(Array(text.utf8)) }

    @Test("A request is taken once within its time")
    func once() {
        var memory = ReplayMemory(.init(time: 100))
        #expect(remember(&memory, key("a"), 1000))
        #expect(!remember(&memory, key("a"), 1000))
        #expect(remember(&memory, key("b"), 1050))
        for (now, isNew) in [(1099 as UInt64, false), (1100, true), (1101, false)] {
            #expect(remember(&memory, key("a"), now) == isNew)
        }
        #expect(!remember(&memory, key("b"), 1149))
        #expect(remember(&memory, key("b"), 1150))
    }

    @Test("What was forgotten may come again, and a later entry isn't touched by the end of the first")
    func forgotten() {
        var memory = ReplayMemory(.init(time: 100))
        #expect(remember(&memory, key("a"), 0))
        memory.forget(key("a"))
        #expect(memory.count == 0)
        #expect(remember(&memory, key("a"), 50))
        // The time of the first one ends here.
        #expect(!remember(&memory, key("a"), 149))
        #expect(remember(&memory, key("a"), 150))
        memory.forget(key("never there"))
    }

    @Test("Beyond its entries it forgets the oldest: n - 1, n, n + 1")
    func full() {
        var memory = ReplayMemory(.init(time: 1000, entries: 3))
        for (number, name) in ["a", "b", "c"].enumerated() { #expect(remember(&memory, key(name), UInt64(number))) }
        #expect(memory.count == 3 && memory.dropped == 0)
        #expect(remember(&memory, key("d"), 3))
        #expect(memory.count == 3 && memory.dropped == 1)
        for name in ["b", "c", "d"] { #expect(!remember(&memory, key(name), 4)) }
        #expect(remember(&memory, key("a"), 5))
        #expect(memory.count == 3 && memory.dropped == 2)
    }

    @Test("A service that fails for long doesn't fill memory")
    func failing() {
        var memory = ReplayMemory(.init(time: 1_000_000, entries: 4))
        #expect(remember(&memory, key("kept"), 0))
        for number in 0..<10_000 {
            let one = key("failed \(number)")
            #expect(remember(&memory, one, 1))
            memory.forget(one)
        }
        #expect(memory.count == 1 && memory.dropped == 0)
        #expect(!remember(&memory, key("kept"), 2))
    }

    @Test("Random requests agree with a list of them")
    func random() {
        var generator = SystemRandomNumberGenerator()
        var memory = ReplayMemory(.init(time: 50, entries: 1000))
        var known: [Int: UInt64] = [:]
        var now: UInt64 = 0
        for _ in 0..<20_000 {
            now += UInt64.random(in: 0...3, using: &generator)
            let number = Int.random(in: 0..<40, using: &generator)
            if Int.random(in: 0..<5, using: &generator) == 0 {
                memory.forget(key("\(number)"))
                known[number] = nil
                continue
            }
            let isNew = known[number].map { $0 <= now } ?? true
            #expect(remember(&memory, key("\(number)"), now) == isNew)
            if isNew { known[number] = now + 50 }
        }
    }
}
