import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct JSONDuplicateTests {
    @Test(arguments: [DuplicatePolicy.keep, .last, .array])
    func `a decoder that doesn't hold the object passes every member on`(policy: DuplicatePolicy) {
        #expect(
            recordJSON(#"{"a":1,"a":2}"#, duplicates: policy)
                == EventRecording([.beginObject, .key("a"), .number("1"), .key("a"), .number("2"), .endObject]))
    }

    @Test(
        arguments: [
            (#"{"a":1,"a":2}"#, #"{"a":1}"#),
            (#"{"a":1,"\u0061":2,"b":3}"#, #"{"a":1,"b":3}"#),
            (#"{"a":1,"a":"x\ny","b":3}"#, #"{"a":1,"b":3}"#),
            (#"{"a":1,"a":{"b":[1,{"c":[]}],"b":2},"b":3}"#, #"{"a":1,"b":3}"#),
            (#"{"a":1,"a":[1,[2],"x",null,true],"b":3}"#, #"{"a":1,"b":3}"#),
            (#"{"a":1,"a":null,"a":true,"a":-1.5}"#, #"{"a":1}"#),
            (#"{"o":{"a":1,"a":{}},"o":{"a":1,"a":[]},"p":{"a":1,"a":2}}"#, #"{"o":{"a":1},"p":{"a":1}}"#),
            (#"[{"a":1},{"a":2},{"a":{"a":{"a":3}}}]"#, #"[{"a":1},{"a":2},{"a":{"a":{"a":3}}}]"#),
            (#"{"a":[],"b":[{"a":1,"b":2}],"a":"\ud83d\ude00"}"#, #"{"a":[],"b":[{"a":1,"b":2}]}"#),
        ])
    func `under first the later member is left out, whatever its value`(input: String, output: String) throws {
        let bytes = Array(input.utf8)
        for cut in Recut.cuts(of: bytes) {
            #expect(try reencodeJSON(cut, duplicates: .first) == ByteString(output), "\(cut)")
        }
        let whole = recordJSON(.whole(bytes), duplicates: .first)
        for cut in Recut.cuts(of: bytes) {
            #expect(recordJSON(cut, duplicates: .first, pauses: true) == whole, "\(cut)")
        }
    }

    @Test(
        arguments: [
            (#"{"a":1,"a":[1,}"#, "json_unexpected_byte", 14), (#"{"a":1,"a":"\x"}"#, "json_invalid_escape", 13),
            (#"{"a":1,"a":01}"#, "json_invalid_number", 12), (#"{"a":1,"a":nul}"#, "json_unexpected_byte", 14),
            (#"{"a":1,"a":"x"#, "json_unexpected_end", 13),
        ])
    func `under first the later member is checked all the same`(input: String, code: String, offset: Int) {
        let failure = recordJSON(input, duplicates: .first).failure
        #expect(failure?.code == code)
        #expect(failure?.offset == offset)
    }

    @Test func `limits hold in a member that is left out`() {
        var limits = Limits()
        limits.depth = 2
        limits.key = 2
        limits.number = 2
        for (text, code) in [
            (#"{"a":1,"a":[[]]}"#, "limit_depth"), (#"{"a":1,"a":{"abc":1}}"#, "limit_key"),
            (#"{"a":1,"a":123}"#, "limit_number"),
        ] {
            #expect(recordJSON(text, duplicates: .first, limits: limits).failure?.code == code)
        }
    }

    @Test func `a refused duplicate names the member and the setting`() {
        let failure = recordJSON(#"{"x":[0,{"k":1,"j":2,"k":3}]}"#).failure
        #expect(failure?.code == "json_duplicate_key")
        #expect(failure?.field == "/x/1/k")
        #expect(failure?.offset == 21)
        #expect(failure?.setting == "duplicates")
    }

    @Test func `an object with many names finds the one that comes twice`() {
        let members = (0..<5000).map { "\"name\($0)\":{\"name\($0)\":0}" }.joined(separator: ",")
        #expect(recordJSON("{\(members)}").failure == nil)
        let failure = recordJSON("{\(members),\"name4321\":1}").failure
        #expect(failure?.code == "json_duplicate_key")
        #expect(failure?.field == "/name4321")
        // The next body knows none of them.
        #expect(recordJSON("{\(members)}").failure == nil)
    }

    @Test func `names that differ in one byte, in length or in normal form are different`() {
        let names = [
            "a", "b", "", "aa", "A", "é", "e\u{301}", "abcdefgh", "abcdefgi", "abcdefghi", "\\u0000", "\\u0000\\u0000",
        ]
        #expect(recordJSON("{" + names.map { "\"\($0)\":1" }.joined(separator: ",") + "}").failure == nil)
    }
}
