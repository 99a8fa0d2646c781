internal import Octets

/// The names of a multipart body that could be one to its reader: by how they are written, `a"b` and `a%22b` where quotation marks are
/// escaped as HTML says, or by how they were read, `a\"b` and `a%22b`.
///
/// Names without a quotation mark, a backslash, a line end and a percent sign aren't remembered and cost a look at their bytes.
package struct WrittenNames: Sendable {
    /// What must be one for each key. Written: the name by how it is written, with the digits of what looks like an escape in upper
    /// case. Read: the spelling by the name.
    private var names: [[UInt8]: [UInt8]] = [:]

    package init() {}

    mutating func removeAll() {
        if !names.isEmpty { names.removeAll() }
    }

    /// `nameCollapsed` where another name of the body is written as this one is, or read as it by those who read a backslash as an
    /// escape.
    @inline(__always)
    package mutating func fault(in name: Span<UInt8>, _ quoting: NameQuoting) -> Multipart.Fault? {
        if Self.isPlain(name) { return nil }
        guard let written = Self.written(name, quoting) else { return nil }
        return remember(name, for: written)
    }

    /// `nameCollapsed` where this name of the body was spelled in another way before.
    mutating func fault(in name: Span<UInt8>, spelled spelling: Span<UInt8>) -> Multipart.Fault? {
        Scan.isPlainText(name) ? nil : remember(spelling, for: name.copied())
    }

    /// Whether no other name can be written as this one is.
    static func isPlain(_ name: Span<UInt8>) -> Bool {
        Scan.isPlainText(name) && !Scan.holds(UInt8(ascii: "%"), in: name)
    }

    @inline(never)
    private mutating func remember(_ value: Span<UInt8>, for key: [UInt8]) -> Multipart.Fault? {
        let value = value.copied()
        guard let other = names.updateValue(value, forKey: key) else { return nil }
        return other == value ? nil : .nameCollapsed
    }

    /// How the name is written; nil where nothing in it is an escape or looks like one.
    @inline(never)
    private static func written(_ name: Span<UInt8>, _ quoting: NameQuoting) -> [UInt8]? {
        var written: [UInt8] = []
        var hasEscape = false
        var at = 0
        while at < name.count {
            let byte = name[at]
            at += 1
            switch byte {
            case UInt8(ascii: "\"") where quoting.writesPercents:
                written += "%22".utf8
                hasEscape = true
            case UInt8(ascii: "\\") where !quoting.doublesBackslashes:
                if at < name.count, name[at] == byte { at += 1 }
                written.append(byte)
                hasEscape = true
            case ASCII.carriageReturn, ASCII.lineFeed:
                if byte == ASCII.carriageReturn, at < name.count, name[at] == ASCII.lineFeed { at += 1 }
                written += "%0D%0A".utf8
                hasEscape = true
            case UInt8(ascii: "%") where at + 1 < name.count && isEscaped(name[at], name[at + 1], quoting):
                written += [byte, name[at], name[at + 1] & ~0x20 | (name[at + 1] < 0x40 ? 0x20 : 0)]
                at += 2
                hasEscape = true
            default: written.append(byte)
            }
        }
        return hasEscape ? written : nil
    }

    /// Whether the two digits behind a percent sign are those of a line end, or of a quotation mark that is written with them.
    private static func isEscaped(_ first: UInt8, _ second: UInt8, _ quoting: NameQuoting) -> Bool {
        if first == UInt8(ascii: "2") { return second == UInt8(ascii: "2") && quoting.writesPercents }
        return first == UInt8(ascii: "0") && [0x41, 0x44].contains(second & ~0x20)
    }
}
