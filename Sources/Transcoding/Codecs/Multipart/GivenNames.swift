internal import Octets

/// The names that rules give files, among those of all parts of one body: none may be another field's too, or lead through one.
///
/// A body has any number of names, of which nothing is kept: of those that a rule could give, the least number is, and of those that it
/// has given the greatest. So a field may come before the files or behind them; and all numbers up to the greatest count as given.
internal struct GivenNames {
    private struct Rule {
        let name: NamePattern
        /// The greatest number that was given, and the least that another part has; a name without a number has 0.
        var given = -1
        var met = Int.max
    }

    private var rules: [Rule]
    private let nesting: NestingStyle
    /// Whether there are such rules.
    let isEmpty: Bool
    /// The error of a name that is given and another part's.
    private let refusal: ConversionError?

    /// No names.
    init() {
        (rules, nesting, isEmpty, refusal) = ([], .brackets, true, nil)
    }

    init(_ names: [NamePattern], _ nesting: NestingStyle, refusal: ConversionError) {
        rules = names.map { Rule(name: $0) }
        isEmpty = names.isEmpty
        self.nesting = nesting
        self.refusal = refusal
    }

    mutating func removeAll() {
        for index in rules.indices { (rules[index].given, rules[index].met) = (-1, .max) }
    }

    /// Takes the name of a part. Throws where a rule has given it to a file and another part has it.
    mutating func take(_ name: Span<UInt8>, isGiven: Bool) throws(ConversionError) {
        for index in rules.indices {
            guard let number = rules[index].name.number(in: name, nesting) else { continue }
            if isGiven {
                rules[index].given = max(rules[index].given, number)
            } else {
                rules[index].met = min(rules[index].met, number)
            }
            guard rules[index].given >= rules[index].met, var error = refusal else { continue }
            error.field = name.lossyString()
            throw error
        }
    }
}

/// A name in which the number of a file may stand: what stands between the numbers, one piece where there is none.
internal struct NamePattern: Hashable, Sendable {
    let pieces: [[UInt8]]

    /// Whether the name pushes on an array, in which there is a place for each file.
    internal var isPush: Bool { pieces.last?.suffix(2) == [UInt8(ascii: "["), UInt8(ascii: "]")] }

    /// Whether a file can get a name by this rule which one by `other` can get, too, or which leads through one.
    internal func clashes(with other: NamePattern, _ nesting: NestingStyle) -> Bool {
        self == other || other.number(in: sample.span, nesting) != nil || number(in: other.sample.span, nesting) != nil
    }

    /// The name of the first file.
    private var sample: [UInt8] { Array(pieces.joined(separator: [UInt8(ascii: "0")])) }

    /// The number of the file with whose name `name` can't stand beside: it is the same, or one of them leads through the other. 0 where
    /// that is so for each number, nil for none.
    internal func number(in name: Span<UInt8>, _ nesting: NestingStyle) -> Int? {
        var number: Int?
        var at = 0
        for (index, piece) in pieces.enumerated() {
            if index > 0 {
                guard at < name.count else { return isEnd(index, nesting) ? number ?? 0 : nil }
                let start = at
                var value = 0
                while at < name.count, ASCII.isDigit(name[at]), at - start < 9 {
                    value = value * 10 + Int(name[at] - UInt8(ascii: "0"))
                    at += 1
                }
                // A number is written without zeros before it.
                guard at > start, name[start] != UInt8(ascii: "0") || at == start + 1, number ?? value == value else {
                    return isPushed(name, start, at) ? number ?? 0 : nil
                }
                number = value
            }
            for (offset, byte) in piece.enumerated() {
                guard at < name.count else { return begins(byte, nesting) && at > 0 ? number ?? 0 : nil }
                guard name[at] == byte else {
                    // One of them pushes on the array that the other one has an element or a member of.
                    let isPush = byte == UInt8(ascii: "]") && offset > 0 && piece[offset - 1] == UInt8(ascii: "[")
                    return isPush || isPushed(name, at, at) ? number ?? 0 : nil
                }
                at += 1
            }
        }
        guard at < name.count else { return number ?? 0 }
        return begins(name[at], nesting) ? number ?? 0 : nil
    }

    /// Whether a level of a name begins with that byte.
    private func begins(_ byte: UInt8, _ nesting: NestingStyle) -> Bool {
        nesting != .flat && byte == UInt8(ascii: "[") || nesting == .dots && byte == UInt8(ascii: ".")
    }

    /// Whether the name has come to its end where the number of `pieces[index]` would stand: never at the end of a level.
    private func isEnd(_ index: Int, _ nesting: NestingStyle) -> Bool {
        nesting == .dots && pieces[index - 1].last == UInt8(ascii: ".")
    }

    /// Whether `name` has `[]` where something else stands in the rule.
    private func isPushed(_ name: Span<UInt8>, _ start: Int, _ end: Int) -> Bool {
        start == end && start > 0 && start < name.count && name[start - 1] == UInt8(ascii: "[")
            && name[start] == UInt8(ascii: "]")
    }
}
