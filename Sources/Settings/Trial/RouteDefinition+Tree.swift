internal import Transcoding

// The members of a route for a program that shows and changes them.
extension RouteDefinition {
    /// The members as an object, `request` in its long form.
    static func tree(_ members: [SettingsNode.Member]) -> Literal {
        tree(members.map { $0.key == "request" ? long($0) : $0 } as [SettingsNode.Member], depth: 0)
    }

    private static func tree(_ members: [SettingsNode.Member], depth: Int) -> Literal {
        object("members", .array(members.map { .array([.string($0.key), value($0.value, depth: depth + 1)]) }))
    }

    private static func value(_ node: SettingsNode, depth: Int) -> Literal {
        switch node.content {
        case .scalar(let text, let isPlain):
            let member = Literal.Member(name: "text", value: .string(text))
            return .object(isPlain ? [member] : [member, .init(name: "quoted", value: .bool(true))])
        case .sequence(let elements): return object("list", .array(elements.map { value($0, depth: depth + 1) }))
        case .mapping(let members): return tree(members, depth: depth)
        }
    }

    private static func object(_ name: String, _ value: Literal) -> Literal {
        .object([.init(name: name, value: value)])
    }

    /// `request` with `decode` and `encode`, each a mapping with `as`; as it was where it is no conversion.
    private static func long(_ member: SettingsNode.Member) -> SettingsNode.Member {
        var member = member
        switch member.value.content {
        case .scalar(let text, _):
            let context = ReadingContext(text, environment: .nothing)
            guard let sides = ConversionExpression(member.value, text, context).read() else { return member }
            member.value.content = .mapping([side("decode", sides.decode), side("encode", sides.encode)])
        case .mapping(let members):
            member.value.content = .mapping(
                members.map { own in
                    guard own.key == "decode" || own.key == "encode", case .scalar = own.value.content else {
                        return own
                    }
                    var own = own
                    let name = SettingsNode.Member(key: "as", position: own.position, value: own.value)
                    own.value.content = .mapping([name])
                    return own
                })
        case .sequence: break
        }
        return member
    }

    private static func side(_ key: String, _ side: ConversionSide) -> SettingsNode.Member {
        let word = SettingsNode(position: side.position, content: .scalar(side.encoding, isPlain: true))
        let name = SettingsNode.Member(key: "as", position: side.position, value: word)
        return .init(
            key: key, position: side.position,
            value: SettingsNode(position: side.position, content: .mapping([name] + side.options.remaining)))
    }
}
