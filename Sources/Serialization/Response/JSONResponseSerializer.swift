public import HTTPTypes
public import Transcoding

/// Reads a JSON body. The counterpart of `AFJSONResponseSerializer`.
///
/// | status | type | body | value | error |
/// |---|---|---|---|---|
/// | 200 | acceptable | JSON | the document | none |
/// | 200 | acceptable | empty, or one space | none | none |
/// | 200 | other | not empty | none | `unacceptableContentType` |
/// | 200 | other | empty | none | none |
/// | 404 | acceptable | JSON | the document | `unacceptableStatusCode` |
/// | 404 | acceptable | not JSON | none | `unreadableBody`, the status's error beneath |
/// | 404 | other | not empty | none | `unacceptableStatusCode`, the type's error beneath |
///
/// One space is what Rails sends for `head :ok`.
public struct JSONResponseSerializer: ResponseSerializer, Hashable {
    /// 200 to 299; `application/json`, `text/json` and `text/javascript`.
    public var validation = ResponseValidation(
        acceptableContentTypes: ["application/json", "text/json", "text/javascript"])
    /// Whether nulls are left out: `deep` is AFNetworking's `removesKeysWithNullValues`.
    public var nullRemoval = NullRemoval.off
    /// Whether a document may be a string, a number, a boolean or null, and not only an object or array.
    public var allowsFragments = false
    /// Which responses may have an empty body without an error.
    public var emptyBodies = EmptyBodies.anywhere
    /// Whether a first line `)]}',` is taken away from the body.
    public var dropsXSSIPrefix = false
    /// How the document is read: `duplicates` and `limits` hold. While `limits.tree` isn't set, it grows with the body, see
    /// `Limits.tree(forBody:)`.
    public var options = DocumentOptions()

    /// A serializer with AFNetworking's rules unless said otherwise.
    public init(nullRemoval: NullRemoval = .off, allowsFragments: Bool = false) {
        self.nullRemoval = nullRemoval
        self.allowsFragments = allowsFragments
    }

    /// `nullRemoval` as AFNetworking has it: `deep` or `off`.
    public var removesKeysWithNullValues: Bool {
        get { nullRemoval != .off }
        set { nullRemoval = newValue ? .deep : .off }
    }

    /// See `ResponseSerializer`.
    public func serialize(
        _ response: HTTPResponse, body: [UInt8]?, for request: HTTPRequest?
    ) -> ResponseResult<Value> {
        let (mayRead, error) = checked(response, body, request)
        guard mayRead else { return ResponseResult(value: nil, error: error) }
        let bytes = dropsXSSIPrefix ? EmptyBodies.droppingXSSIPrefix(body ?? []) : body ?? []
        guard !bytes.isEmpty, bytes != [0x20] else {
            let isFine = emptyBodies.allows(response, request)
            return ResponseResult(value: nil, error: isFine ? error : EmptyBodies.fault(beneath: error))
        }
        do throws(ConversionError) {
            let document = try Value(decoding: bytes, as: .json, options: options)
            guard allowsFragments || document.array != nil || document.object != nil else {
                return unreadable(nil, "the JSON text is neither an object nor an array", beneath: error)
            }
            return ResponseResult(value: document.removingNulls(nullRemoval), error: error)
        } catch let fault {
            return unreadable(fault, "the body is not JSON", beneath: error)
        }
    }

    /// The object among those of all serializers.
    public func responseObject(_ output: Value) -> ResponseObject { .document(output) }
}
