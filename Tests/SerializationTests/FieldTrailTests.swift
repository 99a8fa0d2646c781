import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// A field's name is read, and its place found, from where it differs from the name before. What comes of it must not depend
/// on that name.
@Suite("Names after names")
struct FieldTrailTests {
    static let names = [
        "", "a", "ab", "a[]", "a[", "a]", "a[b]", "a[b", "a[b]]", "a[b]c", "a[b][]", "a[b][c]", "a[b][c][d]",
        "a[b][cc]",
        "a[bb]", "a[bb][c]", "a[][b]", "a[][c]", "a[][b][c]", "a[0]", "a[0][b]", "a[1]", "a[1][b]", "a[b][0]",
        "b[b][c]",
        "a.b", "a.b.c", "a.b[c]", "a[b].c", "a..b", "a.b.", "a.bb.c", "[a]", "a[b][c][d][e][f][g][h]",
    ]

    private func segments(_ parsed: FieldName) -> [String] {
        (0..<parsed.segmentCount).map { parsed.kind($0) == .push ? "+" : parsed.segment($0).lossyString() }
    }

    private func parse(_ name: String, _ options: FieldDecodingOptions, into parsed: inout FieldName) -> [String] {
        var limits = Limits()
        limits.keyDepth = 5
        do throws(ConversionError) {
            try parsed.parse(Array(name.utf8).span, options: options, limits: limits)
        } catch { return ["!" + error.code] }
        return segments(parsed)
    }

    @Test("a name has the same segments, or the same error, after any other", arguments: NestingStyle.allCases)
    func pairs(nesting: NestingStyle) {
        for malformedKey in [MalformedKeyPolicy.literal, .reject] {
            var options = FieldDecodingOptions()
            options.nesting = nesting
            options.malformedKey = malformedKey
            var others = options
            others.nesting = nesting == .dots ? .brackets : .dots
            for name in Self.names {
                var fresh = FieldName()
                let expected = parse(name, options, into: &fresh)
                for before in Self.names {
                    var parsed = FieldName()
                    _ = parse(before, options, into: &parsed)
                    #expect(parse(name, options, into: &parsed) == expected, "\(name) after \(before)")
                    _ = parse(before, others, into: &parsed)
                    #expect(parse(name, options, into: &parsed) == expected, "\(name) after \(before) in other nesting")
                }
            }
        }
    }

    @Test("fields make the same document with plain fields between them, which are then removed", arguments: 0..<40)
    func documents(seed: Int) {
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        func pick<Element>(_ elements: [Element]) -> Element {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return elements[Int(state % UInt64(elements.count))]
        }
        let policies: [DuplicatePolicy] = [.array, .first, .last, .reject]
        for _ in 0..<50 {
            var plan = ConversionPlan(inputs: [.form], output: .json)
            plan.fieldDecoding.duplicates = pick(policies)
            if pick([0, 1, 2]) == 0 { plan.fieldDecoding.arrays = .json }
            let fields = (0..<pick([2, 3, 5, 8])).map { index -> String in
                let value = pick(["\(index)", "[1,2]", "{\"c\":{\"d\":3}}"])
                let path = (0..<pick([1, 2, 3])).map { _ in pick(["[b]", "[c]", "[]", "[0]", "[1]"]) }.joined()
                return pick(["a", "b"]) + path + "=" + value
            }
            let plain = ConversionRun.run(plan, .whole(Array(fields.joined(separator: "&").utf8)))
            let apart = fields.enumerated().map { "z\($0)=&\($1)" }.joined(separator: "&")
            plan.map.remove = fields.indices.map { FieldPath([.key(Array("z\($0)".utf8))]) }
            let other = ConversionRun.run(plan, .whole(Array(apart.utf8)))
            #expect(plain.result == other.result, "\(fields)")
        }
    }
}
