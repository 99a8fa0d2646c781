import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Nulls, empty objects and empty arrays that leave nothing are taken out of a document that is held, which then stands for itself. A
/// member whose name is a number's has every value set at its path instead: both ways give the same.
@Suite("Gaps in Alamofire's components")
struct AlamofireGapTests {
    /// The member that has every value set at its path, behind all others in either order, and what it leaves.
    private static let marker = (member: #""~":{"0":"x"}"#, field: "~[]=x", numbered: "~[0]=x")

    private struct Documents {
        var numbers: SplitMix

        mutating func object(_ depth: Int) -> String {
            "{"
                + (0..<numbers.below(5)).map { "\"\(["a", "b", "cd"][numbers.below(3)])\($0)\":\(value(depth + 1))" }
                .joined(
                    separator: ",") + "}"
        }

        mutating func value(_ depth: Int) -> String {
            switch numbers.below(depth > 4 ? 6 : 10) {
            case 0, 1: "null"
            case 2: numbers.below(2) == 0 ? "{}" : "[]"
            case 3: "\(numbers.below(100))"
            case 4, 5: ["\"b\"", "\"a\"", "\"a text of some more bytes, with a stop.\"", "true"][numbers.below(4)]
            case 6, 7: object(depth)
            default: "[" + (0..<numbers.below(5)).map { _ in value(depth + 1) }.joined(separator: ",") + "]"
            }
        }
    }

    @Test("a document with gaps gives what it gives where every value is set at its path", arguments: 0..<60)
    func sameAsSet(_ seed: Int) {
        var documents = Documents(numbers: SplitMix(state: UInt64(seed)))
        for _ in 0..<20 {
            let members = (0..<1 + documents.numbers.below(6)).map { "\"m\($0)\":\(documents.value(0))" }.joined(
                separator: ",")
            let body = Array("{\(members)}".utf8), marked = Array("{\(members),\(Self.marker.member)}".utf8)
            for arrays in [ArrayStyle.brackets, .indices, .repeated] {
                for order in [MemberOrder.sorted, .input] {
                    let plan = plan(.json, .form) {
                        $0.fieldEncoding = FieldEncodingOptions(dialect: .alamofire)
                        $0.fieldEncoding.arrays = arrays
                        $0.fieldEncoding.order = order
                    }
                    let wanted = ConversionRun.run(plan, .whole(marked))
                    for cut in [Cut.whole(body), .every(1, of: body), .every(50, of: body)] {
                        let run = ConversionRun.run(plan, cut)
                        let field =
                            arrays == .repeated ? "~=x" : arrays == .indices ? Self.marker.numbered : Self.marker.field
                        let result = run.result.isEmpty ? field : run.result + "&" + field
                        #expect(readable(result) == readable(wanted.result), "\(members) \(cut)")
                        #expect(run.accounting.removed == wanted.accounting.removed, "\(members) \(cut)")
                    }
                }
            }
        }
    }

    @Test(
        "what follows a gap moves up, or is set element by element",
        arguments: [
            (#"{"a":[null,1,2]}"#, "a[0]=1&a[1]=2"), (#"{"a":[null,[1],2]}"#, "a[0][0]=1&a[1]=2"),
            (#"{"a":[null,{"x":1,"y":2}]}"#, "a[0][x]=1&a[1][y]=2"),
            (#"{"a":[[],{"x":1,"y":2}]}"#, "a[0][x]=1&a[1][y]=2"),
            (#"{"a":[{"x":1,"y":2},null,3]}"#, "a[0][x]=1&a[0][y]=2&a[1]=3"),
            (#"{"a":[[null],{"x":null,"y":2}]}"#, "a[0][y]=2"), (#"{"a":{"b":null},"c":{"d":[[],{}]},"e":1}"#, "e=1"),
            (#"{"a":{"b":{"c":[null]}}}"#, ""), (#"{"a":[{},[{"b":[1,2]}]]}"#, "a[0][0][b][0]=1&a[1][0][b][0]=2"),
        ])
    func gaps(_ document: String, _ form: String) {
        let plan = plan(.json, .form) {
            $0.fieldEncoding = FieldEncodingOptions(dialect: .alamofire)
            $0.fieldEncoding.arrays = .indices
        }
        for cut in Recut.cuts(of: Array(document.utf8), splits: 20) {
            #expect(readable(ConversionRun.run(plan, cut).result) == form)
        }
    }
}
