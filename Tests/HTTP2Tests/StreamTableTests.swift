import HTTPWire
import Testing

@testable import HTTP2

@Suite("Open streams by their number")
struct StreamTableTests {
    @Test("A table holds what a dictionary does, whatever comes and goes", arguments: [1, 7, 100, 1000])
    func likeADictionary(_ most: Int) {
        let recorder = Recorder()
        var table = StreamTable()
        var expected: [Int32: HTTP2Stream] = [:]
        var generator = SystemRandomNumberGenerator()
        var next: Int32 = 1
        for _ in 0..<20 * most {
            if expected.count < most, Bool.random(using: &generator) || expected.isEmpty {
                let stream = HTTP2Stream(next, session: recorder.session)
                next += Int32.random(in: 1...3, using: &generator) * 2
                table.insert(stream)
                expected[stream.id] = stream
            } else if let id = expected.keys.randomElement(using: &generator) {
                #expect(table.remove(id) === expected.removeValue(forKey: id))
                #expect(table.remove(id) == nil)
                #expect(table.find(id) == nil)
            }
            #expect(table.count == expected.count)
        }
        for (id, stream) in expected { #expect(table.find(id) === stream) }
        #expect(Set(table.all.map(\.id)) == Set(expected.keys))
        #expect(table.find(next) == nil)
    }

    @Test("Numbers that follow one another lie near their places, whatever the key", arguments: [2, 256, 4096])
    func spread(_ step: Int32) {
        let recorder = Recorder()
        let (tables, count) = (200, 32)
        var distance = 0
        for _ in 0..<tables {
            var table = StreamTable()
            for number in 0..<Int32(count) { table.insert(HTTP2Stream(1 + number * step, session: recorder.session)) }
            for (place, id) in table.ids.enumerated() where id != 0 {
                distance += (place - table.home(of: id)) & (table.ids.count - 1)
            }
        }
        // By chance it is 0.5 where half of the places are taken (Knuth, volume 3, 6.4, linear probing); where a key crowds them, 8.
        #expect(Double(distance) / Double(tables * count) < 1)
    }

    @Test("An empty table has nothing")
    func empty() {
        var table = StreamTable()
        #expect(table.isEmpty)
        #expect(table.find(1) == nil)
        #expect(table.remove(1) == nil)
        #expect(table.all.isEmpty)
    }
}
