import Settings
import TestSupport
import Testing
import Transcoding

/// Each note is shown by a body: what becomes of it, and that the setting which the note names mends it.
@Suite struct ConversionNoteTests {
    struct Case: CustomTestStringConvertible, Sendable {
        /// The conversion whose note it is.
        var conversion: String
        var code: String
        var body = ""
        /// The same where it is no text.
        var bytes: [UInt8]?
        /// What comes out, or `!code field`.
        var output: String
        /// Another body with the same output; for a note `omitted` one without what is left out.
        var twin: String?
        /// What the output reads back as, by that conversion.
        var back: (conversion: String, output: String)?
        /// The conversion by the note's remedy, and what it makes of the body.
        var mended: (conversion: String, output: String)?

        var input: [UInt8] { bytes ?? Array(body.utf8) }
        var testDescription: String { "\(conversion): \(code)" }
    }

    @Test(
        "what a note says of a conversion is what happens to a body",
        arguments: fieldCases + dialectCases + documentCases + fileCases)
    func note(_ example: Case) throws {
        let plan = try Conversions.parse(example.conversion)
        let note = try #require(
            plan.notes().first { $0.code == example.code },
            "\(plan.notes().map(\.code))")
        let output = Self.convert(plan, example.input)
        #expect(output == example.output)
        #expect(output.hasPrefix("!") == (note.outcome == .refused))
        if note.outcome != .refused {
            #expect(example.twin != nil || example.back != nil)
        }
        if let twin = example.twin { #expect(Self.convert(plan, Array(twin.utf8)) == output) }
        if let back = example.back {
            #expect(Self.convert(try Conversions.parse(back.conversion), Array(output.utf8)) == back.output)
        }
        #expect((example.mended == nil) == (note.remedy == nil || Self.isElsewhere(note)))
        if let mended = example.mended {
            let plan = try Conversions.parse(mended.conversion)
            #expect(!plan.notes().contains { $0.code == example.code })
            let carried = Self.convert(plan, example.input)
            #expect(carried == mended.output)
            // Kept apart: carried otherwise than its twin, or refused.
            if let twin = example.twin {
                #expect(carried.hasPrefix("!") || carried != Self.convert(plan, Array(twin.utf8)))
            }
        }
    }

    @Test("every note that some conversion has is shown by a body")
    func coverage() throws {
        let known = Set((Self.fieldCases + Self.dialectCases + Self.documentCases + Self.fileCases).map(\.code))
        var found: Set<String> = []
        for text in Self.conversions {
            for note in try Conversions.parse(text).notes() {
                found.insert(note.code)
                #expect(!note.description.contains("  "))
            }
        }
        #expect(found.subtracting(known).sorted() == [])
    }

    @Test(
        "a conversion whose output can say all that comes in has no notes",
        arguments: [
            "form -> json", "json -> json", "form -> form",
            "xml -> json",
            "bplist -> bplist", "text -> json", "raw -> multipart", "text -> text",
        ])
    func silent(conversion: String) throws {
        let notes = try Conversions.parse(conversion).notes()
        #expect(notes.filter { !["dates_text", "data_text"].contains($0.code) }.map(\.description) == [])
        #expect(notes.isEmpty || conversion == "bplist -> bplist")
    }

    @Test(
        "that files can't stand among fields is noted where they become values of a document, at names that may be below one",
        arguments: [
            ("multipart -> json(files: object)", "user[avatar] beside"),
            ("auto -> json(files: object)", "user[avatar] beside"),
            ("multipart(nesting: dots) -> xml(files: base64)", "user.avatar beside"),
            ("multipart(nesting: flat) -> json(files: base64)", "under the name of a field"),
            ("multipart -> json(files: { 'u.*': base64 })", "user[avatar] beside"),
            ("multipart -> json(files: { f: base64 })", nil), ("multipart -> json(files: drop)", nil),
            ("multipart -> json", nil), ("json -> json", nil), ("multipart -> form(files: base64)", nil),
            ("multipart -> multipart", nil),
        ])
    func sharedObjects(_ conversion: String, _ words: String?) throws {
        let notes = try Conversions.parse(conversion).notes().filter { $0.code == "files_shared_root" }
        #expect(notes.count == (words == nil ? 0 : 1))
        if let words, let note = notes.first {
            #expect(note.what.contains(words))
            #expect(note.outcome == .refused)
            #expect((note.remedy == nil) == (conversion.contains("flat")))
        }
    }

    @Test("XML in its lossless form carries all but the characters that XML excludes")
    func lossless() throws {
        let codes = try Conversions.parse("json -> xml(convention: lossless)").notes().map(\.code)
        #expect(codes == ["control_character", "character_excluded", "name_control"])
    }

    @Test(
        "files that overtake fields are noted wherever fields are held, and files go out as parts",
        arguments: [
            ("multipart -> multipart", false), ("multipart(dialect: whatwg) -> multipart(dialect: whatwg)", false),
            ("multipart -> multipart(dialect: php)", true), ("multipart -> multipart(dialect: qs)", true),
            ("multipart(dialect: rack) -> multipart(dialect: rack)", true),
            ("multipart(dialect: php) -> multipart", true),
            ("multipart -> multipart(arrays: indices)", true), ("multipart -> multipart(order: sorted)", true),
            ("multipart(dialect: php) -> auto(dialect: php)", true), ("multipart -> auto", false),
            ("multipart(dialect: php) -> multipart(dialect: php, files: drop)", false),
            ("multipart(dialect: php) -> json(files: object)", false),
            ("form(dialect: php) -> multipart(dialect: php)", false),
            ("json -> multipart(dialect: php)", false),
        ])
    func order(_ conversion: String, _ isNoted: Bool) throws {
        #expect(try Conversions.parse(conversion).notes().contains { $0.code == "files_first" } == isNoted)
    }

    @Test(
        "a map that sets or removes is noted where names pass that the server may read as others",
        arguments: [
            ("form -> form", true), ("query -> form", true), ("form -> query", true), ("multipart -> auto", true),
            ("multipart -> multipart", true), ("auto -> form", true), ("form -> form(dialect: php)", true),
            ("form(dialect: alamofire) -> multipart", true),
            ("form(nesting: flat) -> form", true), ("form(dialect: php, nesting: flat) -> form", true),
            ("form(dialect: php) -> form(dialect: php)", false), ("form(dialect: qs) -> multipart(dialect: qs)", false),
            ("multipart(dialect: rack) -> multipart(dialect: rack)", false),
            ("form(dialect: whatwg) -> form(dialect: whatwg)", false), ("form -> json", false), ("json -> form", false),
        ])
    func map(_ conversion: String, _ expected: Bool) throws {
        func isNoted(_ change: (inout FieldMap) -> Void) throws -> Bool {
            var plan = try Conversions.parse(conversion)
            change(&plan.map)
            return plan.notes().contains { $0.code == "map_names" }
        }
        let place = try FieldPath(parsing: "u.id")
        #expect(try isNoted { $0.remove = [place] } == expected)
        #expect(try isNoted { $0.set = [.init(path: place, value: .literal(.string("trusted")))] } == expected)
        #expect(try !isNoted { $0.rename = [.init(from: place, to: place)] })
    }

    @Test("what that note says happens, and the server's dialect mends it", arguments: ["u[id]x", " u[id]"])
    func otherNames(_ name: String) throws {
        for (dialect, isHeld) in [("", false), ("(dialect: php)", true)] {
            var plan = try Conversions.parse("form\(dialect) -> form\(dialect)")
            plan.map.set = [
                .init(path: try FieldPath(parsing: "u.id"), value: .literal(.string("trusted")))
            ]
            let output = Self.convert(plan, Array("\(name)=evil".utf8))
            #expect(output.contains("u[id]=trusted"))
            #expect(output.contains("evil") == !isHeld, "\(output)")
        }
    }

    @Test("where malformed names are refused, that note names one that isn't")
    func namesBesideMalformed() throws {
        for (options, name) in [("", "u[id]x"), ("(malformed_key: reject)", " u[id]")] {
            var plan = try Conversions.parse("form\(options) -> form")
            plan.map.set = [.init(path: try FieldPath(parsing: "u.id"), value: .literal(.string("trusted")))]
            let note = try #require(plan.notes().first { $0.code == "map_names" })
            #expect(note.effect.contains(name))
            #expect(Self.convert(plan, Array("\(name)=evil".utf8)).contains("evil"))
        }
    }

    @Test("a map puts attributes of XML first, so the note doesn't say that late ones are refused")
    func attributesFirst() throws {
        var plan = try Conversions.parse("json -> xml")
        for isLateRefused in [true, false] {
            let effects = plan.notes().filter { $0.code == "attribute" }.map(\.effect)
            #expect(effects.count == 1)
            #expect(effects.allSatisfy { $0.contains("after others") == isLateRefused && $0.contains("single value") })
            plan.map.remove = [try FieldPath(parsing: "z")]
        }
    }

    @Test("a note is one line: what, what becomes of it, and the setting")
    func text() throws {
        let notes = try Conversions.parse("json -> form").notes().map(\.description)
        #expect(notes.first == "null becomes an empty value; nulls: literal or reject keeps it apart")
        #expect(
            notes.contains(
                "an empty array is refused; arrays: json carries it, empties: marker carries it as an array of one empty text"
            ))
    }

    // MARK: -

    /// Remedies that are no setting of the same conversion's output, or another output.
    private static func isElsewhere(_ note: ConversionNote) -> Bool {
        guard let remedy = note.remedy else { return false }
        return ["where it is read", "where they are read"].contains { remedy.contains($0) }
            || remedy.hasPrefix("map.remove") || remedy.hasPrefix("map.rename") || remedy.hasPrefix("field names")
    }

    private static let conversions: [String] = {
        var all: [String] = []
        for arrays in ["auto", "brackets", "indices", "repeat", "comma", "json"] {
            for nesting in ["brackets", "dots", "flat", "json"] {
                for (nulls, empties, booleans) in [
                    ("empty", "reject", "literal"), ("key", "omit", "numeric"), ("literal", "marker", "literal"),
                    ("omit", "reject", "literal"), ("reject", "marker", "numeric"),
                ] {
                    let options =
                        "arrays: \(arrays), nesting: \(nesting), nulls: \(nulls), empties: \(empties), "
                        + "booleans: \(booleans)"
                    all.append("json -> form(\(options))")
                    // What other inputs can say is part of that.
                    guard arrays == "auto" || nesting == "json" else { continue }
                    for input in ["plist", "xml", "form(nesting: flat)", "form(arrays: comma)"] {
                        all.append("\(input) -> form(\(options))")
                    }
                }
            }
        }
        for dialect in ["afnetworking", "alamofire", "qs", "php", "rack", "whatwg"] {
            for options in [
                "", ", arrays: comma", ", arrays: auto", ", nesting: json", ", empties: marker", ", empties: reject",
            ] {
                all += [
                    "json -> form(dialect: \(dialect)\(options))", "json -> multipart(dialect: \(dialect)\(options))",
                ]
            }
        }
        for nulls in ["reject", "omit", "empty"] {
            for large in ["reject", "real", "string"] {
                for output in ["plist", "bplist"] {
                    all.append("json -> \(output)(nulls: \(nulls), large_integers: \(large))")
                }
            }
        }
        all += [
            "bplist -> plist", "bplist -> plist(date_fractions: drop)", "plist -> json", "plist -> xml", "form -> xml",
        ]
        for (nulls, empties, root, names) in [
            ("empty", "reject", "auto", "reject"), ("omit", "omit", "member", "item"),
            ("reject", "marker", "wrap", "reject"), ("nil", "marker", "wrap", "item"),
        ] {
            all.append("json -> xml(nulls: \(nulls), empties: \(empties), root: \(root), names: \(names))")
        }
        for files in ["base64", "drop", "reject"] {
            for output in ["json", "form", "multipart", "raw"] { all.append("multipart -> \(output)(files: \(files))") }
        }
        for nulls in ["empty", "literal", "reject"] {
            all += ["json -> text(nulls: \(nulls))", "json -> text(field: a, nulls: \(nulls))"]
        }
        all += ["multipart -> json", "multipart -> raw", "json -> raw", "json -> json(booleans: numeric)"]
        return all
    }()

    /// What comes out, as text: a binary property list as what it reads as, and brackets of forms readable.
    static func convert(_ plan: ConversionPlan, _ body: [UInt8]) -> String {
        let run = ConversionRun.run(plan, .whole(body))
        #expect(run.violations.isEmpty)
        guard run.failure == nil else { return run.result }
        switch plan.output {
        case .form:
            return run.result.replacing("%5B", with: "[").replacing("%5D", with: "]").replacing("%2C", with: ",")
        case .bplist:
            let reading = ConversionPlan(inputs: [.bplist], output: .json)
            return "bplist " + ConversionRun.run(reading, .whole(run.output.bytes)).result
        default: return run.result
        }
    }
}
