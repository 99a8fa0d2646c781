internal import Transcoding

/// A setting as it is in effect.
public struct EffectiveValue: Hashable, Sendable {
    public enum Origin: Hashable, Sendable {
        /// It was not written down.
        case standard
        /// It stands in this line of the file.
        case line(Int)
    }

    /// With the sections it stands in: `limits.body`.
    public var key: String
    /// As the settings write it.
    public var value: String
    public var origin: Origin

    /// A text that came from outside of the file, and what stands for it there.
    struct Secret: Hashable, Sendable {
        var text: String
        /// `${env:NAME}` or `${file:PATH}`.
        var reference: String
        var line: Int
    }

    /// The value with the reference in place of the text. A text so short that it is in many words is looked for only
    /// where it was written.
    func without(_ secret: Secret) -> EffectiveValue {
        guard secret.text.utf8.count >= 4 || origin == .line(secret.line), !secret.text.isEmpty else { return self }
        var result = self
        // Values of documents are described as JSON, in which the text may be escaped.
        let quoted = Literal.string(secret.text).json.dropFirst().dropLast()
        for text in [secret.text, String(quoted)] {
            result.value = result.value.replacing(text, with: secret.reference)
        }
        return result
    }
}

/// A value with the place that it comes from.
struct Sourced<Value> {
    var value: Value
    var origin: EffectiveValue.Origin

    init(_ value: Value, _ origin: EffectiveValue.Origin = .standard) {
        self.value = value
        self.origin = origin
    }
}
