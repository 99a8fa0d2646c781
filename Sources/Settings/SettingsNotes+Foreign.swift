internal import Gateway
internal import Proxy
internal import Transcoding

/// What is legal here and has another meaning in nginx, Express or a regular expression.
extension SettingsNotes {
    var foreignNotes: [SettingsNote] {
        settings.routes.indices.flatMap {
            patternNotes($0) + headerNotes($0) + upgradeNotes($0) + addressNotes($0) + dollarNotes($0)
        }
    }

    private func upgradeNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        guard let upstream = route.upstream, settings.upstreams[upstream].version == .http2,
            route.options.forwarding.upgrade?.isEmpty == false
        else { return [] }
        return [
            note(
                .warning, "upgrade_in_http2", index,
                "its upstream \(settings.upstreams[upstream].name) is spoken to by HTTP/2, which has no upgrade",
                "websockets want an upstream with http: 1.1")
        ]
    }

    private func addressNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        guard route.options.forwarding.addresses == .outer, !OuterAddresses.canReturn(route) else { return [] }
        return [
            note(
                .warning, "addresses_one_way", index,
                "\"addresses: outer\" can't undo its rewrite, which doesn't say of which path it was made",
                "take each variable and star of the path once, with a text between two: a star without a name can't be taken"
            )
        ]
    }

    // MARK: - Patterns

    /// The path that is matched, and the one that takes its place.
    private func patternNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        var notes: [SettingsNote] = []
        let path = route.match.path.text
        if path.contains("/:") {
            notes.append(
                note(
                    .warning, "path_colon", index, "in the path \(path) a colon is a character like any other",
                    "a variable is {name}"))
        } else if Self.isLikeExpression(path: path) {
            notes.append(
                note(
                    .warning, "path_like_expression", index,
                    "the path \(path) is no regular expression: its characters stand for themselves",
                    "{name} or * is any segment, a * at the end any rest"))
        }
        let literals = (route.rewrite?.path ?? []).map { if case .literal(let text) = $0 { text } else { "x" } }
        let rewritten = literals.joined()
        let hint = "a variable of the route's path is put in with ${path.NAME}"
        if rewritten.contains("/:") {
            notes.append(
                note(
                    .warning, "path_colon", index,
                    "in the rewritten path \(rewritten) a colon is a character like any other",
                    hint))
        } else if rewritten.contains("*") || Self.isLikeExpression(path: rewritten) {
            notes.append(
                note(
                    .warning, "path_like_expression", index,
                    "the upstream gets the rewritten path \(rewritten) as it stands: nothing takes the place of a star or a group",
                    hint))
        }
        return notes
    }

    private static func isLikeExpression(path: String) -> Bool {
        path.contains(".*") || path.contains("/(") || path.contains("[") || path.contains("\\") || path.hasSuffix("$")
    }

    /// Fields that are matched. What they hold may be a secret, and isn't shown.
    private func headerNotes(_ index: Int) -> [SettingsNote] {
        settings.routes[index].match.headers.compactMap { condition in
            // What says a path, as X-Forwarded-Prefix, may stand between slashes as an expression does.
            let saysPath = ["path", "prefix", "uri", "url"].contains(where: condition.name.contains)
            guard condition.values.contains(where: { Self.isLikePattern($0, mayBePath: saysPath) }) else { return nil }
            return note(
                .warning, "header_like_expression", index,
                "a value of the header \(condition.name) in its \"match\" is no pattern: it is compared as it stands, with ^, $ and *",
                "write each value that is meant; several are a list")
        }
    }

    /// A regular expression, or a star for any value or any rest; `*/*` and `text/*` are values of Accept.
    private static func isLikePattern(_ value: String, mayBePath: Bool) -> Bool {
        value == "*" || value.hasPrefix("^") || value.hasPrefix("~") || value.hasPrefix("!") || value.hasSuffix("$")
            || !mayBePath && value.hasPrefix("/") && value.hasSuffix("/") && value.count > 2
            || value.hasSuffix("*") && !value.contains("/")
            || [".*", ".+", "\\d", "\\w", "\\s", "]+", "]*", ")?"].contains(where: value.contains)
    }

    // MARK: - Variables

    private func dollarNotes(_ index: Int) -> [SettingsNote] {
        values(index).compactMap { what, texts, isOfHead in
            guard texts.contains(where: { Self.hasForeignVariable($0, digits: isOfHead) }) else { return nil }
            return note(
                .warning, "dollar_literal", index, "the $ in \(what) is a character like any other",
                "a value is taken with ${path.NAME} and so on")
        }
    }

    /// The values of a route's rules: what is told of each, its texts, and whether it is none of a body.
    func values(_ index: Int) -> [(what: String, texts: [String], isOfHead: Bool)] {
        let route = settings.routes[index]
        var found: [(what: String, texts: [String], isOfHead: Bool)] = []
        for piece in route.rewrite?.path ?? [] {
            if case .literal(let text) = piece { found.append((text, [text], true)) }
        }
        for parameter in route.rewrite?.query ?? [] {
            found.append(("the parameter \(parameter.name) of \"rewrite\"", Self.texts(parameter.value), true))
        }
        if case .fixed(let host) = route.options.forwarding.host { found.append(("\"host\"", [host], true)) }
        for edits in [route.options.headers.request, route.options.headers.response] {
            for edit in edits.set + edits.add { found.append((edit.text, [edit.text], true)) }
        }
        for (plan, sources) in conversions(of: route) {
            for assignment in plan.map.set + plan.map.append {
                let texts =
                    switch assignment.value {
                    case .literal(let literal): Self.texts(literal)
                    case .source(let number): sources.indices.contains(number) ? Self.texts(sources[number]) : []
                    }
                // A body may well have an amount of dollars in it.
                found.append(("what \"map\" sets \(assignment.path) to", texts, false))
            }
        }
        return found
    }

    func conversions(of route: Route) -> [(plan: ConversionPlan, sources: [SourceReference])] {
        var all = [route.conversion, route.shadow?.trial?.conversion].compactMap(\.self)
            .map { (plan: $0.plan, sources: $0.sources) }
        for case .convert(let conversion) in route.responses.map(\.action) {
            all.append((plan: conversion.plan, sources: conversion.sources))
        }
        return all
    }

    private static func texts(_ source: SourceReference) -> [String] {
        guard case .literalMix(let pieces) = source else { return [] }
        return pieces.flatMap { piece in
            switch piece {
            case .literal(let text): [text]
            case .source(let source): texts(source)
            }
        }
    }

    private static func texts(_ literal: Literal) -> [String] {
        switch literal {
        case .string(let text): [text]
        case .array(let elements): elements.flatMap(texts)
        case .object(let members): members.flatMap { texts($0.value) }
        default: []
        }
    }

    /// `$name`, or with `digits` `$1`, as nginx writes what it puts in.
    private static func hasForeignVariable(_ text: String, digits: Bool) -> Bool {
        var isAfter = false
        for scalar in text.unicodeScalars {
            if isAfter, scalar.properties.isAlphabetic || digits && ("0"..."9").contains(scalar) { return true }
            isAfter = scalar == "$"
        }
        return false
    }
}
