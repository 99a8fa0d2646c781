/// A whole conversion as a route or the command line declares it. Made once, checked at load, shared by all requests.
public struct ConversionPlan: Hashable, Sendable {
    /// The encodings that are taken, chosen by the Content-Type; one unless the input is declared `auto`.
    public var inputs: [BodyEncoding]
    public var output: BodyEncoding
    /// How form and multipart bodies are read.
    public var fieldDecoding = FieldDecodingOptions()
    /// How form and multipart bodies are written; `order`, `files` and `booleans` hold for JSON output too.
    public var fieldEncoding = FieldEncodingOptions()
    /// What happens to a repeated member of an object in JSON or a property list; nil: `keep` when JSON goes out, else `reject`.
    public var jsonDuplicates: DuplicatePolicy?
    public var propertyListDecoding = PropertyList.DecodingOptions()
    /// How property lists are written; the output says in which format.
    public var propertyListEncoding = PropertyList.EncodingOptions()
    public var xmlDecoding = XML.DecodingOptions()
    /// How XML is written; `fieldEncoding.booleans` holds for it too.
    public var xmlEncoding = XML.EncodingOptions()
    public var map = FieldMap()
    /// The declared types of fields, in the order of the settings; the first path that matches decides.
    public var types: [TypeRule] = []
    /// The declared files, in the order of the settings; the first path that matches decides.
    public var files: [FileRule] = []
    /// For `text` and `raw` input: the name of the field that the body becomes. Nil: text is the document itself, and a raw
    /// body the file `file`.
    public var inputField: String?
    /// For `text` and `raw` output: the name of the field that becomes the body. Nil: the document itself is the text, and
    /// the only field or file becomes the raw body.
    public var outputField: String?
    /// Whether nulls are left out of the output, after the map and the types.
    public var removeNulls = NullRemoval.off
    public var limits = Limits()
    /// See `JSON.DecodingOptions`. Tests turn it off.
    package var usesBlocks = true

    /// Whether the encoder's `arrays` or `nesting` was written down. When it was not, fields pass from form or multipart to
    /// form or multipart under the names they came with; when it was, names are read into a tree and written anew.
    public var rewritesNames = false

    /// The values that become one part each, with a JSON text, in a form or multipart body.
    public var jsonParts: [FieldPath] = []

    /// The output is `auto`: `output` is multipart, and this, form or JSON, is what goes out when there is no file.
    public var outputWithoutFiles: BodyEncoding?

    /// Whether the input is the query of a URL and no body; `inputs` is `form` then.
    public var readsQuery = false
    /// Whether the output is the query of a URL and no body; `output` is `form` then.
    public var writesQuery = false

    public init(inputs: [BodyEncoding], output: BodyEncoding) {
        self.inputs = inputs
        self.output = output
    }
}

/// What a route does to fields between decoding and encoding, in this order: remove, rename, set, append.
public struct FieldMap: Hashable, Sendable {
    public struct Rename: Hashable, Sendable {
        public var from: FieldPath
        public var to: FieldPath
        public init(from: FieldPath, to: FieldPath) {
            self.from = from
            self.to = to
        }
    }

    public struct Assignment: Hashable, Sendable {
        public var path: FieldPath
        public var value: AssignedValue
        public init(path: FieldPath, value: AssignedValue) {
            self.path = path
            self.value = value
        }
    }

    public var remove: [FieldPath] = []
    public var rename: [Rename] = []
    public var set: [Assignment] = []
    /// Values that become the last element of the array at their path. A scalar that stands there becomes the first one,
    /// since a form says with one field what it says with several; where nothing stands, the array is made.
    public var append: [Assignment] = []

    public var isEmpty: Bool { remove.isEmpty && rename.isEmpty && set.isEmpty && append.isEmpty }

    public init() {}
}

/// The value that `set` gives a field: written down in the settings, or taken from the request when the body begins.
public enum AssignedValue: Hashable, Sendable {
    case literal(Literal)
    /// A string from the request's head; the index into the values that the conversion is started with.
    case source(Int)
}

/// A value written down in the settings.
public indirect enum Literal: Hashable, Sendable {
    public struct Member: Hashable, Sendable {
        public var name: String
        public var value: Literal
        public init(name: String, value: Literal) {
            self.name = name
            self.value = value
        }
    }

    case null
    case bool(Bool)
    /// The number's text in JSON's grammar.
    case number(String)
    case string(String)
    case array([Literal])
    case object([Member])
}

/// The type a field is read as. A value that doesn't fit is a 400 that names the field.
public enum FieldType: String, Hashable, Sendable, CaseIterable {
    case string, integer, number, boolean, array, object, json
    /// A date or a point in time of RFC 3339; a date of a property list where one goes out.
    case date
    /// Base64 text; bytes of a property list where one goes out.
    case data
}

public struct TypeRule: Hashable, Sendable {
    public var path: FieldPath
    public var type: FieldType
    public init(path: FieldPath, type: FieldType) {
        self.path = path
        self.type = type
    }
}
