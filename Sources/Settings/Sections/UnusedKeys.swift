internal import Gateway
internal import Proxy

/// Warns of keys of a route that nothing of it heeds: they may be another route's, or something is forgotten beside them.
struct UnusedKeys {
    let context: ReadingContext

    /// - Parameter members: what the route says itself; what stands in "defaults" is for routes of all kinds.
    func note(_ members: [SettingsNode.Member], of route: Route) {
        // A file with mistakes is told of those alone, and each of them once.
        guard context.mistakes.isEmpty else { return }
        // A copy may be converted where the request isn't.
        let convertsRequests = route.conversion != nil || route.shadow != nil
        let convertsResponses = route.responses.contains { if case .convert = $0.action { true } else { false } }
        let looksAtResponses = route.responses.contains { $0.status != nil || $0.problem != nil }
        for member in members where !context.isUnresolved(member.value) {
            switch member.key {
            case "no_transform" where !convertsRequests && !context.says("pass", member.value, "\"no_transform\""):
                note(member, "no_transform", "requests that are converted", "request", route)
            case "codings"
            where !convertsRequests && !convertsResponses && !looksAtResponses && route.verification == nil
                && !context.saysOff(member.value, "\"codings\""):
                note(member, "codings", "bodies that are converted", "request or response", route)
            case "limits":
                guard case .mapping(let limits) = member.value.content else { continue }
                for limit in limits {
                    switch limit.key {
                    case "signed" where route.verification == nil && route.signing == nil:
                        note(limit, "limits.signed", "content that is verified or signed", "verify or sign", route)
                    case "response" where !convertsResponses && !looksAtResponses:
                        note(limit, "limits.response", "responses that are converted", "response", route)
                    default: break
                    }
                }
            default: break
            }
        }
    }

    private func note(
        _ member: SettingsNode.Member, _ key: String, _ use: String, _ remedy: String, _ route: Route
    ) {
        context.note(
            SettingsNote(
                severity: .warning, code: "key_unused", line: member.position.line, column: member.position.column,
                subject: "route \(route.name)", message: "\"\(key)\" is for \(use), and this route has none",
                hint: "it counts with \(remedy)", route: route.name))
    }
}
