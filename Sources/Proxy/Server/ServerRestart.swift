/// Which settings take effect when the process starts, and not with a reload.
public enum ServerRestart {
    /// What of `new` waits for a restart, by the keys at the top of the settings.
    static func needed(from old: ProxySettings, to new: ProxySettings) -> [String] {
        var names: [String] = []
        if new.workers != old.workers { names.append("workers") }
        if new.lifecycle.reusePort != old.lifecycle.reusePort { names.append("reuse_port") }
        if new.memory.bodies != old.memory.bodies || new.memory.wait != old.memory.wait { names.append("memory") }
        if new.memory.spoolTotal != old.memory.spoolTotal { names.append("spool") }
        if new.admin.address != old.admin.address { names.append("admin") }
        if new.admin.status != old.admin.status { names.append("status") }
        // A socket that stays has its file as it was made.
        if new.listen.contains(where: { old.listen.contains($0) && new.mode(at: $0) != old.mode(at: $0) }) {
            names.append("listen.mode")
        }
        if new.admin.mode != old.admin.mode { names.append("admin.mode") }
        if new.admin.statusMode != old.admin.statusMode { names.append("status.mode") }
        return names
    }

    /// `new` with what the process has of these: what is in effect after a reload.
    static func kept(of old: ProxySettings, in new: ProxySettings) -> ProxySettings {
        var settings = new
        settings.workers = old.workers
        settings.lifecycle.reusePort = old.lifecycle.reusePort
        settings.memory = old.memory
        settings.admin.address = old.admin.address
        settings.admin.status = old.admin.status
        for address in new.listen where old.listen.contains(address) && new.mode(at: address) != old.mode(at: address) {
            settings.listeners[address, default: ListenerSettings()].mode = old.mode(at: address)
        }
        // Without a port nobody could look at what the console would keep.
        if old.admin.address == nil { settings.admin.console = nil }
        settings.admin.mode = old.admin.mode
        settings.admin.statusMode = old.admin.statusMode
        return settings
    }

    /// Whether the value with this key, as `memory.bodies`, is one of them.
    public static func isNeeded(for key: String) -> Bool {
        // The address of the admin port stays; by which names it may be called does not.
        if ["admin", "status", "admin.mode", "status.mode"].contains(key) { return true }
        if key.hasPrefix("listen."), key.hasSuffix(".mode") { return true }
        return ["workers", "reuse_port", "memory", "spool"].contains(String(key.prefix { $0 != "." }))
    }
}

extension ProxySettings {
    fileprivate func mode(at address: ListenAddress) -> SocketMode? { listener(at: address).mode }
}
