import HTTPWire
import Octets
import Testing
import Transcoding

@testable import Gateway

/// Copies of requests, and what two answers have in common, without a connection.
@Suite struct ShadowTests {
    // MARK: The copy

    private static let head = "POST /a HTTP/1.1\r\nHost: client.example\r\nContent-Type: text/plain\r\n"

    private func copy(
        _ text: String, framing: BodyFraming, isSent: Bool = true, limit: Int = 1024, host: String = ""
    ) throws(ShadowRequest.Fault) -> String {
        let bytes = Array(text.utf8)
        guard let head = ShadowRequest.headEnd(in: bytes.span) else { throw .incomplete }
        var content = OutputBuffer()
        try ShadowRequest.appendContent(
            of: bytes.span, behind: head, framing: framing, isSent: isSent, limit: limit, to: &content)
        var output = OutputBuffer()
        ShadowRequest.append(
            head: bytes.span.extracting(0..<head), content: content.span, host: Array(host.utf8), route: "orders",
            to: &output)
        return output.span.lossyString()
    }

    @Test("content is framed anew, by its length, whatever framed it")
    func framing() throws {
        let copied = Self.head + "Recast-Shadow: orders\r\nContent-Length: 5\r\n\r\nabcde"
        #expect(try copy(Self.head + "Content-Length: 5\r\n\r\nabcde", framing: .length(5)) == copied)
        #expect(
            try copy(
                Self.head + "TE: trailers\r\nConnection: TE\r\nTrailer: X-A\r\ntransfer-encoding: chunked\r\n\r\n"
                    + "3\r\nabc\r\n2\r\nde\r\n0\r\nX-A: 1\r\n\r\n", framing: .chunked) == copied)
        #expect(try copy(Self.head + "Transfer-Encoding: chunked\r\n\r\nabcde", framing: .untilClose) == copied)
        #expect(
            try copy(Self.head + "Content-Length: 0\r\n\r\n", framing: .none).contains("\r\nContent-Length: 0\r\n\r\n"))
        let bare = "GET /a HTTP/1.1\r\nHost: a\r\n"
        #expect(try copy(bare + "\r\n", framing: .none) == bare + "Recast-Shadow: orders\r\n\r\n")
    }

    @Test(
        "what says nothing of the copy, or forges it, stays behind, and Host is the other upstream's where it is one's own"
    )
    func fields() throws {
        let text =
            "GET /a HTTP/1.1\r\nhost: a\r\nExpect: 100-continue\r\nRecast-Shadow: x\r\nX-Te: 1\r\nUpgrade: h2c\r\n\r\n"
        #expect(
            try copy(text, framing: .none, host: "Host: new\r\n")
                == "GET /a HTTP/1.1\r\nHost: new\r\nX-Te: 1\r\nRecast-Shadow: orders\r\n\r\n")
    }

    @Test("content has its bound: n - 1, n, n + 1", arguments: [(9, true), (10, true), (11, false)])
    func limit(count: Int, isCopied: Bool) {
        let body = String(repeating: "x", count: count)
        for (text, framing) in [
            ("\(Self.head)Content-Length: \(count)\r\n\r\n\(body)", BodyFraming.length(count)),
            ("\(Self.head)\r\n\(String(count, radix: 16))\r\n\(body)\r\n0\r\n\r\n", .chunked),
            ("\(Self.head)\r\n\(body)", .untilClose),
        ] {
            if isCopied {
                #expect(throws: Never.self) { try copy(text, framing: framing, limit: 10) }
            } else {
                #expect(throws: ShadowRequest.Fault.tooLarge) { try copy(text, framing: framing, limit: 10) }
            }
        }
    }

    @Test("what was cut is no copy, wherever it is cut")
    func cut() {
        for (text, framing) in [
            (Self.head + "Content-Length: 5\r\n\r\nabcde", BodyFraming.length(5)),
            (Self.head + "\r\n3\r\nabc\r\n0\r\n\r\n", .chunked), (Self.head + "\r\n", .none),
        ] {
            for count in 0..<text.utf8.count {
                let cut = String(decoding: Array(text.utf8).prefix(count), as: UTF8.self)
                #expect(throws: ShadowRequest.Fault.incomplete, "\(framing) \(count)") {
                    try copy(cut, framing: framing)
                }
            }
        }
        #expect(throws: ShadowRequest.Fault.incomplete) {
            try copy(Self.head + "\r\nabc", framing: .untilClose, isSent: false)
        }
    }

    // MARK: Answers

    private func read(_ text: String, _ type: String = "application/json") -> AnswerValues.Outcome {
        AnswerValues.read(Array(text.utf8).span, type: Array(type.utf8).span)
    }

    private func differences(_ first: String, _ second: String, ignoring: [String] = []) throws -> [String] {
        guard case .values(let one) = read(first), case .values(let other) = read(second) else {
            Issue.record("no JSON: \(first), \(second)")
            return []
        }
        var differences = ValueDifferences(ignoring: try ignoring.map { try FieldPath(parsing: $0) })
        differences.compare(one, other)
        return differences.all.map { "\($0.kind.rawValue) \($0.path)" }
    }

    @Test(
        "differences have a kind and a place",
        arguments: [
            ("{}", "{}", []), ("[1,2]", "[1,2]", []), (#"{"a":1,"b":2}"#, #"{"b":2,"a":1}"#, []),
            (#"{"a":1}"#, #"{"a":2}"#, ["value a"]), (#"{"a":1}"#, #"{"a":1.0}"#, ["value a"]),
            (#"{"a":1}"#, #"{"a":"1"}"#, ["type a"]), (#"{"a":null}"#, "{}", ["missing a"]),
            ("{}", #"{"a":{"b":1}}"#, ["added a"]), (#"{"a":true}"#, #"{"a":false}"#, ["value a"]),
            (#"{"a":{"b":[1,{"c":1}]}}"#, #"{"a":{"b":[2,{"c":2}]}}"#, ["value a.b[*]", "value a.b[*].c"]),
            ("[1,2,3]", "[1]", ["missing [*]"]), ("[1]", "[1,2,3]", ["added [*]"]), ("[]", "{}", ["type "]),
            (#"{"a.b":1}"#, #"{"a.b":2}"#, [#"value "a.b""#]), ("1", "2", ["value "]),
            (#"{"a":1,"a":2}"#, #"{"a":2}"#, []), ("[[1],[2]]", "[[1],[3]]", ["value [*][*]"]),
            (#"{"a":"x"}"#, #"{"a":"\u0078"}"#, []),
        ] as [(String, String, [String])])
    func kinds(first: String, second: String, expected: [String]) throws {
        #expect(try differences(first, second) == expected)
    }

    @Test(
        "what is ignored may differ, with all below it, and nothing else",
        arguments: [
            (["a"], []), (["a.b"], ["value a.c"]), (["a.*"], []), (["a.b", "a.c"], []),
            (["b"], ["value a.b", "value a.c"]),
            (["a.b.c"], ["value a.b", "value a.c"]),
        ] as [([String], [String])])
    func ignored(paths: [String], expected: [String]) throws {
        #expect(try differences(#"{"a":{"b":1,"c":1}}"#, #"{"a":{"b":2,"c":2}}"#, ignoring: paths) == expected)
    }

    @Test("elements are ignored by place or all of them")
    func ignoredElements() throws {
        let (one, other) = (#"{"i":[{"id":1},{"id":2}]}"#, #"{"i":[{"id":3},{}]}"#)
        #expect(try differences(one, other) == ["value i[*].id", "missing i[*].id"])
        #expect(try differences(one, other, ignoring: ["i[*].id"]) == [])
        #expect(try differences(one, other, ignoring: ["i[0]"]) == ["missing i[*].id"])
    }

    @Test("differences are told apart up to their bound", arguments: [63, 64, 65])
    func bound(count: Int) throws {
        func document(_ value: Int) -> String {
            "{" + (0..<count).map { "\"k\($0)\":\(value)" }.joined(separator: ",") + "}"
        }
        guard case .values(let one) = read(document(1)), case .values(let other) = read(document(2)) else {
            Issue.record("no JSON")
            return
        }
        var differences = ValueDifferences()
        differences.compare(one, other)
        #expect(differences.all.count == min(count, ValueDifferences.most))
        #expect(differences.isCut == (count > ValueDifferences.most))
    }

    @Test("documents have at most so many values: n - 1, n, n + 1", arguments: [-1, 0, 1])
    func values(more: Int) {
        // The array is a value, too.
        let count = ValueTree.most - 1 + more
        let outcome = read("[" + Array(repeating: "1", count: count).joined(separator: ",") + "]")
        switch outcome {
        case .values: #expect(more <= 0)
        case .tooLong: #expect(more > 0)
        case .otherType, .unreadable: Issue.record("\(outcome)")
        }
    }

    @Test("content is read by its type")
    func types() {
        func name(_ outcome: AnswerValues.Outcome) -> String {
            switch outcome {
            case .values: "values"
            case .otherType: "other type"
            case .tooLong: "too long"
            case .unreadable: "unreadable"
            }
        }
        for (text, type, expected) in [
            ("{}", "application/json; charset=utf-8", "values"), ("{}", "application/vnd.x+json", "values"),
            ("a=1", "application/x-www-form-urlencoded", "values"), ("<a>1</a>", "text/xml", "values"),
            ("<a>", "text/xml", "unreadable"), ("{", "application/json", "unreadable"),
            ("", "application/json", "unreadable"),
            ("ok", "text/plain", "other type"), ("<html>", "text/html", "other type"), ("", "", "other type"),
            (String(repeating: "[", count: 200), "application/json", "too long"),
        ] {
            #expect(name(read(text, type)) == expected, "\(type): \(text.prefix(20))")
        }
    }
}
