/// Places in a document as RFC 6901 writes them.
package enum JSONPointer {
    /// Appends `/` and the name of a member, escaped as §3 says.
    package static func append(_ name: Span<UInt8>, to tokens: inout [UInt8]) {
        tokens.append(UInt8(ascii: "/"))
        for index in name.indices {
            switch name[index] {
            case UInt8(ascii: "~"): tokens.append(contentsOf: "~0".utf8)
            case UInt8(ascii: "/"): tokens.append(contentsOf: "~1".utf8)
            case let byte: tokens.append(byte)
            }
        }
    }
}
