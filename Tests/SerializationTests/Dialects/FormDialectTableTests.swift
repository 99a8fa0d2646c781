import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// Forms that libraries read in ways of their own. The documents are what PHP 8.2.36 (`parse_str`), Rack 3 (8bf4eb07) and
/// qs 6.15.3 (3a890d4) gave for them.
@Suite("Forms as libraries read them")
struct FormDialectTableTests {
    static let phpRows: [(String, String)] = [
        ("a[b.c d=1", #"{"a_b_c_d":"1"}"#),
        ("a b[c.d=1&a.b[c d]=2", #"{"a_b_c_d":"1","a_b":{"c d":"2"}}"#),
        ("a[b][c d=1", #"{"a":{"b":"1"}}"#),
        ("..Host-x=1&__Host-y=2&. Secure-z=3", #"{"__Host-y":"2"}"#),
        ("a[-5]=1&a[]=2", #"{"a":{"-5":"1","-4":"2"}}"#),
        ("a[9223372036854775807]=1&a[]=2&a[]=3", #"{"a":{"9223372036854775807":"1"}}"#),
        ("a[9223372036854775806]=1&a[]=2&a[]=3", #"{"a":{"9223372036854775806":"1","9223372036854775807":"2"}}"#),
        ("a[%09]=1&a[%0A]=2&a[  ]=3", #"{"a":{"0":"1","1":"2","  ":"3"}}"#),
        ("a[-0]=1&a[]=2&a[00]=3", #"{"a":{"-0":"1","0":"2","00":"3"}}"#),
        ("a[]=1&a[x]=2&a[]=3", #"{"a":{"0":"1","x":"2","1":"3"}}"#),
        ("a[][b]=1&a[0][c]=2&a[][b]=3", #"{"a":[{"b":"1","c":"2"},{"b":"3"}]}"#),
        ("a[b]=1&a[b][]=2&a[b][]=3", #"{"a":{"b":["2","3"]}}"#),
        ("a=1&a[b][c]=2&a=3", #"{"a":"3"}"#),
        ("a%00b[c]=1&a%00d=2", #"{"a":"2"}"#),
        ("a[b%00c]=1", #"{"a_b":"1"}"#),
        ("a[][][]=1&a[0][]=2", #"{"a":[[["1"],"2"]]}"#),
        ("%20%20a=1&+=2&.=3", #"{"a":"1","_":"3"}"#),
        ("a[0]=1&a[1]=2&a[0]=3", #"{"a":["3","2"]}"#),
        ("a[1]=1&a[0]=2", #"{"a":{"1":"1","0":"2"}}"#),
        ("a]=1&a[]]=2&a[b]]c=3", #"{"a]":"1","a":{"0":"2","b":"3"}}"#),
    ]

    static let rackRows: [(String, String)] = [
        ("a[][x]=1&a[][]=2", #"{"a":[{"x":"1"}]}"#),
        ("a[][]=1&a[][x]=2&a[][]=3", #"{"a":[["1"],{"x":"2"}]}"#),
        ("a[][][]=1", #"{"a":[{"[]":["1"]}]}"#),
        ("a[][][b]=1&a[][][c]=2", #"{"a":[{"[]":{"b":"1","c":"2"}}]}"#),
        ("a[]b[]=1&a[]b[]=2", #"{"a":[{"b[]":"2"}]}"#),
        ("a[][x]y=1&a[][x]y=2", #"{"a":[{"x":{"y":"1"}},{"x":{"y":"2"}}]}"#),
        ("a[b][=1&a[=2&a[b][][=3", #"{"a":{"[b][":"1","b":[{"[":"3"}]},"a[":"2"}"#),
        ("a[b][][c][][d]=1&a[b][][c][][e]=2&a[b][][c][][d]=3", #"{"a":{"b":[{"c":[{"d":"1","e":"2"},{"d":"3"}]}]}}"#),
        ("a&a[]=1", #"{"a":["1"]}"#),
        ("a&a[b]=1&a=2", #"{"a":"2"}"#),
        ("a[]=1&a[]&a[]=", #"{"a":["1",null,""]}"#),
        ("[]=1&[][a]=2&[b]=3", "!form_conflict"),
        ("a=1&   b=2& &c=3", #"{"a":"1","b":"2","c":"3"}"#),
        ("a[b]c=1&a[b]d=2", #"{"a":{"b":{"c":"1","d":"2"}}}"#),
        ("a[][x]]=1&a[][x=2", #"{"a":[{"x":{"]":"1"}},{"[x":"2"}]}"#),
        ("a[][x][y]=1&a[][x]=2&a[][x][y]=3", "!form_conflict"),
        ("a[0]=1&a[1]=2&a[0]=3", #"{"a":{"0":"3","1":"2"}}"#),
        ("+a=1&a+=2", #"{" a":"1","a ":"2"}"#),
        ("a[][b][]=1&a[][b][]=2&a[][c]=3&a[][c]=4", #"{"a":[{"b":["1","2"],"c":"3"},{"c":"4"}]}"#),
    ]

    static let qsRows: [(String, String)] = [
        ("a[b]=1&a=", #"{"a":{"b":"1"}}"#),
        ("a=&a[b]=1", #"{"a":["",{"b":"1"}]}"#),
        ("a=1&a[b]=2&a[c]=3", #"{"a":{"0":"1","1":{"b":"2"},"c":"3"}}"#),
        ("a[b]=1&a=2&a=3", #"{"a":{"0":"2","1":"3","b":"1"}}"#),
        ("a[1]=x&a[0]&a[]=z", #"{"a":["","x","z"]}"#),
        ("a[19]=x&a[]=y", #"{"a":["y","x"]}"#),
        ("a[3]=x&a[1][b]=y&a[][c]=z", #"{"a":[{"c":"z"},{"b":"y"},"x"]}"#),
        ("a[20]=x&a=1&a[]=2", #"{"a":{"0":"2","20":"x","21":"1"}}"#),
        ("a[]=1&a[25]=2&a[]=3&a=4", #"{"a":{"0":"1","1":"3","25":"2","26":"4"}}"#),
        ("5=x&b=1&3=y&a[7]=1&a[x]=2&a[4]=3", #"{"3":"y","5":"x","b":"1","a":{"4":"3","7":"1","x":"2"}}"#),
        ("[20]=x&[]=y&b=1", #"{"0":"y","20":"x","b":"1"}"#),
        ("a[b]x[c]y=1", #"{"a":{"b":{"c":"1"}}}"#),
        ("a[[b]=1&a[b[c]]=2", #"{"a":{"[[b]":"1","b[c]":"2"}}"#),
        ("a[b][c][d][e][f][g]=1&a[b][c][d][e][f][h]=2", #"{"a":{"b":{"c":{"d":{"e":{"f":{"[g]":"1","[h]":"2"}}}}}}}"#),
        ("[]=1&[0]=2&[a][b]=3", #"{"0":["1","2"],"a":{"b":"3"}}"#),
        ("=1&a=2&=", #"{"a":"2"}"#),
        ("a[]=x]=y&b=%5D=1", #"{"a":["x]=y"],"b=]":"1"}"#),
        ("a%5B%5D=1&a[]=2", #"{"a":["1","2"]}"#),
        ("%2=1&a=%C3%28+x%2B", #"{"%2":"1","a":"%C3%28 x%2B"}"#),
        ("a[toString]=1&a[b]=2&valueOf[x]=3", #"{"a":{"toString":"1","b":"2"},"valueOf":{"x":"3"}}"#),
        ("a[0][0]=1&a[0][]=2&a[][0]=3", #"{"a":[["1","2"],"3"]}"#),
        ("a[b]=1&a[b][c]=2&a[b][]=3", #"{"a":{"b":["1",{"c":"2"},"3"]}}"#),
        ("a=1&a=2&a[b]=3", #"{"a":{"0":"1","1":"2","b":"3"}}"#),
        (
            "a[4294967295]=1&a[4294967294]=2&a[x]=3&a[9007199254740993]=4",
            #"{"a":{"4294967294":"2","4294967295":"1","x":"3","9007199254740993":"4"}}"#
        ),
        ("a[01]=1&a[-1]=2&a[1]=3", #"{"a":{"1":"3","01":"1","-1":"2"}}"#),
        (
            "a[x]=0&a[30]=1&a[21]=2&a[100]=3&a[y]=4&a[9]=5",
            #"{"a":{"9":"5","21":"2","30":"1","100":"3","x":"0","y":"4"}}"#
        ),
        ("a[21]=1&a[30]=2&a[100]=3&a[x]=4", #"{"a":{"21":"1","30":"2","100":"3","x":"4"}}"#),
        ("2=a&1=b&x=c&0=d", #"{"0":"d","1":"b","2":"a","x":"c"}"#),
        ("a[b][]=1&a[b]=2&a[b][2]=3", #"{"a":{"b":["1","2","3"]}}"#),
    ]

    private func check(_ dialect: Dialect, _ row: (input: String, document: String)) {
        let plan = plan(.form, .json) { $0.fieldDecoding = .init(dialect: dialect) }
        for cut in Recut.cuts(of: Array(row.input.utf8), splits: 60) {
            let run = ConversionRun.run(plan, cut)
            #expect(run.violations.isEmpty)
            #expect((run.failure.map { "!" + $0.code } ?? run.result) == row.document, "\(row.input), \(cut)")
        }
    }

    @Test("PHP: roots are rewritten, names end where their grammar does, later values overwrite", arguments: phpRows)
    func php(_ row: (String, String)) { check(.php, row) }

    @Test(
        "Rack: elements are grouped by the rest of the name, later values overwrite, kinds conflict",
        arguments: rackRows)
    func rack(_ row: (String, String)) { check(.rack, row) }

    @Test("qs: whatever meets at one place is merged, and nothing beyond 20 elements is an array", arguments: qsRows)
    func qs(_ row: (String, String)) { check(.qs, row) }

    /// qs under `allowDots`, `comma`, `duplicates` and `strictNullHandling`.
    static let qsOptionRows: [(String, String, @Sendable (inout FieldDecodingOptions) -> Void)] = [
        ("a.b[c.d]=1&a.b.e=2&.f=3&g.=4", #"{"a":{"b":{"c[d]":"1","e":"2"}},"f":"3","g.":"4"}"#, { $0.nesting = .dots }),
        (
            "a=%zz,%41,b%2Cc&b[]=1,2&b[]=3&c=,", #"{"a":["%zz","A","b,c"],"b":[["1","2"],"3"],"c":["",""]}"#,
            { $0.arrays = .comma }
        ),
        ("a=1,2&a=3&a[b]=4,5", #"{"a":{"0":"1","1":"2","2":"3","b":["4","5"]}}"#, { $0.arrays = .comma }),
        (
            "a=0,1,2,3,4,5,6,7,8,9,0,1,2,3,4,5,6,7,8,9,x&a=y",
            #"{"a":{"0":"0","1":"1","2":"2","3":"3","4":"4","5":"5","6":"6","7":"7","8":"8","9":"9","10":"0","11":"1","12":"2","13":"3","14":"4","15":"5","16":"6","17":"7","18":"8","19":"9","20":"x","21":"y"}}"#,
            { $0.arrays = .comma }
        ),
        ("a=1&a=2&a[]=3&a[]=4", #"{"a":["1","3","4"]}"#, { $0.duplicates = .first }),
        ("a=1&a=2&a[]=3&a[]=4", #"{"a":["2","3","4"]}"#, { $0.duplicates = .last }),
        ("a&b=&a&c[]", #"{"a":[null,null],"b":"","c":[null]}"#, { $0.nulls = .key }),
        ("a[b]=1&a", #"{"a":{"b":"1"}}"#, { $0.nulls = .key }),
    ]

    @Test("qs: each option does what qs' option of that kind does", arguments: qsOptionRows)
    func qsOptions(
        _ row: (input: String, document: String, change: @Sendable (inout FieldDecodingOptions) -> Void)
    ) {
        let plan = plan(.form, .json) {
            $0.fieldDecoding = .init(dialect: .qs)
            row.change(&$0.fieldDecoding)
        }
        for cut in Recut.cuts(of: Array(row.input.utf8), splits: 60) {
            #expect(ConversionRun.run(plan, cut).result == row.document, "\(row.input), \(cut)")
        }
    }
}
