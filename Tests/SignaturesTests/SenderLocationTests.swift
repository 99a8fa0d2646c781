import Signatures
import Testing

/// Which places a request may name that something is fetched from.
@Suite("Senders' locations")
struct SenderLocationTests {
    @Test(
        "A sender's own hosts",
        arguments: [
            (
                "https://sns.eu-west-1.amazonaws.com/a.pem", SenderLocation.Owner.sns, "sns.eu-west-1.amazonaws.com",
                "/a.pem"
            ),
            ("https://SNS.us-gov-west-1.AmazonAWS.com/x/?a=b", .sns, "sns.us-gov-west-1.amazonaws.com", "/x/?a=b"),
            ("https://sns.cn-north-1.amazonaws.com.cn/", .sns, "sns.cn-north-1.amazonaws.com.cn", "/"),
            ("https://api.paypal.com/v1/certs/CERT-1", .payPal, "api.paypal.com", "/v1/certs/CERT-1"),
            ("https://api.sandbox.paypal.com/c", .payPal, "api.sandbox.paypal.com", "/c"),
        ])
    func own(_ text: String, _ owner: SenderLocation.Owner, _ host: String, _ target: String) throws {
        let location = try #require(SenderLocation(Array(text.utf8), of: owner))
        #expect(location.host == host && location.target == target)
    }

    @Test(
        "No others",
        arguments: [
            "", "https://", "https:///a", "http://sns.eu-west-1.amazonaws.com/a", "https://sns.eu-west-1.amazonaws.com",
            "https://sns.amazonaws.com/a", "https://sns..amazonaws.com/a", "https://sns.ab.amazonaws.com/a",
            "https://sns.a.b.amazonaws.com/a", "https://xsns.eu-west-1.amazonaws.com/a",
            "https://sns.eu-west-1.amazonaws.com.evil.example/a", "https://sns.eu-west-1.amazonaws.com:443/a",
            "https://u@sns.eu-west-1.amazonaws.com/a", "https://sns.eu-west-1.amazonaws.com#/a",
            "https://sns.eu-west-1.amazonaws.com?/a", "https://sns.eu-west-1.amazonaws.com\\/a",
            "https://sns.eu-west-1.amazonaws.com/a b", "https://sns.eu-west-1.amazonaws.com/a\r\nX: y",
            "https://sns.eu-west-1.amazonaws.com/\u{E4}", "https://s3.amazonaws.com/a", "https://api.paypal.com/a",
            "https://sns.eu-west-1.amazonaws.com.cn.cn/a",
        ])
    func others(_ text: String) { #expect(SenderLocation(Array(text.utf8), of: .sns) == nil) }

    @Test(
        "A host must be below PayPal's, and have its name",
        arguments: [
            "https://paypal.com.evil.example/a", "https://evilpaypal.com/a", "https://api.paypal.com@evil.example/a",
            "https://sns.eu-west-1.amazonaws.com/a",
        ])
    func notPayPal(_ text: String) { #expect(SenderLocation(Array(text.utf8), of: .payPal) == nil) }

    @Test("A location has 2 KiB at most")
    func length() {
        let start = "https://api.paypal.com/"
        for (count, isTaken) in [(2047, true), (2048, true), (2049, false)] {
            let text = start + String(repeating: "a", count: count - start.utf8.count)
            #expect((SenderLocation(Array(text.utf8), of: .payPal) != nil) == isTaken)
        }
    }

    @Test(
        "A certificate is a file without a query",
        arguments: [
            ("/a.pem", true), ("/a/b", true), ("/a?b", false), ("/../a", false), ("/a/..", false), ("/%2e%2e/a", false),
        ])
    func certificates(_ target: String, _ isCertificate: Bool) throws {
        let location = try #require(SenderLocation(Array("https://api.paypal.com\(target)".utf8), of: .payPal))
        #expect(location.isCertificate == isCertificate)
    }

    @Test("A certificate of SNS ends in .pem")
    func ending() throws {
        for (target, isCertificate) in [("/a.pem", true), ("/a.txt", false), ("/a", false), ("/a.pem?b", false)] {
            let location = try #require(
                SenderLocation(Array("https://sns.eu-west-1.amazonaws.com\(target)".utf8), of: .sns))
            #expect(location.isCertificate == isCertificate)
        }
    }
}
