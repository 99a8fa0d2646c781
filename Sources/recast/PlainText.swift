internal import Proxy

/// What commands print of texts that others wrote, as a settings file or a body: a terminal gets no controls from them, and nothing that
/// turns the direction of what stands around or can't be seen.
enum PlainText {
    /// A line, in which such a character stands as Swift writes it: `\u{202E}`.
    static func line(_ text: String) -> String {
        LogText.escaped(text) { Unicode.Scalar($0)?.escaped(asASCII: true) ?? "" }
    }

    /// A text of JSON, of which such characters stand in strings only: `\u202e`.
    static func json(_ text: String) -> String {
        LogText.escaped(text) { scalar in
            let units = LogText.units(of: scalar)
            return escape(units.first) + (units.second.map(escape) ?? "")
        }
    }

    private static func escape(_ unit: UInt32) -> String {
        let digits = String(unit, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}

extension String {
    /// The text with spaces behind it, up to so many characters.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}
