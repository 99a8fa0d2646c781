/// The senders that have a name of their own (a preset is nothing but a scheme that the settings could write, but for the
/// few that need code). Each says what its documentation or its library says; where a sender leaves a time to its receivers, there
/// is none here, unless its documentation names one.
package enum SenderPresets {
    /// All of them, by their names in the settings.
    package static let all: [SignatureScheme] = [
        // Over the content alone.
        digest("github", "X-Hub-Signature-256", prefix: "sha256="),
        digest("meta", "X-Hub-Signature-256", prefix: "sha256=") { $0.challenge = .meta },
        digest("bitbucket", "X-Hub-Signature", prefix: "sha256="),
        digest("intercom", "X-Hub-Signature", .sha1, prefix: "sha1=") { $0.challenge = .intercom },
        digest("vercel", "x-vercel-signature", .sha1),
        digest("dropbox", "X-Dropbox-Signature") { $0.challenge = .dropbox },
        digest("greenhouse", "Signature", prefix: "sha256 "),
        digest("shopify", "X-Shopify-Hmac-Sha256", encoding: .base64) {
            $0.requiredHeaders = [
                "X-Shopify-Topic", "X-Shopify-Shop-Domain", "X-Shopify-Webhook-Id", "X-Shopify-API-Version",
            ]
            $0.idHeaders = ["X-Shopify-Webhook-Id"]
        },
        digest("woocommerce", "X-WC-Webhook-Signature", encoding: .base64) { $0.challenge = .woocommerce },
        digest("typeform", "Typeform-Signature", prefix: "sha256=", encoding: .base64),
        digest("x", "X-Twitter-Webhooks-Signature", prefix: "sha256=", encoding: .base64) { $0.challenge = .x },
        digest("linear", "Linear-Signature") {
            $0.timestamp = .member("webhookTimestamp")
            $0.timestampUnit = .milliseconds
            $0.tolerance = (minute, minute)
        },
        // With a time.
        timed("slack", "X-Slack-Signature", "v0:{timestamp}:{body}", prefix: "v0=", time: "X-Slack-Request-Timestamp") {
            $0.challenge = .slack
        },
        timed("zoom", "x-zm-signature", "v0:{timestamp}:{body}", prefix: "v0=", time: "x-zm-request-timestamp") {
            $0.challenge = .zoom
        },
        timed("webflow", "x-webflow-signature", "{timestamp}:{body}", time: "x-webflow-timestamp") {
            $0.timestampUnit = .milliseconds
        },
        timed(
            "zendesk", "X-Zendesk-Webhook-Signature", "{timestamp}{body}", time: "X-Zendesk-Webhook-Signature-Timestamp"
        ) {
            $0.encoding = .base64
            $0.timestampUnit = .iso
            $0.tolerance = (nil, nil)
        },
        timed(
            "hubspot", "X-HubSpot-Signature-v3", "{method}{decoded_url}{body}{timestamp}",
            time: "X-HubSpot-Request-Timestamp"
        ) {
            $0.encoding = .base64
            $0.timestampUnit = .milliseconds
        },
        timed("discord", "X-Signature-Ed25519", "{timestamp}{body}", time: "X-Signature-Timestamp") {
            $0.methods = [.init(algorithm: .key(.ed25519))]
            $0.tolerance = (nil, nil)
            $0.secretWriting = .ed25519
            $0.failureStatus = 401
            $0.challenge = .discord
        },
        timed(
            "sendgrid", "X-Twilio-Email-Event-Webhook-Signature", "{timestamp}{body}",
            time: "X-Twilio-Email-Event-Webhook-Timestamp"
        ) {
            $0.methods = [.init(algorithm: .key(.ecdsaDER(.sha256)))]
            $0.encoding = .base64
            $0.tolerance = (nil, nil)
            $0.secretWriting = .pem
        },
        // In a list with the time.
        listed("stripe", "Stripe-Signature", ",", "{timestamp}.{body}", time: "t", "v1") {
            // Its library refuses what is too old alone.
            $0.tolerance = (5 * minute, nil)
        },
        listed("paddle", "Paddle-Signature", ";", "{timestamp}:{body}", time: "ts", "h1") {
            // As its library: a server whose clock is behind must not refuse all.
            $0.tolerance = (5000, nil)
        },
        listed("elevenlabs", "ElevenLabs-Signature", ",", "{timestamp}.{body}", time: "t", "v0") {
            $0.tolerance = (30 * minute, nil)
        },
        listed("convoy", "X-Convoy-Signature", ",", "{timestamp},{body}", time: "t", "v1"),
        // Standard Webhooks, and who follows it.
        standardWebhooks("standard-webhooks"), standardWebhooks("svix"),
        // The whole URL and the content.
        digest("square", "x-square-hmacsha256-signature", encoding: .base64) { $0.layout = layout("{url}{body}") },
        .httpMessageSignatures,
        // A token.
        digest("gitlab-token", "X-Gitlab-Token") { $0.methods = [.init(algorithm: .equal)] },
        // Senders whose signatures need code.
        special("twilio", .twilio, "X-Twilio-Signature"),
        special("mandrill", .mandrill, "X-Mandrill-Signature") { $0.challenge = .mandrill },
        special("mailgun", .mailgun, nil),
        special("sns", .sns, nil) {
            $0.secretWriting = .pem
            $0.challenge = .sns
        },
        special("paypal", .payPal, "PAYPAL-TRANSMISSION-SIG") { $0.secretWriting = .pem },
    ]

    /// Other names of the same senders.
    package static let aliases = [
        "rfc9421": "http-message-signatures", "facebook": "meta", "whatsapp": "meta", "messenger": "meta",
        "instagram": "meta", "twitter": "x",
        "gitlab": "gitlab-token", "gitlab-signing": "standard-webhooks", "standardwebhooks": "standard-webhooks",
        "openai": "standard-webhooks", "clerk": "svix", "resend": "svix", "replicate": "standard-webhooks",
        "supabase": "standard-webhooks", "aws-sns": "sns", "twilio-json": "twilio", "mailgun-routes": "mailgun",
    ]

    /// The scheme of this name; it is called as it was asked for.
    package static func find(_ name: String) -> SignatureScheme? {
        guard var scheme = all.first(where: { $0.name == aliases[name] ?? name }) else { return nil }
        scheme.name = name
        return scheme
    }

    private static let minute = 60_000

    private static func layout(_ text: String) -> SignedLayout {
        guard let layout = try? SignedLayout(parsing: text) else { preconditionFailure("a preset's layout: \(text)") }
        return layout
    }

    private static func digest(
        _ name: String, _ header: String, _ algorithm: DigestAlgorithm = .sha256, prefix: String = "",
        encoding: BinaryEncoding = .hex, _ change: (inout SignatureScheme) -> Void = { _ in }
    ) -> SignatureScheme {
        var scheme = SignatureScheme(name: name)
        scheme.headers = [header]
        scheme.value = .plain(prefix: prefix)
        scheme.methods = [.init(algorithm: .hmac(algorithm))]
        scheme.encoding = encoding
        change(&scheme)
        return scheme
    }

    private static func timed(
        _ name: String, _ header: String, _ signed: String, prefix: String = "", time: String,
        _ change: (inout SignatureScheme) -> Void = { _ in }
    ) -> SignatureScheme {
        digest(name, header, prefix: prefix) {
            $0.layout = layout(signed)
            $0.timestamp = .headers([time])
            $0.tolerance = (5 * minute, 5 * minute)
            change(&$0)
        }
    }

    private static func listed(
        _ name: String, _ header: String, _ separator: Unicode.Scalar, _ signed: String, time: String,
        _ signature: String,
        _ change: (inout SignatureScheme) -> Void = { _ in }
    ) -> SignatureScheme {
        digest(name, header) {
            $0.value = .list(separator: UInt8(ascii: separator), pair: UInt8(ascii: "="), timestamp: time)
            $0.methods = [.init(name: signature, algorithm: .hmac(.sha256))]
            $0.layout = layout(signed)
            $0.timestamp = .list
            $0.tolerance = (5 * minute, 5 * minute)
            change(&$0)
        }
    }

    private static func standardWebhooks(_ name: String) -> SignatureScheme {
        digest(name, "webhook-signature", encoding: .base64) {
            $0.headers = ["webhook-signature", "svix-signature"]
            $0.value = .list(separator: UInt8(ascii: " "), pair: UInt8(ascii: ","), timestamp: nil)
            $0.methods = [
                .init(name: "v1", algorithm: .hmac(.sha256)), .init(name: "v1a", algorithm: .key(.ed25519)),
            ]
            $0.layout = layout("{id}.{timestamp}.{body}")
            $0.idHeaders = ["webhook-id", "svix-id"]
            $0.timestamp = .headers(["webhook-timestamp", "svix-timestamp"])
            $0.tolerance = (5 * minute, 5 * minute)
            $0.separator = UInt8(ascii: ".")
            $0.secretWriting = .whsec
        }
    }

    private static func special(
        _ name: String, _ special: SignatureScheme.Special, _ header: String?,
        _ change: (inout SignatureScheme) -> Void = { _ in }
    ) -> SignatureScheme {
        var scheme = SignatureScheme(name: name)
        scheme.special = special
        scheme.headers = header.map { [$0] } ?? []
        scheme.encoding = special == .mailgun ? .hex : .base64
        change(&scheme)
        return scheme
    }
}
