public import HTTPTypes
internal import Octets
public import Transcoding

/// What all request serializers have in common.
public struct RequestSettings: Sendable {
    /// Makes the query or the form body of the parameters. Nil is an empty text. A body is the text as it is; in a query, what
    /// may not stand there becomes percent escapes as in a URL, `#` too, and a control is refused with `querySerialization`.
    public typealias QuerySerialization = @Sendable (_ request: HTTPRequest, _ parameters: Value) throws -> String?

    /// Fields that every request gets unless it has them already.
    public var headerFields = HTTPFields()
    /// The methods whose parameters go into the query of the URL instead of a body, in upper case.
    public var methodsEncodingParametersInURI: Set<String> = ["GET", "HEAD", "DELETE"]
    /// How parameters become names and values, in the query, in a form body and in multipart parts.
    public var encoding: FieldEncodingOptions
    /// What makes a `Value` of parameters of an `Encodable` type.
    public var encoder = ValueEncoder()
    /// What makes the query or the form body instead of `encoding`, where it is set.
    public var querySerialization: QuerySerialization?
    /// What bounds the parameters: `depth`, and `key` and `keyDepth` for the names that they become.
    public var limits = Limits()

    /// The settings of a dialect: AFNetworking's rules unless said otherwise.
    public init(dialect: Dialect = .afnetworking) {
        encoding = FieldEncodingOptions(dialect: dialect)
    }

    /// Whether parameters of a request with this method go into the query. Upper and lower case are the same here.
    public func encodesParametersInURI(_ method: HTTPRequest.Method) -> Bool {
        methodsEncodingParametersInURI.contains(method.rawValue.uppercased())
    }
}

extension RequestSettings {
    /// Fields that the request has not yet get their default.
    internal func addDefaults(to head: inout HTTPRequest) {
        for field in headerFields where !head.headerFields.contains(field.name) {
            // All values of a name that is not there yet.
            head.headerFields[fields: field.name] = headerFields[fields: field.name]
        }
    }

    /// The text of the parameters as a query or form.
    internal func query(
        of parameters: RequestParameters?, for head: HTTPRequest
    ) throws(SerializationError) -> String {
        guard let parameters else { return "" }
        if let querySerialization {
            return try Self.text(querySerialization, head, parameters.value)
        }
        return try query(of: parameters)
    }

    /// What the caller's function makes, or its error within one of ours.
    private static func text(
        _ serialization: QuerySerialization, _ head: HTTPRequest, _ parameters: Value
    ) throws(SerializationError) -> String {
        let result = Result { try serialization(head, parameters) }
        switch result {
        case .success(let text): return text ?? ""
        case .failure(let error):
            throw SerializationError(
                .querySerialization, reason: "the custom query serialization failed", underlying: error)
        }
    }

    /// A text of the caller's as it can stand in a query.
    private static func escaped(_ query: String) throws(SerializationError) -> String {
        guard query.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw SerializationError(
                .querySerialization, reason: "the custom query serialization made a text with a control in it")
        }
        return RequestURL.escaped(query).replacing("#", with: "%23")
    }

    internal func query(of parameters: RequestParameters) throws(SerializationError) -> String {
        do throws(ConversionError) {
            return try parameters.form(encoding, limits)
        } catch {
            throw SerializationError(
                .invalidParameters, reason: "the parameters can't be written as a form", conversion: error)
        }
    }

    /// The request with its parameters in the query: no body, no Content-Type.
    internal func serializeIntoURI(
        _ head: HTTPRequest, parameters: RequestParameters?
    ) throws(SerializationError) -> SerializedRequest {
        var head = head
        var query = try query(of: parameters, for: head)
        if querySerialization != nil { query = try Self.escaped(query) }
        head.path = RequestURL.appending(
            query, to: head.path ?? "/", keepsEmpty: encoding.dialect == .afnetworking)
        return SerializedRequest(head: head, sending: .none)
    }
}

/// The header fields that AFNetworking has helpers for.
extension RequestSettings {
    /// The default value of a field, or nil.
    public func value(forHeaderField name: String) -> String? {
        HTTPField.Name(name).flatMap { headerFields[$0] }
    }

    /// Sets the default value of a field; nil takes it away. Throws `invalidHeaderField` for what can't be a name, and for a
    /// value with a line break or another control, or with a space at its start or its end (RFC 9110 §5.5).
    public mutating func setValue(_ value: String?, forHeaderField name: String) throws(SerializationError) {
        guard let field = HTTPField.Name(name) else {
            throw SerializationError(.invalidHeaderField, reason: "the header field's name is not a token")
        }
        if let value, !HTTPField.isValidValue(value) {
            let ends = [value.utf8.first, value.utf8.last]
            let hasSpace = ends.contains(ASCII.space) || ends.contains(ASCII.tab)
            let reason = hasSpace ? "begins or ends with a space" : "has a control in it"
            throw SerializationError(.invalidHeaderField, reason: "the header field's value \(reason)")
        }
        headerFields[field] = value
    }

    /// Sets Authorization to the Basic credentials of `username` and `password`, in UTF-8 (RFC 7617).
    ///
    /// A colon in the user name can't be told from the one that ends it, so that name is refused with
    /// `invalidHeaderField`, except under the dialect `afnetworking`, which sends it. So are controls in either (§2).
    public mutating func setAuthorization(username: String, password: String) throws(SerializationError) {
        guard encoding.dialect == .afnetworking || !username.utf8.contains(UInt8(ascii: ":")) else {
            throw SerializationError(.invalidHeaderField, reason: "a user name of Basic credentials has no colon")
        }
        guard (username + password).utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw SerializationError(.invalidHeaderField, reason: "Basic credentials have no controls")
        }
        headerFields[.authorization] = "Basic " + Value.base64(Array("\(username):\(password)".utf8))
    }

    /// Takes Authorization away.
    public mutating func clearAuthorization() { headerFields[.authorization] = nil }

    /// Sets Accept-Language to at most six languages, best first: `en;q=1, fr;q=0.9`. No languages take the field away.
    ///
    /// Throws `invalidHeaderField` for what is no language tag.
    public mutating func setAcceptLanguage(_ languages: [String]) throws(SerializationError) {
        let isTag = { (tag: String) in
            !tag.isEmpty
                && tag.utf8.allSatisfy { ASCII.isAlpha($0) || ASCII.isDigit($0) || $0 == UInt8(ascii: "-") }
        }
        guard languages.allSatisfy({ isTag($0) || $0 == "*" }) else {
            throw SerializationError(.invalidHeaderField, reason: "a language tag has letters, digits and hyphens only")
        }
        let qualities = ["1", "0.9", "0.8", "0.7", "0.6", "0.5"]
        let list = zip(languages, qualities).map { "\($0);q=\($1)" }.joined(separator: ", ")
        headerFields[.acceptLanguage] = list.isEmpty ? nil : list
    }

    /// Sets User-Agent to `product/version (comment)`, with `comment` only where there is one.
    ///
    /// Characters that are not ASCII are left out, as AFNetworking does. Throws `invalidHeaderField` where nothing is left of the
    /// product, and for what can't stand in a field: in product and version anything but letters, digits and `-_.!#$%&'*+^` or
    /// the marks `|~` and a backquote, so no spaces; in the comment parentheses, backslashes and controls (RFC 9110 §10.1.5).
    public mutating func setUserAgent(
        product: String, version: String, comment: String? = nil
    ) throws(SerializationError) {
        let ascii = { (text: String) in text.utf8.filter { $0 < 0x80 } }
        let (name, number) = (ascii(product), ascii(version))
        guard !name.isEmpty, name.allSatisfy(ASCII.isToken), number.allSatisfy(ASCII.isToken) else {
            throw SerializationError(
                .invalidHeaderField, reason: "a product's name and version have letters, digits or -_.!#$%&'*+^`|~")
        }
        var text = String(decoding: name, as: UTF8.self)
        if !number.isEmpty { text += "/" + String(decoding: number, as: UTF8.self) }
        if let comment {
            let plain = ascii(comment)
            guard plain.allSatisfy({ $0 >= 0x20 && $0 < 0x7F && !Array("()\\".utf8).contains($0) }) else {
                throw SerializationError(
                    .invalidHeaderField, reason: "a comment has no parentheses, backslashes and controls")
            }
            text += " (" + String(decoding: plain, as: UTF8.self) + ")"
        }
        headerFields[.userAgent] = text
    }
}
