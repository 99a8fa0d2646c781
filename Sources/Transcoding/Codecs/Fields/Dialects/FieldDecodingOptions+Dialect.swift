extension FieldDecodingOptions {
    /// The options that read as `dialect` does; each can be changed afterwards.
    ///
    /// | dialect | what it sets besides the defaults | what only `dialect` says |
    /// |---|---|---|
    /// | `recast` | | |
    /// | `afnetworking` | `nulls: key` | |
    /// | `alamofire` | | |
    /// | `qs` | | tokens, names, merging, arrays of more than 20 |
    /// | `php` | `duplicates: last` | names, indices, overwriting |
    /// | `rack` | `arrays: brackets`, `duplicates: last`, `percent: strict`, `nulls: key` | `& ` , names, overwriting |
    /// | `whatwg` | `nesting: flat`, `invalid_utf8: replace` | |
    ///
    /// AFNetworking and Alamofire are clients: they read no forms. Under their names a form is read back into what they
    /// made it from, as far as that can be told. Both write arrays of objects as `a[][x]=1` with the keys sorted, for
    /// Rack's grouping, which `recast` has too; AFNetworking writes a null as a key alone. What can't be told stays text:
    /// `1` that was a boolean, a date, an empty array that has vanished.
    ///
    /// What a library leaves out or overwrites by a rule is left out and counted as removed. What it would cut off at a
    /// limit is refused: more fields than `limits.fields` (1000 in qs and PHP), names deeper than
    /// `Limits.keyDepth(for:)`.
    public init(dialect: Dialect) {
        self.init()
        self.dialect = dialect
        switch dialect {
        case .recast, .alamofire, .qs: break
        case .afnetworking: nulls = .key
        case .php: duplicates = .last
        case .rack:
            arrays = .brackets
            duplicates = .last
            percent = .strict
            nulls = .key
        case .whatwg:
            nesting = .flat
            invalidUTF8 = .replace
        }
    }

    /// Whether names are read, and fields put together, by the rules of a library instead of ours.
    internal var readsNamesAsLibrary: Bool { dialect.hasOwnNames && (nesting == .brackets || nesting == .dots) }

    /// Whether a field's text may be an array or an object.
    internal var readsTextsAsStructure: Bool { nesting == .json || arrays == .comma || arrays == .json }

    /// The library by whose rules names are read; nil: by ours.
    internal var libraryOfNames: Dialect? { readsNamesAsLibrary ? dialect : nil }
}

extension Dialect {
    /// Whether the library has a grammar of its own for names.
    internal var hasOwnNames: Bool {
        switch self {
        case .qs, .php, .rack: true
        case .recast, .afnetworking, .alamofire, .whatwg: false
        }
    }
}
