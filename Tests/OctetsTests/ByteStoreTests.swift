import Glibc
import Octets
import Testing

@Suite("ByteStore")
struct ByteStoreTests {
    @Test("runs of every length are appended whole, behind what is there", arguments: 0...70)
    func lengths(count: Int) {
        let run = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 11) }
        var store = ByteStore()
        for _ in 0..<3 { store.append(contentsOf: run.span) }
        store.append(0xFF)
        #expect(store.span.copied() == run + run + run + [0xFF])
        #expect(store.slice(count..<2 * count).copied() == run)
    }

    @Test("emptying keeps the memory, up to a bound where one is given")
    func emptying() {
        var store = ByteStore()
        store.append("0123456789")
        let capacity = store.capacity
        store.removeAll()
        #expect(store.isEmpty && store.capacity == capacity)
        store.removeAll(keepingUpTo: capacity)
        #expect(store.capacity == capacity)
        store.removeAll(keepingUpTo: capacity - 1)
        #expect(store.capacity == 0)
    }

    @Test("room that nothing was written to has no pages, where blocks are mapped by themselves")
    func room() {
        // Beyond what any allocator of glibc takes from a heap, whose pages may be there already.
        let count = 33 << 20
        let page = Int(getpagesize())
        var store = ByteStore()
        store.append(contentsOf: [UInt8](repeating: 7, count: count).span)
        store.append(8)
        #expect(store.count == count + 1 && store.capacity == 2 * count)
        var isThere = [UInt8](repeating: 0, count: count / page - 1)
        // SAFETY: the pages lie within the store's memory, which is mapped; a byte is written for each of them.
        let result = unsafe store.span.withUnsafeBufferPointer { bytes in
            let end = unsafe UInt(bitPattern: bytes.baseAddress! + bytes.count)
            let first = (end + UInt(page) - 1) / UInt(page) * UInt(page)
            return unsafe mincore(UnsafeMutableRawPointer(bitPattern: first)!, isThere.count * page, &isThere)
        }
        #expect(result == 0)
        // The system may give a large page, of 2 MiB, where a small one is written to.
        #expect(isThere.count { $0 & 1 == 1 } * page <= 2 << 20)
        #expect(store.slice(count - 1..<count + 1).copied() == [7, 8])
    }

    @Test("a copy doesn't change with its original")
    func copies() {
        var store = ByteStore()
        store.append("name")
        let copy = store
        store.truncate(to: 1)
        store.append("X")
        #expect(copy.span.lossyString() == "name")
        #expect(store.span.lossyString() == "nX")
    }

    @Test("bytes are taken from the front and from the end")
    func removal() {
        var store = ByteStore()
        store.append("0123456789")
        store.removeFirst(4)
        #expect(store.span.lossyString() == "456789")
        store.truncate(to: 2)
        #expect(store.span.lossyString() == "45")
        #expect(store[1] == UInt8(ascii: "5"))
    }

    @Test("numbers are written as Swift writes them", arguments: [0, 7, 10, -1, 4095, 65_536, Int.max, Int.min])
    func numbers(value: Int) {
        var store = ByteStore()
        store.append(decimal: value)
        #expect(store.span.lossyString() == String(value))
        guard value >= 0 else { return }
        store.removeAll()
        store.append(hexadecimal: value)
        #expect(store.span.lossyString() == String(value, radix: 16))
    }

    @Test(
        "two runs are appended as they are one by one", arguments: [0, 1, 3, 4, 7, 8, 15, 16, 31, 32, 33, 63, 64, 200])
    func twoRuns(length: Int) {
        for other in [0, 1, 2, 5, 8, 16, 17, 32, 33, 64, 100] {
            let first = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
            let second = (0..<other).map { UInt8(truncatingIfNeeded: 200 &- $0) }
            var store = ByteStore(copying: [7].span)
            store.append(first.span, second.span)
            #expect(store.span.copied() == [7] + first + second)
        }
    }
}
