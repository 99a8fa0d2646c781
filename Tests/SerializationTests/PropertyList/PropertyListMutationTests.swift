import Foundation
import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Bodies that nobody wrote down, from fixed seeds: a value or a typed error, never a trap, the same however they are cut.
@Suite struct PropertyListMutationTests {
    private static let signs: [[UInt8]] =
        [
            "<", ">", "/", "&", ";", "#", "]]>", "<![CDATA[", "<!--", "-->", "<?", "?>", "<!DOCTYPE ", "<dict>",
            "</dict>", "<key>", "</key>", "<array/>", "<string>", "<data>", "</plist>", "&lt;", "&#0;", "&#x10FFFF;",
            "\r", "\0", " ", "=", "\"",
        ].map { Array($0.utf8) } + [[0xC3], [0xEF, 0xBF, 0xBE], [0xED, 0xA0], [0xFF], [0x80]]

    private func check(_ body: [UInt8], using generator: inout PlistGenerator) {
        for policy in [DuplicatePolicy.reject, .first] {
            var options = PropertyList.DecodingOptions()
            options.duplicates = policy
            options.nonFiniteReals = .string
            let whole = recordPlist(body, options: options)
            #expect(whole.violations == [])
            let middle = Int.random(in: 0...body.count, using: &generator)
            let halves = Cut(name: "\(middle)", slices: [Array(body[..<middle]), Array(body[middle...])])
            for cut in [halves, .every(1, of: body)] {
                #expect(recordPlist(cut, options: options) == whole, "\(cut) of \(ByteString(body))")
                #expect(recordPlist(cut, options: options, pauses: true) == whole, "\(cut) of \(ByteString(body))")
            }
            guard whole.failure == nil else { continue }
            // What could be read is the same after it was written.
            var writing = PropertyList.EncodingOptions(.binary)
            writing.nulls = .empty
            writing.dateFractions = .drop
            do throws(ConversionError) {
                let binary = try reencodePlist(body, writing, reading: options)
                #expect(try reencodePlist(binary, .init(.binary)) == binary)
                writing.format = .xml
                let xml = try reencodePlist(body, writing, reading: options)
                #expect(try reencodePlist(xml) == xml)
            } catch {
                #expect(error.kind == .unrepresentable || error.kind == .limit, "\(error) for \(ByteString(body))")
            }
        }
    }

    private func mutate(_ body: inout [UInt8], using generator: inout PlistGenerator) {
        let sign = Self.signs[Int.random(in: 0..<Self.signs.count, using: &generator)]
        switch Int.random(in: 0...4, using: &generator) {
        case 0: body.insert(contentsOf: sign, at: Int.random(in: 0...body.count, using: &generator))
        case 1 where !body.isEmpty:
            body[Int.random(in: 0..<body.count, using: &generator)] = UInt8.random(in: 0...255, using: &generator)
        case 2 where !body.isEmpty:
            body[Int.random(in: 0..<body.count, using: &generator)] ^= 1 << UInt8.random(in: 0...7, using: &generator)
        case 3 where !body.isEmpty: body.remove(at: Int.random(in: 0..<body.count, using: &generator))
        default:
            if body.count > 60, Int.random(in: 0...4, using: &generator) == 0 {
                body.removeLast(Int.random(in: 1...40, using: &generator))
            }
        }
    }

    @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary], 0..<20)
    func `a mutated body gives the same events or the same error however it is cut`(
        _ format: PropertyListSerialization.PropertyListFormat, _ seed: Int
    ) throws {
        var generator = PlistGenerator(state: UInt64(seed) &+ 1000)
        let document = [generator.value(depth: 2), generator.value(depth: 1), generator.value(depth: 0)]
        let data = try PropertyListSerialization.data(fromPropertyList: document, format: format, options: 0)
        var body = [UInt8](data.prefix(4000))
        if format == .binary { body = [UInt8](data) }
        guard body.count < 6000 else { return }
        for round in 0..<tries(25) {
            // Mutations add up, then begin again.
            if round % 5 == 0 { body = [UInt8](data) }
            mutate(&body, using: &generator)
            check(body, using: &generator)
        }
    }

    @Test func `every byte of a small binary property list may have any value`() {
        let body = binaryPlist([
            "d2 01 02 03 04", "51 61", "61 00e9", "a2 05 06", "41 00", "33 41c0000000000000", "11 0100",
        ])
        #expect(recordPlist(body).failure == nil)
        for index in body.indices {
            for value in UInt8.min ... .max where tries(number: index + Int(value)) {
                var changed = body
                changed[index] = value
                #expect(recordPlist(changed).violations == [])
            }
        }
    }

    @Test func `a body that ends early is refused wherever it ends`() throws {
        let xml = try encodePlist(json: #"{"a":[1,2.5,"x&y",true,{}],"b":"é"}"#)
        // The last line feed isn't missed.
        for length in 0..<xml.count - 1 {
            let failure = recordPlist(Array(xml[..<length])).failure
            #expect(failure?.code == "plist_unexpected_end" || length == 0 && failure?.code == "plist_empty_body")
            #expect(failure?.offset == length)
        }
    }
}
