import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// `multipart-vectors.json`: every row runs; the rows whose expectation isn't taken over are listed here, with the
/// proof and with what must happen instead.
@Suite("Multipart vectors")
struct MultipartVectorTests {
    @Test("All rows of the file are run")
    func count() {
        #expect(Multipart.vectorFile.vectors.count == 103)
        #expect(Multipart.vectorFile.encode_vectors.count == 18)
    }

    /// `mp-part-charset-latin1` expects the byte E9 as the content of a text field, with the charset beside it. That is what
    /// goes on where parts are copied (`MultipartContentTests.copied`). A reader of texts gets them in UTF-8, for every sink
    /// (`FieldSink`): so the same character in UTF-8, and its charset says so.
    static let transcoded = ["mp-part-charset-latin1": (content: "é", type: "text/plain; charset=utf-8")]

    @Test("A body is read as the vectors say, however it is cut", arguments: Multipart.vectorFile.vectors)
    func decode(vector: Multipart.Vector) throws {
        let recording: FieldRecording
        do throws(ConversionError) {
            let boundary = try Multipart.boundary(vector.content_type!)
            recording = Multipart.decode(vector.body, boundary: boundary, splits: 40)
        } catch {
            recording = FieldRecording([], failure: error)
        }
        if let expected = Self.transcoded[vector.id] {
            #expect(vector.error == nil && recording.failure == nil)
            #expect(recording.parts.map(\.content) == [ByteString(expected.content)])
            #expect(recording.parts.map(\.mediaType) == [ByteString(expected.type)])
        } else if vector.error != nil {
            #expect(vector.expect == nil)
            #expect(recording.failure != nil)
        } else {
            let parts = try #require(vector.parts)
            #expect(recording.failure == nil)
            // The vectors don't tell of further headers.
            let known = recording.parts.map { part in
                var part = part
                part.otherFields = []
                return part
            }
            #expect(known == parts)
        }
    }

    /// Each refused row with the fault it is refused for: a refusal for another reason would hide a hole.
    static let faults: [(id: String, code: String)] = [
        ("mp-only-open-boundary", "multipart_truncated"),
        ("mp-preamble-lf-only", "multipart_boundary_in_line"),
        ("mp-preamble-boundary-lookalike", "multipart_delimiter"),
        ("mp-lf-in-headers", "multipart_header_line_end"),
        ("mp-lf-end-of-headers", "multipart_header_line_end"),
        ("mp-cr-only-after-boundary", "multipart_delimiter"),
        ("mp-data-boundary-one-hyphen", "multipart_delimiter"),
        ("mp-data-boundary-cr-nolf", "multipart_delimiter"),
        ("mp-data-boundary-space-suffix", "multipart_delimiter"),
        ("mp-data-empty-no-crlf", "multipart_delimiter_glued"),
        ("mp-missing-final-after-delim", "multipart_truncated"),
        ("mp-missing-final-boundary-word", "multipart_truncated"),
        ("mp-truncated-in-header", "multipart_truncated"),
        ("mp-truncated-final-hyphen", "multipart_truncated"),
        ("mp-no-headers", "multipart_disposition_missing"),
        ("mp-no-disposition", "multipart_disposition_missing"),
        ("mp-cd-filename-no-name", "multipart_name_missing"),
        ("mp-cd-name-single-quoted", "multipart_parameters"),
        ("mp-cd-dup-name-param", "multipart_parameter_repeated"),
        ("mp-cd-dup-header", "multipart_header_repeated"),
        ("mp-cd-missing-semicolon", "multipart_parameters"),
        ("mp-cd-unterminated-quote", "multipart_parameters"),
        ("mp-fn-raw-quote", "multipart_parameters"),
        ("mp-fn-star-bad", "multipart_parameter_extended"),
        ("mp-fn-2231-continuation", "multipart_parameter_extended"),
        ("mp-fn-latin1-bytes", "multipart_invalid_utf8"),
        ("mp-fn-nul", "multipart_header_control"),
        ("mp-hdr-empty-name", "multipart_header_name"),
        ("mp-hdr-nul", "multipart_header_control"),
        ("mp-hdr-bare-cr-in-value", "multipart_header_line_end"),
        ("mp-hdr-20-headers", "limit_part_headers"),
        ("mp-hdr-long-20k", "limit_part_header_line"),
        ("mp-cte-base64", "multipart_transfer_encoding"),
        ("mp-cte-unknown", "multipart_transfer_encoding"),
        ("mp-ct-boundary-case-differs", "multipart_boundary_not_found"),
        ("mp-ct-boundary-71", "limit_boundary"),
        ("mp-ct-boundary-257", "limit_boundary"),
        ("mp-ct-boundary-two", "multipart_boundary_repeated"),
        ("mp-ct-boundary-ws-eq", "multipart_content_type"),
        ("mp-ct-boundary-comma", "multipart_content_type"),
        ("mp-ct-mixed-type", "multipart_media_type"),
        ("mp-delim-then-final-immediately", "multipart_header_name"),
    ]

    @Test("Every refused row is refused for its own fault")
    func reasons() throws {
        let rejected = Multipart.vectorFile.vectors.filter { $0.error != nil }
        #expect(Set(rejected.map(\.id)) == Set(Self.faults.map(\.id)))
        for vector in rejected {
            var code: String?
            do throws(ConversionError) {
                let boundary = try Multipart.boundary(vector.content_type!)
                code = Multipart.decode(.whole(vector.body), boundary: boundary).failure?.code
            } catch {
                code = error.code
            }
            #expect(code == Self.faults.first { $0.id == vector.id }?.code, "\(vector.id)")
        }
    }

    /// `mpe-wpt-name-9` expects a NUL in a Content-Disposition. No header value may have one (RFC 9110 §5.5), `mp-hdr-nul` and
    /// `mp-fn-nul` of this same file are refused for it, and a receiver in C ends the line there. So it is 422.
    static let unwritable = ["mpe-wpt-name-9": "multipart_name_unwritable"]

    /// These rows change the line ends of a value, as a browser does on submission. By default a value is copied
    /// (docs/principles.md 4; `mp-data-bare-cr-lf` must survive a re-encoding), so they run with `normalizesLineEnds`.
    static let submission = ["mpe-wpt-value-10", "mpe-wpt-value-11", "mpe-wpt-value-13"]

    @Test("A part is written as the vectors say", arguments: Multipart.vectorFile.encode_vectors)
    func encode(vector: Multipart.Vector) throws {
        let part = FieldRecorder.Part(
            name: ByteString(vector.name!), content: ByteString(vector.value!), isFile: vector.filename != nil,
            filename: vector.filename.map { ByteString($0) })
        do throws(ConversionError) {
            for pieceSize in [1, 2, Int.max] {
                let written = try Multipart.encode(
                    [part], normalizesLineEnds: Self.submission.contains(vector.id), pieceSize: pieceSize)
                let type = part.isFile ? "Content-Type: application/octet-stream\r\n" : ""
                let expected =
                    "--b\r\nContent-Disposition: \(vector.expect_disposition!)\r\n\(type)\r\n"
                    + "\(vector.expect_body ?? vector.value!)\r\n--b--\r\n"
                #expect(ByteString(written) == ByteString(expected))
            }
            #expect(Self.unwritable[vector.id] == nil)
        } catch {
            #expect(error.code == Self.unwritable[vector.id])
            #expect(error.kind == .unrepresentable)
        }
        if Self.submission.contains(vector.id) {
            let copied = try Multipart.encode([part])
            #expect(Multipart.decode(.whole(copied)).parts == [part])
        }
    }
}
