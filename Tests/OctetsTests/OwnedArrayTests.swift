import Octets
import Testing

@Suite("OwnedArray")
struct OwnedArrayTests {
    @Test("elements come back in their order, one by one and in runs", arguments: [0, 1, 15, 16, 17, 100, 1000])
    func appending(count: Int) {
        var numbers = OwnedArray<UInt32>()
        let wanted = (0..<UInt32(count)).map { $0 &* 0x9E37_79B9 }
        for number in wanted { numbers.append(number) }
        numbers.append(contentsOf: wanted.span)
        numbers.append(contentsOf: wanted.span.extracting(0..<0))
        #expect(numbers.count == 2 * count)
        #expect(numbers.isEmpty == (count == 0))
        #expect((0..<numbers.count).map { numbers[$0] } == wanted + wanted)
        let second = numbers.slice(count..<2 * count)
        #expect(second.indices.map { second[$0] } == wanted)
    }

    @Test("appending only where there is room changes nothing where there is none", arguments: [0, 1, 15, 16, 17])
    func appendingIfRoom(count: Int) {
        var bytes = OwnedArray<UInt8>()
        let new = [UInt8](repeating: 7, count: count)
        #expect(bytes.appendIfRoom(new.span, limit: 100) == false)
        bytes.append(1)
        let room = bytes.capacity - 1
        #expect(room == 15)
        for limit in [0, 1, count, count + 1, count + 2, 100] {
            let fits = count <= room && 1 + count <= limit
            #expect(bytes.appendIfRoom(new.span, limit: limit) == fits)
            #expect(bytes.span.copied() == [1] + (fits ? new : []))
            bytes.truncate(to: 1)
        }
    }

    @Test("an element is replaced, and its neighbours stay")
    func replacing() {
        var numbers = OwnedArray<UInt32>()
        for number in UInt32(1)...3 { numbers.append(number) }
        numbers[1] = 7
        let found = (0..<3).map { numbers[$0] }
        #expect(found == [1, 7, 3])
    }

    @Test("what is taken from the end is gone, and the rest stays")
    func takingAway() {
        var numbers = OwnedArray<UInt32>()
        for number in UInt32(1)...5 { numbers.append(number) }
        let last = numbers.removeLast()
        #expect(last == 5)
        numbers[3] += 10
        numbers.truncate(to: 4)
        let found = (0..<numbers.count).map { numbers[$0] }
        #expect(found == [1, 2, 3, 14])
        numbers.truncate(to: 1)
        #expect(numbers.count == 1)
    }

    @Test("emptying keeps the memory, and freeing gives it back")
    func emptying() {
        var bytes = OwnedArray<UInt8>()
        #expect(bytes.capacity == 0)
        #expect(bytes.span.isEmpty == true)
        bytes.append(contentsOf: Array("0123456789012345678901234567890123456789".utf8).span)
        let capacity = bytes.capacity
        #expect(capacity >= 40)
        bytes.removeAll()
        #expect(bytes.isEmpty == true)
        #expect(bytes.capacity == capacity)
        bytes.append(1)
        #expect(bytes.span.copied() == [1])
        bytes.free()
        #expect(bytes.capacity == 0)
        #expect(bytes.span.copied() == [])
        bytes.append(2)
        #expect(bytes.span.copied() == [2])
    }
}
