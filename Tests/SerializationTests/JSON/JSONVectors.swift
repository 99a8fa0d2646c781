import Foundation
import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// A row of `Tests/Vectors/json/*.json`.
struct JSONVector: Decodable, CustomTestStringConvertible, Sendable {
    var name: String
    /// The body as text, or as hexadecimal digits where it isn't text.
    var input: String?
    var hex: String?
    /// What the encoder makes of it; nil: the input.
    var output: String?
    var code: String?
    var offset: Int?
    var field: String?

    var testDescription: String { name }

    var bytes: [UInt8] {
        if let input { return Array(input.utf8) }
        let digits = Array((hex ?? "").utf8)
        return stride(from: 0, to: digits.count, by: 2).map {
            UInt8(String(decoding: digits[$0...($0 + 1)], as: UTF8.self), radix: 16)!
        }
    }

    var expectedOutput: ByteString { output.map { ByteString($0) } ?? ByteString(bytes) }

    static let accept = load("accept")
    static let reject = load("reject")

    private static func load(_ name: String) -> [JSONVector] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = folder.appending(path: "Vectors/json/\(name).json")
        do {
            return try JSONDecoder().decode([JSONVector].self, from: Data(contentsOf: file))
        } catch {
            fatalError("the vectors \(file.path) can't be read: \(error)")
        }
    }
}

extension JSON.DecodingOptions {
    init(duplicates: DuplicatePolicy) {
        self.init()
        self.duplicates = duplicates
    }
}

/// What a new decoder makes of `cut`.
func recordJSON(
    _ cut: Cut, duplicates: DuplicatePolicy = .reject, limits: Limits = Limits(), pauses: Bool = false
) -> EventRecording {
    var decoder = JSON.Decoder(options: JSON.DecodingOptions(duplicates: duplicates), limits: limits)
    return EventRecorder.record(cut, with: &decoder, pauses: pauses)
}

/// What a decoder makes of `text` in one slice.
func recordJSON(
    _ text: String, duplicates: DuplicatePolicy = .reject, limits: Limits = Limits()
) -> EventRecording {
    recordJSON(.whole(Array(text.utf8)), duplicates: duplicates, limits: limits)
}

/// What the encoder makes of the events of `cut`, or the decoder's error.
func reencodeJSON(
    _ cut: Cut, duplicates: DuplicatePolicy = .keep, limits: Limits = Limits()
) throws(ConversionError) -> ByteString {
    var decoder = JSON.Decoder(options: JSON.DecodingOptions(duplicates: duplicates), limits: limits)
    var encoder = JSON.Encoder(options: JSON.EncodingOptions())
    encoder.output.highWatermark = .max
    for slice in cut.slices {
        let consumed = try decoder.feed(slice.span, into: &encoder)
        precondition(consumed == slice.count, "the encoder is never full")
    }
    try decoder.finish(into: &encoder)
    encoder.finish()
    return ByteString(encoder.output.span.copied())
}
