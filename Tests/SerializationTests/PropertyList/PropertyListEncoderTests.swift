import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite struct PropertyListEncoderTests {
    private func text(
        _ json: String, _ change: (inout PropertyList.EncodingOptions) -> Void = { _ in }
    ) throws(ConversionError) -> String {
        String(decoding: try encodePlist(json: json, .init(.xml, change)), as: UTF8.self)
    }

    static let header = """
        <?xml version="1.0" encoding="UTF-8"?>
        <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
        <plist version="1.0">

        """

    @Test func `every kind of value has its element, in the order it came`() throws {
        let json = #"""
            {"z":"a","i":1,"n":-5,"r":1.5,"t":true,"f":false,"e":"","d":{"k":[]},"o":{},"l":[1,[2,[]],{"x":"y"}]}
            """#
        let expected =
            Self.header + """
                <dict>
                \t<key>z</key>
                \t<string>a</string>
                \t<key>i</key>
                \t<integer>1</integer>
                \t<key>n</key>
                \t<integer>-5</integer>
                \t<key>r</key>
                \t<real>1.5</real>
                \t<key>t</key>
                \t<true/>
                \t<key>f</key>
                \t<false/>
                \t<key>e</key>
                \t<string></string>
                \t<key>d</key>
                \t<dict>
                \t\t<key>k</key>
                \t\t<array/>
                \t</dict>
                \t<key>o</key>
                \t<dict/>
                \t<key>l</key>
                \t<array>
                \t\t<integer>1</integer>
                \t\t<array>
                \t\t\t<integer>2</integer>
                \t\t\t<array/>
                \t\t</array>
                \t\t<dict>
                \t\t\t<key>x</key>
                \t\t\t<string>y</string>
                \t\t</dict>
                \t</array>
                </dict>
                </plist>

                """
        #expect(try text(json) == expected)
    }

    static let scalars: [(json: String, element: String)] = [
        ("0", "<integer>0</integer>"),
        ("-0", "<integer>-0</integer>"),
        ("18446744073709551615", "<integer>18446744073709551615</integer>"),
        ("-9223372036854775808", "<integer>-9223372036854775808</integer>"),
        ("9007199254740993", "<integer>9007199254740993</integer>"),
        ("1.0", "<real>1.0</real>"),
        ("1.10", "<real>1.10</real>"),
        ("0.1", "<real>0.1</real>"),
        ("-0.0", "<real>-0.0</real>"),
        ("1e2", "<real>1e2</real>"),
        ("1E+2", "<real>1E+2</real>"),
        ("1e-400", "<real>1e-400</real>"),
        ("3.14159265358979323846", "<real>3.14159265358979323846</real>"),
        ("\"\"", "<string></string>"),
        ("\"a<b>&c\\\"'\"", "<string>a&lt;b&gt;&amp;c\"'</string>"),
        ("\"\\t\\n\\r\\n\"", "<string>\t\n&#13;\n</string>"),
        ("\"é漢😀\\u007f\\u2028\\ufffd\\uffef\"", "<string>é漢😀\u{7F}\u{2028}\u{FFFD}\u{FFEF}</string>"),
        ("true", "<true/>"),
        ("[]", "<array/>"),
        ("{}", "<dict/>"),
    ]

    @Test(arguments: scalars)
    func `a root is any value, and text and numbers keep what they are`(_ row: (json: String, element: String)) throws {
        let whole = try text(row.json)
        #expect(whole == Self.header + row.element + "\n</plist>\n")
        // Both formats give the value back.
        #expect(try jsonText(Array(whole.utf8)) == (try reencodedJSON(row.json)))
    }

    /// What a JSON text is when it is written by our encoder, as plist text is.
    private func reencodedJSON(_ json: String) throws(ConversionError) -> String {
        var decoder = JSON.Decoder(options: .init(), limits: Limits())
        var encoder = JSON.Encoder(options: .init())
        _ = try decoder.feed(Array(json.utf8).span, into: &encoder)
        try decoder.finish(into: &encoder)
        return String(decoding: encoder.output.span.copied(), as: UTF8.self)
    }

    @Test(arguments: PropertyList.Format.allCases)
    func `a null is refused, left out or made an empty string`(_ format: PropertyList.Format) throws {
        func json(_ text: String, _ nulls: NullStyle) throws(ConversionError) -> String {
            try jsonText(try encodePlist(json: text, .init(format) { $0.nulls = nulls }))
        }
        for style in [NullStyle.reject, .key, .literal] {
            #expect(throws: ConversionError(plistFault: .null, field: "/a/1/b")) {
                try json(#"{"a":[1,{"b":null}]}"#, style)
            }
            // `omit` would not mend these, so the error must not name it.
            #expect(throws: ConversionError(plistFault: .nullElement, field: "/a/1")) {
                try json(#"{"a":[1,null]}"#, style)
            }
            #expect(throws: ConversionError(plistFault: .nullElement)) { try json("null", style) }
        }
        #expect(try json(#"{"a":null,"b":[{"c":null}],"d":1}"#, .omit) == #"{"b":[{}],"d":1}"#)
        #expect(try json(#"{"a":null}"#, .omit) == "{}")
        #expect(throws: ConversionError(plistFault: .nullElement, field: "/a/1")) {
            try json(#"{"a":[1,null]}"#, .omit)
        }
        #expect(throws: ConversionError(plistFault: .nullElement)) { try json("null", .omit) }
        #expect(try json(#"{"a":null,"b":[null]}"#, .empty) == #"{"a":"","b":[""]}"#)
        #expect(try json("null", .empty) == "\"\"")
    }

    @Test func `a member that is left out leaves no trace in XML`() throws {
        #expect(try text(#"{"a":null}"#) { $0.nulls = .omit } == Self.header + "<dict/>\n</plist>\n")
    }

    @Test(arguments: PropertyList.Format.allCases)
    func `an integer beyond 64 bits is refused, or made a real or a string`(_ format: PropertyList.Format) throws {
        func json(_ text: String, _ style: PropertyList.LargeIntegers) throws(ConversionError) -> String {
            try jsonText(try encodePlist(json: text, .init(format) { $0.largeIntegers = style }))
        }
        for number in ["18446744073709551616", "-9223372036854775809", "1000000000000000000000"] {
            #expect(throws: ConversionError(plistFault: .largeInteger, field: "/a")) {
                try json("{\"a\":\(number)}", .reject)
            }
            #expect(try json(number, .string) == "\"\(number)\"")
        }
        let real = format == .xml ? "1000000000000000000000.0" : "1e+21"
        #expect(try json("1000000000000000000000", .real) == real)
        for number in ["1e400", "-1e400"] {
            for style in [PropertyList.LargeIntegers.reject, .real] {
                #expect(throws: ConversionError(plistFault: .largeReal)) { try json(number, style) }
            }
            #expect(try json(number, .string) == "\"\(number)\"")
        }
        let huge = "1" + String(repeating: "0", count: 400)
        #expect(throws: ConversionError(plistFault: .largeReal)) { try json(huge, .real) }
    }

    static let unwritable: [(json: String, field: String?)] = [
        ("\"a\\u0000\"", nil), ("\"\\u0001\"", nil), ("\"\\u001f\"", nil), ("\"\\ufffe\"", nil),
        ("[\"\\uffff\"]", "/0"), ("{\"a\\u0008\":1}", "/a\u{8}"), ("{\"é\\ufffe\":1}", "/é\u{FFFE}"),
    ]

    @Test(arguments: unwritable)
    func `a character that XML doesn't have is refused there and written in binary`(
        _ row: (json: String, field: String?)
    ) throws {
        #expect(throws: ConversionError(plistFault: .unwritableCharacter, field: row.field)) { try text(row.json) }
        let binary = try encodePlist(json: row.json, .init(.binary))
        #expect(recordPlist(binary).failure == nil)
    }

    @Test func `a character that XML doesn't have is found where pieces cut it`() throws {
        let bytes = Array("é\u{FFFE}".utf8)
        for middle in 0...bytes.count {
            var encoder = PropertyList.Encoder(limits: Limits())
            #expect(throws: ConversionError(plistFault: .unwritableCharacter)) {
                try encoder.string(bytes.span.extracting(0..<middle), isLast: false)
                try encoder.string(bytes.span.extracting(middle..<bytes.count), isLast: true)
            }
        }
    }

    @Test(arguments: 0..<12)
    func `bytes are wrapped as Foundation wraps them, however they come`(_ depth: Int) throws {
        for count in [0, 1, 2, 3, 8, 9, 10, 56, 57, 58, 114, 300] {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 7 + depth) }
            var whole = PropertyList.Encoder(limits: Limits())
            for _ in 0..<depth { try whole.beginArray() }
            try whole.data(bytes.span)
            for _ in 0..<depth { try whole.endArray() }
            try whole.finish()
            #expect(whole.output.span.copied() == foundationXML(bytes, depth: depth))
            // A file is the same data, in pieces.
            var pieces = PropertyList.Encoder(limits: Limits())
            for _ in 0..<depth { try pieces.beginArray() }
            try pieces.beginFile(PartHead())
            for cut in Cut.every(5, of: bytes).slices { try pieces.fileContent(cut.span, isLast: false) }
            try pieces.fileContent(Span(), isLast: true)
            for _ in 0..<depth { try pieces.endArray() }
            try pieces.finish()
            #expect(pieces.output.span.copied() == whole.output.span.copied())
        }
    }

    @Test(arguments: PropertyList.Format.allCases)
    func `a file becomes bytes, or a dictionary with its name and type`(_ format: PropertyList.Format) throws {
        func encoded(_ files: FilePolicy) throws(ConversionError) -> [UInt8] {
            var encoder = PropertyList.Encoder(options: .init(format) { $0.files = files }, limits: Limits())
            try encoder.beginObject()
            encoder.key(Array("f".utf8).span)
            var head = PartHead(name: Array("f".utf8).span)
            head.setFilename(Array("a&b.txt".utf8).span)
            head.setMediaType(Array("text/plain".utf8).span)
            try encoder.beginFile(head)
            try encoder.fileContent([1, 2].span, isLast: false)
            try encoder.fileContent([3].span, isLast: true)
            encoder.key(Array("g".utf8).span)
            try encoder.bool(true)
            try encoder.endObject()
            try encoder.finish()
            return encoder.output.span.copied()
        }
        #expect(try jsonText(try encoded(.base64)) == #"{"f":"AQID","g":true}"#)
        #expect(
            try jsonText(try encoded(.object))
                == #"{"f":{"filename":"a&b.txt","content_type":"text/plain","data":"AQID"},"g":true}"#)
        for policy in [FilePolicy.stream, .drop, .reject] {
            #expect(throws: ConversionError(plistFault: .file, field: "f")) { try encoded(policy) }
        }
    }

    @Test(arguments: PropertyList.Format.allCases)
    func `an encoder can be used again, also after an error`(_ format: PropertyList.Format) throws {
        var encoder = PropertyList.Encoder(options: .init(format), limits: Limits())
        for json in ["{\"a\":[1,\"x\"]}", "[[null]]", "\"s\"", "{\"a\":{\"b\":null}}", "[true]"] {
            var decoder = JSON.Decoder(options: .init(), limits: Limits())
            var failure: ConversionError?
            do throws(ConversionError) {
                _ = try decoder.feed(Array(json.utf8).span, into: &encoder)
                try decoder.finish(into: &encoder)
                try encoder.finish()
            } catch {
                failure = error
            }
            if let failure {
                #expect(throws: failure) { try encodePlist(json: json, .init(format)) }
            } else {
                #expect(encoder.output.span.copied() == (try encodePlist(json: json, .init(format))))
            }
            encoder.reset()
        }
    }

    @Test(arguments: [1, 2, 30, 63, 64, 65, 130, 300, 20_000])
    func `equal scalars and names are one object, of however many`(_ count: Int) throws {
        // Each text stands twice, and so does each name; numbers have one, two and four bytes, and texts end as others begin.
        let texts = (0..<count).map { #"{"t":"text \#($0)","n":\#($0 * 37)}"# }
        let json = "[" + (texts + texts).joined(separator: ",") + "]"
        var limits = Limits()
        limits.tree = 64 << 20
        let binary = try encodePlist(json: json, .init(.binary), limits: limits)
        // The array, its dictionaries, two names, and each value once.
        let objects = 1 + 2 * count + 2 + 2 * count
        #expect(binary[(binary.count - 24)..<(binary.count - 16)].reduce(0) { $0 << 8 | Int($1) } == objects)
        #expect(try jsonText(binary, limits: limits) == json)
    }

    @Test func `a binary property list has at most limits.tree bytes in memory`() throws {
        var limits = Limits()
        // One object, one string below it: two nodes, a name of 2 bytes and a value of 5.
        let cost = 2 * Tree.nodeCost + 7
        for (tree, isTaken) in [(cost - 1, false), (cost, true), (cost + 1, true)] {
            limits.tree = tree
            if isTaken {
                _ = try encodePlist(json: #"{"ab":"cdefg"}"#, .init(.binary), limits: limits)
            } else {
                #expect(throws: ConversionError.self) {
                    try encodePlist(json: #"{"ab":"cdefg"}"#, .init(.binary), limits: limits)
                }
            }
        }
        // XML streams.
        _ = try encodePlist(json: #"{"ab":"cdefg"}"#, .init(.xml), limits: limits)
    }
}

extension ConversionError {
    /// The error that a codec of property lists throws for `fault`.
    init(plistFault fault: PropertyList.Fault, offset: Int? = nil, field: String? = nil) {
        self = fault.error(offset: offset, pointer: field)
    }
}
