/// What of a text is a secret: editors and `echo` put around it what nobody sees, and with that it is another secret. Whoever reads one
/// asks here: the settings, and the commands that are to say the same as they do.
package enum SecretText {
    /// What is said of a text for which `hasBlankEnd` holds.
    package static let blankEnd = "begins or ends with white space, which is seldom a part of it"

    /// The text without a byte order mark in front and without line ends behind.
    package static func alone(_ text: String) -> String {
        var scalars = text.unicodeScalars[...]
        if scalars.first == "\u{FEFF}" { scalars = scalars.dropFirst() }
        while let last = scalars.last, last == "\n" || last == "\r" { scalars = scalars.dropLast() }
        return String(scalars)
    }

    /// Whether a text begins or ends with what isn't seen: white space of any kind, a control character, or a mark without a width.
    package static func hasBlankEnd(_ text: String) -> Bool {
        let ends = [text.unicodeScalars.first, text.unicodeScalars.last].compactMap(\.self)
        return ends.contains { scalar in
            scalar.value <= 0x20 || scalar.value == 0x7F || scalar == "\u{FEFF}" || scalar == "\u{200B}"
                || scalar.properties.isWhitespace
        }
    }
}
