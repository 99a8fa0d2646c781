import EventLoop
import Foundation
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
