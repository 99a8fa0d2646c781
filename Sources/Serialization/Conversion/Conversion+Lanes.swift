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
        switch (input, plan.output) {
        case (.json, .json): return document(plan, sources, JSON.Encoder(plan))
        case (.json, .form): return document(plan, sources, FlatEncoder(Form.Encoder(plan), plan: plan))
        case (.json, .multipart): return document(plan, sources, FlatEncoder(Multipart.Encoder(plan), plan: plan))
        case (.form, .json):
            return tree(plan, input, sources, Form.Decoder(plan), JSONOutlet(JSON.Encoder(plan), plan: plan))
        case (.form, .form): return flat(plan, input, sources, Form.Decoder(plan), Form.Encoder(plan))
        case (.form, .multipart): return flat(plan, input, sources, Form.Decoder(plan), Multipart.Encoder(plan))
        case (.multipart, .json):
            let decoder = try Multipart.Decoder(plan, contentType: contentType)
            return tree(plan, input, sources, decoder, JSONOutlet(JSON.Encoder(plan), plan: plan))
        case (.multipart, .form):
            let decoder = try Multipart.Decoder(plan, contentType: contentType)
            return flat(plan, input, sources, decoder, Form.Encoder(plan))
        case (.multipart, .multipart):
            let decoder = try Multipart.Decoder(plan, contentType: contentType)
            return flat(plan, input, sources, decoder, Multipart.Encoder(plan))
        }
    }

    /// JSON input: value by value where the plan allows it, else by way of a tree.
    private static func document<Encoder>(
        _ plan: ConversionPlan, _ sources: [[UInt8]], _ encoder: consuming Encoder
    ) -> Conversion where Encoder: EventSink & OutputEncoder & LaneEncoder & ~Copyable {
        let decoder = JSON.Decoder(plan)
        return plan.streamsDocuments
            ? StreamLane(plan: plan, inputEncoding: .json, sources: sources, decoder: decoder, encoder: encoder)
            : DocumentTreeLane(plan: plan, inputEncoding: .json, sources: sources, decoder: decoder, encoder: encoder)
    }

    /// Flat to flat: field by field where the plan allows it, else by way of a tree.
    private static func flat<Decoder, Encoder>(
        _ plan: ConversionPlan, _ input: BodyEncoding, _ sources: [[UInt8]], _ decoder: consuming Decoder,
        _ encoder: consuming Encoder
    ) -> Conversion
    where
        Decoder: FieldDecoder & LaneDecoder & ~Copyable, Encoder: FieldSink & OutputEncoder & LaneEncoder & ~Copyable
    {
        guard !plan.streamsFields else {
            return FlatLane(plan: plan, inputEncoding: input, sources: sources, decoder: decoder, encoder: encoder)
        }
        return tree(plan, input, sources, decoder, FlatOutlet(encoder, plan: plan))
    }

    private static func tree<Decoder, Outlet>(
        _ plan: ConversionPlan, _ input: BodyEncoding, _ sources: [[UInt8]], _ decoder: consuming Decoder,
        _ outlet: consuming Outlet
    ) -> Conversion
    where Decoder: FieldDecoder & LaneDecoder & ~Copyable, Outlet: FileOutlet & ~Copyable {
        FieldTreeLane(plan: plan, inputEncoding: input, sources: sources, decoder: decoder, outlet: outlet)
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
        return types.isEmpty && fieldEncoding.order == .input && (duplicates == .keep || duplicates == .reject)
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
