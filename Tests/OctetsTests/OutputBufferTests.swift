import Octets
import Testing

@Suite("OutputBuffer")
struct OutputBufferTests {
    @Test("Bytes come out in the order they went in, whatever is taken in between")
    func order() {
        var buffer = OutputBuffer()
        var model: [UInt8] = []
        var state: UInt64 = 1
        for step in 0..<3000 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let choice = Int(state >> 60)
            let size = Int(state >> 40) & 0x3FF
            switch choice {
            case 0...4:
                let bytes = [UInt8](repeating: UInt8(step & 0xFF), count: size)
                buffer.append(bytes.span)
                model += bytes
            case 5:
                buffer.append(UInt8(7))
                model.append(7)
            case 6:
                buffer.append("static" as StaticString)
                buffer.append([1, 2])
                buffer.append(text: "é" as String)
                model += Array("static\u{1}\u{2}é".utf8)
            case 7:
                buffer.append(upTo: size) { (span: inout OutputSpan<UInt8>) in
                    for index in 0..<size / 2 { span.append(UInt8(index & 0xFF)) }
                }
                model += (0..<size / 2).map { UInt8($0 & 0xFF) }
            case 8: buffer.reserve(size)
            default:
                let number = min(size * 2, buffer.count)
                buffer.drop(number)
                model.removeFirst(number)
            }
            #expect(buffer.count == model.count)
            #expect(buffer.isEmpty == model.isEmpty)
            if step % 50 == 0 {
                let bytes = buffer.span.copied()
                #expect(bytes == model)
            }
        }
        let bytes = buffer.span.copied()
        #expect(bytes == model)
    }

    @Test("The order holds over the sizes at which taken bytes are moved out")
    func compaction() {
        var buffer = OutputBuffer()
        var next = 0
        var taken = 0
        for _ in 0..<40 {
            for _ in 0..<20_000 {
                buffer.append(UInt8(next % 251))
                next += 1
            }
            let number = min(buffer.count, 17_000)
            let first = buffer.span[0]
            let last = buffer.span[number - 1]
            #expect(first == UInt8(taken % 251))
            #expect(last == UInt8((taken + number - 1) % 251))
            buffer.drop(number)
            taken += number
        }
        while buffer.count > 1000 {
            buffer.drop(1000)
            taken += 1000
            let first = buffer.span[0]
            #expect(first == UInt8(taken % 251))
        }
        #expect(taken + buffer.count == next)
    }

    @Test("Numbers are written in full range")
    func numbers() {
        for value in [0, 1, 9, 10, 15, 16, 255, 4096, 1_234_567_890, Int.max] {
            var buffer = OutputBuffer()
            buffer.append("x" as StaticString)
            buffer.append(decimal: value)
            buffer.append(",")
            buffer.append(hexadecimal: value)
            let text = buffer.span.lossyString()
            #expect(text == "x\(value)," + String(value, radix: 16))
        }
        for value in [-1, -10, Int.min] {
            var buffer = OutputBuffer()
            buffer.append(decimal: value)
            let text = buffer.span.lossyString()
            #expect(text == "\(value)")
        }
    }

    @Test("It is full from the high watermark on, and only then")
    func watermark() {
        var buffer = OutputBuffer(highWatermark: 10)
        #expect(OutputBuffer().highWatermark == 64 * 1024)
        buffer.append([UInt8](repeating: 1, count: 9))
        #expect(!buffer.isFull)
        buffer.append(1)
        #expect(buffer.isFull)
        buffer.append(1)
        #expect(buffer.isFull)
        buffer.drop(2)
        #expect(!buffer.isFull)
    }

    @Test("The allocation stays when the buffer runs empty, and goes on shrink only where it is larger")
    func allocation() {
        var buffer = OutputBuffer()
        buffer.append([UInt8](repeating: 1, count: 5000))
        let capacity = buffer.capacity
        buffer.drop(5000)
        #expect(buffer.capacity == capacity)
        buffer.append(1)
        buffer.shrink(to: 100)
        #expect(buffer.capacity == capacity)
        buffer.removeAll()
        #expect(buffer.isEmpty && buffer.capacity == capacity)
        buffer.shrink(to: capacity)
        #expect(buffer.capacity == capacity)
        buffer.shrink(to: capacity - 1)
        #expect(buffer.capacity == 0)
    }

    @Test("Large memory goes back as it is taken from, whatever the pieces are", arguments: [1000, 65_537, 1 << 20])
    func memoryFollows(piece: Int) {
        var buffer = OutputBuffer()
        let pattern = (0..<250).map { UInt8($0) }
        let total = 8_000_000
        for _ in 0..<total / pattern.count { buffer.append(pattern) }
        var taken = 0
        while taken + piece < total - 100 {
            buffer.drop(piece)
            taken += piece
            let first = buffer.span[0]
            #expect(first == UInt8(taken % pattern.count))
            // What was taken is at most as much as waits, or 256 KiB, and a piece.
            #expect(buffer.capacity <= 2 * buffer.count + 256 * 1024 + piece)
        }
        buffer.drop(total - 100 - taken)
        #expect(buffer.count == 100)
        #expect(buffer.capacity <= 384 * 1024)
        let rest = buffer.span.copied()
        #expect(rest == Array(pattern[150...]))
    }

    @Test("Memory of one read and its watermark stays, however it is used")
    func memoryStays() {
        var buffer = OutputBuffer()
        buffer.reserve(384 * 1024)
        let capacity = buffer.capacity
        let piece = [UInt8](repeating: 1, count: 100_000)
        for _ in 0..<100 {
            while buffer.room >= piece.count { buffer.append(piece) }
            while buffer.count >= 30_000 { buffer.drop(30_000) }
            #expect(buffer.capacity == capacity)
        }
    }

    @Test("Many small reservations allocate a few times, not each time")
    func reservations() {
        var buffer = OutputBuffer()
        var capacities: Set<Int> = []
        for _ in 0..<2000 {
            buffer.reserve(100)
            #expect(buffer.capacity >= buffer.count + 100)
            buffer.append([UInt8](repeating: 1, count: 100))
            capacities.insert(buffer.capacity)
        }
        #expect(capacities.count < 20)
    }
}
