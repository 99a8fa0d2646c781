import ContentCoding
import HTTPWire
import Octets
import TestSupport
import Testing
import Transcoding

@testable import Gateway

/// The conversion of a request's body, without the connections that bring it and take it.
@Suite struct RequestTranscoderTests {
    // MARK: A route, and a front for it

    /// A route that converts, with the pools of a worker.
    fileprivate struct Rig {
        let route: Route
        let rule: RequestConversion
        let conversions: ConversionPool
        let coders = CoderPool()

        init(_ plan: ConversionPlan, otherTypes: OtherTypes = .reject, coding: CodingOptions = CodingOptions()) throws {
            var options = RouteOptions()
            options.coding = coding
            route = Route(
                index: 0, name: "r", match: RouteMatch(path: try PathPattern(parsing: "/*")), upstream: 0,
                limits: plan.limits, request: .convert(plan, otherTypes: otherTypes, sources: []), options: options)
            rule = try #require(route.conversion)
            conversions = ConversionPool(plan)
        }

        /// Begins with a body that comes with `framing`; a test says so where it passes on instead.
        func begin(
            _ transcoder: inout RequestTranscoder, type: String?, coding: Coding? = nil, framing: BodyFraming,
            target: String = "/", requestLine: Int = 16 * 1024, converts: Bool = true
        ) throws {
            var fields: [(String, String)] = []
            if let type { fields.append(("Content-Type", type)) }
            if let coding { fields.append(("Content-Encoding", coding.rawValue)) }
            let head = try requestHead("POST", target, fields: fields)
            #expect(try route.converts(head, hasBody: !framing.isEmpty || type != nil))
            let isBegun = try transcoder.begin(
                head, by: rule, of: route, framing: framing, sources: [], conversions: conversions, coders: coders,
                requestLine: requestLine)
            #expect(isBegun == converts)
        }
    }

    /// What takes the output: as it comes, or whole.
    fileprivate struct Front {
        let streams: Bool
        /// Announced in the place of what the transcoder says.
        var announces: Int?
        private(set) var framing: BodyFraming?
        private(set) var output: [UInt8] = []
        private(set) var padding: [UInt8] = []
        private(set) var passedCount = 0
        private(set) var ticks = 0
        /// The most input that one call has handed to the conversion.
        private(set) var mostConverted = 0

        init(streams: Bool, announces: Int? = nil) {
            self.streams = streams
            self.announces = announces
        }

        mutating func run(_ transcoder: inout RequestTranscoder, _ pieces: [[UInt8]]) throws(Refusal) {
            for piece in pieces { try feed(&transcoder, piece) }
            try finish(&transcoder)
        }

        mutating func feed(_ transcoder: inout RequestTranscoder, _ piece: [UInt8]) throws(Refusal) {
            var at = 0
            transcoder.beginSlice()
            while true {
                let rest = piece.span.extracting(at..<piece.count)
                let before = transcoder.conversion?.consumedCount ?? 0
                let step = try transcoder.feed(rest, mayPass: framing != nil)
                mostConverted = max(mostConverted, (transcoder.conversion?.consumedCount ?? 0) - before)
                at += step.consumed
                if !step.passed.isEmpty {
                    take(&transcoder)
                    output += rest.extracting(step.passed).copied()
                    passedCount += step.passed.count
                }
                switch step.outcome {
                case .done:
                    #expect(at == piece.count, "done, with \(piece.count - at) bytes left")
                    if streams, transcoder.outputCount > 0 { stream(&transcoder) }
                    return
                case .full: if framing != nil || !transcoder.bufferMore(isWhole: false) { stream(&transcoder) }
                case .tick: nextTick(&transcoder)
                case .held: turn(&transcoder)
                }
            }
        }

        /// What becomes of a picture here: its bytes, the last one first.
        private func turn(_ transcoder: inout RequestTranscoder) {
            guard let file = transcoder.takeFile() else { return }
            transcoder.settleFile(SettledFile(content: file.content.reversed()))
        }

        mutating func finish(_ transcoder: inout RequestTranscoder) throws(Refusal) {
            transcoder.beginSlice()
            loop: while true {
                switch try transcoder.finish() {
                case .done: break loop
                case .full: if framing != nil || !transcoder.bufferMore(isWhole: true) { stream(&transcoder) }
                case .tick: nextTick(&transcoder)
                case .held: turn(&transcoder)
                }
            }
            if framing == nil {
                framing = .length(announces ?? transcoder.outputCount)
                transcoder.announce(.length(announces ?? transcoder.outputCount))
            }
            take(&transcoder)
            while true {
                let piece = transcoder.takePadding()
                if piece.isEmpty { break }
                padding += piece
            }
        }

        private mutating func nextTick(_ transcoder: inout RequestTranscoder) {
            ticks += 1
            transcoder.beginSlice()
        }

        private mutating func stream(_ transcoder: inout RequestTranscoder) {
            if framing == nil { announce(&transcoder) }
            take(&transcoder)
        }

        mutating func announce(_ transcoder: inout RequestTranscoder) {
            let told = transcoder.beginStreaming(to: "app")
            let framing = announces.map { BodyFraming.length($0) } ?? told
            transcoder.announce(framing)
            self.framing = framing
        }

        private mutating func take(_ transcoder: inout RequestTranscoder) {
            var buffer = OutputBuffer()
            transcoder.swapOutput(&buffer)
            output += buffer.span.copied()
            buffer.removeAll()
            transcoder.swapOutput(&buffer)
        }
    }

    struct Pair: CustomTestStringConvertible, Sendable {
        let input: BodyEncoding
        let output: BodyEncoding
        let body: String
        /// Whether a length that is told beforehand can be filled up.
        let isPaddable: Bool

        var type: String { input == .multipart ? "multipart/form-data; boundary=b" : input.mediaType }
        var testDescription: String { "\(input) -> \(output)" }
        var plan: ConversionPlan { ConversionPlan(inputs: [input], output: output) }
    }

    private static let pairs = [
        Pair(input: .form, output: .json, body: "a[b]=x+y&a[c][]=1&d=%C3%A9", isPaddable: true),
        Pair(input: .json, output: .form, body: #"{"a":[{"b":"x y"},{"b":1}],"c":null}"#, isPaddable: false),
        Pair(input: .json, output: .json, body: #"{"a" : ["x", 1.50], "b":{} }"#, isPaddable: true),
        Pair(
            input: .multipart, output: .json,
            body: "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx y\r\n--b--\r\n", isPaddable: true),
    ]

    private static func encoded(_ body: [UInt8], _ coding: Coding?) -> [UInt8] {
        guard let coding else { return body }
        let encoder = ContentEncoder(coding)
        var output = OutputBuffer()
        var isFine = encoder.encode(body.span, into: &output)
        isFine = encoder.finish(into: &output) && isFine
        precondition(isFine)
        return output.span.copied()
    }

    /// The refusal that `work` ends with.
    private func refusal(_ work: () throws -> Void) -> Refusal? {
        do {
            try work()
            return nil
        } catch {
            return error as? Refusal
        }
    }

    // MARK: The bytes

    @Test(
        "the bytes are the same however the body is cut, coded and framed, and however the output is taken",
        arguments: pairs, [nil] + Coding.allCases)
    func cuts(_ pair: Pair, _ coding: Coding?) throws {
        let plain = Array(pair.body.utf8)
        let body = Self.encoded(plain, coding)
        // Multipart has a random boundary, so none of these has it as output.
        let expected = try pair.plan.convert(plain, contentType: pair.type).body
        let rig = try Rig(pair.plan)
        var transcoder = RequestTranscoder()
        for cut in Recut.cuts(of: body) {
            for streams in [false, true] {
                for framing in [BodyFraming.length(body.count), .chunked] {
                    let what = "\(cut), streams: \(streams), \(framing)"
                    try rig.begin(&transcoder, type: pair.type, coding: coding, framing: framing)
                    var front = Front(streams: streams)
                    try front.run(&transcoder, cut.slices)
                    #expect(front.output == expected, "\(what)")
                    switch front.framing {
                    case .length(let count):
                        #expect(count == expected.count + front.padding.count, "\(what)")
                        // Where all of the output comes at the end, its length is exact.
                        if !streams { #expect(front.padding.isEmpty, "\(what)") }
                        if !front.padding.isEmpty { #expect(pair.isPaddable && coding == nil && framing != .chunked) }
                    case .chunked: #expect(streams && (coding != nil || framing == .chunked || !pair.isPaddable))
                    case .untilClose, Optional.none, .some(.none):
                        Issue.record("framed as \(String(describing: front.framing))")
                    }
                    #expect(front.padding.allSatisfy { $0 == 10 || $0 == 13 })
                    if let decoder = transcoder.takeDecoder() { rig.coders.recycle(decoder) }
                    if let conversion = transcoder.end() { rig.conversions.recycle(conversion) }
                    transcoder.reset()
                }
            }
        }
    }

    @Test("a streamed body with a length is padded to the bound that was told, in pieces")
    func padding() throws {
        let value = String(repeating: "v", count: 300_000)
        let body = Array(#"{"a":"\#(value)","b":1}"#.utf8)
        var plan = ConversionPlan(inputs: [.json], output: .json)
        plan.limits.field = 1 << 20
        let rig = try Rig(plan)
        var transcoder = RequestTranscoder()
        try rig.begin(&transcoder, type: "application/json", framing: .length(body.count))
        var front = Front(streams: true)
        try front.run(&transcoder, Cut.every(10_000, of: body).slices)
        #expect(front.output == body)
        guard case .length(let count) = front.framing else { throw Refusal.lengthRequired }
        #expect(count > body.count && count == front.output.count + front.padding.count)
        let more = transcoder.takePadding()
        #expect(transcoder.isPadded == true && more.isEmpty)
        // The conversion may go before the padding does.
        transcoder.reset()
        try rig.begin(&transcoder, type: "application/json", framing: .length(2))
        try Front.feedAll(&transcoder, "{}")
        transcoder.announce(transcoder.beginStreaming(to: "app"))
        let outcome = try transcoder.finish()
        #expect(outcome == .done)
        let ended = transcoder.end()
        let padding = transcoder.takePadding()
        #expect(ended?.outputCount == 2 && transcoder.conversion == nil && !padding.isEmpty)
    }

    @Test("long content that passes stays in the input, and what is decoded is copied", arguments: [nil, Coding.gzip])
    func passing(_ coding: Coding?) throws {
        let content = (0..<200_000).map { UInt8(truncatingIfNeeded: ($0 &* 2_654_435_761) >> 7) }
        let head = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\n"
        let plain = Array(head.utf8) + content + Array("\r\n--b--\r\n".utf8)
        let body = Self.encoded(plain, coding)
        let rig = try Rig(ConversionPlan(inputs: [.multipart], output: .multipart))
        var transcoder = RequestTranscoder()
        let framing = BodyFraming.length(body.count)
        try rig.begin(&transcoder, type: "multipart/form-data; boundary=b", coding: coding, framing: framing)
        var front = Front(streams: true)
        try front.run(&transcoder, Cut.every(60_000, of: body).slices)
        #expect((front.passedCount > 100_000) == (coding == nil))
        let at = try #require(front.output.firstRange(of: content))
        #expect(at.lowerBound < 300 && front.output.count - at.upperBound < 100)
        let length = front.output.count + front.padding.count
        #expect(front.framing == (coding == nil ? .length(length) : .chunked))
    }

    @Test("no call converts more than a slice and a piece of a coded body", arguments: Coding.allCases)
    func ticks(_ coding: Coding) throws {
        let value = String(repeating: "v", count: 2_000_000)
        var plan = ConversionPlan(inputs: [.json], output: .form)
        plan.limits.field = 4 << 20
        var options = CodingOptions()
        options.limits.ratio = 1_000_000
        let rig = try Rig(plan, coding: options)
        for streams in [true, false] {
            let body = Self.encoded(Array(#"{"a":"\#(value)"}"#.utf8), coding)
            var transcoder = RequestTranscoder()
            try rig.begin(&transcoder, type: "application/json", coding: coding, framing: .length(body.count))
            var front = Front(streams: streams)
            try front.run(&transcoder, [body])
            #expect(front.output == Array("a=\(value)".utf8))
            #expect(front.mostConverted <= 2 * RequestTranscoder.sliceSize, "\(front.mostConverted)")
            #expect(front.ticks >= value.utf8.count / (2 * RequestTranscoder.sliceSize), "\(front.ticks)")
        }
    }

    // MARK: Limits

    @Test("a body has its limit, as it comes and coded", arguments: [nil] + Coding.allCases, [-1, 0, 1])
    func bodyLimit(_ coding: Coding?, _ more: Int) throws {
        let body = Self.encoded(Array("a=12345678".utf8), coding)
        var plan = ConversionPlan(inputs: [.form], output: .json)
        plan.limits.body = body.count + more
        let rig = try Rig(plan)
        for cut in [Cut.whole(body), Cut.every(1, of: body)] {
            var transcoder = RequestTranscoder()
            try rig.begin(&transcoder, type: BodyEncoding.form.mediaType, coding: coding, framing: .chunked)
            var front = Front(streams: false)
            let refusal = refusal { try front.run(&transcoder, cut.slices) }
            #expect(refusal?.code == (more < 0 ? "limit_body" : nil))
            let isFault = transcoder.takeCodingFault()
            #expect(!isFault)
        }
    }

    /// A name of 100 bytes for each element of two bytes.
    @Test("what a conversion makes of each byte has its limit", arguments: [false, true])
    func growthLimit(streams: Bool) throws {
        let name = String(repeating: "n", count: 100)
        let count = 20_000
        let body = Array(("{\"\(name)\":[" + String(repeating: "1,", count: count) + "1]}").utf8)
        let made = (count + 1) * (name.utf8.count + "%5B%5D=1&".utf8.count) - 1
        for (ratio, isRefused) in [(made / body.count - 1, true), (made / body.count + 2, false)] {
            var options = CodingOptions()
            options.limits.ratio = ratio
            let rig = try Rig(ConversionPlan(inputs: [.json], output: .form), coding: options)
            var transcoder = RequestTranscoder()
            try rig.begin(&transcoder, type: BodyEncoding.json.mediaType, coding: nil, framing: .chunked)
            var front = Front(streams: streams)
            let refusal = refusal { try front.run(&transcoder, [body]) }
            #expect(refusal?.code == (isRefused ? "limit_ratio" : nil))
            #expect(isRefused ? refusal?.status == 413 : front.output.count == made)
        }
    }

    @Test("what a coded body becomes has its limit", arguments: Coding.allCases, [-1, 0, 1])
    func decompressedLimit(_ coding: Coding, _ more: Int) throws {
        let plain = Array("a=12345678".utf8)
        var options = CodingOptions()
        options.limits.decompressed = plain.count + more
        let rig = try Rig(ConversionPlan(inputs: [.form], output: .json), coding: options)
        var transcoder = RequestTranscoder()
        try rig.begin(&transcoder, type: BodyEncoding.form.mediaType, coding: coding, framing: .chunked)
        var front = Front(streams: false)
        let refusal = refusal { try front.run(&transcoder, [Self.encoded(plain, coding)]) }
        #expect(refusal?.code == (more < 0 ? "limit_decompressed" : nil))
        let faults = [transcoder.takeCodingFault(), transcoder.takeCodingFault()]
        #expect(faults == [more < 0, false])
    }

    @Test(
        "a document of many values has its length, or goes in chunks where it is long, and is never refused",
        arguments: [900, 999, 1000, 1001, 1002, 4000, 5000, 20_000, 60_000, 150_000], [BodyEncoding.multipart, .xml])
    func manyValues(_ count: Int, _ output: BodyEncoding) throws {
        var plan = ConversionPlan(inputs: [.json], output: output)
        plan.limits.tree = .max
        plan.xmlEncoding.root = .wrap
        for (before, value) in [("", "1"), (#"{"text":"some more than a digit"},"#, #"{"id":1,"name":"a name"}"#)] {
            let values = Array(repeating: value, count: count).joined(separator: ",")
            let body = Array((#"{"a":["# + before + values + "]}").utf8)
            for cut in [Cut.whole(body), .every(4096, of: body)] {
                let rig = try Rig(plan)
                var transcoder = RequestTranscoder()
                try rig.begin(&transcoder, type: "application/json", framing: .length(body.count))
                var front = Front(streams: false)
                try front.run(&transcoder, cut.slices)
                if case .length(let length) = front.framing {
                    #expect(length == front.output.count + front.padding.count)
                } else {
                    #expect(front.framing == .chunked && front.output.count > 8 << 20)
                }
            }
        }
    }

    @Test("a short document whose names become longer has its length", arguments: [100, 7_000, 20_000, 80_000])
    func longerNames(_ count: Int) throws {
        var plan = ConversionPlan(inputs: [.json], output: .json)
        let longer = try FieldPath(parsing: "a[*].a_name_of_30_bytes_in_all_000000")
        plan.map.rename = [.init(from: try FieldPath(parsing: "a[*].b"), to: longer)]
        let body = Array((#"{"a":["# + Array(repeating: #"{"b":1}"#, count: count).joined(separator: ",") + "]}").utf8)
        let rig = try Rig(plan)
        var transcoder = RequestTranscoder()
        try rig.begin(&transcoder, type: "application/json", framing: .length(body.count))
        var front = Front(streams: false)
        try front.run(&transcoder, Cut.every(4096, of: body).slices)
        #expect(front.output.count > body.count + 30 * count)
        if case .length(let length) = front.framing { #expect(length == front.output.count + front.padding.count) }
    }

    @Test(
        "output never passes the length that was announced, before its first byte or behind it", arguments: [-1, 0, 1])
    func announcedLength(_ more: Int) throws {
        let body = Array(#"{"a":"12345678","b":2}"#.utf8)
        let rig = try Rig(ConversionPlan(inputs: [.json], output: .json))
        for (cut, isEarly) in [
            (Cut.whole(body), true), (.every(1, of: body), true), (.every(1, of: body), false),
            (.every(9, of: body), false),
        ] {
            var transcoder = RequestTranscoder()
            try rig.begin(&transcoder, type: "application/json", framing: .length(body.count))
            var front = Front(streams: true, announces: body.count + more)
            if isEarly { front.announce(&transcoder) }
            let refusal = refusal { try front.run(&transcoder, cut.slices) }
            #expect(refusal?.code == (more < 0 ? "length_outgrown" : nil))
            if more < 0 {
                #expect(refusal?.conversionError?.setting == "upstreams.app.framing")
                #expect(front.output.count < body.count)
            } else {
                #expect(front.output == body && front.padding.count == more)
            }
        }
    }

    @Test("output is buffered up to the limit for its length, and no further", arguments: [-1, 0, 1])
    func bufferLimit(_ more: Int) throws {
        #expect(RequestTranscoder.bufferLimit(ofBody: 512 * 1024 + more) == (more <= 0 ? 256 : 64) * 1024)
        #expect(RequestTranscoder.bufferLimit(ofBody: nil) == 64 * 1024)
        var plan = ConversionPlan(inputs: [.json], output: .form)
        plan.limits.field = 1 << 20
        let rig = try Rig(plan)
        for framing in [BodyFraming.chunked, .length(300_000)] {
            let limit = RequestTranscoder.bufferLimit(ofBody: framing == .chunked ? nil : 300_000)
            var transcoder = RequestTranscoder()
            try rig.begin(&transcoder, type: "application/json", framing: framing)
            let value = String(repeating: "v", count: limit - 2 + more)
            let body = Array(#"{"a":"\#(value)"}"#.utf8)
            let step = try transcoder.feed(body.span)
            #expect(transcoder.outputCount == limit + more)
            #expect((step.outcome == .full) == (more >= 0))
            #expect(transcoder.needsMemory == (limit > 2 * RequestTranscoder.sliceSize))
            #expect(transcoder.bufferedCount >= limit + more)
        }
    }

    @Test("a document that is whole is buffered further, so that its length is exact")
    func bufferMore() throws {
        let value = String(repeating: "v", count: 300_000)
        var plan = ConversionPlan(inputs: [.form], output: .json)
        plan.limits.field = 1 << 20
        let body = Array((0..<3).map { "a\($0)=\(value)" }.joined(separator: "&").utf8)
        for coding in [nil, Coding.gzip] {
            var options = CodingOptions()
            options.limits.ratio = 1_000_000
            let rig = try Rig(plan, coding: options)
            let body = Self.encoded(body, coding)
            for framing in [BodyFraming.chunked, .length(body.count)] {
                var transcoder = RequestTranscoder()
                try rig.begin(&transcoder, type: BodyEncoding.form.mediaType, coding: coding, framing: framing)
                var front = Front(streams: false)
                try front.run(&transcoder, Cut.every(10_000, of: body).slices)
                #expect(front.framing == .length(front.output.count) && front.output.count > 900_000)
                #expect(transcoder.needsMemory == true)
            }
        }
    }

    /// Documents that are read whole, of which the text of `count` bytes becomes so many times that.
    private static let wholeDocuments:
        [(name: String, plan: ConversionPlan, body: @Sendable (Int) -> String, isExact: Bool)] = {
            func plan(
                _ input: BodyEncoding, _ output: BodyEncoding, _ change: (inout ConversionPlan) -> Void = { _ in }
            )
                -> ConversionPlan
            {
                var plan = ConversionPlan(inputs: [input], output: output)
                plan.limits.tree = 64 << 20
                plan.limits.field = 64 << 20
                change(&plan)
                return plan
            }
            @Sendable func text(_ count: Int) -> String { String(repeating: "v", count: count) }
            @Sendable func values(_ count: Int) -> String {
                Array(repeating: "\"value\"", count: count / 8).joined(separator: ",")
            }
            @Sendable func part(_ name: String, _ value: String) -> String {
                "--b\r\nContent-Disposition: form-data; name=\"\(name)\"\r\n\r\n\(value)\r\n"
            }
            return [
                (
                    "sorted JSON", plan(.json, .json) { $0.fieldEncoding.order = .sorted },
                    { #"{"b":1,"a":["\#(text($0))"]}"# }, true
                ),
                (
                    "many values", plan(.json, .json) { $0.fieldEncoding.order = .sorted },
                    { #"{"b":1,"a":[\#(values($0))]}"# },
                    true
                ),
                (
                    "escapes", plan(.json, .json) { $0.fieldEncoding.order = .sorted },
                    { #"{"b":1,"a":"\#(String(repeating: "\\u0000", count: $0 / 6))"}"# }, true
                ),
                ("XML", plan(.json, .xml), { #"{"b":1,"a":["\#(text($0))"]}"# }, true),
                ("XML of many values", plan(.json, .xml), { #"{"b":1,"a":[\#(values($0))]}"# }, true),
                (
                    "parts", plan(.json, .multipart) { $0.fieldEncoding.order = .sorted },
                    { #"{"b":1,"a":[\#(values($0 / 10))]}"# }, true
                ),
                ("a form", plan(.form, .json), { "b=1&a[x]=\(text($0))" }, true),
                ("multipart", plan(.multipart, .json), { part("b", "1") + part("a[x]", text($0)) + "--b--\r\n" }, true),
                (
                    "multipart with a file", plan(.multipart, .json) { $0.fieldEncoding.files = .base64 },
                    {
                        part("f\"; filename=\"f", "file") + part("b", "1") + part("a[x]", text($0)) + "--b--\r\n"
                    }, false
                ),
            ]
        }()

    @Test(
        "what is longer than what is held of a document has its length, too, and hardly any padding",
        arguments: 0..<9)
    func wholeDocument(_ index: Int) throws {
        for (number, count) in [(8 << 20) - 1000, 8 << 20, 9_000_000].enumerated() where tries(number: index + number) {
            try wholeDocument(index, count)
        }
    }

    private func wholeDocument(_ index: Int, _ count: Int) throws {
        let (name, plan, body, isExact) = Self.wholeDocuments[index]
        let bytes = Array(body(count).utf8)
        let rig = try Rig(plan)
        var transcoder = RequestTranscoder()
        let type = plan.inputs[0] == .multipart ? "multipart/form-data; boundary=b" : plan.inputs[0].mediaType
        try rig.begin(&transcoder, type: type, framing: .length(bytes.count))
        var front = Front(streams: false)
        try front.run(&transcoder, [bytes])
        #expect(front.output.count > 4 << 20)
        #expect(front.framing == .length(front.output.count + front.padding.count), "\(name)")
        #expect(front.padding.count <= (isExact ? 0 : 1024), "\(name)")
    }

    // MARK: Refusals

    @Test("a body that can't be read is refused wherever it is cut, and never looks whole", arguments: [true, false])
    func malformed(_ streams: Bool) throws {
        let body = Array(#"{"a":[1,2],"b":"x"]"#.utf8)
        let rig = try Rig(ConversionPlan(inputs: [.json], output: .json))
        var transcoder = RequestTranscoder()
        for cut in Recut.cuts(of: body) {
            try rig.begin(&transcoder, type: "application/json", framing: .length(body.count))
            var front = Front(streams: streams)
            let refusal = refusal { try front.run(&transcoder, cut.slices) }
            #expect(refusal?.status == 400, "\(cut)")
            #expect(!front.output.contains(UInt8(ascii: "}")) && front.padding.isEmpty, "\(cut)")
            let isFault = transcoder.takeCodingFault()
            #expect(!isFault)
            transcoder.reset()
        }
    }

    @Test("a coding that ends early, or that can't be read, is refused", arguments: Coding.allCases)
    func codingFaults(_ coding: Coding) throws {
        let rig = try Rig(ConversionPlan(inputs: [.form], output: .json))
        let body = Self.encoded(Array("a=12345678&b=12345678".utf8), coding)
        var transcoder = RequestTranscoder()
        for end in 0..<body.count {
            try rig.begin(&transcoder, type: BodyEncoding.form.mediaType, coding: coding, framing: .chunked)
            var front = Front(streams: false)
            let refusal = refusal { try front.run(&transcoder, [Array(body[..<end])]) }
            #expect(refusal?.status == 400 && front.output.isEmpty, "cut at \(end)")
            let isFault = transcoder.takeCodingFault()
            #expect(isFault, "cut at \(end)")
            transcoder.reset()
        }
        // No body at all is not an empty one that was coded.
        #expect(
            refusal {
                try rig.begin(
                    &transcoder, type: BodyEncoding.form.mediaType, coding: coding, framing: BodyFraming.length(0))
            }?.status == 400)
        let isFault = transcoder.takeCodingFault()
        #expect(isFault)
    }

    @Test("R36 what the route doesn't take is refused before the body, or passes")
    func beginnings() throws {
        var options = CodingOptions()
        options.undone = [.gzip]
        let plan = ConversionPlan(inputs: [.form], output: .json)
        let form = BodyEncoding.form.mediaType
        var transcoder = RequestTranscoder()
        let rig = try Rig(plan, coding: options)
        for type in [nil, "", "application/json", "?"] as [String?] {
            let refusal = refusal { try rig.begin(&transcoder, type: type, framing: .chunked) }
            #expect(refusal?.status == 415 && transcoder.isBegun == false)
            try Rig(plan, otherTypes: .pass).begin(&transcoder, type: type, framing: .chunked, converts: false)
            #expect(transcoder.isBegun == false && transcoder.conversion == nil)
        }
        let refusal = refusal { try rig.begin(&transcoder, type: form, coding: .br, framing: .chunked) }
        let isFault = transcoder.takeCodingFault()
        #expect(refusal?.code == "unsupported_content_coding" && isFault)
        transcoder.reset()
        try rig.begin(&transcoder, type: form, coding: .gzip, framing: .chunked)
        #expect(transcoder.coding == .gzip)
        // What is taken as it is needs none.
        let raw = ConversionPlan(inputs: [.raw], output: .raw)
        for type in [nil, ""] as [String?] {
            transcoder.reset()
            try Rig(raw).begin(&transcoder, type: type, framing: .length(1))
        }
        // A request without a body has nothing to convert, unless it names a type.
        #expect(try !rig.route.converts(requestHead("POST", "/", fields: [("Content-Type", "")]), hasBody: false))
        #expect(try !rig.route.converts(requestHead("POST", "/"), hasBody: false))
        #expect(try !rig.route.converts(requestHead("GET", "/", fields: [("Content-Type", form)]), hasBody: false))
        #expect(try rig.route.converts(requestHead("POST", "/", fields: [("Content-Type", form)]), hasBody: false))
        let fixed = [("Content-Type", form), ("Cache-Control", "no-transform")]
        #expect(
            self.refusal { _ = try rig.route.converts(requestHead("POST", "/", fields: fixed), hasBody: true) }?.code
                == "request_no_transform")
    }

    @Test("F2 a part of a body is refused, but where its type passes")
    func parts() throws {
        let rig = try Rig(ConversionPlan(inputs: [.form], output: .json), otherTypes: .pass)
        for (type, code) in [(BodyEncoding.form.mediaType, "request_partial_content"), ("a/b", nil)] {
            var transcoder = RequestTranscoder()
            let refusal = refusal {
                let head = try requestHead(
                    "PUT", "/", fields: [("Content-Type", type), ("Content-Range", "bytes 0-2/9")])
                _ = try transcoder.begin(
                    head, by: rig.rule, of: rig.route, framing: .length(3), sources: [], conversions: rig.conversions,
                    coders: rig.coders, requestLine: 16 * 1024)
            }
            #expect(refusal?.code == code)
        }
    }

    @Test(
        "a call of gRPC's passes, whoever would read its type",
        arguments: [
            (BodyEncoding.raw, "application/grpc"), (.raw, "Application/gRPC-web+proto"),
            (.json, "application/grpc+json"),
            (.json, "application/grpc-web+json"), (.xml, "application/grpc+xml; a=b"), (.form, "application/grpc"),
        ])
    func calls(_ input: BodyEncoding, _ type: String) throws {
        var transcoder = RequestTranscoder()
        let plan = ConversionPlan(inputs: [input], output: input == .raw ? .raw : .json)
        try Rig(plan).begin(&transcoder, type: type, framing: .length(8), converts: false)
        #expect(transcoder.isBegun == false && transcoder.conversion == nil)
    }

    @Test("a call passes where its type is one that the route names", arguments: ["application/grpc+thrift", "*/*"])
    func namedCalls(_ name: String) throws {
        var transcoder = RequestTranscoder()
        var plan = ConversionPlan(inputs: [.json], output: .json)
        plan.acceptedTypes = [try #require(MediaPattern(name))]
        try Rig(plan).begin(&transcoder, type: "application/grpc+thrift", framing: .length(8), converts: false)
        #expect(transcoder.isBegun == false && transcoder.conversion == nil)
    }

    @Test("what only begins like gRPC is converted")
    func noCalls() throws {
        var transcoder = RequestTranscoder()
        let raw = ConversionPlan(inputs: [.raw], output: .raw)
        try Rig(raw).begin(&transcoder, type: "application/grpcx", framing: .length(8))
    }

    // MARK: Queries

    @Test("a query is converted as a body is, and there is none beside it")
    func readsQuery() throws {
        var plan = ConversionPlan(inputs: [.form], output: .json)
        plan.readsQuery = true
        let rig = try Rig(plan)
        for (target, expected) in [("/?a[b]=1&c=%20", #"{"a":{"b":"1"},"c":" "}"#), ("/?", "{}"), ("/", "{}")] {
            let head = try requestHead("GET", target)
            var transcoder = RequestTranscoder()
            #expect(try rig.route.converts(head, hasBody: false))
            let isBegun = try transcoder.begin(
                head, by: rig.rule, of: rig.route, framing: .none, sources: [], conversions: rig.conversions,
                coders: rig.coders, requestLine: 100)
            #expect(isBegun)
            try transcoder.feedQuery(of: head)
            var front = Front(streams: false)
            try front.finish(&transcoder)
            #expect(front.output == Array(expected.utf8) && transcoder.readsQuery)
            #expect(refusal { _ = try rig.route.converts(head, hasBody: true) }?.code == "query_with_body")
        }
    }

    /// What the query of such a request becomes.
    private func output(ofQuery query: String, by plan: ConversionPlan, streams: Bool) throws -> Front {
        let rig = try Rig(plan)
        var limits = WireLimits()
        limits.requestLine = 128 * 1024
        limits.head = 192 * 1024
        let head = try requestHead("GET", "/?" + query, limits: limits)
        var transcoder = RequestTranscoder()
        let isBegun = try transcoder.begin(
            head, by: rig.rule, of: rig.route, framing: .none, sources: [], conversions: rig.conversions,
            coders: rig.coders, requestLine: limits.requestLine)
        #expect(isBegun)
        try transcoder.feedQuery(of: head)
        var front = Front(streams: streams)
        if streams { front.announce(&transcoder) }
        try front.finish(&transcoder)
        return front
    }

    @Test("a query that becomes more than is buffered goes on behind it", arguments: -3...3, [true, false])
    func longQuery(_ more: Int, _ streams: Bool) throws {
        var plan = ConversionPlan(inputs: [.form], output: .multipart)
        plan.readsQuery = true
        plan.limits.fields = 100_000
        plan.limits.parts = 100_000
        func count(_ query: String) throws -> Int {
            try plan.convert(Array(query.utf8), contentType: BodyEncoding.form.mediaType).body.count
        }
        let part = try count("a=&a=") - count("a=")
        let bound = RequestTranscoder.bufferLimit(ofBody: 0)
        let before = bound / part - 1
        // So many bytes of output stand before the part `b`.
        let value = String(repeating: "v", count: bound + more - before * part)
        let query =
            "a=\(value)" + String(repeating: "&a=", count: before - 1) + "&b=2"
            + String(repeating: "&a=", count: 10_000)
        let front = try output(ofQuery: query, by: plan, streams: streams)
        #expect(try front.output.count == count(query))
        if case .length(let length)? = front.framing { #expect(length == front.output.count + front.padding.count) }
    }

    @Test(
        "a picture in a query waits to be made, wherever it stands",
        arguments: ["p=QUJD&b=1", "b=1&p=QUJD", "p=QUJD"])
    func pictureInQuery(_ query: String) throws {
        var plan = ConversionPlan(inputs: [.form], output: .multipart)
        plan.readsQuery = true
        var rule = FileRule(path: FieldPath([.key(Array("p".utf8))]), policy: .base64)
        rule.image = ImageRule()
        plan.files = [rule]
        let text = String(decoding: try output(ofQuery: query, by: plan, streams: false).output, as: UTF8.self)
        #expect(text.contains("\r\n\r\nCBA\r\n") && text.contains("name=\"b\"") == query.contains("b="))
    }

    @Test("a body becomes a query, as long as a request line can carry it", arguments: [-1, 0, 1])
    func writesQuery(_ more: Int) throws {
        var plan = ConversionPlan(inputs: [.json], output: .form)
        plan.writesQuery = true
        let rig = try Rig(plan)
        var transcoder = RequestTranscoder()
        let body = Array(#"{"a":[1,2]}"#.utf8)
        let query = Array("a%5B%5D=1&a%5B%5D=2".utf8)
        for cut in Recut.cuts(of: body) {
            try rig.begin(
                &transcoder, type: "application/json", framing: .length(body.count), target: "/x",
                requestLine: "POST /x? HTTP/1.1".utf8.count + query.count + more)
            var front = Front(streams: false)
            let refusal = refusal { try front.run(&transcoder, cut.slices) }
            #expect(refusal?.code == (more < 0 ? "query_too_long" : nil))
            #expect(refusal?.setting == (more < 0 ? "limits.request_line" : nil))
            if more >= 0 {
                #expect(transcoder.query == query && front.output.isEmpty && transcoder.writesQuery == true)
            }
            transcoder.reset()
        }
        // One that fills the buffer is refused before it is whole.
        let long = Array(
            #"{"a":"\#(String(repeating: "v", count: 60_000))","b":"\#(String(repeating: "v", count: 60_000))"}"#.utf8)
        try rig.begin(&transcoder, type: "application/json", framing: .chunked)
        #expect(refusal { _ = try transcoder.feed(long.span) }?.code == "query_too_long")
    }

    // MARK: One body after the other

    @Test("after an abort, wherever it comes, the next body is as the first", arguments: [nil, Coding.gzip])
    func abort(_ coding: Coding?) throws {
        let plain = Array(#"{"a":[{"b":"x y"},{"b":1}],"c":null}"#.utf8)
        let body = Self.encoded(plain, coding)
        let plan = ConversionPlan(inputs: [.json], output: .json)
        let expected = try plan.convert(plain, contentType: "application/json").body
        let rig = try Rig(plan)
        var transcoder = RequestTranscoder()
        for end in 0...body.count {
            for streams in [true, false] {
                let framing = BodyFraming.length(body.count)
                try rig.begin(&transcoder, type: "application/json", coding: coding, framing: framing)
                var first = Front(streams: streams)
                try first.feed(&transcoder, Array(body[..<end]))
                if let decoder = transcoder.takeDecoder() { rig.coders.recycle(decoder) }
                transcoder.reset()
                let padding = transcoder.takePadding()
                #expect(transcoder.isBegun == false && transcoder.bufferedCount == 0 && padding.isEmpty)
                for framing in [framing, .chunked] {
                    try rig.begin(&transcoder, type: "application/json", coding: coding, framing: framing)
                    var second = Front(streams: streams)
                    try second.run(&transcoder, [body])
                    #expect(second.output == expected, "behind \(end) bytes")
                    if framing == .chunked { #expect(second.padding.isEmpty) }
                    transcoder.reset()
                }
            }
        }
    }

    @Test("a conversion is lent: one that came to its end serves the next body, one that didn't is gone")
    func loans() throws {
        let rig = try Rig(ConversionPlan(inputs: [.json], output: .json))
        var transcoder = RequestTranscoder()
        try rig.begin(&transcoder, type: "application/json", framing: .length(2))
        var front = Front(streams: false)
        try front.run(&transcoder, [Array("{}".utf8)])
        let (first, second) = (transcoder.end(), transcoder.end())
        let conversion = try #require(first)
        #expect(transcoder.conversion == nil && transcoder.isBegun == true && second == nil)
        rig.conversions.recycle(conversion)
        transcoder.reset()
        try rig.begin(&transcoder, type: "application/json", framing: .length(2))
        #expect(transcoder.conversion === conversion)
        transcoder.reset()
        try rig.begin(&transcoder, type: "application/json", framing: .length(2))
        #expect(transcoder.conversion !== conversion)
    }

    @Test("a buffer that is kept instead of given back has no part in what follows")
    func keptBuffers() throws {
        var plan = ConversionPlan(inputs: [.json], output: .form)
        plan.limits.field = 1 << 20
        let rig = try Rig(plan)
        var transcoder = RequestTranscoder()
        try rig.begin(&transcoder, type: "application/json", framing: .length(300_000))
        try Front.feedAll(&transcoder, #"{"a":"1","b":"2","#)
        var kept = OutputBuffer()
        transcoder.swapOutput(&kept)
        #expect(kept.span.copied() == Array("a=1&b=2".utf8))
        // The buffer that took its place counts as full where the first one did.
        let value = String(repeating: "v", count: 200_000)
        try Front.feedAll(&transcoder, #""c":"\#(value)"}"#)
        let outcome = try transcoder.finish()
        #expect(outcome == .done)
        var rest = OutputBuffer()
        transcoder.swapOutput(&rest)
        #expect(rest.span.copied() == Array("&c=\(value)".utf8))
    }
}

extension RequestTranscoderTests.Front {
    /// Feeds what fits the buffer, and takes nothing.
    fileprivate static func feedAll(_ transcoder: inout RequestTranscoder, _ text: String) throws {
        let bytes = Array(text.utf8)
        let step = try transcoder.feed(bytes.span)
        #expect(step.consumed == bytes.count && step.outcome == .done && step.passed.isEmpty)
    }
}
