import Octets
import Testing

@testable import HTTPWire

/// Trailers that come as fields keep the rules and limits of those that a parser reads.
@Suite("Trailers from fields")
struct TrailerLineTests {
    private func add(_ name: String, _ value: String, to trailers: inout TrailerLines, _ limits: WireLimits) -> String?
    {
        do {
            try trailers.add(Array(name.utf8).span, Array(value.utf8).span, limits: limits)
            return nil
        } catch {
            return "\(error.code)"
        }
    }

    @Test("those that were asked for are written, letters in either case")
    func written() {
        var trailers = TrailerLines()
        #expect(trailers.isEmpty)
        for (name, value) in [("x-sum", "7"), ("other", "1"), ("X-Sum", " 8 ")] {
            #expect(add(name, value, to: &trailers, WireLimits()) == nil)
        }
        var output = OutputBuffer()
        trailers.write(named: [Array("X-SUM".utf8)], into: &output)
        #expect(output.span.copied() == Array("x-sum: 7\r\nX-Sum: 8\r\n".utf8))
    }

    @Test("no name or value may start a line of its own")
    func bytes() {
        for (name, value) in [("", "a"), ("x y", "a"), ("x:", "a"), ("x", "a\r\nb: c"), ("x", "\0"), ("x\n", "a")] {
            var trailers = TrailerLines()
            #expect(add(name, value, to: &trailers, WireLimits()) == "http_bad_trailer")
            #expect(trailers.isEmpty)
        }
    }

    @Test("their number and their bytes are bounded")
    func limits() {
        var limits = WireLimits()
        limits.trailerCount = 3
        var trailers = TrailerLines()
        for number in 0..<4 {
            #expect(add("x", "\(number)", to: &trailers, limits) == (number < 3 ? nil : "http_too_many_trailers"))
        }
        limits = WireLimits()
        limits.trailerBytes = 10
        for (value, code) in [("1234", nil), ("12345", nil), ("123456", "http_trailers_too_large")] {
            var trailers = TrailerLines()
            #expect(add("x", value, to: &trailers, limits) == code)
        }
    }
}
