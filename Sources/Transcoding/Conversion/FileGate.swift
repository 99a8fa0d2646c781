internal import Octets

/// What happens to each file: the route's policy, the rule of one field, its size, its name and type on the way out.
internal struct FileGate {
    let rules: [FileRule]
    /// What happens to files that no rule is about.
    let general: FilePolicy
    private let output: BodyEncoding
    private let nameLimit: Int
    private let filenames: FilenamePolicy
    private var field = ByteStore()
    private var size = 0
    /// The rule of the file at hand.
    private var rule: Int?
    /// For each rule, the text that its filename comes from, once that has been met, and where that stood: one of an array's elements
    /// names files of that element.
    private var names: [[UInt8]]
    private var isNamed: [Bool]
    private var owners: [MappedName]
    /// What `set` writes where filenames come from: it counts from a body's beginning, and nothing else does. Nil where it writes nothing.
    private let assigned: [AssignedValue?]
    private let hasAssigned: Bool
    /// Where `set` writes what it has: a text that comes there, or below, is none of the body that goes out.
    private let replaced: [FieldPath]
    /// The rules whose filename the text at hand is, and what of it has come.
    private var capturing: [Int] = []
    private var captured: [UInt8] = []
    /// For each rule, the number behind that of the file it has named last.
    private var named: [Int]
    // The text that becomes a file.
    private var text = FileText()
    private(set) var madeRule = 0
    private var isMadeOpen = false
    /// The file that is kept back until other bytes of it were made.
    var hold = FileHold()
    private let isObserved: Bool

    /// - Parameter isObserved: whether the conversion is only explained; nothing is held then.
    init(_ plan: ConversionPlan, isObserved: Bool = false) {
        self.isObserved = isObserved
        rules = plan.files
        general = plan.generalFilePolicy
        output = plan.output
        nameLimit = plan.limits.key
        filenames = plan.fieldDecoding.filenames
        names = Array(repeating: [], count: plan.files.count)
        isNamed = Array(repeating: false, count: plan.files.count)
        owners = Array(repeating: MappedName(), count: plan.files.count)
        let assigned = plan.files.map { rule in
            if case .field(let path) = rule.filename { plan.map.assigned(at: path) } else { AssignedValue?.none }
        }
        hasAssigned = assigned.contains { $0 != nil }
        self.assigned = assigned
        replaced = plan.map.set.map(\.path)
        named = Array(repeating: 0, count: plan.files.count)
    }

    mutating func reset() {
        hold.reset()
        if !capturing.isEmpty { capturing.removeAll() }
        for index in isNamed.indices { (isNamed[index], named[index]) = (false, 0) }
    }

    // MARK: Files

    /// The first rule that is about the file with that name.
    func rule(for name: borrowing MappedName) -> Int? {
        rules.firstIndex { name.isAtOrBelow($0.path) }
    }

    /// Decides about a file and returns `stream` where it passes as one, `base64` or `object` where it becomes text, or
    /// `drop`.
    ///
    /// Throws 422 `files_rejected`, and `files_unrepresentable` where the output has no files and nothing else is said.
    mutating func admit(rule: Int?, field name: ByteStore) throws(ConversionError) -> FilePolicy {
        begin(rule: rule, field: name)
        let policy = rule.map { rules[$0].policy } ?? general
        switch policy {
        case .reject:
            throw ConversionError(
                .unrepresentable, code: "files_rejected", reason: "this route takes no file here",
                field: field.span.lossyString(), setting: "files")
        case .stream where !output.hasFiles:
            throw ConversionError(
                .unrepresentable, code: "files_unrepresentable",
                reason: "\(output.rawValue) has no files; say files: base64 to carry it as text, or files: drop",
                field: field.span.lossyString(), setting: "files")
        case .object where !output.hasObjects:
            throw ConversionError(
                .unrepresentable, code: "files_unrepresentable",
                reason: "\(output.rawValue) has no objects for files; say files: base64, or files: drop",
                field: field.span.lossyString(), setting: "files")
        default: return policy
        }
    }

    /// Begins a file without asking whether it may be one.
    mutating func begin(rule: Int?, field name: ByteStore) {
        field.removeAll()
        field.append(contentsOf: name.span)
        size = 0
        self.rule = rule
    }

    /// Counts bytes of the file against its `max`.
    mutating func count(_ bytes: Int) throws(ConversionError) {
        size += bytes
        guard let rule, let maxSize = rules[rule].max, size > maxSize else { return }
        let setting = rules[rule].setting("max")
        throw ConversionError(
            .limit, code: "limit_file", reason: "the file passes the limit of \(maxSize) bytes (\(setting))",
            field: field.span.lossyString(), setting: setting)
    }

    /// Spells the name that the rule gives the file. Returns false where it gives none. Throws 422 `files_order` where the number of an
    /// element isn't above those before: the name may be another file's.
    ///
    /// - Parameter element: the number of the element of the one array that the rule's path leads through; nil: there isn't one, and
    ///   files are counted.
    mutating func spell(rule: Int?, element: Int?, to name: inout ByteStore) throws(ConversionError) -> Bool {
        guard let rule, let template = rules[rule].name else { return false }
        let pieces = template.pattern.pieces
        let number = element ?? named[rule]
        guard number >= named[rule] || pieces.count == 1 else {
            throw ConversionError(
                .unrepresentable, code: "files_order",
                reason: "the files of a rule with {index} come in the order of their elements, one of each",
                field: field.span.lossyString(), setting: "files")
        }
        name.removeAll()
        for (index, piece) in pieces.enumerated() {
            if index > 0 { name.append(decimal: number) }
            name.append(contentsOf: piece)
        }
        named[rule] = number + 1
        return true
    }

    /// Checks the type that the file came with against those that the rule takes. Throws 415 `file_type`.
    func check(type: Span<UInt8>, rule: Int?) throws(ConversionError) {
        guard let rule, !rules[rule].types.isEmpty else { return }
        let types = rules[rule].types
        if type.isEmpty {
            let standard = Array((rules[rule].mediaType ?? "application/octet-stream").utf8)
            if types.contains(where: { $0.matches(standard.span) }) { return }
        } else {
            for pattern in types where pattern.matches(type) { return }
        }
        throw ConversionError(
            .unsupported, code: "file_type",
            reason: "the file's type is none of \(types.map(\.text).joined(separator: ", "))",
            field: field.span.lossyString(), setting: rules[rule].setting("types"))
    }

    /// As above, for bytes in a store.
    private func check(type: ByteStore, rule: Int?) throws(ConversionError) { try check(type: type.span, rule: rule) }

    /// Puts the filename and the media type that the rule gives into `head`, whose own type must be one that it takes.
    ///
    /// - Parameter hasName: whether a text has come that may be this file's filename.
    func describe(_ head: inout PartHead, rule: Int?, hasName: Bool) throws(ConversionError) {
        guard let rule else { return }
        try check(type: head.mediaType, rule: rule)
        // What the rule has taken it for is what it goes out as.
        if !rules[rule].types.isEmpty { head.isUntyped = false }
        switch rules[rule].filename {
        case nil: break
        case .literal(let name): head.setFilename(Array(name.utf8).span)
        case .field(let path):
            guard hasName, !names[rule].isEmpty else {
                throw ConversionError(
                    .unrepresentable, code: "files_no_filename",
                    reason:
                        "the file's name is to come from \"\(path)\", which must be a text, not an empty one, that comes "
                        + "before the file, in its element of an array",
                    field: field.span.lossyString(), setting: "files")
            }
            let name = names[rule]
            try checkName(name.count)
            guard setFilename(name.span, of: &head) else {
                throw Multipart.Fault.filenameEmpty.error(field: field.span.lossyString())
            }
        }
        if let type = rules[rule].mediaType { head.setMediaType(Array(type.utf8).span) }
    }

    /// Gives the file the name that came with it, as far as it is kept. An empty one is none: most servers take a part with an empty
    /// filename for no file. Returns false where nothing would be left of the name.
    func setFilename(_ name: Span<UInt8>, of head: inout PartHead) -> Bool {
        guard !name.isEmpty else { return true }
        guard let range = filenames.range(in: name) else { return false }
        head.setFilename(name.extracting(range))
        return true
    }

    /// As above, for bytes in a store.
    func setFilename(_ name: ByteStore, of head: inout PartHead) -> Bool { setFilename(name.span, of: &head) }

    // MARK: Files made from texts

    /// What a piece of a text has made of the file.
    enum Made {
        /// It isn't known yet what the text says of the file before its bytes.
        case nothing
        /// The file begins; its head is due before its content.
        case begins
        case goesOn
    }

    /// Begins a text that becomes a file.
    mutating func make(rule: Int, from source: FileSource, field name: ByteStore) {
        begin(rule: rule, field: name)
        (madeRule, isMadeOpen) = (rule, false)
        text.begin(source)
    }

    /// Takes a piece of the text. When it has made something, `describeMade` follows where the file begins, and then
    /// `countMade` and the content, from `made`.
    mutating func make(from piece: Span<UInt8>, isLast: Bool) throws(ConversionError) -> Made {
        text.decoded.removeAll()
        do throws(FileText.Fault) {
            try text.take(piece, isLast: isLast)
        } catch {
            // What the rule refuses of the file in front of the fault comes first, however they are cut.
            if text.isOpen {
                if !isMadeOpen { try checkMade() }
                try countMade()
            }
            throw ConversionError(
                .malformed, code: error.code, reason: error.reason, field: field.span.lossyString(), setting: "files")
        }
        guard text.isOpen else { return .nothing }
        defer { isMadeOpen = true }
        return isMadeOpen ? .goesOn : .begins
    }

    /// Puts what the text and the rule say of the file into `head`.
    mutating func describeMade(_ head: inout PartHead, hasName: Bool) throws(ConversionError) {
        if !text.mediaType.isEmpty { head.setMediaType(copying: text.mediaType) }
        try describe(&head, rule: madeRule, hasName: hasName)
    }

    mutating func countMade() throws(ConversionError) { try count(text.decoded.count) }

    // MARK: Files that are held

    /// Whether a file of that rule is held, instead of going out as it comes.
    func holds(rule: Int?) -> Bool {
        guard let rule, rules[rule].image != nil else { return false }
        return !isObserved
    }

    /// Whether the texts that the rule makes files of stay texts.
    func keepsText(rule: Int) -> Bool { !output.hasFiles && rules[rule].image != nil }

    /// Begins to hold the file at hand, which is about to be sent on under `head`. Returns false for one that isn't held.
    mutating func beginHold(rule: Int?, _ head: borrowing PartHead, asText: Bool = false) -> Bool {
        guard holds(rule: rule), let rule, let image = rules[rule].image else { return false }
        hold.begin(image, of: rules[rule].path, head, field: field)
        if asText { hold.write(as: .base64) }
        return true
    }

    /// As above, for the file that a text has made.
    mutating func beginMadeHold(_ head: borrowing PartHead) -> Bool { beginHold(rule: madeRule, head) }

    /// Checks the type that the text gives the file.
    func checkMade() throws(ConversionError) { try check(type: text.mediaType, rule: madeRule) }

    /// Holds what the last piece of a text has made.
    mutating func holdMade(isLast: Bool) {
        if isLast, !output.hasFiles { hold.write(as: text.form, type: text.mediaType) }
        hold.append(text.decoded, isLast: isLast)
    }

    /// Puts what the settled file has of its own into `head`, under which it goes out.
    func describeSettled(_ head: inout PartHead) {
        if let type = hold.typeInstead(of: head.mediaType) { head.setMediaType(type.span) }
        if let filename = hold.settledFilename { head.setFilename(filename.span) }
    }

    /// Bytes of the file that the last piece has made.
    var made: OutputBuffer { text.decoded }

    // MARK: Filenames from other fields

    /// Whether texts have to be shown to the gate.
    var wantsTexts: Bool {
        rules.contains { if case .field = $0.filename { true } else { false } }
    }

    /// The paths of the texts that filenames come from, with their rules.
    var nameSources: [(path: FieldPath, rule: Int)] {
        rules.indices.compactMap { index in
            if case .field(let path) = rules[index].filename { (path, index) } else { nil }
        }
    }

    /// Begins a body, for which these are the values of the request's head.
    mutating func assign(_ sources: [[UInt8]]) {
        guard hasAssigned else { return }
        for rule in rules.indices {
            guard let text = assigned[rule]?.text(sources) else { continue }
            (names[rule], isNamed[rule]) = (text, true)
        }
    }

    /// Says that the text of that name begins.
    mutating func beginText(_ name: borrowing MappedName) {
        beginText()
        for path in replaced where name.isAtOrBelow(path) { return }
        for index in rules.indices {
            guard case .field(let path) = rules[index].filename, name.isAt(path) else { continue }
            capture(rule: index)
            if path.hasWildcard { owners[index] = copy name }
        }
    }

    /// Says that a text begins; `capture` follows for each rule whose filename it is.
    mutating func beginText() {
        capturing.removeAll(keepingCapacity: true)
        captured.removeAll(keepingCapacity: true)
    }

    mutating func capture(rule: Int) {
        guard assigned[rule] == nil else { return }
        capturing.append(rule)
        isNamed[rule] = false
    }

    mutating func text(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        guard let first = capturing.first else { return }
        guard captured.count + piece.count <= nameLimit else {
            var place: String?
            if case .field(let path) = rules[first].filename { place = path.description }
            throw .limit("key", of: nameLimit, what: "a filename", field: place)
        }
        captured.append(contentsOf: piece)
        guard isLast else { return }
        for rule in capturing {
            names[rule].removeAll(keepingCapacity: true)
            names[rule].append(contentsOf: captured)
            isNamed[rule] = true
        }
        capturing.removeAll(keepingCapacity: true)
    }

    /// Whether a text has come from which the rule takes filenames.
    func hasName(rule: Int) -> Bool { isNamed[rule] }

    /// As above, for the file at that place, which must be in the same elements as the text, as far as the path of the text leads there.
    func hasName(rule: Int?, at place: borrowing MappedName) -> Bool {
        guard let rule, isNamed[rule], case .field(let path) = rules[rule].filename else { return false }
        guard path.hasWildcard else { return true }
        let owner = owners[rule]
        for index in 0..<min(path.segments.count - 1, place.segmentCount) {
            let step = path.segments[index]
            if step == .any {
                // It stands beside the elements, or is one of them.
                if index == place.segmentCount - 1 { return true }
                guard owner.segment(index).isEqual(to: place.segment(index)) else { return false }
            } else if place.kind(index) != .key || !step.matches(key: place.segment(index)) {
                return true
            }
        }
        return true
    }

    /// Checks the length of the filename or the media type that the file at hand has in a text.
    func checkName(_ count: Int) throws(ConversionError) {
        guard count <= nameLimit else {
            throw .limit(
                "key", of: nameLimit, what: "a filename or a media type", field: field.span.lossyString())
        }
    }

    mutating func forgetName(rule: Int) {
        if assigned[rule] == nil { isNamed[rule] = false }
    }
}
