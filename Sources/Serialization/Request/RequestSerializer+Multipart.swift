public import HTTPTypes
internal import Transcoding

extension RequestSerializer {
    /// A multipart/form-data request: the parameters as fields first, then the parts that `construct` appends.
    ///
    /// The counterpart of AFNetworking's `multipartFormRequestWithMethod:URLString:parameters:constructingBodyWithBlock:`.
    /// Content-Type and Content-Length are those of the form, whatever else was set. Without any part, AFNetworking and so
    /// the dialect `afnetworking` sends what `request` without parameters would; other dialects send a form without parts.
    ///
    /// ```swift
    /// let upload = try serializer.multipartRequest(url: url, parameters: ["album": 7]) { form in
    ///     try form.append(fileAt: "/tmp/photo.jpg", name: "photo")
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
