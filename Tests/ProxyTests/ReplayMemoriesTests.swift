import Testing

@testable import Gateway
@testable import Proxy

/// The memories of routes, which workers share.
@Suite struct ReplayMemoriesTests {
    @Test("A route's memory stays when the settings are read again, with their new size")
    func memories() {
        let memories = ReplayMemories()
        let (x, y) = (ReplayMemory.Key([1]), ReplayMemory.Key([2]))
        #expect(memories.remember(x, of: "a", .init(time: 100), now: 0))
        #expect(!memories.remember(x, of: "a", .init(time: 100, entries: 1), now: 0))
        #expect(memories.remember(x, of: "b", .init(time: 100), now: 0))
        #expect(memories.remember(y, of: "a", .init(time: 100, entries: 1), now: 0))
        #expect(memories.remember(x, of: "a", .init(time: 100, entries: 1), now: 0))
        memories.forget(x, of: "b")
        #expect(memories.remember(x, of: "b", .init(time: 100), now: 0))
        memories.forget(x, of: "c")
        memories.keep(["b"])
        #expect(!memories.remember(x, of: "b", .init(time: 100), now: 0))
        #expect(memories.remember(x, of: "a", .init(time: 100), now: 0))
    }
}
