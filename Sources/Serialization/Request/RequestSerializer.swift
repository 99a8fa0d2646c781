public import HTTPTypes
public import Transcoding

/// Puts parameters into requests: `HTTPRequestSerializer`, `JSONRequestSerializer`, `PropertyListRequestSerializer`.
///
/// All are values: a copy has the same settings and changes apart from the original.
public protocol RequestSerializer: Sendable {
    /// Header fields, methods and the form encoding, which all serializers have.
    var settings: RequestSettings { get set }

    /// The request with the parameters in it: in the query for the methods of `methodsEncodingParametersInURI`, in a body
    /// of the serializer's kind for all others. Default header fields and Content-Type are set where the request lacks them,
    /// Content-Length wherever there is a body; where there is none, nothing announces one.
    ///
    /// `parameters` of nil are no parameters at all, `.null` is a value. In the request's path what may not stand in a URL becomes
    /// percent escapes, and what is behind a `#` isn't sent, as with the URL of `request(method:url:parameters:headerFields:)`.
    func serialize(_ request: HTTPRequest, parameters: Value?) throws(SerializationError) -> SerializedRequest
}

extension RequestSerializer {
    /// A request to `url` with the parameters in it.
    ///
    /// - Parameters:
    ///   - method: the method; `HTTPRequest.Method("PURGE")` makes one that has no name here.
    ///   - url: an absolute URL, `https://example.com/p?a=1`, or a path. Its query is kept; its fragment isn't sent.
    ///   - parameters: an object; JSON and property lists take arrays too. Nil: none.
    ///   - headerFields: fields of this call. They are written last and take the place of any other of their name, also of
    ///     Content-Type, but not of the Content-Length of a body, beside which there is no Transfer-Encoding. Without a body there is
    ///     neither, but for a length of 0.
    /// - Throws: `invalidURL`, `invalidParameters` and what the serializer adds.
    public func request(
        method: HTTPRequest.Method, url: String, parameters: Value? = nil, headerFields: HTTPFields = [:]
    ) throws(SerializationError) -> SerializedRequest {
        try request(method: method, url: url, headerFields: headerFields) { head throws(SerializationError) in
            try serialize(head, parameters: parameters)
        }
    }

    private func request(
        method: HTTPRequest.Method, url: String, headerFields: HTTPFields,
        _ serialize: (HTTPRequest) throws(SerializationError) -> SerializedRequest
    ) throws(SerializationError) -> SerializedRequest {
        let url = try RequestURL(url)
        let head = HTTPRequest(method: method, scheme: url.scheme, authority: url.authority, path: url.target)
        var result = try serialize(head)
        result.fragment = url.fragment
        result.overwrite(with: headerFields)
        return result
    }

    /// As above, with parameters of any `Encodable` type, which the `encoder` of the settings encodes. A serializer of another
    /// module gets them as a `Value`.
    public func request(
        method: HTTPRequest.Method, url: String, encoding parameters: some Encodable, headerFields: HTTPFields = [:]
    ) throws -> SerializedRequest {
        let own = self as? any DocumentRequestSerializer
        let widensFloats = own?.widensFloats == true && !settings.encodesParametersInURI(method)
        let document = try settings.encoder.document(of: parameters, widensFloats: widensFloats)
        guard let own else {
            let value = RequestParameters.document(document).value
            return try request(method: method, url: url, parameters: value, headerFields: headerFields)
        }
        return try request(method: method, url: url, headerFields: headerFields) { head throws(SerializationError) in
            try own.serialize(head, .document(document))
        }
    }
}

/// The settings under their own names.
extension RequestSerializer {
    /// Fields that every request gets unless it has them already.
    public var headerFields: HTTPFields {
        get { settings.headerFields }
        set { settings.headerFields = newValue }
    }

    /// The methods whose parameters go into the query of the URL, in upper case: GET, HEAD and DELETE at first.
    public var methodsEncodingParametersInURI: Set<String> {
        get { settings.methodsEncodingParametersInURI }
        set { settings.methodsEncodingParametersInURI = newValue }
    }

    /// How parameters become names and values in the query, in a form body and in multipart parts.
    public var encoding: FieldEncodingOptions {
        get { settings.encoding }
        set { settings.encoding = newValue }
    }

    /// What makes a `Value` of parameters of an `Encodable` type: set its `transform` and `nils`.
    public var encoder: ValueEncoder {
        get { settings.encoder }
        set { settings.encoder = newValue }
    }

    /// Makes the query or the form body instead of `encoding`, where it is set.
    public var querySerialization: RequestSettings.QuerySerialization? {
        get { settings.querySerialization }
        set { settings.querySerialization = newValue }
    }

    /// The default value of a header field, or nil.
    public func value(forHeaderField name: String) -> String? { settings.value(forHeaderField: name) }

    /// Sets the default value of a header field; nil takes it away. See `RequestSettings`.
    public mutating func setValue(_ value: String?, forHeaderField name: String) throws(SerializationError) {
        try settings.setValue(value, forHeaderField: name)
    }

    /// Sets Authorization to Basic credentials. See `RequestSettings`.
    public mutating func setAuthorization(username: String, password: String) throws(SerializationError) {
        try settings.setAuthorization(username: username, password: password)
    }

    /// Takes Authorization away.
    public mutating func clearAuthorization() { settings.clearAuthorization() }

    /// Sets Accept-Language. See `RequestSettings`.
    public mutating func setAcceptLanguage(_ languages: [String]) throws(SerializationError) {
        try settings.setAcceptLanguage(languages)
    }

    /// Sets User-Agent. See `RequestSettings`.
    public mutating func setUserAgent(
        product: String, version: String, comment: String? = nil
    ) throws(SerializationError) {
        try settings.setUserAgent(product: product, version: version, comment: comment)
    }
}

extension SerializedRequest {
    /// Writes the fields of a call over all others of their names.
    internal mutating func overwrite(with fields: HTTPFields) {
        for field in fields { head.headerFields[fields: field.name] = fields[fields: field.name] }
        setContentLength()
    }
}

extension RequestSerializer {
    /// A multipart/form-data request: the parameters as fields first, then the parts that `construct` appends.
    ///
    /// The counterpart of AFNetworking's `multipartFormRequestWithMethod:URLString:parameters:constructingBodyWithBlock:`.
    /// Content-Type and Content-Length are those of the form, whatever else was set. Without any part, AFNetworking and so
    /// the dialect `afnetworking` sends what `request` without parameters would; other dialects send a form without parts.
    ///
    /// ```swift
    /// let upload = try serializer.multipartRequest(url: url, parameters: ["album": 7]) { form in
    ///     try form.append(fileAt: path, name: "photo")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - method: any but GET and HEAD.
    ///   - url: an absolute URL or a path, as in `request`.
    ///   - parameters: an object, whose scalars become fields in front of the parts.
    ///   - headerFields: fields of this call, over all others but Content-Type and Content-Length.
    ///   - boundary: nil: a random one, of the form that the dialect has.
    ///   - construct: appends the parts.
    /// - Throws: `SerializationError`, or what `construct` throws.
    public func multipartRequest(
        method: HTTPRequest.Method = .post, url: String, parameters: Value? = nil, headerFields: HTTPFields = [:],
        boundary: String? = nil, constructingBody construct: (inout MultipartFormData) throws -> Void = { _ in }
    ) throws -> SerializedRequest {
        guard method != .get, method != .head else {
            throw SerializationError(.multipartMethod, reason: "a multipart body can't be sent with GET or HEAD")
        }
        let dialect = settings.encoding.dialect
        var form =
            try boundary.map { text throws(SerializationError) in
                try MultipartFormData(boundary: text, dialect: dialect)
            }
            ?? MultipartFormData(dialect: dialect)
        form.filenames = settings.encoding.filenames
        // Null as the whole parameters is nothing to send, as nil is.
        if let parameters, !parameters.isNull {
            try form.append(parameters: parameters, encoding: settings.encoding, limits: settings.limits)
        }
        try construct(&form)
        var result = try request(method: method, url: url, headerFields: headerFields)
        if form.isEmpty, dialect == .afnetworking { return result }
        result.head.headerFields[.contentType] = form.contentType
        result.body = .multipart(form)
        result.setContentLength()
        return result
    }
}
