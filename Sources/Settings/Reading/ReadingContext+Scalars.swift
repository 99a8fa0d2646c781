/// The readers of single values. Each reports what is wrong and then gives nil.
extension ReadingContext {
    /// The text of a single value, with `${env:…}` and `${file:…}` put in. `what` says what it is for: "a route's name".
    func text(_ node: SettingsNode, _ what: String) -> String? {
        guard let pieces = pieces(node, what) else { return nil }
        var text = ""
        for piece in pieces {
            switch piece {
            case .literal(let literal): text += literal
            case .reference(let kind, let name, let separator, let offset):
                report(
                    position(in: node, offset: offset), "\(what) takes no ${\(kind)\(separator)\(name)}",
                    isCertain: true)
                return nil
            }
        }
        return text
    }

    /// The pieces of a single value's text, with `${env:…}` and `${file:…}` put in already.
    func pieces(_ node: SettingsNode, _ what: String) -> [Substitution.Piece]? {
        guard case .scalar(let text, _) = node.content, !node.isNull else {
            report(node.position, "\(what) is a single value, not \(node.kind)")
            return nil
        }
        let pieces: [Substitution.Piece]
        do {
            pieces = try Substitution.parse(text)
        } catch {
            report(position(in: node, offset: error.offset), error.reason)
            return nil
        }
        var resolved: [Substitution.Piece] = []
        for piece in pieces {
            let literal: String?
            switch piece {
            case .literal(let text): literal = text
            case .reference("env", let name, _, let offset): literal = variable(name, node, offset)
            case .reference("file", let name, _, let offset): literal = file(name, node, offset)
            case .reference:
                resolved.append(piece)
                continue
            }
            guard let literal else { return nil }
            if case .reference(let kind, let name, let separator, _) = piece {
                noteSubstitution(literal, "${\(kind)\(separator)\(name)}", node)
            }
            if case .literal(let before)? = resolved.last {
                resolved[resolved.count - 1] = .literal(before + literal)
            } else {
                resolved.append(.literal(literal))
            }
        }
        return resolved
    }

    private func variable(_ name: String, _ node: SettingsNode, _ offset: Int) -> String? {
        if let value = environment.variable(name) { return value }
        if environment.lacksSecrets { return placeholder("env:\(name)", node) }
        report(position(in: node, offset: offset), "the environment has no variable \(name): set it before starting")
        return nil
    }

    /// Stands for a text that is only where the settings will be used.
    private func placeholder(_ reference: String, _ node: SettingsNode) -> String {
        noteUnresolved(node)
        return placeholder(of: reference)
    }

    /// The file's text without the line end at its end, which editors add.
    private func file(_ path: String, _ node: SettingsNode, _ offset: Int) -> String? {
        if environment.lacksSecrets { return placeholder("file:\(path)", node) }
        do {
            let text = try environment.file(path)
            return text.last?.isNewline == true ? String(text.dropLast()) : text
        } catch {
            report(position(in: node, offset: offset), error.reason)
            return nil
        }
    }

    func bool(_ node: SettingsNode, _ what: String) -> Bool? {
        guard let text = text(node, what) else { return nil }
        switch text {
        case "true": return true
        case "false": return false
        default:
            report(node.position, "\(what) is true or false, not \"\(text)\"")
            return nil
        }
    }

    /// A whole number in `range`, without a unit.
    func count(_ node: SettingsNode, _ what: String, in range: ClosedRange<Int>) -> Int? {
        guard let text = text(node, what) else { return nil }
        guard let number = Int(text), String(number) == text else {
            report(node.position, "\(what) is a whole number, not \"\(text)\"")
            return nil
        }
        guard range.contains(number) else {
            report(node.position, "\(what) is from \(range.lowerBound) to \(range.upperBound), not \(number)")
            return nil
        }
        return number
    }

    /// Bytes, at least `minimum`.
    func size(_ node: SettingsNode, _ what: String, from minimum: Int = 1) -> Int? {
        guard let text = text(node, what) else { return nil }
        do {
            let size = try Units.size(text)
            if size >= minimum { return size }
            report(node.position, "\(what) is at least \(Units.describe(bytes: minimum)), not \(text)")
        } catch {
            report(node.position, "\(what): \(error.reason)")
        }
        return nil
    }

    func time(_ node: SettingsNode, _ what: String, mayBeZero: Bool = false) -> Duration? {
        guard let text = text(node, what) else { return nil }
        do {
            return try Units.time(text, mayBeZero: mayBeZero)
        } catch {
            report(node.position, "\(what): \(error.reason)")
            return nil
        }
    }

    /// One of `words`.
    func word(_ node: SettingsNode, _ what: String, among words: [String]) -> String? {
        guard let text = text(node, what) else { return nil }
        if words.contains(text) { return text }
        report(node.position, "\(what) is not \"\(text)\": \(NearestWord.hint(for: text, among: words))")
        return nil
    }

    /// A list's elements, or the one value that stands where a list may.
    func elements(_ node: SettingsNode, _ what: String) -> [SettingsNode]? {
        switch node.content {
        case .scalar where !node.isNull: return [node]
        case .sequence(let elements):
            if !elements.isEmpty { return elements }
            report(node.position, "\(what) is an empty list: leave it out or name something")
        default: report(node.position, "\(what) is a single value or a list, not \(node.kind)")
        }
        return nil
    }
}
