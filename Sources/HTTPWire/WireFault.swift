/// Every reason for a `WireError`, with its texts and the status it suggests for a request. The texts live only here.
internal enum WireFault: UInt8, Hashable, Sendable, CaseIterable {
    case bareLF, bareCR, tooManyEmptyLines
    case tlsRecord, proxyHeader
    case badRequestLine, badMethod, badVersion, unsupportedVersion, badStatusLine, badStatus, requestLineTooLong
    case badTarget, badTargetByte, badPercent, badAuthority, badScheme
    case badFieldName, fieldNameTooLong, missingColon, spaceBeforeColon, obsFold, badFieldValue, underscoreAlias
    case fieldLineTooLong, headTooLarge, tooManyFields
    case missingHost, repeatedHost, badHost, hostMismatch
    case badContentLength, repeatedContentLength, badTransferEncoding, unknownTransferCoding
    case lengthAndTransferEncoding, transferEncodingInOldVersion
    case badConnection, protectedConnectionOption, expectationFailed, repeatedSingleton, listedSingleton
    case methodNotSupported
    case badChunkSize, badChunkExtension, badChunkEnd, chunkExtensionsTooLong, chunkOverhead, chunkTooLarge
    case bodyTooLarge, bodyCut, badTrailer, trailersTooLarge, tooManyTrailers
    case tooManyInterim
    case lengthExceeded, lengthShort, bodyWithoutFraming

    /// The status to answer a request with.
    var status: Int {
        switch self {
        case .requestLineTooLong: 414
        case .unsupportedVersion: 505
        case .fieldLineTooLong, .headTooLarge, .tooManyFields, .trailersTooLarge, .tooManyTrailers: 431
        case .unknownTransferCoding, .methodNotSupported: 501
        case .expectationFailed: 417
        case .bodyTooLarge, .chunkExtensionsTooLong, .chunkOverhead, .chunkTooLarge: 413
        case .badStatusLine, .badStatus, .tooManyInterim: 502
        case .lengthExceeded, .lengthShort, .bodyWithoutFraming: 500
        default: 400
        }
    }

    var texts: (code: StaticString, reason: StaticString) {
        switch self {
        case .bareLF: ("http_bare_lf", "a line ends in LF without CR")
        case .bareCR: ("http_bare_cr", "a CR is not followed by LF")
        case .tooManyEmptyLines: ("http_too_many_empty_lines", "too many empty lines before the request line")
        case .tlsRecord: ("http_tls", "the connection begins with TLS where a message of HTTP is awaited")
        case .proxyHeader:
            ("http_proxy_header", "the connection begins with a header of the PROXY protocol, which isn't taken here")
        case .badRequestLine: ("http_bad_request_line", "the request line is not method, target and version")
        case .badMethod: ("http_bad_method", "the method is not a token of at most 32 bytes")
        case .badVersion: ("http_bad_version", "the version is not of the form HTTP/1.1")
        case .unsupportedVersion: ("http_unsupported_version", "this version of HTTP is not spoken here")
        case .badStatusLine: ("http_bad_status_line", "the status line is not version, three digits and reason")
        case .badStatus: ("http_bad_status", "the status is less than 100")
        case .requestLineTooLong: ("http_request_line_too_long", "the start line is longer than limits.request_line")
        case .badTarget: ("http_bad_target", "the target has a form that this method does not take")
        case .badTargetByte: ("http_bad_target_byte", "the target holds a byte that must be percent-encoded")
        case .badPercent: ("http_bad_percent", "a % in the path is not followed by two hexadecimal digits")
        case .badAuthority: ("http_bad_authority", "the target's authority is not host and port")
        case .badScheme: ("http_bad_scheme", "the scheme is neither http nor https")
        case .badFieldName: ("http_bad_field_name", "a field name is not a token")
        case .fieldNameTooLong: ("http_field_name_too_long", "a field name is longer than 256 bytes")
        case .missingColon: ("http_missing_colon", "a field line has no colon")
        case .spaceBeforeColon: ("http_space_before_colon", "white space stands between a field name and its colon")
        case .obsFold: ("http_obs_fold", "a line starts with white space (folded field lines are obsolete)")
        case .badFieldValue: ("http_bad_field_value", "a field value holds a byte that it must not hold")
        case .underscoreAlias:
            ("http_underscore_alias", "a field name imitates a framing or routing field with _ for -")
        case .fieldLineTooLong: ("http_field_line_too_long", "a field line is longer than limits.field_line")
        case .headTooLarge: ("http_head_too_large", "the head is larger than limits.head")
        case .tooManyFields: ("http_too_many_fields", "the head has more field lines than limits.header_fields")
        case .missingHost: ("http_missing_host", "an HTTP/1.1 request needs a Host field")
        case .repeatedHost: ("http_repeated_host", "Host must appear once")
        case .badHost: ("http_bad_host", "Host is not a host and an optional port")
        case .hostMismatch: ("http_host_mismatch", "Host and the target's authority differ")
        case .badContentLength: ("http_bad_content_length", "Content-Length is not a number of bytes")
        case .repeatedContentLength: ("http_repeated_content_length", "Content-Length must appear once")
        case .badTransferEncoding: ("http_bad_transfer_encoding", "Transfer-Encoding is not exactly chunked")
        case .unknownTransferCoding: ("http_unknown_transfer_coding", "only the chunked transfer coding is undone here")
        case .lengthAndTransferEncoding:
            ("http_length_and_transfer_encoding", "Content-Length and Transfer-Encoding exclude each other")
        case .transferEncodingInOldVersion:
            ("http_transfer_encoding_in_1_0", "HTTP/1.0 messages have no Transfer-Encoding")
        case .badConnection: ("http_bad_connection", "Connection is not a short list of tokens")
        case .protectedConnectionOption:
            ("http_protected_connection_option", "Connection names a field that must not be removed")
        case .expectationFailed: ("http_expectation_failed", "the only expectation that can be met is 100-continue")
        case .repeatedSingleton: ("http_repeated_field", "a field that must appear once is repeated")
        case .listedSingleton: ("http_listed_field", "a field that holds one value holds a list")
        case .methodNotSupported: ("http_method_not_supported", "CONNECT and TRACE are not supported")
        case .badChunkSize: ("http_bad_chunk_size", "a chunk size is not 1 to 16 hexadecimal digits")
        case .badChunkExtension:
            ("http_bad_chunk_extension", "what stands behind a chunk size is no well-formed extension")
        case .badChunkEnd: ("http_bad_chunk_end", "chunk data is not followed by CRLF")
        case .chunkExtensionsTooLong:
            ("http_chunk_extensions_too_long", "chunk extensions are longer than 4 KiB in a line or 16 KiB in all")
        case .chunkOverhead: ("http_chunk_overhead", "too much chunk framing for too little data")
        case .chunkTooLarge: ("http_chunk_too_large", "the chunks are larger than 2^63 - 1 bytes in all")
        case .bodyTooLarge: ("http_body_too_large", "the body is larger than limits.body")
        case .bodyCut: ("http_body_cut", "the connection ended in the middle of the body")
        case .badTrailer: ("http_bad_trailer", "a trailer line is malformed")
        case .trailersTooLarge: ("http_trailers_too_large", "the trailers are larger than 16 KiB")
        case .tooManyTrailers: ("http_too_many_trailers", "there are more than 32 trailer lines")
        case .tooManyInterim: ("http_too_many_interim", "too many interim responses before a final one")
        case .lengthExceeded: ("http_length_exceeded", "more body bytes than Content-Length announced")
        case .lengthShort: ("http_length_short", "fewer body bytes than Content-Length announced")
        case .bodyWithoutFraming: ("http_body_without_framing", "body bytes for a message that has no body")
        }
    }

    /// The setting that bounds what came, of a request's head; nil of all else.
    var setting: StaticString? {
        switch self {
        case .requestLineTooLong: "limits.request_line"
        case .fieldLineTooLong: "limits.field_line"
        case .headTooLarge: "limits.head"
        case .tooManyFields: "limits.header_fields"
        default: nil
        }
    }

    /// What is said of a response in place of `texts`: its head is bounded by the defaults of `WireLimits`, which no setting changes.
    var responseReason: String? {
        let limits = WireLimits()
        return switch self {
        case .requestLineTooLong: "the status line is longer than \(limits.requestLine >> 10) KiB"
        case .badFieldValue: "a field value holds a byte that it must not hold, or over HTTP/2 white space at an end"
        case .fieldLineTooLong: "a field line is longer than \(limits.fieldLine >> 10) KiB"
        case .headTooLarge: "the head is larger than \(limits.head >> 10) KiB"
        case .tooManyFields: "the head has more than \(limits.fieldCount) field lines"
        default: nil
        }
    }
}
