import EventLoop
import Foundation
import Gateway
import HTTPWire
import Octets
import Testing

@testable import Proxy

/// How log lines are written: no value can end its quotes or its line.
@Suite struct LogTextTests {
    private func redacted(_ query: String, _ rule: LoggedQuery = .redact) -> String {
        var output = OutputBuffer()
        output.append(query: Array(query.utf8).span, rule)
        return output.span.lossyString()
    }

    @Test(
        "a redacted query shows names only",
        arguments: [
            ("", ""), ("a=1", "a=*"), ("a=", "a=*"), ("secret", "*"), ("a=1&b=2", "a=*&b=*"), ("a=b=c", "a=*"),
            ("&a=1&&b", "&a=*&&*"), ("=x", "=*"), ("a=1&", "a=*&"),
        ])
    func redaction(query: String, shown: String) {
        #expect(redacted(query) == shown)
        #expect(redacted(query, .keep) == query)
    }

    @Test(
        "the user of a combined line ends neither its place nor the line",
        arguments: [
            (nil, "-"), ("ada", "ada"), ("b x", "b\\x20x"), ("a\"]\\\n", "a\\x22]\\x5C\\x0A"), ("é", "\\xC3\\xA9"),
        ] as [(String?, String)])
    func combinedUser(user: String?, shown: String) {
        var line = CombinedLine(into: OutputBuffer())
        line.client(nil, user: user)
        let output = line.end()
        #expect(output.span.lossyString() == "- - \(shown) [\n")
    }

    private func shown(path: String, _ rule: LoggedQuery = .redact) -> String {
        var output = OutputBuffer()
        output.append(path: Array(path.utf8).span, rule)
        return output.span.lossyString()
    }

    @Test("values in a path that give access are a star each, whatever stands around them")
    func secretsInPaths() {
        func shown(_ path: String, _ secrets: [Range<Int>]) -> String {
            var output = OutputBuffer()
            output.append(path: Array(path.utf8).span, hiding: secrets, .redact)
            return output.span.lossyString()
        }
        #expect(shown("/in/s3cret", [4..<10]) == "/in/*")
        #expect(shown("/in/s3cret/b;c=1/t0ken", [4..<10, 17..<22]) == "/in/*/b;c=*/*")
        #expect(shown("/in/s3;x=1/b", [4..<10]) == "/in/*/b")
        #expect(shown("/in/b;c=1", []) == "/in/b;c=*")
        // What isn't there hides nothing.
        #expect(shown("/in", [3..<3]) == "/in")
        #expect(shown("/in", [4..<9]) == "/in")
        let hide = { (values: [String], target: String) in
            let bytes = PathParameters.hide(values.map { Array($0.utf8) }, in: Array(target.utf8))
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(hide(["s3cret"], "/up/s3cret/b?x=s3cret") == "/up/*/b?x=s3cret")
        #expect(hide(["s3cret"], "/up/v-s3cret") == "/up/*")
        #expect(hide(["up"], "/up/upper") == "/*/upper")
    }

    private func shown(reference: String, _ rule: LoggedQuery = .redact) -> String {
        var output = OutputBuffer()
        output.append(reference: Array(reference.utf8).span, rule)
        return output.span.lossyString()
    }

    @Test(
        "a path's parameters are redacted as a query's",
        arguments: [
            ("/a/b", "/a/b", "/a/b"), ("/a;jsessionid=SECRET", "/a;jsessionid=*", "/a"),
            ("/a;jsessionid=SECRET/b", "/a;jsessionid=*/b", "/a/b"), ("/a;SECRET/b;c=", "/a;*/b;c=*", "/a/b"),
            ("/a;x=1;y=2", "/a;x=*;y=*", "/a"), ("/a;", "/a;", "/a"), ("/;;/", "/;;/", "//"),
            ("/a%3Bsid=SECRET", "/a%3Bsid=*", "/a"), ("/a%3bsid%3DSECRET/%3", "/a%3b*/%3", "/a/%3"),
            ("/a;x=1%3By=2", "/a;x=*%3By=*", "/a"), ("/%3C;", "/%3C;", "/%3C"), ("", "", ""), ("*", "*", "*"),
        ])
    func paths(path: String, redacted: String, dropped: String) {
        #expect(shown(path: path) == redacted)
        #expect(shown(path: path, .drop) == dropped)
        #expect(shown(path: path, .keep) == path)
    }

    @Test(
        "the address of a page keeps no secret",
        arguments: [
            ("http://h/p", "http://h/p", "http://h/p"), ("http://h/p?t=SECRET", "http://h/p?t=*", "http://h/p"),
            ("http://u:SECRET@h:8/p;s=SECRET?q#SECRET", "http://*@h:8/p;s=*?*#*", "http://*@h:8/p"),
            ("https://h?t=SECRET@x", "https://h?t=*", "https://h"), ("/p;x=1?a=b", "/p;x=*?a=*", "/p"),
            ("//u@h", "//*@h", "//*@h"), ("", "", ""), ("#a", "#*", ""), ("about:blank", "about:blank", "about:blank"),
            ("http://a@SECRET@h/", "http://*@h/", "http://*@h/"),
        ])
    func references(reference: String, redacted: String, dropped: String) {
        #expect(shown(reference: reference) == redacted)
        #expect(shown(reference: reference, .drop) == dropped)
        #expect(shown(reference: reference, .keep) == reference)
    }

    @Test("each byte, and each character that terminals obey or that nobody sees, stands escaped in JSON")
    func escapes() throws {
        for byte in UInt8.min...UInt8.max {
            for text in [
                [byte], [0x61, byte, 0x62], [0xC2, byte], [0xE2, 0x80, byte], [0xE2, byte, 0xA8], [byte, 0xC2],
            ] {
                var line = LogLine(into: OutputBuffer())
                line.member("text", text: text.span)
                line.member(named: "cut", text: text.span, limit: 1)
                let bytes = line.end().span.copied()
                #expect(bytes.filter { $0 == 10 }.count == 1 && bytes.last == 10)
                let written = try #require(String(validating: bytes.dropLast(), as: UTF8.self))
                #expect(!written.unicodeScalars.contains { $0.properties.generalCategory == .control }, "\(text)")
                for scalar in written.unicodeScalars {
                    #expect(
                        ![0x2028, 0x2029, 0x202E, 0x2066, 0x200B, 0xFEFF, 0x061C].contains(scalar.value), "\(text)")
                }
                let object = try #require(JSONSerialization.jsonObject(with: Data(bytes)) as? [String: String])
                #expect(Array(object["text"]?.utf8 ?? "".utf8) == Array(String(decoding: text, as: UTF8.self).utf8))
            }
        }
    }

    @Test("what nobody sees is what Unicode's tables say of characters beyond ASCII")
    func unseen() {
        let categories: Set<Unicode.GeneralCategory> = [.control, .format, .lineSeparator, .paragraphSeparator]
        let planes: [ClosedRange<UInt32>] = [0x80...0x1FFFF, 0xDFFF0...0xE1FFF, 0x10FFF0...0x10FFFF]
        var others: [String] = []
        for plane in planes {
            for scalar in plane.compactMap({ Unicode.Scalar($0) }) {
                let properties = scalar.properties
                let isUnseen =
                    categories.contains(properties.generalCategory) || properties.isDefaultIgnorableCodePoint
                let bytes = Array(String(Character(scalar)).utf8)
                let found = LogText.unprintable(bytes.span, at: 0)
                let isRight = isUnseen ? found?.scalar == scalar.value && found?.count == bytes.count : found == nil
                if !isRight { others.append(String(scalar.value, radix: 16)) }
            }
        }
        #expect(others == [])
    }

    @Test(
        "how it is written in JSON",
        arguments: [
            ("a\u{AD}b", #"a\u00adb"#), ("\u{34F}", #"\u034f"#), ("\u{115F}\u{1160}", #"\u115f\u1160"#),
            ("\u{17B4}\u{17B5}", #"\u17b4\u17b5"#), ("\u{180B}\u{180E}\u{180F}", #"\u180b\u180e\u180f"#),
            ("\u{3164}", #"\u3164"#), ("\u{FFA0}", #"\uffa0"#), ("\u{FFF9}\u{FFFB}", #"\ufff9\ufffb"#),
            ("\u{2764}\u{FE0F}", "\u{2764}" + #"\ufe0f"#), ("\u{1F468}\u{200D}", "\u{1F468}" + #"\u200d"#),
            ("\u{1D173}", #"\ud834\udd73"#), ("\u{E0001}", #"\udb40\udc01"#), ("\u{E0FFF}", #"\udb43\udfff"#),
            ("\u{FC}\u{5B57}\u{E01}\u{1F600}", "\u{FC}\u{5B57}\u{E01}\u{1F600}"),
        ])
    func unseenInJSON(text: String, shown: String) throws {
        var line = LogLine(into: OutputBuffer())
        line.member("text", text: Array(text.utf8).span)
        let bytes = line.end().span.copied()
        #expect(String(decoding: bytes, as: UTF8.self) == "{\"text\":\"\(shown)\"}\n")
        let object = try JSONSerialization.jsonObject(with: Data(bytes)) as? [String: String]
        #expect(object?["text"] == text)
    }

    @Test(
        "a long value is cut between two characters, and that is marked",
        arguments: [
            ("abcd", 4, "abcd"), ("abcde", 4, "abcd…"), ("abc", 4, "abc"), ("abc\u{e9}", 4, "abc…"),
            ("ab\u{e9}c", 4, "ab\u{e9}…"), ("\u{1F600}x", 4, "\u{1F600}…"), ("\u{1F600}", 3, "…"),
            ("x\u{1F600}", 4, "x…"), ("", 0, ""), ("a", 0, "…"),
        ])
    func cuts(text: String, limit: Int, shown: String) throws {
        var line = LogLine(into: OutputBuffer())
        line.member("text", text: Array(text.utf8).span, limit: limit)
        let object = try JSONSerialization.jsonObject(with: Data(line.end().span.copied())) as? [String: String]
        #expect(object?["text"] == shown)
    }

    @Test("whatever a text holds, its line is one of JSON")
    func json() throws {
        let texts = ["", "plain", "a\"b\\c", "line\nfeed\r\t\u{0}\u{7F}", "\u{e9}\u{1F600}", "</script>"]
        for text in texts {
            var line = LogLine(into: OutputBuffer())
            line.member("text", text: text.utf8Span.span)
            line.member("number", number: -5)
            line.member("time", seconds: 1_234_567_890)
            line.member(named: "na\"me", text: Array("x".utf8).span)
            let output = line.end()
            let bytes = output.span.copied()
            #expect(bytes.last == 10 && bytes.filter { $0 == 10 }.count == 1)
            let object = try #require(JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
            #expect(object["text"] as? String == text)
            #expect(object["number"] as? Int == -5)
            #expect(object["time"] as? Double == 1.234567)
            #expect(object["na\"me"] as? String == "x")
        }
        var line = LogLine(into: OutputBuffer())
        line.member("text", text: ([0xFF, 0xC3, 0x22] as [UInt8]).span)
        let object = try JSONSerialization.jsonObject(with: Data(line.end().span.copied())) as? [String: String]
        #expect(object?["text"] == "\u{FFFD}\u{FFFD}\"")
    }

    @Test(
        "W3C Trace Context: which traceparent is valid",
        arguments: [
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-012", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", false),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", true),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x", false),
            ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
            ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
            ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false),
            ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
            ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
            ("00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false), ("", false),
        ])
    func traceparent(value: String, isValid: Bool) {
        #expect(TraceContext.isValid(Array(value.utf8).span) == isValid)
    }

    @Test("points in time")
    func time() {
        var time = LogTime()
        #expect(String(decoding: time.text(1_767_323_045_007), as: UTF8.self) == "2026-01-02T03:04:05.007Z")
        #expect(String(decoding: time.text(1_767_323_045_999), as: UTF8.self) == "2026-01-02T03:04:05.999Z")
        #expect(String(decoding: time.text(1_767_323_046_000), as: UTF8.self) == "2026-01-02T03:04:06.000Z")
        var output = OutputBuffer()
        time.appendCombined(1_767_323_045_007, to: &output)
        #expect(output.span.lossyString() == "02/Jan/2026:03:04:05 +0000")
    }

    @Test("each flag is documented")
    func flags() throws {
        let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let page = try String(contentsOf: root.appendingPathComponent("docs/access-log.md"), encoding: .utf8)
        let documented = Set(page.matches(of: /\| `([A-Z]{2})` \|/).map { String($0.1) })
        #expect(documented == Set(EndReason.allCases.map(\.rawValue)))
    }
}
