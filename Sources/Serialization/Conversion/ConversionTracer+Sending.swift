internal import Octets

// The output: the tree's events, one value at a time, into the codecs of the lanes with recorders behind them.
extension ConversionTracer {
    /// What the sink's rules have done so far.
    struct Count: Equatable {
        /// Values that a rule about files left out.
        var removed = 0
        /// Values that the encoder's options left out.
        var omitted = 0
        /// Members of an object that is a file.
        var absorbed = 0
        /// The rule of the latest file.
        var fileRule = 0
    }

    private struct Place {
        /// The names that led here, as far as the output spells them.
        var isNested = false
        var isInArray = false
        /// The field whose JSON text holds the value.
        var text: String?
        /// Whether that is a part of its own, as `parts` says.
        var isPart = false
    }

    /// Sends the document. `removed` is the sink's count of what its rules left out.
    mutating func send<Sink: EventSink & ~Copyable>(
        _ tree: inout Tree, into sink: inout Sink, isOpen: Bool, count: (borrowing Sink) -> Count
    ) throws(ConversionError) {
        guard tree.root != Tree.none else { return }
        try send(tree.root, &tree, into: &sink, Place(), isOpen: isOpen, count: count)
    }

    private mutating func send<Sink: EventSink & ~Copyable>(
        _ node: Tree.Node, _ tree: inout Tree, into sink: inout Sink, _ place: Place, isOpen: Bool,
        count: (borrowing Sink) -> Count
    ) throws(ConversionError) {
        log.clear()
        let before = count(sink)
        let parent = tree.parent(node)
        if parent != Tree.none, tree.kind(parent).hasNames {
            let name = tree.name(node).copied()
            try sink.key(name.span)
        }
        let kind = tree.kind(node)
        guard kind.isContainer else {
            try sendScalar(node, kind, tree, into: &sink)
            return note(node, kind, place, before, count(sink))
        }
        if kind.hasNames {
            if plan.treeOrder == .sorted { tree.sortMembers(node) }
            if !isOpen { try sink.beginObject() }
        } else {
            try sink.beginArray()
        }
        var inner = place
        inner.text = place.text ?? log.targets.last
        inner.isPart = place.isPart || !log.targets.isEmpty && log.isJSONPart
        if parent != Tree.none { inner.isNested = inner.isNested || kind.hasNames }
        inner.isInArray = inner.isInArray || kind.isArray
        let first = tree.firstChild(node)
        let isFirstSeen = !log.targets.isEmpty
        var child = first
        while child != Tree.none {
            try send(child, &tree, into: &sink, inner, isOpen: false, count: count)
            child = tree.nextSibling(child)
        }
        if first != Tree.none { log.clear() }
        if kind.hasNames { try sink.endObject() } else { try sink.endArray() }
        if first == Tree.none, node != tree.root || !kind.hasNames {
            note(node, kind, place, before, count(sink))
        } else if !log.targets.isEmpty, !isFirstSeen, first != Tree.none {
            // All that stood in it was left out, and what is empty has a form.
            note(node, kind, place, before, before)
        }
    }

    private func sendScalar<Sink: EventSink & ~Copyable>(
        _ node: Tree.Node, _ kind: Tree.Kind, _ tree: borrowing Tree, into sink: inout Sink
    ) throws(ConversionError) {
        let text = tree.text(node).copied()
        switch kind {
        case .string: try sink.string(text.span, isLast: true)
        case .number: try sink.number(text.span)
        case .date: try sink.date(text.span)
        case .data: try sink.data(text.span)
        case .yes: try sink.bool(true)
        case .no: try sink.bool(false)
        case .null: try sink.null()
        case .object, .keyed, .array, .collected: break
        }
    }

    /// Writes down what became of a scalar or an empty container.
    private mutating func note(
        _ node: Tree.Node, _ kind: Tree.Kind, _ place: Place, _ before: Count, _ after: Count
    ) {
        let origin = origins[node] ?? Origin()
        if after.absorbed > before.absorbed, log.targets.isEmpty {
            // The file whose filename or type it is begins with its `data`, which comes last.
            absorbed.append(trace.sent.count)
            trace.sent.append(
                .init(isFile: true, source: origin.source, target: "", rules: origin.rules + [fileRule(after)]))
            return
        }
        var target = log.targets.last ?? place.text
        if target == nil, log.hasContent { target = log.latest }
        // A document's encoders leave out what its recorder has got.
        if kind == .null, leavesOutNulls { target = nil }
        if kind.isArray, plan.output == .xml, plan.xmlEncoding.convention == .attributes,
            plan.xmlEncoding.empties == .omit
        {
            target = nil
        }
        if target == nil, holdsDocument, after == before, let name = names[node] {
            held.append(.init(node: node, kind: kind, name: name, rules: origin.rules + spelling(kind, place)))
            return
        }
        guard let target else {
            let isDropped = after.removed > before.removed
            return trace.removed.append(
                .init(
                    source: origin.source, target: nil,
                    rules: origin.rules + [isDropped ? "files: drop" : reason(kind)]))
        }
        let isFile = log.isFile && !log.targets.isEmpty
        var rules = origin.rules
        if isFile {
            rules.append(fileRule(after))
            for index in absorbed { trace.sent[index].target = target }
        }
        if place.isPart || !log.targets.isEmpty && log.isJSONPart {
            rules.append("parts")
        } else if absorbed.isEmpty || !isFile {
            rules += spelling(kind, place)
        }
        if isFile { absorbed = [] }
        trace.sent.append(
            .init(
                isFile: isFile, source: origin.source, target: target.isEmpty ? "the document" : target, rules: rules))
    }

    /// The rule that has made a file of a value.
    private func fileRule(_ count: Count) -> String {
        guard plan.files.indices.contains(count.fileRule) else { return "files" }
        let rule = plan.files[count.fileRule]
        return "files.\(rule.path): from \((rule.source(from: .json) ?? .base64).rawValue)"
    }

    private var leavesOutNulls: Bool {
        switch plan.output {
        case .plist, .bplist: plan.propertyListEncoding.nulls == .omit
        case .xml: plan.xmlEncoding.convention == .attributes && plan.xmlEncoding.nulls == .omit
        case .form, .multipart, .json, .text, .raw: false
        }
    }

    private func reason(_ kind: Tree.Kind) -> String {
        if kind.isContainer {
            return "empties: \((plan.output == .xml ? plan.xmlEncoding.empties : plan.fieldEncoding.empties).rawValue)"
        }
        return "nulls: \(nulls)"
    }

    private var nulls: String {
        switch plan.output {
        case .plist, .bplist: plan.propertyListEncoding.nulls.rawValue
        case .xml: plan.xmlEncoding.nulls.rawValue
        case .form, .multipart, .json, .text, .raw: plan.fieldEncoding.nulls.rawValue
        }
    }

    /// The options that gave the value its name or its text.
    private func spelling(_ kind: Tree.Kind, _ place: Place) -> [String] {
        var rules: [String] = []
        let options = plan.fieldEncoding
        let isFlat = plan.output == .form || plan.output == .multipart
        if isFlat {
            if place.isInArray || kind.isArray { rules.append("arrays: \(options.arrays.rawValue)") }
            if place.isNested || kind.hasNames { rules.append("nesting: \(options.nesting.rawValue)") }
        }
        guard place.text == nil else { return rules }
        if kind.isContainer, isFlat { rules.append("empties: \(options.empties.rawValue)") }
        if kind == .null, plan.output != .json { rules.append("nulls: \(nulls)") }
        if kind == .yes || kind == .no, options.booleans == .numeric { rules.append("booleans: numeric") }
        return rules
    }
}
