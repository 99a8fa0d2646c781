internal import HTTPTypes
internal import Octets
internal import Transcoding

/// What is put into a request: a value, or the document that a type has encoded itself into, of which no value is made.
internal enum RequestParameters {
    case value(Value)
    case document(EncodedDocument)

    /// The parameters as a value.
    internal var value: Value {
        switch self {
        case .value(let value): value
        case .document(let document): document.tree.value(of: document.tree.root, setsAreCollected: true)
        }
    }

    /// The parameters where a document is written as it stands, and as a value where the spelling asks for more than the tree
    /// has, or for an error.
    internal func asWritten(_ spelling: ValueSpelling) -> RequestParameters {
        if case .document(let document) = self,
            spelling.refusesRepeated && document.hasRepeated || !document.tree.isSpelled(spelling)
        {
            return .value(value)
        }
        return self
    }

    /// The text of a form.
    internal func form(_ options: FieldEncodingOptions, _ limits: Limits) throws(ConversionError) -> String {
        let spelling = ValueSpelling(for: options, limits: limits)
        guard case .document(let document) = asWritten(spelling) else {
            var source = SpelledValue(value, as: spelling)
            let text = try source.form(options, limits: limits)
            return text.span.lossyString()
        }
        let text = try document.tree.form(options, limits: limits)
        return text.span.lossyString()
    }

    /// Whether the parameters are an object or an array, which a set isn't.
    internal var isContainer: Bool {
        switch self {
        case .value(.object), .value(.array): return true
        case .value: return false
        case .document(let document):
            let kind = document.tree.kind(document.tree.root)
            return kind == .object || kind == .array
        }
    }
}

/// A serializer of this module, which takes a document as it takes a value. What one does is the body.
internal protocol DocumentRequestSerializer: RequestSerializer {
    /// Whether the body has a `Double` in the place of a `Float`; see `ValueSpelling.widensFloats`.
    var widensFloats: Bool { get }
    /// The body for `parameters`, and the Content-Type where the request has none; nil where there is no body.
    func body(
        of parameters: RequestParameters?, for head: HTTPRequest
    ) throws(SerializationError) -> (bytes: [UInt8], contentType: String)?
}

extension DocumentRequestSerializer {
    internal var widensFloats: Bool { false }

    /// Serializes a request whose path becomes a target by the rules of URLs; its fragment is kept beside it.
    internal func serializeTarget(
        of request: HTTPRequest, _ parameters: Value?
    ) throws(SerializationError) -> SerializedRequest {
        let parameters = parameters.map { RequestParameters.value($0) }
        guard let path = request.path else { return try serialize(request, parameters) }
        var head = request
        let (target, fragment) = try RequestURL.target(ofPath: path)
        head.path = target
        var result = try serialize(head, parameters)
        result.fragment = fragment
        return result
    }

    /// Serializes a request whose path is a target already.
    internal func serialize(
        _ request: HTTPRequest, _ parameters: RequestParameters?
    ) throws(SerializationError) -> SerializedRequest {
        var head = request
        settings.addDefaults(to: &head)
        if settings.encodesParametersInURI(head.method) {
            return try settings.serializeIntoURI(head, parameters: parameters)
        }
        guard let body = try body(of: parameters, for: head) else {
            return SerializedRequest(head: head, sending: .none)
        }
        if !head.headerFields.contains(.contentType) { head.headerFields[.contentType] = body.contentType }
        return SerializedRequest(head: head, sending: .bytes(body.bytes))
    }
}

extension Tree {
    /// Whether the events of the document, which a type has encoded itself into on the way to a value, are those of the value
    /// under the spelling: sets and dates are not, where they become something else, nor is what a value is refused for.
    fileprivate func isSpelled(_ spelling: ValueSpelling) -> Bool {
        var level = 0
        var node = root
        while true {
            switch kind(node) {
            case .collected: return false
            case .date: guard spelling.dates == .events else { return false }
            case .number: guard text(node).isFiniteNumber else { return false }
            case .object, .keyed, .array: guard level < spelling.depth else { return false }
            case .data: guard !spelling.sendsDataAsFiles else { return false }
            case .string, .yes, .no, .null: break
            }
            if firstChild(node) != Tree.none {
                node = firstChild(node)
                level += 1
                continue
            }
            while node != root, nextSibling(node) == Tree.none {
                node = parent(node)
                level -= 1
            }
            if node == root { return true }
            node = nextSibling(node)
        }
    }
}

extension Span where Element == UInt8 {
    /// As `Value.Number.isFinite`.
    fileprivate var isFiniteNumber: Bool { count > 0 && ASCII.isDigit(self[count - 1]) }
}
