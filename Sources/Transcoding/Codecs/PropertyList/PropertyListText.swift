internal import Octets

extension PropertyList {
    /// Writes base64 in lines as Apple's writer does, in pieces cut anywhere: at most eight tabs, and of 76 columns what
    /// eight for each tab leave.
    struct DataLines {
        private var encoder = Base64Encoder()
        private var tabs = 0
        /// Bytes that fill a line, and those of the line at hand that have come.
        private var lineBytes = 57
        private var count = 0

        init(depth: Int = 0) {
            tabs = Self.tabs(at: depth)
            lineBytes = Self.lineBytes(behind: tabs)
        }

        private static func tabs(at depth: Int) -> Int { min(depth, 8) }

        private static func lineBytes(behind tabs: Int) -> Int { (76 - 8 * tabs) / 4 * 3 }

        /// What tabs and line ends add, at most, to the base64 of `count` bytes: a twenty-fifth right below the root, as much again eight
        /// levels down.
        static func growth(of count: Int, depth: Int) -> Int {
            let tabs = tabs(at: depth)
            return (count / lineBytes(behind: tabs) + 1) * (tabs + 1)
        }

        mutating func append(_ bytes: Span<UInt8>, to output: inout OutputBuffer) {
            var at = 0
            while at < bytes.count {
                if count == 0 {
                    for _ in 0..<tabs { output.append(ASCII.tab) }
                }
                let end = min(bytes.count, at + lineBytes - count)
                encoder.encode(bytes.extracting(at..<end), into: &output)
                count += end - at
                at = end
                if count == lineBytes {
                    output.append(ASCII.lineFeed)
                    count = 0
                }
            }
        }

        mutating func finish(to output: inout OutputBuffer) {
            encoder.finish(into: &output)
            if count > 0 { output.append(ASCII.lineFeed) }
            count = 0
        }
    }
}
