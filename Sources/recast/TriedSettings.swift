internal import EventLoop
internal import Gateway
internal import Proxy
internal import Settings

/// Settings as `recast try` serves them: on this machine alone, in front of an echo, with the console.
struct TriedSettings: Sendable {
    /// Where all upstreams are; nil: where the file has them.
    var echo: UpstreamAddress?
    /// Whether the file was read where its secrets are not.
    var lacksSecrets: Bool
    /// Where each address of the file is listened on, in its order.
    private(set) var listen: [ListenAddress] = []
    private(set) var admin = ListenAddress.tcp(host: "127.0.0.1", port: 0)

    /// Picks the addresses: the file's own where they are free, else free ports.
    init(_ settings: ProxySettings, echo: UpstreamAddress?, lacksSecrets: Bool) {
        self.echo = echo
        self.lacksSecrets = lacksSecrets
        let served = settings.listen.filter { settings.listener(at: $0).service.forwards }
        var taken: Set<ListenAddress> = []
        for address in served {
            let own = Self.own(address, besides: taken)
            if taken.insert(own).inserted { listen.append(own) }
        }
        if listen.isEmpty { listen = [Self.free] }
        if let address = settings.admin.address { admin = Self.own(address, besides: taken) }
    }

    private static let free = ListenAddress.tcp(host: "127.0.0.1", port: 0)

    /// The address on this machine with the same port, where nobody has it; else one with a free port.
    private static func own(_ address: ListenAddress, besides taken: Set<ListenAddress>) -> ListenAddress {
        guard case .tcp(let host, let port) = address, port != 0 else { return free }
        let own = ListenAddress.tcp(host: host == "::1" ? host : "127.0.0.1", port: port)
        guard !taken.contains(own), let tried = SocketAddress.parse(own.description) else { return free }
        do throws(LoopError) {
            let socket = try ListeningSocket.open(tried, sharing: .none, backlog: 1)
            socket.close()
            return own
        } catch {
            return free
        }
    }

    /// What is served in the place of `settings`.
    func applied(to settings: ProxySettings) -> ProxySettings {
        var tried = settings
        tried.listen = listen
        tried.listeners = [:]
        tried.workers = 1
        tried.workersReason = nil
        tried.accessLog = .off
        tried.grace = .seconds(1)
        tried.lifecycle.drainDelay = .zero
        tried.lifecycle.reusePort = false
        tried.admin.address = admin
        tried.admin.status = nil
        tried.admin.console = settings.admin.console ?? ConsoleSettings()
        // The line that says where the console is, for a person.
        tried.admin.logFormat = .text
        tried.admin.logLevel = .info
        if let echo {
            // Nothing of what is tried leaves this machine.
            tried.tracing = nil
            tried.upstreams = settings.upstreams.map { own in
                var upstream = UpstreamSettings(name: own.name, addresses: [echo])
                upstream.framing = own.framing
                upstream.spool = own.spool
                return upstream
            }
            if settings.routes.contains(where: { $0.upstream == nil }) {
                tried.upstreams.append(UpstreamSettings(name: "echo", addresses: [echo]))
            }
        }
        tried.routes = settings.routes.map { route in
            let lacksUpstream = route.upstream == nil && echo != nil
            guard lacksUpstream || lacksSecrets && route.asksWhose else { return route }
            return route.changed(
                upstream: lacksUpstream ? tried.upstreams.count - 1 : route.upstream, isOpen: lacksSecrets)
        }
        return tried
    }

    /// The routes whose requests nobody is asked for here, because the secrets are elsewhere.
    func openRoutes(of settings: ProxySettings) -> [String] {
        lacksSecrets ? settings.routes.filter(\.asksWhose).map(\.name) : []
    }
}

extension Route {
    /// Whether it takes requests of some only.
    fileprivate var asksWhose: Bool { verification != nil || authorization != nil }

    /// - Parameter isOpen: whether it takes anybody's requests.
    fileprivate func changed(upstream: Int?, isOpen: Bool) -> Route {
        Route(
            index: index, name: name, match: match, upstream: upstream, rewrite: rewrite, limits: limits,
            timeouts: timeouts, request: conversion.map(RequestRule.convert) ?? .forward,
            verification: isOpen ? nil : verification, authorization: isOpen ? nil : authorization, signing: signing,
            responses: responses, responseLimit: responseLimit, options: options, shadow: shadow?.options,
            trial: shadow?.trial?.conversion)
    }
}
