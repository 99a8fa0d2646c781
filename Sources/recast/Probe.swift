internal import ArgumentParser

/// `recast probe`: asks a running proxy, or anything else that speaks HTTP, how it is; for health checks of containers that
/// have no other client, and for the admin port of such.
struct Probe: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send one request, and succeed when the answer's status is a 2xx.",
        discussion: """
            For health checks where there is no curl: recast probe 127.0.0.1:9901 /ready
            And for the rest of the admin port there: recast probe --print unix:/run/recast/admin.sock /upstreams
            """)

    enum RequestMethod: String, ExpressibleByArgument, CaseIterable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
    }

    @Argument(help: "Where to ask: 127.0.0.1:9901, [::1]:9901 or unix:/path.")
    var address = "127.0.0.1:9901"

    @Argument(help: "The path to ask for.")
    var path = "/ready"

    @Option(help: "The method; a POST or PUT has no body.")
    var method = RequestMethod.get

    @Flag(help: "Print the answer's body, whatever its status is.")
    var print = false

    @Option(help: "Seconds until the answer's first line must be there, or with --print all of it.")
    var timeout = 3

    func run() throws {
        guard (1...3600).contains(timeout) else {
            throw CommandFault(CommandFault.usage, "recast probe: --timeout is 1 to 3600 seconds, not \(timeout)")
        }
        guard let port = AskedPort(address) else {
            throw CommandFault(
                CommandFault.usage,
                "recast probe: \"\(address)\" is not an address: write 127.0.0.1:9901, [::1]:9901 or unix:/path, without a name of "
                    + "a host, and the path behind it, as in 127.0.0.1:9901 /ready")
        }
        guard path.hasPrefix("/"), path.utf8.allSatisfy({ 33...126 ~= $0 }) else {
            throw CommandFault(
                CommandFault.usage,
                "recast probe: a path begins with / and is visible ASCII, as in 127.0.0.1:9901 /ready")
        }
        let take: ((Span<UInt8>) -> String?)? = print ? { Self.show($0) } : nil
        let answer: AskedPort.Answer
        do throws(AskedPort.Fault) {
            answer = try port.ask(method.rawValue, path, within: timeout, take)
        } catch {
            throw CommandFault(CommandFault.unavailable, "recast probe: \(address): \(error.reason)")
        }
        guard let status = answer.status, 200..<300 ~= status else {
            throw CommandFault(
                CommandFault.unavailable, "recast probe: \(address)\(path) answers \"\(answer.line.prefix(80))\"")
        }
    }

    /// Prints a piece of the answer's body.
    private static func show(_ bytes: Span<UInt8>) -> String? {
        do throws(CommandFault) {
            try StandardStreams.write(bytes)
            return nil
        } catch {
            return "standard output can't be written"
        }
    }
}
