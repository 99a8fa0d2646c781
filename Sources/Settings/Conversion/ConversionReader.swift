internal import Transcoding

/// Reads the two sides of a conversion with their options into a plan.
struct ConversionReader {
    let context: ReadingContext

    /// The options of one side and the encodings each is for.
    typealias OptionTable = [(name: String, encodings: Set<BodyEncoding>)]

    private static let fieldFormats: Set<BodyEncoding> = [.form, .multipart]
    private static let propertyLists: Set<BodyEncoding> = [.plist, .bplist]
    private static let wholeFormats = Set(BodyEncoding.allCases.filter(\.isWhole))
    private static let structuredFormats = Set(BodyEncoding.allCases).subtracting(wholeFormats)

    static let inputOptions: OptionTable =
        [
            ("dialect", fieldFormats), ("arrays", fieldFormats), ("nesting", fieldFormats), ("types", fieldFormats),
            ("duplicates", structuredFormats.subtracting([.xml])), ("malformed_key", fieldFormats),
            ("percent", [.form]),
            ("nulls", [.form]),
            ("invalid_utf8", fieldFormats), ("charset", fieldFormats), ("numbers", [.json]),
            ("charset_hint", fieldFormats), ("transfer_encoding", [.multipart]), ("mixed_parts", [.multipart]),
            ("json_parts", [.multipart]), ("file_types", [.multipart]),
            ("filenames", structuredFormats.subtracting([.form])),
            ("files", structuredFormats.union([.raw])), ("field", wholeFormats),
            ("document", structuredFormats), ("rest", structuredFormats),
            ("non_finite", propertyLists),
        ] + XMLOptionReader.inputWords.map { ($0, [.xml]) }

    static let outputOptions: OptionTable =
        [
            ("dialect", fieldFormats), ("arrays", fieldFormats), ("nesting", fieldFormats),
            ("nulls", fieldFormats.union(propertyLists).union([.xml, .text])),
            ("empties", fieldFormats.union([.xml])), ("booleans", structuredFormats.union(wholeFormats)),
            ("parts", fieldFormats), ("spaces", [.form]), ("order", structuredFormats),
            ("numbers", [.json]), ("files", Set(BodyEncoding.allCases)), ("filenames", [.multipart]),
            ("remove_nulls", structuredFormats.union(wholeFormats)), ("field", wholeFormats),
            ("large_integers", propertyLists), ("date_fractions", propertyLists),
        ] + XMLOptionReader.outputWords.map { ($0, [.xml]) }

    /// The target's query: read and written as a form.
    private static let query = "query"
    /// All that can be written as a side: the encodings, and what else is one.
    static let words = BodyEncoding.allCases.map(\.rawValue) + ["auto", query]

    /// The plan of a conversion with the standard limits; nil when an encoding can't be told.
    func plan(decode: ConversionSide, encode: ConversionSide) -> ConversionPlan? {
        let inputs = inputs(decode)
        guard let output = output(encode), let inputs else { return nil }
        var plan = ConversionPlan(inputs: inputs, output: output)
        if encode.encoding == "auto" { plan.outputWithoutFiles = .form }
        plan.readsQuery = decode.encoding == Self.query
        plan.writesQuery = encode.encoding == Self.query
        if plan.readsQuery, plan.writesQuery {
            context.report(
                encode.position, "\"query -> query\" converts nothing: remove \"request\", or write a body's encoding")
        }
        let failures = context.failures
        let places = [decode, encode].map { side in side.options.remaining.first { $0.key == "filenames" }?.position }
        decode.options.record("as", decode.encoding, origin(decode))
        readInput(decode, &plan)
        encode.options.record("as", encode.encoding, origin(encode))
        readOutput(encode, &plan)
        if context.failures == failures { checkFilenames(plan, read: places[0], written: places[1]) }
        return plan
    }

    /// Reports "filenames" where no file can have a name.
    private func checkFilenames(
        _ plan: ConversionPlan, read: SettingsNode.Position?, written: SettingsNode.Position?
    ) {
        let rules = plan.files
        if let read, !plan.inputs.contains(.multipart), !rules.contains(where: \.takesFilename) {
            context.report(
                read, "\"filenames\" is about files that come with a name: declare one, as in files: {photo: object}")
        }
        let makesFiles = plan.inputs.contains { input in rules.contains { $0.source(from: input) != nil } }
        if let written, !makesFiles, !plan.inputs.contains(where: \.hasFiles) {
            context.report(
                written, "\"filenames\" is about files that go out: declare one, as in files: {photo: base64}")
        }
    }

    private func origin(_ side: ConversionSide) -> EffectiveValue.Origin { .line(side.position.line) }

    // MARK: - Encodings

    private func inputs(_ side: ConversionSide) -> [BodyEncoding]? {
        if side.encoding == "auto" { return BodyEncoding.structured }
        return encoding(side).map { [$0] }
    }

    private func output(_ side: ConversionSide) -> BodyEncoding? {
        // Multipart with a file, and `without_files` says what else.
        if side.encoding == "auto" { return .multipart }
        return encoding(side)
    }

    private func encoding(_ side: ConversionSide) -> BodyEncoding? {
        if let encoding = BodyEncoding(rawValue: side.encoding) { return encoding }
        if side.encoding == Self.query { return .form }
        let hint = NearestWord.hint(for: side.encoding, among: Self.words)
        context.report(side.position, "there is no encoding \"\(side.encoding)\": \(hint)")
        return nil
    }

    // MARK: - Options

    private func readInput(_ side: ConversionSide, _ plan: inout ConversionPlan) {
        let options = side.options
        let inputs = Set(plan.inputs)
        refuse(Self.inputOptions, other: Self.outputOptions, options, inputs, "input")
        if !inputs.isDisjoint(with: Self.fieldFormats) {
            var fields = decodingDialect(options)
            options.word("arrays", into: &fields.arrays)
            options.word("nesting", into: &fields.nesting)
            options.word("types", into: &fields.types)
            options.word("malformed_key", into: &fields.malformedKey)
            options.word("invalid_utf8", into: &fields.invalidUTF8)
            if inputs.contains(.form) {
                options.word("percent", into: &fields.percent)
                options.word("nulls", into: &fields.nulls, among: [.empty, .key])
            }
            readParts(options, inputs, &fields)
            plan.fieldDecoding = fields
        }
        if inputs.contains(where: { $0 != .form && Self.structuredFormats.contains($0) }) {
            options.word("filenames", into: &plan.fieldDecoding.filenames)
        }
        if inputs.contains(.json) { readNumbers(options) }
        if !inputs.isDisjoint(with: Self.structuredFormats.subtracting([.xml])) {
            readDuplicates(options, inputs, &plan)
        }
        if !inputs.isDisjoint(with: Self.propertyLists) {
            options.word("non_finite", into: &plan.propertyListDecoding.nonFiniteReals)
        }
        if inputs.contains(.xml) { XMLOptionReader(context: context).input(options, &plan.xmlDecoding) }
        if !inputs.isDisjoint(with: Self.wholeFormats) { plan.inputField = field(options) }
        if !inputs.isDisjoint(with: Self.structuredFormats) { readDocument(options, &plan) }
        let hasFiles = inputs.contains(where: \.hasFiles)
        let policies = hasFiles ? FilePolicy.allCases.filter { $0 != .object || plan.output.hasObjects } : []
        options.offer(
            "files", policies.isEmpty ? nil : policies.map(\.rawValue),
            standard: hasFiles ? plan.fieldDecoding.files.rawValue : nil)
        if let policy = FileRuleReader(context: context).read(options, policies, "the \(side.encoding) input", &plan) {
            plan.fieldDecoding.files = policy
        }
        options.finish()
    }

    private func readOutput(_ side: ConversionSide, _ plan: inout ConversionPlan) {
        let options = side.options
        let output = plan.output
        readWithoutFiles(options, &plan)
        let outputs = Set([output] + [plan.outputWithoutFiles].compactMap { $0 })
        refuse(Self.outputOptions, other: Self.inputOptions, options, outputs, "output")
        // Whether they can do anything is known when `map` and `fields` are read as well.
        context.idleOptions = IdleOption.allCases.compactMap { option in
            options.remaining.first { $0.key == option.rawValue }.map { (option, $0.position) }
        }
        var fields = plan.fieldEncoding
        if Self.fieldFormats.contains(output) {
            fields = readOutputDialect(options)
            let arrays = options.word("arrays", standard: fields.arrays)
            let nesting = options.word("nesting", standard: fields.nesting)
            // What is written down is done, also where it says what the dialect does by itself.
            if arrays != nil || nesting != nil { plan.rewritesNames = true }
            fields.arrays = arrays ?? fields.arrays
            fields.nesting = nesting ?? fields.nesting
            // A part of a multipart body has no form without a value, as `a` is in `a&b=1`.
            let nulls = NullStyle.allCases.filter { $0 != .key || output == .form }
            fields.nulls = options.word("nulls", standard: fields.nulls, among: nulls) ?? fields.nulls
            options.word("empties", into: &fields.empties)
            if output == .multipart { options.word("filenames", into: &fields.filenames) }
            readJSONParts(options, &plan)
        }
        if output == .text {
            let nulls = NullStyle.allCases.filter { $0 != .key && $0 != .omit }
            fields.nulls = options.word("nulls", standard: fields.nulls, among: nulls) ?? fields.nulls
        }
        if Self.propertyLists.contains(output) { readPropertyList(options, &plan) }
        if output == .xml { XMLOptionReader(context: context).output(options, &plan.xmlEncoding) }
        if Self.wholeFormats.contains(output) { plan.outputField = field(options) }
        options.word("booleans", into: &fields.booleans)
        if !Self.wholeFormats.contains(output) {
            options.word("order", into: &fields.order)
        }
        if outputs.contains(.form) { options.word("spaces", into: &fields.spaces) }
        if outputs.contains(.json) { readNumbers(options) }
        plan.fieldEncoding = fields
        plan.removeNulls = options.nullRemoval(context) ?? plan.removeNulls
        // Only multipart has files; elsewhere they are text or nothing.
        let policies = FilePolicy.allCases.filter {
            switch $0 {
            case .stream: output.hasFiles
            case .object: output.hasObjects
            case .base64, .drop, .reject: true
            }
        }
        let words = plan.inputs.contains(where: \.hasFiles) ? policies.map(\.rawValue) : nil
        options.offer("files", words, standard: output.hasFiles ? fields.files.rawValue : nil)
        if let policy = FileRuleReader(context: context).read(options, policies, "\(side.encoding) output", &plan) {
            plan.fieldEncoding.files = policy
        }
        options.finish()
    }

    /// Refuses the options that are not for the encodings of this side.
    private func refuse(
        _ own: OptionTable, other: OptionTable, _ options: SectionReader, _ encodings: Set<BodyEncoding>, _ side: String
    ) {
        if let catalog = context.catalog {
            for option in own where option.encodings.isDisjoint(with: encodings) {
                catalog.refuse(options.path, option.name)
            }
        }
        // Most conversions are written as one word, and have none.
        guard !options.remaining.isEmpty else { return }
        func words(_ encodings: Set<BodyEncoding>) -> String {
            BodyEncoding.allCases.filter(encodings.contains).map(\.rawValue).joined(separator: " and ")
        }
        for option in own where option.encodings.isDisjoint(with: encodings) {
            options.refuse(option.name, "is for \(words(option.encodings)) \(side) only")
        }
        for option in other where !own.contains(where: { $0.name == option.name }) {
            options.refuse(
                option.name, "is not an option of the \(side) but of the \(side == "input" ? "output" : "input")")
        }
    }

    private func readPropertyList(_ options: SectionReader, _ plan: inout ConversionPlan) {
        var list = plan.propertyListEncoding
        list.nulls = options.word("nulls", standard: list.nulls, among: [.reject, .omit, .empty]) ?? list.nulls
        options.word("large_integers", into: &list.largeIntegers)
        options.word("date_fractions", into: &list.dateFractions)
        plan.propertyListEncoding = list
    }

    /// The name of the one field that a whole body is.
    private func field(_ options: SectionReader) -> String? {
        guard let node = options.take("field"), let name = context.text(node, "\"field\"") else { return nil }
        options.record("field", name, .line(node.position.line))
        return name
    }

    /// The field whose JSON text is the document, and what happens to the others.
    private func readDocument(_ options: SectionReader, _ plan: inout ConversionPlan) {
        options.offer("rest", DocumentRule.Rest.allCases.map(\.rawValue), standard: DocumentRule.Rest.reject.rawValue)
        guard let node = options.take("document") else {
            options.refuse("rest", "says what happens to the fields beside \"document\", which isn't there")
            return
        }
        guard let path = context.fieldPath(node, "\"document\"") else { return }
        options.record("document", path.description, .line(node.position.line))
        var rule = DocumentRule(path)
        options.word("rest", into: &rule.rest)
        plan.document = rule
    }

    /// An option that has one value.
    private func readNumbers(_ options: SectionReader) {
        options.offer("numbers", ["exact"], standard: "exact")
        if let node = options.take("numbers") { _ = context.word(node, "\"numbers\"", among: ["exact"]) }
    }

    /// Fields join to arrays and JSON members may stay double; the other words are for both.
    private func readDuplicates(_ options: SectionReader, _ inputs: Set<BodyEncoding>, _ plan: inout ConversionPlan) {
        let readsFields = !inputs.isDisjoint(with: Self.fieldFormats)
        let readsJSON = inputs.contains(where: { !$0.isFlat })
        let words = DuplicatePolicy.allCases.filter {
            switch $0 {
            case .array: readsFields
            case .keep: readsJSON
            case .first, .last, .reject: true
            }
        }
        let standard = readsFields ? plan.fieldDecoding.duplicates : plan.output == .json ? .keep : .reject
        guard let policy = options.word("duplicates", standard: standard, among: words) else { return }
        if policy == .keep, plan.output != .json {
            context.report(options.position, "\"duplicates: keep\" is for JSON output only")
        }
        if policy != .keep { plan.fieldDecoding.duplicates = policy }
        if policy != .array { plan.jsonDuplicates = policy }
    }
}

extension ConversionReader {
    /// The options that the input's `dialect` stands for; those that are written down change them.
    func decodingDialect(_ options: SectionReader) -> FieldDecodingOptions {
        FieldDecodingOptions(dialect: options.word("dialect", standard: Dialect.recast) ?? .recast)
    }
}
