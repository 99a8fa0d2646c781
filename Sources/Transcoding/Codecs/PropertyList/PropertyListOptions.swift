/// Property lists, XML and binary: an incremental decoder and an encoder.
///
/// Two formats of one model: objects (`dict`), arrays, strings, integers, reals, booleans, dates and bytes. Neither has a
/// null. Both are sent as `application/x-plist`; a binary one begins with `bplist00`.
public enum PropertyList {}

extension PropertyList {
    /// The two formats, of what is written.
    public enum Format: String, Hashable, Sendable, CaseIterable {
        /// XML 1.0 in UTF-8, with the element names of Apple's PropertyList-1.0 DTD.
        case xml
        /// `bplist00`
        case binary
    }

    /// The formats that are read.
    public enum InputFormat: String, Hashable, Sendable, CaseIterable {
        /// Binary where the body begins with `b`, else XML: no XML text begins with that letter.
        case any
        /// XML only.
        case xml
        /// Binary only.
        case binary
    }

    /// What an infinite real, or one that is not a number, is read as. No event stands for it.
    public enum NonFiniteReals: String, Hashable, Sendable, CaseIterable {
        /// The body is refused with 422.
        case reject
        /// A string: `inf`, `-inf`, `nan`, or the text that the body has.
        case string
    }

    /// What an integer outside of −2⁶³…2⁶⁴−1 is written as.
    public enum LargeIntegers: String, Hashable, Sendable, CaseIterable {
        /// The body is refused with 422.
        case reject
        /// A real; of its digits a reader keeps some sixteen.
        case real
        /// A string with its digits. Under this rule a number beyond a double's range becomes one too.
        case string
    }

    /// What happens to the fraction of a second, which XML has no place for.
    public enum DateFractions: String, Hashable, Sendable, CaseIterable {
        /// The body is refused with 422.
        case reject
        /// It is left out, by this rule, as Foundation does it.
        case drop
    }

    /// How a property list is read.
    public struct DecodingOptions: Hashable, Sendable {
        /// The format that is read; either.
        public var format = InputFormat.any
        /// What happens to the second member of one name in a dictionary: `reject`, `first` (the later member is checked and
        /// left out), or it is passed on under any other policy.
        public var duplicates = DuplicatePolicy.reject
        /// What an infinite real, or one that is not a number, is read as: the body is refused with 422.
        public var nonFiniteReals = NonFiniteReals.reject

        /// The defaults.
        public init() {}
    }

    /// How a property list is written.
    public struct EncodingOptions: Hashable, Sendable {
        /// The format that is written; XML.
        public var format = Format.xml
        /// What happens to a null: `omit` leaves a member out and refuses an element, `empty` makes an empty string; any
        /// other style refuses.
        public var nulls = NullStyle.reject
        /// What an integer outside of −2⁶³…2⁶⁴−1 is written as: the body is refused with 422.
        public var largeIntegers = LargeIntegers.reject
        /// What happens to the fraction of a second in XML: the body is refused with 422.
        public var dateFractions = DateFractions.reject
        /// What happens to a file: `base64` writes it as `data`, `object` as a dictionary with its filename, its media type
        /// and its `data`. Under any other policy a file that arrives here is refused.
        public var files = FilePolicy.base64

        /// The defaults.
        public init() {}
    }
}
