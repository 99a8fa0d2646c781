import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// A file and a text of which one has the other's name, or one below it: Rack keeps the last of both, and files go out first.
@Suite("Names of files beside names of fields")
struct FilePlaceTests {
    struct Pair: Sendable, CustomStringConvertible {
        let text: String
        let file: String
        var description: String { "\(text) \(file)" }

        init(_ text: String, _ file: String) {
            self.text = text
            self.file = file
        }
    }

    /// What becomes of a body, cut everywhere; nil where that isn't the same for all cuts.
    private func result(_ plan: ConversionPlan, _ body: String) -> String? {
        var results: Set<String> = []
        for cut in Recut.cuts(of: Array(body.utf8), splits: 40) {
            let run = ConversionRun.run(plan, cut)
            #expect(run.violations.isEmpty, "\(body), \(cut)")
            let isBody = run.failure == nil && plan.output == .multipart
            results.insert(isBody ? summary(ofMultipart: run.output.bytes) : run.result)
        }
        return results.count == 1 ? results.first : nil
    }

    private func dialects(_ reader: Dialect, _ writer: Dialect) -> ConversionPlan {
        plan(.multipart, .multipart) {
            $0.fieldDecoding = FieldDecodingOptions(dialect: reader)
            $0.fieldEncoding = FieldEncodingOptions(dialect: writer)
            $0.rewritesNames = true
        }
    }

    static let joined: [Pair] = [
        // The file below the text.
        Pair("a", "a[b]"), Pair("a", "a[]"), Pair("a", "a[0]"), Pair("a", "a[b][c]"), Pair("a", "a[][b]"),
        Pair("a[b]", "a[b][c]"), Pair("a[b]", "a[b][]"), Pair("a[0]", "a[0][b]"), Pair("a[][b]", "a[][b][c]"),
        // The text below the file.
        Pair("a[b]", "a"), Pair("a[]", "a"), Pair("a[0]", "a"), Pair("a[][b]", "a"), Pair("a[b][c]", "a"),
        Pair("a[b][c]", "a[b]"),
        // Of one name, and of two kinds.
        Pair("a", "a"), Pair("a[b]", "a[b]"), Pair("a[b]", "a[]"), Pair("a[]", "a[b]"),
    ]

    @Test("into Rack a file is refused beside a text above, below or of its name, in either order", arguments: joined)
    func rack(_ pair: Pair) {
        let (text, file) = ("\(pair.text)=t", "\(pair.file):x=A")
        for reader in [Dialect.rack, .recast] {
            let plan = dialects(reader, .rack)
            for body in [multipart(text, file), multipart(file, text), multipart("z=1", text, "y:y=B", file)] {
                #expect(result(plan, body) == "!files_shared_root \(pair.file)", "\(reader) \(body)")
            }
        }
    }

    @Test(
        "names apart from each other pass",
        arguments: [
            Pair("a[b]", "a[c]"), Pair("ab", "a[b]"), Pair("a[b]", "ab"), Pair("a[]", "a[]"), Pair("b", "a[b]"),
            Pair("a[b][c]", "a[b][d]"), Pair("a[b]", "a[c][d]"),
        ])
    func apart(_ pair: Pair) {
        let body = multipart("\(pair.text)=t", "\(pair.file):x=A")
        for reader in [Dialect.rack, .recast] {
            #expect(result(dialects(reader, .rack), body) == "\(pair.file):x=A|\(pair.text)=t", "\(reader)")
        }
    }

    @Test(
        "PHP and qs keep files apart, but not texts that files have become",
        arguments: [
            Pair("a", "a[b]"), Pair("a[b]", "a"), Pair("a[b]", "a[b][c]"),
        ])
    func php(_ pair: Pair) {
        let body = multipart("\(pair.text)=t", "\(pair.file):x=A")
        for dialect in [Dialect.php, .qs] {
            #expect(result(dialects(dialect, dialect), body) == "\(pair.file):x=A|\(pair.text)=t", "\(dialect)")
        }
        var texts = dialects(.php, .php)
        texts.fieldEncoding.files = .base64
        #expect(result(texts, body) == "!files_shared_root \(pair.file)")
    }
}
