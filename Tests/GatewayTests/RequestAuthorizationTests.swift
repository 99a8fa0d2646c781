import HTTPWire
import Testing

@testable import Gateway

/// Who may use a route.
@Suite struct RequestAuthorizationTests {
    private static let rule = RequestAuthorization([
        .bearer([RequestAuthorization.digest(Array("token".utf8))]),
        .basic([.init(name: "ada", password: RequestAuthorization.digest(Array("p:w".utf8)))]),
        .key(field: "X-Api-Key", [RequestAuthorization.digest(Array("key".utf8))]),
    ])

    @Test(
        "Credentials are good, bad or not there",
        arguments: [
            ([("Authorization", "Bearer token")], RequestAuthorization.Result.granted(way: "bearer", user: nil)),
            ([("authorization", "BEARER  token")], .granted(way: "bearer", user: nil)),
            ([("Authorization", "Bearer toke")], .refused), ([("Authorization", "Bearer")], .missing),
            ([("Authorization", "Basic YWRhOnA6dw==")], .granted(way: "basic", user: "ada")),
            ([("Authorization", "Basic YWRhOnA6dw")], .granted(way: "basic", user: "ada")),
            ([("Authorization", "Basic YWRhOnA6")], .refused), ([("Authorization", "Basic ====")], .refused),
            ([("Authorization", "Digest x")], .missing), ([("X-Api-Key", "key")], .granted(way: "key", user: nil)),
            ([("X-API-KEY", "Key")], .refused), ([("X-Api-Key", "key"), ("X-Api-Key", "key")], .refused),
            ([("Authorization", "Bearer x"), ("X-Api-Key", "key")], .granted(way: "key", user: nil)), ([], .missing),
        ])
    func credentials(_ fields: [(String, String)], _ expected: RequestAuthorization.Result) throws {
        let head = try requestHead("GET", "/", fields: fields)
        #expect(Self.rule.check(head) == expected)
    }

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

    @Test("An id that is no plain word is told by a digest")
    func ids() {
        #expect(RequestSigning.id(Array("msg_2-B".utf8)) == "msg_2-B")
        #expect(RequestSigning.id([]) == "msg_e3b0c44298fc1c149afbf4c8996fb924")
        for given in ["a.b", "a b", "ä"] {
            let id = RequestSigning.id(Array(given.utf8))
            #expect(id.hasPrefix("msg_") && id.utf8.count == 36)
        }
        let longest = String(repeating: "a", count: 128)
        #expect(RequestSigning.id(Array(longest.utf8)) == longest)
        #expect(RequestSigning.id(Array((longest + "a").utf8)).utf8.count == 36)
    }
}
