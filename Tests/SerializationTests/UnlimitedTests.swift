import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Limits that a program has set so high that nothing can pass them: sums with them must not pass what a number holds.
@Suite("Limits without end")
struct UnlimitedTests {
    static let limits: Limits = {
        var limits = Limits()
        limits.body = .max
        limits.tree = .max
        limits.fields = .max
        limits.field = .max
        limits.keyDepth = .max
        limits.depth = .max
        limits.key = .max
        limits.number = .max
        limits.parts = .max
        limits.partHeaders = .max
        limits.partHeaderLine = .max
        limits.partHeaderBytes = .max
        limits.preamble = .max
        return limits
    }()

    static let bodies: [(BodyEncoding, String)] = [
        (.form, "a%5Bb%5D=1+2&%61=%20&c"),
        (.json, #"{"a\u0041b":[1,-2.5e3,"x\ny"],"c":{}}"#),
        (
            .multipart,
            "--b\r\nContent-Disposition: form-data;\r\n name=\"a\"\r\nX: y\r\n\r\n1\r\n--b--\r\n"
        ),
        (
            .plist,
            "<plist version=\"1.0\"><dict><key>a&amp;b</key><array><data>A AE C</data><integer>1</integer>"
                + "<real>0.5</real><date>2001-01-01T00:00:00Z</date><string>x&lt;</string></array></dict></plist>"
        ),
        (.xml, "<r a=\"1\"><b>x&amp;</b><b/></r>"),
        (.text, "text"),
        (.raw, "bytes"),
    ]

    @Test("trap nothing, whole and byte by byte", arguments: bodies, Dialect.allCases)
    func unlimited(_ body: (BodyEncoding, String), _ dialect: Dialect) {
        for output in [BodyEncoding.json, .form, .multipart, .xml, .bplist] {
            var plan = ConversionPlan(inputs: [body.0], output: output)
            plan.limits = Self.limits
            plan.fieldDecoding = FieldDecodingOptions(dialect: dialect)
            plan.fieldEncoding = FieldEncodingOptions(dialect: dialect)
            plan.fieldEncoding.order = .input
            plan.fieldEncoding.files = output == .multipart ? .stream : .base64
            plan.fieldEncoding.empties = .marker
            plan.inputField = body.0 == .text ? "text" : nil
            let bytes = Array(body.1.utf8)
            let whole = ConversionRun.run(plan, .whole(bytes))
            #expect(whole.failure?.code.hasPrefix("limit") != true, "\(whole)")
            #expect(ConversionRun.run(plan, .every(1, of: bytes)) == whole)
        }
    }
}
