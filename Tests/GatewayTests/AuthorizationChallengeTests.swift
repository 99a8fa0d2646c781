import Gateway
import HTTPWire
import Testing

/// What `authorize` says to those whom it doesn't let in.
@Suite struct AuthorizationChallengeTests {
    private static let rule = RequestAuthorization([
        .bearer([RequestAuthorization.digest(Array("token".utf8))]),
        .basic([.init(name: "ada", password: RequestAuthorization.digest(Array("pw".utf8)))]),
        .key(field: "X-Api-Key", [RequestAuthorization.digest(Array("k".utf8))]),
    ])

    @Test(
        "an error is told of a bearer token that came, and of nothing else (RFC 6750 section 3.1)",
        arguments: [
            ("Authorization", "Bearer no", "refused", true), ("Authorization", "bEARER  no", "refused", true),
            ("Authorization", "Basic YWRhOm5v", "refused", false), ("Authorization", "Basic !", "refused", false),
            ("X-Api-Key", "no", "refused", false), ("Authorization", "Digest x", "missing", false),
            ("Authorization", "Bearer", "missing", false), ("X-Other", "Bearer no", "missing", false),
        ])
    func challenges(name: String, value: String, result: String, hasError: Bool) throws {
        let head = try requestHead("GET", "/", fields: [(name, value)])
        let found = Self.rule.check(head)
        let challenges = Self.rule.challenges(to: head)
        #expect(found.name == result)
        let bearer = "Bearer realm=\"recast\"" + (hasError ? ", error=\"invalid_token\"" : "")
        #expect(
            challenges
                == "\(bearer), Basic realm=\"recast\", charset=\"UTF-8\", ApiKey realm=\"recast\", header=\"X-Api-Key\""
        )
    }

    @Test("any of the ways lets a request in")
    func granted() throws {
        for (name, value, way) in [
            ("Authorization", "Bearer token", "bearer"), ("Authorization", "Basic YWRhOnB3", "basic"),
            ("X-Api-Key", "k", "key"),
        ] {
            let head = try requestHead("GET", "/", fields: [(name, value)])
            let found = Self.rule.check(head)
            #expect(found == .granted(way: way, user: way == "basic" ? "ada" : nil))
        }
    }
}
