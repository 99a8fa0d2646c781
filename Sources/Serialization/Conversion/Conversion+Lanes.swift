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
        switch try plan.inputEncoding(for: contentType) {
        case .json: return documentLane(plan, sources)
        case .form: return formLane(plan, sources)
        case .multipart:
            let decoder = try Multipart.Decoder(plan, contentType: contentType)
            return multipartLane(plan, sources, decoder)
        }
    }

    /// JSON input: value by value where the plan allows it, else by way of a tree.
    private static func documentLane(_ plan: ConversionPlan, _ sources: [[UInt8]]) -> Conversion {
        let streams = plan.streamsDocuments
        switch plan.output {
        case .json:
            let encoder = JSON.Encoder(plan)
            guard streams else { return JSONTreeToJSONLane(plan: plan, sources: sources, encoder: encoder) }
            return JSONToJSONLane(plan: plan, sources: sources, encoder: encoder)
        case .form:
            let encoder = FlatEncoder(Form.Encoder(plan), plan: plan)
            guard streams else { return JSONTreeToFormLane(plan: plan, sources: sources, encoder: encoder) }
            return JSONToFormLane(plan: plan, sources: sources, encoder: encoder)
        case .multipart:
            let encoder = FlatEncoder(Multipart.Encoder(plan), plan: plan)
            guard streams else { return JSONTreeToMultipartLane(plan: plan, sources: sources, encoder: encoder) }
            return JSONToMultipartLane(plan: plan, sources: sources, encoder: encoder)
        }
    }

    /// A form: to flat output field by field where the plan allows it, else by way of a tree.
    private static func formLane(_ plan: ConversionPlan, _ sources: [[UInt8]]) -> Conversion {
        let streams = plan.streamsFields
        let decoder = Form.Decoder(plan)
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
        }
    }
}

extension JSON.Decoder {
    internal init(_ plan: ConversionPlan) {
        var options = JSON.DecodingOptions()
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

extension Form.Decoder {
    internal init(_ plan: ConversionPlan) { self.init(options: plan.fieldDecoding, limits: plan.limits) }
}

extension Form.Encoder {
    internal init(_ plan: ConversionPlan) { self.init(options: plan.fieldEncoding) }
}

extension ConversionPlan {
    /// What happens to repeated members of JSON objects.
    internal var effectiveJSONDuplicates: DuplicatePolicy { jsonDuplicates ?? (output == .json ? .keep : .reject) }

    /// The same in a JSON text that stands in a field, where nothing but a whole value passes.
    internal var spliceDuplicates: DuplicatePolicy { jsonDuplicates ?? .reject }

    /// Whether JSON input passes value by value.
    internal var streamsDocuments: Bool {
        let duplicates = effectiveJSONDuplicates
        return types.isEmpty && removeNulls == .off && fieldEncoding.order == .input && (duplicates == .keep || duplicates == .reject)
            && map.isLocal
    }

    /// Whether flat input passes to flat output field by field.
    internal var streamsFields: Bool {
        let paths = map.remove + map.set.map(\.path) + map.rename.flatMap { [$0.from, $0.to] } + files.map(\.path)
        return types.isEmpty && !rewritesNames && fieldEncoding.order == .input && fieldDecoding.duplicates == .array
            && fieldDecoding.types == .strings && !paths.contains(where: \.hasIndex)
            && !map.rename.contains { $0.from.hasWildcard }
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
        return keepsParents && areApart && setsRoot && setsApart
    }
}
