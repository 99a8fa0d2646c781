import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("Null removal")
struct NullRemovalTests {
    static func row(_ removal: NullRemoval, _ input: String, _ expected: String) -> PipelineRow {
        PipelineRow(.json, .json, input, expected) { $0.removeNulls = removal }
    }

    static let rows: [PipelineRow] = [
        row(.off, #"{"a":null,"b":[null]}"#, #"{"a":null,"b":[null]}"#),
        row(.keys, #"{"a":[null,[null,1]],"b":null}"#, #"{"a":[null,[null,1]]}"#),
        row(.deep, #"{"a":[null,[null,1]],"b":null}"#, #"{"a":[[1]]}"#),
        row(.keys, #"[{"a":null,"b":{"c":null}},null]"#, #"[{"b":{}},null]"#),
        row(.deep, #"[{"a":null,"b":{"c":null}},null,[null]]"#, #"[{"b":{}},[]]"#),
        row(.deep, "null", "null"),
        row(.deep, #"{"a":null}"#, "{}"),
        row(.deep, "{}", "{}"),
        row(.deep, #"{"a":null,"a":1,"a":null}"#, #"{"a":1}"#),
        PipelineRow(.json, .form, #"{"a":null,"b":[1,null,2]}"#, "b[]=1&b[]=2") { $0.removeNulls = .deep },
    ]

    @Test("what a removal names is left out, and nothing else", arguments: rows)
    func removal(_ row: PipelineRow) { row.check() }

    private static let nulls: [String] = [
        #"{"a":null,"b":[1,null,{"c":null,"d":2},{"e":null}],"f":{"g":null},"h":{"i":{"j":null},"k":"x"},"l":"m","n":null}"#,
        #"{"only":null}"#, #"{"a":{"b":null,"c":null}}"#, #"{"list":[null,null]}"#, "null", "[null]", "[{\"a\":null}]",
        #"{"a[b]":null,"a":{"":null,"b.c]":null,"x":1},"padding so that there is more":"than a slice of a few bytes"}"#,
        #"{"a":null,"a":null,"b":"padding so that there is more than a slice of a few bytes"}"#,
        #"{"b":null,"a":{"z":null,"y":1,"x":[null,{"w":null,"v":true}]},"padding so that there is":"more than a slice"}"#,
        "{" + (0..<40).map { #""member\#($0)":\#($0 % 3 == 0 ? "null" : "\"text \($0)\"")"# }.joined(separator: ",")
            + "}",
        #"{"a":nul,"b":"padding so that there is more than a slice of a few bytes"}"#, #"{"a":null"#, #"{"a":null,}"#,
    ]

    @Test(
        "members that are null are left out as they pass, as they are left out of a tree",
        arguments: DirectFieldTests.documents + nulls)
    func passing(_ document: String) {
        let body = Array(document.utf8)
        let changes = DirectFieldTests.changes + DirectFieldTests.dialects
        for output in [BodyEncoding.form, .multipart] {
            for (number, change) in changes.prefix(output == .form ? changes.count : 3).enumerated() {
                let passing = plan(.json, output) {
                    change(&$0)
                    $0.removeNulls = .keys
                }
                // Types need the tree.
                var held = passing
                held.types = [TypeRule(path: path("no_such.member"), type: .integer)]
                let wanted = ConversionRun.run(held, .whole(body))
                for cut in [Cut.whole(body)] + [1, 33, 100].map({ .every($0, of: body) }) {
                    let run = ConversionRun.run(passing, cut, highWatermark: 1 + number * 40)
                    // Of two faults, the first one that is met is told.
                    #expect((run.failure == nil) == (wanted.failure == nil), "\(output), change \(number), \(cut)")
                    if wanted.failure == nil { #expect(run == wanted, "\(output), change \(number), \(cut)") }
                }
            }
        }
    }

    @Test("every split of a body with nulls gives the same", arguments: nulls)
    func splits(_ document: String) {
        let body = Array(document.utf8)
        let plan = plan(.json, .form) {
            $0.fieldEncoding.empties = .omit
            $0.removeNulls = .keys
        }
        let wanted = ConversionRun.run(plan, .every(1, of: body))
        for cut in Recut.cuts(of: body) {
            let run = ConversionRun.run(plan, cut)
            #expect(run.failure == wanted.failure, "\(cut)")
            if wanted.failure == nil { #expect(run == wanted, "\(cut)") }
        }
    }

    @Test("a document whose members are left out as they pass needs no memory for all of it")
    func withoutTree() {
        let body = Array(#"{"a":null,"b":{"c":null,"d":1},"e":[null]}"#.utf8)
        var plan = plan(.json, .form) {
            $0.removeNulls = .keys
            $0.limits.tree = 150
        }
        #expect(ConversionRun.run(plan, .whole(body)).result == "b%5Bd%5D=1&e%5B%5D=")
        plan.removeNulls = .deep
        #expect(ConversionRun.run(plan, .whole(body)).failure?.code == "limit_tree")
    }

    @Test("what is left out is counted")
    func count() throws {
        var plan = ConversionPlan(inputs: [.json], output: .json)
        plan.removeNulls = .deep
        let conversion = try Conversion.make(plan: plan, contentType: [UInt8]("application/json".utf8).span)
        let input = [UInt8](#"{"a":null,"b":[null,1]}"#.utf8)
        let taken = try conversion.feed(input.span)
        let isDone = try conversion.finish()
        #expect(taken == input.count && isDone)
        #expect(conversion.accounting.removed == 2)
    }
}
