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
    public struct WritingOptions: OptionSet, Hashable, Sendable {
        /// The options as bits.
        public let rawValue: Int
        /// The options of these bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// One member or element a line, indented by two spaces.
        public static let prettyPrinted = WritingOptions(rawValue: 1)
        /// Members in the order of the bytes of their names.
        public static let sortedKeys = WritingOptions(rawValue: 2)
        /// `/` stands for itself. Without this option it is written `\/`, as AFNetworking and Alamofire do.
        public static let withoutEscapingSlashes = WritingOptions(rawValue: 4)
    }

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
            var encoder = JSON.Encoder(options: JSON.EncodingOptions())
            encoder.output.highWatermark = .max
            var layout = JSON.Layout()
            layout.isPretty = writingOptions.contains(.prettyPrinted)
            layout.escapesSlashes = !writingOptions.contains(.withoutEscapingSlashes)
            var spelling = ValueSpelling()
            spelling.sets = .refused
            spelling.refusesRepeated = true
            spelling.order = writingOptions.contains(.sortedKeys) ? .sorted : .input
            spelling.depth = settings.limits.depth
            switch parameters.asWritten(spelling) {
            case .value(let value): try value.emit(into: &encoder, as: spelling)
            case .document(let document): try document.tree.emit(into: &encoder, order: spelling.order)
            }
            return layout.applied(to: encoder.output.span).span.copied()
        } catch {
            throw SerializationError(
                .invalidParameters, reason: "The `parameters` argument is not valid JSON.", conversion: error)
        }
    }
}
