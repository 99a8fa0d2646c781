/// Which word was meant.
package enum NearestWord {
    /// The word of `known` that differs from `word` by the fewest letters, when it is near enough to be meant.
    static func of(_ word: String, among known: [String]) -> String? {
        let wanted = Array(word.lowercased().utf8)
        // Who writes `bool` means `boolean`.
        let longer = known.filter { wanted.count >= 3 && $0.lowercased().hasPrefix(word.lowercased()) }
        if longer.count == 1 { return longer[0] }
        let bound = max(1, min(wanted.count, 12) / 3)
        var best: (word: String, distance: Int)?
        // None is nearer than the letters that it has more or fewer.
        for candidate in known where abs(candidate.utf8.count - wanted.count) <= bound {
            let distance = distance(wanted, Array(candidate.lowercased().utf8))
            if distance <= bound, distance < wanted.count, distance < best?.distance ?? .max {
                best = (candidate, distance)
            }
        }
        return best?.word
    }

    /// Whether one letter makes `other`, which is near, of `word`: a slip of the pen, whatever else the word may mean.
    static func isSlip(_ word: String, for other: String) -> Bool {
        distance(Array(word.lowercased().utf8), Array(other.lowercased().utf8)) <= 1
    }

    /// The word of `known` that a slip of the pen has made `word` of; nil of one that is known, and where there is none.
    static func slip(_ word: String, among known: [String]) -> String? {
        if known.contains(where: { $0.lowercased() == word.lowercased() }) { return nil }
        return known.first { abs($0.count - word.count) <= 1 && isSlip(word, for: $0) }
    }

    /// Words that a message names at most, 40: there are as many routes as somebody wants.
    private static let listed = 40

    /// The end of a message about a word that is not known: a guess, or all that there is, the first forty of more.
    package static func hint(for word: String, among known: [String]) -> String {
        if let nearest = of(word, among: known) { return "did you mean \"\(nearest)\"?" }
        if known.count == 1 { return "only \"\(known[0])\" is known" }
        let more = known.count > listed ? " and \(known.count - listed) more" : ""
        return "known are \(known.prefix(listed).joined(separator: ", "))\(more)"
    }

    /// Insertions, deletions, replacements and swaps of neighbours that turn one word into the other, counted in bytes.
    private static func distance(_ first: [UInt8], _ second: [UInt8]) -> Int {
        var beforeLast: [Int] = []
        var last = Array(0...second.count)
        for row in first.indices {
            var current = [row + 1]
            for column in second.indices {
                var cost = min(last[column + 1], current[column]) + 1
                cost = min(cost, last[column] + (first[row] == second[column] ? 0 : 1))
                if row > 0, column > 0, first[row] == second[column - 1], first[row - 1] == second[column] {
                    cost = min(cost, beforeLast[column - 1] + 1)
                }
                current.append(cost)
            }
            (beforeLast, last) = (last, current)
        }
        return last[second.count]
    }
}
