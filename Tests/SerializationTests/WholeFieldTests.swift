import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Pairs of a form that lie whole in a slice go into the tree without events, and a small tree goes out as JSON at once. The
/// same comes of it as of a form that arrives byte by byte and is written event by event.
@Suite("Forms at one go")
struct WholeFieldTests {
    static let bodies: [String] = [
        "", "&", "a", "a=", "=", "=b", "a=b", "a=b&", "a=b&c=d&", "a&b=c&", "a=b&a=c&", "a=b&a=c&a=d", "&&a=1&&b=2&&",
        "name=Ada+Lovelace&email=ada%40example.org&user[id]=1815&user[role]=owner&comment=OK",
        "a[b]=1&x=2&a[c]=3&y=4&a[d][]=5&z=6&a[d][]=7&", "a[0]=x&p=q&a[1]=y&", "a[]=1&b=2&a[]=3&",
        "a[b][c]=1&a[b][d]=2&a[b][d]=3&a[b][]=4&", "a[b][]=1&a[b][]=2&a[b][c]=3&", "a[][b]=1&a[][b]=2&a[][c]=3&",
        "a%5Bb%5D%5Bc%5D=1&a%5Bb%5D%5Bd%5D=2&a%5Bb%5D=3&", "a%5B%5D=1&a%5B%5D=2+&a%5B%5D=%26&a%5B=4&a%5Bb%5Dc=5&%5B=6&",
        "a[b][c]=1&ax[b][d]=2&a[b]c[d]=3&a[b][c[]=4&a[b][c]]=5&a[b][e]=6",
        "a%5B=1&b%3D=2&c+d=3&%41=4&%4=5&%zz=6&e%5Bf%5D",
        (0..<40).map { "a%5Bb\($0 / 18)%5D%5Bkey\($0)%5D=\($0)" }.joined(separator: "&"),
        (0..<40).map { "a[\($0 / 2)][\($0 % 2 == 0 ? "x" : "y")]=\($0)" }.joined(separator: "&"),
        "a=1&a[b]=2&", "a[b]=1&a=2&", "a[b]=1&x=1&a[b][c]=2&", "a]=1&b[=2&a[b]c=3&",
        "q=%22%5C%2F%08%0C%0A%0D%09%00%1F%7F&n=\u{e9}%C3%A9&", "%C3%A9=1&a%3Db=2&a+b=3&", "\u{e9}=1&b=\u{1F600}&",
        "a=%FF&", "a=x%C3%28&b=1&", "a=1&b=%ED%A0%80&", "%FF=1&", "a=\u{0}%00b&", "a=%zz&b=%4&c=%&", "a=%4",
        "a=1&b=true&c=false&d=null&e=1.50&f=-0&g=01&h=1e5&",
        "sixteen-bytes-xx=1&seventeen-bytes-x=2&seventeen-bytes[x]=3&",
        "long=" + String(repeating: "abcdefghij", count: 101) + "&b=2&",
        "long=" + String(repeating: "%41b+", count: 256) + "&b=2&long=" + String(repeating: "xyz+", count: 300) + "&",
        "e=" + String(repeating: "%01", count: 300) + "&b=" + String(repeating: "\"", count: 40) + "&",
        (0..<40).map { "field\($0)=value+\($0)&" }.joined(),
        (0..<17).map { "f\($0)=\($0)&" }.joined() + "f3=again&f16=again&f18[x]=1",
        (0..<16).map { "f\($0)=\($0)" }.joined(separator: "&"),
        // Names that a library reads in its own way, and keys of tables.
        "a.b=1&a b=2& a=3&a\u{0}b=4&.=5& =6&a[b.c]=7&a[ ]=8&a[\t]=9&a[ b]=10&a[b\u{0}c]=11&a.b[c]=12&a[b]=13&",
        "toString=1&constructor=2&a[toString]=3&__proto__=4&__proto__[a]=5&__Host-a=6&__Secure-b=7&toStrings=8&",
        "a[__proto__]=1&a[b][__proto__]=2&a[__proto_]=3&a[__proto___]=4&__proto_=5&__proto___=6&hasOwnProperty[x]=7&",
        "10=a&9=b&x=c&1=d&01=e&4294967295=f&4294967294=g&x[1]=h&x[0]=i&9[b]=j&",
        "a=b]=c&a=b%5D=c&a=b%5d%3Dc&a[=b]=c&a%5B=b%5D=c&a=]&a==&a=[b]&x%5By%5D=z=w&",
        "b=]&=b]=c&a[b=c]=1&a[b]=c]=d&c=1&=]=2&d%5D=]=3&",
        "a[5]=1&a[]=2&a[-3]=3&a[]=4&a[9223372036854775807]=5&a[]=6&b[]=7&b[0]=8&b[]=9&c[-5]=1&c[]=2&",
        "a[b]=1&a=2&a[c]=3&d=4&d[e]=5&d[]=6&f[]=7&f[g]=8&f=9&h[i][j]=1&h[i]=2&h[i][k]=3&",
        "a[][b]=1&a[][b]=2&a[][c]=3&a[]=4&b[c][]=1&b[c][]=2&b[c][d]=3&b[c]=4&",
        "a[b][c][d][e][f][g][h]=1&a[b][c][d][e][f][g]=2&a[b]=3&",
        "a[x]=1& a[y]=2&  b=3& &c=4&a[z]=5& ",
        // The longest value that is read at one go has 1,024 bytes; under qs a pair's `=` counts.
        (1022...1025).map {
            "a[b\($0)]=\(String(repeating: "v", count: $0))&c\($0)=\(String(repeating: "v", count: $0))&"
        }.joined(),
        (0..<40).map { "rows[\($0 / 4)][c\($0 % 4)]=v+\($0)&list[]=\($0)" }.joined(separator: "&"),
        // Names that come again and pushes, fewer than an array of qs has and more.
        (0..<70).map { "t=\($0)&u[]=\($0)&r[\($0)][x]=1&r[\($0)][y][]=2&r[\($0)][y][]=+&v%5Bw%5D=\($0)&%6B=\($0)&" }
            .joined(),
        (0..<70).map { "t=\($0 / 7)&" }.joined() + (0..<30).map { "t[]=\($0)&t[\($0)]=x&t[\($0)][y]=z&" }.joined(),
        (0..<24).map { "\u{e9}=\($0)&%C3%A9[]=\($0)&%E6%BC%A2[\u{e9}]=\($0)&%E6%BC%A2[%C3%A9\($0)]=&%FF=1&" }.joined(),
        "a[x]=1&a[x]=2&a[x]=&b=1&b=2&b[c]=3&a[x][y]=4&d[]=1&d[x]=2&d[]=3&e[x]=1&e[]=2&e[x]=3&f=&f=&g[]=&g[]=&g=&h=1&h[]=2&"
            + "h=3&i[j][k]=1&i[j][k]=2&i[j][l]=3&i[j][k]=4&i[j][l]=5&m[n][o][]=1&m[n][o][]=2&m[n][o][p]=3&m[n][o]=4&",
        "a[][]=1&b[][25]=2&c[][0]=3&d[25][]=4&e[21]=1&e[x]=2&e[3]=4&e[]=5&e[22][y]=6&f[][x]=1&f[][y]=2&g[x][][y]=1&g[x][]=2&"
            + "h[30]=1&h[31]=2&h[7]=3&h[8][x]=4&h[40][x]=5&h[40][y]=6&h[+1]=7&h[1x]=8&i[]=1&i[19]=2&i[20]=3&i[21]=4&i[x]=5&",
        (0..<24).map { "a=\($0)&" }.joined()
            + "a[50]=x&a[51][x]=y&a[51][z]=z&a[]=w&a[key]=v&a[3]=u&b[9007199254740992]=1&b[20]=2&",
        "_charset_=x&_charset_=y&a=b]=c&a=b]=d&a=true&a=1&a=x&n=true&n=2&n=x&n=3&",
        // The loop in C compares names by blocks of 32 bytes, and keeps what stands before a member's name up to 64.
        (30...34).flatMap { [named($0, "x"), named($0, "y"), named($0, "x")] }.joined(),
        (60...67).map { "\(named($0, "[a][b]"))\(named($0, "[a][c]"))\(named($0, "[a][d]"))" }.joined(),
        (60...67).map { "\(named($0, "[a]"))\(named($0, "[b]"))\(named($0, "%5Bc%5D"))\(named($0, "%5bd%5d"))" }
            .joined(),
        (0..<18).map { "a[member-\($0)]=\($0)&a%5Bm\($0)%5D=\($0)&" }.joined() + "a[member-3]=again&a[m16]=again&b=1&",
        (0..<60).map { "a-name-of-some-length-\($0)=\($0)&n\($0)=\($0)&" }.joined()
            + "a-name-of-some-length-30=again&n59=again&",
        // It copies the end of a slice, up to 256 bytes, and looks at 98 from where a pair begins.
        (60...110).map { "\(named(3, ""))b=\(String(repeating: "v", count: $0))&" }.joined(),
        "a=1&b=" + String(repeating: "%C3%A9", count: 90) + "&c=2&d=" + String(repeating: "\u{20AC}", count: 60)
            + "&e=3",
        (250...260).map { "k\($0)=\(String(repeating: "+", count: $0))" }.joined(separator: "&"),
        // Names that are keys once they are decoded, or aren't, and names beyond ASCII.
        (0..<24).map { "%6B%65y\($0)=v\($0)&%D0%BA+\($0)=%D1%8E&\u{6F22}\u{5B57}\($0)=1&" }.joined()
            + "%6B%65y3=again&%D0%BA+23=again&\u{6F22}\u{5B57}7=again&key4=again&%6b%65%79%34=again&",
        "%61=1&%61[b]=2&%61%5Bb%5D=3&a%5Bb=4&%2E=5&a%2Eb=6&%20a=7&+a=8&a%00=9&%3D=10&a%3Db=11&%26=12&%2B=13&%25=14&a=15&",
        "%=1&%6=2&%zz=3&a%=4&a%6=5&%C3=6&", "+=1&%20=2&++=3&", "%E2%82%AC=1&\u{20AC}=2&%E2%82=3&",
        (28...36).map { String(repeating: "%41", count: $0) + "\($0)=%42\($0)&" }.joined(),
        "\(String(repeating: "%D0%AF", count: 170))=1&\(String(repeating: "%D0%AF", count: 190))=2&a=3&",
        // Texts that `types: safe` may read, by their length and first byte, and the name of a charset.
        "a=true&b=false&c=tru&d=falsey&e=text&f=-&g=-1&h=12345678901234567890&i=123456789012345678901&j=%74rue&k=1+&l=t&m=&"
            + "n[o]=true&n[p]=x&n[q]=3&n[r]=fals&n[s][t]=0.5&n[s][u]=five5&v[]=1&v[]=x&v[]=true&w=-text-&",
        "a=1&_charset_=iso-8859-1&b=%41&%5Fcharset_=utf-8&c=2&\u{e9}=3&d=%C3%A9&",
        // Keys that begin with a digit and are no numbers, and names whose end is the end of all that is held.
        "a[2024-01-01][x]=1&a[2024-01-01][y]=2&a[3d]=3&a[9007199254740992]=4&a[9007199254740993]=5&a[007]=6&a[20]=7&",
        "a[2\(String(repeating: "z", count: 256))]=&a[x]=", "a[\(String(repeating: "b", count: 141))]=",
    ]

    private static func named(_ count: Int, _ end: String) -> String {
        String(repeating: "n", count: count) + end + "=\(count)&"
    }

    typealias Change = @Sendable (inout ConversionPlan) -> Void

    static let plans: [Change] =
        [
            { _ in },
            { $0.fieldDecoding.types = .safe },
            { $0.fieldDecoding.duplicates = .first },
            { $0.fieldDecoding.duplicates = .last },
            { $0.fieldDecoding.duplicates = .reject },
            { $0.fieldDecoding.nesting = .dots },
            { $0.fieldDecoding.nesting = .flat },
            { $0.fieldDecoding.arrays = .comma },
            { $0.fieldDecoding.nulls = .key },
            { $0.fieldDecoding.percent = .strict },
            { $0.fieldDecoding.invalidUTF8 = .replace },
            { $0.fieldDecoding.invalidUTF8 = .latin1 },
            { $0.fieldDecoding.malformedKey = .reject },
            { $0.fieldDecoding.charsetHint = .use },
            {
                $0.fieldDecoding.charsetHint = .use
                $0.fieldDecoding.invalidUTF8 = .replace
                $0.fieldDecoding.types = .safe
            },
            { $0.fieldDecoding.charsets = [Charset(label: "latin1")!] },
            {
                $0.fieldDecoding.charsets = [Charset(label: "sjis")!]
                $0.fieldDecoding.charsetHint = .use
                $0.fieldDecoding.invalidUTF8 = .latin1
            },
            {
                $0.fieldDecoding.charsets = [Charset(label: "iso-2022-jp")!]
                $0.fieldDecoding.invalidUTF8 = .replace
            },
            { $0.fieldEncoding.order = .sorted },
            {
                $0.fieldEncoding.booleans = .numeric
                $0.fieldDecoding.types = .safe
            },
            {
                $0.map.remove = [path("a")]
                $0.map.set = [.init(path: path("s"), value: .literal(.string("x\"")))]
            },
            { $0.types = [TypeRule(path: path("user.id"), type: .integer)] },
        ] + [Dialect.php, .rack, .qs, .afnetworking, .whatwg].flatMap(plans)

    /// What a dialect sets, and some of its options besides.
    private static func plans(of dialect: Dialect) -> [Change] {
        let changes: [Change] = [
            { _ in },
            {
                $0.fieldDecoding.types = .safe
                $0.fieldDecoding.duplicates = .reject
            },
            {
                $0.fieldDecoding.duplicates = .first
                $0.fieldDecoding.malformedKey = .reject
            },
            {
                $0.fieldDecoding.duplicates = .array
                $0.fieldDecoding.arrays = .brackets
                $0.limits.keyDepth = 1
            },
            {
                $0.fieldDecoding.nesting = .dots
                $0.fieldDecoding.nulls = .key
            },
            { $0.fieldDecoding.nesting = .flat },
            {
                $0.fieldDecoding.percent = .strict
                $0.fieldDecoding.invalidUTF8 = .replace
            },
        ]
        return changes.map { change in
            {
                $0.fieldDecoding = .init(dialect: dialect)
                change(&$0)
            }
        }
    }

    /// Ours, and those that put fields together by rules of their own.
    static let readers: [Dialect] = [.recast, .php, .rack, .qs]

    private func plan(_ change: (inout ConversionPlan) -> Void) -> ConversionPlan {
        var plan = ConversionPlan(inputs: [.form], output: .json)
        change(&plan)
        return plan
    }

    private func general(_ plan: ConversionPlan, _ input: [UInt8]) -> ConversionRun {
        ConversionRun.run(plan, .every(1, of: input), highWatermark: 1)
    }

    @Test("the same document, error and accounting as byte by byte and event by event", arguments: bodies)
    func same(body: String) {
        let input = Array(body.utf8)
        for (index, change) in Self.plans.enumerated() where tries(number: input.count + index) {
            let plan = plan(change)
            let expected = general(plan, input)
            #expect(expected.violations.isEmpty)
            #expect(ConversionRun.run(plan, .whole(input)) == expected, "plan \(index)")
            #expect(ConversionRun.run(plan, .whole(input), highWatermark: 1) == expected, "plan \(index)")
        }
    }

    @Test("the same for every cut", arguments: bodies)
    func recut(body: String) {
        let input = Array(body.utf8)
        for dialect in Self.readers {
            let plan = plan { $0.fieldDecoding = .init(dialect: dialect) }
            let expected = general(plan, input)
            for cut in Recut.cuts(of: input, splits: 60) {
                #expect(ConversionRun.run(plan, cut) == expected, "\(dialect) \(cut)")
            }
        }
    }

    @Test("the same for bytes that are no UTF-8", arguments: ["a=\u{1}&b=1&", "\u{1}=1&b=1&", "a=1&b=x\u{1}"])
    func invalid(body: String) {
        let input = Array(body.utf8).map { $0 == 1 ? 0xC3 : $0 }
        for change in Self.plans {
            #expect(ConversionRun.run(plan(change), .whole(input)) == general(plan(change), input))
        }
    }

    @Test("limits hold at the same field", arguments: ["tree", "field", "fields", "key"])
    func limits(name: String) {
        let input = Array(
            ("ab=cde&user[id]=1815&x=&user[role]=owner&u%5Bv%5D[]=1&u[v][]=2&u[w][x]=3&u[w][y]=4&"
                + "t=1&t=2&t=&l[]=1&l[]=2&l[]=&o[p]=1&o[p]=2&last=value+with+%41&z=1&").utf8)
        for dialect in Self.readers {
            for limit in 0..<(name == "tree" ? 2000 : 30) where name != "tree" || tries(number: limit) {
                same(input, dialect, name, limit)
            }
        }
    }

    @Test(
        "what a form costs of limits.tree is the same however it is cut",
        arguments: [
            (0..<28).map { "r\($0)[alpha][beta][gamma][delta][epsilon]=1" }.joined(separator: "&"),
            (0..<90).map { "a[2024-01-\($0)][q]=1" }.joined(separator: "&"),
            (0..<90).map { "a[k\($0)]=\($0)" }.joined(separator: "&"),
            (0..<30).map { "a[\($0)][x]=1&a[\($0)][y][]=2&b\($0)=3" }.joined(separator: "&"),
            (0..<40).map { "t=\($0)&u[]=\($0)&r[\($0)][y][]=2&r[\($0)][y][]=3&v[w]=" }.joined(separator: "&"),
        ])
    func cost(body: String) {
        let input = Array(body.utf8)
        for dialect in Self.readers {
            func passes(_ limit: Int, _ cut: Cut) -> Bool {
                let plan = plan { plan in
                    plan.fieldDecoding = .init(dialect: dialect)
                    plan.limits.tree = limit
                }
                return ConversionRun.run(plan, cut).failure == nil
            }
            var range = 0..<(1 << 20)
            while range.count > 1 {
                let middle = (range.lowerBound + range.upperBound) / 2
                range = passes(middle, .whole(input)) ? range.lowerBound..<middle : middle..<range.upperBound
            }
            for step in [1, 7, 100, 400] {
                #expect(passes(range.upperBound, .every(step, of: input)), "\(dialect) \(step)")
                #expect(!passes(range.lowerBound, .every(step, of: input)), "\(dialect) \(step)")
            }
        }
    }

    private func same(_ input: [UInt8], _ dialect: Dialect, _ name: String, _ limit: Int) {
        let plan = plan { plan in
            plan.fieldDecoding = .init(dialect: dialect)
            switch name {
            case "tree": plan.limits.tree = limit
            case "field": plan.limits.field = limit
            case "fields": plan.limits.fields = limit
            default: plan.limits.key = limit
            }
        }
        #expect(ConversionRun.run(plan, .whole(input)) == general(plan, input), "\(dialect) \(limit)")
    }

    @Test("random forms give the same", arguments: 0..<60)
    func random(seed: Int) {
        var state = UInt64(seed) &* 0x9E37_79B9_7F4A_7C15 | 1
        func next(_ count: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(count))
        }
        let pieces = [
            "a", "b", "name", "a[b]=1&", "a[c]=2&", "a[]=3&", "a[1]=4&", "1", ".", " ", "]=", "&", "&", "&", "=", "=",
            "[", "]", "[]", "[0]", "[x]", "a[b][", "]=1&", "%5D", "%41", "%",
            "%5B", "+", "\u{e9}",
            "%C3%A9", "%FF", "0123456789abcdef", "\"", "\\", "%0A", "value",
        ]
        for _ in 0..<tries(40) {
            let plan = plan(Self.plans[next(Self.plans.count)])
            // Of a value with two faults, which one is named depends on the cut.
            let pieces = plan.fieldDecoding.percent == .strict ? pieces.filter { $0 != "%FF" } : pieces
            let input = (0..<next(40)).flatMap { _ in Array(pieces[next(pieces.count)].utf8) }
            let expected = general(plan, input)
            let text = String(decoding: input, as: UTF8.self)
            #expect(ConversionRun.run(plan, .whole(input)) == expected, "\(text)")
            #expect(ConversionRun.run(plan, .every(1 + next(30), of: input)) == expected, "\(text)")
        }
    }

    @Test("random pairs give the same, however many", arguments: 0..<40)
    func randomPairs(seed: UInt64) {
        var random = SplitMix(state: seed)
        let names =
            [
                "a", "name", "user[id]", "user[name]", "user%5Bid%5D", "user%5bmail%5d", "rows[0][a]", "rows[0][b]",
                "rows[1][a]",
                "x[y][z]", "x[y][w]", "t[]", "0", "1", "-1", "toString", "a.b", "c d", "%C3%A9", "\u{e9}", "", "[a]",
                "a]", "a[b", "%C3%A9[x]", "rows[0][%C3%A9]", "rows[0][%61]", "a%2Eb[c+d]", "%C3%A9[x][]",
                "x[y][%C3%A9][]", "t[]", "rows[0][t][]", "rows[0][t][]", "k%2Bk", "%6Bey", "%D0%BA", "%61",
                "first+name",
                "%E6%BC%A2", "\u{6F22}",
                "+p", "u[0]", "u[1]", "u[-5]", "u[x]", "u", "rows[0]", "a-name-that-is-longer-than-a-block-is",
            ] + (0..<40).map { "f\($0)" }
        let values = [
            "", "1", "true", "-1", "12345678901234567890x", "Ada+Lovelace", "%40", "%C3%A9", "\u{e9}", "%FF", "%zz",
            "%", "a=b", "a]b", "%5D=1", "%00",
            String(repeating: "x", count: 40), String(repeating: "caf%C3%A9+", count: 30),
        ]
        for _ in 0..<tries(12) {
            let plan = plan(Self.plans.randomElement(using: &random) ?? { _ in })
            // Of a value with two faults, which one is named depends on the cut; most forms have none.
            let values =
                Bool.random(using: &random) || plan.fieldDecoding.percent == .strict
                ? values.filter { !$0.contains("F") } : values
            var body = ""
            for _ in 0..<Int.random(in: 1...120, using: &random) {
                body += names.randomElement(using: &random) ?? ""
                if Int.random(in: 0..<20, using: &random) > 0 {
                    body += "=" + (values.randomElement(using: &random) ?? "")
                }
                body += Int.random(in: 0..<20, using: &random) > 0 ? "&" : "&&"
            }
            let input = Array(body.utf8)
            let expected = general(plan, input)
            #expect(ConversionRun.run(plan, .whole(input)) == expected, "\(body)")
            #expect(
                ConversionRun.run(plan, .every(Int.random(in: 2...400, using: &random), of: input)) == expected,
                "\(body)")
        }
    }

    /// What is read from a whole form, as JSON, and how many fields were left out.
    private func document(_ body: [UInt8], _ plan: ConversionPlan, restsLoops: Bool) -> String {
        var fields = FieldTreeBuilder(options: plan.fieldDecoding, limits: plan.limits)
        if restsLoops { fields.restLoops() }
        do throws(ConversionError) {
            try fields.read(form: body.span, options: plan.fieldDecoding, limits: plan.limits)
            var encoder = JSON.Encoder(options: .init())
            encoder.output.highWatermark = .max
            try fields.tree.emit(into: &encoder, order: .input)
            encoder.finish()
            let text = String(decoding: encoder.output.span.copied(), as: UTF8.self)
            return "\(text) \(fields.tree.removedCount)"
        } catch {
            return "\(error)"
        }
    }

    @Test("loops in C come to what the rest of the library does alone", arguments: bodies)
    func loops(body: String) {
        let input = Array(body.utf8)
        for (index, change) in Self.plans.enumerated() where tries(number: input.count + index) {
            let plan = plan(change)
            #expect(
                document(input, plan, restsLoops: false) == document(input, plan, restsLoops: true), "plan \(index)")
        }
    }

    @Test("names of as many segments as the loop in C takes, one less and one more", arguments: 10...14, 4...14)
    func depths(segments: Int, keyDepth: Int) {
        let keys = (1..<segments).map { "[k\($0)]" }.joined()
        let body = "a\(keys)=1&a\(keys.dropLast())x]=2&b\(keys)[]=3&c[0]\(keys)=4&a[k1]=5&"
        let plan = plan { plan in
            plan.fieldDecoding = .init(dialect: .qs)
            plan.limits.keyDepth = keyDepth
        }
        let input = Array(body.utf8)
        let expected = document(input, plan, restsLoops: true)
        #expect(expected.hasPrefix("{"), "it is no error")
        #expect(document(input, plan, restsLoops: false) == expected)
    }

    @Test("loops in C put names of any shape where the rest of the library does", arguments: 0..<60)
    func loops(seed: UInt64) {
        var random = SplitMix(state: seed)
        let roots = ["a", "b", "1", "20", "root"] + (0..<12).map { "r\($0)" } + [String(repeating: "n", count: 33)]
        let odd = [
            "19", "20", "21", "01", "-1", "1e", "", "x.y", "toString", "[", "]", "a=b", "18446744073709551616",
            String(repeating: "k", count: 40),
        ]
        for _ in 0..<tries(30) {
            let changes = Bool.random(using: &random) ? Self.plans : Self.plans(of: .qs)
            let plan = plan(changes.randomElement(using: &random) ?? { _ in })
            // Few names, so that they meet, or many; keys that are odd here and there.
            let some = (0..<Int.random(in: 1...6, using: &random)).compactMap { _ in roots.randomElement(using: &random)
            }
            var body = ""
            for _ in 0..<Int.random(in: 1...60, using: &random) {
                body += some.randomElement(using: &random) ?? ""
                let depth = Int.random(in: 0..<30, using: &random)
                for _ in 0..<(depth == 29 ? 14 : depth % 4) {
                    let keys =
                        switch Int.random(in: 0..<20, using: &random) {
                        case 0: odd
                        case 1, 2: [""]
                        case 3: ["25", "26", "40", "7"]
                        case 4...9: ["0", "1", "2", "3"]
                        default: ["x", "y", "z", "name"]
                        }
                    body += "[\(keys.randomElement(using: &random) ?? "")]"
                }
                body += "=\(Int.random(in: 0..<10, using: &random))&"
            }
            let input = Array(body.utf8)
            #expect(document(input, plan, restsLoops: false) == document(input, plan, restsLoops: true), "\(body)")
        }
    }

    @Test("a conversion that is used again starts anew, also behind an error")
    func again() throws {
        let type = Array("application/x-www-form-urlencoded".utf8)
        let plan = plan { _ in }
        let conversion = try Conversion.make(plan: plan, contentType: type.span)
        for body in Self.bodies + Self.bodies.reversed() {
            try conversion.restart(contentType: type.span, sources: [])
            let input = Array(body.utf8)
            #expect(ConversionRun.run(conversion, .whole(input)) == general(plan, input), "\(body)")
            // Left in the middle of its input, and of its output.
            try conversion.restart(contentType: type.span, sources: [])
            _ = try? conversion.feed(input.span.extracting(first: input.count / 2))
            try conversion.restart(contentType: type.span, sources: [])
            var narrow = OutputBuffer(highWatermark: 1)
            conversion.swapOutput(&narrow)
            _ = try? conversion.feed(input.span)
            _ = try? conversion.finish()
        }
    }
}
