import Testing

@testable import Proxy

@Suite("Request ids")
struct RequestIDGeneratorTests {
    @Test("an id is 32 hexadecimal digits, and no two are the same")
    func ids() {
        var generator = RequestIDGenerator()
        var seen: Set<[UInt8]> = []
        var id = Array("what stood there before".utf8)
        var digits: Set<UInt8> = []
        for _ in 0..<500 {
            generator.next(into: &id)
            #expect(id.count == 32)
            #expect(seen.insert(id).inserted)
            digits.formUnion(id)
        }
        #expect(digits == Set("0123456789abcdef".utf8))
        let prefixes = Set(seen.map { $0.prefix(16) })
        #expect(prefixes.count == 1)
    }

    @Test("the digits of a number are those that it is written with", arguments: [0, 1, 0x0123_4567_89AB_CDEF, .max])
    func digits(_ number: UInt64) {
        var bytes = [UInt8](repeating: 0, count: 18)
        HexWord(number).write(to: &bytes, at: 1)
        let text = String(number, radix: 16)
        #expect(bytes == [0] + Array(String(repeating: "0", count: 16 - text.utf8.count).utf8) + Array(text.utf8) + [0])
    }
}
