internal import Octets

extension Benchmark {
    static func octets() -> [Benchmark] {
        let size = 1024 * 1024
        return [
            Benchmark(name: "base64 encode") {
                let bytes = Documents.noise(size)
                var output = OutputBuffer()
                return (
                    bytes.count,
                    {
                        output.removeAll()
                        var encoder = Base64Encoder()
                        encoder.encode(bytes.span, into: &output)
                        encoder.finish(into: &output)
                        return output.count
                    }
                )
            },
            Benchmark(name: "base64 decode") {
                var text = OutputBuffer()
                var encoder = Base64Encoder()
                encoder.encode(Documents.noise(size).span, into: &text)
                encoder.finish(into: &text)
                let bytes = text.span.copied()
                var output = OutputBuffer()
                return (
                    bytes.count,
                    {
                        output.removeAll()
                        var decoder = Base64Decoder()
                        guard decoder.decode(bytes.span, into: &output) == nil, decoder.finish() else {
                            fail("the text is not base64")
                        }
                        return output.count
                    }
                )
            },
            validation("UTF-8 validation, ASCII", Documents.repeating("Some text that a person wrote. ", size)),
            validation("UTF-8 validation, CJK", Documents.repeating("\u{65E5}\u{672C}\u{8A9E}\u{3067}", 12 * 87_381)),
            validation(
                "UTF-8 validation, mixed",
                Documents.repeating("Gr\u{FC}\u{DF}e aus M\u{FC}nchen \u{1F44B}, ", 29 * 36_157)),
        ]
    }

    private static func validation(_ name: String, _ bytes: @autoclosure @escaping () -> [UInt8]) -> Benchmark {
        Benchmark(name: name) {
            let bytes = bytes()
            return (
                bytes.count,
                {
                    guard UTF8Validator.isValid(bytes.span) else { fail("the text is not UTF-8") }
                    return 1
                }
            )
        }
    }
}
