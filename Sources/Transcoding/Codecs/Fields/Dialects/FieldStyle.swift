internal import Octets

/// How a library writes a document as fields: a row for each dialect, and all that the writer of fields knows of it.
///
/// `bundle` has what `FieldEncodingOptions` may change afterwards; the rest is what only the dialect says. A property that has a
/// value here already has that of most libraries.
internal struct FieldStyle {
    /// The options of the dialect, which `FieldEncodingOptions(dialect:)` gives.
    let bundle: FieldEncodingOptions
    /// What stands for itself in a form where a space is `%20`, and where it is `+`.
    let percent: Escaping
    let plus: Escaping
    /// Whether `spaces: plus` holds for a name without a value, too: qs doesn't reach it there.
    var hasPlusInBareNames = true
    /// Whether a form has names without a value; else only where `nulls: key` asks for them.
    var hasBareNames = true

    /// Whether a name that would be read as another path is refused, and arrays that a reader would put together in another
    /// way. The others write every name as it stands.
    var refusesAmbiguity = false
    /// Whether `arrays: auto` names each element by itself, as jQuery does. Ours decides for a whole array.
    var mixesArrays = true
    /// What a document is named that is an array, and what is done with one that is a single value or null.
    var arrayRoot = ArrayRoot.refused
    var scalarRoot = ScalarRoot.refused
    var dropsNullRoot = false
    /// How `arrays: comma` joins.
    var join = Join.loose
    /// Whether `empties: marker` gives an empty array a value: `a[]=`, not `a[]`.
    var markerHasValue = true
    /// What a null with an empty name leaves under `nulls: key`.
    var namelessNull = NamelessNull.nothing
    /// Whether an element of an array that leaves nothing leaves its place: Rack joins what is left of all elements with `&`.
    var leavesGaps = false
    /// What `order: sorted` sorts; nil where the sender of the document does it.
    var sorting: Sorting? = .members
    /// How a number is printed that a JSON text has; nil for its text as it stands.
    var numbers: NumberStyle?
    /// How a point in time is printed.
    var dates = DateStyle.text

    /// What is left of a form's bytes.
    struct Escaping {
        /// The bytes that stand for themselves.
        let kept: ByteSet
        /// What each byte becomes, as `FieldText` takes it.
        let table: [UInt32]

        init(_ kept: ByteSet, plusForSpace: Bool) {
            self.kept = kept
            table = FieldText.makeTable(keeping: kept, plusForSpace: plusForSpace)
        }
    }

    enum ArrayRoot {
        case refused
        /// `0=a&1=b`
        case numbered
        /// `[]=a&[]=b`, and `(null)[]=a`, whose name counts as one segment more.
        case brackets, nullBrackets
        /// Pairs of a name and a value: URLSearchParams' other constructor.
        case pairs
    }

    enum ScalarRoot {
        case refused
        /// `=a`
        case nameless
    }

    enum Join {
        /// Each element is one between commas to a reader: values with commas, and all that is no scalar, are refused.
        case strict
        /// As qs joins: commas in values pass, nulls are empty, inner arrays are joined too, and the field begins with its
        /// first byte. Objects are refused.
        case loose
    }

    enum NamelessNull {
        /// An empty name with an empty value, `=`.
        case pair
        /// Nothing between two `&`.
        case nothing
        /// No field.
        case omitted
    }

    enum Sorting {
        /// The members of each object by their keys; elements stay.
        case members
        /// The encoded fields below each object and array, as Alamofire does. Such a document is held in any order, for it is
        /// put together in another way: see `AlamofireComponents`.
        case components
    }

    /// Whether a document is held until its end.
    func holdsDocument(_ order: MemberOrder) -> Bool {
        sorting == .components || sorting == .members && order == .sorted
    }

    func escaping(_ spaces: SpaceStyle) -> Escaping { spaces == .plus ? plus : percent }
}

// MARK: The table

extension FieldStyle {
    static func of(_ dialect: Dialect) -> FieldStyle {
        switch dialect {
        case .recast: recast
        case .afnetworking: afnetworking
        case .alamofire: alamofire
        case .qs: qs
        case .php: php
        case .rack: rack
        case .whatwg: whatwg
        }
    }

    /// Nothing ambiguous is written.
    private static let recast = FieldStyle(
        bundle: FieldEncodingOptions(),
        percent: .form, plus: .formPlus,
        refusesAmbiguity: true, mixesArrays: false, join: .strict, namelessNull: .pair, sorting: nil)

    /// `AFQueryStringFromParameters`
    private static let afnetworking = FieldStyle(
        bundle: .init(
            .afnetworking, arrays: .brackets, nulls: .key, booleans: .numeric, order: .sorted, filenames: .plain),
        percent: .query, plus: .queryPlus,
        arrayRoot: .nullBrackets, scalarRoot: .nameless, dropsNullRoot: true,
        numbers: .objectiveC, dates: .description)

    /// `URLEncodedFormEncoder` 5
    private static let alamofire = FieldStyle(
        bundle: .init(
            .alamofire, arrays: .brackets, nulls: .omit, booleans: .numeric, order: .sorted, filenames: .plain),
        percent: .query, plus: .queryPlus,
        // Every other array is refused once its components are known.
        arrayRoot: .numbered, dropsNullRoot: true, sorting: .components,
        numbers: .swift, dates: .secondsSince2001)

    /// `qs.stringify`
    private static let qs = FieldStyle(
        bundle: .init(.qs, arrays: .indices),
        percent: .unreserved, plus: .parenthesesPlus, hasPlusInBareNames: false,
        arrayRoot: .numbered, dropsNullRoot: true, markerHasValue: false,
        numbers: .javaScript, dates: .milliseconds)

    /// `http_build_query`
    private static let php = FieldStyle(
        bundle: .init(.php, arrays: .indices, nulls: .omit, booleans: .numeric, spaces: .plus),
        percent: .unreserved, plus: .dashesPlus,
        arrayRoot: .numbered,
        numbers: .php)

    /// `build_nested_query` of Rack 3
    private static let rack = FieldStyle(
        bundle: .init(.rack, arrays: .brackets, nulls: .key, spaces: .plus),
        percent: .form, plus: .formPlus,
        arrayRoot: .brackets, dropsNullRoot: true, namelessNull: .omitted, leavesGaps: true,
        numbers: .ruby)

    /// `URLSearchParams`
    private static let whatwg = FieldStyle(
        bundle: .init(
            .whatwg, arrays: .repeated, nesting: .flat, nulls: .literal, spaces: .plus, filenames: .plain),
        percent: .form, plus: .formPlus, hasBareNames: false,
        arrayRoot: .pairs,
        numbers: .javaScript)
}

extension FieldEncodingOptions {
    /// The bundle of a dialect other than ours: all of them leave empty arrays and objects out.
    fileprivate init(
        _ dialect: Dialect, arrays: ArrayStyle, nesting: NestingStyle = .brackets, nulls: NullStyle = .empty,
        booleans: BooleanStyle = .literal, spaces: SpaceStyle = .percent, order: MemberOrder = .input,
        filenames: FilenameStyle = .both
    ) {
        self.init()
        self.dialect = dialect
        self.arrays = arrays
        self.nesting = nesting
        self.nulls = nulls
        self.booleans = booleans
        self.spaces = spaces
        self.order = order
        self.filenames = filenames
        empties = .omit
    }
}

extension FieldStyle.Escaping {
    /// `*-._` (WHATWG URL §5.2)
    static let form = Self(.formUnescaped, plusForSpace: false)
    static let formPlus = Self(.formUnescaped, plusForSpace: true)
    /// `-._~/?`
    static let query = Self(.queryUnescaped, plusForSpace: false)
    static let queryPlus = Self(.queryUnescaped, plusForSpace: true)
    /// `-._~`
    static let unreserved = Self(.unreserved, plusForSpace: false)
    /// `-._~()`
    static let parenthesesPlus = Self(.unreservedAndParentheses, plusForSpace: true)
    /// `-._`
    static let dashesPlus = Self(.alphanumericAndDashes, plusForSpace: true)
}
