internal import Gateway
internal import Proxy
internal import Transcoding

/// Reads a route's `shadow`: copies of its requests, for another upstream or for a conversion whose output nobody gets.
struct ShadowReader {
    /// What a route does with the requests themselves, and with their copies.
    struct Outcome {
        var request: RequestRule?
        var shadow: ShadowOptions?
        var trial: RequestConversion?
    }

    let context: ReadingContext
    let upstreams: [UpstreamSettings]
    let values: RequestValueReader

    /// Bytes of a copy's content at least and at most.
    private static let buffer = 1024...(4 << 20)
    private static let mostIgnored = 64
    /// Keys that only copies for an upstream have.
    private static let upstreamKeys = ["compare", "ignore", "in_flight", "timeout"]

    /// - Parameters:
    ///   - request: what the route's `request` says; nil where that can't be read.
    ///   - upstream: the index of the route's own upstream.
    ///   - lacksUpstream: whether the route needs none and has none.
    func read(
        _ route: SectionReader, request: RequestRule?, upstream: Int?, lacksUpstream: Bool, limits: Limits
    ) -> Outcome {
        var outcome = Outcome(request: request)
        guard let node = route.take("shadow") else {
            route.record("shadow", "off", .standard)
            return outcome
        }
        if lacksUpstream, !context.saysOff(node, "\"shadow\"") {
            context.report(
                node.position, "\"shadow\" is for routes with an upstream: a data plane forwards what goes on by itself"
            )
        }
        if case .scalar = node.content {
            guard let written = context.text(node, "\"shadow\"") else { return outcome }
            let text = context.saysOff(node, "\"shadow\"") ? "off" : written
            switch text {
            case "off": route.record("shadow", "off", .line(node.position.line))
            case "convert":
                var options = SectionReader.absent("\"shadow\"", path: "shadow", context)
                record(&options, node)
                tryRequest(node, &outcome)
                outcome.shadow = self.options(options, upstream: nil, isSent: false)
            default:
                let names = upstreams.map(\.name)
                let hint =
                    names.contains(text) ? "shadow: { upstream: \(text), sample: 10% }" : "convert, off, or a mapping"
                context.report(
                    node.position,
                    "\"shadow\" is no \"\(text)\": \(names.contains(text) ? "write" : "it is") \(hint)")
            }
            return outcome
        }
        guard let part = SectionReader(node, "\"shadow\"", path: "shadow", context) else { return outcome }
        let failures = context.failures
        part.knows("upstream", "convert", "sample", "buffer", "in_flight", "timeout", "compare", "ignore")
        let target = part.take("upstream").map { self.upstream($0, part, own: upstream) }
        let convert = part.take("convert")
        if let convert { trial(convert, part, limits: limits, &outcome) }
        if target == nil {
            if convert == nil {
                context.report(
                    part.position,
                    "\"shadow\" needs \"upstream\", as in upstream: new, or \"convert\", as in convert: request")
            }
            for key in Self.upstreamKeys {
                part.refuse(key, "is for copies that go to an upstream: add \"upstream\" or remove it")
            }
        }
        let options = self.options(part, upstream: target ?? nil, isSent: target != nil)
        part.finish()
        if context.failures == failures { outcome.shadow = options }
        return outcome
    }

    private func record(_ section: inout SectionReader, _ node: SettingsNode) {
        section.record("convert", "request", .line(node.position.line))
    }

    /// - Parameter isSent: whether copies go to an upstream, even if to none that there is.
    private func options(_ part: SectionReader, upstream: Int?, isSent: Bool) -> ShadowOptions {
        var options = ShadowOptions()
        options.upstream = upstream
        options.sample = part.share(
            "sample", standard: options.sample, from: 1, "the route's requests above 0% and up to 100%")
        options.buffer = part.size("buffer", standard: Sourced(options.buffer), in: Self.buffer).value
        guard isSent else { return options }
        options.inFlight = part.count("in_flight", standard: Sourced(options.inFlight), in: 1...65_535).value
        options.timeout = part.time("timeout", standard: Sourced(options.timeout)).value
        let isUnknown = part.remaining.contains { $0.key == "compare" && context.isUnresolved($0.value) }
        options.compares = part.bool("compare", standard: options.compares)
        guard let node = part.take("ignore") else {
            part.record("ignore", "none", .standard)
            return options
        }
        options.ignored = ignored(node)
        part.record(
            "ignore", options.ignored.map(\.description).joined(separator: ", "), .line(node.position.line))
        if !options.compares, !isUnknown {
            context.report(
                node.position, "\"ignore\" is for answers that are compared: add \"compare: true\" or remove it")
        }
        return options
    }

    private func upstream(_ node: SettingsNode, _ part: SectionReader, own: Int?) -> Int? {
        guard let name = context.text(node, "\"upstream\"") else { return nil }
        part.record("upstream", name, .line(node.position.line))
        guard let index = upstreams.firstIndex(where: { $0.name == name }) else {
            let hint = context.hint(for: name, among: upstreams.map(\.name))
            context.report(node.position, "there is no upstream \"\(name)\": \(hint)")
            return nil
        }
        if index == own {
            context.report(
                node.position,
                "\"\(name)\" is the route's own upstream, which would get each request twice: name another one")
        } else if upstreams[index].version == .http2 {
            context.report(
                node.position,
                "copies go by HTTP/1.1, and the upstream \"\(name)\" is spoken to by HTTP/2: name one without http: 2")
        }
        return index
    }

    /// Paths as those of a map; `[]` stands for `[*]`.
    private func ignored(_ node: SettingsNode) -> [FieldPath] {
        guard let elements = context.elements(node, "\"ignore\"") else { return [] }
        if elements.count > Self.mostIgnored {
            context.report(node.position, "\"ignore\" has at most \(Self.mostIgnored) paths")
            return []
        }
        return elements.compactMap { element in
            guard let text = context.text(element, "a path of \"ignore\"") else { return nil }
            do throws(ConversionError) {
                return try FieldPath(
                    parsing: text.split(separator: "[]", omittingEmptySubsequences: false).joined(separator: "[*]"))
            } catch {
                context.report(
                    element.position,
                    "\"\(text)\" is no path of a field, as in updated_at or items[].id: \(error.reason)")
                return nil
            }
        }
    }

    // MARK: A conversion that is tried

    private func trial(_ node: SettingsNode, _ part: SectionReader, limits: Limits, _ outcome: inout Outcome) {
        if case .scalar("request", _) = node.content {
            part.record("convert", "request", .line(node.position.line))
            return tryRequest(node, &outcome)
        }
        let reader = BodyConversionReader(context, values: values, "\"convert\"", path: "shadow.convert")
        let (plan, other) = reader.request(node, limits: limits)
        let otherTypes = context.otherTypes(other, path: "shadow.convert", standard: .reject)
        if case .convert? = outcome.request {
            return context.report(
                node.position,
                "the route converts its requests already: remove \"request\", or write convert: request to try that one instead"
            )
        }
        if let plan, let otherTypes {
            outcome.trial = RequestConversion(plan, otherTypes: otherTypes, sources: values.sources)
        }
    }

    /// The route's own `request` is tried on copies, and its requests go on as they came.
    private func tryRequest(_ node: SettingsNode, _ outcome: inout Outcome) {
        switch outcome.request {
        case .convert(let conversion)?:
            outcome.trial = conversion
            outcome.request = .forward
        case .forward?:
            context.report(node.position, "the route has no \"request\" whose conversion could be tried: add one")
        case nil: break
        }
    }
}
