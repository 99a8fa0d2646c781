import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Content that stays in the input on its way from multipart to multipart.
@Suite struct ContentPassingTests {
    private static let plan = ConversionPlan(inputs: [.multipart], output: .multipart)

    /// Bytes that look like the start of a delimiter here and there.
    private static func noise(_ count: Int) -> String {
        var text = ""
        var number = 1
        while text.utf8.count < count {
            number = number &* 48_271 % 2_147_483_647
            text += number % 7 == 0 ? "\r\n--" : number % 5 == 0 ? "\r\n" : String(number)
        }
        return String(decoding: text.utf8.prefix(count), as: UTF8.self)
    }

    /// Runs `body` with content left in the input, and checks that nothing else differs from copying it.
    private func run(_ cut: Cut, by plan: ConversionPlan = plan) -> ConversionRun {
        let copied = ConversionRun.run(plan, cut)
        var run = ConversionRun.run(plan, cut, passes: true)
        let passed = run.passed
        run.passed = []
        #expect(run == copied, "\(cut)")
        #expect(run.violations.isEmpty)
        run.passed = passed
        return run
    }

    @Test(arguments: [(-1, 0), (0, 1), (1, 1)])
    func `a piece is left in the input from 16 KiB on`(over: Int, expected: Int) {
        let content = String(repeating: "x", count: 16 << 10 + over)
        let head = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\n"
        let cut = Cut(name: "at \(over)", slices: [Array((head + content).utf8), Array("y\r\n--b--\r\n".utf8)])
        #expect(run(cut).passed == Array(repeating: 16 << 10 + over, count: expected))
    }

    @Test func `what ends in the same slice is copied, and what goes on is not`() {
        let body = Array(multipart("a=1", "f:n=" + Self.noise(70_000), "b=2", "g:m=" + Self.noise(40_000)).utf8)
        #expect(run(.whole(body)).passed.isEmpty)
        let halves = Cut(name: "in two", slices: [Array(body[..<40_000]), Array(body[40_000...])])
        #expect(run(halves).passed.count == 1)
        #expect(run(.every(20_000, of: body)).passed.count == 4)
    }

    @Test func `however a body is cut, the same comes out`() {
        let body = Array(
            multipart(
                "t=" + Self.noise(20_000), "f:n=" + Self.noise(90_000), "e=", "g:m:text/plain=" + Self.noise(33_000)
            ).utf8)
        var passed = 0
        for size in stride(from: 16_300, through: 17_300, by: triesTenth ? 211 : 41) {
            passed += run(.every(size, of: body)).passed.count
        }
        for end in stride(from: 17_000, to: body.count, by: triesTenth ? 9_973 : 2_503) {
            let cut = Cut(name: "cut at \(end)", slices: [Array(body[..<end]), Array(body[end...])])
            passed += run(cut.withEmptySlices).passed.count
        }
        #expect(passed > (triesTenth ? 10 : 60))
    }

    @Test func `a delimiter that begins in what was read is not part of what is passed`() {
        let head = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\n\r\n"
        let content = Self.noise(30_000) + "."
        for rest in ["\r\n--b--\r\n", "\r\n--c\r\n--b--\r\n"] {
            for end in 1..<rest.utf8.count {
                let first = Array((head + content + rest).utf8.dropLast(rest.utf8.count - end))
                let cut = Cut(name: "\(end) bytes of \(rest)", slices: [first, Array(rest.utf8.dropFirst(end))])
                let passed = run(cut).passed
                #expect(passed.isEmpty || passed == [30_001] || (rest.contains("c") && passed[0] > 30_001))
                if end < 4 { #expect(passed == [30_001]) }
            }
        }
    }

    @Test func `names are mapped, and parts removed and set, beside it`() throws {
        var plan = Self.plan
        plan.map.rename = [.init(from: path("f"), to: path("h"))]
        plan.map.remove = [path("g")]
        plan.map.set = [.init(path: path("s"), value: .literal(.string("x")))]
        let body = Array(multipart("f:n=" + Self.noise(50_000), "g:m=" + Self.noise(50_000), "f:o=1").utf8)
        let run = run(.every(20_000, of: body), by: plan)
        #expect(run.passed.count == 2)
        #expect(run.result.contains("name=\"h\"; filename=\"n\"") && !run.result.contains("name=\"g\""))
    }

    @Test func `content that is decoded, repaired or in a part of a part comes out as without it`() {
        let base64 = String(repeating: "QUJD", count: 10_000)
        let encoded =
            "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"n\"\r\nContent-Transfer-Encoding: base64\r\n\r\n"
            + base64 + "\r\n--b--\r\n"
        var decoding = Self.plan
        decoding.fieldDecoding.transferEncoding = .decode
        #expect(run(.every(30_000, of: Array(encoded.utf8)), by: decoding).passed.isEmpty)

        var repairing = Self.plan
        repairing.fieldDecoding.invalidUTF8 = .replace
        let text = Array(multipart("a=" + String(repeating: "x", count: 40_000)).utf8)
        _ = run(.every(30_000, of: text), by: repairing)

        var flattening = Self.plan
        flattening.fieldDecoding.mixed = .flatten
        let inner =
            "--c\r\nContent-Disposition: file; filename=\"1\"\r\n\r\n" + Self.noise(40_000)
            + "\r\n--c\r\nContent-Disposition: file; filename=\"2\"\r\n\r\n" + Self.noise(40_000) + "\r\n--c--"
        let outer =
            "--b\r\nContent-Disposition: form-data; name=\"f\"\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n"
            + inner + "\r\n--b\r\nContent-Disposition: form-data; name=\"z\"\r\n\r\n1\r\n--b--\r\n"
        for size in [20_000, 30_000, 45_000, 100_000] {
            let run = run(.every(size, of: Array(outer.utf8)), by: flattening)
            #expect(run.failure == nil && run.accounting.files == 2)
        }
    }

    @Test func `an error is told as without it, and again`() {
        var plan = Self.plan
        plan.limits.body = 50_000
        let body = Array(multipart("f:n=" + Self.noise(60_000)).utf8)
        #expect(run(.every(20_000, of: body), by: plan).failure?.code == "limit_body")
        let cutOff = Cut(name: "cut off", slices: [Array(body[..<40_000])])
        #expect(run(cutOff).failure?.code == "multipart_truncated")
    }

    @Test func `other conversions leave nothing in the input`() {
        let body = Array(multipart("f:n=" + Self.noise(60_000)).utf8)
        var toJSON = ConversionPlan(inputs: [.multipart], output: .json)
        toJSON.fieldDecoding.files = .base64
        #expect(run(.every(30_000, of: body), by: toJSON).passed.isEmpty)
    }
}
