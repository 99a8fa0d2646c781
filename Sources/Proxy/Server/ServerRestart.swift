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
        return settings
    }

    /// Whether the value with this key, as `memory.bodies`, is one of them.
    public static func isNeeded(for key: String) -> Bool {
        // The address of the admin port stays; by which names it may be called does not.
        if key == "admin" || key == "status" { return true }
        return ["workers", "reuse_port", "memory", "spool"].contains(String(key.prefix { $0 != "." }))
    }
}
