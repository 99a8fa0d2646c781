package import Octets

/// Changes of a head or of trailers that the data plane sends (`HeaderMutation`: 1 set_headers, 2 remove_headers). Removals are
/// made before the rest there.
package struct HeaderMutation: Sendable {
    /// The message's fields.
    package private(set) var bytes = OutputBuffer()

    package init() {}

    package var isEmpty: Bool { bytes.isEmpty }

    /// A field with this value takes the place of all of that name.
    package mutating func set(_ name: Span<UInt8>, _ value: Span<UInt8>) { write(name, value, appends: false) }

    /// One more field of that name.
    package mutating func append(_ name: Span<UInt8>, _ value: Span<UInt8>) { write(name, value, appends: true) }

    package mutating func remove(_ name: Span<UInt8>) { FieldWriter.bytes(2, name, to: &bytes) }

    package mutating func removeAll() { bytes.removeAll() }

    /// Gives memory of more than `limit` bytes back, where nothing is in it.
    package mutating func shrink(to limit: Int) { bytes.shrink(to: limit) }

    /// `HeaderValueOption`: 1 header (`HeaderValue`: 1 key, 3 raw_value), 2 append (`BoolValue`: 1 value), 3 append_action (0 append if
    /// it exists or add, 2 overwrite if it exists or add), 4 keep_empty_value: a field with an empty value is none there otherwise.
    ///
    /// Envoy's processor filter heeds `append` alone, where nothing means to overwrite, and `append_action` is what took its place in
    /// the rest of its API: whichever a data plane reads says the same here.
    private mutating func write(_ name: Span<UInt8>, _ value: Span<UInt8>, appends: Bool) {
        let header = FieldWriter.fieldCount(1, name.count) + FieldWriter.fieldCount(3, value.count)
        let count = FieldWriter.fieldCount(1, header) + (appends ? 4 : 2) + (value.isEmpty ? 2 : 0)
        FieldWriter.head(1, count, to: &bytes)
        FieldWriter.head(1, header, to: &bytes)
        FieldWriter.bytes(1, name, to: &bytes)
        FieldWriter.bytes(3, value, to: &bytes)
        if appends {
            FieldWriter.head(2, 2, to: &bytes)
            FieldWriter.number(1, 1, to: &bytes)
        } else {
            FieldWriter.number(3, 2, to: &bytes)
        }
        if value.isEmpty { FieldWriter.number(4, 1, to: &bytes) }
    }
}

/// Writes what we answer on a `Process` stream: one `ProcessingResponse` in gRPC's frame each.
///
/// `ProcessingResponse`: 1 request_headers, 2 response_headers, 3 request_body, 4 response_body (each 1 response, a `CommonResponse`:
/// 1 status, 2 header_mutation, 3 body_mutation); 5 request_trailers, 6 response_trailers (1 header_mutation); 7 immediate_response.
package enum ProcessingResponse {
    /// What an answer is to.
    package enum Kind: Int, Sendable {
        case head = 1
        case content = 3
        case trailers = 5
    }

    /// What becomes of content (`BodyMutation`: 1 body, 2 clear_body, 3 streamed_response).
    package enum ContentChange: Hashable, Sendable {
        /// It stays.
        case none
        /// What is given takes its place; nothing takes it away.
        case replace
        /// What is given goes on, in FULL_DUPLEX_STREAMED.
        case stream(isLast: Bool)
    }

    /// Bytes of content in one message at most, as Envoy's documentation wants: 64 KiB.
    package static let contentLimit = 64 * 1024

    /// Writes an answer to a head or to content.
    ///
    /// - Parameter replaces: whether the whole message is what is given, and the data plane's content, if there is some, is not
    ///   wanted (CONTINUE_AND_REPLACE).
    package static func write(
        _ kind: Kind, _ direction: Direction, _ mutation: HeaderMutation, _ change: ContentChange = .none,
        _ content: Span<UInt8> = Span(), replaces: Bool = false, to output: inout OutputBuffer
    ) {
        let contentCount: Int
        switch change {
        case .none: contentCount = 0
        case .replace: contentCount = content.isEmpty ? 2 : FieldWriter.fieldCount(1, content.count)
        case .stream(let isLast):
            let count = streamedCount(content.count, isLast: isLast)
            contentCount = FieldWriter.fieldCount(3, count)
        }
        let common =
            (replaces ? 2 : 0) + (mutation.isEmpty ? 0 : FieldWriter.fieldCount(2, mutation.bytes.count))
            + (change == .none ? 0 : FieldWriter.fieldCount(3, contentCount))
        let answer = FieldWriter.fieldCount(1, common)
        let field = kind.rawValue + direction.rawValue
        GRPC.frame(FieldWriter.fieldCount(field, answer), to: &output)
        FieldWriter.head(field, answer, to: &output)
        FieldWriter.head(1, common, to: &output)
        if replaces { FieldWriter.number(1, 1, to: &output) }
        if !mutation.isEmpty { FieldWriter.bytes(2, mutation.bytes.span, to: &output) }
        guard change != .none else { return }
        FieldWriter.head(3, contentCount, to: &output)
        switch change {
        case .none: break
        case .replace where content.isEmpty: FieldWriter.number(2, 1, to: &output)
        case .replace: FieldWriter.bytes(1, content, to: &output)
        case .stream(let isLast):
            FieldWriter.head(3, streamedCount(content.count, isLast: isLast), to: &output)
            if !content.isEmpty { FieldWriter.bytes(1, content, to: &output) }
            if isLast { FieldWriter.number(2, 1, to: &output) }
        }
    }

    /// Bytes of a `StreamedBodyResponse`: 1 body, 2 end_of_stream.
    private static func streamedCount(_ count: Int, isLast: Bool) -> Int {
        (count == 0 ? 0 : FieldWriter.fieldCount(1, count)) + (isLast ? 2 : 0)
    }

    /// Writes an answer to trailers.
    package static func writeTrailers(
        _ direction: Direction, _ mutation: HeaderMutation, to output: inout OutputBuffer
    ) {
        let count = mutation.isEmpty ? 0 : FieldWriter.fieldCount(1, mutation.bytes.count)
        let field = Kind.trailers.rawValue + direction.rawValue
        GRPC.frame(FieldWriter.fieldCount(field, count), to: &output)
        FieldWriter.head(field, count, to: &output)
        if count > 0 { FieldWriter.bytes(1, mutation.bytes.span, to: &output) }
    }

    /// Writes a response that the data plane gives its client in the place of all else (`ImmediateResponse`: 1 status, with 1 code;
    /// 2 headers, 3 body).
    package static func writeImmediate(
        _ status: Int, _ mutation: HeaderMutation, _ content: Span<UInt8>, to output: inout OutputBuffer
    ) {
        let code = 1 + FieldWriter.count(of: status)
        let count =
            FieldWriter.fieldCount(1, code)
            + (mutation.isEmpty ? 0 : FieldWriter.fieldCount(2, mutation.bytes.count))
            + (content.isEmpty ? 0 : FieldWriter.fieldCount(3, content.count))
        GRPC.frame(FieldWriter.fieldCount(7, count), to: &output)
        FieldWriter.head(7, count, to: &output)
        FieldWriter.head(1, code, to: &output)
        FieldWriter.number(1, status, to: &output)
        if !mutation.isEmpty { FieldWriter.bytes(2, mutation.bytes.span, to: &output) }
        if !content.isEmpty { FieldWriter.bytes(3, content, to: &output) }
    }
}
