import TestSupport
import Testing

@testable import Transcoding

/// What notes say of an output is what the pipelines do: documents of every kind go through every output and option there is,
/// are read back, and the notes of what they have must say what became of them.
@Suite struct ConversionNoteProbeTests {
    /// A document with what it has that an output may not carry.
    struct Document: Sendable {
        enum Place: Sendable { case document, members, value }

        var text: String
        var place: Place
        var traits: [DocumentTrait]
        /// The traits and those that they are made of.
        var allTraits: [DocumentTrait]
        /// What an input must be able to say so that the document can come in.
        var features: InputFeatures

        private init(_ text: String, _ place: Place, _ traits: [DocumentTrait]) {
            self.text = text
            self.place = place
            self.traits = traits
            var all = traits
            var at = 0
            while at < all.count {
                all += all[at].row.parts.filter { !all.contains($0) }
                at += 1
            }
            allTraits = all
            features = all.reduce(into: []) { $0.formUnion($1.row.requires) }
        }

        static func value(_ text: String, _ traits: DocumentTrait...) -> Document {
            Document(text, .value, traits)
        }
        static func members(_ text: String, _ traits: DocumentTrait...) -> Document {
            Document(text, .members, traits)
        }
        static func whole(_ text: String, _ traits: DocumentTrait...) -> Document {
            Document(text, .document, traits)
        }

        /// The text of the whole document.
        func text(for plan: ConversionPlan) -> String {
            switch (place, plan.output) {
            case (.value, .xml): "{\"doc\":{\"k\":\(text)}}"
            case (.members, .xml): "{\"doc\":\(text)}"
            case (.value, .text) where plan.outputField == nil: text
            case (.value, _): "{\"k\":\(text)}"
            case (.members, _), (.document, _): text
            }
        }
    }

    /// An output with the options that were set, and of which features they are.
    struct Output: Sendable {
        var plan: ConversionPlan
        var concerns: InputFeatures = []

        /// This output with each value of one more option: the first is the one that it has.
        static func each<Value>(
            _ outputs: [Output], _ values: [Value], of features: InputFeatures = [],
            _ set: (inout ConversionPlan, Value) -> Void
        ) -> [Output] {
            outputs.flatMap { output in
                values.map { value in
                    var changed = output
                    set(&changed.plan, value)
                    if changed.plan != output.plan { changed.concerns.formUnion(features) }
                    return changed
                }
            }
        }

        func isConcerned(by document: Document) -> Bool {
            concerns.isEmpty || document.features.isSuperset(of: concerns)
        }
    }

    static let documents: [Document] = [
        .value(#""text""#), .value("null", .null), .value(#""""#, .emptyText), .value(#"",""#, .comma),
        .value(#""p,""#, .comma), .value(#""[1,2]""#, .arrayText, .comma), .value(##""{\"p\":1}""##, .objectText),
        .value(##""\u0007""##, .control), .value(##""\u0000""##, .nul), .value("\"\u{FFFF}\"", .nonCharacter),
        .value(##""\r""##, .lineEnds), .value(##""\n\n""##, .lineEnds, .space), .value(##""\t p ""##, .space),
        .value("7", .number), .value("-3.25", .fraction), .value("0.30", .writtenFraction), .value("2E+3", .exponent),
        .value("1.2345678901234567890", .longReal), .value("-9223372036854775809", .largeInteger),
        .value("-1e4000", .hugeReal), .value("-0", .negativeZero), .value("false", .boolean),

        .value("[]", .emptyArray), .value(#"["p","q","r"]"#, .array), .value(#"["p"]"#, .arrayOfOne),
        .value(#"["q","r","p"]"#, .unsortedArray), .value(texts(15), .tenElements), .value(texts(40), .thirtyElements),
        .value(#"["p","q",null]"#, .nullInArray), .value(#"[null,"p","q"]"#, .nullInArray),
        .value("[null,null]", .arrayOfNulls), .value(#"["","p"]"#, .emptyTextInArray),
        .value(#"[""]"#, .emptyTextAlone), .value(#"["p","q,r"]"#, .commaInArray),
        .value(#"[["p"],[]]"#, .emptyArrayInArray), .value(#"[{},{"p":"q"}]"#, .emptyObjectInArray),
        .value(#"[["p","q"],["r","s"],["t","u"]]"#, .nestedArrays),
        .value(#"[[["p","q"]]]"#, .nestedArrays, .arrayOfOne),
        .value(#"[{"p":"1","q":"2"},{"p":"3","q":"4"},{"p":"5","q":"6"}]"#, .objectsInArray),
        .value(#"[{"p":"1","q":"2"},{"p":"3"},{"q":"4"}]"#, .unlikeObjects),
        .value(#"["1","2",{"p":"3"}]"#, .mixedObjects), .value(#"["1",["2","3"]]"#, .mixedArrays),
        .value(#"[{"p":"1"},"2"]"#, .objectsThenTexts),
        .value(#"[{"p":["1","2"]},{"p":["3","4"]}]"#, .arraysInObjects),

        .value("{}", .emptyObject), .value(#"{"p":{"q":"1"}}"#, .object),
        .value(#"{"p":{"q":{"r":{"s":{"t":{"u":{"v":{"w":"1"}}}}}}}}"#, .deepObject),
        .value(#"{"0":"p","1":"q","2":"r"}"#, .numberedKeys), .value(#"{"7":"p","9":"q"}"#, .gappedKeys),
        .value(#"{"0":"p","q":"r"}"#, .numberAmongKeys),

        .members(#"{"p[q]":"1"}"#, .brackets), .members(#"{"p[]":"1"}"#, .brackets),
        .members(#"{"p[q":"1"}"#, .openBracket), .members(#"{"p.q":"1"}"#, .dot),
        .members(#"{"p":{"q[r]":"1"}}"#, .bracketsBelow), .members(#"{"p":{"q.r":"1"}}"#, .dotBelow),
        .members(#"{"p":"1","":"2"}"#, .emptyName), .members(#"{"p":{"":"1"}}"#, .emptyNameBelow),
        .members(#"{"p q":"1"}"#, .spaceInName), .members(#"{" p":"1"}"#, .spaceBeforeName),
        .members(##"{"p\u0000":"1"}"##, .nulInName), .members(##"{"p":{"q\u0000r":"1"}}"##, .nulInNameBelow),
        .members(##"{"\u0007p":"1"}"##, .controlInName), .members(##"{"p%0D%0A":"1"}"##, .escapeInName),
        .members(##"{"p\nq":"1"}"##, .lineEndInName), .members(##"{"p\r\nq":"1"}"##, .digitName),
        .members(#"{"__proto__":"1"}"#, .protoName),
        .members(#"{"2nd":"1"}"#, .digitName), .members(#"{"p:q":"1"}"#, .colonName),
        .members("{\"" + String(repeating: "p", count: 260) + "\":\"1\"}", .longName),
        .members(#"{"p&q=r":"1"}"#, .digitName),
        .members(##"{"#text":"1"}"##, .textMember), .members(##"{"p":"1","#text":"2"}"##, .textBeside),
        .members(##"{"#text":["1","2"]}"##, .textContainer), .members(#"{"p":"1","@q":"2"}"#, .lateAttribute),
        .members(#"{"@p":["1","2"]}"#, .attributeContainer), .members(#"{"@p":null,"q":"1"}"#, .attributeNull),

        .whole(#"{"p":"1","q":"2","r":"3"}"#, .severalFields), .whole(#"{"p":["1","2"]}"#, .memberArray),
        .whole(#"{"@p":"1"}"#, .memberAttribute), .whole("{}", .emptyDocument),
        .whole(#"["p","q","r"]"#, .documentArray),
        .whole(#"[["p","1"],["q","2"]]"#, .documentPairs), .whole(#""p""#, .documentScalar),
        .whole("null", .documentNull),
    ]

    private static func texts(_ count: Int) -> String {
        "[" + (0..<count).map { "\"p\(10 + $0)\"" }.joined(separator: ",") + "]"
    }

    // MARK: Outputs

    /// Form and multipart in a dialect.
    static func fields(_ dialect: Dialect, _ output: BodyEncoding) -> [Output] {
        var plan = ConversionPlan(inputs: [.json], output: output)
        plan.fieldEncoding = FieldEncodingOptions(dialect: dialect)
        var outputs = [Output(plan: plan)]
        // Names and texts are those of a form: what they are made of needs no second look.
        let arrays = output == .form ? ArrayStyle.allCases : [plan.fieldEncoding.arrays]
        outputs = Output.each(outputs, arrays) { $0.fieldEncoding.arrays = $1 }
        outputs = Output.each(outputs, NestingStyle.allCases) { $0.fieldEncoding.nesting = $1 }
        outputs = Output.each(outputs, NullStyle.allCases, of: .nulls) { $0.fieldEncoding.nulls = $1 }
        let empties = Output.each(outputs, EmptyStyle.allCases, of: .emptyArrays) { $0.fieldEncoding.empties = $1 }
        let others = Output.each(outputs, EmptyStyle.allCases, of: .emptyObjects) { $0.fieldEncoding.empties = $1 }
        outputs = empties + others.filter { $0.concerns.contains(.emptyObjects) }
        return Output.each(outputs, BooleanStyle.allCases, of: .booleans) { $0.fieldEncoding.booleans = $1 }
    }

    static let documentOutputs: [Output] = {
        func plans(_ output: BodyEncoding) -> [Output] {
            [Output(plan: ConversionPlan(inputs: [.json], output: output))]
        }
        var all: [Output] = []
        var xml = Output.each(plans(.xml), [.auto, .wrap, .member]) { $0.xmlEncoding.root = $1 }
        xml = Output.each(xml, XML.EncodingOptions.Nulls.allCases, of: .nulls) { $0.xmlEncoding.nulls = $1 }
        xml = Output.each(xml, EmptyStyle.allCases, of: .emptyArrays) { $0.xmlEncoding.empties = $1 }
        xml = Output.each(xml, [.reject, .item], of: .freeNames) { $0.xmlEncoding.names = $1 }
        xml = Output.each(xml, [.refuse, .join]) { $0.xmlEncoding.mixed = $1 }
        all += Output.each(xml, BooleanStyle.allCases, of: .booleans) { $0.fieldEncoding.booleans = $1 }
        let lossless = Output.each(plans(.xml), [.lossless]) { $0.xmlEncoding.convention = $1 }
        all += Output.each(lossless, BooleanStyle.allCases, of: .booleans) { $0.fieldEncoding.booleans = $1 }
        var lists = Output.each(plans(.plist) + plans(.bplist), [.reject, .omit, .empty], of: .nulls) {
            $0.propertyListEncoding.nulls = $1
        }
        lists = Output.each(lists, PropertyList.LargeIntegers.allCases, of: .numbers) {
            $0.propertyListEncoding.largeIntegers = $1
        }
        all += Output.each(lists, BooleanStyle.allCases, of: .booleans) { $0.fieldEncoding.booleans = $1 }
        all += Output.each(plans(.json), BooleanStyle.allCases) { $0.fieldEncoding.booleans = $1 }
        var texts = Output.each(plans(.text), [nil, "k"]) { $0.outputField = $1 }
        texts = Output.each(texts, [.empty, .literal, .reject], of: .nulls) { $0.fieldEncoding.nulls = $1 }
        all += Output.each(texts, BooleanStyle.allCases, of: .booleans) { $0.fieldEncoding.booleans = $1 }
        return all + Output.each(plans(.raw), [nil, "k"]) { $0.outputField = $1 }
    }()

    // MARK: What happens

    enum Result: Equatable {
        case carried, refused, altered
        /// A rule left something out; what else came back otherwise isn't told apart.
        case omitted
    }

    /// A plan that reads what `plan` wrote, by the options that it was written with.
    static func reader(of plan: ConversionPlan) -> ConversionPlan {
        var reader = ConversionPlan(inputs: [plan.output], output: .json)
        reader.fieldEncoding.order = .sorted
        let own = FieldEncodingOptions(dialect: plan.fieldEncoding.dialect)
        reader.fieldDecoding = FieldDecodingOptions(dialect: plan.fieldEncoding.dialect)
        if plan.fieldEncoding.arrays != own.arrays { reader.fieldDecoding.arrays = plan.fieldEncoding.arrays }
        if plan.fieldEncoding.nesting != own.nesting { reader.fieldDecoding.nesting = plan.fieldEncoding.nesting }
        reader.xmlDecoding.convention = plan.xmlEncoding.convention
        reader.xmlDecoding.mixed = plan.xmlEncoding.mixed
        if plan.xmlEncoding.root == .wrap { reader.xmlDecoding.root = .drop }
        if plan.xmlEncoding.nulls == .nilAttribute { reader.xmlDecoding.recognize = .nulls }
        reader.inputField = plan.outputField
        return reader
    }

    /// An output and its reader, for one document after the other.
    struct Pipelines {
        private let plan: ConversionPlan
        let writing: Conversion
        /// Nil where a file of its own goes out, which has nothing to read but its bytes.
        private let reading: Conversion?

        init(_ plan: ConversionPlan) throws {
            self.plan = plan
            writing = try Conversion.make(plan: plan, contentType: "application/json")
            let type = ConversionRun.defaultType(plan.output)
            reading = plan.output == .raw ? nil : try Conversion.make(plan: reader(of: plan), contentType: type)
        }

        /// What becomes of a document, which in `sorted` has its members in order, and what is seen of that.
        func result(_ document: [UInt8], sorted: [UInt8]) -> (Result, String) {
            let body: [UInt8]
            do throws(ConversionError) {
                body = try Self.convert(writing, document, type: "application/json")
            } catch {
                return (.refused, error.code)
            }
            let isReduced = writing.accounting.removed > 0
            guard let reading else { return (isReduced ? .omitted : .carried, "") }
            do throws(ConversionError) {
                let type = String(decoding: writing.contentType, as: UTF8.self)
                let back = try Self.convert(reading, body, type: type)
                let result: Result = back == sorted ? .carried : isReduced ? .omitted : .altered
                return (result, result == .carried ? "" : String(decoding: body + back, as: UTF8.self))
            } catch {
                return (.altered, error.code)
            }
        }

        static func convert(
            _ conversion: Conversion, _ body: [UInt8], type: String = "application/json"
        ) throws(ConversionError) -> [UInt8] {
            try conversion.restart(contentType: type.utf8Span.span, sources: [])
            return try conversion.convert(body) + conversion.convertEnd()
        }
    }

    // MARK: The tests

    @Test(
        "notes on forms and multipart bodies say what becomes of documents", arguments: Dialect.allCases,
        [BodyEncoding.form, .multipart])
    func fields(dialect: Dialect, output: BodyEncoding) throws { try Self.check(Self.fields(dialect, output)) }

    @Test("notes on documents, texts and files say what becomes of documents")
    func documents() throws { try Self.check(Self.documentOutputs) }

    static let inputs: [ConversionPlan] = {
        var inputs = Dialect.allCases.map { dialect in
            var plan = ConversionPlan(inputs: [.json], output: .form)
            plan.fieldEncoding = FieldEncodingOptions(dialect: dialect)
            return plan
        }
        inputs += [.multipart, .plist, .bplist, .xml, .text].map { ConversionPlan(inputs: [.json], output: $0) }
        var lossless = ConversionPlan(inputs: [.json], output: .xml)
        lossless.xmlEncoding.convention = .lossless
        return inputs + [lossless]
    }()

    @Test("what another input than JSON says is carried, or there is a note", arguments: inputs)
    func input(_ plan: ConversionPlan) throws {
        let first = try Pipelines(plan)
        let outputs = BodyEncoding.allCases.filter { $0 != .raw && !($0.isFlat && plan.output == .text) }
        for output in outputs {
            var second = ConversionPlan(inputs: [plan.output], output: output)
            let reader = Self.reader(of: plan)
            second.fieldDecoding = reader.fieldDecoding
            second.xmlDecoding = reader.xmlDecoding
            let notes = second.notes()
            var back = Self.reader(of: second)
            // Names that pass as they came are read as they were.
            if second.passesFields { back.fieldDecoding = reader.fieldDecoding }
            for document in Self.documents {
                // What the input makes of the document is what it says.
                guard let body = try? Pipelines.convert(first.writing, Array(document.text(for: plan).utf8)) else {
                    continue
                }
                let type = first.writing.contentType
                let said = try Self.whole(reader, body, type: type).body
                // Before flat output the root of a form stays an object, whatever its names are: docs/dialects.md.
                if output.isFlat, said.first == UInt8(ascii: "[") { continue }
                let isSaid: Bool
                do throws(ConversionError) {
                    let written = try Self.whole(second, body, type: type)
                    let read = try? Self.whole(back, written.body, type: written.type)
                    isSaid = read?.body == said || notes.contains { $0.outcome != .refused }
                } catch {
                    isSaid = notes.contains { $0.outcome == .refused }
                }
                #expect(isSaid, "\(document.text) by \(plan.output) to \(output)")
            }
        }
    }

    private static func whole(
        _ plan: ConversionPlan, _ body: [UInt8], type: [UInt8]
    ) throws(ConversionError) -> (body: [UInt8], type: [UInt8]) {
        let conversion = try Conversion.make(plan: plan, contentType: type.span)
        return (try conversion.convert(body) + conversion.convertEnd(), conversion.contentType)
    }

    private static func check(_ outputs: [Output]) throws {
        var order = ConversionPlan(inputs: [.json], output: .json)
        order.fieldEncoding.order = .sorted
        let sorting = try Conversion.make(plan: order, contentType: "application/json")
        var sorted: [String: [UInt8]] = [:]
        var faults: [String: (count: Int, first: String)] = [:]
        for (number, output) in outputs.enumerated() {
            let tried = documents.enumerated().filter { tries(number: number + $0.offset) }.map(\.element)
            let concerned = tried.filter { output.isConcerned(by: $0) }
            if concerned.isEmpty { continue }
            let plan = output.plan
            let pipelines = try Pipelines(plan)
            var writer = NoteWriter(plan: plan)
            var all: [ConversionNote]?
            for document in concerned {
                let text = document.text(for: plan)
                let body = Array(text.utf8)
                if sorted[text] == nil {
                    sorted[text] = try Pipelines.convert(sorting, body, type: "application/json")
                }
                let (result, seen) = pipelines.result(body, sorted: sorted[text] ?? [])
                var notes: [ConversionNote] = []
                // What a document is made of may be altered by itself and carried in it.
                for trait in result == .carried ? document.traits : document.allTraits {
                    if let finding = writer.finding(of: trait) { notes.append(finding.note) }
                }
                let isSaid =
                    switch result {
                    case .carried: notes.isEmpty
                    case .refused: notes.contains { $0.outcome == .refused }
                    case .altered: notes.contains { $0.outcome == .altered }
                    case .omitted: notes.contains { $0.outcome != .refused }
                    }
                let isUsual =
                    output.concerns.isEmpty
                    && plan.fieldEncoding.arrays == FieldEncodingOptions(dialect: plan.fieldEncoding.dialect).arrays
                if !notes.isEmpty, all == nil, isUsual { all = plan.notes() }
                let isListed = notes.allSatisfy { note in
                    all?.contains { $0.code == note.code && $0.what == note.what } ?? true
                }
                if isSaid, isListed { continue }
                let key = "\(plan.output) \(text): \(result), \(isListed ? "" : "not listed ")\(notes.map(\.code))"
                faults[key, default: (0, "\(plan.shown) \(seen)")].count += 1
            }
        }
        for (key, fault) in faults.sorted(by: { $0.key < $1.key }) {
            Issue.record("\(key), \(fault.count) times, as \(fault.first)")
        }
    }
}

extension ConversionPlan {
    /// The options that matter here.
    fileprivate var shown: String {
        switch output {
        case .form, .multipart:
            "\(fieldEncoding.dialect) arrays \(fieldEncoding.arrays) nesting \(fieldEncoding.nesting) "
                + "nulls \(fieldEncoding.nulls) empties \(fieldEncoding.empties)"
        case .xml:
            "\(xmlEncoding.convention) root \(xmlEncoding.root) nulls \(xmlEncoding.nulls) "
                + "empties \(xmlEncoding.empties) names \(xmlEncoding.names) mixed \(xmlEncoding.mixed)"
        case .plist, .bplist: "nulls \(propertyListEncoding.nulls) \(propertyListEncoding.largeIntegers)"
        case .text, .raw: "field \(outputField ?? "none") nulls \(fieldEncoding.nulls)"
        default: ""
        }
    }
}
