extension Multipart {
    /// What can be wrong with a multipart body, its Content-Type, or what is to become one.
    package enum Fault: ConversionFault, Error, CaseIterable {
        // The Content-Type.
        case mediaType, contentType, boundaryMissing, boundaryRepeated, boundaryIllegal, charset
        // The delimiters.
        case boundaryNotFound, boundaryInLine, delimiter, delimiterGlued, delimiterInHeaders, endAfterPreamble
        case partAfterEnd, truncated
        // The headers of a part.
        case headerLineEnd, headerControl, headerName, headerFold, dispositionMissing, dispositionType, headerRepeated
        case parameters, parameterCount, parameterRepeated, parameterExtended, nameMissing, nameControl, filenameEmpty
        case partContentType, transferEncoding, transferContent, mixed
        // Names and text.
        case invalidUTF8, invalidText
        // What can't be written.
        case file, nameUnwritable, nameCollapsed, mediaTypeUnwritable, headerUnwritable

        package var row: ConversionError {
            switch self {
            // The Content-Type.
            case .mediaType: .unsupported("multipart_media_type", "the Content-Type is not multipart/form-data")
            case .contentType: .malformed("multipart_content_type", "the parameters of the Content-Type can't be read")
            case .boundaryMissing: .malformed("multipart_boundary_missing", "the Content-Type has no boundary")
            case .boundaryRepeated:
                .malformed("multipart_boundary_repeated", "the Content-Type has more than one boundary")
            case .boundaryIllegal:
                .malformed(
                    "multipart_boundary_illegal",
                    "the boundary is empty, ends with a space or has a character that RFC 2046 forbids")
            case .charset:
                .unsupported("multipart_charset", "the text is in a charset that is not read here", setting: "charset")

            // The delimiters.
            case .boundaryNotFound:
                .malformed(
                    "multipart_boundary_not_found", "the body ends without the boundary that its Content-Type declares")
            case .boundaryInLine:
                .malformed(
                    "multipart_boundary_in_line", "the boundary stands in the preamble but not at the start of a line")
            case .delimiter:
                .malformed(
                    "multipart_delimiter",
                    "the boundary is followed by neither a line end nor two hyphens that end the line")
            case .delimiterGlued:
                .malformed(
                    "multipart_delimiter_glued", "the boundary follows the part's headers without a line end of its own"
                )
            case .delimiterInHeaders:
                .malformed("multipart_delimiter_in_headers", "a line of a part's headers begins with the boundary")
            case .endAfterPreamble:
                .malformed("multipart_end_after_preamble", "the final boundary is the first one and text precedes it")
            case .partAfterEnd:
                .malformed(
                    "multipart_part_after_end",
                    "the boundary stands again after the final one, which had no part before it")
            case .truncated: .malformed("multipart_truncated", "the body ends before the final boundary")

            // The headers of a part.
            case .headerLineEnd:
                .malformed(
                    "multipart_header_line_end", "a part header has a carriage return or a line feed without the other")
            case .headerControl: .malformed("multipart_header_control", "a part header has a control character")
            case .headerName: .malformed("multipart_header_name", "a part header is not a name, a colon and a value")
            case .headerFold: .malformed("multipart_header_fold", "a part's headers begin with a continuation line")
            case .dispositionMissing: .malformed("multipart_disposition_missing", "a part has no Content-Disposition")
            case .dispositionType:
                .malformed(
                    "multipart_disposition_type", "a part's Content-Disposition is neither form-data nor attachment")
            case .headerRepeated:
                .malformed("multipart_header_repeated", "a part has two headers of one name where one is allowed")
            case .parameters:
                .malformed("multipart_parameters", "the parameters of a part's Content-Disposition can't be read")
            case .parameterCount:
                .limit(
                    "multipart_parameter_count",
                    "a part's Content-Disposition has more than \(HeaderParameters.maximumCount) parameters")
            case .parameterRepeated:
                .malformed("multipart_parameter_repeated", "a parameter of a part's Content-Disposition stands twice")
            case .parameterExtended:
                .malformed(
                    "multipart_parameter_extended", "a part's name* or filename* can't be read, or a parameter is split"
                )
            case .nameMissing:
                .malformed(
                    "multipart_name_missing",
                    "a part's Content-Disposition has no name, or an empty one, which dialect: qs refuses as multer does"
                )
            case .nameControl: .malformed("multipart_name_control", "a part's name or filename has a control character")
            case .filenameEmpty:
                .unrepresentable(
                    "multipart_filename_empty", "a filename has folders only, of which filenames: base leaves nothing",
                    setting: "filenames")
            case .partContentType:
                .malformed("multipart_part_content_type", "the parameters of a part's Content-Type can't be read")
            case .transferEncoding:
                .malformed(
                    "multipart_transfer_encoding",
                    "a part has a Content-Transfer-Encoding other than 7bit, 8bit and binary",
                    setting: "transfer_encoding")
            case .transferContent:
                .malformed("multipart_transfer_content", "a part's content is not in its Content-Transfer-Encoding")
            case .mixed:
                .unrepresentable(
                    "multipart_mixed", "a part is a multipart/mixed body of its own, which mixed_parts: reject refuses",
                    setting: "mixed_parts")

            // Names and text.
            case .invalidUTF8:
                .malformed("multipart_invalid_utf8", "a name or a text is not UTF-8", setting: "invalid_utf8")
            case .invalidText: Charset.Fault.invalid.row

            // What can't be written.
            case .file: .unrepresentable("multipart_file", "files are refused by files: reject", setting: "files")
            case .nameUnwritable:
                .unrepresentable(
                    "multipart_name_unwritable",
                    "a name or filename has a control character, or ends with an unpaired backslash where those aren't escaped"
                )
            case .nameCollapsed:
                .unrepresentable(
                    "multipart_name_collapsed",
                    "two names become one by their escapes of quotation marks, backslashes or line ends, as this one and another do"
                )
            case .mediaTypeUnwritable:
                .unrepresentable(
                    "multipart_media_type_unwritable", "a part's media type is none (RFC 9110 section 8.3.1)")
            case .headerUnwritable:
                .unrepresentable(
                    "multipart_header_unwritable",
                    "a part header can't be written: a bad name, a control character or an encoding")
            }
        }
    }
}
