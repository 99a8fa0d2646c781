import Foundation
import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

extension XML.DecodingOptions {
    /// The options with some changes: `.with { $0.root = .drop }`.
    static func with(_ change: (inout XML.DecodingOptions) -> Void) -> XML.DecodingOptions {
        var options = XML.DecodingOptions()
        change(&options)
        return options
    }
}

extension XML.EncodingOptions {
    /// The options without a declaration, and with some changes.
    static func with(_ change: (inout XML.EncodingOptions) -> Void) -> XML.EncodingOptions {
        var options = XML.EncodingOptions()
        options.declaration = false
        change(&options)
        return options
    }
}

extension Limits {
    /// The limits with some changes.
    static func with(_ change: (inout Limits) -> Void) -> Limits {
        var limits = Limits()
        change(&limits)
        return limits
    }
}

/// What a new decoder makes of `cut`.
func recordXML(
    _ cut: Cut, _ options: XML.DecodingOptions = .init(), limits: Limits = Limits(), pauses: Bool = false
) -> EventRecording {
    var decoder = XML.Decoder(options: options, limits: limits)
    return EventRecorder.record(cut, with: &decoder, pauses: pauses)
}

/// The document as JSON text, or `!`, the error's code and its offset.
func jsonFromXML(
    _ bytes: [UInt8], _ options: XML.DecodingOptions = .init(), limits: Limits = Limits()
) -> String {
    var decoder = XML.Decoder(options: options, limits: limits)
    var encoder = JSON.Encoder(options: .init())
    do throws(ConversionError) {
        _ = try decoder.feed(bytes.span, into: &encoder)
        try decoder.finish(into: &encoder)
    } catch {
        return "!\(error.code) \(error.offset ?? -1)"
    }
    return String(decoding: encoder.output.span.copied(), as: UTF8.self)
}

func jsonFromXML(_ text: String, _ options: XML.DecodingOptions = .init(), limits: Limits = Limits()) -> String {
    jsonFromXML(Array(text.utf8), options, limits: limits)
}

/// A JSON text as XML, or `!`, the error's code and its field. The JSON goes in by slices of `size`, so that strings
/// come in pieces.
func xmlFromJSON(
    _ json: String, _ options: XML.EncodingOptions = .with { _ in }, limits: Limits = Limits(), size: Int = .max
) -> String {
    var encoder = XML.Encoder(options: options, limits: limits)
    return xmlFromJSON(json, with: &encoder, size: size)
}

func xmlFromJSON(_ json: String, with encoder: inout XML.Encoder, size: Int = .max) -> String {
    var decoder = JSON.Decoder(options: .init(), limits: Limits())
    let bytes = Array(json.utf8)
    do throws(ConversionError) {
        for slice in Cut.every(min(size, max(bytes.count, 1)), of: bytes).slices {
            var at = 0
            while at < slice.count { at += try decoder.feed(slice.span.extracting(at..<slice.count), into: &encoder) }
        }
        try decoder.finish(into: &encoder)
        try encoder.finish()
    } catch {
        return "!" + error.code + (error.field.map { " " + $0 } ?? "")
    }
    return String(decoding: encoder.output.span.copied(), as: UTF8.self)
}

/// Documents and texts from a seed.
struct XMLGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }

    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
    mutating func pick<Value>(_ values: [Value]) -> Value { values[below(values.count)] }
}

/// A row of `Tests/Vectors/xml/xmltodict.json`: a document, and what xmltodict makes of it without stripping white
/// space, or why it refuses it.
struct XMLDictVector: Decodable, Sendable, CustomTestStringConvertible {
    var xml: String
    var json: String?
    var error: String?

    var testDescription: String { String(xml.prefix(60)) }

    static let all: [XMLDictVector] = read("xmltodict")

    /// The rows of a file of `Tests/Vectors/xml`.
    static func read<Row: Decodable>(_ name: String) -> [Row] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = folder.appending(path: "Vectors/xml/\(name).json")
        do {
            return try JSONDecoder().decode([Row].self, from: Data(contentsOf: file))
        } catch {
            fatalError("the vectors \(file.path) can't be read: \(error)")
        }
    }
}
