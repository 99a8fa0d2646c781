public import HTTPTypes
internal import Octets
public import Transcoding

/// Sends parameters as a JSON body, application/json. The counterpart of `AFJSONRequestSerializer`.
///
/// For GET, HEAD and DELETE it does what `HTTPRequestSerializer` does. Without parameters there is no body and no
/// Content-Type. Numbers keep their text and members their order; bytes become base64 and dates the text of RFC 3339. A set,
/// a number that isn't finite, two members of one name and anything but an object or an array at the top are refused with
/// `invalidParameters`.
public struct JSONRequestSerializer: RequestSerializer, DocumentRequestSerializer {
    /// How the text is laid out.
    public typealias WritingOptions = JSON.WritingOptions

    /// Header fields, methods and the form encoding.
    public var settings: RequestSettings
    /// How the text is laid out.
    public var writingOptions: WritingOptions

    /// A serializer with the rules of `dialect` for what goes into the query, and with slashes escaped under `afnetworking`
    /// and `alamofire` and not otherwise, unless `writingOptions` are given.
    public init(dialect: Dialect = .afnetworking, writingOptions: WritingOptions? = nil) {
        settings = RequestSettings(dialect: dialect)
        let foundation = dialect == .afnetworking || dialect == .alamofire
        self.writingOptions = writingOptions ?? (foundation ? [] : .withoutEscapingSlashes)
    }

    /// See `RequestSerializer`.
    public func serialize(
        _ request: HTTPRequest, parameters: Value?
    ) throws(SerializationError) -> SerializedRequest {
        try serializeTarget(of: request, parameters)
    }

    internal func body(
        of parameters: RequestParameters?, for head: HTTPRequest
    ) throws(SerializationError) -> (bytes: [UInt8], contentType: String)? {
        guard let parameters else { return nil }
        return (try body(of: parameters), "application/json")
    }

    private func body(of parameters: RequestParameters) throws(SerializationError) -> [UInt8] {
        do throws(ConversionError) {
            guard parameters.isContainer else {
                throw ConversionError(
                    .unrepresentable, code: "json_root", reason: "the parameters must be an object or an array")
            }
            var options = DocumentOptions()
            options.jsonWriting = writingOptions
            options.limits = settings.limits
            var spelling = ValueSpelling(for: .json, options)
            spelling.sets = .refused
            switch parameters.asWritten(spelling) {
            case .value(let value):
                var source = SpelledValue(value, as: spelling)
                return try source.document(as: .json, options: options)
            case .document(let document): return try document.tree.document(as: .json, options: options)
            }
        } catch {
            throw SerializationError(
                .invalidParameters, reason: "The `parameters` argument is not valid JSON.", conversion: error)
        }
    }
}
