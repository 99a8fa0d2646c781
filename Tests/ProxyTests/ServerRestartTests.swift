import EventLoop
import Testing

@testable import Proxy

/// What a reload leaves for a restart.
@Suite struct ServerRestartTests {
    private func settings(admin: ListenAddress?, console: ConsoleSettings?) -> ProxySettings {
        var settings = ProxySettings(
            listen: [.tcp(host: "127.0.0.1", port: 8080)], workers: 1, upstreams: [], routes: [])
        settings.admin.address = admin
        settings.admin.console = console
        return settings
    }

    @Test("a console begins with a reload where its port is there, and else waits for it")
    func console() {
        let port = ListenAddress.tcp(host: "127.0.0.1", port: 9901)
        let new = settings(admin: port, console: ConsoleSettings())
        for (old, isKept) in [(port, true), (nil, false)] as [(ListenAddress?, Bool)] {
            let kept = ServerRestart.kept(of: settings(admin: old, console: nil), in: new)
            #expect(kept.admin.address == old)
            #expect((kept.admin.console != nil) == isKept)
        }
    }
}
