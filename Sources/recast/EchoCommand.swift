internal import ArgumentParser
internal import EventLoop

/// `recast echo`: an upstream for trying things out.
struct EchoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "echo",
        abstract: "Answer every request with what was received, parsed: an upstream for trying routes out.")

    @Argument(help: "Where to listen: 127.0.0.1:3000, [::1]:3000 or unix:/path.")
    var address = "127.0.0.1:3000"

    func run() throws {
        endOnSignals()
        guard let socketAddress = SocketAddress.parse(address) else {
            throw CommandFault(
                CommandFault.usage, "recast echo: \"\(address)\" is not an address; write 127.0.0.1:3000 or unix:/path")
        }
        do throws(LoopError) {
            try EchoServer.run(address: socketAddress) { bound in
                StandardStreams.report("recast: echoing on \(bound)")
            }
        } catch {
            throw CommandFault(CommandFault.unavailable, "recast echo: \(error)")
        }
    }
}
