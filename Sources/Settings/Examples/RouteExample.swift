public import Gateway
internal import Proxy
public import Transcoding

/// A body written down in a route, and what becomes of it.
public struct RouteExample: Sendable {
    /// What comes in.
    enum Input: Hashable, Sendable {
        /// A document, to be written in the encoding that comes in.
        case document(Literal)
        /// The body itself.
        case text(String)
        /// Names and values of a form or multipart body.
        case fields([Field])
    }

    struct Field: Hashable, Sendable {
        var name: String
        var value: String

        /// `name=value`; nil without an equals sign.
        init?(_ text: String) {
            guard let equals = text.firstIndex(of: "=") else { return nil }
            name = String(text[..<equals])
            value = String(text[text.index(after: equals)...])
        }
    }

    enum Expectation: Hashable, Sendable {
        /// What the output reads as.
        case document(Literal)
        /// The fields of the output in order: `name=value`.
        case fields([String])
        /// The output itself.
        case text(String)
        /// The code that the body is refused with.
        case error(String)
    }

    /// A body with its Content-Type.
    public struct Body: Hashable, Sendable {
        public var bytes: [UInt8]
        public var type: String

        public init(bytes: [UInt8], type: String) {
            self.bytes = bytes
            self.type = type
        }
    }

    /// Where it stands in the file, from 1.
    public let line: Int
    public let column: Int
    public let request: SampleRequest
    /// The body's Content-Type, where it is written.
    let type: String?
    let input: Input
    let expectation: Expectation
    /// Whether it can be run: nothing in it or in its route is a placeholder of what isn't here.
    public let isKnown: Bool

    init(
        _ position: SettingsNode.Position, request: SampleRequest, type: String?, input: Input,
        expectation: Expectation, isKnown: Bool = true
    ) {
        self.isKnown = isKnown
        line = position.line
        column = position.column
        self.request = request
        self.type = type
        self.input = input
        self.expectation = expectation
    }
}

// MARK: - Running

extension RouteExample {
    /// Sends the example through the route. Nil when what comes out is what it says, else one sentence that shows both.
    public func failure(on route: Route) -> String? {
        guard let conversion = route.conversion else { return "the route converts nothing" }
        let plan = conversion.plan
        do {
            let values = try request.values(for: route)
            let body = try body(for: plan)
            do throws(ConversionError) {
                let output = try ExampleConversion.run(plan, body.bytes, type: body.type, sources: values.sources)
                return try compare(output, plan)
            } catch {
                if error.kind == .unsupported, conversion.otherTypes == .pass {
                    let output = ExampleConversion.Output(bytes: body.bytes, type: body.type)
                    guard case .text = expectation else {
                        return
                            "the body passes as it is, since the route doesn't convert \(body.type): say \"out_text\""
                    }
                    return try compare(output, plan)
                }
                return compare(error)
            }
        } catch let fault as SampleRequest.Fault {
            return fault.reason
        } catch {
            return "the example can't be run: \(error)"
        }
    }

    private func compare(_ error: ConversionError) -> String? {
        if case .error(let code) = expectation, code == error.code { return nil }
        return "expected \(expected), got the error \(error)"
    }

    private func compare(_ output: ExampleConversion.Output, _ plan: ConversionPlan) throws(ConversionError) -> String?
    {
        let got: String
        switch expectation {
        case .error:
            got = "a body without an error: \(String(decoding: output.bytes, as: UTF8.self))"
        case .text(let text):
            if Array(text.utf8) == output.bytes { return nil }
            got = "\"\(String(decoding: output.bytes, as: UTF8.self))\""
        case .fields(let fields):
            let written = try ExampleConversion.fields(of: output, plan)
            if written == fields { return nil }
            got = Self.list(written)
        case .document(let document):
            let read = try ExampleConversion.document(of: output, plan)
            if read.normalized(isText: false) == document.normalized(isText: plan.writesTextsOnly) { return nil }
            got = read.json
        }
        return "expected \(expected), got \(got)"
    }

    private var expected: String {
        switch expectation {
        case .document(let document): document.json
        case .fields(let fields): Self.list(fields)
        case .text(let text): "\"\(text)\""
        case .error(let code): "the error \(code)"
        }
    }

    private static func list(_ fields: [String]) -> String {
        "[\(fields.map { "\"\($0)\"" }.joined(separator: ", "))]"
    }

    /// The body that comes in.
    public func body(for plan: ConversionPlan) throws(ConversionError) -> Body {
        switch input {
        case .text(let text):
            return Body(bytes: Array(text.utf8), type: type ?? plan.inputs.first?.mediaType ?? "")
        case .fields(let fields):
            let isForm = plan.inputs.contains(.form) && type?.lowercased().hasPrefix("multipart/") != true
            let output = try ExampleConversion.write(fields, as: isForm ? .form : .multipart)
            return Body(bytes: output.bytes, type: type.flatMap { isForm ? $0 : nil } ?? output.type)
        case .document(let document):
            let encoding = plan.inputs.contains(.json) ? .json : plan.inputs.first ?? .json
            if encoding == .json { return Body(bytes: Array(document.json.utf8), type: type ?? encoding.mediaType) }
            let output = try ExampleConversion.write(document, as: encoding, for: plan)
            return Body(bytes: output.bytes, type: encoding == .multipart ? output.type : type ?? output.type)
        }
    }
}
