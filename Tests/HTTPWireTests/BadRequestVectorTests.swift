import HTTPWire
import Octets
import Testing

@Suite("http-bad-requests.json")
struct BadRequestVectorTests {
    static let halfClosing: Set<String> = [
        "cl-033", "ck-025", "ck-026", "ck-027", "fs-028", "jk-002", "jk-008", "jk-011",
    ]
    /// These need a route that re-encodes and are run by the proxy's tests: R36 and the codecs.
    static let coveredByTheProxy: Set<String> = [
        "rc-003", "rc-005", "rc-006", "rc-008", "rc-011", "rc-012", "rc-013", "rc-014", "rc-016",
    ]
    static let here = BadRequestVector.all.filter { !coveredByTheProxy.contains($0.id) }

    @Test("every vector is run here or named as the proxy's")
    func count() {
        let ids = Set(BadRequestVector.all.map(\.id))
        #expect(ids.count == BadRequestVector.all.count)
        #expect(Self.coveredByTheProxy.isSubset(of: ids))
        #expect(
            BadRequestVector.all.filter { $0.class == "reencode" && $0.expect == "reject" }.count
                == Self.coveredByTheProxy.count)
        #expect(BadRequestVector.all.count == 259)
        #expect(Self.here.count == 250)
    }

    @Test("the last answer is one that the vector allows, however the input is cut", arguments: here)
    func statuses(_ vector: BadRequestVector) {
        let bytes = vector.bytes
        let halfCloses = Self.halfClosing.contains(vector.id)
        let whole = TestConnection.run(bytes, .whole, halfCloses: halfCloses)
        #expect(vector.status.contains(whole.statuses.last ?? 0), "\(whole.verdict) \(whole.statuses)")
        switch vector.expect {
        case "accept": #expect(whole.error == nil, "\(whole.verdict)")
        case "reject": #expect(whole.statuses.last != 200)
        default: break
        }
        for cut in Cut.all(bytes.count) {
            let other = TestConnection.run(bytes, cut, halfCloses: halfCloses)
            #expect(other.statuses == whole.statuses, "\(cut): \(other.verdict), whole: \(whole.verdict)")
            #expect(other.error == whole.error, "\(cut)")
            #expect(other.requests == whole.requests, "\(cut)")
        }
    }

    @Test(
        "a refused vector is answered once and nothing behind it is read",
        arguments: here.filter { $0.expect == "reject" })
    func exactlyOneAnswer(_ vector: BadRequestVector) {
        let run = TestConnection.run(vector.bytes, halfCloses: Self.halfClosing.contains(vector.id))
        #expect(run.statuses.count <= 1)
        #expect(!run.requests.contains { $0.target.contains("evil") || $0.target == "/next" })
    }

    @Test("waiting bytes are bounded by the head limit", arguments: here)
    func boundedMemory(_ vector: BadRequestVector) {
        let run = TestConnection.run(vector.bytes, .bytewise)
        #expect(run.mostWaiting <= WireLimits().head)
    }

    /// What `why` asks of a vector that may be taken or refused; "refused" also holds.
    @Test("an allowed leniency keeps its invariant")
    func invariants() throws {
        func run(_ id: String) throws -> TestConnection {
            let vector = try #require(BadRequestVector.all.first { $0.id == id })
            return TestConnection.run(vector.bytes)
        }
        // get is an unknown method, never a GET.
        #expect(try run("sl-025").requests.first?.method == "get")
        // A backslash is never a slash, an encoded line end stays encoded.
        #expect(try run("tg-013").verdict == "400 http_bad_target_byte")
        #expect(try run("tg-015").requests.first?.target == "/%0d%0aX-Injected:%20yes")
        #expect(try run("tg-014").requests.first?.target == "/%00")
        #expect(try run("tg-017").requests.first?.target == "/a/../b")
        #expect(try run("tg-018").requests.first?.target == "/a/%2e%2e/b")
        // Aliases with an underscore neither frame nor pass.
        #expect(try run("fs-031").verdict == "400 http_underscore_alias")
        #expect(try run("fs-032").verdict == "400 http_underscore_alias")
        // An empty port is normalised away.
        #expect(try run("ho-014").requests.first?.host == "a.test")
        #expect(try run("ho-013").requests.first?.host == "[::1]")
        #expect(try run("ho-025").requests.first?.host == "a.test.")
        #expect(try run("ho-024").verdict == "400 http_bad_host")
        // The body of a GET, HEAD or OPTIONS is a body, not a request.
        #expect(try run("cl-035").requests.count == 1)
        #expect(try run("cl-035").requests.first?.body.count == 43)
        #expect(try run("cl-036").requests.first?.body == Array("hello".utf8))
        #expect(try run("cl-037").requests.first?.body == Array("hello".utf8))
        #expect(try run("te-038").requests.first?.body == Array("hello".utf8))
        // A trailer is never merged.
        for id in ["tr-002", "tr-003", "tr-004", "tr-006"] {
            let seen = try run(id)
            #expect(seen.requests.first?.host == "a.test")
            #expect(seen.requests.first?.body == Array("hello".utf8))
            #expect(seen.requests.first?.fields == ["Host: a.test"])
        }
        // Connection must not remove what frames or routes.
        for id in ["hb-002", "hb-003", "hb-004", "hb-006"] {
            #expect(try run(id).verdict == "400 http_protected_connection_option")
        }
        // close wins whatever the order; data after it is ignored.
        #expect(try run("hb-009").isClosed)
        #expect(try run("pl-006").statuses == [200])
        // The interval between messages.
        #expect(try run("pl-001").statuses == [200, 200])
        #expect(try run("pl-003").requests.map(\.target) == ["/", "/next"])
        #expect(try run("pl-007").statuses == Array(repeating: 200, count: 41))
        #expect(try run("pl-009").statuses == [200, 200])
    }
}
