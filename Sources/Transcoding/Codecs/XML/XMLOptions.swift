extension XML {
    /// How an XML body is read.
    public struct DecodingOptions: Hashable, Sendable {
        /// What an element without attributes, children and text is.
        public enum Empty: String, Hashable, Sendable, CaseIterable {
            case null
            /// An empty string.
            case string
        }

        public enum Namespaces: String, Hashable, Sendable, CaseIterable {
            /// Names stay as they are written, prefix and all, and declarations are attributes: `@xmlns:p`.
            case keep
            /// Prefixes are taken from names, and declarations are left out, by this rule.
            case strip
        }

        /// What text becomes anything but a string, in elements and in attributes alike.
        public struct Recognition: OptionSet, Hashable, Sendable {
            public let rawValue: UInt8
            public init(rawValue: UInt8) { self.rawValue = rawValue }

            /// Text that is a JSON number (RFC 8259 §6) as a whole; it keeps its text.
            public static let numbers = Recognition(rawValue: 1)
            /// The text `true` or `false`.
            public static let booleans = Recognition(rawValue: 2)
            /// An empty element with `xsi:nil="true"` and no other attribute but a declaration of `xsi` is null.
            public static let nulls = Recognition(rawValue: 4)
        }

        public enum Root: String, Hashable, Sendable, CaseIterable {
            /// The document is an object with one member, the root element.
            case keep
            /// The document is the value of the root element, whose name is left out by this rule.
            case drop
        }

        /// What stands before an attribute's name in the member's.
        public var attributePrefix = "@"
        /// The name of the member that holds an element's text beside attributes.
        public var textKey = "#text"
        /// Elements that are arrays also where they stand alone. A path names elements as the document's members are
        /// named and does not count arrays: with `root: keep` it begins with the root element, `order.item`; `*` is
        /// any one name.
        public var alwaysArray: [FieldPath] = []
        public var empty = Empty.null
        public var namespaces = Namespaces.keep
        public var convention = Convention.attributes
        public var recognize: Recognition = []
        public var root = Root.keep
        public var mixed = MixedContent.refuse
        /// Attributes of one element, declarations of namespaces included; 64.
        public var attributeLimit = XML.attributeLimit
        /// Processing instructions of a document, the declaration not among them; 1000.
        public var instructionLimit = XML.instructionLimit
        /// Bytes of one name of an element or an attribute; 256. `limits.key` holds besides.
        public var nameLimit = XML.nameLimit

        public init() {}
    }

    /// How an XML body is written.
    public struct EncodingOptions: Hashable, Sendable {
        /// When the root element is one that the document doesn't name.
        public enum Root: String, Hashable, Sendable, CaseIterable {
            /// Unless the document is an object with one member, which isn't an array, an attribute or text. The first
            /// member is held until that is known: at most `limits.tree`.
            case auto
            /// Always: the document stands in an element of the name `rootName`.
            case wrap
            /// Never: a document that is not such an object is refused.
            case member
        }

        public enum Nulls: String, Hashable, Sendable, CaseIterable {
            /// `<a/>`; an attribute with an empty value.
            case empty
            /// `<a xsi:nil="true"/>` with a declaration of `xsi`; attributes are refused.
            case nilAttribute = "nil"
            /// The member or the array's element is left out, by this rule.
            case omit
            /// The document is refused with 422.
            case reject
        }

        /// What happens to a member's name that is no name in XML.
        public enum Names: String, Hashable, Sendable, CaseIterable {
            /// The document is refused with 422.
            case reject
            /// `<item key="1 name">`: the element has the name `itemName`, the member's is an attribute. An
            /// attribute's bad name is refused nevertheless.
            case item
        }

        /// The root element's name, where the document doesn't give one.
        public var rootName = "root"
        /// The name of the elements of an array that stands in an array or is the document.
        public var itemName = "item"
        /// Bytes of one name of an element or an attribute, as they are read; 256.
        public var nameLimit = XML.nameLimit
        /// Members with this before their name are attributes; empty: none are.
        public var attributePrefix = "@"
        /// The member that is the text of its element; empty: none is.
        public var textKey = "#text"
        public var root = Root.auto
        public var nulls = Nulls.empty
        /// What an empty array becomes: `reject`, `omit`, or under `marker` an empty element. An empty object is one
        /// always.
        public var empties = EmptyStyle.reject
        public var booleans = BooleanStyle.literal
        /// Whether `<?xml version="1.0" encoding="UTF-8"?>` and a line feed come first.
        public var declaration = true
        /// Spaces by which a level is indented, on a line of its own for each element; 0: everything on one line.
        public var indentation = 0
        public var convention = Convention.attributes
        public var names = Names.reject
        public var mixed = MixedContent.refuse
        /// What happens to a file: `base64` writes it as text, `object` as `filename`, `content_type` and `data`.
        /// Under any other policy a file that arrives here is refused.
        public var files = FilePolicy.base64

        public init() {}
    }
}
