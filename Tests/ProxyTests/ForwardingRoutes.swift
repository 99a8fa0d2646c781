import EventLoop
import Gateway
import Proxy
import Testing
import Transcoding

/// A route that forwards bodies as they are, with what it says of heads.
func plain(
    _ path: String = "/*", index: Int = 0, methods: [String] = [], timeouts: (inout RouteTimeouts) -> Void = { _ in },
    _ change: (inout ForwardingOptions) -> Void
) throws -> Route {
    var times = RouteTimeouts()
    timeouts(&times)
    var options = RouteOptions()
    change(&options.forwarding)
    return Route(
        index: index, name: "r\(index)", match: RouteMatch(path: try PathPattern(parsing: path), methods: methods),
        upstream: 0, timeouts: times, options: options)
}

/// A route that converts forms to JSON, with what it says of heads.
func formToJSON(
    _ path: String = "/*", index: Int = 0, _ change: (inout ForwardingOptions) -> Void = { _ in }
) throws -> Route {
    var options = RouteOptions()
    change(&options.forwarding)
    return Route(
        index: index, name: "r\(index)", match: RouteMatch(path: try PathPattern(parsing: path)), upstream: 0,
        request: .convert(ConversionPlan(inputs: [.form], output: .json), otherTypes: .reject, sources: []),
        options: options)
}

extension TrustedPeers {
    /// The peers of these networks; `unix` for unix sockets.
    init(_ words: String...) throws {
        self.init()
        for word in words {
            if word == "unix" {
                unix = true
            } else {
                networks.append(try #require(Network(parsing: word), "\(word)"))
            }
        }
    }
}
