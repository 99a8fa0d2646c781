import Gateway
import Proxy
import Transcoding

/// A route that converts what comes back.
func convertBack(
    _ input: BodyEncoding = .json, _ output: BodyEncoding = .form, _ path: String = "/*", index: Int = 0,
    when condition: ResponseCondition = ResponseCondition(), limits: Limits = Limits(),
    limit: Int = Route.standardResponseLimit, request: RequestRule = .forward,
    change: (inout ResponseConversion) -> Void = { _ in },
    timeouts: (inout RouteTimeouts) -> Void = { _ in }
) -> Route {
    respond(
        [ResponseRule(condition, .convert(conversion(input, output, limits: limits, change)))], path, index: index,
        limits: limits, limit: limit, request: request, timeouts: timeouts)
}

/// A conversion of responses.
func conversion(
    _ input: BodyEncoding, _ output: BodyEncoding, limits: Limits = Limits(),
    _ change: (inout ResponseConversion) -> Void = { _ in }
) -> ResponseConversion {
    var plan = ConversionPlan(inputs: [input], output: output)
    plan.limits = limits
    var conversion = ResponseConversion(plan)
    change(&conversion)
    return conversion
}

/// A route with response rules.
func respond(
    _ rules: [ResponseRule], _ path: String = "/*", index: Int = 0, limits: Limits = Limits(),
    limit: Int = Route.standardResponseLimit, request: RequestRule = .forward,
    timeouts: (inout RouteTimeouts) -> Void = { _ in }
) -> Route {
    var times = RouteTimeouts()
    timeouts(&times)
    guard let pattern = try? PathPattern(parsing: path) else { preconditionFailure("a bad path in a test: \(path)") }
    return Route(
        index: index, name: "r\(index)", match: RouteMatch(path: pattern), upstream: 0, limits: limits,
        timeouts: times, request: request, responses: rules, responseLimit: limit)
}

/// An answer with a length and a type.
func answer(
    _ body: String, _ type: String? = jsonType, status: String = "200 OK", fields: String = ""
) -> String {
    let typeLine = type.map { "Content-Type: \($0)\r\n" } ?? ""
    return "HTTP/1.1 \(status)\r\n\(typeLine)Content-Length: \(body.utf8.count)\r\n\(fields)\r\n\(body)"
}

/// An answer in chunks of `size` bytes.
func chunkedAnswer(_ body: String, _ type: String = jsonType, chunk size: Int = 1, end: String = "0\r\n\r\n") -> String
{
    var text = "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\n\r\n"
    var rest = Array(body.utf8)[...]
    while !rest.isEmpty {
        let piece = rest.prefix(size)
        text += "\(String(piece.count, radix: 16))\r\n\(String(decoding: piece, as: UTF8.self))\r\n"
        rest = rest.dropFirst(size)
    }
    return text + end
}

let getRequest = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
