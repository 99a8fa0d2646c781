import Foundation
import Serialization
import TestSupport
import Testing
import Transcoding

/// What Foundation's writer makes of bytes within `depth` arrays.
func foundationXML(_ bytes: [UInt8], depth: Int) -> [UInt8] {
    var document: Any = Data(bytes)
    for _ in 0..<depth { document = [document] }
    do {
        return [UInt8](try PropertyListSerialization.data(fromPropertyList: document, format: .xml, options: 0))
    } catch {
        Issue.record("Foundation doesn't write \(depth) arrays: \(error)")
        return []
    }
}

/// What Foundation reads.
func foundationObject(_ bytes: [UInt8]) throws -> NSObject {
    // SAFETY: no format is asked for, so nothing is written through the pointer.
    let object = unsafe try PropertyListSerialization.propertyList(from: Data(bytes), format: nil)
    return try #require(object as? NSObject)
}

/// Documents that nobody wrote down, from fixed seeds.
struct PlistGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    static let words = [
        "", "a", "key", "fifteen letters", "sixteen letters!", "é", "漢字", "😀 and more", "<b>&amp;</b>", "tab\tline\n",
        "a\"b'c", String(repeating: "long text ", count: 40), String(repeating: "ü", count: 300),
    ]

    /// A value as Foundation takes it. Reals have a fraction, since Foundation's XML forgets that 1.0 is a real.
    mutating func value(depth: Int) -> Any {
        switch Int.random(in: 0..<(depth == 0 ? 9 : 13), using: &self) {
        case 0: return Int.random(in: .min ... .max, using: &self) >> Int.random(in: 0...63, using: &self)
        case 1: return UInt64.random(in: .min ... .max, using: &self)
        case 2: return Int.random(in: -300...70000, using: &self)
        case 3: return Double(Int.random(in: -1_000_000...1_000_000, using: &self) * 2 + 1) / 64
        case 4: return Bool.random(using: &self)
        case 5:
            return Data(
                (0..<Int.random(in: 0...200, using: &self)).map { _ in UInt8.random(in: 0...255, using: &self) })
        case 6:
            let seconds = Int.random(in: -10_000_000_000...10_000_000_000, using: &self)
            return Date(timeIntervalSinceReferenceDate: Double(seconds))
        case 7, 8: return Self.words[Int.random(in: 0..<Self.words.count, using: &self)]
        case 9, 10:
            return (0..<Int.random(in: 0...20, using: &self)).map { _ in value(depth: depth - 1) }
        default:
            var members: [String: Any] = [:]
            for index in 0..<Int.random(in: 0...20, using: &self) {
                members[Self.words[Int.random(in: 0..<11, using: &self)] + "\(index)"] = value(depth: depth - 1)
            }
            return members
        }
    }
}

/// Foundation's PropertyListSerialization as a second opinion.
@Suite struct PropertyListFoundationTests {
    private func data(_ document: Any, _ format: PropertyListSerialization.PropertyListFormat) throws -> [UInt8] {
        [UInt8](try PropertyListSerialization.data(fromPropertyList: document, format: format, options: 0))
    }

    @Test func `a small document is written as Foundation writes it, in both formats`() throws {
        let document: [String: Any] = [
            "list": ["a", 1, 2.5, true, Data([1, 2, 3]), Date(timeIntervalSinceReferenceDate: 86400), [] as [Any]]
        ]
        let xml = try data(document, .xml)
        #expect(try reencodePlist(xml) == xml)
        let binary = try data(document, .binary)
        #expect(try reencodePlist(xml, .init(.binary)) == binary)
        #expect(try reencodePlist(binary) == xml)
        #expect(try jsonText(binary) == "{\"list\":[\"a\",1,2.5,true,\"AQID\",\"2001-01-02T00:00:00Z\",[]]}")
    }

    @Test(arguments: 0..<tries(150))
    func `what Foundation writes is read, and written again byte by byte`(_ seed: Int) throws {
        var generator = PlistGenerator(state: UInt64(seed))
        let document = generator.value(depth: 4)
        let original = try #require(document as? NSObject)
        let xml = try data(document, .xml)
        #expect(try reencodePlist(xml) == xml)
        let binary = try data(document, .binary)
        let ours = try reencodePlist(binary, .init(.binary))
        // Foundation reads the same document from what we write, in both formats and across them.
        for bytes in [xml, ours, try reencodePlist(binary), try reencodePlist(xml, .init(.binary))] {
            #expect(try foundationObject(bytes) == original)
        }
        // Order and joined objects apart, both formats stand for the same.
        #expect(try reencodePlist(ours) == (try reencodePlist(binary)))
        #expect(try reencodePlist(ours, .init(.binary)) == ours)
        #expect(recordPlist(ours).events == recordPlist(binary).events)
    }

    @Test(arguments: 0..<tries(60))
    func `an array of different scalars is the same in binary, byte by byte`(_ seed: Int) throws {
        var generator = PlistGenerator(state: UInt64(seed))
        var seen: Set<NSObject> = []
        var list: [Any] = []
        for _ in 0..<Int.random(in: 0...300, using: &generator) {
            let value = generator.value(depth: 0)
            if let object = value as? NSObject, seen.insert(object).inserted { list.append(value) }
        }
        let binary = try data(list, .binary)
        #expect(try reencodePlist(binary, .init(.binary)) == binary)
    }

    @Test func `text that Foundation reads in its own way`() throws {
        // Foundation leaves line ends alone, as we do, and reads what we escape.
        let text = "a\r\nb\rc\n"
        let xml = try encodePlist(json: #""a\r\nb\rc\n""#)
        #expect(try foundationObject(xml) == text as NSString)
        let theirs = try data(text, .xml)
        #expect(recordPlist(theirs) == EventRecording([.string(ByteString(text))]))
    }

    @Test func `hexadecimal and large integers mean what they mean to Foundation`() throws {
        for text in ["0x1F", "-0xff", "18446744073709551615", "-9223372036854775808", "007", " 42", "0"] {
            let body = plistXML("<integer>\(text)</integer>")
            let number = try #require(try foundationObject(body) as? NSNumber)
            #expect(try jsonText(body) == number.stringValue)
        }
    }
}
