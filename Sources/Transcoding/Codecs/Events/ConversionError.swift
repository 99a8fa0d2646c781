/// Why a conversion refused its input: one sentence for a person, a stable code for a program, and where it happened.
///
/// It never holds a value of the body; names of fields and byte offsets only.
public struct ConversionError: Error, Hashable, Sendable {
    /// Whose fault it is and so which status a proxy answers with.
    public enum Kind: Hashable, Sendable {
        /// The input can't be read as its type: 400.
        case malformed
        /// A limit was passed: 413.
        case limit
        /// The input is of a kind that this conversion doesn't take: 415.
        case unsupported
        /// The input is fine, and the target encoding can't carry it: 422.
        case unrepresentable
    }

    /// Whose fault it is.
    public var kind: Kind
    /// Stable, lower case with underscores, prefixed by the format: `json_unexpected_byte`, `form_invalid_utf8`, `limit_depth`.
    public var code: String
    /// One sentence in lower case without a full stop that says what is wrong and, where it helps, what to do.
    public var reason: String
    /// The offset into the input, in bytes from 0, where the fault was found.
    public var offset: Int?
    /// The name of the field (`a[b]`) or the JSON Pointer (`/a/b`) concerned; `isPointer` says which it is.
    public var field: String? { didSet { isPointer = false } }
    /// Whether `field` is a JSON Pointer (RFC 6901) into a document. A field of a form may have a name that looks like one.
    public private(set) var isPointer = false
    /// The setting that can be changed to let the input through: `limits.depth`, `nulls`, `date_fractions`. The words are those of
    /// the proxy's settings, as in `reason`; `property` has Swift's.
    public var setting: String?

    /// An error of these parts; see the properties.
    public init(
        _ kind: Kind, code: String, reason: String, offset: Int? = nil, field: String? = nil, setting: String? = nil
    ) {
        self.kind = kind
        self.code = code
        self.reason = reason
        self.offset = offset
        self.field = field
        self.setting = setting
    }

    /// The setting as a program calls it, a property of the options that it gave: `dateFractions` of `date_fractions`, whose value
    /// `drop` is `.drop`.
    public var property: String? {
        guard let words = setting?.split(separator: "_"), let first = words.first else { return nil }
        return words.dropFirst().reduce(String(first)) { $0 + $1.prefix(1).uppercased() + $1.dropFirst() }
    }

    /// A limit was passed. `code` is `limit_` and the setting's name.
    public static func limit(_ name: String, of value: Int, what: String, offset: Int? = nil, field: String? = nil)
        -> Self
    {
        ConversionError(
            .limit, code: "limit_\(name)", reason: "\(what) passes the limit of \(value) (limits.\(name))",
            offset: offset,
            field: field, setting: "limits.\(name)")
    }

    /// The same error, at a place in a document that a JSON Pointer names; nil: where in it isn't known.
    package func at(pointer: String?) -> Self {
        var error = self
        error.field = pointer
        error.isPointer = pointer?.utf8.first == UInt8(ascii: "/")
        return error
    }
}

extension ConversionError: CustomStringConvertible {
    /// The reason with field, offset and setting, in one line: controls in a field's name are shown as escapes.
    public var description: String {
        var text = reason
        if let field { text += ", field \"\(Self.printable(field))\"" }
        if let offset { text += ", at byte \(offset)" }
        if let setting, !reason.contains(setting) { text += ", setting \(Self.printable(setting))" }
        return text + " [\(code)]"
    }

    private static func printable(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else { return text }
        return text.unicodeScalars.reduce(into: "") { printable, scalar in
            printable +=
                scalar.properties.generalCategory == .control ? scalar.escaped(asASCII: true) : String(scalar)
        }
    }
}
