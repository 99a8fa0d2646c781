package import HTTPWire
package import Octets

/// What becomes of a head's received fields on their way to the other side: which lines stay behind, and which are replaced.
///
/// It is a value that whatever carries heads applies. The lines that are new are written as text behind it, by the functions beside
/// `init(request:)` and `init(response:)` and by a route's rules, into a buffer that the caller lends: HTTP/1 lends the one that its
/// head goes out from, so that nothing is copied; a front that edits heads which others send lends an empty one and hands it to
/// `forEachChange`.
package struct PassedFields: Sendable {
    private let removed: KnownFieldSet
    private let passesUnderscores: Bool
    private let weakensTags: Bool
    /// What Max-Forwards says from here on; nil: the field stays as it came.
    private let maxForwards: Int?

    /// The lines of `removed` stay behind, as do those of this hop (RFC 9110 §7.6.1).
    init(
        removing removed: KnownFieldSet, passesUnderscores: Bool = true, maxForwards: Int? = nil,
        weakensTags: Bool = false
    ) {
        self.removed = removed
        self.passesUnderscores = passesUnderscores
        self.maxForwards = maxForwards
        self.weakensTags = weakensTags
    }

    // MARK: As lines

    /// Where a head's fields begin among the lines that are written, and those of them that are new.
    package struct Position {
        package let fields: Int
        package let new: Int

        /// Of new lines alone, which begin at the first byte.
        package static let start = Position(fields: 0, new: 0)

        /// With what was written up to `end` among the received lines.
        package func with(receivedUpTo end: Int) -> Position { Position(fields: fields, new: end) }
    }

    /// Appends the received lines that go on, in their order. The new lines go behind them, then the rules have their last word
    /// (`HeaderEditor.apply`).
    package func write(_ head: borrowing MessageHead, into output: inout OutputBuffer) -> Position {
        let fields = output.count
        var start = 0
        if maxForwards != nil || weakensTags {
            for index in 0..<head.fieldCount where replaces(index, of: head) {
                HeadWriter.fields(
                    of: head, lines: start..<index, without: removed, passesUnderscores: passesUnderscores,
                    into: &output)
                appendReplacement(of: index, in: head, to: &output)
                start = index + 1
            }
        }
        HeadWriter.fields(
            of: head, lines: start..<head.fieldCount, without: removed, passesUnderscores: passesUnderscores,
            into: &output)
        return Position(fields: fields, new: output.count)
    }

    private func replaces(_ index: Int, of head: borrowing MessageHead) -> Bool {
        switch head.known(index) {
        case .maxForwards: maxForwards != nil && !head.isHopByHop(index)
        case .etag: weakensTags && !head.isHopByHop(index) && !removed.contains(.etag)
        default: false
        }
    }

    /// Appends what a replaced line becomes, which may be nothing.
    private func appendReplacement(of index: Int, in head: borrowing MessageHead, to output: inout OutputBuffer) {
        if let maxForwards, head.known(index) == .maxForwards {
            return HeadWriter.field("Max-Forwards", decimal: maxForwards, into: &output)
        }
        // The representation is another, equivalent one: its tag says the same weakly (RFC 9110 §8.8.1). What is no entity tag is
        // left out.
        let tag = head.value(index)
        let isWeak = tag.count > 2 && tag[0] == UInt8(ascii: "W") && tag[1] == UInt8(ascii: "/")
        guard Self.isOpaqueTag(tag.extracting((isWeak ? 2 : 0)..<tag.count)) else { return }
        output.append(isWeak ? "ETag: " : "ETag: W/")
        output.append(tag)
        output.append("\r\n")
    }

    /// Whether a text is an `opaque-tag` (RFC 9110 §8.8.3): two quotation marks, none between them, and no blanks.
    private static func isOpaqueTag(_ text: Span<UInt8>) -> Bool {
        let mark = UInt8(ascii: "\""), last = text.count - 1
        guard last > 0, text[0] == mark, text[last] == mark else { return false }
        for index in 1..<last where text[index] == mark || text[index] <= ASCII.space || text[index] == 0x7F {
            return false
        }
        return true
    }

    // MARK: As changes of a head that others send

    /// One change of the fields of one name.
    package enum Change {
        /// All of that name go.
        case remove
        /// One with this value takes the place of all of that name.
        case set
        /// One more with this value.
        case append
    }

    /// Calls `change` for each change that makes of the received fields those that go on: all removals first, then the rest in its
    /// order. A removal has no value. What would be set to the value that it has is no change.
    ///
    /// - Parameters:
    ///   - new: the new lines, to which `rules` have been applied already.
    ///   - rules: those of the route, which may remove received fields too.
    ///   - dropped: removes received fields alone.
    package func forEachChange(
        of head: borrowing MessageHead, new: Span<UInt8>, rules: HeaderEditor?, without dropped: HeaderEditor? = nil,
        _ change: (Change, _ name: Span<UInt8>, _ value: Span<UInt8>) -> Void
    ) {
        var lines = OutputBuffer()
        for index in 0..<head.fieldCount {
            let isReplaced = replaces(index, of: head)
            if isReplaced, rules?.removes(head.name(index), isOurs: false) != true {
                appendReplacement(of: index, in: head, to: &lines)
            }
            guard isReplaced || !passes(index, of: head, rules, dropped), head.first(named: head.name(index)) == index,
                !WrittenLine.isNamed(head.name(index), in: new, before: new.count),
                !WrittenLine.isNamed(head.name(index), in: lines.span, before: lines.count)
            else { continue }
            change(.remove, head.name(index), Span())
        }
        lines.append(new)
        let all = lines.span
        var at = 0
        while at < all.count {
            let line = WrittenLine(all, at)
            let name = all.extracting(line.name)
            let received = head.first(named: name)
            let staysThere = received.map { passes($0, of: head, rules, dropped) && !replaces($0, of: head) } ?? false
            let value = all.extracting(line.value)
            let isRepeated = WrittenLine.isNamed(name, in: all, before: at)
            at = line.end
            if staysThere || isRepeated {
                change(.append, name, value)
            } else if let received, head.isOnly(received), head.value(received).isEqual(to: value),
                !WrittenLine.isNamed(name, in: all.extracting(at..<all.count), before: all.count - at)
            {
                continue
            } else {
                change(.set, name, value)
            }
        }
    }

    /// Whether a received line goes on as it is. All of one name do, or none.
    private func passes(
        _ index: Int, of head: borrowing MessageHead, _ rules: HeaderEditor?, _ dropped: HeaderEditor?
    ) -> Bool {
        !head.isHopByHop(index) && !removed.contains(head.known(index))
            && (passesUnderscores || !head.hasUnderscore(index))
            && rules?.removes(head.name(index), isOurs: false) != true
            && dropped?.removes(head.name(index), isOurs: false) != true
    }
}

extension MessageHead {
    /// Whether no other line has the name of that one.
    fileprivate func isOnly(_ index: Int) -> Bool {
        for other in 0..<fieldCount where other != index && name(other).isEqualIgnoringCase(to: name(index)) {
            return false
        }
        return true
    }
}

/// A field line among others, as it is written.
private struct WrittenLine {
    let name: Range<Int>
    let value: Range<Int>
    /// Behind its line end.
    let end: Int

    init(_ lines: Span<UInt8>, _ start: Int) {
        let colon = Scan.firstIndex(of: UInt8(ascii: ":"), in: lines, from: start) ?? lines.count
        end = (Scan.firstIndex(of: ASCII.lineFeed, in: lines, from: colon) ?? lines.count - 1) + 1
        name = start..<colon
        value = min(colon + 2, end - 2)..<end - 2
    }

    /// Whether a line before `limit` has that name, letters in either case.
    static func isNamed(_ name: Span<UInt8>, in lines: Span<UInt8>, before limit: Int) -> Bool {
        var at = 0
        while at < limit {
            let line = WrittenLine(lines, at)
            if lines.extracting(line.name).isEqualIgnoringCase(to: name) { return true }
            at = line.end
        }
        return false
    }
}
