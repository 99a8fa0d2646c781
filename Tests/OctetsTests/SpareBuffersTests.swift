import Octets
import Testing

@Suite struct SpareBuffersTests {
    private func buffer(room: Int, mark: Int = 7) -> OutputBuffer {
        var buffer = OutputBuffer(highWatermark: mark)
        buffer.reserve(room)
        return buffer
    }

    @Test("no more buffers are kept than may be", arguments: [2, 3, 4])
    func count(given: Int) {
        var spares = SpareBuffers(most: 3, capacity: 1 << 20)
        for _ in 0..<given {
            var one = buffer(room: 100)
            one.append(text: "a")
            spares.recycle(&one)
            #expect(one.isEmpty && one.capacity == 0)
        }
        var lent = 0
        for _ in 0..<5 {
            var one = OutputBuffer(highWatermark: 9)
            spares.lend(to: &one)
            if one.capacity >= 100 { lent += 1 }
            #expect(one.isEmpty && one.highWatermark == 9)
        }
        #expect(lent == min(given, 3))
    }

    @Test("nor larger ones", arguments: [-1, 0, 1])
    func size(more: Int) {
        let room = buffer(room: 1000).capacity
        var spares = SpareBuffers(most: 1, capacity: room - more)
        var one = buffer(room: 1000)
        spares.recycle(&one)
        #expect(one.capacity == 0)
        spares.lend(to: &one)
        #expect(one.capacity == (more > 0 ? 0 : room))
    }

    @Test("a buffer that has too little room moves to a spare that has it", arguments: [-1, 0, 1])
    func enlarge(more: Int) {
        var spares = SpareBuffers(most: 3, capacity: 1 << 20)
        for room in [2000, 1000, 100] {
            var one = buffer(room: room)
            spares.recycle(&one)
        }
        var one = buffer(room: 10, mark: 9)
        let room = buffer(room: 1000).capacity
        one.append(text: "gone")
        one.append(text: "kept")
        one.drop(4)
        spares.enlarge(&one, for: one.room)
        #expect(one.capacity < 100)
        spares.enlarge(&one, for: room - 4 + more)
        #expect(one.span.isEqual(to: "kept") && one.highWatermark == 9)
        #expect(one.capacity == (more > 0 ? buffer(room: 2000).capacity : room))
        let before = one.capacity
        spares.enlarge(&one, for: 5000)
        #expect(one.capacity == before && one.span.isEqual(to: "kept"))
    }

    @Test("a buffer without memory leaves none")
    func nothing() {
        var spares = SpareBuffers(most: 1, capacity: 1000)
        var empty = OutputBuffer()
        spares.recycle(&empty)
        var one = buffer(room: 100)
        spares.recycle(&one)
        spares.lend(to: &empty)
        #expect(empty.capacity >= 100)
    }
}
