import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// A map gives the same while values pass one by one and where the body is put together first, in another order at most.
@Suite("Maps while values pass, and on a tree")
struct MapPassingTests {
    /// Reads into the tree whatever the map is.
    private func held(_ plan: ConversionPlan) -> ConversionPlan {
        var plan = plan
        plan.types = [TypeRule(path: path("nothing.at.all"), type: .string)]
        return plan
    }

    /// What a body says, however its fields are spelled and ordered; of an error its code.
    private func meaning(_ plan: ConversionPlan, _ input: String) -> String {
        let run = ConversionRun.run(plan, .whole(Array(input.utf8)))
        if let failure = run.failure { return "!\(failure.code)" }
        let reader = SerializationTests.plan(plan.output, .json) { $0.fieldEncoding.order = .sorted }
        return ConversionRun.run(
            reader, .whole(run.output.bytes),
            type: plan.output == .multipart ? String(decoding: run.contentType.bytes, as: UTF8.self) : nil
        ).result
    }

    private static func map(_ change: (inout FieldMap) -> Void) -> FieldMap {
        var map = FieldMap()
        change(&map)
        return map
    }

    private static func remove(_ paths: String...) -> FieldMap { map { $0.remove = paths.map { path($0) } } }

    private static func rename(_ from: String, _ to: String, removing removed: String...) -> FieldMap {
        map {
            $0.remove = removed.map { path($0) }
            $0.rename = [.init(from: path(from), to: path(to))]
        }
    }

    private static func set(_ at: String, removing removed: String...) -> FieldMap {
        map {
            $0.remove = removed.map { path($0) }
            $0.set = [.init(path: path(at), value: .literal(.string("s")))]
        }
    }

    static let rows: [(FieldMap, String, String)] = [
        // All values of a name that comes again are elements; that of one that doesn't is none.
        (remove("d[*]"), "d=1&d=2&e=3", #"{"e":"3"}"#),
        (remove("d[*]"), "d[]=1&e=3", #"{"e":"3"}"#),
        (remove("d[*]"), "d[x]=1&d[y][z]=2&e=3", #"{"e":"3"}"#),
        (remove("d[*]"), "d=1&e=3", #"{"d":"1","e":"3"}"#),
        (remove("a.d[*]", "b"), "a[d]=1&a[d]=2&a[e]=3&b=4", #"{"a":{"e":"3"}}"#),
        // A number in brackets is a key where rules speak of keys, whatever stands beside it.
        (set("y.a"), "y[0][x]=1", #"{"y":{"0":{"x":"1"},"a":"s"}}"#),
        (set("y.a"), "y[0]=1&y[1]=2", #"{"y":{"0":"1","1":"2","a":"s"}}"#),
        (set("y.a"), "y[1]=1", #"{"y":{"1":"1","a":"s"}}"#),
        (set("y.a.b"), "y[a][0]=1", #"{"y":{"a":{"0":"1","b":"s"}}}"#),
        (set("y.0"), "y[0]=1&y[1]=2", #"{"y":["s","2"]}"#),
        (set("y.2"), "y[0]=1&y[1]=2", #"{"y":["1","2","s"]}"#),
        (set("y.a"), "y[]=1", "!map_conflict"),
        (set("y.a"), "y=1&y=2", "!map_conflict"),
        (set("y.a"), "y=1", "!map_conflict"),
        (rename("k", "y.a"), "y[0]=1&k=2", #"{"y":{"0":"1","a":"2"}}"#),
        (rename("k", "y.a"), "y[]=1&k=2", "!map_conflict"),
        (rename("y", "z"), "y[0]=1&y[1]=2", #"{"z":["1","2"]}"#),
        (rename("y.0", "z"), "y[0]=1&y[1]=2", #"{"y":{"1":"2"},"z":"1"}"#),
        (remove("y.0"), "y[0]=1&y[1]=2", #"{"y":{"1":"2"}}"#),
        (remove("y.0"), "y[0]=1", "{}"),
        // What the map has emptied is no more.
        (set("d.a", removing: "d[*].x"), "d[][x]=1", #"{"d":{"a":"s"}}"#),
        (set("d", removing: "d.x"), "d[x]=1", #"{"d":"s"}"#),
        (rename("b", "a", removing: "b.x"), "a=1&b[x]=2", #"{"a":"1"}"#),
        (rename("e", "d", removing: "d.x"), "d[x]=1&e=2", #"{"d":"2"}"#),
        (rename("a.a", "a"), "a[a]=1", #"{"a":"1"}"#),
    ]

    @Test("what is said of elements, of keys that are numbers, and of what is empty", arguments: rows)
    func row(_ map: FieldMap, _ input: String, _ expected: String) {
        let plan = plan(.form, .form) { $0.map = map }
        #expect(meaning(plan, input) == expected, "\(input)")
        #expect(meaning(held(plan), input) == expected, "\(input), held")
    }

    @Test("an array of JSON has no keys")
    func jsonArrays() {
        for isHeld in [false, true] {
            for map in [Self.set("y.a"), Self.set("y.0"), Self.rename("k", "y.0")] {
                let plan = plan(.json, .json) { $0.map = map }
                #expect(meaning(isHeld ? held(plan) : plan, #"{"y":["v"],"k":1}"#) == "!map_conflict")
            }
            let plan = plan(.json, .json) { $0.map = Self.remove("y.0") }
            #expect(meaning(isHeld ? held(plan) : plan, #"{"y":["v"]}"#) == #"{"y":["v"]}"#)
        }
    }

    /// Random maps and bodies of few names, which meet often.
    private struct Source {
        var random: SplitMix

        mutating func pick(_ words: [String]) -> String { words[random.below(words.count)] }

        mutating func name() -> String {
            let depth = Int(pick(["0", "0", "1", "1", "1", "2", "3"]))!
            return (0..<depth).reduce(pick(["a", "b", "c"])) { name, _ in
                name + "[" + pick(["a", "b", "x", "0", "1", ""]) + "]"
            }
        }

        mutating func place(_ canBeAny: Bool) -> FieldPath {
            let depth = random.below(3)
            return path(
                (0..<depth).reduce(pick(["a", "b", "c"])) { text, _ in
                    let step = pick(["a", "b", "x", "0", canBeAny ? "*" : "c"])
                    return text + (step == "*" ? "[*]" : "." + step)
                })
        }

        mutating func map() -> FieldMap {
            var map = FieldMap()
            for _ in 0..<random.below(3) { map.remove.append(place(true)) }
            for _ in 0..<random.below(3) { map.rename.append(.init(from: place(false), to: place(false))) }
            let values: [Literal] = [.string("s"), .null, .array([.number("1"), .number("2")])]
            for _ in 0..<random.below(3) {
                map.set.append(.init(path: place(false), value: .literal(values[random.below(3)])))
            }
            return map
        }

        mutating func body(_ encoding: BodyEncoding) -> String {
            let fields = (0...random.below(5)).map { "\(name())=\($0)" }
            return encoding == .form ? fields.joined(separator: "&") : multipart(fields)
        }
    }

    @Test("random maps give the same, or the same error", arguments: [BodyEncoding.form, .multipart])
    func random(_ input: BodyEncoding) {
        var source = Source(random: SplitMix(state: 17))
        var compared = 0
        for _ in 0..<(triesTenth ? 100 : 1000) {
            let map = source.map()
            let output: BodyEncoding = source.random.below(2) == 0 ? .form : .multipart
            let plain = plan(input, output) { $0.fieldEncoding.nulls = .literal }
            var plan = plain
            plan.map = map
            guard !map.isEmpty, plan.validate().isEmpty else { continue }
            for _ in 0..<6 {
                let body = source.body(input)
                // Names that can't stand together pass as they came where nothing looks at them.
                guard !meaning(held(plain), body).hasPrefix("!") else { continue }
                let (passed, whole) = (meaning(plan, body), meaning(held(plan), body))
                #expect(passed == whole, "\(map) of \(body)")
                compared += 1
                if passed != whole { return }
            }
        }
        #expect(compared > (triesTenth ? 100 : 1000))
    }
}
