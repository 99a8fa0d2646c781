import Settings
import Testing
import Transcoding

@Suite struct ConversionsTests {
    /// The mistakes of an expression, as `column: message`.
    private func mistakes(_ text: String) -> [String] {
        do {
            _ = try Conversions.parse(text)
            return []
        } catch {
            return error.all.map { "\($0.column): \($0.message)" }
        }
    }

    @Test("any of the three encodings goes to any of the three, with the standard options")
    func pairs() throws {
        for input in BodyEncoding.structured {
            for output in BodyEncoding.structured {
                let plan = try Conversions.parse("\(input.rawValue) -> \(output.rawValue)")
                #expect(plan == ConversionPlan(inputs: [input], output: output))
            }
            #expect(try Conversions.parse("auto->\(input.rawValue)").inputs == BodyEncoding.structured)
        }
    }

    @Test("a query is read and written as a form, with a form's options")
    func query() throws {
        var reads = ConversionPlan(inputs: [.form], output: .json)
        reads.readsQuery = true
        #expect(try Conversions.parse("query -> json") == reads)
        var writes = ConversionPlan(inputs: [.json], output: .form)
        writes.writesQuery = true
        writes.fieldEncoding.arrays = .indices
        writes.fieldEncoding.spaces = .plus
        writes.rewritesNames = true
        #expect(try Conversions.parse("json -> query(arrays: indices, spaces: plus)") == writes)
    }

    @Test(
        "blanks and empty parentheses mean nothing",
        arguments: ["form->json", "  form  ->  json  ", "form() -> json( )", "form\n->\n  json"])
    func blanks(text: String) throws {
        #expect(try Conversions.parse(text) == ConversionPlan(inputs: [.form], output: .json))
    }

    @Test("each word of each input option is read")
    func inputOptions() throws {
        func field<Word: RawRepresentable<String> & CaseIterable & Equatable>(
            _ key: String, _ path: KeyPath<FieldDecodingOptions, Word>,
            encodings: [String] = ["form", "multipart", "auto"],
            except: Word? = nil
        ) throws {
            for word in Word.allCases where word != except {
                for encoding in encodings {
                    let plan = try Conversions.parse("\(encoding)(\(key): \(word.rawValue)) -> json")
                    #expect(plan.fieldDecoding[keyPath: path] == word, "\(key) \(word)")
                }
            }
        }
        try field("arrays", \.arrays)
        try field("nesting", \.nesting)
        try field("types", \.types)
        try field("malformed_key", \.malformedKey)
        try field("invalid_utf8", \.invalidUTF8)
        try field("percent", \.percent, encodings: ["form", "auto"])
        try field("files", \.files, encodings: ["multipart", "auto"])
        try field("duplicates", \.duplicates, encodings: ["form", "multipart"], except: .keep)
        for word in DuplicatePolicy.allCases where word != .array {
            #expect(try Conversions.parse("json(duplicates: \(word.rawValue)) -> json").jsonDuplicates == word)
        }
        #expect(try Conversions.parse("auto(duplicates: keep) -> json").jsonDuplicates == .keep)
        #expect(try Conversions.parse("auto(duplicates: array) -> json").jsonDuplicates == nil)
        let fixed = try Conversions.parse("auto(dialect: recast, charset: utf-8, numbers: exact) -> json")
        #expect(fixed == (try Conversions.parse("auto -> json")))
    }

    @Test("the input's dialect gives its options, and each of them can be written beside it")
    func inputDialects() throws {
        for dialect in Dialect.allCases {
            for encoding in ["form", "query", "auto"] {
                let plan = try Conversions.parse("\(encoding)(dialect: \(dialect.rawValue)) -> json")
                #expect(plan.fieldDecoding == FieldDecodingOptions(dialect: dialect))
            }
        }
        var options = FieldDecodingOptions(dialect: .rack)
        options.duplicates = .array
        options.percent = .lenient
        options.nulls = .empty
        let written = "form(duplicates: array, percent: lenient, nulls: empty, dialect: rack) -> json"
        #expect(try Conversions.parse(written).fieldDecoding == options)
        #expect(try Conversions.parse("multipart(dialect: php) -> form").fieldDecoding.duplicates == .last)
        #expect(try Conversions.parse("form(nulls: key) -> json").fieldDecoding.nulls == .key)
    }

    @Test("a key depth that is written holds under a dialect too, also the standard one")
    func keyDepth() throws {
        #expect(try Conversions.parseLimits("").keyDepth(for: .php) == 64)
        #expect(try Conversions.parseLimits("key_depth: 32").keyDepth(for: .php) == 32)
        #expect(try Conversions.parseLimits("fields: 7").keyDepth(for: .qs) == 5)
    }

    @Test("each word of each output option is read")
    func outputOptions() throws {
        func field<Word: RawRepresentable<String> & CaseIterable & Equatable>(
            _ key: String, _ path: KeyPath<FieldEncodingOptions, Word>, encodings: [String] = ["form", "multipart"],
            from input: String = "json", rewrites: Bool = false, except: [String: [Word]] = [:]
        ) throws {
            for word in Word.allCases {
                for encoding in encodings where except[encoding]?.contains(word) != true {
                    let plan = try Conversions.parse("\(input) -> \(encoding)(\(key): \(word.rawValue))")
                    #expect(plan.fieldEncoding[keyPath: path] == word, "\(key) \(word)")
                    #expect(plan.rewritesNames == rewrites, "\(key)")
                }
            }
        }
        let all = ["form", "json", "multipart"]
        try field("arrays", \.arrays, rewrites: true)
        try field("nesting", \.nesting, rewrites: true)
        try field("nulls", \.nulls, except: ["multipart": [.key]])
        try field("empties", \.empties)
        try field("booleans", \.booleans, encodings: all)
        try field("order", \.order, encodings: all)
        try field("spaces", \.spaces, encodings: ["form"])
        try field("filenames", \.filenames, encodings: ["multipart", "auto"], from: "multipart")
        try field(
            "files", \.files, encodings: all, from: "multipart",
            except: ["form": [.stream, .object], "json": [.stream], "multipart": [.object]])
        #expect(try Conversions.parse("form -> json(numbers: exact)") == ConversionPlan(inputs: [.form], output: .json))
    }

    @Test("an output auto is multipart, and a form or JSON without files")
    func auto() throws {
        let plan = try Conversions.parse("json -> auto(files: {f: {from: base64}}, spaces: plus)")
        #expect((plan.output, plan.outputWithoutFiles) == (.multipart, .form))
        #expect(plan.fieldEncoding.spaces == .plus)
        #expect(try Conversions.parse("json -> auto(without_files: json)").outputWithoutFiles == .json)
        #expect(try Conversions.parse("json -> multipart").outputWithoutFiles == nil)
    }

    @Test("files are declared in nested mappings")
    func files() throws {
        let plan = try Conversions.parse(
            "json(numbers: exact) -> multipart(files: {photo: {from: base64, max: 1KiB}, 'a b': drop})")
        let others = try Conversions.parse("multipart -> json(files: {photo: base64, \"*\": reject})")
        #expect(others.fieldEncoding.files == .reject && others.files.map(\.policy) == [.base64])
        #expect(
            plan.files == [
                FileRule(path: try FieldPath(parsing: "photo"), policy: .base64, max: 1024),
                FileRule(path: try FieldPath(parsing: "a b"), policy: .drop),
            ])
        let quoted = try Conversions.parse("json -> multipart(files: {photo: {from: base64, filename: \"a) -> (b\"}})")
        #expect(quoted.files.first?.filename == .literal("a) -> (b"))
    }

    @Test("limits are written as in a route, and the others stay")
    func limits() throws {
        var standard = Limits()
        standard.body = .max
        var expected = standard
        expected.fields = 5
        expected.tree = 2 * 1024 * 1024
        #expect(try Conversions.parseLimits("fields: 5, tree: 2MiB", standard: standard) == expected)
        #expect(try Conversions.parseLimits("", standard: standard) == standard)
        let mistakes = #expect(throws: SettingsMistakes.self) {
            try Conversions.parseLimits("body: 1, filds: 5", standard: standard)
        }
        #expect(
            mistakes?.all.map { "\($0.column): \($0.message)" } == [
                "7: \"body\": a size needs a unit (B, KiB, MiB, GiB, TiB), as in 64KiB",
                "10: \"limits\" has no key \"filds\": did you mean \"fields\"?",
            ])
    }

    @Test("a file of JSON output may be an object, all of them or one")
    func fileObjects() throws {
        let plan = try Conversions.parse(
            "multipart -> json(files: {photo: {do: object, type: image/jpeg, max: 1KiB}, cv: object, \"*\": base64})")
        #expect(plan.fieldEncoding.files == .base64)
        #expect(
            plan.files == [
                FileRule(path: try FieldPath(parsing: "photo"), policy: .object, mediaType: "image/jpeg", max: 1024),
                FileRule(path: try FieldPath(parsing: "cv"), policy: .object),
            ])
        #expect(try Conversions.parse("multipart -> json(files: object)").fieldEncoding.files == .object)
        #expect(try Conversions.parse("multipart(files: object) -> json").fieldDecoding.files == .object)
    }

    private static let encodings = BodyEncoding.allCases.map(\.rawValue)
    /// Those whose values have names.
    private static let named = encodings.filter { $0 != "text" && $0 != "raw" }

    @Test(
        "an expression that can't be read says what is wrong and at which character",
        arguments: [
            ("", "1: the input of a conversion is missing here: write form, json or multipart"),
            ("form", "5: a conversion is written as input -> output, as in form -> json: \"->\" is missing here"),
            (
                "form => json",
                "6: a conversion is written as input -> output, as in form -> json: \"->\" is missing here"
            ),
            ("form ->", "8: the output of a conversion is missing here: write form, json or multipart"),
            ("-> json", "1: the input of a conversion is missing here: write form, json or multipart"),
            ("form -> json json", "14: nothing follows the output of a conversion"),
            ("form -> json -> form", "14: nothing follows the output of a conversion"),
            ("frm -> json", "1: there is no encoding \"frm\": did you mean \"form\"?"),
            ("form -> JSON", "9: there is no encoding \"JSON\": did you mean \"json\"?"),
            (
                "form -> yaml",
                "9: there is no encoding \"yaml\": known are \(Self.encodings.joined(separator: ", ")), auto, query"
            ),
            ("json -> form(without_files: json)", "14: \"without_files\" is for the output auto only"),
            ("json -> auto(without_files: xml)", "29: \"without_files\" is not \"xml\": known are form, json"),
            (
                "query -> query",
                "10: \"query -> query\" converts nothing: remove \"request\", or write a body's encoding"
            ),
            ("form(arrays: dots -> json", "5: this parenthesis is never closed"),
            (
                "form(arrays: dots) -> json",
                "14: \"arrays\" is not \"dots\": known are auto, brackets, indices, repeat, comma, json"
            ),
            ("form(arays: auto) -> json", "6: the input has no key \"arays\": did you mean \"arrays\"?"),
            ("form(arrays) -> json", "12: \"arrays\" is a single value, not nothing"),
            ("form(arrays: [auto]) -> json", "14: \"arrays\" is a single value, not a list"),
            ("form(arrays: auto, arrays: auto) -> json", "20: the key \"arrays\" occurs twice, first in line 1"),
            (
                "form(a: [b, c}) -> json",
                "14: the [ of line 1 is not closed before this: a comma parts its elements, and ] ends them"
            ),
            ("form(empties: omit) -> json", "6: \"empties\" is not an option of the input but of the output"),
            ("multipart(nulls: key) -> json", "11: \"nulls\" is for form input only"),
            ("form(nulls: literal) -> json", "13: \"nulls\" is not \"literal\": known are empty, key"),
            ("json -> form(percent: strict)", "14: \"percent\" is not an option of the output but of the input"),
            ("json(arrays: auto) -> form", "6: \"arrays\" is for form and multipart input only"),
            (
                "text(document: a) -> json",
                "6: \"document\" is for \(Self.named.joined(separator: " and ")) input only"
            ),
            (
                "form(rest: drop) -> json",
                "6: \"rest\" says what happens to the fields beside \"document\", which isn't there"
            ),
            ("form(document: a, rest: keep) -> json", "25: \"rest\" is not \"keep\": known are reject, merge, drop"),
            ("multipart(percent: strict) -> form", "11: \"percent\" is for form input only"),
            ("form -> json(arrays: auto)", "14: \"arrays\" is for form and multipart output only"),
            ("form -> multipart(spaces: plus)", "19: \"spaces\" is for form output only"),
            ("json -> multipart(nulls: key)", "26: \"nulls\" is not \"key\": known are empty, literal, omit, reject"),
            (
                "form(duplicates: keep) -> json",
                "18: \"duplicates\" is not \"keep\": known are array, first, last, reject"
            ),
            (
                "json(duplicates: array) -> json",
                "18: \"duplicates\" is not \"array\": known are first, last, reject, keep"
            ),
            ("json(duplicates: keep) -> form", "5: \"duplicates: keep\" is for JSON output only"),
            (
                "multipart -> json(files: stream)",
                "26: json output can't hold files: write base64, object, drop, reject"
            ),
            (
                "json(files: base64) -> multipart",
                "13: the json input has no files of its own: name the fields, as in files: {photo: base64}"
            ),
            (
                "multipart -> form(files: object)",
                "26: \"files\": \(FilePolicy.objectFault)"
            ),
            (
                "multipart(files: object) -> multipart",
                "18: \"files\": \(FilePolicy.objectFault)"
            ),
            (
                "multipart -> form(files: {photo: {do: object}})",
                "39: \"do\": \(FilePolicy.objectFault)"
            ),
            (
                "json -> json(files: {photo: object})",
                "1: \"files\" (\"photo\"): \(FilePolicy.objectFault)"
            ),
            (
                "json -> multipart(parts: {p: json}, files: {\"p.f\": {from: base64}})",
                "1: \"files\" (\"p.f\"): under parts: { p: json } the value stands inside a JSON text, where nothing is a file"
            ),
            (
                "json -> multipart(parts: {p: json}, files: {\"p\": {from: base64}})",
                "1: \"files\" (\"p\"): under parts: { p: json } the value stands inside a JSON text, where nothing is a file"
            ),
            (
                "json -> multipart(parts: {\"p.*\": json}, files: {\"p.f.g\": {from: base64}})",
                "1: \"files\" (\"p.f.g\"): under parts: { p[*]: json } the value stands inside a JSON text, where nothing is a file"
            ),
            (
                "json -> multipart(nesting: json, files: {\"p.f\": {from: base64}})",
                "1: \"files\" (\"p.f\"): under nesting: json the value stands inside a JSON text, where nothing is a file"
            ),
            (
                "json -> multipart(nesting: json, files: {\"p.*\": {from: base64}})",
                "1: \"files\" (\"p[*]\"): under nesting: json the value stands inside a JSON text, where nothing is a file"
            ),
            (
                "json -> multipart(arrays: json, files: {\"p[0]\": {from: base64}})",
                "1: \"files\" (\"p[0]\"): under arrays: json the value stands inside a JSON text, where nothing is a file"
            ),
            ("form(dialect: phpp) -> json", "15: \"dialect\" is not \"phpp\": did you mean \"php\"?"),
            (
                "form(charset: klingon) -> json",
                "15: \"charset\": \"klingon\" is no label of the WHATWG Encoding standard that is read here"
            ),
            ("json(numbers: fast) -> json", "15: \"numbers\" is not \"fast\": only \"exact\" is known"),
            (
                "multipart -> json(order: sorted, files: base64)",
                "1: \"order\": files are written as they come, before the fields, so members can't be sorted"
            ),
            (
                "multipart -> json(files: {photo: {max: 1KiB}})",
                "1: \"files\" (\"photo\"): json has no files; say base64, object, drop or reject"
            ),
            (
                "multipart -> json(files: {photo: {do: base64, filename: x}})",
                "1: \"files\" (\"photo\"): json has no filenames and types of files"
            ),
        ])
    func mistakes(text: String, mistake: String) {
        #expect(mistakes(text) == [mistake])
    }

    @Test(
        "files come of values that stand in no JSON text",
        arguments: [
            "parts: {p: json}, files: {q.f: {from: base64}}", "parts: {p.q: json}, files: {p.f: {from: base64}}",
            "nesting: json, files: {f: {from: base64}}",
            "nesting: json, arrays: indices, files: {\"p[0]\": {from: base64}}",
            "arrays: json, files: {p.f: {from: base64}}", "arrays: json, files: {\"p.*\": {from: base64}}",
        ])
    func filesBesideJSON(options: String) {
        #expect(mistakes("json -> multipart(\(options))").isEmpty)
    }

    @Test("all mistakes of an expression are reported at once")
    func allMistakes() {
        #expect(
            mistakes("form(arays: auto, types: x) -> form(spaces: minus)") == [
                "6: the input has no key \"arays\": did you mean \"arrays\"?",
                "26: \"types\" is not \"x\": known are strings, safe",
                "45: \"spaces\" is not \"minus\": known are percent, plus",
            ])
    }

    @Test("a mistake in a route's expression has its place in the file")
    func places() {
        for (route, place) in [
            ("  - { name: a, match: /a, upstream: app, request: frm -> json }", "5:51"),
            ("  - { name: a, match: /a, upstream: app, request: \"frm -> json\" }", "5:52"),
            ("  - name: a\n    match: /a\n    upstream: app\n    request: \"form -> json(ordr: sorted)\"", "8:28"),
            ("  - name: a\n    match: /a\n    upstream: app\n    request: >\n      frm -> json", "8:14"),
            (
                "  - name: a\n    match: /a\n    upstream: app\n    request:\n      decode: multipart\n"
                    + "      encode: {as: json, order: sorted, files: base64}", "9:7"
            ),
        ] {
            let mistakes = SettingsTestFile.mistakesOfRoutes(route)
            #expect(mistakes.count == 1 && mistakes[0].hasPrefix(place + ": "), "\(mistakes)")
        }
    }
}
