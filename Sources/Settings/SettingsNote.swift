internal import EventLoop
internal import Gateway
internal import Proxy
internal import Transcoding

/// What an operator should know of settings that are fine.
public struct SettingsNote: Hashable, Sendable {
    public enum Severity: String, Hashable, Sendable, CaseIterable {
        /// It can hardly be meant so.
        case warning
        /// It may well be meant so.
        case note
    }

    public var severity: Severity
    /// Stable, as `upstream_unused`.
    public var code: String
    /// Where what it is about stands in the file, from 1.
    public var line: Int
    public var column: Int
    /// What it is about: `upstream app`, `route orders, response 2`.
    public var subject: String
    /// One sentence in lower case without a full stop.
    public var message: String
    /// What to write instead, where the message doesn't say so itself.
    public var hint: String?
    /// The name of the route that it is about.
    public var route: String?
}

extension SettingsNote: CustomStringConvertible {
    /// `route orders: null becomes an empty value; nulls: literal or reject keeps it apart`
    public var description: String { "\(subject): \(message)\(hint.map { "; \($0)" } ?? "")" }
}

/// Finds what there is to note of settings that could be read.
struct SettingsNotes {
    let settings: ProxySettings
    /// Where the routes, the upstreams and `admin` stand.
    let routes: [SettingsNode.Position]
    let upstreams: [SettingsNode.Position]
    let admin: SettingsNode.Position
    /// The values in effect that are not a route's.
    let effective: [EffectiveValue]
    /// The values in effect for each route.
    let effectiveOfRoutes: [[EffectiveValue]]
    /// Where "defaults" say what holds for a route that says nothing.
    let inherited: [String: EffectiveValue.Origin]
    /// Whether a route is left out, because what it needs isn't here.
    let lacksRoutes: Bool
    /// What was seen as files of certificates were loaded.
    let ofFiles: [SettingsNote]
    /// The secrets of routes that stand in the file.
    let secrets: [SecretLength]

    var all: [SettingsNote] {
        ofFiles + adminNotes + upstreamNotes + authorityNotes + pathNotes + foreignNotes + spellingNotes
            + dataPlaneNotes
            + verificationNotes + guardNotes + bodyNotes + contradictionNotes
            + settings.routes.indices.flatMap(conversionNotes)
    }

    /// Of a route: `which` names what of it behind its name, and `position` where in it that stands.
    func note(
        _ severity: SettingsNote.Severity, _ code: String, _ index: Int, of which: String = "", _ message: String,
        _ hint: String, at position: SettingsNode.Position? = nil
    ) -> SettingsNote {
        let (name, position) = (settings.routes[index].name, position ?? routes[index])
        return SettingsNote(
            severity: severity, code: code, line: position.line, column: position.column,
            subject: "route \(name)\(which)", message: message, hint: hint, route: name)
    }

    private var adminNotes: [SettingsNote] {
        guard let note = settings.admin.note else { return [] }
        let text = note.hasPrefix("admin: ") ? String(note.dropFirst(7)) : note
        return [
            SettingsNote(
                severity: .note, code: "admin_reachable", line: admin.line, column: admin.column, subject: "admin",
                message: text)
        ]
    }

    private var upstreamNotes: [SettingsNote] {
        let used = Set(settings.routes.flatMap { [$0.upstream, $0.shadow?.options.upstream].compactMap(\.self) })
        let plain = Set(effective.lazy.filter { $0.origin == .standard }.map(\.key))
        var notes: [SettingsNote] = []
        for (index, upstream) in settings.upstreams.enumerated() {
            func note(_ code: String, _ message: String, _ hint: String) {
                notes.append(warning(ofUpstream: index, code, message, hint))
            }
            let isPlainByDefault = plain.contains("upstreams.\(upstream.name).tls")
            if !used.contains(index), !lacksRoutes {
                note("upstream_unused", "no route names it", "a route does with upstream: \(upstream.name)")
            }
            for address in upstream.addresses {
                if case .tcp(_, 443) = address, isPlainByDefault {
                    note(
                        "upstream_plain", "\(address) has the port of HTTPS, and is spoken to without TLS",
                        "write tls: true")
                }
                if settings.listen.contains(where: { $0.isReached(by: address) }) {
                    note(
                        "upstream_is_listener", "\(address) is where this proxy itself listens",
                        "its requests would go round until loop_limit ends them with 508")
                } else if let port = settings.admin.address, port.isReached(by: address) {
                    note(
                        "upstream_is_admin", "\(address) is the admin port of this proxy",
                        "its routes would hand clients the operator's commands")
                }
            }
        }
        return notes
    }

    /// Upstreams that can't be believed on this machine: each request to them fails.
    var authorityNotes: [SettingsNote] {
        settings.upstreams.indices.filter { settings.upstreams[$0].tls?.lacksAuthorities == true }.map { index in
            warning(
                ofUpstream: index, "upstream_no_authorities",
                "its certificate is checked by the authorities of this machine, which has none: each request to it fails",
                "install them (ca-certificates), or name a file of them with tls: { ca: … }")
        }
    }

    private func warning(ofUpstream index: Int, _ code: String, _ message: String, _ hint: String) -> SettingsNote {
        note(.warning, ofUpstream: index, code, message, hint)
    }

    /// Of an upstream.
    func note(
        _ severity: SettingsNote.Severity, ofUpstream index: Int, _ code: String, _ message: String, _ hint: String
    ) -> SettingsNote {
        SettingsNote(
            severity: severity, code: code, line: upstreams[index].line, column: upstreams[index].column,
            subject: "upstream \(settings.upstreams[index].name)", message: message, hint: hint)
    }

    /// Routes that a path walks around where the segments pass that upstreams seldom tell from others.
    private var pathNotes: [SettingsNote] {
        var ways: [(setting: String, example: String)] = []
        let paths = settings.forwarding.paths
        if paths.emptySegments == .pass { ways.append(("paths.empty_segments: pass", "//")) }
        if paths.dotSegments == .pass { ways.append(("paths.dot_segments: pass", "/./")) }
        if ways.isEmpty { return [] }
        var notes: [SettingsNote] = []
        for (index, route) in settings.routes.enumerated() {
            let wider = settings.routes[(index + 1)...].first {
                $0.match.path.text != route.match.path.text && $0.match.path.text.hasSuffix("*")
                    && route.match.path.text.hasPrefix($0.match.path.text.dropLast())
            }
            guard let wider else { continue }
            for way in ways {
                notes.append(
                    SettingsNote(
                        severity: .warning, code: "route_walked_around", line: routes[index].line,
                        column: routes[index].column, subject: "route \(route.name)",
                        message:
                            "with \(way.setting) a path as \(way.example)\(route.match.path.text.dropFirst()) is taken by "
                            + "the route \(wider.name) instead",
                        hint: "leave the setting out where that must not be", route: route.name))
            }
        }
        return notes
    }

    /// Whether a body that the route takes may become more than `spool` holds: by what is held of one until its sender is known, too.
    /// Percent signs make three bytes of one, and the names of arrays seldom more than ten times as many.
    private func mayOutgrow(_ spool: SpoolSettings, _ route: Route) -> Bool {
        min(route.limits.body, route.verification?.limit ?? .max) > spool.most / 32
    }

    /// What the outputs of a route's conversions can't carry.
    private func conversionNotes(_ index: Int) -> [SettingsNote] {
        let route = settings.routes[index]
        func shown(_ notes: [ConversionNote], _ which: String) -> [SettingsNote] {
            notes.map { note in
                SettingsNote(
                    severity: .note, code: note.code, line: routes[index].line, column: routes[index].column,
                    subject: "route \(route.name)\(which)", message: "\(note.what) \(note.effect)", hint: note.remedy,
                    route: route.name)
            }
        }
        var all: [SettingsNote] = []
        if let plan = route.shadow?.trial?.conversion?.plan { all += shown(plan.notes(), ", shadow") }
        if let plan = route.conversion?.plan {
            all += shown(plan.notes(), "")
            // What is signed is held whole, and goes on with its length.
            if route.signing == nil, let upstream = route.upstream, settings.upstreams[upstream].framing == .auto,
                let note = plan.framingNote,
                note.code != "framing_chunked" || mayOutgrow(settings.upstreams[upstream].spool, route)
            {
                all += shown([note], "")
            }
        }
        for (number, rule) in route.responses.enumerated() {
            guard case .convert(let conversion) = rule.action else { continue }
            all += shown(conversion.plan.notes(), ResponseRule.which(number, of: route.responses.count))
        }
        return all
    }
}

extension ListenAddress {
    /// Whether only this host reaches it, or the service manager decides.
    var isLocal: Bool {
        switch self {
        case .tcp(let host, _): host.hasPrefix("127.") || host == "::1"
        case .unix, .systemd: true
        }
    }

    /// Whether who connects to `upstream` on this machine is accepted here. A socket of IPv6 takes no IPv4.
    fileprivate func isReached(by upstream: UpstreamAddress) -> Bool {
        switch (self, upstream) {
        case (.unix(let mine), .unix(let theirs)):
            return ListenAddress.unix(path: mine).isSame(as: .unix(path: theirs))
        case (.tcp(let mine, let port), .tcp(let theirs, let other)):
            guard port == other, port != 0 else { return false }
            return Self.reached(by: theirs).contains { address in
                mine == address.hostText || mine == "::" && address.hostText == "::1"
                    || mine == "0.0.0.0" && address.ipv4.map { $0 >> 24 == 127 } == true
            }
        default: return false
        }
    }

    /// The addresses that a connection to `host` may lead to, as far as its text says. One to no address in particular leads to this
    /// machine.
    private static func reached(by host: String) -> [SocketAddress] {
        let four = SocketAddress(ipv4: 127 << 24 | 1, port: 0)
        let six = SocketAddress(ipv6High: 0, low: 1, port: 0)
        if let address = SocketAddress.parseHost(host, port: 0)?.unmapped {
            if address.ipv4 == 0 { return [four] }
            return [address.ipv6.map { $0 == (0, 0) } == true ? six : address]
        }
        // RFC 6761 §6.3.
        let name = host.hasSuffix(".") ? host.dropLast().lowercased() : host.lowercased()
        return name == "localhost" || name.hasSuffix(".localhost") ? [four, six] : []
    }
}
