/// The XML format (XML 1.0, fifth edition, in UTF-8 and without a DOCTYPE): a decoder and an encoder.
///
/// XML has no one form for objects and arrays; `XML.Convention` says which is used.
public enum XML {}

extension XML {
    /// How a document of objects, arrays and scalars is said in XML.
    public enum Convention: String, Hashable, Sendable, CaseIterable {
        /// Elements are members, as in xmltodict: attributes are members with a prefix, an element's text beside them
        /// is a member of its own, siblings of one name are an array. Everything is a string unless an option says
        /// otherwise.
        case attributes
        /// The vocabulary of XPath and XSLT 3.0 for JSON (`json-to-xml`): `<map><number key="a">1</number></map>`. It
        /// keeps every type and every empty array, so that JSON comes back as it went.
        case lossless
    }

    /// What happens to text that stands beside child elements.
    public enum MixedContent: String, Hashable, Sendable, CaseIterable {
        /// It is refused: its place among the elements would be lost.
        case refuse
        /// The pieces are joined into one text, and where they stood is given up.
        case join
    }

    /// Bytes of one name of an element or an attribute, read or written, where nothing else is said.
    public static var nameLimit: Int { 256 }

    /// Processing instructions of a document, where nothing else is said.
    internal static var instructionLimit: Int { 1000 }
    /// Attributes of an element, where nothing else is said.
    internal static var attributeLimit: Int { 64 }

    /// The namespace of the lossless vocabulary (XPath and XQuery Functions and Operators 3.1, §17.4).
    internal static var vocabulary: StaticString { "http://www.w3.org/2005/xpath-functions" }
    /// The namespace of `xsi:nil` (XML Schema Part 1, §2.6.2).
    internal static var schemaInstance: StaticString { "http://www.w3.org/2001/XMLSchema-instance" }
}
