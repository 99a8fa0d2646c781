import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// All rows of `form-decode-vectors.json`, each under the dialect of the library that it was taken from.
@Suite("Form decoding vectors")
struct FormDialectVectorTests {
    static let rows = formVectors("form-decode-vectors.json").map { Row($0) }

    /// A row, and the plan that reads its input as its source does.
    struct Row: Sendable, CustomTestStringConvertible {
        let id: String
        let source: String
        let input: [UInt8]
        let document: FormTestDocument

        init(_ document: FormTestDocument) {
            id = document["id"]!.text!
            source = document["source"]!.text!
            input = document["input"]!.bytes!
            self.document = document
        }

        var testDescription: String { id }

        /// The nearest dialect: Rails reads names with Rack's rules, Go reads pairs and refuses bad escapes.
        var plan: ConversionPlan {
            var plan = ConversionPlan(inputs: [.form], output: .json)
            switch source {
            case "qs": plan.fieldDecoding = .init(dialect: .qs)
            case "php": plan.fieldDecoding = .init(dialect: .php)
            case "rack", "rails": plan.fieldDecoding = .init(dialect: .rack)
            default: plan.fieldDecoding = .init(dialect: .whatwg)
            }
            if source == "go" {
                plan.fieldDecoding.percent = .strict
                plan.fieldDecoding.invalidUTF8 = .reject
                // A map of Go has no order; the vectors have it sorted.
                plan.fieldEncoding.order = .sorted
            }
            apply(&plan)
            return plan
        }

        /// The options of the library, as far as there is a word for them.
        private func apply(_ plan: inout ConversionPlan) {
            let options = document["options"]!
            func number(_ name: String) -> Int? { options[name].flatMap { Int($0.canonical) } }
            func isOn(_ name: String) -> Bool { options[name]?.canonical == "true" }
            if isOn("allowDots") { plan.fieldDecoding.nesting = .dots }
            if isOn("comma") { plan.fieldDecoding.arrays = .comma }
            if isOn("strictNullHandling") { plan.fieldDecoding.nulls = .key }
            if options["parseArrays"]?.canonical == "false" { plan.fieldDecoding.arrays = .brackets }
            switch options["duplicates"]?.text {
            case "first": plan.fieldDecoding.duplicates = .first
            case "last": plan.fieldDecoding.duplicates = .last
            default: break
            }
            if let depth = number("depth") ?? number("max_input_nesting_level") { plan.limits.keyDepth = depth }
            if let depth = number("param_depth_limit") { plan.limits.keyDepth = depth - 1 }
            if let fields = number("parameterLimit") ?? number("params_limit") { plan.limits.fields = fields }
            if let bytes = number("bytesize_limit") { plan.limits.body = bytes }
            if let parser = options["parser"]?.text, parser.hasPrefix("parse_query") {
                plan.fieldDecoding.nesting = .flat
                plan.fieldDecoding.duplicates = .array
            }
        }

        /// What the vector expects, as JSON: pairs and lists of values grouped by their names, one value by itself.
        var expected: String? {
            guard let expected = document["expect"] else { return nil }
            guard let shape = document["shape"]?.text else { return expected.json }
            var names: [String] = []
            var values: [String: [String]] = [:]
            func add(_ name: String, _ value: FormTestDocument) {
                if values[name] == nil { names.append(name) }
                values[name, default: []].append(value.json)
            }
            for pair in shape == "pairs" ? expected.elements : [] { add(pair.elements[0].json, pair.elements[1]) }
            for (name, list) in shape == "multimap" ? expected.members : [] {
                for value in list.elements { add(name.json, value) }
            }
            let members = names.map { name in
                let all = values[name]!
                return name + ":" + (all.count == 1 ? all[0] : "[" + all.joined(separator: ",") + "]")
            }
            return "{" + members.joined(separator: ",") + "}"
        }

        /// The codes that stand for what a library raises; nil where the row has a value.
        var errors: [String]? {
            guard let text = document["error"]?.text else { return nil }
            if text.contains("InvalidParameterError") { return ["!form_percent", "!form_invalid_utf8"] }
            if text.contains("ParameterTypeError") { return ["!form_conflict"] }
            if text.contains("QueryLimitError") || text.contains("TooDeep") { return ["!limit_key_depth"] }
            if text.contains("Parameter limit") { return ["!limit_fields"] }
            if text.contains("invalid URL escape") { return ["!form_percent"] }
            return []
        }
    }

    /// Rows that are not followed: what comes out instead, and why.
    static let others: [String: (String, Why)] = [
        "fd-rack-029": ("!form_invalid_utf8", .bytes), "fd-rack-030": ("!form_invalid_utf8", .bytes),
        "fd-rack-031": ("!form_invalid_utf8", .bytes), "fd-rack-171": ("!form_invalid_utf8", .bytes),
        "fd-php-029": ("!form_invalid_utf8", .bytes), "fd-php-031": ("!form_invalid_utf8", .bytes),
        "fd-php-037": ("!form_invalid_utf8", .bytes), "fd-php-171": ("!form_invalid_utf8", .bytes),
        "fd-go-013": ("!form_invalid_utf8", .bytes), "fd-go-015": ("!form_invalid_utf8", .bytes),
        "fd-php-177": ("!limit_key_depth", .limit), "fd-php-182": ("!limit_key_depth", .limit),
        "fd-go-004": (#"{"a;b":"c"}"#, .noDialect), "fd-go-005": (#"{"a":"1;b=2"}"#, .noDialect),
        "fd-rails-009": (#"{"a":[null]}"#, .noDialect), "fd-rails-010": (#"{"a":[null],"b":"1"}"#, .noDialect),
        "fd-rails-012": (#"{"a":{"b":[null]}}"#, .noDialect),
        // The rows were read without `allowPrototypes`, which Express sets.
        "fd-qs-156": (#"{"constructor":{"prototype":{"x":"1"}}}"#, .noWord("allowPrototypes")),
        "fd-qs-157": (#"{"toString":"x"}"#, .noWord("allowPrototypes")),
        "fd-qs-160": (#"{"a":{"constructor":"x"}}"#, .noWord("allowPrototypes")),
        "fd-qs-182": (#"{"a%2Eb":{"c":"d"}}"#, .noWord("decodeDotInKeys")),
        "fd-qs-192": (#"{"a":{"99":"x"}}"#, .noWord("arrayLimit")),
        "fd-qs-194": (#"{"a":{"100":"x"}}"#, .noWord("arrayLimit")),
        "fd-qs-202": (#"{"a":["b","c"]}"#, .noWord("allowSparse")),
        "fd-qs-209": (#"{"a":[{"b":"1"},"2"]}"#, .noWord("strictMerge")),
        "fd-qs-213": (#"{"a":[""],"b":"1"}"#, .noWord("allowEmptyArrays")),
        "fd-qs-218": (##"{"a":"&#9786;"}"##, .noWord("interpretNumericEntities")),
        "fd-qs-220": (##"{"utf8":"&#10003;","a":"ø"}"##, .noWord("charsetSentinel")),
        "fd-qs-221": (#"{"a":"ø","utf8":"✓"}"#, .noWord("charsetSentinel")),
        "fd-qs-222": (#"{"a":"b;c=d"}"#, .noWord("delimiter")),
        "fd-qs-223": (#"{"?a":"b"}"#, .noWord("ignoreQueryPrefix")),
        "fd-qs-229": ("{}", .emptied),
        "fd-rack-184": (#"{"a":"1;b=2"}"#, .noWord("separator")),
        "fd-php-180": (#"{"a":"1;b=2"}"#, .noWord("arg_separator.input")),
    ]

    enum Why {
        /// The library hands on bytes that are not UTF-8, which no text of JSON can hold (RFC 8259 §8.1).
        case bytes
        /// The library leaves out in silence what passes a limit of its own.
        case limit
        /// The source has no dialect: Go's `;` is an error, Rails makes `[]` of `[nil]` after Rack has read.
        case noDialect
        /// An option of the library that Recast has no word for.
        case noWord(String)
        /// qs leaves an empty object where it has not set `__proto__`; Recast leaves the field out.
        case emptied
    }

    @Test("no row falls out: 558 are followed, 34 are listed")
    func counts() {
        #expect(Self.rows.count == 592 && Set(Self.rows.map(\.id)).count == 592)
        #expect(Self.others.count == 34 && Set(Self.others.keys).isSubset(of: Self.rows.map(\.id)))
        var sources: [String: Int] = [:]
        for row in Self.rows { sources[row.source, default: 0] += 1 }
        #expect(
            sources == ["qs": 159, "whatwg": 132, "rack": 126, "php": 125, "go": 29, "rails": 11, "wpt": 10])
    }

    @Test("each row gives what its library reads, members in its order, or is listed", arguments: rows)
    func row(_ row: Row) {
        let run = ConversionRun.run(row.plan, .whole(row.input))
        #expect(run.violations.isEmpty)
        let result = run.failure.map { "!" + $0.code } ?? run.result
        if let (output, _) = Self.others[row.id] {
            #expect(result == output)
            #expect(result != row.expected && row.errors?.contains(result) != true, "the row is followed after all")
        } else if let errors = row.errors {
            #expect(errors.contains(result), "\(result)")
        } else {
            #expect(result == row.expected)
        }
    }

    @Test("each row gives the same however it is cut", arguments: rows)
    func cuts(_ row: Row) {
        let whole = ConversionRun.run(row.plan, .whole(row.input))
        for cut in Recut.cuts(of: row.input, splits: 60) {
            let run = ConversionRun.run(row.plan, cut)
            #expect(run.result == whole.result && run.accounting == whole.accounting, "\(cut)")
        }
    }

    @Test("rows of pairs give these pairs, order and repetition kept", arguments: rows.filter { $0.isPairs })
    func pairs(_ row: Row) {
        let recording = decodeForm(row.input, options: row.plan.fieldDecoding)
        #expect(recording.failure == nil && recording.violations.isEmpty)
        let read = recording.parts.map { [FormTestDocument.json(of: $0.name), FormTestDocument.json(of: $0.content)] }
        // A recorder doesn't tell a field without a value from one with an empty value.
        let expected = row.document["expect"]!.elements.map { pair in
            [pair.elements[0].json, pair.elements[1].canonical == "null" ? "\"\"" : pair.elements[1].json]
        }
        #expect(read == expected)
    }

    @Test("what the libraries leave out by a rule is counted")
    func dropped() {
        let count = { (id: String) in
            Self.rows.first { $0.id == id }.map { ConversionRun.run($0.plan, .whole($0.input)).accounting.removed }
        }
        // A name that is empty, cut to nothing or `__proto__`; a later value that overwrites.
        #expect(count("fd-qs-153") == 1 && count("fd-qs-154") == 1 && count("fd-php-005") == 1)
        #expect(count("fd-php-119") == 2 && count("fd-php-098") == 1 && count("fd-rack-044") == 2)
        #expect(count("fd-php-097") == 1 && count("fd-rack-112") == 1 && count("fd-rack-049") == 0)
    }
}

extension FormDialectVectorTests.Row {
    fileprivate var isPairs: Bool { document["shape"]?.text == "pairs" }
}

extension FormTestDocument {
    /// The document as Recast writes JSON.
    fileprivate var json: String {
        var encoder = JSON.Encoder(options: .init())
        try! send(into: &encoder)
        return encoder.output.span.lossyString()
    }

    fileprivate static func json(of text: ByteString) -> String {
        var encoder = JSON.Encoder(options: .init())
        encoder.string(text.bytes.span, isLast: true)
        return encoder.output.span.lossyString()
    }
}
