/// YAML text as settings nodes: the events of one document put together, with every doubled key told at once.
struct YAMLText {
    /// Nodes of one text at most, those that aliases repeat included.
    static let maximumNodes = 100_000
    /// Collections within each other at most.
    static let maximumDepth = 64

    /// What an alias stands for, and what it costs to have it once more.
    private struct Anchored {
        var node: SettingsNode
        var count: Int
        /// Collections within each other in it.
        var height: Int
    }

    /// Where a text came from that is options of a short form, in braces that nobody has written.
    struct ShortForm {
        /// Where in the text the brace is.
        let brace: SettingsNode.Position
        /// Leads from a place of the text to where that is in the file.
        let place: (SettingsNode.Position) -> SettingsNode.Position
    }

    /// Why there is no node: it was reported.
    private struct Refused: Error {}

    private let context: ReadingContext
    private let text: String
    private let events: YAMLEvents
    private let form: ShortForm?
    private var anchors: [String: Anchored] = [:]
    private var count = 0
    /// The deepest collection since the last anchor that is still open began.
    private var deepest = 0

    private init(_ text: String, _ context: ReadingContext, _ form: ShortForm?) {
        self.context = context
        self.form = form
        self.text = text
        events = YAMLEvents(text)
    }

    /// Reads the one document of `text`. Reports what is wrong; nil when nothing can be made of it.
    ///
    /// - Parameter form: the short form that it is a part of; its nodes and mistakes then stand where the file has them.
    static func read(_ text: String, _ context: ReadingContext, within form: ShortForm? = nil) -> SettingsNode? {
        var reader = YAMLText(text, context, form)
        return try? reader.document()
    }

    private mutating func document() throws(Refused) -> SettingsNode {
        guard case .documentStart = try next().content else {
            throw refuse(.init(line: 1, column: 1), "there is nothing here")
        }
        let root = try node(try next(), depth: 0)
        let after = try next()
        guard case .end = after.content else {
            throw refuse(after.position, "this is not YAML: one document is expected, and here begins another")
        }
        return root
    }

    private func next() throws(Refused) -> YAMLEvents.Event {
        do {
            var event = try events.next()
            if let form { event.position = form.place(event.position) }
            return event
        } catch {
            throw refuse(error)
        }
    }

    // MARK: - Nodes

    private mutating func node(_ event: YAMLEvents.Event, depth: Int) throws(Refused) -> SettingsNode {
        let before = (count: count, deepest: deepest)
        let properties: YAMLEvents.Properties
        try checkBounds(event.position, adding: 1, depth: depth)
        deepest = depth
        var node = SettingsNode(position: event.position, content: .sequence([]))
        switch event.content {
        case .scalar(let text, let isPlain, let own):
            properties = own
            node.content = .scalar(text, isPlain: isPlain)
        case .sequenceStart(let own):
            properties = own
            node.content = .sequence(try elements(depth: depth))
        case .mappingStart(let own):
            properties = own
            node.content = .mapping(try members(depth: depth))
        case .alias(let name):
            defer { deepest = max(before.deepest, deepest) }
            return try alias(name, event.position, depth: depth)
        case .documentStart, .sequenceEnd, .mappingEnd, .end:
            // libyaml's parser lets these stand only where they are taken.
            throw refuse(event.position, "this is not YAML")
        }
        if let tag = properties.tag {
            context.report(event.position, "YAML tags mean nothing here: remove \(tag)")
        }
        if let name = properties.anchor {
            anchors[name] = Anchored(node: node, count: count - before.count, height: deepest - depth)
        }
        deepest = max(before.deepest, deepest)
        return node
    }

    private mutating func alias(
        _ name: String, _ position: SettingsNode.Position, depth: Int
    ) throws(Refused) -> SettingsNode {
        guard let anchored = anchors[name] else {
            throw refuse(position, YAMLFault.alias)
        }
        try checkBounds(position, adding: anchored.count - 1, depth: depth + anchored.height)
        deepest = depth + anchored.height
        return anchored.node
    }

    private mutating func checkBounds(
        _ position: SettingsNode.Position, adding added: Int, depth: Int
    ) throws(Refused) {
        count += added
        guard count > Self.maximumNodes || depth > Self.maximumDepth else { return }
        context.report(
            position,
            count > Self.maximumNodes
                ? "there are more than \(Self.maximumNodes) values here, those that aliases repeat included"
                : "more than \(Self.maximumDepth) lists and mappings stand within each other")
        throw Refused()
    }

    private mutating func elements(depth: Int) throws(Refused) -> [SettingsNode] {
        var elements: [SettingsNode] = []
        while true {
            let event = try next()
            if case .sequenceEnd = event.content { return elements }
            elements.append(try node(event, depth: depth + 1))
        }
    }

    private mutating func members(depth: Int) throws(Refused) -> [SettingsNode.Member] {
        var members: [SettingsNode.Member] = []
        var places: [String: SettingsNode.Position] = [:]
        while true {
            let event = try next()
            if case .mappingEnd = event.content { return members }
            let key = try node(event, depth: depth + 1)
            let value = try node(try next(), depth: depth + 1)
            guard case .scalar(let name, let isPlain) = key.content else {
                context.report(event.position, "a key is a single value")
                continue
            }
            if name == "<<", isPlain {
                throw refuse(
                    event.position,
                    "the key << of YAML 1.1, which merges, isn't read: write its keys here, or an alias alone")
            }
            if let first = places[name] {
                // Most often two elements of a list that lack what parts them.
                let hint = name == "name" && first.line < event.position.line ? ": each route begins with \"- \"" : ""
                context.report(
                    event.position, "the key \"\(name)\" occurs twice, first in line \(first.line)\(hint)")
                continue
            }
            places[name] = event.position
            members.append(.init(key: name, position: event.position, value: value))
        }
    }

    // MARK: - Errors

    private func refuse(_ position: SettingsNode.Position, _ message: String) -> Refused {
        context.report(position, message, code: .yaml)
        return Refused()
    }

    private func refuse(_ failure: YAMLEvents.Failure) -> Refused {
        var position = failure.position
        // The end of a text without a line end is the beginning of another line to libyaml.
        if form != nil, position.line > 1 { position = .init(line: 1, column: text.unicodeScalars.count + 1) }
        let fault = YAMLFault(
            problem: failure.problem, context: failure.context, start: failure.start, position: position,
            text: text, within: form)
        return refuse(fault.position, fault.message)
    }
}
