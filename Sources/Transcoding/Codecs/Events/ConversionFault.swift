/// What a format can find wrong. A case has one row in the format's table, which says all of the error but where it happened.
package protocol ConversionFault: Hashable, Sendable {
    /// The error without a place: kind, code, reason, and the setting that would let the input through.
    var row: ConversionError { get }
}

extension ConversionFault {
    package var kind: ConversionError.Kind { row.kind }
    /// The stable code of `ConversionError`.
    package var code: String { row.code }
    /// One sentence for a person.
    package var reason: String { row.reason }
    /// The setting that would let the input through.
    package var setting: String? { row.setting }

    /// The error for this fault. `offset` counts bytes of the input from 0; `field` is spelled as the format would have it.
    package func error(offset: Int? = nil, field: String? = nil) -> ConversionError {
        var error = row
        error.offset = offset
        error.field = field
        return error
    }

    /// As above, at a place in a document, of which the format has a JSON Pointer where it isn't the root.
    package func error(offset: Int? = nil, pointer: String?) -> ConversionError {
        error(offset: offset).at(pointer: pointer)
    }
}

/// The rows of the tables.
extension ConversionError {
    internal static func malformed(_ code: String, _ reason: String, setting: String? = nil) -> Self {
        Self(.malformed, code: code, reason: reason, setting: setting)
    }

    internal static func limit(_ code: String, _ reason: String, setting: String? = nil) -> Self {
        Self(.limit, code: code, reason: reason, setting: setting)
    }

    internal static func unsupported(_ code: String, _ reason: String, setting: String? = nil) -> Self {
        Self(.unsupported, code: code, reason: reason, setting: setting)
    }

    internal static func unrepresentable(_ code: String, _ reason: String, setting: String? = nil) -> Self {
        Self(.unrepresentable, code: code, reason: reason, setting: setting)
    }
}
