import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Inputs that ask for more work or leave less behind than they should.
@Suite("Hostile inputs")
struct HostileInputTests {
    @Test("text in UTF-16 goes on behind half of a surrogate pair", arguments: [1, 2, 3, 200])
    func surrogates(_ size: Int) throws {
        var plan = ConversionPlan(inputs: [.multipart], output: .json)
        plan.fieldDecoding.invalidUTF8 = .replace
        let head =
            "--b\r\nContent-Disposition: form-data; name=\"a\"\r\nContent-Type: text/plain; charset=utf-16le\r\n\r\n"
        let body = Array(head.utf8) + [0x00, 0xD8, 0x41, 0x00, 0x00, 0xDC, 0x42, 0x00] + Array("\r\n--b--\r\n".utf8)
        let run = ConversionRun.run(plan, .every(size, of: body))
        #expect(run.result == "{\"a\":\"\u{FFFD}A\u{FFFD}B\"}")
    }

    @Test("a name that is too long is refused before siblings are compared by it")
    func longNames() {
        var plan = ConversionPlan(inputs: [.json], output: .form)
        plan.fieldEncoding = FieldEncodingOptions(dialect: .alamofire)
        plan.limits.key = 16
        let name = "abcdefgh"
        let value = "{\"\(name)\":{\"\(name)\":1}}"
        #expect(ConversionRun.run(plan, .whole(Array("{\"a\":[\(value),\(value)]}".utf8))).failure?.code == "limit_key")
        let short = "{\"bc\":{\"d\":1}}"
        let fits = ConversionRun.run(plan, .whole(Array("{\"a\":[\(short),\(short)]}".utf8)))
        #expect(fits.result == "a%5B%5D%5Bbc%5D%5Bd%5D=1&a%5B%5D%5Bbc%5D%5Bd%5D=1")
    }

    @Test(
        "a decoder of JSON that has failed goes on failing, wherever the fault stands",
        arguments: [
            #"{"a":1 x}"#, #"{"abc":tru}"#, #"{"a":"5" tall"}"#, #"{"a":{"b":[1,"#, #"{"a":[1 2]}"#,
            #"{"a\u0062c":1 x}"#, "x", "",
        ])
    func failed(text: String) {
        let bytes = Array(text.utf8)
        for size in [1, 3, 100] {
            var decoder = JSON.Decoder(options: JSON.DecodingOptions(), limits: Limits())
            var sink = JSON.Encoder(options: JSON.EncodingOptions())
            var hasFailed = false
            for start in stride(from: 0, to: bytes.count, by: size) where !hasFailed {
                let piece = Array(bytes[start..<min(start + size, bytes.count)])
                do throws(ConversionError) { _ = try decoder.feed(piece.span, into: &sink) } catch { hasFailed = true }
            }
            for _ in 0..<2 {
                do throws(ConversionError) {
                    try decoder.finish(into: &sink)
                    Issue.record("it ends")
                } catch {}
                guard hasFailed else { break }
                do throws(ConversionError) {
                    _ = try decoder.feed(bytes.span, into: &sink)
                    Issue.record("it goes on")
                } catch {}
            }
        }
    }

    @Test("lists in lists have their items' names, whatever is open around them")
    func lists() {
        let plan = ConversionPlan(inputs: [.json], output: .xml)
        let body = Array(#"{"r":{"a":{"b":[[1],[2,[3,[4]]],[[[5]]]],"c":[[6]]}}}"#.utf8)
        let xml =
            "<r><a><b><item>1</item></b><b><item>2</item><item><item>3</item><item><item>4</item></item></item></b>"
            + "<b><item><item><item>5</item></item></item></b><c><item>6</item></c></a></r>"
        for size in [1, 200] {
            let run = ConversionRun.run(plan, .every(size, of: body))
            #expect(run.result == "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n" + xml)
        }
    }
}
