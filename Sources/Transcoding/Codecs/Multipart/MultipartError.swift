internal import Octets

extension Multipart {
    /// What can be wrong with a multipart body, its Content-Type, or what is to become one. The raw value is the `code`
    /// of the error.
    package enum Fault: String, Error, Hashable, CaseIterable {
        // The Content-Type.
        case mediaType = "multipart_media_type"
        case contentType = "multipart_content_type"
        case boundaryMissing = "multipart_boundary_missing"
        case boundaryRepeated = "multipart_boundary_repeated"
        case boundaryIllegal = "multipart_boundary_illegal"
        case charset = "multipart_charset"
        // The delimiters.
        case boundaryNotFound = "multipart_boundary_not_found"
        case boundaryInLine = "multipart_boundary_in_line"
        case delimiter = "multipart_delimiter"
        case delimiterGlued = "multipart_delimiter_glued"
        case delimiterInHeaders = "multipart_delimiter_in_headers"
        case endAfterPreamble = "multipart_end_after_preamble"
        case partAfterEnd = "multipart_part_after_end"
        case truncated = "multipart_truncated"
        // The headers of a part.
        case headerLineEnd = "multipart_header_line_end"
        case headerControl = "multipart_header_control"
        case headerName = "multipart_header_name"
        case headerFold = "multipart_header_fold"
        case dispositionMissing = "multipart_disposition_missing"
        case dispositionType = "multipart_disposition_type"
        case headerRepeated = "multipart_header_repeated"
        case parameters = "multipart_parameters"
        case parameterCount = "multipart_parameter_count"
        case parameterRepeated = "multipart_parameter_repeated"
        case parameterExtended = "multipart_parameter_extended"
        case nameMissing = "multipart_name_missing"
        case nameControl = "multipart_name_control"
        case filenameEmpty = "multipart_filename_empty"
        case partContentType = "multipart_part_content_type"
        case transferEncoding = "multipart_transfer_encoding"
        case transferContent = "multipart_transfer_content"
        case mixed = "multipart_mixed"
        // Names and text.
        case invalidUTF8 = "multipart_invalid_utf8"
        case invalidText = "charset_invalid"
        // What can't be written.
        case file = "multipart_file"
        case nameUnwritable = "multipart_name_unwritable"
        case nameCollapsed = "multipart_name_collapsed"
        case mediaTypeUnwritable = "multipart_media_type_unwritable"
        case headerUnwritable = "multipart_header_unwritable"

        internal var kind: ConversionError.Kind {
            switch self {
            case .mediaType, .charset: .unsupported
            case .parameterCount: .limit
            case .mixed, .file, .filenameEmpty, .nameUnwritable, .nameCollapsed, .mediaTypeUnwritable,
                .headerUnwritable:
                .unrepresentable
            default: .malformed
            }
        }

        internal var reason: String {
            switch self {
            case .mediaType: "the Content-Type is not multipart/form-data"
            case .contentType: "the parameters of the Content-Type can't be read"
            case .boundaryMissing: "the Content-Type has no boundary"
            case .boundaryRepeated: "the Content-Type has more than one boundary"
            case .boundaryIllegal: "the boundary is empty, ends with a space or has a character that RFC 2046 forbids"
            case .charset: "the text is in a charset that is not read here"
            case .boundaryNotFound: "the body ends without the boundary that its Content-Type declares"
            case .boundaryInLine: "the boundary stands in the preamble but not at the start of a line"
            case .delimiter: "the boundary is followed by neither a line end nor two hyphens"
            case .delimiterGlued: "the boundary follows the part's headers without a line end of its own"
            case .delimiterInHeaders: "a line of a part's headers begins with the boundary"
            case .endAfterPreamble: "the final boundary is the first one and text precedes it"
            case .partAfterEnd: "the boundary stands again after the final one, which had no part before it"
            case .truncated: "the body ends before the final boundary"
            case .headerLineEnd: "a part header has a carriage return or a line feed without the other"
            case .headerControl: "a part header has a control character"
            case .headerName: "a part header is not a name, a colon and a value"
            case .headerFold: "a part's headers begin with a continuation line"
            case .dispositionMissing: "a part has no Content-Disposition"
            case .dispositionType: "a part's Content-Disposition is neither form-data nor attachment"
            case .headerRepeated: "a part has two headers of one name where one is allowed"
            case .parameters: "the parameters of a part's Content-Disposition can't be read"
            case .parameterCount:
                "a part's Content-Disposition has more than \(HeaderParameters.maximumCount) parameters"
            case .parameterRepeated: "a parameter of a part's Content-Disposition stands twice"
            case .parameterExtended: "a part's name* or filename* can't be read, or a parameter is split"
            case .nameMissing: "a part's Content-Disposition has no name"
            case .nameControl: "a part's name or filename has a control character"
            case .filenameEmpty: "a filename has folders only, of which filenames: base leaves nothing"
            case .partContentType: "the parameters of a part's Content-Type can't be read"
            case .transferEncoding: "a part has a Content-Transfer-Encoding other than 7bit, 8bit and binary"
            case .transferContent: "a part's content is not in its Content-Transfer-Encoding"
            case .mixed: "a part is a multipart/mixed body of its own, which mixed_parts: reject refuses"
            case .invalidText: "a name or a text has bytes that its charset has not"
            case .invalidUTF8: "a name or a text is not UTF-8"
            case .file: "files are refused by files: reject"
            case .nameCollapsed:
                "two names become one where quotation marks and line ends are escaped, as this one and another do"
            case .nameUnwritable: "a name or filename has a control character, or ends with an unpaired backslash"
            case .mediaTypeUnwritable: "a part's media type is none (RFC 9110 section 8.3.1)"
            case .headerUnwritable: "a part header can't be written: a bad name, a control character or an encoding"
            }
        }

        private var setting: String? {
            switch self {
            case .invalidUTF8, .invalidText: "invalid_utf8"
            case .charset: "charset"
            case .transferEncoding: "transfer_encoding"
            case .mixed: "mixed_parts"
            case .file: "files"
            case .filenameEmpty: "filenames"
            default: nil
            }
        }

        /// The error for this fault. `offset` counts bytes of the body from 0.
        package func error(offset: Int? = nil, field: String? = nil) -> ConversionError {
            ConversionError(kind, code: rawValue, reason: reason, offset: offset, field: field, setting: setting)
        }
    }
}
