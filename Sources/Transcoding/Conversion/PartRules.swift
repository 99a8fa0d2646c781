internal import Octets

/// What a plan does with the fields and files of a flat body by their names: the map, the rules of files, texts that become
/// files. `FieldMapper` passes on what is left, `FieldGatherer` puts it into a tree.
internal struct PartRules: ~Copyable {
    enum Verdict: Equatable {
        /// A field.
        case field
        /// A file, as what the policy says: `stream`, `base64` or `object`.
        case file(FilePolicy)
        /// An input for files in which none was chosen, where the output has no files.
        case unchosen
        /// A text that becomes a file, see `make`.
        case made
        /// A text that stands for a file, of which other bytes are made and written as a text again.
        case madeText
        /// Left out by the map, or by a rule of files.
        case removed
        /// Left out by the library whose names are read.
        case dropped
    }

    var gate: FileGate
    /// Hears of each part and of the rules that concern it, where a conversion is explained.
    let observer: ConversionObserver?
    /// Whether fields have to be judged: a rule may make a file of one, or give a file its name.
    let concernsFields: Bool
    /// Whether texts have to be shown to `gate` because files take their names from them.
    let wantsTexts: Bool
    let hasMap: Bool
    private let makesFiles: Bool
    private let options: FieldDecodingOptions
    private let limits: Limits
    private let input: BodyEncoding
    private let output: BodyEncoding
    /// Whether parts pass one by one: nothing but the rules asks for the path in a name, and what goes out is bounded.
    private let passes: Bool
    private let hasRules: Bool
    /// Whether a file with a name that PHP doesn't take is left out.
    private let skipsMalformed: Bool
    private var names: NameMapper
    /// Where filenames come from texts of the same elements of arrays.
    private var elements: ElementNumbers?
    private var name = FieldName()
    private var rule: Int?
    /// Whether no file was chosen in the part at hand: what rules ask of files, and make of them, doesn't concern it.
    private var isUnchosen = false
    /// The path of the part, as the map has it.
    private(set) var mapped = MappedName()
    /// As above, with the numbers of elements in the places of `[]`, where `elements` is there; and whether it has them.
    private var placed = MappedName()
    private var isPlaced = true
    /// The name of the part as the map or a rule spells it.
    private(set) var spelled = ByteStore()
    private(set) var naming = FileNaming.received
    /// The head under which the part goes out; see `describe` and `make`.
    private(set) var head = PartHead()

    init(_ plan: ConversionPlan, input: BodyEncoding, passes: Bool, observer: ConversionObserver?) {
        let gate = FileGate(plan, isObserved: observer != nil)
        let makesFiles = plan.files.contains { $0.source(from: input, to: plan.output) != nil }
        output = plan.output
        self.gate = gate
        self.input = input
        self.passes = passes
        self.makesFiles = makesFiles
        wantsTexts = gate.wantsTexts
        concernsFields = makesFiles || gate.wantsTexts
        hasMap = !plan.map.isEmpty
        hasRules = !plan.map.isEmpty || !plan.files.isEmpty
        skipsMalformed = plan.fieldDecoding.libraryOfNames == .php
        options = plan.fieldDecoding
        limits = plan.limits
        names = NameMapper(plan.map, observer: observer)
        elements = ElementNumbers(plan, gate.nameSources.map(\.path))
        self.observer = observer
    }

    /// Begins another body.
    mutating func reset() {
        names.reset()
        gate.reset()
        elements?.removeAll()
    }

    /// Bytes that are held of names.
    var heldCount: Int {
        switch elements {
        case nil: 0
        case .some(let elements): elements.count
        }
    }

    /// Whether the name was changed by the map.
    var isRenamed: Bool { naming == .mapped }

    /// Whether a part that no rule is about goes out under the head that it came with.
    var leavesHead: Bool { naming == .received && rule == nil }

    /// Decides about a part. Throws where a rule refuses it.
    mutating func judge(_ part: borrowing PartHead) throws(ConversionError) -> Verdict {
        rule = nil
        isUnchosen = part.isUnchosen
        naming = .received
        spelled.removeAll()
        if hasRules || !passes {
            try name.parse(part.name, options: options, limits: limits)
            mapped.set(name)
            if name.isDropped || skipsMalformed && part.isFile && !part.name.isPHPFileName {
                observer?.concerns("dialect: \(options.dialect.rawValue)")
                return .dropped
            }
            let change = try names.apply(to: &mapped)
            if elements != nil { try place(part) }
            switch change {
            case .removed: return .removed
            case .renamed: naming = .mapped
            case .unchanged: break
            }
        }
        if isRenamed {
            mapped.spell(options.nesting, to: &spelled)
            // The limit is of what comes out: our own reader would refuse a longer one.
            guard !passes || spelled.count <= limits.key else {
                throw .limit(
                    "key", of: limits.key, what: "the length of a field's name, as map.rename writes it",
                    field: part.name.lossyString())
            }
        } else {
            spelled.append(contentsOf: part.name)
        }
        if part.isFile {
            if hasRules { rule = gate.rule(for: mapped) }
            if let observer { explain(to: observer) }
            if isUnchosen { return judgeUnchosen() }
            let policy = try gate.admit(rule: rule, field: spelled)
            return policy == .drop ? .removed : .file(policy)
        }
        if makesFiles, let index = gate.rule(for: mapped),
            let source = gate.rules[index].source(from: input, to: output)
        {
            rule = index
            observer?.concerns("files.\(gate.rules[index].path): from \(source.rawValue)")
            guard !gate.keepsText(rule: index) || gate.holds(rule: index) else { return .field }
            gate.make(rule: index, from: source, field: spelled)
            return gate.keepsText(rule: index) ? .madeText : .made
        }
        return .field
    }

    /// Decides about an input for files in which none was chosen. Rack leaves it out, as many frameworks do.
    private mutating func judgeUnchosen() -> Verdict {
        observer?.concerns("no file was chosen")
        if options.dialect == .rack { return .dropped }
        gate.begin(rule: nil, field: spelled)
        switch rule.map({ gate.rules[$0].policy }) ?? gate.general {
        case .drop: return .removed
        case .base64 where output.hasFiles: return .file(.base64)
        case .stream, .base64, .object, .reject: return output.hasFiles ? .file(.stream) : .unchosen
        }
    }

    /// Says which rule decides about the file at hand.
    private func explain(to observer: ConversionObserver) {
        if let rule {
            observer.concerns("files.\(gate.rules[rule].path): \(gate.rules[rule].policy.rawValue)")
        } else if gate.general != .stream {
            observer.concerns("files: \(gate.general.rawValue)")
        }
    }

    /// Shows the text of the field at hand to the gate.
    mutating func beginText() {
        if elements == nil { return gate.beginText(mapped) }
        if isPlaced { gate.beginText(placed) } else { gate.beginText() }
    }

    /// Finds out in which elements of arrays the part at hand is.
    private mutating func place(_ part: borrowing PartHead) throws(ConversionError) {
        placed = mapped
        isPlaced = try elements?.assign(to: &placed, of: part) ?? false
    }

    /// Whether a text has come from which the file at hand takes its filename.
    private func hasName(rule: Int?) -> Bool {
        elements == nil ? gate.hasName(rule: rule, at: mapped) : isPlaced && gate.hasName(rule: rule, at: placed)
    }

    /// Makes `head` that of a field under its new name.
    mutating func rename(_ part: borrowing PartHead) { head.copy(part, named: spelled) }

    /// Makes `head` that of a field which a file becomes.
    mutating func describeText(_ part: borrowing PartHead) throws(ConversionError) {
        if !isUnchosen { try gate.check(type: part.mediaType, rule: rule) }
        head.setName(copying: spelled)
    }

    /// Makes `head` that of the file that came, as its rule has it.
    mutating func describe(_ part: borrowing PartHead) throws(ConversionError) {
        try nameByRule()
        head.copy(part, named: spelled)
        head.hasGivenName = naming == .given
        guard !isUnchosen else { return }
        let isNamed = hasName(rule: rule)
        try gate.describe(&head, rule: rule, hasName: isNamed)
    }

    /// Takes a piece of the text that becomes a file. When the file begins, `head` is that of it.
    mutating func make(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) -> FileGate.Made {
        let made = try gate.make(from: piece, isLast: isLast)
        if made == .begins {
            try nameByRule()
            head.setName(copying: spelled)
            head.isFile = true
            head.hasGivenName = naming == .given
            let isNamed = hasName(rule: gate.madeRule)
            try gate.describeMade(&head, hasName: isNamed)
        }
        if made != .nothing { try gate.countMade() }
        return made
    }

    // MARK: Files that are held

    /// Holds the file that is about to go out under `head`, which becomes a text where `asText`; false for one that isn't held.
    mutating func beginHold(asText: Bool = false) -> Bool {
        !isUnchosen && gate.beginHold(rule: rule, head, asText: asText)
    }

    /// As above, for the file that a text has made.
    mutating func beginMadeHold() -> Bool { gate.beginMadeHold(head) }

    /// Makes `head` that of the held file, which goes out now.
    mutating func describeSettled() { gate.describeSettled(&head) }

    /// Takes a piece of a text of which other bytes are made. Returns whether there is something to hold.
    mutating func makeText(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) -> Bool {
        let made = try gate.make(from: piece, isLast: isLast)
        if made == .begins {
            try gate.checkMade()
            _ = gate.beginMadeHold(head)
        }
        if made != .nothing { try gate.countMade() }
        return made != .nothing
    }

    private mutating func nameByRule() throws(ConversionError) {
        if try gate.spell(rule: rule, element: element, to: &spelled) { naming = .given }
    }

    /// The number of the element that the part is, or stands in, where its rule leads through the elements of one array and its name
    /// says the number.
    private var element: Int? {
        guard let rule, let star = gate.rules[rule].path.onlyStar,
            mapped.segmentCount == gate.rules[rule].path.segments.count, mapped.kind(star) == .key
        else { return nil }
        return mapped.segment(star).canonicalIndex
    }
}
