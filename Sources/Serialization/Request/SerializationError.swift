public import HTTPTypes
public import Transcoding

/// Why a request could not be made, or why a response is not what was asked for.
///
/// `kind` is for programs. `domain` and `code` are those of AFNetworking, so that code and logs that know its numbers go on
/// knowing them. `conversion` has the place and the stable code of a codec's error where one is behind it.
public struct SerializationError: Error, Sendable {
    /// What went wrong.
    public enum Kind: String, Hashable, Sendable, CaseIterable {
        // Making requests.

        /// The text is no URL that a request can be made to.
        case invalidURL
        /// A header field's name or value is not legal (RFC 9110 §5.1, §5.5).
        case invalidHeaderField
        /// The parameters can't be written in the encoding of the serializer.
        case invalidParameters
        /// The custom query serialization threw; its error is `underlying`.
        case querySerialization
        /// A property list can't hold the parameters.
        case unwritablePropertyList

        // Multipart bodies.

        /// A multipart body was asked for with GET or HEAD.
        case multipartMethod
        /// The text can't be a boundary (RFC 2046 §5.1.1).
        case invalidBoundary
        /// A body of the caller holds the boundary that the caller chose.
        case boundaryInBody
        /// The name, filename or media type of a part can't be written.
        case invalidPart
        /// The text is no URL of a file.
        case notFileURL
        /// There is no file that can be read at the path.
        case fileUnreachable
        /// The path is that of a folder or of something else that has no length.
        case notRegularFile
        /// A part's body gave fewer or more bytes than its length says.
        case lengthMismatch
        /// A body that can be read once only was read before.
        case streamConsumed
        /// The source of a body failed; its error is `underlying` where it had one.
        case bodyUnreadable
        /// The file for a body can't be written.
        case fileUnwritable

        // Reading responses.

        /// The status is none of the acceptable ones.
        case unacceptableStatusCode
        /// The media type is none of the acceptable ones.
        case unacceptableContentType
        /// The body can't be read as what it says it is.
        case unreadableBody
        /// The body is empty where that is not acceptable.
        case emptyBody
    }

    /// What went wrong, for programs.
    public var kind: Kind
    /// One sentence for a person. It never quotes a body.
    public var reason: String
    /// The error beneath: the type's beneath the status's, the status's beneath that of an unreadable body, the caller's own.
    public var underlying: (any Error)?
    /// What a codec said.
    public var conversion: ConversionError?
    /// The file that can't be read or written, as the caller named it.
    public var path: String?
    /// Why the system refused that file: a number of `errno`, as `ENOENT`. `description` has its text.
    public var systemError: Int32?
    /// The URL that the response came from, where it was given.
    public var url: String?
    /// The response that was not acceptable.
    public var response: HTTPResponse?
    /// The body of that response, where there was one.
    public var data: [UInt8]?

    /// An error of these; `url`, `response` and `data` are set behind it.
    public init(
        _ kind: Kind, reason: String, underlying: (any Error)? = nil, conversion: ConversionError? = nil
    ) {
        self.kind = kind
        self.reason = reason
        self.underlying = underlying
        self.conversion = conversion
    }

    /// The error beneath, where it is one of these.
    public var underlyingError: SerializationError? { underlying as? SerializationError }

    /// Whether this error, or one beneath it, is of that kind.
    public func contains(_ kind: Kind) -> Bool {
        self.kind == kind || underlyingError?.contains(kind) == true
    }
}

// MARK: AFNetworking's numbers

extension SerializationError {
    /// `AFURLRequestSerializationErrorDomain`.
    public static let requestDomain = "com.alamofire.error.serialization.request"
    /// `AFURLResponseSerializationErrorDomain`.
    public static let responseDomain = "com.alamofire.error.serialization.response"
    /// The domain of unreadable and unwritable documents.
    public static let cocoaDomain = "NSCocoaErrorDomain"

    /// The domain that AFNetworking gives this error.
    public var domain: String { numbers.domain }

    /// The number that AFNetworking gives this error in `domain`: -1000 bad URL or file, -1011 bad status, -1016 content that
    /// can't be coded or is of the wrong type, 3840 unreadable and 3851 unwritable documents.
    public var code: Int { numbers.code }

    // Requirements of Swift's `Error`, which Foundation asks for an `NSError`: without them that has the name of the type and a number of
    // the compiler's.

    /// As `domain`, for `error as NSError`.
    public var _domain: String { domain }
    /// As `code`, for `error as NSError`.
    public var _code: Int { code }

    private var numbers: (domain: String, code: Int) {
        switch kind {
        case .invalidURL, .notFileURL, .fileUnreachable, .notRegularFile: (Self.requestDomain, -1000)
        case .invalidHeaderField, .invalidParameters, .querySerialization, .multipartMethod, .invalidBoundary,
            .boundaryInBody, .invalidPart, .lengthMismatch, .streamConsumed, .bodyUnreadable, .fileUnwritable:
            (Self.requestDomain, -1016)
        case .unacceptableStatusCode: (Self.responseDomain, -1011)
        case .unacceptableContentType, .emptyBody: (Self.responseDomain, -1016)
        case .unreadableBody: (Self.cocoaDomain, 3840)
        case .unwritablePropertyList: (Self.cocoaDomain, 3851)
        }
    }
}

extension SerializationError: CustomStringConvertible {
    /// The reason with the file and what lies beneath, in one line: `the file can't be written [/a/b]: Permission denied`. What lies
    /// beneath is described by itself: an error of yours quotes what it quotes.
    public var description: String {
        var text = reason
        if path != nil || systemText != nil || conversion != nil || underlying != nil, text.hasSuffix(".") {
            // More follows the sentence: some reasons are AFNetworking's, with their full stop.
            text.removeLast()
        }
        if let path { text += " [\(path)]" }
        if let systemText { text += ": \(systemText)" }
        if let conversion {
            text += ": \(conversion)"
            if let property = conversion.property, property != conversion.setting { text += ", in Swift \(property)" }
        }
        if let underlying { text += " (\(underlying))" }
        return text
    }
}

extension SerializationError: Equatable {
    /// Whether both are of the same kind with the same reason, file, codec error and error beneath. Errors of the caller's count
    /// as equal.
    public static func == (left: SerializationError, right: SerializationError) -> Bool {
        left.kind == right.kind && left.reason == right.reason && left.path == right.path
            && left.systemError == right.systemError && left.conversion == right.conversion
            && left.underlyingError == right.underlyingError
    }
}
