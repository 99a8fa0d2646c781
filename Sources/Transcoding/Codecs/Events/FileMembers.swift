internal import Octets

/// The members of the object that a file becomes.
internal enum FileMembers {
    static let filename = Array("filename".utf8)
    static let mediaType = Array("content_type".utf8)
    static let data = Array("data".utf8)
}

extension EventSink where Self: ~Copyable {
    /// Sends the beginning of a file's object up to the name of its `data`, which comes last so that it can stream.
    internal mutating func openFileObject(_ head: borrowing PartHead) throws(ConversionError) {
        // Held here: a span of a global can't be lent to a method that changes a value which can't be copied.
        let (filename, mediaType, data) = (FileMembers.filename, FileMembers.mediaType, FileMembers.data)
        try beginObject()
        if head.hasFilename {
            try key(filename.span)
            try string(head.filename, isLast: true)
        }
        if head.hasMediaType {
            try key(mediaType.span)
            try string(head.mediaType, isLast: true)
        }
        try key(data.span)
    }

    /// Begins what a file becomes under `policy`: text, or the `data` of an object, which is what it returns. Throws `refusal` under
    /// other policies, and `typeRefusal` where the object would hold a media type that is not UTF-8.
    internal mutating func openFile<Fault: ConversionFault>(
        _ head: borrowing PartHead, as policy: FilePolicy, refusal: Fault, typeRefusal: Fault
    ) throws(ConversionError) -> Bool {
        guard policy == .base64 || policy == .object else { throw refusal.error(field: head.name.lossyString()) }
        guard policy == .object else { return false }
        guard UTF8Validator.isValid(head.mediaType) else { throw typeRefusal.error(field: head.name.lossyString()) }
        try openFileObject(head)
        return true
    }
}
