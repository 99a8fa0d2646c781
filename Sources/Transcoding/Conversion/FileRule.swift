/// What is declared of one file field.
public struct FileRule: Hashable, Sendable {
    /// Where the filename of a part is from.
    public enum Filename: Hashable, Sendable {
        /// Always this one.
        case literal(String)
        /// The string at this path, which must come before the file, or is what `FieldMap.set` writes there. Where the path leads through
        /// the elements of an array that the file is in, too, it is that of the file's own element.
        case field(FieldPath)
    }

    /// Where the file stands.
    public var path: FieldPath
    /// What happens to a file there; `base64` and `object` on JSON input say that the value at `path` is one, see `source`.
    public var policy: FilePolicy
    /// What of a text or an object at `path`, or of each element of an array there, makes a file of it, where multipart goes
    /// out. Nil: nothing, but for the policies `base64` and `object`.
    public var source: FileSource?
    /// The name of the part; nil: the field's own.
    public var name: FileNameTemplate?
    /// The filename of the part; nil: the one it came with.
    public var filename: Filename?
    /// The part's Content-Type on output.
    public var mediaType: String?
    /// Decoded bytes of the file; nil: no limit but the body's.
    public var max: Int?
    /// The media types that are taken; empty: all. A file without a type is `mediaType`, or else application/octet-stream.
    public var types: [MediaPattern] = []
    /// What a picture becomes before it goes out; nil: the file passes. Who owns the conversion makes it: the whole file is held until
    /// then. Base64 at `path` is then read also where the output has no files, and goes out as base64 again.
    package var image: ImageRule?

    /// A rule for the file at `path`.
    public init(
        path: FieldPath, policy: FilePolicy, source: FileSource? = nil, name: FileNameTemplate? = nil,
        filename: Filename? = nil, mediaType: String? = nil, max: Int? = nil, types: [MediaPattern] = []
    ) {
        self.path = path
        self.policy = policy
        self.source = source
        self.name = name
        self.filename = filename
        self.mediaType = mediaType
        self.max = max
        self.types = types
    }

    /// A key of the rule as errors name it: the path is that of the settings, whichever element the file is of.
    internal func setting(_ key: String) -> String { Self.setting(path, key) }

    package static func setting(_ path: FieldPath, _ key: String) -> String { "files.\(path).\(key)" }

    /// What the values at `path` must be to become files where a body of `input` becomes `output`.
    package func source(from input: BodyEncoding, to output: BodyEncoding) -> FileSource? {
        output.hasFiles || image != nil ? source(from: input) : nil
    }

    /// Whether a text of the body gives its files their names.
    package var takesFilename: Bool {
        if case .field = filename { return true }
        return source == .object || policy == .object
    }

    /// What the values at `path` must be to become files where a body of `input` becomes multipart.
    package func source(from input: BodyEncoding) -> FileSource? {
        if let source { return source == .object && input.isFlat ? nil : source }
        return switch policy {
        // A multipart body has files of its own, and this is about them.
        case .base64: input.hasFiles ? nil : .base64
        case .object: input.isFlat ? nil : .object
        case .stream, .drop, .reject: nil
        }
    }
}

extension ConversionPlan {
    /// The plan without what is made of files elsewhere: they pass as they are.
    package var passingFiles: ConversionPlan {
        var plan = self
        for index in plan.files.indices { plan.files[index].image = nil }
        return plan
    }

    /// The name of the field in which the one file of a raw body stands, in front of the map.
    package var rawField: String { inputField ?? Raw.Decoder.standardField }

    /// The rule that the one file of a raw body comes to, by its place in `files`; nil: it comes to none.
    package var ruleOfRawFile: Int? {
        var name = FieldName()
        var mapped = MappedName()
        var names = NameMapper(map, observer: nil)
        let field = Array(rawField.utf8)
        do throws(ConversionError) {
            try name.parse(field.span, options: fieldDecoding, limits: limits)
            mapped.set(name)
            if name.isDropped { return nil }
            if case .removed = try names.apply(to: &mapped) { return nil }
        } catch {
            return nil
        }
        for index in files.indices where mapped.isAtOrBelow(files[index].path) { return index }
        return nil
    }

    /// What happens to a file that no rule is about: what is said of reading, or else of writing.
    internal var generalFilePolicy: FilePolicy {
        fieldDecoding.files == .stream ? fieldEncoding.files : fieldDecoding.files
    }
}

/// How a value holds the bytes of a file.
public enum FileSource: String, Hashable, Sendable, CaseIterable {
    /// Base64 (RFC 4648 §4), or a data URL that holds base64.
    case base64
    /// Base64 with `-` and `_`, padded or not (RFC 4648 §5).
    case base64url
    /// A data URL (RFC 2397) that holds base64; its type becomes the file's.
    case dataURL = "data_url"
    /// `{"filename":"a.jpg","content_type":"image/jpeg","data":"<base64>"}`, of which `filename` and `content_type` may be
    /// left out and must precede `data`. Documents only.
    case object
}

/// The name of a file's part: a text in which `{index}` stands for a number from 0 on. It is that of the element in its array where the
/// rule's path leads through the elements of one array (`photos`, `items[*].photo`), whether or not the others have a file. Elsewhere
/// it is that of the file among those of its rule.
public struct FileNameTemplate: Hashable, Sendable {
    internal let pattern: NamePattern

    /// Nil for an empty text and for braces around anything but `index`.
    public init?(_ text: String) {
        guard !text.isEmpty else { return nil }
        var pieces: [[UInt8]] = [[]]
        var rest = Array(text.utf8)[...]
        let mark = Array("{index}".utf8)
        while let byte = rest.first {
            if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "}") {
                guard rest.starts(with: mark) else { return nil }
                rest = rest.dropFirst(mark.count)
                pieces.append([])
            } else {
                pieces[pieces.count - 1].append(byte)
                rest = rest.dropFirst()
            }
        }
        pattern = NamePattern(pieces: pieces)
    }

    /// The name of a file by its number, from 0 on.
    package func text(_ index: Int) -> String {
        pattern.pieces.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "\(index)")
    }
}
