package import Octets

extension JSON {
    /// How the text of a whole document is laid out, by the names that Foundation has for it.
    public struct WritingOptions: OptionSet, Hashable, Sendable {
        /// The options as bits.
        public let rawValue: Int
        /// The options of these bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// One member or element a line, indented by two spaces, as Apple's `JSONSerialization` and `JSONEncoder` print: ` : ` behind a
        /// name, and an empty line in an empty container.
        public static let prettyPrinted = WritingOptions(rawValue: 1)
        /// Members in the order of the bytes of their names.
        public static let sortedKeys = WritingOptions(rawValue: 2)
        /// `/` stands for itself. Without this option it is written `\/` (RFC 8259 §7), as Foundation, AFNetworking and Alamofire do.
        public static let withoutEscapingSlashes = WritingOptions(rawValue: 4)

        /// Lays out `text`, which is one that `JSON.Encoder` wrote: valid and without white space between its tokens.
        package func applied(to text: Span<UInt8>) -> OutputBuffer {
            let isPretty = contains(.prettyPrinted)
            let escapesSlashes = !contains(.withoutEscapingSlashes)
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
