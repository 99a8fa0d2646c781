package import Octets

extension JSON {
    /// How a compact JSON text is laid out for readers, and for servers that want slashes escaped.
    package struct Layout {
        /// Whether each member and element stands on a line of its own, as Apple's `JSONSerialization` prints: two spaces a level,
        /// ` : ` behind a name, and an empty line in an empty container.
        package var isPretty = false
        /// Whether `/` is written as `\/` (RFC 8259 §7), as AFNetworking's serializer does.
        package var escapesSlashes = false

        /// The text as it is.
        package init() {}

        /// Lays out `text`, which is one that `JSON.Encoder` wrote: valid and without white space between its tokens.
        package func applied(to text: Span<UInt8>) -> OutputBuffer {
            var output = OutputBuffer()
            var level = 0
            var isInText = false
            var at = 0
            func breakLine() {
                output.append("\n")
                for _ in 0..<level { output.append("  ") }
            }
            while at < text.count {
                let byte = text[at]
                at += 1
                if isInText {
                    if byte == UInt8(ascii: "/"), escapesSlashes { output.append(UInt8(ascii: "\\")) }
                    output.append(byte)
                    if byte == UInt8(ascii: "\\") {
                        // The escaped byte is no end of the text.
                        output.append(text[at])
                        at += 1
                    }
                    isInText = byte != UInt8(ascii: "\"")
                    continue
                }
                switch byte {
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    output.append(byte)
                    guard isPretty else { continue }
                    level += 1
                    let isEmpty = text[at] == UInt8(ascii: "}") || text[at] == UInt8(ascii: "]")
                    if isEmpty { output.append("\n") } else { breakLine() }
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    if isPretty {
                        level -= 1
                        breakLine()
                    }
                    output.append(byte)
                case UInt8(ascii: ","):
                    output.append(byte)
                    if isPretty { breakLine() }
                case UInt8(ascii: ":"):
                    if isPretty { output.append(" : ") } else { output.append(byte) }
                default:
                    output.append(byte)
                    isInText = byte == UInt8(ascii: "\"")
                }
            }
            return output
        }
    }
}
