import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("Dialects of input: options, limits and pipelines")
struct FormDialectOptionTests {
    /// What a form becomes as JSON under a dialect, changed by `change`.
    private func read(
        _ dialect: Dialect, _ input: String, _ change: (inout ConversionPlan) -> Void = { _ in }
    ) -> String {
        convert(
            plan(.form, .json) {
                $0.fieldDecoding = .init(dialect: dialect)
                change(&$0)
            }, input)
    }

    // MARK: Options

    @Test("a dialect sets the options that say what it does, and nothing else")
    func bundles() {
        for dialect in Dialect.allCases {
            var options = FieldDecodingOptions()
            options.dialect = dialect
            switch dialect {
            case .recast, .alamofire, .qs: break
            case .afnetworking: options.nulls = .key
            case .php: options.duplicates = .last
            case .rack:
                options.arrays = .brackets
                options.duplicates = .last
                options.percent = .strict
                options.nulls = .key
            case .whatwg:
                options.nesting = .flat
                options.invalidUTF8 = .replace
            }
            #expect(FieldDecodingOptions(dialect: dialect) == options)
        }
    }

    @Test("a bare key is a null under nulls: key, and an empty value is not")
    func nulls() {
        #expect(read(.recast, "a&b=&c[]&d[e]") == #"{"a":"","b":"","c":[""],"d":{"e":""}}"#)
        #expect(
            read(.recast, "a&b=&c[]&d[e]") { $0.fieldDecoding.nulls = .key }
                == #"{"a":null,"b":"","c":[null],"d":{"e":null}}"#)
        #expect(read(.php, "a&b=") { $0.fieldDecoding.nulls = .key } == #"{"a":null,"b":""}"#)
        #expect(read(.rack, "a&b=") { $0.fieldDecoding.nulls = .empty } == #"{"a":"","b":""}"#)
    }

    @Test("AFNetworking's and Alamofire's bodies are read back into what they were made from")
    func clients() {
        let arrays = "a[][x]=1&a[][y]=2&a[][x]=3&b[]=4&b[]=5&c[d][e]=6"
        let document = #"{"a":[{"x":"1","y":"2"},{"x":"3"}],"b":["4","5"],"c":{"d":{"e":"6"}}"#
        #expect(read(.afnetworking, arrays + "&n") == document + #","n":null}"#)
        #expect(read(.alamofire, arrays + "&n") == document + #","n":""}"#)
        #expect(
            read(.alamofire, "a[0][x]=1&a[0][y]=2&a[1][x]=3&n=null")
                == #"{"a":[{"x":"1","y":"2"},{"x":"3"}],"n":"null"}"#)
        #expect(read(.alamofire, "a.b=1&a.c[]=2") { $0.fieldDecoding.nesting = .dots } == #"{"a":{"b":"1","c":["2"]}}"#)
        #expect(read(.afnetworking, "a=1&a[b]=2") == "!form_conflict a[b]")
    }

    @Test("duplicates decides about plain values; containers are overwritten or refused as the library does")
    func duplicates() {
        for dialect in [Dialect.php, .rack] {
            for (policy, result) in [
                (DuplicatePolicy.array, #"{"a":{"b":["1","2","3"]},"c":"x"}"#), (.first, #"{"a":{"b":"1"},"c":"x"}"#),
                (.last, #"{"a":{"b":"3"},"c":"x"}"#), (.reject, "!form_duplicate a[b]"),
            ] {
                #expect(read(dialect, "a[b]=1&c=x&a[b]=2&a[b]=3") { $0.fieldDecoding.duplicates = policy } == result)
            }
            #expect(read(dialect, "a[b]=1&a=2") { $0.fieldDecoding.duplicates = .array } == #"{"a":"2"}"#)
            #expect(read(dialect, "a[b]=1&a=2") { $0.fieldDecoding.duplicates = .reject } == "!form_conflict a")
        }
        #expect(read(.php, "a=1&a[b]=2") { $0.fieldDecoding.duplicates = .reject } == "!form_conflict a[b]")
        #expect(read(.php, "a=1&a=2&a[b]=3") { $0.fieldDecoding.duplicates = .array } == #"{"a":{"b":"3"}}"#)
        #expect(read(.qs, "a=1&a=2") { $0.fieldDecoding.duplicates = .reject } == "!form_duplicate a")
        #expect(read(.qs, "a[]=1&a[]=2") { $0.fieldDecoding.duplicates = .reject } == #"{"a":["1","2"]}"#)
    }

    @Test("the other options hold under a dialect too")
    func others() {
        // Numbers that make arrays, or stay keys; a push still makes an array.
        #expect(read(.rack, "a[1]=x&a[0]=y") { $0.fieldDecoding.arrays = .indices } == #"{"a":["y","x"]}"#)
        #expect(
            read(.php, "a[0]=x&b[]=y&b[]=z") { $0.fieldDecoding.arrays = .brackets }
                == #"{"a":{"0":"x"},"b":["y","z"]}"#)
        #expect(read(.php, "a=1,2&b=3") { $0.fieldDecoding.arrays = .comma } == #"{"a":["1","2"],"b":"3"}"#)
        #expect(read(.qs, #"a={"b":[1]}&a=2"#) { $0.fieldDecoding.arrays = .json } == #"{"a":[{"b":[1]},"2"]}"#)
        // JSON in a field is one value: nothing is put into it.
        #expect(read(.rack, #"a={"b":1}&a[c]=2"#) { $0.fieldDecoding.arrays = .json } == "!form_conflict a[c]")
        #expect(read(.php, #"a={"b":1}&a[c]=2"#) { $0.fieldDecoding.arrays = .json } == #"{"a":{"c":"2"}}"#)
        for dialect in [Dialect.php, .rack, .qs] {
            let typed = read(dialect, "a[b]=1&a[c]=x&a[d]=true") { $0.fieldDecoding.types = .safe }
            #expect(typed == #"{"a":{"b":1,"c":"x","d":true}}"#)
            #expect(
                read(dialect, "a[b]=1&a[b=2") { $0.fieldDecoding.malformedKey = .reject } == "!field_malformed_key a[b")
            #expect(
                read(dialect, "a[b].c=1&toString=2") { $0.fieldDecoding.nesting = .flat }
                    == #"{"a[b].c":"1","toString":"2"}"#)
            #expect(
                read(dialect, "a.b=1&a.c.d=2") { $0.fieldDecoding.nesting = .dots } == #"{"a":{"b":"1","c":{"d":"2"}}}"#
            )
        }
        #expect(read(.rack, "a=%zz") { $0.fieldDecoding.percent = .lenient } == #"{"a":"%zz"}"#)
        #expect(read(.qs, "a=%zz&b=1") { $0.fieldDecoding.percent = .strict } == "!form_percent a")
        #expect(read(.whatwg, "a=%FF") { $0.fieldDecoding.invalidUTF8 = .reject } == "!form_invalid_utf8 a")
    }

    @Test("qs leaves escapes that are not UTF-8 as they are; bytes that are not are refused or mended")
    func invalidUTF8() {
        let input = Array("a=%FF+x&b=".utf8) + [0xC3, 0x28]
        let refused = ConversionRun.run(plan(.form, .json) { $0.fieldDecoding = .init(dialect: .qs) }, .whole(input))
        #expect(refused.failure?.code == "form_invalid_utf8" && refused.failure?.offset == 8)
        #expect(refused.failure?.field == "b")
        for (policy, text) in [(InvalidUTF8Policy.replace, "\u{FFFD}"), (.latin1, "ÿ")] {
            let plan = plan(.form, .json) {
                $0.fieldDecoding = .init(dialect: .qs)
                $0.fieldDecoding.invalidUTF8 = policy
            }
            let other = policy == .replace ? "\u{FFFD}(" : "Ã("
            for cut in Recut.cuts(of: input) {
                #expect(ConversionRun.run(plan, cut).result == #"{"a":"\#(text) x","b":"\#(other)"}"#)
            }
        }
    }

    /// Names in brackets go to their places at once where they can, names with dots never do, and under `nesting: dots` both mean
    /// the same.
    @Test("qs puts names in brackets where it puts the same names with dots", arguments: 0..<40)
    func placesOfQS(seed: UInt64) {
        var numbers = SplitMix(state: seed)
        let segments = ["a", "b", "c", "0", "1", "2", "3", "19", "20", "21", "01", "-1", "9007199254740993"]
        for _ in 0..<tries(50) {
            var bracketed: [String] = [], dotted: [String] = []
            for number in 0..<(1 + numbers.below(12)) {
                let names = (0...numbers.below(4)).map { level in
                    segments[numbers.below(level == 0 ? 3 : numbers.below(2) == 0 ? 7 : segments.count)]
                }
                let value = numbers.below(8) == 0 ? "" : "=\(number)"
                let push = numbers.below(10) == 0 && names.count > 1 ? "[]" : ""
                bracketed.append(names[0] + names.dropFirst().map { "[\($0)]" }.joined() + push + value)
                dotted.append(names.joined(separator: ".") + push + value)
            }
            let change: @Sendable (inout ConversionPlan) -> Void = {
                [arrays = numbers.below(4), depth = numbers.below(4)] in
                $0.fieldDecoding.nesting = .dots
                $0.fieldDecoding.nulls = .key
                if arrays == 0 { $0.fieldDecoding.arrays = .brackets }
                if depth == 0 { $0.limits.keyDepth = 2 }
            }
            let found = read(.qs, bracketed.joined(separator: "&"), change)
            let wanted = read(.qs, dotted.joined(separator: "&"), change)
            #expect(found == wanted, "\(bracketed.joined(separator: "&"))")
        }
    }

    // MARK: Limits

    @Test("fields are counted as the library counts pairs, empty ones included where these count")
    func fieldLimit() {
        for dialect in Dialect.allCases {
            let counts = [Dialect.php, .qs, .rack].contains(dialect)
            for (input, count) in [("a=1&b=2&c=3", 3), ("a=1&&b=2", counts ? 3 : 2), ("&&a=1", counts ? 3 : 1)] {
                for limit in count - 1...count + 1 where limit > 0 {
                    let result = read(dialect, input) { $0.limits.fields = limit }
                    #expect((result == "!limit_fields") == (limit < count), "\(dialect) \(input) \(limit) \(result)")
                }
            }
            #expect(!read(dialect, "a=1&&&&&&&&") { $0.limits.fields = 1 }.hasPrefix("!"))
        }
    }

    @Test("names nest as deep as the library takes them, or as limits.key_depth says")
    func depthLimit() {
        func name(_ depth: Int) -> String { "a" + String(repeating: "[b]", count: depth) + "=1" }
        for (dialect, depth) in [(Dialect.php, 64), (.rack, 31), (.recast, 32), (.alamofire, 32)] {
            for given in depth - 1...depth + 1 {
                let result = read(dialect, name(given))
                #expect(result.hasPrefix("!limit_key_depth") == (given > depth), "\(dialect) \(given)")
            }
            for given in 1...3 {
                let result = read(dialect, name(given)) { $0.limits.keyDepth = 2 }
                #expect(result.hasPrefix("!limit_key_depth") == (given > 2), "\(dialect) \(given)")
            }
        }
        #expect(read(.qs, name(5)) == #"{"a":{"b":{"b":{"b":{"b":{"b":"1"}}}}}}"#)
        #expect(read(.qs, name(7)) == #"{"a":{"b":{"b":{"b":{"b":{"b":{"[b][b]":"1"}}}}}}}"#)
        #expect(read(.qs, name(2)) { $0.limits.keyDepth = 1 } == #"{"a":{"b":{"[b]":"1"}}}"#)
    }

    @Test("qs' pairs are bounded in their names, their values and as a whole")
    func pairLimits() {
        for (input, limit) in [("%61b%63=1", "key"), ("a=%31%32%33", "field")] {
            for value in 2...4 {
                let result = read(.qs, input) {
                    if limit == "key" { $0.limits.key = value } else { $0.limits.field = value }
                }
                #expect(result.hasPrefix("!limit_\(limit)") == (value < 3), "\(result)")
            }
        }
        let plan = plan(.form, .json) {
            $0.fieldDecoding = .init(dialect: .qs)
            $0.limits.key = 4
            $0.limits.field = 4
        }
        // Nothing of the pair is decoded before its end, so its bytes are bounded as they come.
        let endless = Array("a=".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 40)
        for cut in Recut.cuts(of: endless) {
            #expect(ConversionRun.run(plan, cut).failure?.code == "limit_field")
        }
    }

    // MARK: Pipelines

    @Test("multipart names are read as those of forms", arguments: [Dialect.php, .rack, .qs])
    func multipartNames(_ dialect: Dialect) {
        let names = ["a[b]", "c d.e", "f[]", "f[]", "g[0][x", "h[][x]", "h[][y]", "[z]", "a[b]"]
        let parts = names.enumerated().map { "\($1)=\($0)" }
        let body = parts.reduce("") { $0 + multipart($1).replacing("--b--\r\n", with: "") } + "--b--\r\n"
        let form = parts.map { $0.replacing(" ", with: "+") }.joined(separator: "&")
        let plan = plan(.multipart, .json) { $0.fieldDecoding = .init(dialect: dialect) }
        #expect(convert(plan, body) == read(dialect, form))
    }

    @Test("a file whose name the library has no place for is dropped and counted")
    func droppedFile() {
        let plan = plan(.multipart, .json) {
            $0.fieldDecoding = .init(dialect: .php)
            $0.fieldDecoding.files = .base64
        }
        let run = ConversionRun.run(plan, .whole(Array(multipart("[a]:x.txt=1", "b.c:y.txt=2", "d=3").utf8)))
        #expect(run.result == #"{"b_c":"Mg==","d":"3"}"# && run.accounting.removed == 1 && run.accounting.files == 2)
    }

    @Test("flat output gets the names as the input's library reads them; literal names pass as they came")
    func flatOutput() {
        for output in [BodyEncoding.form, .multipart] {
            func flat(_ dialect: Dialect, _ input: String) -> String {
                convert(plan(.form, output) { $0.fieldDecoding = .init(dialect: dialect) }, input)
            }
            let separator = output == .form ? "&" : "|"
            func pairs(_ pairs: String...) -> String { pairs.joined(separator: separator) }
            #expect(flat(.php, "a.b=1&c[b]x=2&c[b]=3&=4") == pairs("a_b=1", "c[b]=3"))
            #expect(flat(.rack, "a[b]=1&  c[]=2&a[b]=3") == pairs("a[b]=3", "c[]=2"))
            #expect(flat(.qs, "a=1&b=2&a=3") == pairs("a[]=1", "a[]=3", "b=2"))
            for dialect in [Dialect.recast, .afnetworking, .alamofire, .whatwg] {
                #expect(flat(dialect, "a[b]=1&b]=2&a[b]=3&=4") == pairs("a[b]=1", "b]=2", "a[b]=3", "=4"))
            }
        }
    }

    @Test("WHATWG's names are literal, and repeated ones an array in JSON")
    func whatwg() {
        #expect(read(.whatwg, "a[b]=1&a[b]=2&=3&a.b") == #"{"a[b]":["1","2"],"":"3","a.b":""}"#)
        #expect(read(.whatwg, "a=1&a=2") { $0.fieldDecoding.duplicates = .last } == #"{"a":"2"}"#)
    }

    @Test("another body of a conversion is read as the first one", arguments: Dialect.allCases)
    func restart(_ dialect: Dialect) throws {
        let type = Array("application/x-www-form-urlencoded".utf8)
        let plan = plan(.form, .json) { $0.fieldDecoding = .init(dialect: dialect) }
        let conversion = try Conversion.make(plan: plan, contentType: type.span)
        for input in ["&&a[]=1&a[5]=2&toString=3&", "a=1&b=2", "", "a[]=1&a[5]=2"] {
            let cut = Cut.whole(Array(input.utf8))
            #expect(ConversionRun.run(conversion, cut).result == ConversionRun.run(plan, cut).result)
            try conversion.restart(contentType: type.span, sources: [])
        }
    }

    // MARK: Nothing is lost in silence

    @Test("every field is in the output or counted as removed", arguments: [Dialect.php, .rack, .qs])
    func accounting(_ dialect: Dialect) {
        var random = SplitMix(state: 7)
        var documents = 0
        for _ in 0..<tries(4000) {
            let fields = (0...random.below(8)).map { "\(Self.name(&random))=\($0)x" }
            let plan = plan(.form, .json) { $0.fieldDecoding = .init(dialect: dialect) }
            let run = ConversionRun.run(plan, .whole(Array(fields.joined(separator: "&").utf8)))
            guard run.failure == nil else {
                #expect(run.failure?.code == "form_conflict" && dialect == .rack, "\(fields)")
                continue
            }
            documents += 1
            let left = fields.indices.filter { run.result.contains("\"\($0)x\"") }.count
            #expect(left + run.accounting.removed == fields.count, "\(fields) \(run.result) \(run.accounting)")
        }
        #expect(documents > tries(1000))
    }

    private static func name(_ random: inout SplitMix) -> String {
        var name = ["a", "a", "a", "b", "", "[]", "toString", " "][random.below(8)]
        for _ in 0..<random.below(5) {
            name += ["[]", "[]", "[b]", "[c]", "[0]", "[1]", "[19]", "[30]", "[b", "c]", "x"][random.below(11)]
        }
        return name
    }
}
