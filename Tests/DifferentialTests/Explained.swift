/// Differences that are meant, each with its reason.
enum Explained {
    /// What only we refuse, by our code: NIO's decoder leaves it to the server that uses it, or tolerates it.
    static let us: [String: String] = [
        "http_bad_authority": "R10: NIO takes any text for an absolute target's authority",
        "http_bad_chunk_size": "R26: leading zeros beyond 16 digits",
        "http_bad_connection": "R31: NIO doesn't read Connection as a list of tokens",
        "http_bad_content_length": "R19: NIO counts to 64 bits, we to 63",
        "http_bad_field_value": "R14: high bytes where they would matter",
        "http_bad_host": "R17: NIO takes any text for a host",
        "http_bad_percent": "R11: NIO takes any target",
        "http_bad_request_line": "R4: HTTP/0.9, which NIO waits with",
        "http_bad_scheme": "R9: NIO takes any target",
        "http_bad_target": "R9: NIO doesn't compare method and target",
        "http_bad_target_byte": "R8: NIO takes bytes that no URI has",
        "http_bad_transfer_encoding": "R21: NIO takes what ends in chunked, or is a list",
        "http_bare_cr": "R3: more CR before a request line",
        "http_bare_lf": "R1: NIO takes LF for CRLF at some places",
        "http_bad_version": "R4: NIO takes several spaces between target and version",
        "http_body_too_large": "R20: NIO has no limit",
        "http_chunk_extensions_too_long": "R27: NIO has no limit",
        "http_chunk_overhead": "R29: NIO has no limit",
        "http_expectation_failed": "R32: NIO doesn't read Expect",
        "http_field_name_too_long": "R12: NIO has no limit",
        "http_head_too_large": "R16: NIO's limit is higher",
        "http_host_mismatch": "R9: NIO doesn't compare target and Host",
        "http_listed_field": "R35: NIO doesn't read Content-Type",
        "http_method_not_supported": "R34: NIO takes CONNECT and TRACE",
        "http_missing_host": "R17: NIO doesn't ask for Host",
        "http_protected_connection_option": "R31: NIO doesn't remove what Connection names",
        "http_repeated_field": "R35: NIO takes fields as often as they come",
        "http_repeated_host": "R17: NIO takes Host as often as it comes",
        "http_request_line_too_long": "R7: NIO's limit is higher",
        "http_too_many_empty_lines": "R3: NIO skips any number",
        "http_too_many_fields": "R16: NIO's limit is higher",
        "http_too_many_trailers": "R30: NIO's limit is higher",
        "http_trailers_too_large": "R30: NIO's limit is higher",
        "http_transfer_encoding_in_1_0": "R23: NIO takes it",
        "http_underscore_alias": "R18: NIO takes any token for a name",
        "http_unknown_transfer_coding": "R21: NIO takes codings before chunked",
        "http_unsupported_version": "R6: NIO takes 0.9 and 2.0",
    ]

    /// What only NIO refuses, by its error.
    static let them: [String: String] = [
        "invalid HTTP method": "R5: we pass any token on",
        "invalid HTTP version": "R6: we read 1.2 to 1.9 as 1.1",
        "invalid character in chunk size header":
            "R27: white space around = and ; of an extension, which the grammar has",
        "invalid character in content-length header": "R30: a framing field in a trailer, which we drop",
        "unknown (http_parser error)": "R30: a framing field in a trailer, which we drop",
    ]
}
