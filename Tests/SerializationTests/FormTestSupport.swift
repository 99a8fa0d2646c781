import Foundation
import Octets
import Serialization
import TestSupport
import Transcoding

/// What a form decoder makes of `input`.
func decodeForm(
    _ input: [UInt8], options: FieldDecodingOptions = .init(), limits: Limits = .init()
) -> FieldRecording {
    var decoder = Form.Decoder(options: options, limits: limits)
    return FieldRecorder.record(.whole(input), with: &decoder)
}

/// The parts of `recording` as `name=value` pairs, and names without a value as such.
func pairs(_ recording: FieldRecording) -> [[ByteString]] {
    recording.parts.map { [$0.name, $0.content] }
}

/// What becomes of `json` as a form: its bytes, brackets readable, or the error.
func encodeForm(
    _ json: String, _ options: FieldEncodingOptions = .init(), limits: Limits = .init(), pieceSize: Int = .max
) -> Result<String, ConversionError> {
    encodeForm(FormTestDocument(json), options, limits: limits, pieceSize: pieceSize)
}

func encodeForm(
    _ document: FormTestDocument, _ options: FieldEncodingOptions, limits: Limits = .init(), pieceSize: Int = .max
) -> Result<String, ConversionError> {
    var flattener = Flattener(target: Form.Encoder(options: options), options: options, limits: limits)
    do throws(ConversionError) {
        try document.send(into: &flattener, pieceSize: pieceSize)
        try flattener.target.finish()
        return .success(flattener.target.output.span.lossyString())
    } catch {
        return .failure(error)
    }
}

/// The text of a form with the brackets of its names readable.
func readable(_ form: String) -> String {
    form.replacingOccurrences(of: "%5B", with: "[").replacingOccurrences(of: "%5D", with: "]")
}

/// The rows of a file of form vectors.
func formVectors(_ file: String) -> [FormTestDocument] {
    let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    let data = try! Data(contentsOf: folder.appendingPathComponent("Vectors/\(file)"))
    return FormTestDocument(String(decoding: data, as: UTF8.self))["vectors"]!.elements
}
