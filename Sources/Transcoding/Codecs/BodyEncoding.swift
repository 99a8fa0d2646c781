internal import Octets

/// The encodings a conversion reads and writes.
///
/// What each reads and writes is said with its codec: `JSON`, `Form`, `Multipart`, `PropertyList`, `XML`.
public enum BodyEncoding: String, Hashable, Sendable, CaseIterable {
    /// `application/x-www-form-urlencoded`, JSON of RFC 8259, and `multipart/form-data` of RFC 7578.
    case form, json, multipart
    /// A property list: read in XML or binary, written in XML.
    case plist
    /// A binary property list.
    case bplist
    /// XML 1.0, by the conventions of `XML.DecodingOptions` and `XML.EncodingOptions`.
    case xml
    /// The whole body is one text.
    case text
    /// The whole body is one file, of any type.
    case raw

    /// What `auto` takes: the encodings that have a structure of their own.
    public static let structured = allCases.filter { $0.traits.contains(.isAuto) }
    /// Those of them without files, whose values can be told from a body alone.
    package static let values = structured.filter { !$0.hasFiles }

    private struct Traits: OptionSet {
        let rawValue: UInt8

        static let isFlat = Traits(rawValue: 1 << 0)
        static let hasObjects = Traits(rawValue: 1 << 1)
        static let hasFiles = Traits(rawValue: 1 << 2)
        static let hasDates = Traits(rawValue: 1 << 3)
        static let isBinary = Traits(rawValue: 1 << 4)
        static let isWhole = Traits(rawValue: 1 << 5)
        static let isAuto = Traits(rawValue: 1 << 6)
    }

    /// What is asked of every encoding, as the properties below say it.
    @inline(__always)
    private var row: (number: Int, name: StaticString, mediaType: String, traits: Traits) {
        switch self {
        case .form: (0, "form", "application/x-www-form-urlencoded", [.isFlat, .isAuto])
        case .json: (1, "json", "application/json", [.hasObjects, .isAuto])
        case .multipart: (2, "multipart", "multipart/form-data", [.isFlat, .hasFiles, .isAuto])
        case .plist: (3, "plist", "application/x-plist", [.hasObjects, .hasDates, .isAuto])
        case .bplist: (4, "bplist", "application/x-plist", [.hasObjects, .hasDates, .isBinary])
        case .xml: (5, "xml", "application/xml", [.hasObjects, .isAuto])
        case .text: (6, "text", "text/plain", [.isWhole])
        case .raw: (7, "raw", "application/octet-stream", [.isFlat, .hasFiles, .isWhole])
        }
    }

    private var traits: Traits { row.traits }

    /// A number of its own, from 0 on, for tables.
    public var number: Int { row.number }

    /// The name in settings, logs and metrics: the raw value, without an allocation.
    public var name: StaticString { row.name }

    /// The media type of a body in this encoding, in lower case and without parameters.
    public var mediaType: String { row.mediaType }

    /// Whether a body is a list of fields and files, and no document.
    public var isFlat: Bool { traits.contains(.isFlat) }

    /// Whether a body is a document with objects, so that a file can be one of them.
    public var hasObjects: Bool { traits.contains(.hasObjects) }

    /// Whether a body can hold files as such.
    public var hasFiles: Bool { traits.contains(.hasFiles) }

    /// Whether a body can hold dates and data as such, and not as texts.
    package var hasDates: Bool { traits.contains(.hasDates) }

    /// Whether a body is a document that isn't written as text.
    public var isBinary: Bool { traits.contains(.isBinary) }

    /// Whether a body is a single text or file, without names.
    package var isWhole: Bool { traits.contains(.isWhole) }

    /// What may stand behind a body without being part of it; nil where its end is the body's: forms, text, files, and binary
    /// property lists, whose last bytes say where the others are.
    public var padding: OutputPadding? {
        switch self {
        case .multipart: .lines
        case .json, .plist, .xml: .spaces
        case .form, .text, .raw, .bplist: nil
        }
    }

    /// Bytes of the shortest field: a part of multipart has 45 at least, a pair of a form and a member of a document two.
    internal var shortestField: Int { self == .multipart ? 45 : 2 }

    /// What a field of this encoding gains as a part of a multipart body around its name and content, less what stood around
    /// them: the delimiter with a boundary of 22 characters, Content-Disposition, and a Content-Type where none came. Where
    /// the input nests objects, the name repeats those of the objects around.
    internal var growthAsPart: Int {
        switch self {
        case .multipart: 64
        case .form, .raw, .text: 120
        case .json, .plist, .bplist, .xml: 180
        }
    }

    /// The encoding that a media type names, whatever its case; nil for any other type.
    internal init?(type: Span<UInt8>, subtype: Span<UInt8>) {
        let isApplication = type.isEqualIgnoringCase(to: "application")
        let isText = type.isEqualIgnoringCase(to: "text")
        if isApplication || isText, subtype.isEqualIgnoringCase(to: "json") {
            self = .json
        } else if isApplication, subtype.isEqualIgnoringCase(to: "x-www-form-urlencoded") {
            self = .form
        } else if type.isEqualIgnoringCase(to: "multipart"), subtype.isEqualIgnoringCase(to: "form-data") {
            self = .multipart
        } else if isApplication || isText, subtype.isEqualIgnoringCase(to: "xml") {
            self = .xml
        } else if isApplication, subtype.isEqualIgnoringCase(to: "x-plist") {
            self = .plist
        } else if isText, subtype.isEqualIgnoringCase(to: "plain") {
            self = .text
        } else if type.isEqualIgnoringCase(to: "multipart") {
            return nil
        } else if subtype.ends(withIgnoringCase: "+json") {
            self = .json
        } else if subtype.ends(withIgnoringCase: "+xml") {
            self = .xml
        } else {
            return nil
        }
    }
}

/// The bytes that may stand behind a body without being part of it.
public enum OutputPadding: Sendable {
    /// Lines of CRLF behind the closing delimiter of multipart (RFC 2046 §5.1.1, epilogue). Blanks alone would be one long line,
    /// of which some servers take 1 KiB only.
    case lines
    /// White space behind a document: JSON (RFC 8259 §2), XML and property lists in XML (XML 1.0 §2.1, Misc).
    case spaces
}

extension Span where Element == UInt8 {
    /// Whether there is something before `suffix`, in any case, and nothing behind it.
    fileprivate func ends(withIgnoringCase suffix: StaticString) -> Bool {
        let start = count - suffix.utf8CodeUnitCount
        return start > 0 && extracting(start..<count).isEqualIgnoringCase(to: suffix)
    }
}
