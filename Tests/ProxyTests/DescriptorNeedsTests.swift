import Testing

@testable import Proxy

/// How many descriptors a process needs to start, and how many connections the rest is worth.
@Suite struct DescriptorNeedsTests {
    private func needs(workers: Int = 1, _ change: (inout ProxySettings) -> Void = { _ in }) -> DescriptorNeeds {
        var settings = ProxySettings(
            listen: [.tcp(host: "127.0.0.1", port: 8080)], workers: workers,
            upstreams: [
                UpstreamSettings(name: "app", addresses: [.tcp(host: "a", port: 1), .tcp(host: "b", port: 1)])
            ],
            routes: [])
        change(&settings)
        return DescriptorNeeds(settings)
    }

    @Test("listeners, workers, ports for operators, upstreams and their checks each add to it")
    func own() {
        #expect(needs().own == 56)
        #expect(needs(workers: 2).own == 64)
        #expect(needs { $0.listen.append(.unix(path: "/a")) }.own == 57)
        #expect(needs { $0.admin.address = .unix(path: "/a") }.own == 64)
        #expect(
            needs {
                $0.admin.address = .unix(path: "/a")
                $0.admin.status = .unix(path: "/b")
            }.own == 72)
        #expect(needs(workers: 3) { $0.upstreams[0].health.active = .init(path: "/") }.own == 48 + 3 * 10)
    }

    @Test("it starts with the fewest that it needs, and not with one less", arguments: [1, 2, 8, 9, 64])
    func minimum(workers: Int) throws {
        let needs = needs(workers: workers)
        #expect(needs.minimum == needs.own + 2 * max(32, 4 * workers))
        try needs.check(needs.minimum + 1)
        try needs.check(needs.minimum)
        for limit in [needs.minimum - 1, 64, 0] {
            let error = #expect(throws: ServerError.self) { try needs.check(limit) }
            let text = error?.description ?? ""
            #expect(text.contains("\(limit) files") && text.contains("at least \(needs.minimum)"))
            #expect(text.contains("ulimit") && text.contains("lower \"workers\"") == (workers > 1))
        }
        // The room that is asked for is there.
        #expect(needs.connections(of: needs.minimum) == max(32, 4 * workers))
    }

    @Test(
        "the rest is for clients and upstreams, up to a cap",
        arguments: [(120, 32), (121, 32), (122, 33), (1024, 484), (24055, 11_999), (24056, 12_000), (1 << 40, 12_000)])
    func connections(limit: Int, connections: Int) {
        #expect(needs().connections(of: limit) == connections)
    }

    @Test(
        "a cap that the descriptors don't suffice for is told", arguments: [(32, false), (33, true), (100_000, true)])
    func note(cap: Int, isTold: Bool) {
        let note = needs().note(on: 120, cap: cap)
        #expect((note != nil) == isTold)
        #expect(note?.contains("connections.total is \(cap)") != false)
        #expect(needs().note(on: 120, cap: nil) == nil)
        #expect(needs().note(on: .max, cap: cap) == nil)
    }
}
