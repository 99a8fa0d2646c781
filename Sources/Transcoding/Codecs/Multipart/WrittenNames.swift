internal import Octets

/// The names of a multipart body that could be written alike: quotation marks and line ends are escaped as HTML says, and what
/// an escape looks like stands for itself, so that `a"b` and `a%22b` are one name to their reader.
///
/// Names without a quotation mark, a line end and a percent sign aren't remembered and cost a look at their bytes.
package struct WrittenNames: Sendable {
    /// The names by how they are written, with the digits of what looks like an escape in upper case.
    private var names: [[UInt8]: [UInt8]] = [:]

    package init() {}

    mutating func removeAll() {
        if !names.isEmpty { names.removeAll() }
    }

    /// `nameCollapsed` where another name of the body is written as this one is.
    @inline(__always)
    package mutating func fault(in name: Span<UInt8>) -> Multipart.Fault? {
        if Self.isPlain(name) { return nil }
        return remember(name)
    }

    /// Whether no other name can be written as this one is.
    static func isPlain(_ name: Span<UInt8>) -> Bool {
        Scan.isPlainText(name) && !Scan.holds(UInt8(ascii: "%"), in: name)
    }

    @inline(never)
    private mutating func remember(_ name: Span<UInt8>) -> Multipart.Fault? {
        guard let written = Self.written(name) else { return nil }
        let name = name.copied()
        guard let other = names.updateValue(name, forKey: written) else { return nil }
        return other == name ? nil : .nameCollapsed
    }

    /// How the name is written; nil where nothing in it is an escape or looks like one.
    private static func written(_ name: Span<UInt8>) -> [UInt8]? {
        var written: [UInt8] = []
        var hasEscape = false
        var at = 0
        while at < name.count {
            let byte = name[at]
            at += 1
            switch byte {
            case UInt8(ascii: "\""):
                written += "%22".utf8
                hasEscape = true
            case ASCII.carriageReturn, ASCII.lineFeed:
                if byte == ASCII.carriageReturn, at < name.count, name[at] == ASCII.lineFeed { at += 1 }
                written += "%0D%0A".utf8
                hasEscape = true
            case UInt8(ascii: "%") where at + 1 < name.count && isEscaped(name[at], name[at + 1]):
                written += [byte, name[at], name[at + 1] & ~0x20 | (name[at + 1] < 0x40 ? 0x20 : 0)]
                at += 2
                hasEscape = true
            default: written.append(byte)
            }
        }
        return hasEscape ? written : nil
    }

    /// Whether the two digits behind a percent sign are those of a quotation mark or of a line end.
    private static func isEscaped(_ first: UInt8, _ second: UInt8) -> Bool {
        if first == UInt8(ascii: "2") { return second == UInt8(ascii: "2") }
        return first == UInt8(ascii: "0") && [0x41, 0x44].contains(second & ~0x20)
    }
}
