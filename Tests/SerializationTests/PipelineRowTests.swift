import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// One conversion of a table: its plan, its input and what comes out.
struct PipelineRow: Sendable, CustomStringConvertible {
    var plan: ConversionPlan
    var input: String
    var expected: String
    var sources: [String] = []

    init(
        _ from: BodyEncoding, _ to: BodyEncoding, _ input: String, _ expected: String, sources: [String] = [],
        _ change: (inout ConversionPlan) -> Void = { _ in }
    ) {
        plan = SerializationTests.plan(from, to, change)
        self.input = input
        self.expected = expected
        self.sources = sources
    }

    var description: String { "\(plan.inputs[0]) -> \(plan.output): \(input.prefix(60)) => \(expected.prefix(60))" }

    func check() {
        #expect(convert(plan, input, sources: sources) == expected, "\(self)")
    }
}

@Suite("Pipelines")
struct PipelineRowTests {
    @Sendable private static func rack(_ plan: inout ConversionPlan) {
        plan.fieldDecoding = FieldDecodingOptions(dialect: .rack)
        plan.fieldEncoding = FieldEncodingOptions(dialect: .rack)
        plan.rewritesNames = true
    }

    @Sendable private static func php(_ plan: inout ConversionPlan) {
        plan.fieldDecoding = FieldDecodingOptions(dialect: .php)
        plan.fieldEncoding = FieldEncodingOptions(dialect: .php)
        plan.rewritesNames = true
    }

    @Sendable private static func safe(_ plan: inout ConversionPlan) { plan.fieldDecoding.types = .safe }

    @Sendable private static func reject(_ plan: inout ConversionPlan) { plan.fieldDecoding.duplicates = .reject }

    static let pairs: [PipelineRow] = [
        // form in
        PipelineRow(.form, .json, "a=1&b[c]=2&b[d][]=3&b[d][]=4", #"{"a":"1","b":{"c":"2","d":["3","4"]}}"#),
        PipelineRow(.form, .json, "", "{}"),
        PipelineRow(.form, .json, "a=1&b=2&a=3", #"{"a":["1","3"],"b":"2"}"#),
        PipelineRow(.form, .form, "b=1&a%5B%5D=x+y&b=2&k", "b=1&a[]=x%20y&b=2&k"),
        PipelineRow(.form, .form, "", ""),
        PipelineRow(.form, .multipart, "a=1&b[]=x&b[]=y&a=2", "a=1|b[]=x|b[]=y|a=2"),
        PipelineRow(.form, .multipart, "", ""),
        // JSON in
        PipelineRow(
            .json, .json, #" { "a" : 1.50, "b":[true,null,"\u0041"], "a":{} } "#,
            #"{"a":1.50,"b":[true,null,"A"],"a":{}}"#),
        PipelineRow(.json, .json, #""x""#, #""x""#),
        PipelineRow(.json, .json, "[1,[2]]", "[1,[2]]"),
        PipelineRow(
            .json, .form, #"{"a":1.0,"b":{"c":true,"d":[1,2]},"n":null}"#, "a=1.0&b[c]=true&b[d][]=1&b[d][]=2&n="),
        PipelineRow(.json, .form, "{}", ""),
        PipelineRow(.json, .form, "[1]", "!root_not_object"),
        PipelineRow(.json, .form, #"{"a":1,"a":2}"#, "!json_duplicate_key /a"),
        PipelineRow(.json, .multipart, #"{"a":"x","b":[{"c":1},{"c":2}]}"#, "a=x|b[0][c]=1|b[1][c]=2"),
        // multipart in
        PipelineRow(.multipart, .json, multipart("a=1", "b[c]=2", "b[d]=3"), #"{"a":"1","b":{"c":"2","d":"3"}}"#),
        PipelineRow(.multipart, .form, multipart("a=x y", "b[]=1", "b[]=2"), "a=x%20y&b[]=1&b[]=2"),
        PipelineRow(
            .multipart, .multipart, multipart("a=1", "f:x.png:image/png=PNG", "b=2"), "a=1|f:x.png:image/png=PNG|b=2"),
        PipelineRow(.multipart, .multipart, "--b--\r\n", ""),
    ]

    @Test("each pair of encodings gives what its pipeline promises", arguments: pairs)
    func pair(_ row: PipelineRow) { row.check() }

    static let options: [PipelineRow] = [
        PipelineRow(.form, .json, "a=1&a=2", #"{"a":"1"}"#) { $0.fieldDecoding.duplicates = .first },
        PipelineRow(.form, .json, "a=1&b=x&a=2", #"{"a":"2","b":"x"}"#) { $0.fieldDecoding.duplicates = .last },
        PipelineRow(.form, .json, "a=1&a=2", "!form_duplicate a") { $0.fieldDecoding.duplicates = .reject },
        PipelineRow(.form, .form, "a=1&a=2&b=3", "a=2&b=3") { $0.fieldDecoding.duplicates = .last },
        PipelineRow(.form, .json, "b=1&a[d]=2&a[c]=3", #"{"a":{"c":"3","d":"2"},"b":"1"}"#) {
            $0.fieldEncoding.order = .sorted
        },
        PipelineRow(.json, .json, #"{"b":1,"a":{"d":2,"c":3}}"#, #"{"a":{"c":3,"d":2},"b":1}"#) {
            $0.fieldEncoding.order = .sorted
        },
        PipelineRow(.form, .form, "b=1&a=2", "a=2&b=1") { $0.fieldEncoding.order = .sorted },
        PipelineRow(.form, .json, "a.b=1&a.c[]=2", #"{"a":{"b":"1","c":["2"]}}"#) { $0.fieldDecoding.nesting = .dots },
        PipelineRow(.form, .json, "a[b]=1", #"{"a[b]":"1"}"#) { $0.fieldDecoding.nesting = .flat },
        PipelineRow(.form, .json, #"a={"b":[1]}&c={x&d=[1]"#, #"{"a":{"b":[1]},"c":"{x","d":[1]}"#) {
            $0.fieldDecoding.nesting = .json
        },
        PipelineRow(.form, .json, "a=[1,2]&a=[3]", #"{"a":[[1,2],[3]]}"#) { $0.fieldDecoding.arrays = .json },
        PipelineRow(.form, .json, "a=1,2&b=3&c=", #"{"a":["1","2"],"b":"3","c":""}"#) {
            $0.fieldDecoding.arrays = .comma
        },
        PipelineRow(.form, .json, "a=1,2&a=3&a=4,5", #"{"a":["1","2","3","4","5"]}"#) {
            $0.fieldDecoding.arrays = .comma
        },
        PipelineRow(.form, .json, "a=1&a=2&b[0]=x", #"{"a":["1","2"],"b":{"0":"x"}}"#) {
            $0.fieldDecoding.arrays = .repeated
        },
        PipelineRow(.form, .json, "a[0]=x&a[1]=y", #"{"a":{"0":"x","1":"y"}}"#) { $0.fieldDecoding.arrays = .brackets },
        PipelineRow(.form, .json, "a[1]=y&a[0]=x", #"{"a":["x","y"]}"#) { $0.fieldDecoding.arrays = .indices },
        PipelineRow(.form, .json, "a[b=1", "!field_malformed_key a[b") { $0.fieldDecoding.malformedKey = .reject },
        PipelineRow(.form, .form, "a[b=1", "!field_malformed_key a[b") { $0.fieldDecoding.malformedKey = .reject },
        PipelineRow(.form, .multipart, "a[b=1", "!field_malformed_key a[b") { $0.fieldDecoding.malformedKey = .reject },
        PipelineRow(.multipart, .form, multipart("a[b=1"), "!field_malformed_key a[b") {
            $0.fieldDecoding.malformedKey = .reject
        },
        PipelineRow(.form, .form, "a&b=&c=1", "a=null&b=&c=1") {
            $0.fieldDecoding.nulls = .key
            $0.fieldEncoding.nulls = .literal
        },
        PipelineRow(.form, .form, "a&b=&c=1", "b=&c=1") {
            $0.fieldDecoding.nulls = .key
            $0.fieldEncoding.nulls = .omit
        },
        PipelineRow(.form, .multipart, "a&b=1", "!field_null a") {
            $0.fieldDecoding.nulls = .key
            $0.fieldEncoding.nulls = .reject
        },
        PipelineRow(.form, .form, "a[]=1&a[]=2&b[0][c]=x", "a[0]=1&a[1]=2&b[0][c]=x") {
            $0.fieldEncoding.arrays = .indices
            $0.rewritesNames = true
        },
        PipelineRow(.form, .multipart, "a[0]=1&a[1]=2", "a=1|a=2") {
            $0.fieldEncoding.arrays = .repeated
            $0.rewritesNames = true
        },
        PipelineRow(.form, .json, "a=true&b=false&c=1&d=-7&e=1.5", #"{"a":true,"b":false,"c":1,"d":-7,"e":1.5}"#) {
            $0.fieldDecoding.types = .safe
        },
        PipelineRow(
            .form, .json, "a=01&b=1e3&c=-0&d=1.50&e=True&f=&g=%2B1&h=1234567890123456&i=0.00001",
            #"{"a":"01","b":"1e3","c":"-0","d":"1.50","e":"True","f":"","g":"+1","h":"1234567890123456","i":"0.00001"}"#
        ) { $0.fieldDecoding.types = .safe },
        PipelineRow(.form, .json, "a=true", #"{"a":1}"#) {
            $0.fieldDecoding.types = .safe
            $0.fieldEncoding.booleans = .numeric
        },
        PipelineRow(.json, .json, #"{"a":true,"b":[false]}"#, #"{"a":1,"b":[0]}"#) {
            $0.fieldEncoding.booleans = .numeric
        },
        PipelineRow(.json, .json, #"{"a":1,"b":2,"a":3}"#, #"{"a":1,"b":2}"#) { $0.jsonDuplicates = .first },
        PipelineRow(.json, .json, #"{"a":{"x":1},"b":2,"a":{"y":3}}"#, #"{"a":{"y":3},"b":2}"#) {
            $0.jsonDuplicates = .last
        },
        PipelineRow(.json, .json, #"{"a":1,"a":3}"#, "!json_duplicate_key /a") { $0.jsonDuplicates = .reject },
        PipelineRow(.form, .form, "a[b=1&c]=2&d[]=3", "a[b=1&c]=2&d[0]=3") {
            $0.fieldEncoding.arrays = .indices
            $0.rewritesNames = true
        },
        PipelineRow(.json, .form, #"{"a":1,"a":2}"#, "a=1&a=2") { $0.jsonDuplicates = .keep },
    ]

    @Test("options of reading and writing reach their pipeline", arguments: options)
    func option(_ row: PipelineRow) { row.check() }

    static let files: [PipelineRow] = [
        PipelineRow(.multipart, .json, multipart("f:x.png:image/png=PNG"), "!files_unrepresentable f"),
        PipelineRow(.multipart, .form, multipart("f:x.png=PNG"), "!files_unrepresentable f"),
        PipelineRow(.multipart, .json, multipart("a=1", "f:x:t/x=PNG", "b=2"), #"{"f":"UE5H","a":"1","b":"2"}"#) {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("a=1", "f:x:t/x=PNG", "b=2"), #"{"a":"1","b":"2"}"#) {
            $0.fieldEncoding.files = .drop
        },
        PipelineRow(.multipart, .json, multipart("a=1", "f:x=PNG"), #"{"a":"1"}"#) { $0.fieldDecoding.files = .drop },
        PipelineRow(.multipart, .json, multipart("f:x=PNG"), "!files_rejected f") { $0.fieldEncoding.files = .reject },
        PipelineRow(.multipart, .multipart, multipart("f:x=PNG"), "!files_rejected f") {
            $0.fieldEncoding.files = .reject
        },
        PipelineRow(.multipart, .multipart, multipart("a=1", "f:x=PNG"), "a=1|f=UE5H") {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .multipart, multipart("a=1", "f:x=PNG"), "a=1") { $0.fieldEncoding.files = .drop },
        PipelineRow(.multipart, .form, multipart("a=1", "f:x=PN"), "a=1&f=UE4%3D") { $0.fieldEncoding.files = .base64 },
        PipelineRow(.multipart, .form, multipart("f:x=PN", "a=1"), "f=UE4%3D&a=1") {
            $0.fieldEncoding.files = .base64
            $0.rewritesNames = true
        },
        PipelineRow(.multipart, .json, multipart("p[]:x=A", "p[]:y=B", "t=1"), #"{"p":["QQ==","Qg=="],"t":"1"}"#) {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("p[0]:x=A", "p[1]:y=B"), #"{"p":["QQ==","Qg=="]}"#) {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(
            .multipart, .json, multipart("u[cv]:x=A", "u[pic]:y=B", "v[x]=1"),
            #"{"u":{"cv":"QQ==","pic":"Qg=="},"v":{"x":"1"}}"#
        ) { $0.fieldEncoding.files = .base64 },
        PipelineRow(.multipart, .json, multipart("p[]:x=A", "t=1", "p[]:y=B"), #"{"p":["QQ==","Qg=="],"t":"1"}"#) {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("p[]:x=A", "q:z=C", "p[]:y=B"), "!files_order p[]") {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("p:x=A", "p:y=B"), "!files_order p") {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("p[1]:x=A", "p[0]:y=B"), "!files_order p[0]") {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("p[0]:x=A", "p[2]:y=B"), "!files_order p[2]") {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("p[5]:x=A", "p[x]:y=B"), #"{"p":{"5":"QQ==","x":"Qg=="}}"#) {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("i[name]=n", "i[pic]:x=A"), "!files_shared_root i[pic]") {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .json, multipart("i[pic]:x=A", "i[name]=n"), "!files_shared_root i[name]") {
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(
            .multipart, .json, multipart("p[][f]:x=A", "p[][g]:x=B", "p[][f]:y=C"),
            #"{"p":[{"f":"QQ==","g":"Qg=="},{"f":"Qw=="}]}"#
        ) { $0.fieldEncoding.files = .base64 },
        // objects that keep a file's name and type
        PipelineRow(
            .multipart, .json, multipart("a=1", "f:x \\\"y.png:image/png=PNG", "g:z=", "b=2"),
            #"{"f":{"filename":"x \"y.png","content_type":"image/png","data":"UE5H"},"#
                + #""g":{"filename":"z","data":""},"a":"1","b":"2"}"#
        ) { $0.fieldEncoding.files = .object },
        PipelineRow(
            .multipart, .json, multipart("p[]:x:t/x=A", "p[]:y:t/y=B", "u[cv]:z=C"),
            #"{"p":[{"filename":"x","content_type":"t/x","data":"QQ=="},{"filename":"y","content_type":"t/y","#
                + #""data":"Qg=="}],"u":{"cv":{"filename":"z","data":"Qw=="}}}"#
        ) { $0.fieldDecoding.files = .object },
        PipelineRow(
            .multipart, .json, multipart("n=me", "f:x:t/x=A", "g:y:t/y=B"),
            #"{"f":{"filename":"me","content_type":"image/jpeg","data":"QQ=="},"g":"Qg==","n":"me"}"#
        ) {
            $0.fieldEncoding.files = .base64
            $0.files = [
                FileRule(path: path("f"), policy: .object, filename: .field(path("n")), mediaType: "image/jpeg")
            ]
        },
        PipelineRow(.multipart, .json, multipart("f:x=ABCD"), "!limit_file f") {
            $0.files = [FileRule(path: path("f"), policy: .object, max: 3)]
        },
        PipelineRow(.multipart, .multipart, multipart("f:x=A"), "!files_unrepresentable f") {
            $0.fieldEncoding.files = .object
        },
        PipelineRow(.multipart, .form, multipart("f:x=A"), "!files_unrepresentable f") {
            $0.fieldEncoding.files = .object
        },
        // a declared array holds the files of one name
        PipelineRow(.multipart, .json, multipart("p:x=A", "q=1", "p:y=B"), #"{"p":["QQ==","Qg=="],"q":"1"}"#) {
            $0.fieldEncoding.files = .base64
            $0.types = [TypeRule(path: path("p"), type: .array)]
        },
        PipelineRow(.multipart, .json, multipart("u[p]:x=A"), #"{"u":{"p":["QQ=="]}}"#) {
            $0.fieldEncoding.files = .base64
            $0.types = [TypeRule(path: path("u.p"), type: .array)]
        },
        PipelineRow(.multipart, .json, multipart("p:x=A", "p:y=B"), "!files_order p") {
            $0.fieldEncoding.files = .base64
            $0.types = [TypeRule(path: path("q"), type: .array)]
        },
        PipelineRow(.multipart, .json, multipart("p:x=A", "p=1"), "!files_shared_root p") {
            $0.fieldEncoding.files = .base64
            $0.types = [TypeRule(path: path("p"), type: .array)]
        },
        // files and fields that are put together by who reads them
        PipelineRow(
            .multipart, .multipart, multipart("i[][n]=one", "i[][f]:a=A", "i[][n]=two", "i[][f]:b=B"),
            "!files_shared_root i[][f]", rack),
        PipelineRow(.multipart, .multipart, multipart("p=text", "p:a=F"), "!files_shared_root p", rack),
        PipelineRow(.multipart, .multipart, multipart("p:a=F", "p=text"), "!files_shared_root p", rack),
        PipelineRow(
            .multipart, .multipart, multipart("p[]=one", "p[]:a=F", "p[]=two"), "p[]:a=F|p[]=one|p[]=two", rack),
        PipelineRow(.multipart, .multipart, multipart("u[n]=x", "u[f]:a=F"), "u[f]:a=F|u[n]=x", rack),
        PipelineRow(
            .multipart, .multipart, multipart("u[r][0][n]=x", "u[r][0][f]:a=F"), "!files_shared_root u[r][0][f]"
        ) {
            $0.fieldEncoding = FieldEncodingOptions(dialect: .rack)
            $0.rewritesNames = true
        },
        PipelineRow(.multipart, .multipart, multipart("i[][n]=one", "i[][f]:a=A"), "!files_shared_root i[][f]", safe),
        PipelineRow(
            .multipart, .multipart, multipart("i[0][n]=1", "i[0][f]:a=A", "i[1][n]=2"),
            "i[0][f]:a=A|i[0][n]=1|i[1][n]=2", safe),
        PipelineRow(
            .multipart, .multipart, multipart("i[0][n]=1", "i[0][f]:a=A"), "!files_shared_root i[0][f]"
        ) {
            safe(&$0)
            $0.fieldEncoding.arrays = .brackets
        },
        PipelineRow(.multipart, .multipart, multipart("p=1", "p:a=F"), "p:a=F|p=1", safe),
        PipelineRow(.multipart, .form, multipart("i[][n]=one", "i[][f]:a=A"), "!files_shared_root i[][f]") {
            safe(&$0)
            $0.fieldEncoding.files = .base64
        },
        PipelineRow(.multipart, .multipart, multipart("p=text", "p:a=F"), "p:a=F|p=text", php),
        PipelineRow(.multipart, .form, multipart("p=text", "p:a=F"), "!files_shared_root p") {
            php(&$0)
            $0.fieldEncoding.files = .base64
        },
        // repeated names of files
        PipelineRow(.multipart, .multipart, multipart("p:a=1", "q:b=2", "p:c=3"), "!form_duplicate p", reject),
        PipelineRow(.multipart, .multipart, multipart("p=1", "p:a=2"), "!form_duplicate p", reject),
        PipelineRow(.multipart, .multipart, multipart("p:a=1", "q=2"), "p:a=1|q=2", reject),
        // names written anew
        PipelineRow(
            .multipart, .multipart, multipart("t[]=1", "p[]:x=A", "d:d=D", "p[]:y=B"),
            "p[0]:x=A|d:d=D|p[1]:y=B|t[0]=1"
        ) {
            $0.fieldEncoding.arrays = .indices
            $0.rewritesNames = true
        },
        PipelineRow(.multipart, .multipart, multipart("p[]=1", "p[]:x=A"), "!files_shared_root p") {
            $0.fieldEncoding.arrays = .indices
            $0.rewritesNames = true
        },
        PipelineRow(.multipart, .multipart, multipart("i[name]=n", "i[pic]:x:t/x=A"), "i.pic:x:t/x=A|i.name=n") {
            $0.fieldEncoding.nesting = .dots
            $0.rewritesNames = true
        },
        PipelineRow(.multipart, .multipart, multipart("i[pic]:x:t/x=A"), "!files_nested i[pic]") {
            $0.fieldEncoding.nesting = .flat
            $0.rewritesNames = true
        },
        // rules of one file
        PipelineRow(.multipart, .json, multipart("f:x=A", "g:y=B"), #"{"f":"QQ=="}"#) {
            $0.files = [FileRule(path: path("f"), policy: .base64), FileRule(path: path("g"), policy: .drop)]
        },
        PipelineRow(.multipart, .multipart, multipart("n=me.jpg", "f:x:t/x=A"), "n=me.jpg|f:me.jpg:image/jpeg=A") {
            $0.files = [
                FileRule(path: path("f"), policy: .stream, filename: .field(path("n")), mediaType: "image/jpeg")
            ]
        },
        PipelineRow(.multipart, .multipart, multipart("f:x=A", "n=me.jpg"), "!files_no_filename f") {
            $0.files = [FileRule(path: path("f"), policy: .stream, filename: .field(path("n")))]
        },
        PipelineRow(.multipart, .multipart, multipart("f:x=ABC"), "f:x=ABC") {
            $0.files = [FileRule(path: path("f"), policy: .stream, max: 3)]
        },
        PipelineRow(.multipart, .multipart, multipart("f:x=ABCD"), "!limit_file f") {
            $0.files = [FileRule(path: path("f"), policy: .stream, max: 3)]
        },
        // JSON to files
        PipelineRow(.json, .multipart, #"{"n":"p.jpg","f":"UE5H","t":1}"#, "n=p.jpg|f:p.jpg:image/jpeg=PNG|t=1") {
            $0.files = [
                FileRule(path: path("f"), policy: .base64, filename: .field(path("n")), mediaType: "image/jpeg")
            ]
        },
        PipelineRow(.json, .multipart, #"{"f":"data:image\/png;base64,UE5H"}"#, "f:blob:image/png=PNG") {
            $0.files = [FileRule(path: path("f"), policy: .base64)]
        },
        PipelineRow(.json, .multipart, #"{"f":"data:image/png,UE5H"}"#, "!file_base64 f") {
            $0.files = [FileRule(path: path("f"), policy: .base64)]
        },
        PipelineRow(.json, .multipart, #"{"f":"data:UE5H"}"#, "!file_base64 f") {
            $0.files = [FileRule(path: path("f"), policy: .base64)]
        },
        PipelineRow(.json, .multipart, #"{"f":"dat!"}"#, "!file_base64 f") {
            $0.files = [FileRule(path: path("f"), policy: .base64)]
        },
        PipelineRow(.json, .multipart, #"{"f":"UE5"}"#, "!file_base64 f") {
            $0.files = [FileRule(path: path("f"), policy: .base64)]
        },
        PipelineRow(.json, .multipart, #"{"f":""}"#, "f:x:application/octet-stream=") {
            $0.files = [FileRule(path: path("f"), policy: .base64, filename: .literal("x"))]
        },
        PipelineRow(.json, .multipart, #"{"f":"data"}"#, "!files_rejected f") {
            $0.files = [FileRule(path: path("f"), policy: .reject)]
        },
        PipelineRow(.json, .multipart, #"{"f":"ZGF0YQ=="}"#, "f:blob:application/octet-stream=data") {
            $0.files = [FileRule(path: path("f"), policy: .base64)]
        },
        PipelineRow(.json, .multipart, #"{"f":12}"#, "!file_not_text f") {
            $0.files = [FileRule(path: path("f"), policy: .base64)]
        },
        PipelineRow(.json, .multipart, #"{"f":null}"#, "f=") {
            $0.files = [FileRule(path: path("f"), policy: .base64)]
        },
        PipelineRow(.json, .multipart, #"{"f":"QQ==","g":1}"#, "g=1") {
            $0.files = [FileRule(path: path("f"), policy: .drop)]
        },
        PipelineRow(.json, .multipart, #"{"f":"QUJD"}"#, "f:blob:application/octet-stream=ABC") {
            $0.files = [FileRule(path: path("f"), policy: .base64, max: 3)]
        },
        PipelineRow(.json, .multipart, #"{"f":"QUJDRA=="}"#, "!limit_file f") {
            $0.files = [FileRule(path: path("f"), policy: .base64, max: 3)]
        },
        PipelineRow(.json, .multipart, #"{"p":[{"n":"a","d":"QQ=="},{"d":"Qg=="}]}"#, "!files_no_filename p[1].d") {
            $0.files = [FileRule(path: path("p[*].d"), policy: .base64, filename: .field(path("p[*].n")))]
        },
        PipelineRow(
            .json, .multipart, #"{"p":[{"n":"a","d":"QQ=="},{"n":"b","d":"Qg=="}]}"#,
            "p[0][n]=a|p[0][d]:a:application/octet-stream=A|p[1][n]=b|p[1][d]:b:application/octet-stream=B"
        ) {
            $0.files = [FileRule(path: path("p[*].d"), policy: .base64, filename: .field(path("p[*].n")))]
        },
        PipelineRow(.json, .multipart, #"{"z":"1","f":"QQ=="}"#, "f:blob:application/octet-stream=A|z=1") {
            $0.files = [FileRule(path: path("f"), policy: .base64)]
            $0.fieldEncoding.order = .sorted
        },
        PipelineRow(.json, .json, #"{"f":"data:x;base64,QQ=="}"#, #"{"f":"data:x;base64,QQ=="}"#) {
            $0.files = [FileRule(path: path("f"), policy: .base64)]
        },
    ]

    @Test("files go as the route and their rules say, in both directions", arguments: files)
    func file(_ row: PipelineRow) { row.check() }
}
