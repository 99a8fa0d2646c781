package import Octets

/// What is known of a field or a file before its content: its name and, in multipart, its further headers.
///
/// One head is reused for all parts of a body: `removeAll` keeps the allocations.
public struct PartHead: Sendable {
    internal var bytes = ByteStore()
    internal var nameEnd = 0
    internal var filenameRange: Range<Int>?
    internal var mediaTypeRange: Range<Int>?
    internal var otherFields: [(name: Range<Int>, value: Range<Int>)] = []
    internal var lostParametersRange: Range<Int>?

    /// Whether the part is a file: it has a filename, or a rule or its media type declared it one.
    public var isFile = false

    /// Whether it is an input for files in which none was chosen: the filename is empty, and no content follows (HTML's "constructing the
    /// entry list"). `isFile` holds, too.
    public internal(set) var isUnchosen = false

    /// Whether the name has a value at all, an empty one included. False for a form's bare `a`, which differs from `a=` to
    /// some parsers; its content is one empty piece. Encodings that know no such thing write an empty value.
    public var hasValue = true

    /// Whether a rule has given a file its name, which its place in a document then doesn't change.
    internal var hasGivenName = false
    /// Whether what begins like a file is a text with a media type.
    internal var isText = false
    /// Whether the file came in a part that had no Content-Type: then it goes out without one where it stays a part.
    internal var isUntyped = false
    /// Whether the file came in a part that had no filename, and goes out without one where it stays a part.
    internal var isUnnamed = false
    /// Whether the name and the filename came with `\"` for quotation marks.
    internal var isNameEscaped = false
    internal var isFilenameEscaped = false
    /// Whether the filename came in a part that had it as `filename` alone: then it goes out so where it stays a part.
    internal var isFilenamePlain = false
    /// Where the delimiter in front of the head and the head stood in the multipart body that it came in; empty where it came in none.
    internal var place = 0..<0

    /// A head without a name.
    public init() {}

    /// A head with a name only, as form fields have it.
    public init(name: Span<UInt8>) {
        setName(name)
    }

    /// The field's name as it reads after decoding. Valid UTF-8.
    public var name: Span<UInt8> {
        @_lifetime(borrow self)
        get { slice(0..<nameEnd) }
    }

    /// Whether the part has a filename, an empty one included.
    public var hasFilename: Bool { filenameRange != nil }
    /// Whether the part has a Content-Type.
    public var hasMediaType: Bool { mediaTypeRange != nil }

    /// The file's name without folders, decoded; empty when there is none.
    public var filename: Span<UInt8> {
        @_lifetime(borrow self)
        get { slice(filenameRange ?? 0..<0) }
    }

    /// The value of the part's Content-Type, as received; empty when there is none.
    public var mediaType: Span<UInt8> {
        @_lifetime(borrow self)
        get { slice(mediaTypeRange ?? 0..<0) }
    }

    /// `name` as a string.
    public var nameText: String { name.lossyString() }
    /// `filename` as a string; nil where the part has none.
    public var filenameText: String? { hasFilename ? filename.lossyString() : nil }
    /// `mediaType` as a string; nil where the part has no Content-Type.
    public var mediaTypeText: String? { hasMediaType ? mediaType.lossyString() : nil }

    /// The number of further part headers, without Content-Disposition, Content-Type and Content-Length.
    public var otherFieldCount: Int { otherFields.count }

    /// The name of a further header. The index is below `otherFieldCount`.
    @_lifetime(borrow self)
    public func otherFieldName(_ index: Int) -> Span<UInt8> { slice(otherFields[index].name) }
    /// The value of a further header, as received. The index is below `otherFieldCount`.
    @_lifetime(borrow self)
    public func otherFieldValue(_ index: Int) -> Span<UInt8> { slice(otherFields[index].value) }

    @_lifetime(borrow self)
    private func slice(_ range: Range<Int>) -> Span<UInt8> {
        // SAFETY: the span points into `bytes`, which self owns; the borrow keeps self unchanged while the span lives.
        unsafe _overrideLifetime(bytes.slice(range), borrowing: self)
    }

    /// The names of those parameters of the Content-Disposition that are read by nobody and go no further, as they stood in it
    /// and with a comma between them; empty when there were none. No copy of the head has them.
    internal var lostParameters: Span<UInt8> {
        @_lifetime(borrow self)
        get { slice(lostParametersRange ?? 0..<0) }
    }

    /// The bytes that the head holds.
    internal var storedCount: Int { bytes.count }

    /// Empties the head and keeps its allocations.
    public mutating func removeAll() {
        bytes.removeAll()
        if !otherFields.isEmpty { otherFields.removeAll(keepingCapacity: true) }
        nameEnd = 0
        filenameRange = nil
        mediaTypeRange = nil
        lostParametersRange = nil
        isFile = false
        isUnchosen = false
        hasValue = true
        hasGivenName = false
        isText = false
        isUntyped = false
        isUnnamed = false
        isNameEscaped = false
        isFilenameEscaped = false
        isFilenamePlain = false
        place = 0..<0
    }

    /// Starts a head anew with `name`; everything else is forgotten.
    public mutating func setName(_ name: Span<UInt8>) {
        removeAll()
        bytes.append(contentsOf: name)
        nameEnd = bytes.count
    }

    /// A copy of this head under another name.
    public func renamed(_ name: Span<UInt8>) -> PartHead {
        var copy = PartHead()
        copy.copy(self, named: ByteStore(copying: name))
        copy.isFile = isFile || hasFilename
        return copy
    }

    /// Whether the head says more than a name and a filename: a Content-Type, or further headers.
    package var hasLines: Bool { mediaTypeRange != nil || !otherFields.isEmpty }

    /// Takes over the Content-Type and the further headers of `other`.
    package mutating func copyLines(of other: borrowing PartHead) {
        if other.hasMediaType { setMediaType(other.mediaType) }
        for index in 0..<other.otherFieldCount {
            addField(name: other.otherFieldName(index), value: other.otherFieldValue(index))
        }
    }

    /// Gives the part a filename, and so makes it a file.
    public mutating func setFilename(_ filename: Span<UInt8>) {
        filenameRange = appendRange(filename)
        isFilenameEscaped = false
        isFilenamePlain = false
        isFile = true
    }

    /// Gives the part a Content-Type.
    public mutating func setMediaType(_ mediaType: Span<UInt8>) {
        mediaTypeRange = appendRange(mediaType)
    }

    /// Adds a further header behind those that there are.
    public mutating func addField(name: Span<UInt8>, value: Span<UInt8>) {
        let nameRange = appendRange(name)
        otherFields.append((nameRange, appendRange(value)))
    }

    internal mutating func setLostParameters(_ names: Span<UInt8>) { lostParametersRange = appendRange(names) }

    private mutating func appendRange(_ value: Span<UInt8>) -> Range<Int> {
        let start = bytes.count
        bytes.append(contentsOf: value)
        return start..<bytes.count
    }
}

extension PartHead {
    /// For bytes in a store: a span of a stored property would hold all of a non-copyable owner.
    package mutating func setMediaType(copying mediaType: ByteStore) { setMediaType(mediaType.span) }

    /// Makes this head a copy of `other` under another name, with the allocations kept.
    package mutating func copy(_ other: borrowing PartHead, named name: ByteStore) {
        setName(copying: name)
        if other.hasFilename { setFilename(other.filename) }
        isFilenameEscaped = other.isFilenameEscaped
        isFilenamePlain = other.isFilenamePlain
        copyLines(of: other)
        isFile = other.isFile
        isUnchosen = other.isUnchosen
        hasValue = other.hasValue
        isUntyped = other.isUntyped
        isUnnamed = other.isUnnamed
        place = other.place
    }
}
