import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct JSONLimitTests {
    /// Records all cuts of `text`, expects them to agree, and returns the failure.
    private func failure(_ text: String, _ limits: Limits, duplicates: DuplicatePolicy = .keep) -> ConversionError? {
        let bytes = Array(text.utf8)
        let whole = recordJSON(.whole(bytes), duplicates: duplicates, limits: limits)
        for cut in Recut.cuts(of: bytes, splits: 100) {
            #expect(recordJSON(cut, duplicates: duplicates, limits: limits) == whole, "\(cut)")
        }
        return whole.failure
    }

    private func expectLimit(
        _ error: ConversionError?, _ name: String, offset: Int, field: String?,
        at location: SourceLocation = #_sourceLocation
    ) {
        #expect(error?.kind == .limit, sourceLocation: location)
        #expect(error?.code == "limit_\(name)", sourceLocation: location)
        #expect(error?.setting == "limits.\(name)", sourceLocation: location)
        #expect(error?.offset == offset, sourceLocation: location)
        #expect(error?.field == field, sourceLocation: location)
    }

    @Test(arguments: [1, 2, 5, 128])
    func `containers nest up to limits.depth`(depth: Int) {
        var limits = Limits()
        limits.depth = depth
        for (count, isTaken) in [(depth - 1, true), (depth, true), (depth + 1, false)] where count > 0 {
            let arrays = String(repeating: "[", count: count) + String(repeating: "]", count: count)
            let objects =
                String(repeating: "{\"a\":", count: count - 1) + "{}" + String(repeating: "}", count: count - 1)
            #expect((failure(arrays, limits) == nil) == isTaken)
            #expect((failure(objects, limits) == nil) == isTaken)
            if !isTaken {
                let indices = String(repeating: "/0", count: depth)
                expectLimit(failure(arrays, limits), "depth", offset: depth, field: indices)
                let names = String(repeating: "/a", count: depth)
                expectLimit(failure(objects, limits), "depth", offset: depth * 5, field: names)
            }
        }
        // Side by side they don't count.
        #expect(failure("[" + String(repeating: "1,", count: 300) + "1]", limits) == nil)
    }

    @Test func `a depth of 0 takes scalars only`() {
        var limits = Limits()
        limits.depth = 0
        #expect(failure("1", limits) == nil)
        expectLimit(failure("[]", limits), "depth", offset: 0, field: nil)
    }

    @Test func `a million brackets are refused at the limit, not followed`() {
        let brackets = [UInt8](repeating: UInt8(ascii: "["), count: 1_000_000)
        #expect(recordJSON(.whole(brackets)).failure?.offset == 128)
    }

    @Test func `a name has at most limits.key bytes after unescaping`() {
        var limits = Limits()
        limits.key = 20
        for (count, isTaken) in [(19, true), (20, true), (21, false)] {
            let plain = String(repeating: "k", count: count)
            let error = failure("{\"o\":{\"\(plain)\":1}}", limits)
            #expect((error == nil) == isTaken)
            if !isTaken { expectLimit(error, "key", offset: 27, field: "/o") }

            let escaped = "\\n" + String(repeating: "k", count: count - 1)
            let other = failure("{\"\(escaped)\":1}", limits)
            #expect((other == nil) == isTaken)
            if !isTaken { expectLimit(other, "key", offset: 23, field: nil) }

            // The last character is escaped, and its two bytes reach the limit or pass it: the offset is the escape's.
            let last = String(repeating: "k", count: count - 2) + "\\u00e9"
            let third = failure("{\"\(last)\":1}", limits)
            #expect((third == nil) == isTaken)
            if !isTaken { expectLimit(third, "key", offset: 21, field: nil) }

            // Two bytes that aren't escaped: the second one is too many.
            let accent = String(repeating: "k", count: count - 2) + "é"
            let fourth = failure("{\"\(accent)\":1}", limits)
            #expect((fourth == nil) == isTaken)
            if !isTaken { expectLimit(fourth, "key", offset: 22, field: nil) }
        }
        // Strings that are no names are not bounded.
        #expect(failure("[\"\(String(repeating: "v", count: 100))\"]", limits) == nil)
    }

    @Test func `the first fault of a long name is reported`() {
        var limits = Limits()
        limits.key = 4
        #expect(failure("{\"ab\\xcdefgh\":1}", limits)?.code == "json_invalid_escape")
        #expect(failure("{\"abcde\\x\":1}", limits)?.code == "limit_key")
        #expect(failure("{\"abcde\u{1}\":1}", limits)?.code == "limit_key")
        #expect(failure("{\"abcd\u{1}\":1}", limits)?.code == "json_control_character")
    }

    @Test func `a number has at most limits.number bytes`() {
        var limits = Limits()
        limits.number = 6
        for (text, isTaken) in [
            ("12345", true), ("123456", true), ("1234567", false), ("-1.5e6", true), ("-1.5e67", false),
            ("-12345", true), ("-123456", false),
        ] {
            let error = failure("[\(text)]", limits)
            #expect((error == nil) == isTaken, "\(text)")
            if !isTaken { expectLimit(error, "number", offset: 7, field: "/0") }
            #expect((failure(text, limits) == nil) == isTaken, "\(text) at the root")
        }
        #expect(failure("[12345.]", limits)?.code == "json_invalid_number")
        #expect(failure("[123456.]", limits)?.code == "limit_number")
        #expect(failure("[123456x]", limits)?.code == "json_unexpected_byte")
    }

    @Test func `names held against duplicates are bounded by limits.tree`() {
        // Each of these names counts 2 bytes and 16.
        let text = "{\"aa\":1,\"bb\":{\"cc\":2},\"dd\":3}"
        var limits = Limits()
        for (tree, isTaken) in [(53, false), (54, true), (55, true)] {
            limits.tree = tree
            for policy in [DuplicatePolicy.reject, .first] {
                let error = failure(text, limits, duplicates: policy)
                #expect((error == nil) == isTaken)
                // The inner object's name has gone when the third one comes.
                if !isTaken { expectLimit(error, "tree", offset: 14, field: "/bb/cc") }
            }
            #expect(failure(text, limits) == nil)
            #expect(failure(text, limits, duplicates: .last) == nil)
        }
    }

    @Test func `the defaults are those of the documentation`() {
        #expect(failure("{\"\(String(repeating: "k", count: 1024))\":1}", Limits()) == nil)
        #expect(failure("{\"\(String(repeating: "k", count: 1025))\":1}", Limits())?.code == "limit_key")
        #expect(failure(String(repeating: "1", count: 1024), Limits()) == nil)
        #expect(failure(String(repeating: "1", count: 1025), Limits())?.code == "limit_number")
    }
}
