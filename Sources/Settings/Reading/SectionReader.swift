internal import Gateway

/// Reads one mapping of the settings: each key is taken once, and what was not taken is reported at the end.
///
/// Values in effect are recorded under the section's path, given or not.
final class SectionReader {
    let context: ReadingContext
    let position: SettingsNode.Position
    /// What the section is, for messages: `the route "orders"`.
    let what: String
    /// The keys that lead to it, for the effective values: `limits`; empty at the top of a route.
    let path: String
    private var members: [SettingsNode.Member]
    /// The keys that the section has, in the order they were asked for or declared.
    private var known: [String] = []
    /// Those of them that are written.
    private var given: [String] = []
    /// Whether it is the file, "defaults" or a route itself, whose sections have paths without a beginning of their own.
    var isRoot = false

    private init(
        _ context: ReadingContext, _ position: SettingsNode.Position, _ what: String, _ path: String,
        _ members: [SettingsNode.Member]
    ) {
        self.context = context
        self.position = position
        self.what = what
        self.path = path
        self.members = members
    }

    /// A reader for `node`, or nil, and a mistake, when it is no mapping.
    convenience init?(_ node: SettingsNode, _ what: String, path: String = "", _ context: ReadingContext) {
        guard case .mapping(let members) = node.content else {
            let hint = Self.hint(instead: node, path, context)
            context.report(node.position, "\(what) is a mapping of keys to values, not \(node.kind)\(hint)")
            return nil
        }
        self.init(context, node.position, what, path, members)
    }

    /// What to write where a single value stands for the section at `path`.
    private static func hint(instead node: SettingsNode, _ path: String, _ context: ReadingContext) -> String {
        guard case .scalar(let text, let isPlain) = node.content, !node.isNull else { return "" }
        if !isPlain, text.hasPrefix("{") { return ": leave the quotes out" }
        guard let level = context.level, !path.isEmpty, context.catalog == nil else { return "" }
        // What of a route is deeper has other keys from case to case.
        if level == .route || level == .defaults, path.contains(".") { return "" }
        let keys = SettingsKeys.keys(of: SettingsKeys.section(path, at: level), at: level)
        return keys.isEmpty ? "" : ": its keys are \(keys.joined(separator: ", "))"
    }

    /// A section that was not written: all its values are the standard ones.
    static func absent(_ what: String, path: String, _ context: ReadingContext) -> SectionReader {
        SectionReader(context, .init(line: 1, column: 1), what, path, [])
    }

    /// The keys that are there and were not taken yet.
    var remaining: [SettingsNode.Member] { members }

    /// The value of `key`, or nil when it isn't there.
    func take(_ key: String) -> SettingsNode? {
        member(key)?.value
    }

    /// The value of `key`; reports that it is missing.
    func required(_ key: String, example: String) -> SettingsNode? {
        if let value = take(key) { return value }
        context.report(position, "\(what) needs \"\(key)\", as in \(key): \(example)")
        return nil
    }

    /// Declares keys that are asked for only where something else is written, or isn't: the section has them all the same, and says so of
    /// a key that it hasn't.
    func knows(_ keys: String...) {
        guard !members.isEmpty else { return }
        for key in keys where !known.contains(key) { known.append(key) }
    }

    /// Says that `key` can't be used here and why.
    func refuse(_ key: String, _ reason: @autoclosure () -> String) {
        guard let index = members.firstIndex(where: { $0.key == key }) else { return }
        let member = members.remove(at: index)
        context.report(member.position, "\"\(key)\" \(reason())")
    }

    /// The section `key` within this one; where it isn't there, one without values that stands where this one does.
    func part(_ key: String) -> SectionReader {
        let path = self.path.isEmpty ? key : "\(self.path).\(key)"
        let absent = SectionReader(context, position, "\"\(key)\"", path, [])
        guard let node = take(key) else { return absent }
        return SectionReader(node, "\"\(key)\"", path: path, context) ?? absent
    }

    /// The elements of `key`, one or a list of them, each once; empty where it isn't there. One that `read` can't read is left out.
    func list<Element: Hashable>(_ key: String, _ read: (SettingsNode, String) -> Element?) -> [Element] {
        guard let node = take(key) else { return [] }
        let what = "\"\(key)\""
        var elements: [Element] = []
        for element in context.elements(node, what) ?? [] {
            guard let text = context.text(element, what), let value = read(element, text) else { continue }
            if elements.contains(value) { context.report(element.position, "\(what) has \"\(text)\" twice") }
            elements.append(value)
        }
        record(key, elements.map { "\($0)" }.joined(separator: ", "), .line(node.position.line))
        return elements
    }

    /// As above, of patterns.
    func patterns<Pattern: Hashable>(
        _ key: String, _ parse: (String) throws(PatternFault) -> Pattern
    ) -> [Pattern] {
        list(key) { node, text in context.pattern(text, node, parse) }
    }

    /// Tells which values `key` takes, where options are listed. Nil: it isn't one of some words.
    func offer(
        _ key: String, _ values: @autoclosure () -> [String]? = nil, standard: @autoclosure () -> String? = nil
    ) {
        // Whoever starts has no list to make.
        guard let catalog = context.catalog else { return }
        catalog.note(path, key, values: values(), standard: standard())
    }

    private func member(_ key: String) -> SettingsNode.Member? {
        offer(key)
        // Which keys are known matters only to those that are not taken; most sections are empty.
        guard !members.isEmpty else { return nil }
        if !known.contains(key) { known.append(key) }
        guard let index = members.firstIndex(where: { $0.key == key }) else { return nil }
        given.append(key)
        return members.remove(at: index)
    }

    /// Reports the keys that were not taken: each with the place where it belongs, or with the word that was meant. All that the
    /// section has is told once.
    func finish() {
        var hasToldAll = false
        for member in members {
            var hint = ""
            let nearest = NearestWord.of(member.key, among: known)
            if let missing = Self.spaceMissing(in: member.key) {
                hint = ": a space is missing behind \(missing)"
            } else if let foreign = foreignPlace.flatMap({ ForeignKeys.hint(for: member.key, in: $0) }) {
                hint = ": \(foreign)"
            } else if let place = place(of: member.key) {
                // A key that is known elsewhere may be a slip of the pen all the same, for one that isn't there.
                let slip = nearest.flatMap {
                    NearestWord.isSlip(member.key, for: $0) && !given.contains($0) ? $0 : nil
                }
                hint = ": \(place)" + (slip.map { ", or did you mean \"\($0)\"?" } ?? "")
            } else if let nearest {
                hint = ": did you mean \"\(nearest)\"?"
            } else if !hasToldAll {
                hint = ": \(NearestWord.hint(for: member.key, among: known))"
                hasToldAll = true
            }
            context.report(member.position, "\(what) has no key \"\(member.key)\"\(hint)")
        }
        members = []
    }

    /// Which sign has no space behind it, so that more than a key was read as one: `headers:{ X-A`, and `-name`.
    private static func spaceMissing(in key: String) -> String? {
        if let colon = key.firstIndex(of: ":"), key.first?.isLetter == true,
            key[..<colon].allSatisfy({ $0.isLetter || $0.isNumber || $0 == "_" })
        {
            return "the colon of \"\(key[...colon])\""
        }
        return key.first == "-" && key.dropFirst().first?.isLetter == true ? "the dash of \"\(key)\"" : nil
    }

    /// What of other proxies' settings this section is like.
    private var foreignPlace: ForeignKeys.Place? {
        guard let level = context.level, context.catalog == nil else { return nil }
        switch level {
        case .file where isRoot: return .file
        case .route where isRoot: return .route
        case .defaults where isRoot: return .defaults
        case .route where path == "match": return .match
        case .upstream(let prefix) where path == prefix: return .upstream
        case .upstream(let prefix) where path == "\(prefix).tls": return .upstreamTLS
        case .file where path.hasPrefix("listen.") && path.hasSuffix(".tls"): return .listenerTLS
        case .file, .route, .defaults, .upstream: return nil
        }
    }

    /// Where a key stands that this section doesn't have.
    private func place(of key: String) -> String? {
        // What lists the keys must not ask for the list.
        guard let level = context.level, isRoot || !path.isEmpty, context.catalog == nil else { return nil }
        return SettingsKeys.place(
            of: key, notIn: SettingsKeys.section(path, at: level), at: level, shortened: context.hasShortRequest)
    }

    // MARK: - Values that are in effect whether they are written or not

    /// What isn't written here, but under `defaults`, comes from there.
    func record(_ key: String, _ value: String, _ origin: EffectiveValue.Origin) {
        let key = full(key)
        context.record(key, value, origin == .standard ? context.inherited[key] ?? .standard : origin)
    }

    /// `key` with the keys that lead to it.
    private func full(_ key: String) -> String {
        path.isEmpty ? key : path + "." + key
    }

    /// The value of `key` read by `read`, or the standard one; recorded as `describe` writes it.
    func value<Value>(
        _ key: String, standard: Sourced<Value>, describe: (Value) -> String, read: (SettingsNode, String) -> Value?
    ) -> Sourced<Value> {
        var result = standard
        let full = full(key)
        if let member = member(key), let value = read(member.value, "\"\(key)\"") {
            result = Sourced(value, .line(member.position.line))
        } else if result.origin == .standard {
            result.origin = context.inherited[full] ?? .standard
        }
        context.record(full, describe(result.value), result.origin)
        return result
    }

    func size(_ key: String, standard: Sourced<Int>, from minimum: Int = 1) -> Sourced<Int> {
        value(key, standard: standard, describe: Units.describe(bytes:)) { context.size($0, $1, from: minimum) }
    }

    func size(_ key: String, standard: Sourced<Int>, in range: ClosedRange<Int>) -> Sourced<Int> {
        value(key, standard: standard, describe: Units.describe(bytes:)) { context.size($0, $1, in: range) }
    }

    func count(_ key: String, standard: Sourced<Int>, in range: ClosedRange<Int>) -> Sourced<Int> {
        value(key, standard: standard, describe: String.init) { context.count($0, $1, in: range) }
    }

    /// A count that another setting bounds: one above `bound` would be cut to it in silence, so it is refused, and one that isn't
    /// written follows. A bound of nil is one that could not be read, so that nothing can be said of it.
    func count(
        _ key: String, standard: Int, in range: ClosedRange<Int>, notAbove bound: Bound<Int>?
    ) -> Sourced<Int> {
        bounded(key, standard: standard, by: bound, describe: String.init) { context.count($0, $1, in: range) }
    }

    /// As above.
    func bounded<Value: Comparable>(
        _ key: String, standard: Value, by bound: Bound<Value>?, describe: (Value) -> String,
        read: (SettingsNode, String) -> Value?
    ) -> Sourced<Value> {
        let standard = bound.map { min(standard, $0.value) } ?? standard
        return value(key, standard: Sourced(standard), describe: describe) { node, what in
            read(node, what).flatMap { bounded($0, node, what, by: bound, describe: describe) }
        }
    }

    /// `value`, which stands in `node`, or nil, and a mistake, where it is above `bound`.
    func bounded<Value: Comparable>(
        _ value: Value, _ node: SettingsNode, _ what: String, by bound: Bound<Value>?, describe: (Value) -> String
    ) -> Value? {
        guard let bound, value > bound.value else { return value }
        context.report(
            node.position,
            "\(what) is at most \"\(bound.key)\", which is \(describe(bound.value)) here, not \(describe(value))")
        return nil
    }

    /// Another setting that bounds a value.
    struct Bound<Value> {
        /// As messages call it.
        var key: String
        var value: Value
    }

    /// The bound that `value`, read since there were as many `failures`, is; nil where it could not be read.
    func bound<Value>(_ key: String, _ value: Value, since failures: Int) -> Bound<Value>? {
        context.failures == failures ? Bound(key: key, value: value) : nil
    }

    func bool(_ key: String, standard: Bool) -> Bool {
        value(key, standard: Sourced(standard), describe: String.init) { context.bool($0, $1) }.value
    }

    /// A part of a hundred in millionths, at least `least`; `range` says of what it is one, and from where to where it goes.
    func share(_ key: String, standard: Int, from least: Int = 0, _ range: String) -> Int {
        value(key, standard: Sourced(standard), describe: Units.describe(millionths:)) { node, what in
            guard let text = context.text(node, what) else { return nil }
            if let share = Units.millionths(text), share >= least { return share }
            context.report(
                node.position,
                "\(what) is a part of \(range), with at most four digits behind the point, as in 0.5%, not \"\(text)\"")
            return nil
        }.value
    }

    func time(_ key: String, standard: Sourced<Duration>, mayBeZero: Bool = false) -> Sourced<Duration> {
        value(key, standard: standard, describe: Units.describe(_:)) { context.time($0, $1, mayBeZero: mayBeZero) }
    }

    /// One of an enumeration's words, which becomes `value` where it is written; what `value` is otherwise is recorded.
    func word<Word: RawRepresentable<String> & CaseIterable>(
        _ key: String, into value: inout Word, among words: [Word] = Array(Word.allCases)
    ) {
        value = word(key, standard: value, among: words) ?? value
    }

    /// One of an enumeration's words, or of those in `words`. Nil when it isn't written; then `standard` is recorded.
    func word<Word: RawRepresentable<String> & CaseIterable>(
        _ key: String, standard: Word, among words: [Word] = Array(Word.allCases)
    ) -> Word? {
        offer(key, words.map(\.rawValue), standard: standard.rawValue)
        guard let member = member(key) else {
            record(key, standard.rawValue, .standard)
            return nil
        }
        guard let text = context.word(member.value, "\"\(key)\"", among: words.map(\.rawValue)) else { return nil }
        record(key, text, .line(member.position.line))
        return Word(rawValue: text)
    }
}
