public import Gateway

/// The port for operators, and what the proxy says of itself.
public struct AdminSettings: Hashable, Sendable {
    /// Where the admin port listens; nil: there is none, which is so unless the settings name an address. Two proxies on one
    /// machine must not meet on a port that was not chosen.
    public var address: ListenAddress?
    /// The names by which that port may be called, besides addresses and `localhost`: of others it is asked by mistake, or by a
    /// page whose own name leads here. A unix socket is called by any.
    public var hosts: [HostPattern] = []
    /// Where `/live`, `/ready` and `/metrics` are told, and nothing else can be asked; nil: nowhere but at `address`.
    public var status: ListenAddress?
    /// Who may connect to `address` and to `status`, where they are unix sockets; nil: the process' umask decides.
    public var mode: SocketMode?
    public var statusMode: SocketMode?
    /// What the console keeps and shows at `address`; nil: there is none.
    public var console: ConsoleSettings?
    /// How operational lines are written to standard error.
    public var logFormat = OperationalLog.Format.text
    /// Which of them are written at first; `/log-level` changes it.
    public var logLevel = OperationalLog.Level.info

    public init() {}

    /// What an operator should know of the address: who reaches it commands the proxy. Nil where it is reached from this
    /// machine only.
    public var note: String? {
        guard case .tcp(let host, _)? = address, !host.hasPrefix("127."), host != "::1" else { return nil }
        return "admin: \(address?.description ?? host) can be reached from other machines and asks for no password: "
            + "let a firewall or a network policy decide who may; for probes and metrics there is \"status\""
    }
}
