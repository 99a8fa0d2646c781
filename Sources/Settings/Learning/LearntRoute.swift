internal import Octets
public import Transcoding

/// A route's definition, proposed by what bodies look like: their encodings, the names of their fields, and what all values of a field
/// could be. No value gets into it.
public struct LearntRoute: Sendable {
    /// A body to learn from.
    public struct Sample: Sendable {
        /// Its Content-Type.
        public var type: String
        public var body: [UInt8]

        public init(type: String, body: [UInt8]) {
            self.type = type
            self.body = body
        }
    }

    /// What was seen of a field.
    public struct Field: Hashable, Sendable {
        /// As `fields` names it; `[*]` stands for each element.
        public var path: String
        public var isFile: Bool
        /// What its values look like: `string`, `integer`, `number`, `boolean`, `json`, `null`.
        public var kinds: [String]
        /// Bodies that have it.
        public var bodies: Int
        /// Whether one body has several of that name.
        public var repeats: Bool
        /// The media types of a file.
        public var types: [String]
        /// The type that is proposed; nil: none.
        public var type: FieldType?
    }

    /// The YAML of a route without name, match and upstream.
    public let definition: String
    public let fields: [Field]
    /// Bodies that were read.
    public let bodies: Int
    /// Those that were not, by the code of the error.
    public let unreadable: [String: Int]
    /// Fields that were not looked at: 500 names at most, of 200 bytes and 16 steps each.
    public let leftOut: Int

    /// Bodies that are looked at, at most.
    public static let sampleLimit = 200

    /// Bytes of all of them, 4 MiB.
    public static let byteLimit = 4 * 1024 * 1024

    /// Bodies of which none can be read.
    public struct Unreadable: Error, Hashable {
        /// How many can't, by the code of the error.
        public let bodies: [String: Int]

        public init(bodies: [String: Int]) { self.bodies = bodies }
    }

    /// Learns from the first bodies. What is proposed converts each of those that can be read.
    ///
    /// - Parameter output: what the route is to write.
    /// - Throws: `Unreadable` where none can.
    public init(from samples: [Sample], to output: BodyEncoding = .json) throws(Unreadable) {
        var unreadable: [String: Int] = [:]
        var readable: [(sample: Sample, encoding: BodyEncoding)] = []
        // Of `readable`, those that are none before files have names of their own.
        var shared: [Int] = []
        var bytes = 0
        for sample in samples.prefix(Self.sampleLimit) {
            bytes += sample.body.count
            guard bytes <= Self.byteLimit else { break }
            do throws(ConversionError) {
                readable.append((sample, try Self.encoding(sample, to: output)))
            } catch {
                if error.code == "files_shared_root", output.hasObjects {
                    shared.append(readable.count)
                    readable.append((sample, .multipart))
                } else {
                    unreadable[error.code, default: 0] += 1
                }
            }
        }
        let renames = shared.isEmpty ? [] : Self.renames(Self.shapes(of: readable, FieldDecodingOptions()))
        for index in shared.reversed() {
            do throws(ConversionError) {
                _ = try Self.encoding(readable[index].sample, to: output, renames)
            } catch {
                unreadable[error.code, default: 0] += 1
                readable.remove(at: index)
            }
        }
        guard !readable.isEmpty else { throw Unreadable(bodies: unreadable) }
        let encodings = BodyEncoding.allCases.filter { encoding in readable.contains { $0.encoding == encoding } }
        var names = FieldShapes()
        for (sample, encoding) in readable where encoding.isFlat { Self.collect(sample, encoding, nil, &names) }
        var reading = FieldDecodingOptions()
        if names.hasCommonDots, !names.hasBrackets { reading.nesting = .dots }
        var proposal = Proposal(encodings: encodings, output: output, nesting: reading.nesting, renames: renames)
        var shapes = Self.shapes(of: readable, reading)
        proposal.rules = output.hasObjects ? Self.rules(shapes) : []
        // What a field's values look like may not be how it is read with its neighbours.
        if !proposal.settle(for: readable.map(\.sample)), reading.nesting == .dots {
            reading.nesting = .brackets
            proposal.nesting = .brackets
            shapes = Self.shapes(of: readable, reading)
            proposal.rules = output.hasObjects ? Self.rules(shapes) : []
            _ = proposal.settle(for: readable.map(\.sample))
        }
        if output.hasObjects, encodings.allSatisfy(\.isFlat), let field = Self.document(shapes) {
            // Where there are others, it may be a value as well as the document: that is said, and left to who reads it.
            let isAlone = shapes.shapes.count == 1
            var other = Proposal(encodings: encodings, output: output, nesting: reading.nesting, renames: renames)
            var rule = DocumentRule(field)
            rule.rest = isAlone ? .reject : .merge
            other.document = rule
            if other.settle(for: readable.map(\.sample)) {
                if isAlone { proposal = other } else { proposal.alternative = rule }
            }
        }
        definition = proposal.text
        fields = shapes.shapes.map { shape in
            let type = proposal.rules.last { $0.path == shape.path || $0.path == shape.elementPath }?.type
            return Field(
                path: shape.path.description, isFile: shape.isFile, kinds: shape.kinds, bodies: shape.bodies,
                repeats: shape.repeats, types: shape.types, type: type)
        }
        bodies = readable.count
        leftOut = shapes.leftOut
        self.unreadable = unreadable
    }

    /// The type of a body that nobody has named one for, by what it begins with: a form holds neither braces nor angle brackets there,
    /// and no dashes in front of a line end.
    public static func type(of body: [UInt8]) -> String {
        let start = body.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) }
        switch start.first {
        case UInt8(ascii: "{"), UInt8(ascii: "["): return BodyEncoding.json.mediaType
        case UInt8(ascii: "<"): return BodyEncoding.xml.mediaType
        case UInt8(ascii: "-") where start.starts(with: Array("--".utf8)):
            let line = start.dropFirst(2).prefix { $0 != 0x0D && $0 != 0x0A }
            guard !line.isEmpty, line.count <= 70, line.endIndex < body.endIndex else { break }
            return "\(BodyEncoding.multipart.mediaType); boundary=\"\(String(decoding: line, as: UTF8.self))\""
        default: break
        }
        return BodyEncoding.form.mediaType
    }

    // MARK: - What is seen

    /// The encoding of a body that can be converted without any rule but `renames`.
    private static func encoding(
        _ sample: Sample, to output: BodyEncoding, _ renames: [FieldMap.Rename] = []
    ) throws(ConversionError) -> BodyEncoding {
        var plan = ConversionPlan(inputs: BodyEncoding.structured, output: output)
        plan.map.rename = renames
        if !output.hasFiles { plan.fieldEncoding.files = .base64 }
        let encoding = try plan.inputEncoding(for: Array(sample.type.utf8).span)
        _ = try ExampleConversion.run(plan, sample.body, type: sample.type)
        return encoding
    }

    private static func shapes(
        of samples: [(sample: Sample, encoding: BodyEncoding)], _ reading: FieldDecodingOptions
    ) -> FieldShapes {
        var shapes = FieldShapes()
        for (sample, encoding) in samples {
            shapes.beginBody()
            collect(sample, encoding, reading, &shapes)
        }
        return shapes
    }

    /// Adds what one body shows. It has been read before, so nothing of it fails.
    private static func collect(
        _ sample: Sample, _ encoding: BodyEncoding, _ reading: FieldDecodingOptions?, _ shapes: inout FieldShapes
    ) {
        if encoding.isFlat {
            var sink = FieldShapeSink(shapes, reading)
            try? sink.take(
                sample.body, type: sample.type, as: encoding, reading ?? FieldDecodingOptions(), Limits())
            shapes = sink.shapes
        } else if reading != nil {
            var sink = DocumentShapeSink(shapes)
            try? readDocument(sample, encoding, &sink)
            shapes = sink.shapes
        }
    }

    private static func readDocument(
        _ sample: Sample, _ encoding: BodyEncoding, _ sink: inout DocumentShapeSink
    ) throws(ConversionError) {
        let plan = ConversionPlan(inputs: [encoding], output: .json)
        let json = try ExampleConversion.run(plan, sample.body, type: sample.type).bytes
        try sink.take(json: json)
    }

    // MARK: - What follows from it

    /// The types of fields whose values all read as more than texts, and arrays of what comes several times.
    private static func rules(_ shapes: FieldShapes) -> [TypeRule] {
        var rules: [TypeRule] = []
        let known = Dictionary(shapes.shapes.map { ($0.path, $0) }) { first, _ in first }
        for shape in shapes.shapes where !shape.isFile {
            // `a` in one body and `a[]` in another, or `a` twice.
            let elements = known[shape.elementPath]
            let isArray = shape.hasTwins || elements != nil
            if isArray { rules.append(TypeRule(path: shape.path, type: .array)) }
            guard !isOne(of: shape, in: known) else { continue }
            let all = [shape] + (elements.map { [$0] } ?? [])
            guard let type = type(of: all) else { continue }
            rules.append(TypeRule(path: isArray ? shape.elementPath : shape.path, type: type))
        }
        return rules
    }

    /// Names of their own for the files that stand in one object with fields, which can't go out before these: `user[avatar]` beside
    /// `user[name]` becomes `user_avatar`. None for what stands in the elements of an array, which a rename doesn't lead out of.
    private static func renames(_ shapes: FieldShapes) -> [FieldMap.Rename] {
        func root(_ path: FieldPath) -> [UInt8]? {
            if case .key(let key)? = path.segments.first { key } else { nil }
        }
        var taken = Set(shapes.shapes.compactMap { root($0.path) })
        let ofFields = Set(shapes.shapes.compactMap { $0.isFile ? nil : root($0.path) })
        var renames: [FieldMap.Rename] = []
        for shape in shapes.shapes where shape.isFile {
            guard let root = root(shape.path), ofFields.contains(root) else { continue }
            var from = shape.path
            while from.segments.last == .any { from.segments.removeLast() }
            let keys = from.segments.compactMap { if case .key(let key) = $0 { key } else { nil } }
            let name = Array(keys.joined(separator: [UInt8(ascii: "_")]))
            guard keys.count > 1, keys.count == from.segments.count, !renames.contains(where: { $0.from == from }),
                taken.insert(name).inserted
            else { continue }
            renames.append(.init(from: from, to: FieldPath([.key(name)])))
        }
        return renames
    }

    /// The field of each body that holds a JSON text, an object or an array, where there is one such field, with a plain name; nil: none,
    /// or several.
    private static func document(_ shapes: FieldShapes) -> FieldPath? {
        let found = shapes.shapes.filter { $0.isJSON && !$0.isFile }
        guard let shape = found.first, found.count == 1, !shape.repeats, !shape.hasEmpty, shape.bodies == shapes.bodies,
            !shape.path.segments.contains(.any)
        else { return nil }
        let isPlain = shape.path.description.utf8.allSatisfy { byte in
            byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
                || byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9") || "_-.".utf8.contains(byte)
        }
        return isPlain ? shape.path : nil
    }

    /// Whether the shape is that of the elements of another one, which has told their type.
    private static func isOne(of shape: FieldShapes.Shape, in known: [FieldPath: FieldShapes.Shape]) -> Bool {
        shape.path.segments.last == .any && known[FieldPath(shape.path.segments.dropLast())] != nil
    }

    /// The type that all values read as; nil where that is a text, where one is empty, and for values of documents, which are
    /// what they are.
    private static func type(of shapes: [FieldShapes.Shape]) -> FieldType? {
        if shapes.contains(where: \.hasEmpty) { return nil }
        if shapes.allSatisfy(\.isBoolean) { return .boolean }
        if shapes.allSatisfy(\.isInteger) { return .integer }
        if shapes.allSatisfy(\.isNumber) { return .number }
        return shapes.allSatisfy(\.isJSON) ? .json : nil
    }
}

extension FieldShapes.Shape {
    /// Each element, where the field is an array.
    fileprivate var elementPath: FieldPath { FieldPath(path.segments + [.any]) }
}

/// A definition on its way.
private struct Proposal {
    var encodings: [BodyEncoding]
    var output: BodyEncoding
    var nesting: NestingStyle
    /// Names of their own for files.
    var renames: [FieldMap.Rename]
    var rules: [TypeRule] = []
    /// The field whose JSON text is the document; nil: the body is.
    var document: DocumentRule?
    /// One that could be the document as well, which is said in a comment.
    var alternative: DocumentRule?

    /// Takes rules away until each body converts; false where bodies don't without any.
    mutating func settle(for samples: [LearntRoute.Sample]) -> Bool {
        var faults = 0
        for sample in samples {
            while let error = fault(on: sample) {
                guard !rules.isEmpty else { return false }
                faults += 1
                let concerned = error.field.map { field in
                    rules.indices.filter { Self.concerns(rules[$0].path, field, isPointer: error.isPointer) }
                }
                // Each costs a conversion.
                guard let concerned, !concerned.isEmpty, faults < 20 else {
                    rules.removeAll()
                    continue
                }
                for index in concerned.reversed() { rules.remove(at: index) }
            }
        }
        return true
    }

    /// Whether the rule is about the field, or one around it, of which an error names the place.
    private static func concerns(_ path: FieldPath, _ field: String, isPointer: Bool) -> Bool {
        guard case .key(let key)? = path.segments.first else { return true }
        let root = String(decoding: key, as: UTF8.self)
        if isPointer { return field.hasPrefix("/" + root) }
        return field == root || field.hasPrefix(root + "[") || field.hasPrefix(root + ".")
    }

    private func fault(on sample: LearntRoute.Sample) -> ConversionError? {
        do throws(ConversionError) {
            _ = try ExampleConversion.run(plan, sample.body, type: sample.type)
            return nil
        } catch {
            return error
        }
    }

    /// What the readers make of `text`; written by hand, since they are asked once, at the end.
    private var plan: ConversionPlan {
        var plan = ConversionPlan(inputs: encodings.count == 1 ? encodings : BodyEncoding.structured, output: output)
        plan.fieldDecoding.nesting = nesting
        plan.document = document
        plan.map.rename = renames
        if !output.hasFiles { plan.fieldEncoding.files = .base64 }
        plan.types = rules
        return plan
    }

    var text: String {
        let place = SettingsNode.Position(line: 1, column: 1)
        func member(_ key: String, _ content: SettingsNode.Content) -> SettingsNode.Member {
            .init(key: key, position: place, value: SettingsNode(position: place, content: content))
        }
        func word(_ text: String) -> SettingsNode.Content { .scalar(text, isPlain: true) }
        var decode = [member("as", word(encodings.count == 1 ? encodings[0].rawValue : "auto"))]
        if nesting != .brackets { decode.append(member("nesting", word(nesting.rawValue))) }
        if let document {
            let name = document.path.description
            decode.append(member("document", .scalar(name, isPlain: name.lowercased() != "null")))
        }
        var encode = [member("as", word(output.rawValue))]
        if encodings.contains(.multipart), !output.hasFiles { encode.append(member("files", word("base64"))) }
        var request = [member("decode", .mapping(decode))]
        if !renames.isEmpty {
            let paths = renames.map { member($0.from.description, word($0.to.description)) }
            request.append(member("map", .mapping([member("rename", .mapping(paths))])))
        }
        if !rules.isEmpty {
            let types = rules.map { member($0.path.description, word($0.type.rawValue)) }
            request.append(member("fields", .mapping(types)))
        }
        request.append(member("encode", .mapping(encode)))
        var writer = YAMLWriter()
        writer.write([member("request", .mapping(request))], indent: 0)
        return writer.text + (comment ?? "")
    }

    /// What else the definition could say, as a line of YAML that says nothing.
    private var comment: String? {
        guard let alternative else { return nil }
        let name = alternative.path.description
        return "  # \(name) as the body, with the others behind its members: in decode document: \(name) and "
            + "rest: \(alternative.rest.rawValue), without its type\n"
    }
}
