/// The userinfo of URLs (RFC 3986 §3.2.1), which is a password more often than not: what people are shown of settings has a `*` there.
enum UserInfo {
    /// The text with each userinfo hidden: `https://*@hooks.example.com`. What a reference holds, as `${file:/run/x}`, ends no URL.
    static func masked(_ text: String) -> String {
        guard text.contains("://"), text.contains("@") else { return text }
        var result = String.UnicodeScalarView()
        var rest = text.unicodeScalars[...]
        while let mark = rest.firstRange(of: "://".unicodeScalars) {
            result += rest[..<mark.upperBound]
            rest = rest[mark.upperBound...]
            guard let at = lastAt(ofAuthority: rest) else { continue }
            result.append("*")
            rest = rest[at...]
        }
        result += rest
        return String(result)
    }

    /// Where the last `@` of the authority is that the text begins with; nil where it has none. A password may hold what ends an authority,
    /// as generated ones do: what stands behind the colon is no port then, and the `@` is looked for behind that, too.
    private static func lastAt(ofAuthority text: Substring.UnicodeScalarView) -> String.Index? {
        var found: String.Index?
        var index = text.startIndex
        var colon: String.Index?
        var isCut = false
        while index < text.endIndex {
            let scalar = text[index]
            if scalar == "$", text[index...].starts(with: "${".unicodeScalars),
                let end = text[index...].firstIndex(of: "}")
            {
                index = text.index(after: end)
                continue
            }
            // Quotes and blanks are none of a URL's: they end it in a message.
            if scalar == "\"" || scalar == "\\" || scalar.value <= 0x20 { break }
            if !isCut, "/?#".unicodeScalars.contains(scalar) {
                guard found == nil, let colon, !isPort(text[text.index(after: colon)..<index]) else { break }
                isCut = true
            }
            if scalar == "@" { found = index }
            if scalar == ":", !isCut { colon = index }
            index = text.index(after: index)
        }
        return found
    }

    /// Whether the end of an authority is a port, of which a reference may hold a part.
    private static func isPort(_ text: Substring.UnicodeScalarView) -> Bool {
        // The colons of an address of IPv6 stand in brackets.
        !text.isEmpty && (text.allSatisfy { ("0"..."9").contains($0) } || text.contains("]") || text.contains("$"))
    }
}
