import Foundation
import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

extension Multipart {
    /// A row of `multipart-vectors.json`, of the decoder's or the encoder's list.
    struct Vector: Decodable, CustomTestStringConvertible {
        struct Part: Decodable {
            let name: String
            let filename: String?
            let type: String?
            let body: String
        }

        struct Expectation: Decodable {
            let parts: [Part]
        }

        let id: String
        // Decoding.
        let content_type: String?
        let body_b64: String?
        let expect: Expectation?
        let error: String?
        // Encoding.
        let name: String?
        let filename: String?
        let value: String?
        let expect_disposition: String?
        let expect_body: String?

        var testDescription: String { id }

        var body: [UInt8] { Array(Data(base64Encoded: body_b64!)!) }

        var parts: [FieldRecorder.Part]? {
            expect?.parts.map { part in
                FieldRecorder.Part(
                    name: ByteString(part.name), content: ByteString(Array(Data(base64Encoded: part.body)!)),
                    isFile: part.filename != nil, filename: part.filename.map { ByteString($0) },
                    mediaType: part.type.map { ByteString($0) })
            }
        }
    }

    struct VectorFile: Decodable {
        let vectors: [Vector]
        let encode_vectors: [Vector]
    }

    static let vectorFile: VectorFile = {
        let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let data = try! Data(contentsOf: folder.appendingPathComponent("Vectors/multipart-vectors.json"))
        return try! JSONDecoder().decode(VectorFile.self, from: data)
    }()

    /// The boundary of a Content-Type.
    static func boundary(
        _ contentType: String, limits: Limits = Limits()
    ) throws(ConversionError) -> Boundary {
        try Boundary(contentType: Array(contentType.utf8).span, limits: limits)
    }

    /// The boundary `b`.
    static let b = try! boundary("multipart/form-data; boundary=b")

    /// What a decoder makes of one cut of a body.
    static func decode(
        _ cut: Cut, boundary: Boundary = b, options: FieldDecodingOptions = .init(), limits: Limits = .init(),
        pauses: Bool = false
    ) -> FieldRecording {
        var decoder = Decoder(boundary: boundary, options: options, limits: limits)
        return FieldRecorder.record(cut, with: &decoder, pauses: pauses)
    }

    /// What a decoder makes of a body, having checked that it makes the same of all its cuts, with a sink that has room
    /// and with one that is full after each event.
    static func decode(
        _ body: [UInt8], boundary: Boundary = b, options: FieldDecodingOptions = .init(), limits: Limits = .init(),
        splits: Int = 400, sourceLocation: SourceLocation = #_sourceLocation
    ) -> FieldRecording {
        var decoder = Decoder(boundary: boundary, options: options, limits: limits)
        let whole = FieldRecorder.record(.whole(body), with: &decoder)
        #expect(whole.violations.isEmpty, sourceLocation: sourceLocation)
        for cut in Recut.cuts(of: body, splits: splits) {
            for pauses in [false, true] {
                decoder.reset(boundary: boundary)
                let other = FieldRecorder.record(cut, with: &decoder, pauses: pauses)
                #expect(other == whole, "\(cut), pauses: \(pauses)", sourceLocation: sourceLocation)
            }
        }
        return whole
    }

    static func decode(
        _ body: String, options: FieldDecodingOptions = .init(), limits: Limits = .init(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) -> FieldRecording {
        decode(Array(body.utf8), options: options, limits: limits, sourceLocation: sourceLocation)
    }

    /// A body of one part with these header lines, joined with CRLF, and this content.
    static func body(headers: String, content: String = "v") -> String {
        "--b\r\n" + headers + "\r\n\r\n" + content + "\r\n--b--\r\n"
    }

    /// What an encoder writes for parts, their contents in pieces.
    static func encode(
        _ parts: [FieldRecorder.Part], boundary: Boundary = b, options: FieldEncodingOptions = .init(),
        normalizesLineEnds: Bool = false, pieceSize: Int = .max
    ) throws(ConversionError) -> [UInt8] {
        var encoder = Encoder(boundary: boundary, options: options)
        encoder.normalizesLineEnds = normalizesLineEnds
        for part in parts {
            var head = PartHead(name: part.name.bytes.span)
            if let filename = part.filename { head.setFilename(filename.bytes.span) }
            if let mediaType = part.mediaType { head.setMediaType(mediaType.bytes.span) }
            for field in part.otherFields { head.addField(name: field.name.bytes.span, value: field.value.bytes.span) }
            head.isFile = part.isFile
            try encoder.beginPart(head)
            let content = part.content.bytes
            for piece in Cut.every(min(pieceSize, max(1, content.count)), of: content).withEmptySlices.slices {
                try encoder.content(piece.span, isLast: false)
            }
            let nothing: [UInt8] = []
            try encoder.content(nothing.span, isLast: true)
        }
        try encoder.finish()
        return encoder.output.span.copied()
    }
}
