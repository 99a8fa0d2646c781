/// Where the proxy accepts connections.
public enum ListenAddress: Hashable, Sendable {
    /// An address literal without brackets (`127.0.0.1`, `::1`) and a port, 0 for one that the kernel picks.
    case tcp(host: String, port: Int)
    /// A unix socket's absolute path.
    case unix(path: String)
    /// The sockets that the service manager hands over under this name (systemd's `FileDescriptorName=`).
    case systemd(name: String)
}

extension ListenAddress {
    /// Whether the two are one place: a path may be written in many ways.
    public func isSame(as other: ListenAddress) -> Bool {
        canonical == other.canonical
    }

    /// The one spelling of a unix socket's path: equal for all addresses that are the same.
    public var canonical: ListenAddress {
        guard case .unix(let path) = self else { return self }
        return .unix(path: AddressText.plain(path: path))
    }

    /// Whether one of the two is every address of the machine of a family, the other one of these too, with one port: the system
    /// doesn't open both, unless each socket says that it shares.
    public func overlaps(_ other: ListenAddress) -> Bool {
        guard case .tcp(let host, let port) = self, case .tcp(let otherHost, let otherPort) = other,
            port == otherPort, port != 0, host != otherHost
        else { return false }
        let isSameFamily = host.utf8.contains(UInt8(ascii: ":")) == otherHost.utf8.contains(UInt8(ascii: ":"))
        return isSameFamily && ["0.0.0.0", "::"].contains { $0 == host || $0 == otherHost }
    }
}

extension ListenAddress: CustomStringConvertible {
    /// The address as the settings write it.
    public var description: String { AddressText.describe(self) }
}

/// Where an upstream is reached.
public enum UpstreamAddress: Hashable, Sendable {
    /// A name or an address literal without brackets, and a port from 1.
    case tcp(host: String, port: Int)
    /// A unix socket's absolute path.
    case unix(path: String)
}

extension UpstreamAddress {
    /// Whether the two are one place: a path may be written in many ways.
    public func isSame(as other: UpstreamAddress) -> Bool {
        guard case .unix(let path) = self, case .unix(let otherPath) = other else { return self == other }
        return AddressText.plain(path: path) == AddressText.plain(path: otherPath)
    }

    /// What stands for the server's name in TLS where the settings give none.
    var host: String {
        switch self {
        case .tcp(let host, _): host
        case .unix: "localhost"
        }
    }
}

extension UpstreamAddress: CustomStringConvertible {
    /// The address as the settings write it.
    public var description: String {
        switch self {
        case .tcp(let host, let port): AddressText.describe(.tcp(host: host, port: port))
        case .unix(let path): AddressText.describe(.unix(path: path))
        }
    }
}

/// How addresses are written in settings, logs and Host fields.
enum AddressText {
    static func describe(_ address: ListenAddress) -> String {
        switch address {
        case .tcp(let host, let port): "\(bracketed(host)):\(port)"
        case .unix(let path): "unix:\(path)"
        case .systemd(let name): "systemd:\(name)"
        }
    }

    /// A Host field: the port is left out where the scheme has it anyway (RFC 9110 §4.2.3), and so is the dot of an absolute name.
    static func hostField(host: String, port: Int, isSecure: Bool) -> String {
        let host = host.utf8.count > 1 && host.utf8.last == UInt8(ascii: ".") ? String(host.dropLast()) : host
        return port == (isSecure ? 443 : 80) ? bracketed(host) : "\(bracketed(host)):\(port)"
    }

    /// An absolute path without doubled slashes and dot segments.
    static func plain(path: String) -> String {
        var segments: [Substring] = []
        for segment in path.split(separator: "/") where segment != "." {
            if segment == ".." { _ = segments.popLast() } else { segments.append(segment) }
        }
        return "/" + segments.joined(separator: "/")
    }

    /// An IPv6 address stands in brackets (RFC 3986 §3.2.2).
    private static func bracketed(_ host: String) -> String {
        host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]" : host
    }
}
