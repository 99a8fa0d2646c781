internal import Octets

extension Conversion {
    /// A conversion of one body by `plan`.
    ///
    /// - Parameters:
    ///   - contentType: The input's Content-Type, which chooses among the plan's inputs; for multipart it holds the boundary.
    ///     See `ConversionPlan.inputEncoding(for:)`.
    ///   - sources: The texts for the values that the plan takes from the request's head, by their indices.
    ///
    /// Throws 415 for a type or a charset that the plan doesn't take, and 400 for a boundary that can't be one.
    public static func make(
        plan: ConversionPlan, contentType: Span<UInt8>, sources: [[UInt8]] = []
    ) throws(ConversionError) -> Conversion {
        let input = try plan.inputEncoding(for: contentType)
        let plan = plan.decided(for: input)
        if plan.outputWithoutFiles != nil {
            return try autoLane(plan, input: input, contentType: contentType, sources: sources)
        }
        switch input {
        case .json: return documentLane(plan, sources)
        case .form: return formLane(plan, sources, Form.Decoder(plan, contentType: contentType))
        case .multipart:
            let decoder = try Multipart.Decoder(plan, contentType: contentType)
            return multipartLane(plan, sources, decoder)
        case .plist, .bplist, .xml, .text: return documentTreeLane(plan, input, sources)
        case .raw: return rawLane(plan, sources, Raw.Decoder(plan, contentType: contentType))
        }
    }

    /// JSON input: value by value where the plan and the output allow it, else by way of a tree.
    private static func documentLane(_ plan: ConversionPlan, _ sources: [[UInt8]]) -> Conversion {
        if plan.streamsDocuments {
            switch plan.output {
            case .json: return JSONToJSONLane(plan: plan, sources: sources, encoder: JSON.Encoder(plan))
            case .form:
                let encoder = FlatEncoder(Form.Encoder(plan), plan: plan)
                return JSONToFormLane(plan: plan, sources: sources, encoder: encoder)
            case .multipart:
                let encoder = FlatEncoder(Multipart.Encoder(plan), plan: plan)
                return JSONToMultipartLane(plan: plan, sources: sources, encoder: encoder)
            case .raw:
                let encoder = FlatEncoder(Raw.Encoder(plan), plan: plan)
                return OtherStreamLane(plan: plan, sources: sources, encoder: encoder)
            case .plist, .bplist, .xml, .text: break
            }
        }
        return documentTreeLane(plan, .json, sources)
    }

    /// A document by way of a tree.
    internal static func documentTreeLane(
        _ plan: ConversionPlan, _ input: BodyEncoding, _ sources: [[UInt8]]
    ) -> Conversion {
        switch input {
        case .plist, .bplist:
            treeLane(plan, input, sources, from: PropertyListSource(PropertyList.Decoder(plan, input: input)))
        case .xml: treeLane(plan, input, sources, from: XMLSource(XML.Decoder(plan)))
        case .text: treeLane(plan, input, sources, from: PlainTextSource(PlainText.Decoder(plan)))
        default: treeLane(plan, input, sources, from: JSONSource(JSON.Decoder(plan)))
        }
    }

    private static func treeLane(
        _ plan: ConversionPlan, _ input: BodyEncoding, _ sources: [[UInt8]], from source: TreeSource
    ) -> Conversion {
        TreeLane(plan: plan, input: input, sources: sources, from: source, to: treeTarget(plan))
    }

    private static func treeTarget(_ plan: ConversionPlan) -> TreeTarget {
        if plan.outputWithoutFiles != nil { return AutoTarget(AutoEncoder(plan), plan: plan) }
        return switch plan.output {
        case .json: JSONTarget(JSON.Encoder(plan), plan: plan)
        case .form: FormTarget(FlatEncoder(Form.Encoder(plan), plan: plan), plan: plan)
        case .multipart: MultipartTarget(FlatEncoder(Multipart.Encoder(plan), plan: plan), plan: plan)
        case .plist, .bplist: PropertyListTarget(PropertyList.Encoder(plan), plan: plan)
        case .xml: XMLTarget(XML.Encoder(plan), plan: plan)
        case .text: PlainTextTarget(PlainText.Encoder(plan), plan: plan)
        case .raw: RawTarget(FlatEncoder(Raw.Encoder(plan), plan: plan), plan: plan)
        }
    }

    /// A form: to flat output field by field where the plan allows it, else by way of a tree.
    private static func formLane(
        _ plan: ConversionPlan, _ sources: [[UInt8]], _ decoder: consuming Form.Decoder
    ) -> Conversion {
        let streams = plan.streamsFields
        switch plan.output {
        case .json:
            let outlet = JSONOutlet(JSON.Encoder(plan), plan: plan)
            return FormTreeToJSONLane(plan: plan, input: .form, sources: sources, decoder: decoder, outlet: outlet)
        case .form:
            let encoder = Form.Encoder(plan)
            guard !streams else {
                return FormToFormLane(plan: plan, input: .form, sources: sources, decoder: decoder, encoder: encoder)
            }
            let outlet = FlatOutlet(encoder, plan: plan)
            return FormTreeToFormLane(plan: plan, input: .form, sources: sources, decoder: decoder, outlet: outlet)
        case .multipart:
            let encoder = Multipart.Encoder(plan)
            guard !streams else {
                return FormToMultipartLane(
                    plan: plan, input: .form, sources: sources, decoder: decoder, encoder: encoder)
            }
            let outlet = FlatOutlet(encoder, plan: plan)
            return FormTreeToMultipartLane(plan: plan, input: .form, sources: sources, decoder: decoder, outlet: outlet)
        case .plist, .bplist, .xml, .text, .raw: return otherLane(plan, .form, sources, decoder)
        }
    }

    /// The same for multipart.
    private static func multipartLane(
        _ plan: ConversionPlan, _ sources: [[UInt8]], _ decoder: consuming Multipart.Decoder
    ) -> Conversion {
        let streams = plan.streamsFields
        let input = BodyEncoding.multipart
        switch plan.output {
        case .json:
            let outlet = JSONOutlet(JSON.Encoder(plan), plan: plan)
            return MultipartTreeToJSONLane(plan: plan, input: input, sources: sources, decoder: decoder, outlet: outlet)
        case .form:
            let encoder = Form.Encoder(plan)
            guard !streams else {
                return MultipartToFormLane(
                    plan: plan, input: input, sources: sources, decoder: decoder, encoder: encoder)
            }
            let outlet = FlatOutlet(encoder, plan: plan)
            return MultipartTreeToFormLane(plan: plan, input: input, sources: sources, decoder: decoder, outlet: outlet)
        case .multipart:
            let encoder = Multipart.Encoder(plan)
            guard !streams else {
                return MultipartToMultipartLane(
                    plan: plan, input: input, sources: sources, decoder: decoder, encoder: encoder)
            }
            let outlet = FlatOutlet(encoder, plan: plan)
            return MultipartTreeToMultipartLane(
                plan: plan, input: input, sources: sources, decoder: decoder, outlet: outlet)
        case .plist, .bplist, .xml, .text, .raw: return otherLane(plan, input, sources, decoder)
        }
    }

    /// A body that is one file: the fields that a map sets go before it.
    private static func rawLane(
        _ plan: ConversionPlan, _ sources: [[UInt8]], _ decoder: consuming Raw.Decoder
    ) -> Conversion {
        switch plan.output {
        case .json:
            let outlet = JSONOutlet(JSON.Encoder(plan), plan: plan)
            return OtherFieldTreeLane(plan: plan, input: .raw, sources: sources, decoder: decoder, outlet: outlet)
        case .form:
            let encoder = Form.Encoder(plan)
            guard !plan.streamsFields else {
                return OtherFlatLane(plan: plan, input: .raw, sources: sources, decoder: decoder, encoder: encoder)
            }
            let outlet = FlatOutlet(encoder, plan: plan)
            return OtherFieldTreeLane(plan: plan, input: .raw, sources: sources, decoder: decoder, outlet: outlet)
        case .multipart:
            let encoder = Multipart.Encoder(plan)
            guard !plan.streamsFields else {
                return OtherFlatLane(plan: plan, input: .raw, sources: sources, decoder: decoder, encoder: encoder)
            }
            let outlet = FlatOutlet(encoder, plan: plan)
            return OtherFieldTreeLane(plan: plan, input: .raw, sources: sources, decoder: decoder, outlet: outlet)
        case .plist, .bplist, .xml, .text, .raw: return otherLane(plan, .raw, sources, decoder)
        }
    }

    /// Fields and files to the formats that are rarely what a flat body becomes.
    private static func otherLane<Decoder: FieldLaneDecoder & ~Copyable>(
        _ plan: ConversionPlan, _ input: BodyEncoding, _ sources: [[UInt8]], _ decoder: consuming Decoder
    ) -> Conversion {
        switch plan.output {
        case .raw where plan.streamsFields:
            let encoder = Raw.Encoder(plan)
            return OtherFlatLane(plan: plan, input: input, sources: sources, decoder: decoder, encoder: encoder)
        case .raw:
            let outlet = FlatOutlet(Raw.Encoder(plan), plan: plan)
            return OtherFieldTreeLane(plan: plan, input: input, sources: sources, decoder: decoder, outlet: outlet)
        case .plist, .bplist:
            let outlet = DocumentOutlet(PropertyList.Encoder(plan), plan: plan)
            return OtherFieldTreeLane(plan: plan, input: input, sources: sources, decoder: decoder, outlet: outlet)
        case .xml:
            let outlet = DocumentOutlet(XML.Encoder(plan), plan: plan)
            return OtherFieldTreeLane(plan: plan, input: input, sources: sources, decoder: decoder, outlet: outlet)
        case .text:
            let outlet = DocumentOutlet(FileValues(PlainText.Encoder(plan)), plan: plan)
            return OtherFieldTreeLane(plan: plan, input: input, sources: sources, decoder: decoder, outlet: outlet)
        case .json, .form, .multipart: preconditionFailure("these have lanes of their own")
        }
    }
}

extension JSON.Decoder {
    internal init(_ plan: ConversionPlan) {
        var options = JSON.DecodingOptions()
        options.usesBlocks = plan.usesBlocks
        // `first` and `last` are the tree's, which counts what they leave out.
        options.duplicates = plan.effectiveJSONDuplicates == .reject ? .reject : .keep
        self.init(options: options, limits: plan.limits)
    }
}

extension JSON.Encoder {
    /// The lanes have decided about files before one arrives here.
    internal init(_ plan: ConversionPlan) {
        var options = JSON.EncodingOptions()
        options.files = .base64
        self.init(options: options)
    }
}

extension Form.Encoder {
    internal init(_ plan: ConversionPlan) { self.init(options: plan.fieldEncoding) }
}

extension ConversionPlan {
    /// What happens to repeated members of JSON objects.
    internal var effectiveJSONDuplicates: DuplicatePolicy { jsonDuplicates ?? (output == .json ? .keep : .reject) }

    /// The same in a JSON text that stands in a field, where nothing but a whole value passes.
    internal var spliceDuplicates: DuplicatePolicy { jsonDuplicates ?? .reject }

    /// The order in which a tree is walked. Under another dialect than ours the encoder sorts, as its library does.
    internal var treeOrder: MemberOrder {
        output == .json || fieldEncoding.dialect == .recast ? fieldEncoding.order : .input
    }

    /// Whether JSON input passes value by value.
    internal var streamsDocuments: Bool {
        let duplicates = effectiveJSONDuplicates
        return types.isEmpty && removeNulls == .off && treeOrder == .input
            && (duplicates == .keep || duplicates == .reject) && map.isLocal
    }

    /// Whether flat input passes to flat output field by field. The names then pass as they came, so a library that would
    /// read them in its own way must not be asked for, nor one be refused for how it is built. What is read as a null passes
    /// through the tree as well under our own dialect, so that the output's `nulls` says how it is written.
    internal var streamsFields: Bool {
        let paths = map.remove + map.set.map(\.path) + map.rename.flatMap { [$0.from, $0.to] } + files.map(\.path)
        return types.isEmpty && map.append.isEmpty && !rewritesNames && fieldEncoding.order == .input
            && fieldDecoding.duplicates == .array && fieldDecoding.types == .strings
            && !fieldDecoding.readsNamesAsLibrary && fieldDecoding.malformedKey == .literal
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
