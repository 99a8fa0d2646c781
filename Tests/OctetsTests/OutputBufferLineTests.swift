import Octets
import Testing

@Suite("Lines of heads")
struct OutputBufferLineTests {
    @Test("a line is its name, a colon, a space, its value and CRLF", arguments: 0...40)
    func lines(count: Int) {
        let value = (0..<count).map { UInt8(truncatingIfNeeded: 0x61 + $0 % 26) }
        var output = OutputBuffer()
        output.append(line: "X", value.span)
        output.append(line: "X-Forwarded-Host", value.span)
        output.append("[", value.span, "]\r\n")
        output.append("", value.span, "")
        let text = String(decoding: value, as: UTF8.self)
        #expect(output.span.lossyString() == "X: \(text)\r\nX-Forwarded-Host: \(text)\r\n[\(text)]\r\n\(text)")
    }

    @Test("numbers have their digits", arguments: [0, 9, 10, 99, 100, 65_535, Int.max, -1, Int.min])
    func numbers(value: Int) {
        var output = OutputBuffer()
        output.append(line: "Content-Length", decimal: value)
        output.append(decimal: value)
        if value >= 0 { output.append(hexadecimal: value) }
        let hexadecimal = value >= 0 ? String(value, radix: 16) : ""
        #expect(output.span.lossyString() == "Content-Length: \(value)\r\n\(value)\(hexadecimal)")
    }
}
