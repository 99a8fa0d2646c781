/// The `${…}` in a value. `$${` stands for `${` itself.
enum Substitution {
    enum Piece: Hashable {
        case literal(String)
        /// `${kind:name}` or `${kind.name}`, at an offset into the text in scalars.
        case reference(kind: String, name: String, separator: Character, offset: Int)
    }

    struct Fault: Error, Hashable {
        var reason: String
        /// In scalars.
        var offset: Int
    }

    /// - Parameter sources: What may stand here, for the message that something is none of it.
    static func parse(_ text: String, sources: [String] = []) throws(Fault) -> [Piece] {
        // Nearly all values have none.
        guard text.utf8.contains(UInt8(ascii: "$")) else { return text.isEmpty ? [] : [.literal(text)] }
        let scalars = Array(text.unicodeScalars)
        var pieces: [Piece] = []
        var literal = String.UnicodeScalarView()
        var at = 0
        func starts(_ prefix: String) -> Bool { scalars[at...].starts(with: prefix.unicodeScalars) }
        while at < scalars.count {
            if starts("$${") {
                literal.append(contentsOf: "${".unicodeScalars)
                at += 3
            } else if starts("${") {
                guard let end = scalars[at...].firstIndex(of: "}") else {
                    throw Fault(
                        reason: "\"${\" is never closed: write \"$${\" for the characters themselves", offset: at)
                }
                let inside = String(String.UnicodeScalarView(scalars[at + 2..<end]))
                if !literal.isEmpty { pieces.append(.literal(String(literal))) }
                literal = .init()
                pieces.append(try reference(inside, offset: at, sources))
                at = end + 1
            } else {
                literal.append(scalars[at])
                at += 1
            }
        }
        if !literal.isEmpty { pieces.append(.literal(String(literal))) }
        return pieces
    }

    private static func reference(_ inside: String, offset: Int, _ sources: [String]) throws(Fault) -> Piece {
        var known: String { "known are \((putIn + sources).joined(separator: ", "))" }
        guard let separator = inside.firstIndex(where: { $0 == ":" || $0 == "." }) else {
            throw Fault(reason: "\"${\(inside)}\" names no source: \(known)", offset: offset)
        }
        let kind = String(inside[..<separator])
        let name = String(inside[inside.index(after: separator)...])
        let kinds: [String: Character] = [
            "env": ":", "file": ":", "header": ".", "path": ".", "query": ".", "client": ".", "field": ".",
        ]
        guard let wanted = kinds[kind] else {
            throw Fault(reason: "\"${\(inside)}\" is no source that is known: \(known)", offset: offset)
        }
        guard wanted == inside[separator], !name.isEmpty else {
            throw Fault(
                reason: "\"${\(inside)}\" is written as ${\(kind)\(wanted)\(kind == "client" ? "ip" : "NAME")}",
                offset: offset)
        }
        if kind == "env", name.contains(":") {
            throw Fault(
                reason: "\"${\(inside)}\" has a colon, and a variable's name has none: there is no default beside it",
                offset: offset)
        }
        return .reference(kind: kind, name: name, separator: wanted, offset: offset)
    }

    /// What any value takes.
    private static let putIn = ["${env:NAME}", "${file:PATH}"]
}
