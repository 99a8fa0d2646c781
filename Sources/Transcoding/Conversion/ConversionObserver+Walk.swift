/// The values of a tree that a walk has sent, as far as it isn't settled yet what became of them.
internal struct ObservedWalk {
    /// A scalar, or an object or array.
    struct Value {
        var node: Tree.Node
        var kind: Tree.Kind
        var isRoot: Bool
        /// Whether nothing stands below.
        var isLeaf: Bool
    }

    /// What stands around a value.
    struct Place {
        /// Whether names led here, as far as the output spells them.
        var isNested = false
        var isInArray = false
        /// The field whose JSON text holds the value.
        var text: String?
        /// Whether that is a part of its own, as `parts` says.
        var isPart = false
        /// Whether the part that the text is in has the headers that it came with.
        var hasLines = false
    }

    /// An object or array that has begun.
    struct Level {
        var value: Value
        /// Where it stands.
        var outer: Place
        /// Where its values stand.
        var inner = Place()
        /// Whether its own beginning has begun a name.
        var isNamed = false
        /// Its node in the document that is held.
        var own: Tree.Node?
    }

    /// What was sent last, of which all that came after it is told.
    enum Latest {
        case none, scalar(Value), beginning, end(Level)
    }

    /// What rules say of the latest value.
    struct Verdict {
        /// A rule of files leaves it out.
        var isDropped = false
        /// An option of the encoder leaves it out.
        var isOmitted = false
        /// It is a member of an object that is a file.
        var isAbsorbed = false
    }

    /// A value that is held back until the end of its document.
    struct Held {
        var node: Tree.Node
        var kind: Tree.Kind
        var rules: [String]
        /// Whether it goes out or is left out; an object or array that holds something may do neither.
        var isExpected = true
    }

    var latest = Latest.none
    var verdict = Verdict()
    var levels: [Level] = []
    /// The rule of the latest file that was made of a value.
    var fileRule: FileRule?
    /// The members of an object that is a file, which is still to begin: indices into what was sent.
    var absorbed: [Int] = []
    /// Under a dialect that holds the document: values of which it isn't known yet where they are held, those that are held
    /// nowhere, and the others by the node of the held document.
    var pending: [Held] = []
    var lost: [Held] = []
    var held: [Tree.Node: [Held]] = [:]

    /// Where the value stands that is sent next.
    var place: Place { levels.last?.inner ?? Place() }
}

// MARK: What is sent

extension ConversionObserver {
    func sends(_ node: Tree.Node, of tree: borrowing Tree) {
        settleValue()
        names.clear()
        walk.verdict = .init()
        let kind = tree.kind(node)
        let value = ObservedWalk.Value(
            node: node, kind: kind, isRoot: tree.parent(node) == Tree.none, isLeaf: tree.firstChild(node) == Tree.none)
        guard kind.isContainer else {
            walk.latest = .scalar(value)
            return
        }
        walk.levels.append(.init(value: value, outer: walk.place))
        walk.latest = .beginning
    }

    func sendsEnd() {
        settleValue()
        // A root that files have begun is ended without having been sent.
        guard let level = walk.levels.popLast() else { return }
        if !level.value.isLeaf {
            names.clear()
            walk.verdict = .init()
        }
        walk.latest = .end(level)
    }

    /// A rule of files leaves the latest value out.
    func drops() { walk.verdict.isDropped = true }

    /// The latest value is part of a file.
    func absorbs() { walk.verdict.isAbsorbed = true }

    /// A rule makes a file of the latest value.
    func makesFile(by rule: FileRule) { walk.fileRule = rule }

    /// Writes down what became of what was sent last.
    func settleValue() {
        defer { walk.latest = .none }
        switch walk.latest {
        case .none: break
        case .scalar(let value):
            note(value, walk.place)
            settlePending()
        case .beginning: enterLevel()
        case .end(let level): settle(level)
        }
    }

    private func enterLevel() {
        guard var level = walk.levels.popLast() else { return }
        level.own = names.takeHeldNode()
        level.isNamed = !names.targets.isEmpty
        level.inner = level.outer
        level.inner.text = level.outer.text ?? names.targets.last
        level.inner.isPart = level.outer.isPart || level.isNamed && names.isJSONPart
        level.inner.hasLines = level.outer.hasLines || level.isNamed && carriesLines
        if !level.value.isRoot, level.value.kind.hasNames { level.inner.isNested = true }
        if level.value.kind.isArray { level.inner.isInArray = true }
        walk.levels.append(level)
    }

    private func settle(_ level: ObservedWalk.Level) {
        let value = level.value
        if value.isLeaf {
            if !value.isRoot || !value.kind.hasNames { note(value, level.outer) }
        } else if !names.targets.isEmpty, !level.isNamed {
            // All that stood in it was left out, and what is empty has a form.
            note(value, level.outer)
        } else if let own = level.own, !value.isRoot {
            // It has a field of its own where all that stands in it is left out.
            let rules = (origins[value.node] ?? Origin()).rules + spelling(value.kind, level.outer)
            walk.held[own, default: []].append(
                .init(node: value.node, kind: value.kind, rules: rules, isExpected: false))
        }
        settlePending(own: value.isLeaf ? level.own : nil)
    }

    /// Writes down what became of a scalar or an empty container.
    private func note(_ value: ObservedWalk.Value, _ place: ObservedWalk.Place) {
        let kind = value.kind
        let origin = origins[value.node] ?? Origin()
        if walk.verdict.isAbsorbed, names.targets.isEmpty {
            // The file whose filename or type it is begins with its `data`, which comes last.
            walk.absorbed.append(sent.count)
            sent.append(
                .init(
                    isFile: true, source: origin.source, target: "", rules: origin.rules + [fileRule], path: origin.path
                ))
            return
        }
        guard let target = target(of: kind, place) else {
            if holdsDocument, !walk.verdict.isDropped, !walk.verdict.isOmitted {
                return walk.pending.append(
                    .init(node: value.node, kind: kind, rules: origin.rules + spelling(kind, place)))
            }
            let rule = walk.verdict.isDropped ? "files: drop" : reason(kind)
            return removed.append(
                .init(source: origin.source, target: nil, rules: origin.rules + [rule], path: origin.path))
        }
        let isFile = names.isFile && !names.targets.isEmpty
        var rules = origin.rules
        if isFile {
            rules.append(fileRule)
            for index in walk.absorbed { sent[index].target = target }
        }
        if place.isPart || !names.targets.isEmpty && names.isJSONPart {
            rules.append("parts")
        } else if walk.absorbed.isEmpty || !isFile {
            rules += spelling(kind, place)
        }
        if isFile { walk.absorbed = [] }
        if !isFile, !place.hasLines, names.targets.isEmpty || !carriesLines { rules += Self.without(origin.lines) }
        sent.append(
            .init(
                isFile: isFile, source: origin.source,
                target: value.isRoot && target.isEmpty ? Tree.tracedRoot : target, rules: rules,
                path: origin.path))
    }

    /// The name or path that the latest value went out under; nil: none that is known of.
    private func target(of kind: Tree.Kind, _ place: ObservedWalk.Place) -> String? {
        // A document's encoders leave out what its recorder has got.
        if kind == .null, nulls.areLeftOut { return nil }
        if kind.isArray, plan.output == .xml, plan.xmlEncoding.convention == .attributes,
            plan.xmlEncoding.empties == .omit
        {
            return nil
        }
        return names.targets.last ?? place.text ?? (names.hasContent ? names.latest : nil)
    }

    /// Whether the latest name is that of a part which has the headers that its text came with.
    private var carriesLines: Bool { names.hasLines && !names.isJSONPart }

    /// The rule that has made a file of a value.
    private var fileRule: String {
        guard let rule = walk.fileRule else { return "files" }
        return "files.\(rule.path): from \((rule.source(from: .json) ?? .base64).rawValue)"
    }

    /// The output's `nulls`, and whether a document's encoder leaves nulls out, of which nobody is told.
    private var nulls: (word: String, areLeftOut: Bool) {
        switch plan.output {
        case .plist, .bplist:
            let nulls = plan.propertyListEncoding.nulls
            return (nulls.rawValue, nulls == .omit)
        case .xml:
            let nulls = plan.xmlEncoding.nulls
            return (nulls.rawValue, nulls == .omit && plan.xmlEncoding.convention == .attributes)
        default: return (plan.fieldEncoding.nulls.rawValue, false)
        }
    }

    private func reason(_ kind: Tree.Kind) -> String {
        if kind.isContainer {
            return "empties: \((plan.output == .xml ? plan.xmlEncoding.empties : plan.fieldEncoding.empties).rawValue)"
        }
        return "nulls: \(nulls.word)"
    }

    /// The options that gave the value its name or its text.
    private func spelling(_ kind: Tree.Kind, _ place: ObservedWalk.Place) -> [String] {
        var rules: [String] = []
        let options = plan.fieldEncoding
        let isFlat = plan.output == .form || plan.output == .multipart
        if isFlat {
            if place.isInArray || kind.isArray { rules.append("arrays: \(options.arrays.rawValue)") }
            if place.isNested || kind.hasNames { rules.append("nesting: \(options.nesting.rawValue)") }
        }
        guard place.text == nil else { return rules }
        if kind.isContainer, isFlat { rules.append("empties: \(options.empties.rawValue)") }
        if kind == .null, plan.output != .json { rules.append("nulls: \(nulls.word)") }
        if kind == .yes || kind == .no, options.booleans == .numeric { rules.append("booleans: numeric") }
        return rules
    }
}

// MARK: Documents that are held back

// Dialects that sort what they write hold the document until its end, so that fields don't come out where they go in.
extension ConversionObserver: FlattenerObserver {
    func omits() { walk.verdict.isOmitted = true }
    func holds(_ node: Tree.Node) { names.holds(node) }

    func moves(_ node: Tree.Node, to component: Tree.Node) {
        settleValue()
        names.moves(node, to: component)
    }

    func writes(_ node: Tree.Node) {
        settleValue()
        names.writes(node)
    }

    /// Whether the encoder holds the document back.
    private var holdsDocument: Bool {
        let options = plan.fieldEncoding
        return (plan.output == .form || plan.output == .multipart)
            && FieldStyle.of(options.dialect).holdsDocument(options.order)
    }

    /// Files what came under the node of the held document that it went to, where that is known by now.
    ///
    /// - Parameter own: the node of the empty object or array that has come, unless its end has said another one.
    private func settlePending(own: Tree.Node? = nil) {
        guard let node = names.takeHeldNode() ?? own else { return }
        if node == Tree.none { walk.lost += walk.pending } else { walk.held[node, default: []] += walk.pending }
        walk.pending = []
    }

    /// Writes down what was held back, field by field as they went out.
    func settleHeld() {
        for field in names.written {
            for value in walk.held.removeValue(forKey: field.node) ?? [] {
                let origin = origins[value.node]
                sent.append(
                    .init(source: origin?.source, target: field.name, rules: value.rules, path: origin?.path))
            }
        }
        let rest = walk.held.sorted { $0.key < $1.key }.flatMap(\.value).filter(\.isExpected)
        for value in walk.lost + rest + walk.pending {
            let origin = origins[value.node] ?? Origin()
            let rule = value.kind.isContainer ? reason(value.kind) : "dialect: \(plan.fieldEncoding.dialect.rawValue)"
            removed.append(
                .init(source: origin.source, target: nil, rules: origin.rules + [rule], path: origin.path))
        }
    }
}
