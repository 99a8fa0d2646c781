import Foundation
import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// A binary property list made of whole objects, each in hexadecimal digits, the first one on top.
func binaryPlist(
    _ objects: [String], referenceSize: Int = 1, offsetSize: Int = 2, top: Int = 0, count: Int? = nil,
    offsets: [Int: Int] = [:]
) -> [UInt8] {
    func number(_ value: Int, _ size: Int) -> [UInt8] {
        (0..<size).reversed().map { $0 < 8 ? UInt8(truncatingIfNeeded: value >> ($0 * 8)) : 0 }
    }
    var bytes = Array("bplist00".utf8)
    var table: [UInt8] = []
    for (index, object) in objects.enumerated() {
        table += number(offsets[index] ?? bytes.count, offsetSize)
        bytes += hexBytes(object)
    }
    let start = bytes.count
    bytes += table + [0, 0, 0, 0, 0, 0, UInt8(offsetSize), UInt8(referenceSize)]
    return bytes + number(count ?? objects.count, 8) + number(top, 8) + number(start, 8)
}

@Suite struct PropertyListBinaryTests {
    static let accepted: [(objects: [String], json: String)] = [
        (["00"], "null"), (["08"], "false"), (["09"], "true"),
        // Integers of one, two and four bytes have no sign, those of eight have one, and sixteen are Foundation's way to
        // write what is above.
        (["10 ff"], "255"), (["11 ffff"], "65535"), (["12 ffffffff"], "4294967295"),
        (["13 ffffffffffffffff"], "-1"), (["13 8000000000000000"], "-9223372036854775808"),
        (["13 7fffffffffffffff"], "9223372036854775807"), (["13 0000000000000001"], "1"),
        (["14 0000000000000000 ffffffffffffffff"], "18446744073709551615"),
        (["14 ffffffffffffffff 8000000000000000"], "-9223372036854775808"),
        (["14 ffffffffffffffff ffffffffffffffff"], "-1"),
        // Reals stay reals; one of four bytes is the double that it is.
        (["22 3f800000"], "1.0"), (["22 3dcccccd"], "0.10000000149011612"), (["23 3fb999999999999a"], "0.1"),
        (["23 8000000000000000"], "-0.0"), (["23 4341c37937e08000"], "1e+16"), (["23 0000000000000001"], "5e-324"),
        (["33 0000000000000000"], #""2001-01-01T00:00:00Z""#),
        // Strings and bytes, with short and long counts.
        (["50"], #""""#), (["53 616263"], #""abc""#), (["60"], #""""#), (["61 00e9"], #""é""#),
        (["62 d83d de00"], #""😀""#), (["64 0041 07ff 0800 ffff"], "\"A\u{7FF}\u{800}\u{FFFF}\""),
        (["5f 10 03 616263"], #""abc""#), (["5f 13 0000000000000003 616263"], #""abc""#),
        (["5f 1010 30313233343536373839616263646566"], #""0123456789abcdef""#),
        (["51 00"], #""\u0000""#), (["40"], #""""#), (["43 010203"], #""AQID""#),
        // Containers, of which objects may be shared.
        (["a0"], "[]"), (["d0"], "{}"), (["a3 01 02 01", "51 61", "d0"], #"["a",{},"a"]"#),
        (["d2 01 02 02 01", "51 62", "51 61"], #"{"b":"a","a":"b"}"#),
        (["af 10 02 01 01", "a0"], "[[],[]]"),
        (["d1 01 02", "61 00e9", "a1 01"], #"{"é":["é"]}"#),
    ]

    @Test(arguments: accepted)
    func `what the objects say comes out, however it is cut`(_ row: (objects: [String], json: String)) throws {
        for (referenceSize, offsetSize) in [(1, 1), (1, 3), (1, 8)] {
            let body = binaryPlist(row.objects, referenceSize: referenceSize, offsetSize: offsetSize)
            #expect(try jsonText(body) == row.json)
            let whole = recordPlist(body)
            #expect(whole.violations == [])
            for cut in Recut.cuts(of: body) { #expect(recordPlist(cut) == whole, "\(cut)") }
        }
    }

    @Test func `references and offsets may have any size up to eight bytes`() throws {
        for size in 1...8 {
            let one = String(repeating: "00", count: size - 1) + "01"
            let body = binaryPlist(["a2" + one + one, "51 61"], referenceSize: size, offsetSize: 9 - size)
            #expect(try jsonText(body) == #"["a","a"]"#)
        }
    }

    static let refused: [(objects: [String], fault: PropertyList.Fault, offset: Int, field: String?)] = [
        // Markers.
        (["01"], .invalidObject, 8, nil), (["0f"], .invalidObject, 8, nil), (["15 00"], .invalidObject, 8, nil),
        (["1f"], .invalidObject, 8, nil), (["20 00"], .invalidObject, 8, nil), (["21 0000"], .invalidObject, 8, nil),
        (["24" + String(repeating: "0", count: 32)], .invalidObject, 8, nil),
        (["30 00"], .invalidObject, 8, nil), (["32 00000000"], .invalidObject, 8, nil),
        (["90"], .invalidObject, 8, nil), (["e0"], .invalidObject, 8, nil), (["ff"], .invalidObject, 8, nil),
        // What no other encoding has.
        (["80 01"], .uid, 8, nil), (["a1 01", "81 0001"], .uid, 10, "/0"), (["0c"], .objectType, 8, nil),
        (["0d"], .objectType, 8, nil), (["0e"], .objectType, 8, nil), (["71 61"], .objectType, 8, nil),
        (["b0"], .objectType, 8, nil), (["c1 01", "09"], .objectType, 8, nil),
        (["14 0000000000000001 0000000000000000"], .integerRange, 8, nil),
        (["14 ffffffffffffffff 7fffffffffffffff"], .integerRange, 8, nil),
        (["23 7ff0000000000000"], .nonFiniteReal, 8, nil), (["22 7fc00000"], .nonFiniteReal, 8, nil),
        // Objects that end in the offset table.
        (["10"], .invalidOffset, 8, nil), (["13 00000000000000"], .invalidOffset, 8, nil),
        (["23 00"], .invalidOffset, 8, nil), (["33"], .invalidOffset, 8, nil), (["52 61"], .invalidOffset, 8, nil),
        (["62 0061 00"], .invalidOffset, 8, nil), (["41"], .invalidOffset, 8, nil), (["a1"], .invalidOffset, 8, nil),
        (["d1 00"], .invalidOffset, 8, nil), (["81 00"], .invalidOffset, 8, nil), (["4f"], .invalidOffset, 8, nil),
        (["4f 10"], .invalidOffset, 8, nil), (["4f 11 00"], .invalidOffset, 8, nil),
        (["4f 13 7fffffffffffffff"], .invalidOffset, 8, nil), (["4f 13 ffffffffffffffff"], .invalidOffset, 8, nil),
        (["6f 13 7fffffffffffffff"], .invalidOffset, 8, nil), (["6f 13 4000000000000001"], .invalidOffset, 8, nil),
        (["af 13 7fffffffffffffff"], .invalidOffset, 8, nil), (["df 13 4000000000000000 00"], .invalidOffset, 8, nil),
        (["4f 14 00000000000000000000000000000000"], .invalidObject, 8, nil), (["5f 51 61"], .invalidObject, 8, nil),
        // References.
        (["a1 01"], .objectReference, 9, "/0"), (["a2 01 ff", "09"], .objectReference, 10, "/1"),
        (["d1 02 01", "09"], .objectReference, 9, nil), (["d1 01 02", "51 61"], .objectReference, 10, "/a"),
        // Cycles.
        (["a1 00"], .cycle, 8, "/0"), (["d1 01 00", "51 61"], .cycle, 8, "/a"),
        (["a1 01", "a2 02 00", "09"], .cycle, 8, "/0/1"), (["a1 01", "a1 01"], .cycle, 10, "/0/0"),
        // Keys.
        (["d1 01 01", "10 01"], .keyType, 11, nil), (["d1 01 01", "a0"], .keyType, 11, nil),
        (["d1 00 01", "09"], .keyType, 8, nil), (["d1 01 01", "41 61"], .keyType, 11, nil),
        (["d2 01 01 01 01", "51 61"], .duplicateKey, 13, "/a"),
        (["d2 01 02 01 01", "51 61", "61 0061"], .duplicateKey, 15, "/a"),
        // Strings.
        (["51 80"], .invalidString, 8, nil), (["61 d800"], .invalidString, 9, nil),
        (["62 d800 0041"], .invalidString, 9, nil), (["61 dc00"], .invalidString, 9, nil),
        (["62 dc00 d800"], .invalidString, 9, nil), (["63 0041 d83d d83d"], .invalidString, 11, nil),
        (["d1 01 01", "61 d800"], .invalidString, 12, nil),
    ]

    @Test(arguments: refused)
    func `an object that can't be is refused at its place`(
        _ row: (objects: [String], fault: PropertyList.Fault, offset: Int, field: String?)
    ) {
        let body = binaryPlist(row.objects)
        let whole = recordPlist(body)
        #expect(whole.failure == ConversionError(plistFault: row.fault, offset: row.offset, field: row.field))
        #expect(whole.violations == [])
        for cut in Recut.cuts(of: body) { #expect(recordPlist(cut) == whole, "\(cut)") }
    }

    @Test func `an offset must lead to where the objects are`() {
        for (offset, isTaken) in [(0, false), (7, false), (8, true), (9, true), (10, false), (65535, false)] {
            let body = binaryPlist(["09", "09"], offsets: [0: offset])
            #expect((recordPlist(body).failure == nil) == isTaken)
            if !isTaken { #expect(recordPlist(body).failure?.code == "plist_invalid_offset") }
        }
        let far = binaryPlist(["09"], offsetSize: 8, offsets: [0: -1])
        #expect(recordPlist(far).failure?.code == "plist_invalid_offset")
    }

    @Test func `the trailer must fit the body`() {
        let good = binaryPlist(["a1 01", "09"])
        #expect(recordPlist(good).failure == nil)
        let trailer = good.count - 32
        // The places of the offset's and the reference's size, of the count, of the top object and of the table.
        for (place, values) in [
            (6, [0, 1, 3, 9, 255]), (7, [0, 9, 255]), (8, [0x80, 0xFF]), (15, [0, 1, 3, 255]), (16, [0x80]),
            (23, [2, 255]), (24, [0x80, 0xFF]), (31, [0, 8, 10, 12, 255]),
        ] {
            for value in values {
                var body = good
                body[trailer + place] = UInt8(value)
                #expect(
                    recordPlist(body).failure == ConversionError(plistFault: .invalidTrailer, offset: trailer),
                    "\(value) at \(place)")
            }
        }
        // Something between the table and the trailer, or before the one or behind the other.
        for place in [trailer, trailer - 4, good.count, 8] {
            var body = good
            body.insert(0, at: place)
            #expect(recordPlist(body).failure != nil)
        }
        for length in 1..<good.count { #expect(recordPlist(Array(good[..<length])).failure != nil) }
    }

    @Test func `only version 00 is read`() {
        for (magic, code, offset) in [
            ("bplist01", "plist_unsupported_version", 7), ("bplist15", "plist_unsupported_version", 6),
            ("bplisp00", "plist_unknown_format", 5), ("bxxxxxxx", "plist_unknown_format", 1),
        ] {
            let body = Array(magic.utf8) + binaryPlist(["09"]).dropFirst(8)
            let whole = recordPlist(body)
            #expect(whole.failure?.code == code && whole.failure?.offset == offset)
            for cut in Recut.cuts(of: body) { #expect(recordPlist(cut) == whole) }
        }
        #expect(recordPlist(Array("bplist01".utf8)).failure?.kind == .unsupported)
        #expect(recordPlist(Array("bpli".utf8)).failure?.code == "plist_unexpected_end")
        #expect(recordPlist(Array("bplist00".utf8)).failure?.code == "plist_invalid_trailer")
    }

    @Test func `shared objects can't blow up`() {
        // Forty arrays of which each holds the next one twice stand for 2^40 values.
        var objects = (1...40).map { "a2" + String(repeating: String(format: "%02x", $0), count: 2) }
        objects.append("09")
        #expect(recordPlist(binaryPlist(objects)).failure?.code == "limit_tree")
        // A thousand references to a thousand bytes.
        let references = String(repeating: "01", count: 2000)
        let text = "5f 11 03e8" + String(repeating: "61", count: 1000)
        #expect(recordPlist(binaryPlist(["af 11 07d0" + references, text])).failure?.code == "limit_tree")
        // And one member whose name is left out again and again.
        var options = PropertyList.DecodingOptions()
        options.duplicates = .first
        let members = binaryPlist(["df 11 07d0" + references + references, text])
        #expect(recordPlist(members, options: options).failure?.code == "limit_tree")
    }

    @Test func `what a body stands for has at most limits.tree bytes, shared objects counted again`() {
        // An array of two strings: three nodes, two values of 100 bytes.
        let body = binaryPlist(["a2 01 01", "5f 1064" + String(repeating: "61", count: 100)])
        let cost = 3 * Tree.nodeCost + 200
        var limits = Limits()
        for (tree, isTaken) in [(cost - 1, false), (cost, true), (cost + 1, true)] {
            limits.tree = tree
            #expect((recordPlist(body, limits: limits).failure == nil) == isTaken)
        }
        // And the body itself is held.
        limits.tree = body.count - 1
        let failure = recordPlist(body, limits: limits).failure
        #expect(failure?.code == "limit_tree" && failure?.offset == limits.tree)
        for cut in Recut.cuts(of: body) { #expect(recordPlist(cut, limits: limits).failure == failure) }
    }

    @Test func `containers nest up to limits.depth`() {
        var limits = Limits()
        for depth in [1, 5, 128] {
            limits.depth = depth
            for (count, isTaken) in [(depth - 1, true), (depth, true), (depth + 1, false)] where count > 0 {
                let objects = (1...count).map { $0 == count ? "a0" : "a1" + String(format: "%02x", $0) }
                let failure = recordPlist(binaryPlist(objects), limits: limits).failure
                #expect((failure == nil) == isTaken)
                #expect(isTaken || failure?.code == "limit_depth")
            }
        }
    }

    @Test func `a key has at most limits.key bytes`() {
        var limits = Limits()
        limits.key = 6
        for (object, isTaken) in [
            ("55 6161616161", true), ("56 616161616161", true), ("57 61616161616161", false),
            ("63 00e9 00e9 00e9", true), ("63 00e9 00e9 20ac", false), ("67 0061006100610061006100610061", false),
        ] {
            let failure = recordPlist(binaryPlist(["d1 01 02", object, "09"]), limits: limits).failure
            #expect((failure == nil) == isTaken)
            #expect(isTaken || failure?.code == "limit_key" && failure?.offset == 11)
        }
    }

    @Test func `a repeated member is passed on or left out`() throws {
        let body = binaryPlist(["d3 01 01 02 03 04 05", "51 61", "51 62", "10 01", "a1 03", "09"])
        var options = PropertyList.DecodingOptions()
        options.duplicates = .keep
        #expect(try jsonText(body, options: options) == #"{"a":1,"a":[1],"b":true}"#)
        options.duplicates = .first
        #expect(try jsonText(body, options: options) == #"{"a":1,"b":true}"#)
    }

    @Test func `a real that no JSON has becomes a string where the options say so`() throws {
        var options = PropertyList.DecodingOptions()
        options.nonFiniteReals = .string
        let body = binaryPlist(["a3 01 02 03", "22 7f800000", "23 fff0000000000000", "23 7ff8000000000000"])
        #expect(try jsonText(body, options: options) == #"["inf","-inf","nan"]"#)
    }

    static let written: [(json: String, objects: [String])] = [
        ("true", ["09"]), ("false", ["08"]), ("0", ["10 00"]), ("255", ["10 ff"]), ("256", ["11 0100"]),
        ("65536", ["12 00010000"]), ("4294967296", ["13 0000000100000000"]), ("-1", ["13 ffffffffffffffff"]),
        ("9223372036854775807", ["13 7fffffffffffffff"]),
        ("9223372036854775808", ["14 0000000000000000 8000000000000000"]),
        ("1.0", ["23 3ff0000000000000"]), ("-0", ["23 8000000000000000"]), ("1e2", ["23 4059000000000000"]),
        ("\"\"", ["50"]), ("\"é\"", ["61 00e9"]), ("\"😀\"", ["62 d83d de00"]), ("[]", ["a0"]), ("{}", ["d0"]),
        ("[1,1.0,\"1\"]", ["a3 01 02 03", "10 01", "23 3ff0000000000000", "51 31"]),
        // Names come before values, depth first; equal scalars are one object.
        (
            #"{"b":{"c":"b"},"a":["c",true,true]}"#,
            ["d2 01 02 03 05", "51 62", "51 61", "d1 04 01", "51 63", "a3 04 06 06", "09"]
        ),
    ]

    @Test(arguments: written)
    func `objects are written in Apple's order and with the fewest bytes`(_ row: (json: String, objects: [String]))
        throws
    {
        let bytes = try encodePlist(json: row.json, .init(.binary))
        #expect(bytes == binaryPlist(row.objects, offsetSize: 1))
    }

    @Test(arguments: [14, 15, 255, 256, 300, 65_535, 65_536])
    func `counts, references and offsets grow as Foundation's do`(_ count: Int) throws {
        var limits = Limits()
        limits.tree = 64 * 1024 * 1024
        let list = (0..<count).map { $0 * 3 }
        let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
        let json = "[" + list.map(String.init).joined(separator: ",") + "]"
        let ours = try encodePlist(json: json, .init(.binary), limits: limits)
        #expect(ours == [UInt8](data))
        #expect(try jsonText(ours, limits: limits) == json)
        for text in [String(repeating: "x", count: count), String(repeating: "é", count: count)] {
            let data = try PropertyListSerialization.data(fromPropertyList: text, format: .binary, options: 0)
            #expect(try encodePlist(json: "\"\(text)\"", .init(.binary), limits: limits) == [UInt8](data))
        }
    }
}
