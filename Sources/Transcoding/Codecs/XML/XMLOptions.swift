extension XML {
    /// How an XML body is read.
    public struct DecodingOptions: Hashable, Sendable {
        /// What an element without attributes, children and text is.
        public enum Empty: String, Hashable, Sendable, CaseIterable {
            /// No value.
            case null
            /// An empty string.
            case string
        }

        /// What becomes of prefixes and of declarations of namespaces (Namespaces in XML 1.0).
        public enum Namespaces: String, Hashable, Sendable, CaseIterable {
            /// Names stay as they are written, prefix and all, and declarations are attributes: `@xmlns:p`.
            case keep
            /// Prefixes are taken from names, and declarations are left out, by this rule.
            case strip
        }

        /// What text becomes anything but a string, in elements and in attributes alike.
        public struct Recognition: OptionSet, Hashable, Sendable {
            /// The set as bits.
            public let rawValue: UInt8
            /// The set that those bits are.
            public init(rawValue: UInt8) { self.rawValue = rawValue }

            /// Text that is a JSON number (RFC 8259 §6) as a whole; it keeps its text.
            public static let numbers = Recognition(rawValue: 1)
            /// The text `true` or `false`.
            public static let booleans = Recognition(rawValue: 2)
            /// An empty element with `xsi:nil="true"` and no other attribute but a declaration of `xsi` is null.
            public static let nulls = Recognition(rawValue: 4)
        }

        /// What becomes of the root element's name.
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
        /// What an element without attributes, children and text is; null.
        public var empty = Empty.null
        /// What becomes of prefixes; they stay.
        public var namespaces = Namespaces.keep
        /// How elements, attributes and text become members; see `XML.Convention`.
        public var convention = Convention.attributes
        /// What text becomes anything but a string; nothing.
        public var recognize: Recognition = []
        /// Whether the root element's name is a member; it is.
        public var root = Root.keep
        /// What happens to text between elements: the body is refused with 422.
        public var mixed = MixedContent.refuse
        /// Attributes of one element, declarations of namespaces included; 64.
        public var attributeLimit = XML.attributeLimit
        /// Processing instructions of a document, the declaration not among them; 1000.
        public var instructionLimit = XML.instructionLimit
        /// Bytes of one name of an element or an attribute; 256. `limits.key` holds besides.
        public var nameLimit = XML.nameLimit

        /// The defaults.
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

        /// What a null is written as.
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
        /// When the document stands in an element of the name `rootName`.
        public var root = Root.auto
        /// What a null is written as; an empty element.
        public var nulls = Nulls.empty
        /// What an empty array becomes: `reject`, `omit`, or under `marker` an empty element. An empty object is one
        /// always.
        public var empties = EmptyStyle.reject
        /// The texts of true and false: `true` and `false`.
        public var booleans = BooleanStyle.literal
        /// Whether `<?xml version="1.0" encoding="UTF-8"?>` and a line feed come first.
        public var declaration = true
        /// Spaces by which a level is indented, on a line of its own for each element; 0: everything on one line. At most 16: what
        /// is set beyond that is 16, and 0 where it is less.
        public var indentation = 0 { didSet { indentation = min(max(indentation, 0), 16) } }
        /// How members become elements, attributes and text; see `XML.Convention`.
        public var convention = Convention.attributes
        /// What happens to a member's name that is no name in XML: the document is refused with 422.
        public var names = Names.reject
        /// What happens to text between elements: the document is refused with 422.
        public var mixed = MixedContent.refuse
        /// What happens to a file: `base64` writes it as text, `object` as `filename`, `content_type` and `data`.
        /// Under any other policy a file that arrives here is refused.
        public var files = FilePolicy.base64

        /// The defaults.
        public init() {}
    }
}
