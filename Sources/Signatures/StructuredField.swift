internal import Octets

/// Structured field values (RFC 9651), as far as signatures and digests need them: read strictly, written as §4.1 says. What is read
/// is bounded by the head that it stands in.
package enum StructuredField {
    /// An item without its parameters (§3.3).
    package enum Bare: Equatable {
        case integer(Int)
        /// Thousandths.
        case decimal(Int)
        case string([UInt8])
        case token([UInt8])
        case bytes([UInt8])
        case boolean(Bool)
        /// Seconds since 1970.
        case date(Int)
        /// The text between its quotes as it came, in its escapes.
        case display([UInt8])
    }

    /// In their order, each name once (§3.1.2).
    package typealias Parameters = [(name: String, value: Bare)]

    package struct Item {
        package var value: Bare
        package var parameters: Parameters = []

        /// The value of a parameter; nil where there is none.
        func parameter(_ name: String) -> Bare? { parameters.first { $0.name == name }?.value }
    }

    package struct InnerList {
        package var items: [Item]
        package var parameters: Parameters = []

        func parameter(_ name: String) -> Bare? { parameters.first { $0.name == name }?.value }
    }

    package enum Member {
        case item(Item)
        case list(InnerList)
    }

    /// A value that is none, with no reason: nobody who sends one reads it.
    package struct Fault: Error {}

    // MARK: Reading

    /// The members of a dictionary in their order (§4.2.2). A key that comes twice is a fault here, though the last one counts there:
    /// who signs and who checks could each mean another.
    package static func dictionary(_ text: Span<UInt8>) throws(Fault) -> [(key: String, value: Member)] {
        var reader = Reader(text)
        var members: [(key: String, value: Member)] = []
        var places = NamePlaces()
        reader.skipSpaces()
        while !reader.isAtEnd {
            let key = try reader.key()
            guard places.place(of: key, among: members.count, { members[$0].key }) == nil else { throw Fault() }
            if reader.take(UInt8(ascii: "=")) {
                members.append((key, try reader.member()))
            } else {
                members.append((key, .item(Item(value: .boolean(true), parameters: try reader.parameters()))))
            }
            try reader.comma()
        }
        return members
    }

    static func list(_ text: Span<UInt8>) throws(Fault) -> [Member] {
        var reader = Reader(text)
        var members: [Member] = []
        reader.skipSpaces()
        while !reader.isAtEnd {
            members.append(try reader.member())
            try reader.comma()
        }
        return members
    }

    static func item(_ text: Span<UInt8>) throws(Fault) -> Item {
        var reader = Reader(text)
        reader.skipSpaces()
        let item = try reader.item()
        reader.skipSpaces()
        guard reader.isAtEnd else { throw Fault() }
        return item
    }

    /// Finds names in a list that grows, in which each stands once. A few are looked through; for more there is a table, since a head has
    /// room for thousands, and to compare each with all before it would keep the loop for seconds.
    private struct NamePlaces {
        private static let few = 8
        private var places: [String: Int] = [:]

        /// Where `name` stands among the first `count`; nil where it doesn't.
        mutating func place(of name: String, among count: Int, _ known: (Int) -> String) -> Int? {
            if count <= Self.few { return (0..<count).first { known($0) == name } }
            while places.count < count { places[known(places.count)] = places.count }
            return places[name]
        }
    }

    private struct Reader: ~Escapable {
        private let text: Span<UInt8>
        private var at = 0

        @_lifetime(copy text)
        init(_ text: Span<UInt8>) { self.text = text }

        var isAtEnd: Bool { at == text.count }
        private var next: UInt8? { at < text.count ? text[at] : nil }

        @_lifetime(self: copy self)
        mutating func take(_ byte: UInt8) -> Bool {
            guard next == byte else { return false }
            at += 1
            return true
        }

        @_lifetime(self: copy self)
        mutating func skipSpaces() { while take(ASCII.space) {} }

        /// What parts members: white space with one comma, which another member follows; or the end.
        @_lifetime(self: copy self)
        mutating func comma() throws(Fault) {
            skipBlanks()
            if isAtEnd { return }
            guard take(UInt8(ascii: ",")) else { throw Fault() }
            skipBlanks()
            if isAtEnd { throw Fault() }
        }

        @_lifetime(self: copy self)
        private mutating func skipBlanks() { while take(ASCII.space) || take(ASCII.tab) {} }

        @_lifetime(self: copy self)
        mutating func member() throws(Fault) -> Member {
            guard take(UInt8(ascii: "(")) else { return .item(try item()) }
            var items: [Item] = []
            while true {
                skipSpaces()
                if take(UInt8(ascii: ")")) { return .list(InnerList(items: items, parameters: try parameters())) }
                items.append(try item())
                guard next == ASCII.space || next == UInt8(ascii: ")") else { throw Fault() }
            }
        }

        @_lifetime(self: copy self)
        mutating func item() throws(Fault) -> Item { Item(value: try bare(), parameters: try parameters()) }

        @_lifetime(self: copy self)
        mutating func parameters() throws(Fault) -> Parameters {
            var parameters: Parameters = []
            var places = NamePlaces()
            while take(UInt8(ascii: ";")) {
                skipSpaces()
                let name = try key()
                let value = take(UInt8(ascii: "=")) ? try bare() : Bare.boolean(true)
                // The last one counts, where the first one stands (§4.2.3.2).
                if let known = places.place(of: name, among: parameters.count, { parameters[$0].name }) {
                    parameters[known].value = value
                } else {
                    parameters.append((name, value))
                }
            }
            return parameters
        }

        @_lifetime(self: copy self)
        mutating func key() throws(Fault) -> String {
            let start = at
            guard let first = next, Self.isLower(first) || first == UInt8(ascii: "*") else { throw Fault() }
            while let byte = next,
                Self.isLower(byte) || ASCII.isDigit(byte) || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "-")
                    || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "*")
            { at += 1 }
            return String(decoding: text.extracting(start..<at).copied(), as: UTF8.self)
        }

        private static func isLower(_ byte: UInt8) -> Bool { byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "z") }

        @_lifetime(self: copy self)
        private mutating func bare() throws(Fault) -> Bare {
            guard let first = next else { throw Fault() }
            switch first {
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return try number()
            case UInt8(ascii: "\""):
                at += 1
                return .string(try string())
            case UInt8(ascii: ":"):
                at += 1
                return .bytes(try binary())
            case UInt8(ascii: "?"):
                at += 1
                if take(UInt8(ascii: "1")) { return .boolean(true) }
                guard take(UInt8(ascii: "0")) else { throw Fault() }
                return .boolean(false)
            case UInt8(ascii: "@"):
                at += 1
                guard case .integer(let seconds) = try number() else { throw Fault() }
                return .date(seconds)
            case UInt8(ascii: "%"):
                at += 1
                guard take(UInt8(ascii: "\"")) else { throw Fault() }
                return .display(try display())
            case _ where ASCII.isAlpha(first) || first == UInt8(ascii: "*"):
                let start = at
                while let byte = next, ASCII.isToken(byte) || byte == UInt8(ascii: ":") || byte == UInt8(ascii: "/") {
                    at += 1
                }
                return .token(text.extracting(start..<at).copied())
            default: throw Fault()
            }
        }

        /// Up to 15 digits, or 12 and 3 behind a point (§4.2.4).
        @_lifetime(self: copy self)
        private mutating func number() throws(Fault) -> Bare {
            let isNegative = take(UInt8(ascii: "-"))
            var value = 0
            var digits = 0
            while let byte = next, ASCII.isDigit(byte) {
                digits += 1
                guard digits <= 15 else { throw Fault() }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
                at += 1
            }
            guard digits > 0 else { throw Fault() }
            guard take(UInt8(ascii: ".")) else { return .integer(isNegative ? -value : value) }
            guard digits <= 12 else { throw Fault() }
            var places = 0
            while let byte = next, ASCII.isDigit(byte) {
                places += 1
                guard places <= 3 else { throw Fault() }
                value = value * 10 + Int(byte - UInt8(ascii: "0"))
                at += 1
            }
            guard places > 0 else { throw Fault() }
            for _ in places..<3 { value *= 10 }
            return .decimal(isNegative ? -value : value)
        }

        @_lifetime(self: copy self)
        private mutating func string() throws(Fault) -> [UInt8] {
            var bytes: [UInt8] = []
            while let byte = next {
                at += 1
                switch byte {
                case UInt8(ascii: "\""): return bytes
                case UInt8(ascii: "\\"):
                    guard let escaped = next, escaped == UInt8(ascii: "\"") || escaped == UInt8(ascii: "\\") else {
                        throw Fault()
                    }
                    bytes.append(escaped)
                    at += 1
                case 0x20...0x7E: bytes.append(byte)
                default: throw Fault()
                }
            }
            throw Fault()
        }

        @_lifetime(self: copy self)
        private mutating func binary() throws(Fault) -> [UInt8] {
            let start = at
            while let byte = next, byte != UInt8(ascii: ":") { at += 1 }
            let text = text.extracting(start..<at)
            guard take(UInt8(ascii: ":")), let bytes = BinaryEncoding.base64.decode(text) else { throw Fault() }
            return bytes
        }

        @_lifetime(self: copy self)
        private mutating func display() throws(Fault) -> [UInt8] {
            let start = at
            while let byte = next {
                if byte == UInt8(ascii: "\"") {
                    at += 1
                    return text.extracting(start..<at - 1).copied()
                }
                guard byte >= 0x20, byte < 0x7F else { throw Fault() }
                if byte == UInt8(ascii: "%") {
                    guard at + 2 < text.count, Self.isLowerHex(text[at + 1]), Self.isLowerHex(text[at + 2]) else {
                        throw Fault()
                    }
                }
                at += 1
            }
            throw Fault()
        }

        private static func isLowerHex(_ byte: UInt8) -> Bool {
            ASCII.isDigit(byte) || byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f")
        }
    }

    // MARK: Writing

    package static func text(_ members: [(key: String, value: Member)]) -> [UInt8] {
        var output: [UInt8] = []
        for (index, member) in members.enumerated() {
            if index > 0 { output += Array(", ".utf8) }
            output += Array(member.key.utf8)
            if case .item(let item) = member.value, item.value == .boolean(true) {
                output += text(item.parameters)
            } else {
                output += [UInt8(ascii: "=")] + text(member.value)
            }
        }
        return output
    }

    static func text(_ members: [Member]) -> [UInt8] {
        Array(members.map { text($0) }.joined(separator: Array(", ".utf8)))
    }

    static func text(_ member: Member) -> [UInt8] {
        switch member {
        case .item(let item): text(item)
        case .list(let list): text(list)
        }
    }

    static func text(_ list: InnerList) -> [UInt8] {
        Array("(".utf8) + list.items.map { text($0) }.joined(separator: [ASCII.space]) + Array(")".utf8)
            + text(list.parameters)
    }

    static func text(_ item: Item) -> [UInt8] { text(item.value) + text(item.parameters) }

    static func text(_ parameters: Parameters) -> [UInt8] {
        parameters.flatMap { parameter in
            [UInt8(ascii: ";")] + Array(parameter.name.utf8)
                + (parameter.value == .boolean(true) ? [] : [UInt8(ascii: "=")] + text(parameter.value))
        }
    }

    static func text(_ value: Bare) -> [UInt8] {
        switch value {
        case .integer(let number): return Array(String(number).utf8)
        case .decimal(let thousandths): return decimal(thousandths)
        case .string(let bytes):
            return [UInt8(ascii: "\"")]
                + bytes.flatMap {
                    $0 == UInt8(ascii: "\"") || $0 == UInt8(ascii: "\\") ? [UInt8(ascii: "\\"), $0] : [$0]
                } + [UInt8(ascii: "\"")]
        case .token(let bytes): return bytes
        case .bytes(let bytes): return Array(":".utf8) + BinaryEncoding.base64.encode(bytes.span) + Array(":".utf8)
        case .boolean(let isTrue): return Array((isTrue ? "?1" : "?0").utf8)
        case .date(let seconds): return Array("@\(seconds)".utf8)
        case .display(let text): return Array("%\"".utf8) + text + Array("\"".utf8)
        }
    }

    /// One place at least behind the point, and no zero behind others (§4.1.5).
    private static func decimal(_ thousandths: Int) -> [UInt8] {
        let size = thousandths.magnitude
        var places = String(size % 1000 + 1000).dropFirst()
        while places.utf8.count > 1, places.hasSuffix("0") { places.removeLast() }
        return Array("\(thousandths < 0 ? "-" : "")\(size / 1000).\(places)".utf8)
    }
}
