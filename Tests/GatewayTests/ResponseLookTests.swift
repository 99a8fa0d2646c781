import ContentCoding
import HTTPWire
import Octets
import Testing
import Transcoding

@testable import Gateway

/// What is found in a response's body before its head goes out, without the connection that brings it.
@Suite struct ResponseLookTests {
    private static let map: [StatusRule.Entry] = [
        .init(.text(Array("0".utf8)), .status(200)), .init(.text(Array("40001".utf8)), .status(401)),
        .init(.range(40000...40099), .status(400)), .init(.text(Array("E1".utf8)), .status(409)),
        .init(.text(Array("true".utf8)), .unchanged), .init(.text(Array("null".utf8)), .status(503)),
        .init(.missing, .status(404)),
    ]

    private func status(
        _ path: String = "errcode", map: [StatusRule.Entry]? = map, standard: StatusRule.Outcome = .status(502),
        look: Int = StatusRule.standardLook, as encoding: BodyEncoding? = nil
    ) throws -> StatusRule {
        var rule = StatusRule(path: try FieldPath(parsing: path))
        rule.map = map
        rule.standard = standard
        rule.look = look
        rule.encoding = encoding
        return rule
    }

    private func rule(_ status: StatusRule?, _ problem: ProblemRule? = nil, _ action: ResponseRule.Action = .forward)
        throws
        -> ResponseRules.Rule
    {
        let rules = ResponseRules([ResponseRule(ResponseCondition(), action, status: status, problem: problem)])
        return try #require(rules?.rules.first)
    }

    private func look(
        _ rule: ResponseRules.Rule, _ pieces: [[UInt8]], type: String? = "application/json", status: Int = 200,
        fields: String = "", coding: Coding? = nil, isCut: Bool = false
    ) throws -> ResponseLook {
        var head = MessageHead()
        var parser = ResponseParser()
        let line = type.map { "Content-Type: \($0)\r\n" } ?? ""
        let text = Array("HTTP/1.1 \(status) X\r\n\(line)\(fields)\r\n".utf8)
        _ = try parser.parse(text.span, into: &head)
        let codings =
            coding.map { AppliedCodings($0) } ?? (fields.contains("Content-Encoding") ? nil : AppliedCodings())
        let look = ResponseLook(rule, head, codings: codings, limits: CodingLimits(), coders: CoderPool())
        for piece in pieces { look.feed(piece.span) }
        if !isCut { look.bodyEnded() }
        let whole = pieces.flatMap(\.self)
        look.withHeld { #expect($0.copied() == whole) }
        return look
    }

    private func found(_ rule: ResponseRules.Rule, _ body: String, type: String? = "application/json") throws -> String
    {
        let look = try look(rule, [Array(body.utf8)], type: type)
        #expect(look.isOver)
        return "\(look.status) \(look.statusFinding.map { "\($0.name)" } ?? "-")"
    }

    @Test(
        "a value's text decides by the map, then by default",
        arguments: [
            (#"{"errcode":0}"#, "200 value"), (#"{"errcode":"0"}"#, "200 value"), (#"{"errcode":40001}"#, "401 value"),
            (#"{"errcode":40002}"#, "400 value"), (#"{"errcode":40099}"#, "400 value"),
            (#"{"errcode":40100}"#, "502 default"),
            (#"{"errcode":39999}"#, "502 default"), (#"{"errcode":"E1"}"#, "409 value"),
            (#"{"errcode":"E\u0031"}"#, "409 value"),
            (#"{"errcode":true}"#, "200 value"), (#"{"errcode":false}"#, "502 default"),
            (#"{"errcode":null}"#, "503 value"),
            (#"{"errcode":0.0}"#, "502 default"), (#"{"errcode":-1}"#, "502 default"),
            (#"{"errcode":{}}"#, "502 default"),
            (#"{"errcode":[0]}"#, "502 default"), (#"{"errcode":"missing"}"#, "502 default"),
            (#"{"errmsg":"ok"}"#, "404 value"),
            (#"{"a":{"errcode":0}}"#, "404 value"), ("[]", "404 value"), ("7", "404 value"),
            (#"{"errcode":0,"errcode":40001}"#, "200 value"), (#"{"a":[1,{"b":[]}],"errcode":40001}"#, "401 value"),
            (#"{"errcode":40001,"a":"#, "401 value"), (#"{"errcode":0"#, "200 malformed"),
            (#"{"a":1"#, "200 malformed"),
            (#"{"errcode":}"#, "200 malformed"), ("<a/>", "200 malformed"), ("", "200 -"),
        ])
    func values(body: String, wanted: String) throws {
        let rule = try rule(status())
        #expect(try found(rule, body) == wanted)
        // However the body is cut.
        let bytes = Array(body.utf8)
        for at in bytes.indices.dropFirst() {
            let look = try look(rule, [Array(bytes[..<at]), Array(bytes[at...])])
            #expect("\(look.status) \(look.statusFinding.map { "\($0.name)" } ?? "-")" == wanted, "cut at \(at)")
        }
        let single = try look(rule, bytes.map { [$0] })
        #expect("\(single.status) \(single.statusFinding.map { "\($0.name)" } ?? "-")" == wanted)
    }

    @Test("without a map the value is the status, where it can be one of content")
    func direct() throws {
        let rule = try rule(status("error.code", map: nil, standard: .unchanged))
        for (value, wanted) in [
            ("401", "401 value"), ("\"404\"", "404 value"), ("599", "599 value"), ("600", "200 unmapped"),
            ("199", "200 unmapped"), ("204", "200 unmapped"), ("205", "200 unmapped"), ("206", "200 unmapped"),
            ("304", "200 unmapped"), ("\"0401\"", "200 unmapped"), ("4e2", "200 unmapped"), ("null", "200 unmapped"),
            ("{}", "200 unmapped"),
        ] {
            #expect(try found(rule, #"{"error":{"code":\#(value)}}"#) == wanted, "\(value)")
        }
        #expect(try found(rule, "{}") == "200 unmapped")
    }

    @Test("an array of errors, where there is one, is what GraphQL has")
    func graphQL() throws {
        let rule = try rule(status("errors", map: [.init(.missing, .unchanged)], standard: .status(400)))
        #expect(try found(rule, #"{"data":{"errors":[]}}"#) == "200 value")
        #expect(try found(rule, #"{"errors":[{"message":"no"}],"data":null}"#) == "400 default")
    }

    @Test("paths go through members and elements; an index also names a member")
    func paths() throws {
        for (path, body, wanted) in [
            ("errors[0].code", #"{"errors":[{"code":401},{"code":500}]}"#, "401 value"),
            ("errors[1].code", #"{"errors":[{"code":401},{"code":500}]}"#, "500 value"),
            ("[0]", "[403]", "403 value"), ("[1][0]", "[[401],[402]]", "402 value"),
            ("a[0]", #"{"a":{"0":404}}"#, "404 value"), (#""a.b".c"#, #"{"a.b":{"c":418}}"#, "418 value"),
            ("errors[2].code", #"{"errors":[{"code":401},{"code":500}]}"#, "200 unmapped"),
        ] {
            let rule = try rule(status(path, map: nil, standard: .unchanged))
            #expect(try found(rule, body) == wanted, "\(path)")
        }
    }

    @Test("XML, forms and property lists are looked at whole; any type, where the rule says what it is")
    func encodings() throws {
        let direct = try rule(status("r.code", map: nil, standard: .unchanged))
        for type in ["application/xml", "text/xml; charset=utf-8", "application/soap+xml"] {
            #expect(try found(direct, "<r><code>401</code></r>", type: type) == "401 value", "\(type)")
        }
        #expect(try found(direct, "<r><code>401</code>", type: "text/xml") == "200 malformed")
        #expect(try found(direct, "r[code]=409&b=1", type: "application/x-www-form-urlencoded") == "409 value")
        #expect(try found(direct, "b=1", type: "application/x-www-form-urlencoded") == "200 unmapped")
        #expect(
            try found(
                direct,
                "<plist version=\"1.0\"><dict><key>r</key><dict><key>code</key><integer>410</integer></dict></dict></plist>",
                type: "application/x-plist") == "410 value")
        let json = try rule(status("code", map: nil, standard: .unchanged, as: .json))
        for type in ["text/plain", "text/html", nil] {
            #expect(try found(json, #"{"code":401}"#, type: type) == "401 value")
        }
        let typed = try rule(status("code", map: nil, standard: .status(500)))
        for type in ["text/plain", "application/octet-stream", "application/json; charset=utf-16", nil] {
            // What can't be looked at is left as it is, whatever the default.
            let look = try look(typed, [Array(#"{"code":401}"#.utf8)], type: type)
            #expect(look.isOver && look.status == 200 && look.statusFinding == .type)
        }
    }

    @Test("a rule's conversion says how its body is read")
    func readAsConverted() throws {
        var conversion = ResponseConversion(ConversionPlan(inputs: [.json], output: .form))
        conversion.acceptedTypes = [try ResponseTypePattern(parsing: "text/plain")]
        let rule = try rule(status("code", map: nil), nil, .convert(conversion))
        #expect(try found(rule, #"{"code":401}"#, type: "text/plain") == "401 value")
    }

    @Test("the value is looked for in so many bytes, and not in one more")
    func bounds() throws {
        let body = Array(#"{"code":401}"#.utf8)
        // The number ends with the brace behind it.
        for (look, wanted) in [(12, "401 value"), (11, "200 too_long"), (1, "200 too_long")] {
            let rule = try rule(status("code", map: nil, look: look))
            for pieces in [[body], body.map { [$0] }] {
                let found = try self.look(rule, pieces)
                #expect("\(found.status) \(found.statusFinding?.name ?? "-")" == wanted, "\(look)")
            }
        }
        // What is no longer than that is known to be without it.
        let other = Array(#"{"a":1}"#.utf8)
        for (count, wanted) in [(6, ResponseLook.StatusFinding.tooLong), (7, .value), (8, .value)] {
            let found = try look(rule(status("code", look: count)), [other])
            #expect(found.statusFinding == wanted, "\(count)")
        }
        let form = Array("code=401".utf8)
        for (count, wanted) in [(7, ResponseLook.StatusFinding.tooLong), (8, .value), (9, .value)] {
            let found = try look(
                rule(status("code", map: nil, look: count)), form.map { [$0] },
                type: "application/x-www-form-urlencoded")
            #expect(found.statusFinding == wanted, "\(count)")
        }
    }

    @Test("where the value is found the look is over, whatever follows")
    func streams() throws {
        let found = try look(rule(status()), [Array(#"{"errcode":40001,"#.utf8)], isCut: true)
        #expect(found.isOver && found.status == 401)
    }

    private static func encoded(_ text: String, _ coding: Coding) -> [UInt8] {
        let encoder = ContentEncoder(coding)
        var output = OutputBuffer()
        precondition(encoder.encode(Array(text.utf8).span, into: &output) && encoder.finish(into: &output))
        return output.span.copied()
    }

    @Test("a coded body is looked at without its coding, and goes on as it came", arguments: Coding.allCases)
    func coded(coding: Coding) throws {
        let filler = String(repeating: "x", count: 3000)
        let body = Self.encoded(#"{"text":"\#(filler)","errcode":40001}"#, coding)
        for pieces in [[body], body.map { [$0] }] {
            let found = try look(rule(status(), ProblemRule()), pieces, coding: coding)
            #expect(found.status == 401 && found.statusFinding == .value && found.problemFinding == .made)
        }
        for (size, wanted) in [(3020, ResponseLook.StatusFinding.tooLong), (4000, .value)] {
            #expect(try look(rule(status(look: size)), [body], coding: coding).statusFinding == wanted, "\(size)")
        }
        // Cut short, or no such coding at all.
        let cut = try look(rule(status("absent")), [Array(body.dropLast(10))], coding: coding)
        #expect(cut.statusFinding == .coding && cut.status == 200)
        let other = try look(rule(status()), [Array(#"{"errcode":0}"#.utf8)], coding: coding)
        // Some bytes are a beginning of deflate, by chance.
        #expect(other.statusFinding == .coding || coding == .deflate && other.statusFinding == .malformed)
        let unknown = try look(rule(status()), [body], fields: "Content-Encoding: x-other\r\n")
        #expect(unknown.statusFinding == .coding && unknown.isOver)
    }

    // MARK: Problems

    private func text(of look: ResponseLook) -> String? { look.problem.map { $0.span.lossyString() } }

    private func problem(
        _ body: String, status: Int = 400, type: String = "application/json", fields: String = "",
        _ change: (inout ProblemRule) throws -> Void = { _ in }
    ) throws -> String {
        var problem = ProblemRule()
        try change(&problem)
        let rule = try rule(nil, problem)
        guard rule.looks(at: status) else { return "-" }
        let bytes = Array(body.utf8)
        let found = try look(rule, [bytes], type: type, status: status, fields: fields)
        let single = try look(rule, bytes.map { [$0] }, type: type, status: status, fields: fields)
        #expect(single.problemFinding == found.problemFinding)
        #expect(text(of: single) == text(of: found))
        return text(of: found) ?? "\(found.problemFinding?.name ?? "-")"
    }

    @Test(
        "the envelope's members go on, behind those of a problem",
        arguments: [
            (#"{"code":7,"message":"no"}"#, #""detail":"no","code":7,"message":"no"}"#),
            (#"{"errcode":1.50,"errmsg":"no"}"#, #""detail":"no","errcode":1.50,"errmsg":"no"}"#),
            (#"{"error":{"message":"no","code":3}}"#, #""detail":"no","error":{"message":"no","code":3}}"#),
            (
                #"{"error":"invalid","error_description":"no"}"#,
                #""detail":"no","error":"invalid","error_description":"no"}"#
            ),
            (#"{"error":"invalid"}"#, #""detail":"invalid","error":"invalid"}"#),
            (#"{"errors":[{"message":"no"}]}"#, #""detail":"no","errors":[{"message":"no"}]}"#),
            (#"{"errors":["no"]}"#, #""detail":"no","errors":["no"]}"#),
            (#"{"detail":"no"}"#, #""detail":"no"}"#),
            (#"{"detail":[{"loc":[]}]}"#, #""envelope":{"detail":[{"loc":[]}]}}"#),
            (#"{"detail":7}"#, #""detail":"7","envelope":{"detail":7}}"#),
            (#"{"message":""}"#, #""message":""}"#),
            (
                #"{"type":"T","title":"t","status":"error","instance":"/i","envelope":1,"a":null,"msg":"no"}"#,
                #""detail":"no","a":null,"msg":"no","envelope":{"type":"T","title":"t","status":"error","instance":"/i","envelope":1}}"#
            ),
            (#"{}"#, "}"), (#""no""#, #""detail":"no"}"#), ("[1,true]", #""envelope":[1,true]}"#),
            ("null", #""envelope":null}"#),
            (#"{"a":1,"a":2}"#, #""a":1,"a":2}"#), (#"{"m\"":"\u00e9\n"}"#, #""m\"":"é\n"}"#),
        ])
    func envelopes(body: String, rest: String) throws {
        let begin = #"{"type":"about:blank","title":"Bad Request","status":400"#
        #expect(try problem(body) == begin + (rest == "}" ? rest : "," + rest))
    }

    @Test("settings say where detail and title are, and the type")
    func chosen() throws {
        let body = #"{"title":"T","m":{"t":"M","d":"D"},"message":"no"}"#
        let made = try problem(body) {
            $0.detail = [try FieldPath(parsing: "absent"), try FieldPath(parsing: "m.d")]
            $0.title = try FieldPath(parsing: "m.t")
            $0.type = "https://example.com/p"
        }
        #expect(
            made == #"{"type":"https://example.com/p","title":"M","status":400,"detail":"D","m":{"t":"M","d":"D"},"#
                + #""message":"no","envelope":{"title":"T"}}"#)
        let own = try problem(body) { $0.title = try FieldPath(parsing: "title") }
        #expect(
            own.hasPrefix(#"{"type":"about:blank","title":"T","status":400,"detail":"no","m":"#)
                && !own.contains("envelope"))
    }

    @Test("XML and forms become problems too")
    func otherEncodings() throws {
        #expect(
            try problem(
                "<Error><Code>NoSuchKey</Code><message>no</message></Error>", status: 404, type: "application/xml")
                == #"{"type":"about:blank","title":"Not Found","status":404,"detail":"no","Error":{"Code":"NoSuchKey","message":"no"}}"#
        )
        #expect(
            try problem("error=invalid&error_description=no", type: "application/x-www-form-urlencoded")
                == #"{"type":"about:blank","title":"Bad Request","status":400,"detail":"no","error":"invalid","error_description":"no"}"#
        )
    }

    @Test("what can't become a problem stays as it is, and that is counted")
    func unmade() throws {
        #expect(try problem(#"{"a":"#) == "malformed")
        #expect(try problem("no", type: "text/plain") == "type")
        #expect(try problem("{}", fields: "Cache-Control: no-transform\r\n") == "no_transform")
        #expect(try problem("{}", fields: "Content-Encoding: x-other\r\n") == "coding")
        #expect(try problem("{}", type: "application/problem+json; charset=utf-8") == "-")
        #expect(try problem("{}", status: 399) == "-" && problem("{}", status: 200) == "-")
        #expect(try problem("") == "-")
        for (look, wanted) in [(1, "too_long"), (2, "made"), (3, "made")] {
            let made = try problem("{}") { $0.look = look }
            #expect(made == wanted || wanted == "made" && made.hasPrefix("{"), "\(look)")
        }
    }

    @Test("a status that the envelope says decides whether it becomes a problem")
    func both() throws {
        let rule = try rule(status("code", map: nil), ProblemRule())
        let bad = try look(rule, [Array(#"{"code":409,"message":"no"}"#.utf8)])
        #expect(bad.status == 409)
        #expect(
            text(of: bad)
                == #"{"type":"about:blank","title":"Conflict","status":409,"detail":"no","code":409,"message":"no"}"#)
        let good = try look(rule, [Array(#"{"code":201,"#.utf8)], isCut: true)
        #expect(good.isOver && good.status == 201 && good.problem == nil && good.problemFinding == nil)
    }
}
