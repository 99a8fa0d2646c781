public import HTTPTypes
internal import Octets
public import Transcoding

/// Sends parameters as a property list, application/x-plist. The counterpart of `AFPropertyListRequestSerializer`.
///
/// For GET, HEAD and DELETE it does what `HTTPRequestSerializer` does. Without parameters there is no body and no
/// Content-Type. Sets, two members of one name, what else a property list can't hold, and null unless `writingOptions` say otherwise,
/// are refused with `unwritablePropertyList`.
public struct PropertyListRequestSerializer: RequestSerializer, DocumentRequestSerializer {
    /// Header fields, methods and the form encoding.
    public var settings: RequestSettings
    /// What is written of nulls, large integers and parts of seconds: all refused, unless said otherwise.
    public var writingOptions = PropertyList.EncodingOptions()
    /// XML, which is the default, or binary: that of `writingOptions`. Both have the same media type.
    public var format: PropertyList.Format {
        get { writingOptions.format }
        set { writingOptions.format = newValue }
    }

    /// A serializer with the rules of `dialect` for what goes into the query.
    public init(format: PropertyList.Format = .xml, dialect: Dialect = .afnetworking) {
        settings = RequestSettings(dialect: dialect)
        writingOptions.format = format
    }

    /// See `RequestSerializer`.
    public func serialize(
        _ request: HTTPRequest, parameters: Value?
    ) throws(SerializationError) -> SerializedRequest {
        try serializeTarget(of: request, parameters)
    }

    internal var widensFloats: Bool { true }

    internal func body(
        of parameters: RequestParameters?, for head: HTTPRequest
    ) throws(SerializationError) -> (bytes: [UInt8], contentType: String)? {
        guard let parameters else { return nil }
        return (try body(of: parameters), "application/x-plist")
    }

    private func body(of parameters: RequestParameters) throws(SerializationError) -> [UInt8] {
        do throws(ConversionError) {
            var options = DocumentOptions()
            options.propertyListEncoding = writingOptions
            // Apple's writer sorts, and many a server compares bytes.
            options.order = .sorted
            options.limits = settings.limits
            switch parameters.asWritten(ValueSpelling(for: .propertyList, options)) {
            case .value(let value): return try value.encoded(as: .propertyList, options: options)
            case .document(let document): return try document.tree.document(as: .propertyList, options: options)
            }
        } catch {
            throw SerializationError(
                .unwritablePropertyList, reason: "the parameters are not a property list", conversion: error)
        }
    }
}
