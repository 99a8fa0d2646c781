/// Whose rules forms and multipart bodies follow: a named bundle of the options below, with that library's own way where no
/// option covers it. Each option can still be set by itself.
public enum Dialect: String, Hashable, Sendable, CaseIterable {
    /// Our own: nothing ambiguous is written, nothing is guessed on reading.
    case recast
    /// The rules of that library, or of the WHATWG URL standard.
    case afnetworking, alamofire, qs, php, rack, whatwg
}

/// How arrays are written in the names of form and multipart fields.
public enum ArrayStyle: String, Hashable, Sendable, BitwiseCopyable, CaseIterable {
    /// `brackets`, and `indices` where an element is itself an object or an array, so that any parser can regroup them.
    case auto
    /// `a[]=1&a[]=2`
    case brackets
    /// `a[0]=1&a[1]=2`
    case indices
    /// `a=1&a=2`
    case repeated = "repeat"
    /// `a=1,2`
    case comma
    /// `a=[1,2]` as JSON text.
    case json
}

/// How objects are written in the names of form and multipart fields.
public enum NestingStyle: String, Hashable, Sendable, CaseIterable {
    /// `a[b]=1`
    case brackets
    /// `a.b=1`
    case dots
    /// Names are literal: nothing nests.
    case flat
    /// `a={"b":1}`: one field holds a JSON text.
    case json
}

/// Whether text fields become anything but strings.
public enum TypeInference: String, Hashable, Sendable, CaseIterable {
    /// Never.
    case strings
    /// Text that prints back identically: JSON integers and decimals, `true`, `false`.
    case safe
}

/// What a null becomes where the output has none.
public enum NullStyle: String, Hashable, Sendable, CaseIterable {
    /// `a=`
    case empty
    /// `a`
    case key
    /// `a=null`
    case literal
    /// The member is left out, by this rule.
    case omit
    /// The request is refused with 422.
    case reject
}

/// What an empty array or object becomes where the output has none.
public enum EmptyStyle: String, Hashable, Sendable, CaseIterable {
    /// The request is refused with 422.
    case reject
    /// The member is left out, by this rule.
    case omit
    /// `a[]=` for an array, `a=` for an object.
    case marker
}

/// What a boolean becomes in text.
public enum BooleanStyle: String, Hashable, Sendable, CaseIterable {
    /// `true`, `false`
    case literal
    /// `1`, `0`
    case numeric
}

/// What a space becomes in a form.
public enum SpaceStyle: String, Hashable, Sendable, CaseIterable {
    /// `%20`
    case percent
    /// `+`
    case plus
}

/// The order of an object's members on output.
public enum MemberOrder: String, Hashable, Sendable, CaseIterable {
    /// As they came.
    case input
    /// By the bytes of their keys, at every level.
    case sorted
}

/// How often a multipart body has the name of a file that isn't ASCII.
public enum FilenameStyle: String, Hashable, Sendable, CaseIterable {
    /// `filename="ü.txt"; filename*=UTF-8''%C3%BC.txt`, for those who read UTF-8 in the second alone. A name that came in a part
    /// without the second goes out without.
    case both
    /// `filename="ü.txt"` (RFC 7578 §4.2), for those who refuse `filename*` or take no long head.
    case plain
}

/// What happens to a second value for the same name.
public enum DuplicatePolicy: String, Hashable, Sendable, CaseIterable {
    /// All values, as an array, in the order they came.
    case array
    /// The first value; later ones are checked and left out.
    case first
    /// The last value, where the first one stood.
    case last
    /// The request is refused with 400.
    case reject
    /// Both members stay, as they came. JSON only.
    case keep
}

/// What happens to a field name with brackets that don't follow the grammar, as `a[b` or `a]`.
public enum MalformedKeyPolicy: String, Hashable, Sendable, CaseIterable {
    /// It is one flat name, brackets included.
    case literal
    /// The request is refused with 400.
    case reject
}

/// What happens to files.
public enum FilePolicy: String, Hashable, Sendable, CaseIterable {
    /// They pass as files.
    case stream
    /// Their bytes become a base64 string, or come from one. A file that becomes one loses its filename and media type.
    case base64
    /// They become objects, `{"filename":"a.jpg","content_type":"image/jpeg","data":"<base64>"}` with `data` last. A
    /// `filename` or `content_type` that the file has not is left out. Only where multipart becomes a document with objects.
    case object
    /// They are left out, by this rule.
    case drop
    /// A request with a file is refused with 422.
    case reject

    /// Why a file can't be an object, where a plan or a rule says that it is one.
    package static let objectFault: String = {
        let outputs = BodyEncoding.allCases.filter(\.hasObjects).map(\.rawValue).joined(separator: ", ")
        return "only files of multipart that become \(outputs) can be objects"
    }()
}

/// How a percent sign that begins no escape is read in a form.
public enum PercentPolicy: String, Hashable, Sendable, CaseIterable {
    /// As itself (WHATWG URL standard).
    case lenient
    /// The request is refused with 400.
    case strict
}

/// What happens to bytes that are not UTF-8 in text.
public enum InvalidUTF8Policy: String, Hashable, Sendable, CaseIterable {
    /// The request is refused with 400.
    case reject
    /// Each maximal ill-formed sequence becomes U+FFFD.
    case replace
    /// The text is read as ISO 8859-1.
    case latin1
}

/// The options of reading a form or multipart body into fields and a tree.
public struct FieldDecodingOptions: Hashable, Sendable {
    /// Whose rules put the fields together; `recast` unless set. `init(dialect:)` sets the other options to that library's too.
    public var dialect = Dialect.recast
    /// Which names and values are arrays: `auto`, keys 0…n-1 and repeated names.
    public var arrays = ArrayStyle.auto
    /// How a name says a path: `brackets`, as `a[b]`.
    public var nesting = NestingStyle.brackets
    /// Whether texts become numbers and booleans: `strings`, never.
    public var types = TypeInference.strings
    /// What happens to a second value of one name: `array`, both are kept.
    public var duplicates = DuplicatePolicy.array
    /// What happens to a name whose brackets don't follow the grammar: `literal`, it is one flat name.
    public var malformedKey = MalformedKeyPolicy.literal
    /// How a percent sign that begins no escape is read in a form: `lenient`, as itself.
    public var percent = PercentPolicy.lenient
    /// What happens to bytes that are not UTF-8: `reject`, 400.
    public var invalidUTF8 = InvalidUTF8Policy.reject
    /// What a form's field without a value is, as `a` in `a&b=1`: `empty`, a string without characters, or `key`, a null.
    public var nulls = NullStyle.empty
    /// What happens to the files of a multipart body: `stream`, they pass as files.
    public var files = FilePolicy.stream
    /// The charsets of texts: the first one of those that name none, all of them where the Content-Type of a body names it.
    /// Empty: UTF-8. The Content-Type of a part decides for that part whatever stands here.
    public var charsets: [Charset] = []
    /// What a field `_charset_` is (HTML standard, RFC 7578 §4.6): `field`, one as any other.
    public var charsetHint = CharsetHint.field
    /// What happens to a part whose Content-Transfer-Encoding changes its bytes (RFC 7578 §4.7): `reject`, 400.
    public var transferEncoding = TransferEncodingPolicy.reject
    /// What happens to a part of type multipart/mixed: `opaque`, it is a text as any other.
    public var mixed = MixedPolicy.opaque
    /// What a part of a JSON type is: `text`, its text.
    public var jsonParts = JSONPartPolicy.text
    /// The media types of which a part is a file although it has no filename; a part of any other type is a text then. None unless set.
    public var fileTypes: [MediaPattern] = []
    /// What remains of a filename with folders: `keep`, all of it.
    public var filenames = FilenamePolicy.keep

    /// The options of the dialect `recast`.
    public init() {}
}

/// The options of writing a form or multipart body.
public struct FieldEncodingOptions: Hashable, Sendable {
    /// Whose rules name the fields and spell their values; `recast` unless set. `init(dialect:)` sets the other options to that
    /// library's too.
    public var dialect = Dialect.recast
    /// How the elements of an array are named: `auto`.
    public var arrays = ArrayStyle.auto
    /// How a name says a path: `brackets`, as `a[b]`.
    public var nesting = NestingStyle.brackets
    /// What a null becomes: `empty`, a field with an empty value.
    public var nulls = NullStyle.empty
    /// What an empty array or object becomes: `reject`, an error that names it.
    public var empties = EmptyStyle.reject
    /// How booleans are spelt: `literal`, `true` and `false`.
    public var booleans = BooleanStyle.literal
    /// How a form escapes a space: `percent`, as `%20`.
    public var spaces = SpaceStyle.percent
    /// The order of the members: `input`, as they came.
    public var order = MemberOrder.input
    /// What happens to files: `stream`, they are files of a multipart body.
    public var files = FilePolicy.stream
    /// How often a part has a filename that isn't ASCII: `both`, as `filename` and as `filename*`.
    public var filenames = FilenameStyle.both

    /// The options of the dialect `recast`.
    public init() {}

    /// The bundle of a dialect: what its library does by itself. Each option can then be set by itself.
    ///
    /// | dialect | arrays | nulls | booleans | spaces | order |
    /// |---|---|---|---|---|---|
    /// | `afnetworking` | `brackets` | `key` | `numeric` | `percent` | `sorted` |
    /// | `alamofire` | `brackets` | `omit` | `numeric` | `percent` | `sorted`: by the encoded text, arrays too |
    /// | `qs` | `indices` | `empty` | `literal` | `percent` | `input` |
    /// | `php` | `indices` | `omit` | `numeric` | `plus` | `input` |
    /// | `rack` | `brackets` | `key` | `literal` | `plus` | `input` |
    /// | `whatwg` | `repeat` | `literal` | `literal` | `plus` | `input`, with `nesting: flat` |
    ///
    /// All but `recast` leave empty arrays and objects out, and write ambiguous names as their library does. `afnetworking`,
    /// `alamofire` and `whatwg` have `filenames: plain`, as these write them.
    public init(dialect: Dialect) { self = FieldStyle.of(dialect).bundle }

    /// Whether names that come in are to be spelled anew. Our own dialect leaves them as they came unless `arrays` or `nesting` is
    /// set, and to URLSearchParams a name is just a text.
    internal var writesNames: Bool {
        guard dialect == .recast || dialect == .whatwg else { return true }
        // A dialect that is set without its bundle leaves these two as they are at first.
        let own = FieldStyle.of(dialect).bundle
        return arrays != own.arrays && arrays != .auto || nesting != own.nesting && nesting != .brackets
    }

    /// Whether a whole array goes out as one JSON text.
    internal var writesArraysAsJSON: Bool { arrays == .json || arrays == .auto && nesting == .json }
}
