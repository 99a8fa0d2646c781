internal import Octets

/// The table of pipelines: for each input, each output, and whether values pass one by one, the pipeline and its codecs.
///
/// The switches have no default, so a pair without a row is no program. A row names its codecs, which makes the compiler
/// specialise the pipeline for them: see `RunningPipeline`.
///
/// Where a conversion is explained, the same pipelines run with recorders as their encoders, and tell an observer what they do.
internal struct PipelineTable {
    private let plan: ConversionPlan
    private let input: BodyEncoding
    private let sources: [[UInt8]]
    private let streams: Bool
    /// Whether a file decides about the output.
    private let isAuto: Bool
    private let observer: ConversionObserver?

    /// - Parameters:
    ///   - plan: as it is for that input, see `ConversionPlan.decided(for:)`.
    ///   - observer: nil but where a conversion is explained: no body is written then, and `plan.output` is what `auto` has
    ///     become.
    init(_ plan: ConversionPlan, input: BodyEncoding, sources: [[UInt8]], observer: ConversionObserver? = nil) {
        self.plan = plan
        self.input = input
        self.sources = sources
        self.observer = observer
        streams = plan.streams(from: input)
        isAuto = plan.outputWithoutFiles != nil
    }

    /// The pipeline for a body of that Content-Type.
    func pipeline(contentType: Span<UInt8>) throws(ConversionError) -> RunningPipeline {
        switch input {
        case .form: fields(Form.Decoder(plan, contentType: contentType))
        case .multipart: fields(try Multipart.Decoder(plan, contentType: contentType))
        case .raw: fields(Raw.Decoder(plan, contentType: contentType))
        // What is observed goes by way of a tree: a value is known by its node, from where it was read to where it is sent.
        case .json: streams && observer == nil ? values(JSON.Decoder(plan)) : document(JSON.Decoder(plan))
        case .plist, .bplist: document(PropertyList.Decoder(plan, input: input))
        case .xml: document(XML.Decoder(plan))
        case .text: document(PlainText.Decoder(plan))
        }
    }

    // MARK: Fields

    private func fields<Decoder: PartDecoder & ~Copyable>(_ decoder: consuming Decoder) -> RunningPipeline {
        if let observer { return observed(decoder, by: observer) }
        if isAuto { return streams ? each(decoder, AutoFields(plan)) : gathered(decoder, AutoEncoder(plan)) }
        return switch (plan.output, streams) {
        case (.form, true): each(decoder, Form.Encoder(plan))
        case (.multipart, true): each(decoder, Multipart.Encoder(plan))
        case (.raw, true): each(decoder, Raw.Encoder(plan))
        case (.form, false): gathered(decoder, FlatOutlet(Form.Encoder(plan), plan: plan))
        case (.multipart, false): gathered(decoder, FlatOutlet(Multipart.Encoder(plan), plan: plan))
        case (.raw, false): gathered(decoder, FlatOutlet(Raw.Encoder(plan), plan: plan))
        case (.json, _): gathered(decoder, DocumentOutlet(JSON.Encoder(plan), plan: plan))
        case (.plist, _), (.bplist, _): gathered(decoder, DocumentOutlet(PropertyList.Encoder(plan), plan: plan))
        case (.xml, _): gathered(decoder, DocumentOutlet(XML.Encoder(plan), plan: plan))
        case (.text, _): gathered(decoder, DocumentOutlet(FileValues(PlainText.Encoder(plan)), plan: plan))
        }
    }

    private func each<Decoder: PartDecoder & ~Copyable, Encoder: PartEncoder & ~Copyable>(
        _ decoder: consuming Decoder, _ encoder: consuming Encoder
    ) -> RunningPipeline {
        RunningPipeline(
            FieldPipeline(decoder, encoder, input: input, plan: plan, sources: sources, observer: observer))
    }

    private func gathered<Decoder: PartDecoder & ~Copyable, Outlet: FileOutlet & ~Copyable>(
        _ decoder: consuming Decoder, _ outlet: @escaping @autoclosure () -> Outlet
    ) -> RunningPipeline {
        RunningPipeline(
            GatheringPipeline(decoder, outlet, input: input, plan: plan, sources: sources, observer: observer))
    }

    private func observed<Decoder: PartDecoder & ~Copyable>(
        _ decoder: consuming Decoder, by observer: ConversionObserver
    ) -> RunningPipeline {
        if streams { return each(decoder, RecordedFields(observer)) }
        if plan.output.isFlat {
            return gathered(decoder, FlatOutlet(RecordedFields(observer), plan: plan, observer: observer))
        }
        return gathered(decoder, DocumentOutlet(RecordedDocument(observer), plan: plan))
    }

    // MARK: Documents

    /// Values that pass one by one.
    private func values(_ decoder: consuming JSON.Decoder) -> RunningPipeline {
        if isAuto { return each(decoder, AutoEncoder(plan)) }
        return switch plan.output {
        case .json: each(decoder, JSON.Encoder(plan))
        case .form: each(decoder, FlatEncoder(Form.Encoder(plan), plan: plan))
        case .multipart: each(decoder, FlatEncoder(Multipart.Encoder(plan), plan: plan))
        case .raw: each(decoder, FlatEncoder(Raw.Encoder(plan), plan: plan))
        case .plist, .bplist, .xml, .text: document(decoder)
        }
    }

    private func document<Decoder: DocumentDecoder & ~Copyable>(_ decoder: consuming Decoder) -> RunningPipeline {
        if let observer { return observed(decoder, by: observer) }
        if isAuto { return whole(decoder, AutoEncoder(plan)) }
        return switch plan.output {
        case .json: whole(decoder, JSON.Encoder(plan))
        case .form: whole(decoder, FlatEncoder(Form.Encoder(plan), plan: plan))
        case .multipart: whole(decoder, FlatEncoder(Multipart.Encoder(plan), plan: plan))
        case .raw: whole(decoder, FlatEncoder(Raw.Encoder(plan), plan: plan))
        case .plist, .bplist: whole(decoder, PropertyList.Encoder(plan))
        case .xml: whole(decoder, XML.Encoder(plan))
        case .text: whole(decoder, PlainText.Encoder(plan))
        }
    }

    private func observed<Decoder: DocumentDecoder & ~Copyable>(
        _ decoder: consuming Decoder, by observer: ConversionObserver
    ) -> RunningPipeline {
        if plan.output.isFlat {
            return whole(decoder, FlatEncoder(RecordedFields(observer), plan: plan, observer: observer))
        }
        return whole(decoder, RecordedDocument(observer))
    }

    private func each<Encoder: DocumentEncoder & ~Copyable>(
        _ decoder: consuming JSON.Decoder, _ encoder: consuming Encoder
    ) -> RunningPipeline {
        RunningPipeline(DocumentPipeline(decoder, encoder, plan: plan, sources: sources))
    }

    private func whole<Decoder: DocumentDecoder & ~Copyable, Encoder: DocumentEncoder & ~Copyable>(
        _ decoder: consuming Decoder, _ encoder: @escaping @autoclosure () -> Encoder
    ) -> RunningPipeline {
        RunningPipeline(
            TreePipeline(decoder, encoder, plan: plan, sources: sources, observer: observer))
    }
}

// MARK: What streams

extension ConversionPlan {
    /// Whether the values or fields of a body of `input` pass one by one, instead of by way of a tree.
    internal func streams(from input: BodyEncoding) -> Bool {
        switch input {
        case .json: streamsDocuments && (output == .json || output.isFlat)
        case .form, .multipart, .raw: streamsFields && output.isFlat
        case .plist, .bplist, .xml, .text: false
        }
    }

    /// Whether a body, or what it becomes, may be held as a document, up to `limits.tree`.
    package var holdsDocuments: Bool {
        let sorts = output.isFlat && FieldStyle.of(fieldEncoding.dialect).holdsDocument(fieldEncoding.order)
        return sorts || outputWithoutFiles != nil || !map.isEmpty || !files.isEmpty || !inputs.allSatisfy(streams)
    }

    /// The plan for a body of that encoding, which can never have a file where nothing makes one: then the output is known
    /// from the start.
    internal func decided(for input: BodyEncoding) -> ConversionPlan {
        guard let plain = outputWithoutFiles, !input.hasFiles, !files.contains(where: { $0.source(from: input) != nil })
        else { return self }
        var plan = self
        plan.output = plain
        plan.outputWithoutFiles = nil
        // They are about files, of which there are none; and a rule for a form or JSON would be another one.
        plan.files = files.filter { $0.policy == .drop || $0.policy == .reject }
        return plan
    }

    /// What happens to repeated members of JSON objects.
    internal var effectiveJSONDuplicates: DuplicatePolicy { jsonDuplicates ?? (output == .json ? .keep : .reject) }

    /// As above, in a JSON text that stands in a field, where nothing but a whole value passes.
    internal var spliceDuplicates: DuplicatePolicy { jsonDuplicates ?? .reject }

    /// The order of a tree's members. Under another dialect than ours the encoder sorts, as its library does.
    internal var treeOrder: MemberOrder {
        output == .json || fieldEncoding.dialect == .recast ? fieldEncoding.order : .input
    }

    /// The order in which a tree is walked that rules were applied to: where attributes were put first, it has been sorted before.
    internal var walkOrder: MemberOrder { putsAttributesFirst ? .input : treeOrder }

    /// Whether attributes of XML are put before what else is in their elements: what a map adds goes last, where XML has no attributes
    /// any more.
    internal var putsAttributesFirst: Bool {
        output == .xml && !map.isEmpty && xmlEncoding.convention == .attributes && !xmlEncoding.attributePrefix.isEmpty
    }

    /// Whether JSON input passes value by value.
    internal var streamsDocuments: Bool {
        let duplicates = effectiveJSONDuplicates
        return document == nil && types.isEmpty && (removeNulls == .off || leavesOutNullMembers)
            && treeOrder == .input && (duplicates == .keep || duplicates == .reject) && map.isLocal
    }

    /// Whether members that are null are left out as they pass: where flat output follows, and there is no rule, for what rules make of a
    /// document comes first.
    internal var leavesOutNullMembers: Bool {
        removeNulls == .keys && output.isFlat && map.isEmpty && files.isEmpty
    }

    /// Whether flat input passes to flat output field by field. The names then pass as they came, so a library that would
    /// read them in its own way must not be asked for, nor one be refused for how it is built. What is read as a null passes
    /// through the tree as well under our own dialect, so that the output's `nulls` says how it is written; and so does what stands in
    /// texts, whose members and elements a map is about. A rule that removes the elements of an array must see whether a name comes
    /// again: the values of such a one are elements as well.
    internal var streamsFields: Bool {
        let paths = map.remove + map.set.map(\.path) + map.rename.flatMap { [$0.from, $0.to] } + files.map(\.path)
        return document == nil && types.isEmpty && map.append.isEmpty && !rewritesNames && fieldEncoding.order == .input
            && !map.remove.contains { $0.segments.last == .any }
            && fieldDecoding.duplicates == .array && fieldDecoding.types == .strings
            && !fieldDecoding.readsNamesAsLibrary && !fieldDecoding.readsTextsAsStructure
            && fieldDecoding.malformedKey == .literal
            && (fieldDecoding.nulls == .empty || fieldDecoding.dialect != .recast) && !paths.contains(where: \.hasIndex)
            && !map.rename.contains { $0.from.hasWildcard } && outputWithoutFiles != .json && jsonParts.isEmpty
            && fieldDecoding.jsonParts == .text
    }
}

extension FieldMap {
    /// Whether a document can be mapped value by value: see `EventMapper`.
    internal var isLocal: Bool {
        let keepsParents = rename.allSatisfy { rename in
            guard case .key? = rename.from.segments.last, case .key? = rename.to.segments.last else { return false }
            return rename.from.segments.count == rename.to.segments.count
                && rename.sharedPrefix == rename.from.segments.count - 1
        }
        let touched = rename.map { [$0.from, $0.to] }
        let areApart = touched.indices.allSatisfy { index in
            touched[..<index].allSatisfy { earlier in
                !earlier.contains { left in touched[index].contains { right in left.overlaps(right) } }
            }
        }
        let setsPaths = set.map(\.path)
        let setsRoot = setsPaths.allSatisfy { $0.rootKey != nil }
        // A field that goes to or comes from a place below one that is set, or removed, needs the document.
        let setsApart = touched.allSatisfy { pair in !pair.contains { path in setsPaths.contains { $0.overlaps(path) } }
        }
        return append.isEmpty && keepsParents && areApart && setsRoot && setsApart
    }
}
