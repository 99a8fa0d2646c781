internal import Gateway
internal import Octets

/// A target as others may see it: what `${env:…}` and `${file:…}` have put into its path, into a parameter or into a query that a body
/// became stands as the settings write it, however it was escaped.
struct RedactedTarget {
    /// The longest first.
    let secrets: [EffectiveValue.Secret]
    /// The values in effect of the target's route.
    let effective: [EffectiveValue]

    private static let marks: [UInt8] = Array("/?&=".utf8)

    func text(_ target: String) -> String {
        var target = target
        if let path = effective.first(where: { $0.key == "rewrite.path" }), path.isSecret {
            target = path.value + target.drop { $0 != "?" }
        }
        // One of several pieces stands in a path as it is, or nowhere.
        for secret in longer where secret.text.utf8.contains(where: Self.marks.contains) {
            target = target.replacing(secret.text, with: secret.reference)
        }
        // Piece by piece without escapes, the longest first there too.
        var output = ""
        var piece: [UInt8] = []
        var isQuery = false
        for byte in target.utf8 {
            guard Self.marks.contains(byte), !isInReference(piece) else {
                piece.append(byte)
                continue
            }
            output += redacted(piece, isQuery) + String(Unicode.Scalar(byte))
            piece.removeAll()
            if byte == UInt8(ascii: "?") { isQuery = true }
        }
        return parameters(of: output + redacted(piece, isQuery))
    }

    /// Those that are looked for wherever they stand, as `EffectiveValue.without` does.
    private var longer: [EffectiveValue.Secret] { secrets.filter { $0.text.utf8.count >= 4 } }

    /// Whether a reference has begun in it that may hold any sign.
    private func isInReference(_ piece: [UInt8]) -> Bool {
        guard let start = piece.lastIndex(of: UInt8(ascii: "{")) else { return false }
        return !piece[start...].contains(UInt8(ascii: "}"))
    }

    /// A piece between two marks, in which secrets may be escaped.
    private func redacted(_ piece: [UInt8], _ isQuery: Bool) -> String {
        let text = String(decoding: piece, as: UTF8.self)
        var bytes: [UInt8] = []
        PercentText.decode(piece.span, plusIsSpace: isQuery, to: &bytes)
        var rest = bytes[...]
        var shown: [UInt8] = []
        var isFound = false
        let secrets = longer
        while let byte = rest.first {
            if rest.starts(with: "${env:".utf8) || rest.starts(with: "${file:".utf8),
                let end = rest.firstIndex(of: UInt8(ascii: "}"))
            {
                shown += rest[...end]
                rest = rest[(end + 1)...]
            } else if let secret = secrets.first(where: { rest.starts(with: $0.text.utf8) }) {
                shown += secret.reference.utf8
                rest = rest.dropFirst(secret.text.utf8.count)
                isFound = true
            } else {
                shown.append(byte)
                rest.removeFirst()
            }
        }
        return isFound ? String(decoding: shown, as: UTF8.self) : text
    }

    /// The parameters of `rewrite.query` as the settings write them: a short secret is in too many words to be looked for.
    private func parameters(of target: String) -> String {
        guard let mark = target.firstIndex(of: "?") else { return target }
        let parameters = target[target.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let shown = parameters.map { parameter -> String in
            let written = parameter.prefix { $0 != "=" }
            var name: [UInt8] = []
            PercentText.decode(Array(written.utf8).span, plusIsSpace: true, to: &name)
            let key = "rewrite.query.\(String(decoding: name, as: UTF8.self))"
            guard let setting = effective.last(where: { $0.key == key }), setting.isSecret else {
                return String(parameter)
            }
            return "\(written)=\(setting.value)"
        }
        return target[...mark] + shown.joined(separator: "&")
    }
}

extension EffectiveValue {
    /// Whether it holds what isn't in the file.
    fileprivate var isSecret: Bool { value.contains("${env:") || value.contains("${file:") }
}
