internal import Octets

/// What a route does to a document's values as they pass: the map, as far as it is local, and the declared files.
///
/// Gives what the map gives on a tree, and refuses what that refuses. Local is: any `remove`; a `rename` within one object
/// that no other rename touches; `set` of a member of the root. `FieldMap.isLocal` decides.
///
/// A value that a rule declares a file becomes one where multipart goes out, decoded in pieces: a string, see `FileText`, an
/// object, see `FileObject`, or each element of an array. Its filename comes from the rule, or from a text that came before
/// it in the same object.
internal struct EventMapper<Encoder: EventEncoder>: EventSink, OutputEncoder, ~Copyable {
    private struct Frame {
        var isObject: Bool
        /// Elements that have begun, as they came and as they go out.
        var received = 0
        var sent = 0
        /// Where the container's own name ends in `place`.
        var nameEnd: Int
        /// Whether it is an array of files with names of their own, which no other part needs to know of.
        var isHidden = false
        /// The bits of the names of members that rules may be about; nil where they may be about any, and of an array.
        var watched: UInt64?
    }

    private enum StringState {
        case none, passing, skipped
        /// The text of a file.
        case file
        /// A member of an object that is a file.
        case member
    }

    private static var one: InlineArray<1, UInt8> { [UInt8(ascii: "1")] }
    private static var zero: InlineArray<1, UInt8> { [UInt8(ascii: "0")] }

    var encoder: Encoder
    private let map: FieldMap
    let rules: [FileRule]
    /// Whether the output has files, which texts can become; and whether texts are read as files at all.
    private let hasFiles: Bool
    let declaresFiles: Bool
    private let hasRules: Bool
    private let numericBooleans: Bool
    /// Whether every event goes to the encoder as it comes.
    private var passesAll: Bool { !hasRules && !numericBooleans }
    /// The open containers, from one on at or below which no rule finds anything: their events go to the encoder as they come.
    private var freeDepth = 0
    /// Whether rules are to be asked about the next event.
    private var isRuled: Bool { hasRules && freeDepth == 0 }
    private let omitsNulls: Bool
    /// Whether members that are null are left out, as `remove_nulls: keys` says: a member's name then waits here for its value.
    private let leavesOutNullMembers: Bool
    private var waitingName = ByteStore()
    private var isNameWaiting = false
    private let nameSources: [(path: FieldPath, rule: Int)]
    var gate: FileGate
    private var sources: [[UInt8]] = []

    /// Paths as they come: `remove`, then the `from` and then the `to` of every rename.
    private var received: PathMatcher
    /// Paths as they go out: `set`, then files, then their elements, then the texts that filenames come from.
    private var sent: PathMatcher
    private var frames: [Frame] = []
    /// The place of the value at hand, as it goes out, for messages.
    var place = ByteStore()
    private var skipDepth = 0
    private var skipsNext = false
    private var renames: RenameProgress
    private var hasSet: [Bool]

    private var string = StringState.none
    private var captures = false
    /// The object at hand that is a file.
    var object: FileObject?
    var head = PartHead()
    var spelled = ByteStore()
    var accounting = Accounting()
    private var released = OutputBuffer()
    /// Scalars that are part of a file but for its text.
    var absorbed = 0
    /// Hears which values rules make files of or leave out, where a conversion is explained.
    let observer: ConversionObserver?

    /// - Parameters:
    ///   - map: what of the plan's map is done here.
    ///   - leavesOutNullMembers: whether null members are left out here, which only a plan without rules about values may want.
    init(
        _ encoder: consuming Encoder, plan: ConversionPlan, map: FieldMap, leavesOutNullMembers: Bool = false,
        observer: ConversionObserver? = nil
    ) {
        self.encoder = encoder
        self.observer = observer
        rules = plan.files
        hasFiles = plan.output.hasFiles
        declaresFiles = hasFiles || plan.files.contains { $0.image != nil }
        gate = FileGate(plan, isObserved: observer != nil)
        nameSources = hasFiles ? gate.nameSources : []
        omitsNulls = plan.fieldEncoding.nulls == .omit
        let numericBooleans = plan.output.hasObjects && plan.fieldEncoding.booleans == .numeric
        self.numericBooleans = numericBooleans
        // What is set goes to the encoder past what makes numbers of booleans.
        self.map = numericBooleans ? map.withNumericBooleans : map
        hasRules = !map.isEmpty || !plan.files.isEmpty
        self.leavesOutNullMembers = leavesOutNullMembers
        precondition(!leavesOutNullMembers || map.isEmpty && plan.files.isEmpty, "rules need the names of all members")
        received = PathMatcher(map.remove + map.rename.map(\.from) + map.rename.map(\.to))
        sent = PathMatcher(
            map.set.map(\.path) + plan.files.map(\.path) + plan.files.map { FieldPath($0.path.segments + [.any]) }
                + nameSources.map(\.path))
        renames = RenameProgress(map)
        hasSet = Array(repeating: false, count: map.set.count)
    }

    /// Makes the mapper as new for another document; the encoder is left as it is.
    mutating func reset(sources: [[UInt8]]) {
        self.sources = sources
        gate.reset()
        gate.assign(sources)
        received.reset()
        sent.reset()
        if !frames.isEmpty { frames.removeAll(keepingCapacity: true) }
        place.removeAll()
        (skipDepth, skipsNext, freeDepth) = (0, false, 0)
        isNameWaiting = false
        renames.reset()
        for index in hasSet.indices { hasSet[index] = false }
        string = .none
        captures = false
        object = nil
        accounting = Accounting()
        absorbed = 0
    }

    var isFull: Bool { encoder.isFull || gate.hold.isFull }

    /// Sends the file on that was held. Returns false while it waits to be settled, and while the output is full.
    mutating func release() throws(ConversionError) -> Bool {
        guard gate.hold.isFull else { return true }
        guard !gate.hold.isWaiting else { return false }
        if gate.hold.isAtStart, hasFiles {
            gate.describeSettled(&head)
            try encoder.beginFile(head)
        }
        while !encoder.isFull {
            let isLast = gate.hold.read(into: &released)
            if hasFiles {
                try encoder.send(fileContent: released, isLast: isLast)
            } else {
                try encoder.send(string: released, isLast: isLast)
            }
            released.removeAll()
            if isLast { return true }
        }
        return false
    }

    var output: OutputBuffer {
        _read { yield encoder.output }
        _modify { yield &encoder.output }
    }

    mutating func finish() throws(ConversionError) { try encoder.finish() }
}

extension EventMapper: TreeSink, HoldingEncoder where Encoder: TreeSink & ~Copyable {
    mutating func write(_ tree: inout Tree, _ walk: inout TreeWalk) throws(ConversionError) {
        if passesAll { try encoder.write(&tree, &walk) }
    }

    mutating func drain() throws(ConversionError) -> Bool { try encoder.drain() }
}

// MARK: Events

extension EventMapper where Encoder: ~Copyable {
    mutating func beginObject() throws(ConversionError) {
        guard try beginContainer(isObject: true) else { return }
        try encoder.beginObject()
    }

    mutating func endObject() throws(ConversionError) {
        guard isRuled else {
            try encoder.endObject()
            return endFree()
        }
        guard !endSkipped() else { return }
        if object != nil { return try endFileObject() }
        if frames.count == 1 {
            for index in map.set.indices where !hasSet[index] { try sendSet(index) }
        }
        frames.removeLast()
        try encoder.endObject()
        leaveValue()
    }

    mutating func beginArray() throws(ConversionError) {
        guard try beginContainer(isObject: false) else { return }
        try encoder.beginArray()
    }

    mutating func endArray() throws(ConversionError) {
        guard isRuled else {
            try encoder.endArray()
            return endFree()
        }
        guard !endSkipped() else { return }
        let array = frames.removeLast()
        if array.isHidden {
            // Without a file it is an empty array, which is the encoder's to judge.
            if array.sent == 0 { try encoder.beginArray() }
            if array.sent > 0 { return leaveValue() }
        }
        try encoder.endArray()
        leaveValue()
    }

    mutating func key(_ name: Span<UInt8>) throws(ConversionError) {
        guard isRuled else {
            guard leavesOutNullMembers else { return try encoder.key(name) }
            waitingName.removeAll()
            waitingName.append(contentsOf: name)
            isNameWaiting = true
            return
        }
        guard skipDepth == 0 else { return }
        if object != nil { return try enterMember(name) }
        received.enter(key: name)
        let removals = map.remove.count
        for rule in 0..<removals where received.isHere(rule) {
            // Its value is left out, and nothing else applies to it.
            skipsNext = true
            return sent.enter(key: name)
        }
        for rule in map.rename.indices where received.isHere(removals + map.rename.count + rule) {
            try renames.meet(rule)
        }
        for rule in map.rename.indices where received.isHere(removals + rule) {
            try renames.move(rule, isOnly: true)
            guard case .key(let renamed)? = map.rename[rule].to.segments.last else { continue }
            return try sendKey(renamed.span)
        }
        try sendKey(name)
    }

    mutating func string(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        guard isRuled else {
            if isNameWaiting { try sendWaitingName() }
            if isLast { accounting.fields += 1 }
            return try encoder.string(piece, isLast: isLast)
        }
        if string == .none { try beginString() }
        switch string {
        case .none, .skipped: break
        case .passing:
            if captures { try gate.text(piece, isLast: isLast) }
            try encoder.string(piece, isLast: isLast)
        case .file: try makeFile(of: piece, isLast: isLast)
        case .member: try takeMember(piece, isLast: isLast)
        }
        guard isLast else { return }
        switch string {
        case .skipped:
            countRemoved()
            accounting.fields += 1
        case .file: accounting.files += 1
        case .member: absorb()
        case .none, .passing: accounting.fields += 1
        }
        string = .none
        if skipDepth == 0, object == nil { leaveValue() }
    }

    mutating func number(_ text: Span<UInt8>) throws(ConversionError) {
        guard try beginScalar(isNull: false) else { return }
        try encoder.number(text)
        if isRuled { leaveValue() }
    }

    mutating func bool(_ value: Bool) throws(ConversionError) {
        guard try beginScalar(isNull: false) else { return }
        if numericBooleans {
            try encoder.number((value ? Self.one : Self.zero).span)
        } else {
            try encoder.bool(value)
        }
        if isRuled { leaveValue() }
    }

    mutating func null() throws(ConversionError) {
        if isRuled, object != nil { return try takeNullMember() }
        guard try beginScalar(isNull: true) else { return }
        if let frame = frames.last, frame.isHidden {
            // An array of files with names of their own has no place for it.
            guard omitsNulls else { throw notText() }
            frames[frames.count - 1].sent -= 1
            return leaveValue()
        }
        try encoder.null()
        if isRuled { leaveValue() }
    }

    mutating func date(_ text: Span<UInt8>) throws(ConversionError) {
        guard try beginScalar(isNull: false) else { return }
        try encoder.date(text)
        if isRuled { leaveValue() }
    }

    mutating func data(_ bytes: Span<UInt8>) throws(ConversionError) {
        // A rule may make a file of it, which is decided where strings are.
        if declaresFiles, !rules.isEmpty, object == nil { return try sendBase64(bytes) }
        guard try beginScalar(isNull: false) else { return }
        try encoder.data(bytes)
        if isRuled { leaveValue() }
    }

    /// No document decoder has files; they are made here.
    mutating func beginFile(_ head: borrowing PartHead) throws(ConversionError) { try encoder.beginFile(head) }
    mutating func fileContent(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        try encoder.fileContent(piece, isLast: isLast)
    }
}

// MARK: Past the events

extension EventMapper where Encoder: ~Copyable {
    /// What may go to the encoder past this mapper.
    struct Passing {
        /// The open containers that may end so.
        var ending = Int.max
        /// The bits of those names of the innermost object's members that may not, as `JSON.MemberNames.Key` has them.
        var watched: UInt64 = 0
    }

    /// What may go to the encoder past this mapper now, which is to be told of it by `passed`; nil for nothing.
    var passing: Passing? {
        if passesAll { return Passing() }
        guard !numericBooleans, string == .none else { return nil }
        if freeDepth > 0 { return Passing(ending: freeDepth - 1) }
        guard skipDepth == 0, object == nil, !skipsNext, let watched = frames.last?.watched else { return nil }
        return Passing(ending: 0, watched: watched)
    }

    /// Values have passed, with which so many more containers have begun than have ended.
    mutating func passed(opened: Int) {
        guard hasRules, opened != 0 else { return }
        if freeDepth == 0 {
            received.enterNothing()
            sent.enterNothing()
        }
        freeDepth += opened
    }
}

// MARK: Places

extension EventMapper where Encoder: ~Copyable {
    private mutating func beginContainer(isObject: Bool) throws(ConversionError) -> Bool {
        guard isRuled else {
            if isNameWaiting { try sendWaitingName() }
            if hasRules { freeDepth += 1 }
            return true
        }
        if skipDepth > 0 {
            skipDepth += 1
            return false
        }
        if object != nil { throw badObject(.member) }
        guard try enterValue() else {
            skipDepth = 1
            return false
        }
        let file = fileHere()
        if let file {
            switch (isObject, rules[file.rule].source(from: .json)) {
            case (true, .object?):
                try beginFileObject(rule: file.rule, isElement: file.isElement)
                return false
            case (false, _) where !file.isElement: break
            default: throw notText()
            }
        }
        if frames.isEmpty, !isObject { try checkRoot() }
        if isFree {
            freeDepth = 1
            return true
        }
        // A new parent, or what leads to one: what was seen of another one's members no longer counts.
        for rule in map.rename.indices where received.isBelow(map.remove.count + rule) {
            renames.forget(rule)
        }
        for (index, source) in nameSources.enumerated() where sent.leads(to: map.set.count + 2 * rules.count + index) {
            gate.forgetName(rule: source.rule)
        }
        let isHidden = !isObject && hasNamedElements(file)
        frames.append(
            Frame(
                isObject: isObject, nameEnd: place.count, isHidden: isHidden, watched: isObject ? watchedNames : nil))
        return !isHidden
    }

    /// Whether the elements of the array at hand are files with names of their own.
    private func hasNamedElements(_ file: (rule: Int, isElement: Bool)?) -> Bool {
        guard hasFiles else { return false }
        if let file { return rules[file.rule].name != nil }
        return rules.indices.contains { rule in
            rules[rule].name != nil && rules[rule].path.segments.last == .any
                && rules[rule].source(from: .json) != nil && sent.isBelow(map.set.count + rule)
        }
    }

    /// Whether no rule leads through the value at hand, a container, so that none is about what is in it.
    private var isFree: Bool { rules.isEmpty && !received.leadsOn && !sent.leadsOn }

    /// See `Frame.watched`.
    private var watchedNames: UInt64? {
        guard rules.isEmpty, let first = received.nextNames, let second = sent.nextNames else { return nil }
        return first | second
    }

    /// A container has ended that rules weren't asked about.
    private mutating func endFree() {
        guard hasRules else { return }
        freeDepth -= 1
        if freeDepth == 0 { leaveValue() }
    }

    /// Ends a container that is left out; false when what ends is none.
    private mutating func endSkipped() -> Bool {
        guard skipDepth > 0 else { return false }
        skipDepth -= 1
        if skipDepth == 0 { leaveValue() }
        return true
    }

    private mutating func beginScalar(isNull: Bool) throws(ConversionError) -> Bool {
        accounting.fields += 1
        guard isRuled else {
            guard isNameWaiting else { return true }
            guard !isNull else {
                isNameWaiting = false
                countRemoved()
                return false
            }
            try sendWaitingName()
            return true
        }
        guard skipDepth == 0 else {
            countRemoved()
            return false
        }
        if object != nil { throw badObject(.member) }
        guard try enterValue() else {
            countRemoved()
            leaveValue()
            return false
        }
        if !isNull, fileHere() != nil { throw notText() }
        if frames.isEmpty { try checkRoot() }
        return true
    }

    /// Sends the name of a member whose value is none that is left out.
    private mutating func sendWaitingName() throws(ConversionError) {
        isNameWaiting = false
        // Taken out so that its span doesn't borrow the mapper while the encoder changes.
        var name = ByteStore()
        swap(&name, &waitingName)
        defer { swap(&name, &waitingName) }
        try encoder.key(name.span)
    }

    private mutating func countRemoved() {
        accounting.removed += 1
        observer?.drops()
    }

    /// A document that is no object has no members to set.
    private func checkRoot() throws(ConversionError) {
        if let set = map.set.first { throw MapConflict.parentIsScalar.error(at: set.path) }
    }

    /// Goes to the value that begins. Returns false when it is left out.
    private mutating func enterValue() throws(ConversionError) -> Bool {
        guard let frame = frames.last else {
            guard !skipsNext else { return false }
            return true
        }
        if frame.isObject {
            defer { skipsNext = false }
            return !skipsNext
        }
        received.enter(index: frame.received)
        sent.enter(index: frame.sent)
        frames[frames.count - 1].received += 1
        for rule in map.remove.indices where received.isHere(rule) { return false }
        frames[frames.count - 1].sent += 1
        place.append(UInt8(ascii: "["))
        place.append(decimal: frame.sent)
        place.append(UInt8(ascii: "]"))
        return try !isDropped()
    }

    /// Goes back to the container of the value that has ended.
    mutating func leaveValue() {
        guard let frame = frames.last else { return }
        received.leave()
        sent.leave()
        place.truncate(to: frame.nameEnd)
    }

    /// Sends a member's name, or what `set` gives that member.
    private mutating func sendKey(_ name: Span<UInt8>) throws(ConversionError) {
        sent.enter(key: name)
        if !place.isEmpty { place.append(UInt8(ascii: ".")) }
        place.append(contentsOf: name)
        for rule in map.set.indices where sent.isHere(rule) {
            skipsNext = true
            if !hasSet[rule] { try sendSet(rule) }
        }
        if skipsNext { return }
        if try isDropped() {
            skipsNext = true
            return
        }
        try encoder.key(name)
    }

    private mutating func sendSet(_ rule: Int) throws(ConversionError) {
        hasSet[rule] = true
        guard let key = map.set[rule].path.rootKey else { return }
        // Of two rules for one member the last one counts, as on a tree.
        for later in map.set.indices where later > rule && map.set[later].path == map.set[rule].path { return }
        try encoder.key(key.span)
        switch map.set[rule].value {
        case .literal(let literal): try encoder.send(literal)
        case .source(let index):
            let source = sources[index]
            try encoder.string(source.span, isLast: true)
        }
    }
}

// MARK: Files

extension EventMapper where Encoder: ~Copyable {
    /// The first rule about the value at hand.
    private func ruleHere() -> Int? {
        rules.indices.first { sent.isHere(map.set.count + $0) }
    }

    /// The rule that makes the value at hand a file, or each of its elements; whether it is an element by that rule.
    private func fileHere() -> (rule: Int, isElement: Bool)? {
        guard declaresFiles, !rules.isEmpty else { return nil }
        var isElement = false
        var rule = ruleHere()
        if rule == nil, let frame = frames.last, !frame.isObject {
            rule = rules.indices.first { sent.isHere(map.set.count + rules.count + $0) }
            isElement = true
        }
        guard let rule, rules[rule].source(from: .json) != nil else { return nil }
        // What stays a text is of no interest to who only explains.
        guard hasFiles || gate.holds(rule: rule) else { return nil }
        return (rule, isElement)
    }

    /// The number of the element that the value at hand is, or stands in, where the rule leads through the elements of one array.
    func element(by rule: Int, isElement: Bool) -> Int? {
        let depth = isElement ? frames.count - 1 : rules[rule].path.onlyStar
        guard let depth, !isElement || !rules[rule].path.segments.contains(.any), !frames[depth].isObject else {
            return nil
        }
        return frames[depth].sent - 1
    }

    /// Whether a rule leaves the value at hand out. Throws where one refuses it.
    private mutating func isDropped() throws(ConversionError) -> Bool {
        guard let rule = ruleHere() else { return false }
        switch rules[rule].policy {
        case .drop: return true
        case .reject:
            _ = try gate.admit(rule: rule, field: place)
            return false
        case .stream, .base64, .object: return false
        }
    }

    private mutating func beginString() throws(ConversionError) {
        if object != nil, skipDepth == 0 {
            string = .member
            return
        }
        guard skipDepth == 0, try enterValue() else {
            string = .skipped
            return
        }
        if frames.isEmpty { try checkRoot() }
        string = .passing
        captures = false
        for (index, source) in nameSources.enumerated() where sent.isHere(map.set.count + 2 * rules.count + index) {
            if !captures { gate.beginText() }
            gate.capture(rule: source.rule)
            captures = true
        }
        guard let file = fileHere() else {
            if let frame = frames.last, frame.isHidden { throw notText() }
            return
        }
        guard let source = rules[file.rule].source(from: .json), source != .object else { throw notText() }
        string = .file
        try beginFile(rule: file.rule, isElement: file.isElement, source)
    }

    func notText() -> ConversionError {
        ConversionError(
            .malformed, code: "file_not_text",
            reason: "the value is declared a file, so it must be one in the way that the rule says",
            field: place.span.lossyString(), setting: "files")
    }
}
