import HTTPWire
import Testing

@testable import HTTP2

/// Limits and rules of heads that change while a connection is there.
@Suite("HTTP/2: limits of heads that change") struct HeadLimitTests {
    @Test("Heads that begin behind a change are read by the new limits and rules")
    func changed() {
        var wire = WireLimits()
        wire.fieldCount = 3
        var rules = RequestRules()
        rules.refusesUnwiseBytes = true
        let recorder = Recorder(wire: wire)
        func request(_ id: Int32, _ path: String, fields count: Int) -> ClientBytes {
            var client = id == 1 ? ClientBytes() : ClientBytes.more()
            client.request(id, "GET", path: path, fields: (1..<count).map { ("x-\($0)", "y") }, ends: true)
            return client
        }
        #expect(recorder.read(request(1, "/a", fields: 4)))
        recorder.session.readHeads(within: WireLimits(), by: rules)
        #expect(recorder.read(request(3, "/a", fields: 4)))
        #expect(recorder.read(request(5, "/a|b", fields: 1)))
        recorder.session.readHeads(within: wire, by: RequestRules())
        #expect(recorder.read(request(7, "/a|b", fields: 3)))
        #expect(recorder.read(request(9, "/a", fields: 4)))
        #expect(
            recorder.events == [
                "1 refused http_too_many_fields", "3 GET /a none Host=a.test x-1=y x-2=y x-3=y",
                "5 refused http_bad_target_byte", "7 GET /a|b none Host=a.test x-1=y x-2=y",
                "9 refused http_too_many_fields",
            ])
    }
}
