import HTTPWire
import Signatures
import Testing

@testable import Gateway

/// Names with `_` that a route passes, where it looks at fields that they imitate.
@Suite struct GuardedFieldsTests {
    private static func verification(_ name: String) throws -> RequestVerification {
        let scheme = try #require(SenderPresets.find(name))
        let options = SignatureVerifier.Options(scheme: scheme, secrets: [SigningSecret(.shared([1, 2, 3]))])
        return RequestVerification(options, failure: .status(401), limit: 1024)
    }

    private static let authorization = RequestAuthorization([.bearer([]), .key(field: "X-Api-Key", [])])

    @Test("what is looked at can't be imitated, nor what the request has itself")
    func imitations() throws {
        let rows: [(RequestVerification?, RequestAuthorization?, [(String, String)], Bool)] = [
            (try Self.verification("svix"), nil, [("svix_id", "a")], true),
            (try Self.verification("svix"), nil, [("Webhook_Timestamp", "a")], true),
            (try Self.verification("svix"), nil, [("svix-id", "a"), ("X_Other", "b")], false),
            (try Self.verification("svix"), nil, [("X-Other", "a"), ("x_other", "b")], true),
            (try Self.verification("github"), nil, [("X_Hub_Signature-256", "a")], true),
            (try Self.verification("github"), nil, [("X_Hub_Signature_25", "a")], false),
            (try Self.verification("shopify"), nil, [("X_Shopify_Topic", "a")], true),
            (try Self.verification("slack"), nil, [("X_Slack_Request_Timestamp", "1")], true),
            (try Self.verification("paypal"), nil, [("PAYPAL_TRANSMISSION_ID", "1")], true),
            (try Self.verification("rfc9421"), nil, [("content_digest", "1")], true),
            (try Self.verification("rfc9421"), nil, [("Date", "1"), ("dat_e", "1")], false),
            (nil, Self.authorization, [("X_Api_Key", "k")], true),
            (nil, Self.authorization, [("X_Api-Kez", "k")], false),
            (nil, Self.authorization, [], false),
        ]
        for (verification, authorization, fields, isImitated) in rows {
            let head = try requestHead("POST", "/", fields: fields)
            let guarded = try #require(GuardedFields(verification, authorization, .pass))
            #expect(guarded.areImitated(in: head) == isImitated, "\(fields)")
        }
    }

    @Test("nothing is guarded where nothing is looked at, or where such names don't pass")
    func none() throws {
        let open = GuardedFields(nil, nil, .pass)
        #expect(open.map { _ in true } == nil)
        for rule in [UnderscoreRule.drop, .reject] {
            let guarded = GuardedFields(try Self.verification("svix"), Self.authorization, rule)
            #expect(guarded.map { _ in true } == nil)
        }
    }
}
