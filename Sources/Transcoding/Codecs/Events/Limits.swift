/// The bounds of one conversion. Beyond each the input is refused with an error that names the setting; nothing is cut off.
///
/// What is set below 0 is 0.
public struct Limits: Hashable, Sendable {
    /// Bytes of the body as it arrives, streamed; 100 MiB.
    public var body = 100 * 1024 * 1024 { didSet { body = max(body, 0) } }
    /// Bytes of names and values held in a tree; 1 MiB. While it is not set, a body that lies in memory already may make more of
    /// them; see `tree(forBody:)`.
    public var tree: Int {
        get { chosenTree ?? 1024 * 1024 }
        set { chosenTree = max(newValue, 0) }
    }
    private var chosenTree: Int?
    /// Fields of a form, or text parts of a multipart body; 1000 (PHP's and qs' number).
    public var fields = 1000 { didSet { fields = max(fields, 0) } }
    /// Bytes of one text field that enters the tree; 64 KiB. While it is not set, a body that lies in memory already may have longer
    /// ones: all of it may be one.
    public var field = 64 * 1024 {
        didSet {
            field = max(field, 0)
            isFieldChosen = true
        }
    }
    private var isFieldChosen = false
    /// Segments of a bracketed or dotted field name after its root; 32: `a[b]` has one. While it is not set, names are
    /// read with the number of their dialect's library; see `keyDepth(for:)`.
    public var keyDepth: Int {
        get { chosenKeyDepth ?? 32 }
        set { chosenKeyDepth = max(newValue, 0) }
    }
    private var chosenKeyDepth: Int?
    /// Nested arrays and objects of a document; 128.
    public var depth = 128 { didSet { depth = max(depth, 0) } }
    /// Bytes of one key or field name; 1 KiB.
    public var key = 1024 { didSet { key = max(key, 0) } }
    /// Bytes of one number's text; 1 KiB.
    public var number = 1024 { didSet { number = max(number, 0) } }
    /// Parts of a multipart body, files included; 1000.
    public var parts = 1000 { didSet { parts = max(parts, 0) } }
    /// Header lines of one part; 16.
    public var partHeaders = 16 { didSet { partHeaders = max(partHeaders, 0) } }
    /// Bytes of one part header line; 8 KiB.
    public var partHeaderLine = 8 * 1024 { didSet { partHeaderLine = max(partHeaderLine, 0) } }
    /// Bytes of all header lines of one part; 16 KiB.
    public var partHeaderBytes = 16 * 1024 { didSet { partHeaderBytes = max(partHeaderBytes, 0) } }
    /// Bytes before the first boundary; 16 KiB.
    public var preamble = 16 * 1024 { didSet { preamble = max(preamble, 0) } }
    /// Characters of a multipart boundary; 70 (RFC 2046 §5.1.1).
    public var boundary = 70 { didSet { boundary = max(boundary, 0) } }

    /// The limits that are there while nothing else is set; each says its number.
    public init() {}

    /// The bytes that the names and values of a whole body of `count` bytes may take, which a program holds in memory: `tree` where
    /// that is set, else 64 for each byte of the body, and 1 MiB at least.
    ///
    /// A value counts 48 beside its text, so JSON, XML, forms and XML property lists never come to 64. What a binary property list
    /// shares counts as often as it stands somewhere, and is what this bounds.
    public func tree(forBody count: Int) -> Int {
        if let chosenTree { return chosenTree }
        let (bytes, passes) = count.multipliedReportingOverflow(by: 64)
        return max(tree, passes ? .max : bytes)
    }

    /// The limits with those of a whole body in the place of `tree` and `field`.
    package func forBody(of count: Int) -> Limits {
        var limits = self
        limits.tree = tree(forBody: count)
        if !isFieldChosen { limits.field = max(field, count) }
        return limits
    }

    /// The limits for writing what a program holds in memory: while `tree` is not set, nothing bounds what a writer must hold besides.
    package var forDocument: Limits {
        var limits = self
        limits.tree = chosenTree ?? .max
        return limits
    }

    /// The segments that a field name may have after its root on input: `keyDepth` where that is set, else what the
    /// dialect's library takes: 64 in PHP (`max_input_nesting_level`), 31 in Rack, 5 in qs, and 32 elsewhere. Beyond it
    /// qs takes the rest of the name for one key, and so do we; the others cut off or refuse, and we refuse.
    public func keyDepth(for dialect: Dialect) -> Int {
        if let chosenKeyDepth { return chosenKeyDepth }
        return switch dialect {
        case .php: 64
        case .rack: 31
        case .qs: 5
        case .recast, .afnetworking, .alamofire, .whatwg: keyDepth
        }
    }
}
