import HTTPWire
import Octets
import Testing

@testable import ExtProc

/// One direction of a stream: what comes in each mode, and what we say to it. The fields of our messages are those of
/// ProcessingResponse: 1 and 2 heads, 3 and 4 content, 5 and 6 trailers; in them 1 a CommonResponse: 1 status, 2 header_mutation, 3
/// body_mutation.
@Suite struct ProcessingFlowTests {
    /// A flow with its output.
    struct Bench {
        var flow: ProcessingFlow
        var output = OutputBuffer()

        init(_ mode: BodyMode, _ direction: Direction = .request) {
            flow = ProcessingFlow(direction)
            flow.mode = mode
        }

        /// A head, of which nothing is known yet unless what comes behind it passes.
        mutating func head(_ length: Int? = nil, endsStream: Bool = false) throws(CallError) {
            try flow.headCame(endsStream: endsStream, length: length)
            if !flow.passesContent { flow.answerHead(to: &output) }
        }

        /// A message with content, which goes on as it is, or as `becomes`.
        mutating func content(
            _ text: String, becomes: String? = nil, endsStream: Bool = false
        ) throws(CallError) -> Bool {
            if try flow.contentComes() {
                try flow.contentCame(text.utf8.count)
                flow.send(Array((becomes ?? text).utf8).span, to: &output)
            }
            let isLast = try flow.contentMessageEnded(endsStream: endsStream, to: &output)
            if isLast { try flow.end(to: &output) } else { flow.endTurn(to: &output) }
            return isLast
        }

        mutating func send(head name: String? = "x-a") {
            var mutation = HeaderMutation()
            if let name { mutation.set(Array(name.utf8).span, Array("1".utf8).span) }
            flow.sendHead(mutation, to: &output)
        }

        mutating func take() throws -> [String] {
            defer { output.removeAll() }
            return try text(output)
        }
    }

    @Test("what one message brings is bounded, unless more has come in one", arguments: [0, 4, 5, 9])
    func excess(_ came: Int) throws {
        for mode in [BodyMode.buffered, .fullDuplex] {
            var bench = Bench(mode)
            try bench.head()
            bench.send()
            #expect(try bench.flow.contentComes())
            try bench.flow.contentCame(came)
            for count in 1...9 {
                bench.flow.send([1].span, to: &bench.output)
                let most = came > 4 ? 8 : 4
                #expect(
                    bench.flow.excess(over: 4, held: 8) == (mode == .buffered && count > most ? most : nil), "\(count)")
            }
        }
    }

    @Test("a flow that was used is as a new one, wherever it was left", arguments: BodyMode.allCases)
    func reuse(_ mode: BodyMode) throws {
        func half(_ bench: inout Bench, _ steps: Int) throws {
            if steps > 0 { try bench.head() }
            if steps > 1 { bench.send() }
            if steps > 2, mode != .none { _ = try bench.content("ab") }
        }
        for steps in 0...3 {
            var used = Bench(mode)
            var new = Bench(.fullDuplex)
            try half(&used, steps)
            _ = try used.take()
            used.flow.reset(keeping: 1 << 20)
            #expect(used.flow.mode == .none && !used.flow.hasBegun && used.flow.pending.isEmpty)
            used.flow.mode = .fullDuplex
            try new.head()
            try used.head()
            new.send()
            used.send()
            let isLast = (try new.content("cd", endsStream: true), try used.content("cd", endsStream: true))
            #expect(isLast.0 && isLast.1)
            #expect(try used.take() == new.take())
        }
    }

    static let set = #"2{1{1{1="x-a" 3="1"} 3=2}}"#

    @Test("FULL_DUPLEX_STREAMED: the head when it is known, then content as it comes, then its end")
    func fullDuplex() throws {
        var bench = Bench(.fullDuplex)
        try bench.head()
        #expect(try bench.take() == [])
        bench.send()
        #expect(try bench.take() == ["1{1{\(Self.set)}}"])
        #expect(try !bench.content("ab"))
        #expect(try bench.take() == [])
        bench.flow.flush(to: &bench.output)
        #expect(try bench.take() == [#"3{1{3{3{1="ab"}}}}"#])
        #expect(try bench.content("", endsStream: true))
        #expect(try bench.take() == ["3{1{3{3{2=1}}}}"])
        // The last message a second time.
        #expect(try !bench.content("", endsStream: true))
        #expect(try bench.take() == [])
    }

    @Test(
        "FULL_DUPLEX_STREAMED: the end goes with the last content, and pieces have 64 KiB at most",
        arguments: [-1, 0, 1])
    func pieces(_ offset: Int) throws {
        var bench = Bench(.fullDuplex, .response)
        try bench.head()
        bench.send(head: nil)
        #expect(try bench.take() == ["2{1{}}"])
        let long = String(repeating: "x", count: 2 * ProcessingResponse.contentLimit + offset)
        #expect(try bench.content(long, endsStream: true))
        let messages = try bench.take()
        #expect(messages.count == (offset > 0 ? 3 : 2))
        #expect(messages.allSatisfy { $0.utf8.count <= ProcessingResponse.contentLimit + 40 })
        #expect(messages.map { $0.split(separator: "\"")[1].filter { $0 == "x" }.count }.reduce(0, +) == long.count)
        #expect(messages.last?.contains("2=1") == true)
        #expect(messages.dropLast().allSatisfy { !$0.contains("2=1") })
    }

    @Test("FULL_DUPLEX_STREAMED: trailers end content without a word in its messages")
    func trailers() throws {
        var bench = Bench(.fullDuplex)
        bench.flow.trailers.remove(Array("digest".utf8).span)
        try bench.head()
        bench.send()
        #expect(try !bench.content("ab"))
        #expect(try bench.flow.trailersCame(to: &bench.output))
        try bench.flow.end(to: &bench.output)
        #expect(
            try bench.take() == ["1{1{\(Self.set)}}", #"3{1{3{3{1="ab"}}}}"#, #"5{1{2="digest"}}"#])
    }

    @Test("BUFFERED: the head goes on with its content, whose length is set")
    func buffered() throws {
        var bench = Bench(.buffered)
        try bench.head(3)
        #expect(try bench.take() == ["1{1{}}"])
        bench.send()
        #expect(try bench.take() == [])
        #expect(try bench.content("a=1", becomes: "12345", endsStream: true))
        #expect(
            try bench.take() == [
                #"3{1{2{1{1{1="x-a" 3="1"} 3=2} 1{1{1="content-length" 3="5"} 3=2}} 3{1="12345"}}}"#
            ])
    }

    @Test("BUFFERED: content that has become nothing is taken away, and trailers have an answer of their own")
    func bufferedTrailers() throws {
        var bench = Bench(.buffered, .response)
        try bench.head()
        bench.send(head: nil)
        #expect(try bench.content("abc", becomes: "", endsStream: false))
        #expect(
            try bench.take() == ["2{1{}}", #"4{1{2{1{1{1="content-length" 3="0"} 3=2}} 3{2=1}}}"#])
        #expect(try !bench.flow.trailersCame(to: &bench.output))
        #expect(try bench.take() == ["6{}"])
    }

    @Test(
        "STREAMED: each message is replaced by what has come out, the one with the last byte of the length by the rest")
    func streamed() throws {
        var bench = Bench(.streamed)
        try bench.head(6)
        bench.send()
        #expect(try bench.take() == ["1{1{\(Self.set)}}"])
        #expect(try !bench.content("abc", becomes: ""))
        #expect(try bench.take() == ["3{1{3{2=1}}}"])
        #expect(try bench.content("def", becomes: "all"))
        #expect(try bench.take() == [#"3{1{3{1="all"}}}"#])
        // What still comes has an answer, which changes nothing.
        #expect(try !bench.content("", endsStream: true))
        #expect(try bench.take() == ["3{1{}}"])
        #expect(try !bench.flow.trailersCame(to: &bench.output))
        #expect(try bench.take() == ["5{}"])
    }

    @Test(
        "content that passes is not sent back where its messages are answered",
        arguments: [BodyMode.streamed, .buffered])
    func passing(_ mode: BodyMode) throws {
        var bench = Bench(mode)
        bench.flow.passesContent = true
        try bench.head(6)
        bench.send()
        let isLast = try bench.content("abcdef", endsStream: true)
        #expect(isLast)
        #expect(try bench.take() == ["1{1{\(Self.set)}}", "3{1{}}"])
    }

    @Test("BUFFERED: the answer to the head has what is known of it, since content may never come")
    func bufferedHead() throws {
        // What converts says all of it again with the content.
        var bench = Bench(.buffered)
        try bench.flow.headCame(endsStream: false, length: nil)
        #expect(bench.flow.owesHead)
        var early = HeaderMutation()
        early.remove(Array("x-b".utf8).span)
        bench.flow.answerHead(early, to: &bench.output)
        bench.flow.answerHead(early, to: &bench.output)
        #expect(try bench.take() == [#"1{1{2{2="x-b"}}}"#])
        bench.send()
        #expect(try bench.content("a=1", becomes: "{}", endsStream: true))
        #expect(
            try bench.take() == [
                #"3{1{2{1{1{1="x-a" 3="1"} 3=2} 1{1{1="content-length" 3="2"} 3=2}} 3{1="{}"}}}"#
            ])
        // Trailers alone behind a head that is answered take nothing away from what passes.
        for direction in Direction.allCases {
            var bench = Bench(.buffered, direction)
            bench.flow.passesContent = true
            try bench.head()
            #expect(bench.flow.owesHead)
            bench.send()
            #expect(!bench.flow.owesHead)
            bench.flow.answerHead(early, to: &bench.output)
            #expect(try bench.flow.trailersCame(to: &bench.output))
            try bench.flow.end(to: &bench.output)
            let field = 1 + direction.rawValue
            #expect(try bench.take() == ["\(field){1{\(Self.set)}}", "\(field + 4){}"])
        }
        // No other mode has an answer before it is known.
        for mode in BodyMode.allCases where mode != .buffered {
            var bench = Bench(mode)
            try bench.head()
            #expect(!bench.flow.owesHead)
            #expect(try bench.take() == [])
        }
    }

    @Test(
        "BUFFERED: trailers in the place of content leave no message to change head and content by",
        arguments: [false, true])
    func noPlace(_ passes: Bool) throws {
        for hasContent in [false, true] {
            var bench = Bench(.buffered, .response)
            bench.flow.passesContent = passes
            try bench.flow.headCame(endsStream: false, length: nil)
            if passes { bench.send() } else { bench.flow.answerHead(to: &bench.output) }
            #expect(!bench.flow.lacksPlace)
            if hasContent { #expect(try bench.content("a=1", endsStream: true)) }
            #expect(try bench.flow.trailersCame(to: &bench.output) == !hasContent)
            // What passes has said all of its head.
            #expect(bench.flow.lacksPlace == (!passes && !hasContent))
        }
    }

    @Test("content where there can be none is no end that came twice, and is never left out", arguments: [false, true])
    func contentOfNone(_ endsStream: Bool) throws {
        for mode in BodyMode.allCases where endsStream || mode == .none {
            var bench = Bench(mode)
            try bench.head(endsStream: endsStream)
            bench.send()
            let error = #expect(throws: CallError.self) { try bench.content("a") }
            #expect(error?.status == .invalidArgument)
            // A message without content takes nothing with it.
            #expect(try !bench.flow.contentMessageEnded(endsStream: true, to: &bench.output))
        }
    }

    @Test("a head without content waits for all that goes on, in each mode", arguments: BodyMode.allCases)
    func headAlone(_ mode: BodyMode) throws {
        for becomes in ["", "{}"] {
            var bench = Bench(mode)
            try bench.head(endsStream: true)
            bench.send()
            #expect(try bench.take() == [])
            bench.flow.send(Array(becomes.utf8).span, to: &bench.output)
            bench.flow.flush(to: &bench.output)
            bench.flow.endTurn(to: &bench.output)
            try bench.flow.end(to: &bench.output)
            try bench.flow.end(to: &bench.output)
            #expect(
                try bench.take() == [
                    becomes.isEmpty
                        ? "1{1{\(Self.set)}}"
                        : #"1{1{1=1 2{1{1{1="x-a" 3="1"} 3=2} 1{1{1="content-length" 3="2"} 3=2}} 3{1="{}"}}}"#
                ])
        }
    }

    @Test("where content passes beside us, the head is all")
    func none() throws {
        var bench = Bench(.none)
        try bench.head(5)
        bench.send()
        #expect(!bench.flow.takesContent)
        try bench.flow.end(to: &bench.output)
        #expect(try bench.take() == ["1{1{\(Self.set)}}"])
        #expect(try !bench.flow.trailersCame(to: &bench.output))
        #expect(try bench.take() == ["5{}"])
    }

    @Test("what comes out of order, or is longer or shorter than was said, ends the call")
    func order() throws {
        func expect(
            _ status: GRPC.Status, _ work: (inout Bench) throws(CallError) -> Void, mode: BodyMode = .fullDuplex
        ) {
            var bench = Bench(mode)
            let error = #expect(throws: CallError.self) { try work(&bench) }
            #expect(error?.status == status)
        }
        expect(.invalidArgument, { (bench) throws(CallError) in _ = try bench.content("a") })
        expect(.invalidArgument, { (bench) throws(CallError) in _ = try bench.flow.trailersCame(to: &bench.output) })
        expect(
            .invalidArgument,
            { (bench) throws(CallError) in
                try bench.head()
                try bench.head()
            })
        expect(
            .invalidArgument,
            { (bench) throws(CallError) in
                try bench.head(3)
                _ = try bench.content("a")
            }, mode: .streamed)
        for (text, length) in [("ab", 1), ("a", 2)] {
            expect(
                .invalidArgument,
                { (bench) throws(CallError) in
                    try bench.head(length)
                    bench.send()
                    _ = try bench.content(text, endsStream: true)
                })
        }
        expect(
            .invalidArgument,
            { (bench) throws(CallError) in
                try bench.head(2)
                bench.send()
                _ = try bench.flow.trailersCame(to: &bench.output)
            })
        expect(
            .invalidArgument,
            { (bench) throws(CallError) in
                try bench.head()
                _ = try bench.flow.trailersCame(to: &bench.output)
                _ = try bench.flow.trailersCame(to: &bench.output)
            })
        // In BUFFERED nothing can be put in front of trailers that came without content.
        expect(
            .failedPrecondition,
            { (bench) throws(CallError) in
                try bench.head()
                bench.send()
                _ = try bench.flow.trailersCame(to: &bench.output)
                bench.flow.send(Array("{}".utf8).span, to: &bench.output)
                try bench.flow.end(to: &bench.output)
            }, mode: .buffered)
    }
}

/// What has no place in a flow.
@Suite struct ProcessingResponseTests {
    @Test("an immediate response has a status, fields and content")
    func immediate() throws {
        var mutation = HeaderMutation()
        mutation.set(Array("content-type".utf8).span, Array("a/b".utf8).span)
        mutation.append(Array("link".utf8).span, Array("c".utf8).span)
        mutation.set(Array("x-empty".utf8).span, Span())
        var output = OutputBuffer()
        ProcessingResponse.writeImmediate(415, mutation, Array("{}".utf8).span, to: &output)
        ProcessingResponse.writeImmediate(204, HeaderMutation(), Span(), to: &output)
        #expect(
            try text(output) == [
                #"7{1{1=415} 2{1{1{1="content-type" 3="a/b"} 3=2} 1{1{1="link" 3="c"} 2{1=1}} "#
                    + #"1{1{1="x-empty" 3=""} 3=2 4=1}} 3="{}"}"#,
                "7{1{1=204}}",
            ])
    }

    @Test("a call ends with a status, and its reason is ASCII")
    func status() {
        var output = OutputBuffer()
        GRPC.appendStatus(.ok, to: &output)
        GRPC.appendStatus(.internal, "50 % é\n", to: &output)
        #expect(
            output.span.lossyString()
                == "grpc-status: 0\r\ngrpc-status: 13\r\ngrpc-message: 50 %25 %C3%A9%0A\r\n")
    }

    @Test(
        "media types of gRPC are known",
        arguments: [
            ("application/grpc", true), ("Application/gRPC+proto", true), ("application/grpc;a=b", true),
            ("application/grpc ", true), ("application/grpcx", false), ("application/grp", false), ("", false),
            ("application/grpc-web", false),
        ])
    func types(_ type: String, _ isOne: Bool) {
        #expect(GRPC.isContentType(Array(type.utf8).span) == isOne)
    }

    @Test("the health service's messages")
    func health() throws {
        var output = OutputBuffer()
        Health.write(isServing: true, to: &output)
        Health.write(isServing: false, to: &output)
        #expect(try text(output) == ["1=1", "1=2"])
        #expect(try Health.service(in: bytes(1, "a.B").span) == Array("a.B".utf8))
        #expect(try Health.service(in: Span()) == [])
        #expect(throws: CallError.self) { try Health.service(in: ([10, 9] as [UInt8]).span) }
    }
}
