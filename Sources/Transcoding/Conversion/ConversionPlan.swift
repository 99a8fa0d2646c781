/// A whole conversion as a route or the command line declares it. Made once, checked at load, shared by all requests.
public struct ConversionPlan: Hashable, Sendable {
    /// The encodings that are taken, chosen by the Content-Type; one unless the input is declared `auto`.
    public var inputs: [BodyEncoding]
    /// Other media types that bodies of the one encoding in `inputs` come under, as JSON does under `text/plain`; none. Not for
    /// multipart, whose own type has the boundary.
    public var acceptedTypes: [MediaPattern] = []
    /// The encoding that goes out.
    public var output: BodyEncoding
    /// How form and multipart bodies are read.
    public var fieldDecoding = FieldDecodingOptions()
    /// How form and multipart bodies are written; `order`, `files` and `booleans` hold for JSON output too.
    public var fieldEncoding = FieldEncodingOptions()
    /// What happens to a repeated member of an object in JSON or a property list; nil: `keep` when JSON goes out, else `reject`.
    public var jsonDuplicates: DuplicatePolicy?
    /// How property lists are read.
    public var propertyListDecoding = PropertyList.DecodingOptions()
    /// How property lists are written; the output says in which format.
    public var propertyListEncoding = PropertyList.EncodingOptions()
    /// How XML is read.
    public var xmlDecoding = XML.DecodingOptions()
    /// How XML is written; `fieldEncoding.booleans` holds for it too.
    public var xmlEncoding = XML.EncodingOptions()
    /// What is done to fields between reading and writing; nothing.
    public var map = FieldMap()
    /// The declared types of fields, in the order of the settings; the first path that matches decides.
    public var types: [TypeRule] = []
    /// What becomes of an empty text where `types` declares a type that none can have.
    public var blanks = BlankPolicy.reject
    /// The declared files, in the order of the settings; the first path that matches decides.
    public var files: [FileRule] = []
    /// The field whose JSON text is the document; nil: the body is.
    public var document: DocumentRule?
    /// For `text` and `raw` input: the name of the field that the body becomes. Nil: text is the document itself, and a raw
    /// body the file `file`.
    public var inputField: String?
    /// For `text` and `raw` output: the name of the field that becomes the body. Nil: the document itself is the text, and
    /// the only field or file becomes the raw body.
    public var outputField: String?
    /// Whether nulls are left out of the output, after the map and the types.
    public var removeNulls = NullRemoval.off
    /// What a body may cost; beyond, it is refused with 413 or 400, as each limit says.
    public var limits = Limits()
    /// See `JSON.DecodingOptions`. Tests turn it off.
    package var usesBlocks = true

    /// Whether names are written anew where form or multipart comes in and goes out: read into a tree, and spelled as `fieldEncoding`
    /// says. Where they aren't, fields pass under the names they came with.
    ///
    /// While it isn't set, they are as soon as `fieldEncoding` asks for names of its own: by a dialect other than `recast` and `whatwg`,
    /// or by `arrays` or `nesting` that are neither the dialect's nor those of a plan at first. Set it to write `arrays: auto` anew, or to
    /// let names pass all the same.
    public var rewritesNames: Bool {
        get { chosenRewriting ?? fieldEncoding.writesNames }
        set { chosenRewriting = newValue }
    }
    private var chosenRewriting: Bool?

    /// The values that become one part each, with a JSON text, in a form or multipart body.
    public var jsonParts: [FieldPath] = []

    /// The output is `auto`: `output` is multipart, and this, form or JSON, is what goes out when there is no file.
    public var outputWithoutFiles: BodyEncoding?

    /// Whether the input is the query of a URL and no body; `inputs` is `form` then.
    public var readsQuery = false
    /// Whether the output is the query of a URL and no body; `output` is `form` then.
    public var writesQuery = false

    /// A plan with the defaults of all options.
    ///
    /// - Parameter inputs: at least one.
    public init(inputs: [BodyEncoding], output: BodyEncoding) {
        self.inputs = inputs
        self.output = output
    }
}

/// What a route does to fields between decoding and encoding, in this order: remove, rename, set, append.
public struct FieldMap: Hashable, Sendable {
    /// A field that gets another path, with all that is below it.
    public struct Rename: Hashable, Sendable {
        /// Where it stands; at most one place, or the body is refused with 422.
        public var from: FieldPath
        /// Where it goes.
        public var to: FieldPath
        /// A field that goes from one path to another.
        public init(from: FieldPath, to: FieldPath) {
            self.from = from
            self.to = to
        }
    }

    /// A value for a path.
    public struct Assignment: Hashable, Sendable {
        /// Where the value goes; what stands there is replaced by `set`.
        public var path: FieldPath
        /// What goes there.
        public var value: AssignedValue
        /// A value for a path.
        public init(path: FieldPath, value: AssignedValue) {
            self.path = path
            self.value = value
        }
    }

    /// Paths of what is left out.
    public var remove: [FieldPath] = []
    /// Fields that get another path, in this order.
    public var rename: [Rename] = []
    /// Values that are put in, in this order.
    public var set: [Assignment] = []
    /// Values that become the last element of the array at their path. A scalar that stands there becomes the first one,
    /// since a form says with one field what it says with several; where nothing stands, the array is made.
    public var append: [Assignment] = []

    /// Whether nothing is done.
    public var isEmpty: Bool { remove.isEmpty && rename.isEmpty && set.isEmpty && append.isEmpty }

    /// A map that does nothing.
    public init() {}
}

/// The value that `set` gives a field: written down in the settings, or taken from the request when the body begins.
public enum AssignedValue: Hashable, Sendable {
    /// A value that is always the same.
    case literal(Literal)
    /// A string from the request's head; the index into the values that the conversion is started with.
    case source(Int)
}

/// A value written down in the settings.
public indirect enum Literal: Hashable, Sendable {
    /// A member of an object.
    public struct Member: Hashable, Sendable {
        /// Its name.
        public var name: String
        /// Its value.
        public var value: Literal
        /// A member of that name.
        public init(name: String, value: Literal) {
            self.name = name
            self.value = value
        }
    }

    /// No value.
    case null
    /// True or false.
    case bool(Bool)
    /// The number's text in JSON's grammar.
    case number(String)
    /// A string.
    case string(String)
    /// An array, its elements in order.
    case array([Literal])
    /// An object, its members in order.
    case object([Member])
}

/// The type a field is read as. A value that doesn't fit is a 400 that names the field.
public enum FieldType: String, Hashable, Sendable, CaseIterable {
    /// A text, a number without a fraction, any number (`.5` is one, and goes out as `0.5`), true or false, a container, or JSON text that
    /// is read as its value.
    case string, integer, number, boolean, array, object, json
    /// A date or a point in time of RFC 3339; a date of a property list where one goes out.
    case date
    /// Base64 text; bytes of a property list where one goes out.
    case data

    /// Whether an empty text is none of the type's values, so that `BlankPolicy` says what becomes of it.
    package var hasBlanks: Bool {
        switch self {
        case .integer, .number, .boolean, .date, .json: true
        case .string, .array, .object, .data: false
        }
    }
}

/// What becomes of an empty text that is declared `integer`, `number`, `boolean`, `date` or `json`: what HTML forms send of an input in
/// which nothing was written.
public enum BlankPolicy: String, Hashable, Sendable, CaseIterable {
    /// A 400 `field_type`, as for any other text that doesn't fit.
    case reject
    /// It is null.
    case null
    /// It is left out.
    case omit
}

/// The declared type of the fields at a path.
public struct TypeRule: Hashable, Sendable {
    /// The fields.
    public var path: FieldPath
    /// What they are read as.
    public var type: FieldType
    /// The fields at `path` are read as `type`.
    public init(path: FieldPath, type: FieldType) {
        self.path = path
        self.type = type
    }
}
