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
