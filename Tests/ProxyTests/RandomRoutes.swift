import ContentCoding
import Gateway
import TestSupport
import Transcoding

@testable import Proxy

/// Routes and settings drawn at random: every part of the proxy beside every other one.
struct RandomRoutes {
    /// What the upstream can be asked for. Each has its route, and `Len` stands for an upstream that wants lengths.
    static let paths = ["/plain", "/form", "/json", "/back", "/plainLen", "/formLen"]

    static func routes(_ random: inout SplitMix) throws -> [Route] {
        var limits = Limits()
        limits.field = 1_000_000
        func plan(_ input: BodyEncoding, _ output: BodyEncoding) -> ConversionPlan {
            var plan = ConversionPlan(inputs: [input], output: output)
            plan.limits = limits
            return plan
        }
        var routes: [Route] = []
        for (index, path) in paths.enumerated() {
            var rule = RequestRule.forward
            var responses: [ResponseRule] = []
            if path.hasPrefix("/form") {
                rule = .convert(plan(.form, .json), otherTypes: .pass, sources: [])
            } else if path == "/json" {
                rule = .convert(plan(.json, .form), otherTypes: .pass, sources: [])
            } else if path == "/back" {
                responses = [ResponseRule(ResponseCondition(), .convert(conversion(.json, .form, limits: limits)))]
            }
            if random.chance(3) { look(&responses, &random) }
            routes.append(
                Route(
                    index: index, name: "r\(index)", match: RouteMatch(path: try PathPattern(parsing: path)),
                    upstream: path.hasSuffix("Len") ? 1 : 0, limits: limits, timeouts: times(&random), request: rule,
                    responses: responses, options: options(&random)))
        }
        return routes
    }

    /// Has the responses looked at: for a value that isn't there, in bodies that can be read so or can't.
    private static func look(_ responses: inout [ResponseRule], _ random: inout SplitMix) {
        if responses.isEmpty { responses = [ResponseRule(ResponseCondition(), .forward)] }
        var status = StatusRule(path: FieldPath([.key(Array("b".utf8))]))
        status.look = [1, 1000, 64 * 1024, 1024 * 1024].randomElement(using: &random) ?? 1
        status.encoding = [.json, .form, nil].randomElement(using: &random) ?? nil
        status.map = [.init(.missing, random.chance(2) ? .status(503) : .unchanged)]
        responses[0].status = status
        if random.chance(2) { responses[0].problem = ProblemRule() }
    }

    private static func times(_ random: inout SplitMix) -> RouteTimeouts {
        var times = RouteTimeouts()
        if random.chance(4) { times.firstByte = .milliseconds(60) }
        if random.chance(6) { times.gap = .milliseconds(60) }
        if random.chance(6) { times.bodyGap = .milliseconds(60) }
        if random.chance(6) { times.request = .milliseconds(150) }
        return times
    }

    private static func options(_ random: inout SplitMix) -> RouteOptions {
        var options = RouteOptions()
        if random.chance(2) {
            options.retry.statuses = [503]
            options.retry.onReset = random.chance(2)
            options.retry.onTimeout = random.chance(2)
            options.retry.attempts = 1 + random.below(3)
        }
        if random.chance(4) { options.retry.buffer = [0, 200, 4096].randomElement(using: &random) ?? 0 }
        if random.chance(3) { options.rate.request = 400_000 }
        if random.chance(3) { options.rate.response = 400_000 }
        if random.chance(2) { options.forwarding.expectContinue = .forward }
        if random.chance(2) { options.forwarding.trailers = ["x-sum"] }
        if random.chance(4) { options.forwarding.halfClose = .abort }
        if random.chance(2) {
            var compress = CompressOptions()
            compress.plain = random.chance(2)
            compress.least = random.chance(2) ? 1 : 1024
            options.coding.compress = compress
        }
        return options
    }

    /// Draws what isn't the routes'.
    static func change(_ settings: inout ProxySettings, _ random: inout SplitMix) {
        settings.grace = .milliseconds(120)
        settings.upstreams.append(settings.upstreams[0])
        settings.upstreams[1].name = "len"
        settings.upstreams[1].framing = .length
        settings.upstreams[1].spool.memory = [0, 1000, 100_000].randomElement(using: &random) ?? 0
        if random.chance(6) { settings.upstreams[0].framing = .chunked }
        for index in settings.upstreams.indices where random.chance(3) {
            settings.upstreams[index].maxConnections = 1 + random.below(3)
            settings.upstreams[index].queue.size = random.below(4)
            settings.upstreams[index].queue.timeout = .milliseconds(80)
        }
        if random.chance(3) {
            settings.memory.bodies = 64 * 1024 * (2 + random.below(8))
            settings.memory.wait = .milliseconds(60)
        }
        if random.chance(4) { settings.memory.spoolTotal = 100_000 }
        if random.chance(4) { settings.admission.inFlight = 3 }
        if random.chance(4) { settings.admission.connections = 4 }
        if random.chance(4) { settings.client.write = .milliseconds(100) }
    }
}

extension SplitMix {
    /// True once in `count` times.
    mutating func chance(_ count: UInt64) -> Bool { next() % count == 0 }
}
