import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct PropertyListLimitTests {
    /// The failure of a body that must be the same however it is cut.
    private func failure(_ content: String, _ limits: Limits) -> ConversionError? {
        let body = plistXML(content)
        let whole = recordPlist(body, limits: limits)
        for cut in Recut.cuts(of: body, splits: 60) { #expect(recordPlist(cut, limits: limits) == whole, "\(cut)") }
        return whole.failure
    }

    private let head = "<plist version=\"1.0\">".utf8.count

    @Test func `containers nest up to limits.depth`() {
        var limits = Limits()
        for depth in [0, 1, 3, 128] {
            limits.depth = depth
            for (count, isTaken) in [(depth - 1, true), (depth, true), (depth + 1, false)] where count > 0 {
                let arrays =
                    String(repeating: "<array>", count: count) + String(repeating: "</array>", count: count)
                let error = failure(arrays, limits)
                #expect((error == nil) == isTaken)
                guard !isTaken else { continue }
                let expected = ConversionError.limit(
                    "depth", of: depth, what: "the nesting of the document", offset: head + 7 * depth)
                #expect(error == expected.at(pointer: depth == 0 ? nil : String(repeating: "/0", count: depth)))
            }
            #expect((failure("<array/>", limits) == nil) == (depth > 0))
        }
    }

    @Test func `a key has at most limits.key bytes after its references are read`() {
        var limits = Limits()
        limits.key = 20
        for (count, isTaken) in [(19, true), (20, true), (21, false)] {
            for key in [
                String(repeating: "k", count: count), "&lt;" + String(repeating: "k", count: count - 1),
                String(repeating: "k", count: count - 2) + "é", String(repeating: "k", count: count - 2) + "&#xe9;",
                String(repeating: "k", count: count - 1) + "<![CDATA[]]]>",
            ] {
                let error = failure("<dict><key>\(key)</key><true/></dict>", limits)
                #expect((error == nil) == isTaken, "\(key)")
                #expect(isTaken || error?.code == "limit_key", "\(key)")
            }
        }
        let error = failure("<dict><key>\(String(repeating: "k", count: 30))</key><true/></dict>", limits)
        #expect(error?.offset == head + 11 + 20)
    }

    @Test func `a number has at most limits.number bytes`() {
        var limits = Limits()
        limits.number = 8
        for (count, isTaken) in [(7, true), (8, true), (9, false)] {
            for element in ["integer", "real"] {
                let error = failure("<\(element)>\(String(repeating: "1", count: count))</\(element)>", limits)
                #expect((error == nil) == isTaken)
                #expect(isTaken || error?.code == "limit_number")
            }
        }
    }

    @Test func `data has at most limits.tree bytes`() {
        var limits = Limits()
        for tree in [30, 31, 32] {
            limits.tree = tree
            for (count, isTaken) in [(tree - 1, true), (tree, true), (tree + 1, false), (tree + 3, false)] {
                let bytes = [UInt8](repeating: 0, count: count)
                var encoder = PropertyList.Encoder(limits: Limits())
                #expect(throws: Never.self) {
                    try encoder.data(bytes.span)
                    try encoder.finish()
                }
                let body = encoder.output.span.copied()
                let whole = recordPlist(body, limits: limits)
                #expect((whole.failure == nil) == isTaken)
                #expect(isTaken || whole.failure?.code == "limit_tree")
                for cut in Recut.cuts(of: body) { #expect(recordPlist(cut, limits: limits) == whole) }
            }
        }
    }

    @Test func `names held against repeated members are bounded by limits.tree`() {
        // Each of these names counts 2 bytes and 16.
        let content = """
            <dict><key>aa</key><true/><key>bb</key><dict><key>cc</key><true/></dict><key>dd</key><true/></dict>
            """
        var limits = Limits()
        for (tree, isTaken) in [(53, false), (54, true), (55, true)] {
            limits.tree = tree
            let error = failure(content, limits)
            #expect((error == nil) == isTaken)
            if !isTaken { #expect(error?.code == "limit_tree" && error?.field == "/bb/cc") }
        }
    }

    @Test func `strings, comments and instructions have no limit of their own and aren't held`() {
        var limits = Limits()
        limits.tree = 10
        limits.key = 5
        let long = String(repeating: "long ", count: 10_000)
        for content in ["<string>\(long)</string>", "<!--\(long)--><true/>", "<?x \(long)?><true/>"] {
            #expect(recordPlist(plistXML(content), limits: limits).failure == nil)
        }
    }

    @Test func `a document of many levels grows with them, and not with their square`() throws {
        var options = DocumentOptions()
        options.limits.depth = .max
        let sizes = try [500, 1000, 1500].map { levels in
            let value = (1..<levels).reduce([] as Value) { value, _ in [value] }
            return try value.encoded(as: .propertyList, options: options).count
        }
        #expect(sizes[2] - sizes[1] == sizes[1] - sizes[0])
    }
}
