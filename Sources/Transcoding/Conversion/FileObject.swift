internal import Octets

/// An object of a document that stands for a file: `{"filename":"a.jpg","content_type":"image/jpeg","data":"<base64>"}`, as
/// `files: object` writes it. What is said of the file must precede its bytes, because these stream.
internal struct FileObject {
    enum Member {
        case filename, contentType, data
    }

    enum Fault: ConversionFault {
        case member, twice, order, noData, type, noFilename

        var row: ConversionError {
            switch self {
            case .member:
                .unrepresentable(
                    "file_object_member",
                    "a file has filename, content_type and data, which are strings, and nothing else", setting: "files")
            case .twice: .malformed("file_object_member", "a member of the file stands twice", setting: "files")
            case .order:
                .unrepresentable("file_object_order", "filename and content_type must precede data", setting: "files")
            case .type:
                .unrepresentable(
                    "multipart_media_type_unwritable", "content_type is no media type (RFC 9110 section 8.3.1)",
                    setting: "files")
            case .noFilename: Multipart.Fault.filenameEmpty.row
            case .noData: .malformed("file_object_data", "the file has no data, which must be base64", setting: "files")
            }
        }
    }

    let rule: Int
    var member = Member.data
    var hasFilename = false
    var hasType = false
    var hasData = false

    init(rule: Int) { self.rule = rule }
}

// MARK: Files

extension EventMapper where Encoder: ~Copyable {
    /// - Parameter isElement: whether the file is an element of the array that the rule is about.
    mutating func beginFile(rule: Int, isElement: Bool, _ source: FileSource) throws(ConversionError) {
        observer?.makesFile(by: rules[rule])
        gate.make(rule: rule, from: source, field: place)
        spelled.removeAll()
        let isNamed = try gate.spell(rule: rule, element: element(by: rule, isElement: isElement), to: &spelled)
        head.setName(copying: spelled)
        head.hasGivenName = isNamed
        head.isFile = true
    }

    /// Sends on what a text says of the file at hand.
    mutating func makeFile(of piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        let made = try gate.make(from: piece, isLast: isLast)
        if made == .nothing { return }
        if made == .begins {
            let isNamed = gate.hasName(rule: gate.madeRule)
            try gate.describeMade(&head, hasName: isNamed)
            if !gate.beginMadeHold(head) { try encoder.beginFile(head) }
        }
        try gate.countMade()
        if gate.hold.isGathering { return gate.holdMade(isLast: isLast) }
        if isLast || !gate.made.isEmpty { try encoder.send(fileContent: gate.made, isLast: isLast) }
    }
}

// MARK: Objects that are files

extension EventMapper where Encoder: ~Copyable {
    mutating func beginFileObject(rule: Int, isElement: Bool) throws(ConversionError) {
        object = FileObject(rule: rule)
        try beginFile(rule: rule, isElement: isElement, .object)
    }

    mutating func enterMember(_ name: Span<UInt8>) throws(ConversionError) {
        guard var file = object else { return }
        if name.isEqual(to: "filename") {
            if file.hasFilename { throw badObject(.twice) }
            (file.member, file.hasFilename) = (.filename, true)
        } else if name.isEqual(to: "content_type") {
            if file.hasType { throw badObject(.twice) }
            (file.member, file.hasType) = (.contentType, true)
        } else if name.isEqual(to: "data") {
            if file.hasData { throw badObject(.twice) }
            (file.member, file.hasData) = (.data, true)
        } else {
            throw badObject(.member)
        }
        if file.hasData, file.member != .data { throw badObject(.order) }
        spelled.removeAll()
        object = file
    }

    mutating func takeMember(_ piece: Span<UInt8>, isLast: Bool) throws(ConversionError) {
        guard let file = object else { return }
        if file.member == .data { return try makeFile(of: piece, isLast: isLast) }
        try gate.checkName(spelled.count + piece.count)
        spelled.append(contentsOf: piece)
        guard isLast else { return }
        if file.member == .filename {
            guard gate.setFilename(spelled, of: &head) else { throw badObject(.noFilename) }
        } else {
            // Of what a browser knows no type it says an empty one.
            guard spelled.isEmpty || ContentType.isMediaType(spelled.span) else { throw badObject(.type) }
            head.setMediaType(copying: spelled)
        }
    }

    /// What is said to be nothing is not said.
    mutating func takeNullMember() throws(ConversionError) {
        guard let file = object, file.member != .data else { throw badObject(.noData) }
        absorb()
    }

    /// Counts a scalar that is part of a file.
    mutating func absorb() {
        absorbed += 1
        observer?.absorbs()
    }

    mutating func endFileObject() throws(ConversionError) {
        guard let file = object, file.hasData else { throw badObject(.noData) }
        object = nil
        accounting.files += 1
        // Its own text has been counted with what belongs to it.
        absorbed -= 1
        leaveValue()
    }

    func badObject(_ fault: FileObject.Fault) -> ConversionError { fault.error(field: place.span.lossyString()) }
}
