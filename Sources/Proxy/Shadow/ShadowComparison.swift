internal import ContentCoding
internal import Gateway
internal import Octets

/// What two answers, to a request and to its copy, have in common.
struct ShadowComparison {
    enum Outcome: String {
        case same
        case different
        /// They can't be compared: one isn't whole, is too long, or has a content coding that can't be undone; its status may have been.
        case skipped
    }

    private(set) var outcome = Outcome.same
    private(set) var differences: ValueDifferences

    /// Bytes of contents at most that are compared, without their content codings: 256 KiB, a few milliseconds.
    static let longest = 256 * 1024

    init(_ first: ShadowAnswer?, _ second: ShadowAnswer, _ options: ShadowOptions, coders: CoderPool) {
        differences = ValueDifferences(ignoring: options.ignored)
        guard let first else {
            outcome = .skipped
            return
        }
        if first.status != second.status { differences.add(.status) }
        var isCompared = false
        if first.isWhole, second.isWhole, !first.isTooLong, !second.isTooLong,
            let one = Self.content(of: first, coders),
            let other = Self.content(of: second, coders)
        {
            isCompared = compare(one.span, first.type.span, other.span, second.type.span)
        }
        if !differences.all.isEmpty { outcome = .different } else if !isCompared { outcome = .skipped }
    }

    /// Returns whether there is something to say.
    private mutating func compare(
        _ one: Span<UInt8>, _ type: Span<UInt8>, _ other: Span<UInt8>, _ otherType: Span<UInt8>
    ) -> Bool {
        if one.isEqual(to: other), type.isEqual(to: otherType) { return true }
        switch (AnswerValues.read(one, type: type), AnswerValues.read(other, type: otherType)) {
        case (.values(let one), .values(let other)): differences.compare(one, other)
        case (.tooLong, _), (_, .tooLong): return false
        case (.otherType, .otherType):
            // Without values there are the bytes: whoever tries another upstream wants to hear of them, too.
            if !MediaRange.essence(type).isEqualIgnoringCase(to: MediaRange.essence(otherType)) {
                differences.add(.type)
            } else if !one.isEqual(to: other) {
                differences.add(.content)
            }
        case (.otherType, _), (_, .otherType): differences.add(.type)
        case (.unreadable, _), (_, .unreadable): differences.add(.unreadable)
        }
        return true
    }

    /// The content without its codings; nil where it can't be had, or is longer than is compared.
    private static func content(of answer: ShadowAnswer, _ coders: CoderPool) -> OutputBuffer? {
        guard let codings = answer.codings else { return nil }
        if codings.isEmpty || answer.content.isEmpty { return answer.content }
        let decoder = coders.takeDecoder(codings)
        defer { coders.recycle(decoder) }
        var limits = CodingLimits().ofResponse
        limits.decompressed = longest
        decoder.begin(codings, limits: limits)
        var output = OutputBuffer()
        let content = answer.content
        var at = 0
        do throws(CodingError) {
            while at < content.count || decoder.hasMore {
                at += try decoder.feed(content.span.extracting(at..<content.count), into: &output)
            }
            try decoder.finish()
        } catch {
            return nil
        }
        return output
    }

    /// Paths of differences that a line of the log has at most.
    private static let mostShown = 12
    private static let longestPath = 120

    /// What differs, for the log: places, and no values.
    var description: String {
        var parts: [String] = []
        for difference in differences.all.prefix(Self.mostShown) {
            parts.append(
                difference.path.isEmpty
                    ? difference.kind.rawValue : "\(difference.kind.rawValue) \(Self.shown(difference.path))")
        }
        let left = differences.all.count - parts.count
        if left > 0 { parts.append("\(left)\(differences.isCut ? " or more" : "") other places") }
        return parts.joined(separator: "; ")
    }

    /// A path may hold anything that an upstream calls its values.
    private static func shown(_ path: String) -> String {
        var text = ""
        for scalar in path.unicodeScalars {
            if text.utf8.count >= longestPath { return text + "…" }
            text += scalar.properties.generalCategory == .control ? scalar.escaped(asASCII: true) : String(scalar)
        }
        return text
    }
}
