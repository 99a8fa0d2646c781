public import HTTPWire
public import Octets
public import Transcoding

/// How a route changes the target before it goes to the upstream.
public struct Rewrite: Hashable, Sendable {
    public enum PathPiece: Hashable, Sendable {
        /// Octets of a target, already escaped.
        case literal(String)
        /// The variable at this index of the route's path: its octets as received.
        case variable(Int)
    }

    public struct Parameter: Hashable, Sendable {
        public var name: String
        public var value: SourceReference

        public init(name: String, value: SourceReference) {
            self.name = name
            self.value = value
        }
    }

    /// The new path; empty: the path stays.
    public var path: [PathPiece]
    /// Parameters that are set: those of the same name go, these stand at the end. All others stay as received.
    public var query: [Parameter]

    public init(path: [PathPiece] = [], query: [Parameter] = []) {
        self.path = path
        self.query = query
    }

    /// Whether the path takes variables, so that a request decides what it becomes.
    public var takesVariables: Bool {
        for piece in path { if case .variable = piece { return true } }
        return false
    }

    /// The request's fields that parameters are taken from, in lower case: with another one the target would be another.
    var sourceFields: [String] { query.flatMap(\.value.fieldNames) }

    /// Whether the path that a request gives has a dot segment in any spelling: then it could lead out of what `path` says.
    /// `scratch` is empty, and is left so.
    public func makesDotSegment(
        of head: borrowing MessageHead, captures: PathCaptures, scratch: inout OutputBuffer
    ) -> Bool {
        appendPath(of: head, captures: captures, to: &scratch)
        defer { scratch.removeAll() }
        return DotSegment.first(in: scratch.span) != nil
    }

    private func appendPath(of head: borrowing MessageHead, captures: PathCaptures, to output: inout OutputBuffer) {
        if path.isEmpty { output.append(head.path) }
        let start = output.count
        for piece in path {
            switch piece {
            case .literal(let text):
                var text = text.utf8Span.span
                // Behind a star that stands for nothing: a second slash at the beginning would make a host of what follows.
                while output.count == start + 1, !text.isEmpty, text[0] == UInt8(ascii: "/") {
                    text = text.extracting(1..<text.count)
                }
                output.append(text)
            case .variable(let index): output.append(head.path.extracting(captures[index]))
            }
        }
    }

    /// Appends the target in origin form for the upstream. `keepsQuery`: whether what was received of the query goes on.
    public func appendTarget(
        of head: borrowing MessageHead, captures: PathCaptures, client: Span<UInt8>, keepsQuery: Bool = true,
        to output: inout OutputBuffer
    ) throws(ConversionError) {
        appendPath(of: head, captures: captures, to: &output)
        var separator = UInt8(ascii: "?")
        if keepsQuery, let received = head.query {
            var start = 0
            while start <= received.count {
                let range = QueryText.nextParameter(received, &start)
                if isSet(range, of: received) { continue }
                output.append(separator)
                separator = UInt8(ascii: "&")
                output.append(received.extracting(range))
            }
        }
        var value: [UInt8] = []
        for parameter in query {
            output.append(separator)
            separator = UInt8(ascii: "&")
            PercentText.encode(parameter.name.utf8Span.span, to: &output)
            output.append(UInt8(ascii: "="))
            value.removeAll(keepingCapacity: true)
            try parameter.value.append(from: head, captures: captures, client: client, to: &value)
            PercentText.encode(value.span, to: &output)
        }
    }

    private func isSet(_ range: Range<Int>, of received: Span<UInt8>) -> Bool {
        for parameter in query
        where QueryText.value(in: range, of: received, named: parameter.name.utf8Span.span) != nil { return true }
        return false
    }
}
