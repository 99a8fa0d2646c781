package import ContentCoding
package import HTTPWire
package import Octets
internal import Transcoding

/// Looks at the beginning of a response's body, or at all of a short one, before its head goes out: for the status that an envelope
/// says (`StatusRule`), and for a problem in the envelope's place (`ProblemRule`).
///
/// It has no I/O. A caller asks `ResponseRules.Rule.looks`, makes one, hands in each piece of the body as it comes (`feed`), and its
/// end (`bodyEnded`), until `isOver`. Then `status` is the client's, and what goes on is `problem` where there is one, else the body
/// as it came, of which `held` is the beginning. Nothing here is an error of the exchange: a body that can't be read, or is longer
/// than what is looked at, leaves the response as it is, and the findings say so.
///
/// What is held is bounded by `look` of the rules and one piece more.
package final class ResponseLook {
    /// What became of the status.
    package enum StatusFinding: UInt32, CaseIterable, Sendable {
        /// The value says it.
        case value
        /// The value, or its absence, says nothing: `default` does, or the upstream.
        case standard, unmapped
        /// The value isn't in what is looked at.
        case tooLong
        /// The body can't be read as its type, is of no type that can be looked at, or has a coding that can't be undone.
        case malformed, type, coding

        package var name: StaticString {
            switch self {
            case .value: "value"
            case .standard: "default"
            case .unmapped: "unmapped"
            case .tooLong: "too_long"
            case .malformed: "malformed"
            case .type: "type"
            case .coding: "coding"
            }
        }
    }

    /// What became of the envelope of an error.
    package enum ProblemFinding: UInt32, CaseIterable, Sendable {
        case made, tooLong, malformed, type, coding
        /// Cache-Control forbids it.
        case noTransform

        package var name: StaticString {
            switch self {
            case .made: "made"
            case .tooLong: "too_long"
            case .malformed: "malformed"
            case .type: "type"
            case .coding: "coding"
            case .noTransform: "no_transform"
            }
        }
    }

    private enum Stage {
        /// The value is looked for; goes to `envelope` and `over`.
        case value
        /// The body is held until it is whole; goes to `over`.
        case envelope
        case over
    }

    /// The media type of problems (RFC 9457 §3).
    package static let problemType = Array("application/problem+json".utf8)

    private let rule: ResponseRules.Rule
    private var stage: Stage
    /// How the body is read for each of the two; nil where it can't be.
    private let statusReading: Reading?
    private let problemReading: Reading?
    private let forbidsTransform: Bool
    private let isProblem: Bool
    private let hasUnknownCoding: Bool

    /// The body as it came.
    private var held = OutputBuffer()
    /// The body without its codings, where it has some.
    private var decoded = OutputBuffer()
    private var decoder: ContentDecoder?
    private var hasCodingError = false
    /// Bytes that the search has had.
    private var searched = 0
    private var search: ValueSearch?
    /// What makes JSON of a body that is none, for the search.
    private var conversion: Conversion?

    /// The status that the client gets.
    package private(set) var status: Int
    package private(set) var statusFinding: StatusFinding?
    package private(set) var problemFinding: ProblemFinding?
    /// The problem that takes the body's place.
    package private(set) var problem: OutputBuffer?

    /// How a body is read.
    fileprivate struct Reading {
        let encoding: BodyEncoding
        let contentType: [UInt8]
    }

    /// - Parameters:
    ///   - codings: those of the body; nil where some can't be undone.
    ///   - coders: where the decoder comes from, if one is needed; `takeDecoder` gives it back.
    package init(
        _ rule: ResponseRules.Rule, _ head: borrowing MessageHead, codings: AppliedCodings?, limits: CodingLimits,
        coders: CoderPool
    ) {
        self.rule = rule
        status = head.status
        let line = head.contentTypeLine
        let type = line.map { head.value($0).copied() } ?? []
        statusReading = rule.status.flatMap { Self.reading(type, as: $0.encoding, rule) }
        problemReading = rule.problem.flatMap { Self.reading(type, as: $0.encoding, rule) }
        forbidsTransform = head.forbidsTransform
        isProblem = head.isProblem
        hasUnknownCoding = codings == nil
        stage = .value
        if rule.status == nil {
            beginEnvelope()
        } else if statusReading == nil || hasUnknownCoding {
            endSearch(hasUnknownCoding ? .coding : .type)
        }
        guard !isOver, let codings, !codings.isEmpty else { return }
        let decoder = coders.takeDecoder(codings)
        decoder.begin(codings, limits: limits)
        self.decoder = decoder
    }

    /// Whether all is known that there is to know.
    package var isOver: Bool { stage == .over }
    /// Bytes that are held.
    package var heldCount: Int { held.count + decoded.count + (decoder?.heldCount ?? 0) }
    /// Calls `send` with what has come of the body.
    package func withHeld<Result>(_ send: (Span<UInt8>) -> Result) -> Result {
        var bytes = OutputBuffer()
        swap(&bytes, &held)
        defer { swap(&bytes, &held) }
        return send(bytes.span)
    }

    /// Lets go of what has come of the body, which went on; what was found stays.
    package func dropHeld() {
        held = OutputBuffer()
        decoded = OutputBuffer()
        problem = nil
    }

    /// Gives the decoder away.
    package func takeDecoder() -> ContentDecoder? {
        defer { decoder = nil }
        return decoder
    }

    // MARK: The body

    /// Takes the next bytes of the body.
    package func feed(_ body: Span<UInt8>) {
        held.append(body)
        guard !isOver else { return }
        if decoder != nil { decode(body) }
        go(isWhole: false)
    }

    /// The body is whole.
    package func bodyEnded() {
        guard !isOver else { return }
        // Nothing is no envelope.
        guard held.count > 0 else { return stage = .over }
        if let decoder, !hasCodingError, !decoder.hasMore {
            do throws(CodingError) { try decoder.finish() } catch { hasCodingError = true }
        }
        go(isWhole: true)
    }

    /// Undoes the codings of what has come, no further than one byte beyond what is looked at.
    private func decode(_ body: Span<UInt8>) {
        guard let decoder, !hasCodingError else { return }
        let most = max(rule.status?.look ?? 0, rule.problem?.look ?? 0)
        var at = 0
        while at < body.count || decoder.hasMore, decoded.count <= most {
            do throws(CodingError) {
                at += try decoder.feed(body.extracting(at..<body.count), into: &decoded)
            } catch {
                hasCodingError = true
                return
            }
        }
    }

    private func go(isWhole: Bool) {
        if stage == .value { lookForValue(isWhole: isWhole) }
        if stage == .envelope { holdEnvelope(isWhole: isWhole) }
    }

    /// Bytes of the body without its codings.
    private var count: Int { decoder == nil ? held.count : decoded.count }

    private func withDocument<Result>(
        _ work: (Span<UInt8>) throws(ConversionError) -> Result
    ) throws(ConversionError) -> Result {
        var bytes = OutputBuffer()
        let isDecoded = decoder != nil
        if isDecoded { swap(&bytes, &decoded) } else { swap(&bytes, &held) }
        defer { if isDecoded { swap(&bytes, &decoded) } else { swap(&bytes, &held) } }
        return try work(bytes.span)
    }

    // MARK: The status

    private func lookForValue(isWhole: Bool) {
        guard let rule = rule.status, let reading = statusReading else { return }
        do throws(ConversionError) {
            let end = min(count, rule.look)
            if let value = try search(rule, reading, to: end) { return decide(rule, value) }
            if count > rule.look { return endSearch(.tooLong) }
            if hasCodingError { return endSearch(.coding) }
            if isWhole { decide(rule, try finishSearch(rule)) }
        } catch {
            // A body that was cut short by its coding ends where that went wrong.
            endSearch(hasCodingError ? .coding : .malformed)
        }
    }

    /// Reads the body up to `end`.
    private func search(
        _ rule: StatusRule, _ reading: Reading, to end: Int
    ) throws(ConversionError) -> ValueSearch.Value? {
        let start = searched
        searched = end
        if reading.encoding == .json {
            if search == nil { search = Self.makeSearch(rule) }
            return try withDocument { (document) throws(ConversionError) in
                try search?.feed(document.extracting(start..<end))
            }
        }
        if conversion == nil { conversion = try makeConversion(reading, look: rule.look) }
        // Other encodings become JSON at their end.
        try withDocument { (document) throws(ConversionError) in
            var at = start
            while at < end, let conversion {
                at += try conversion.feed(document.extracting(at..<end))
                json += conversion.takeOutput()
            }
        }
        return nil
    }

    /// JSON that the conversion has written.
    private var json: [UInt8] = []

    private func finishSearch(_ rule: StatusRule) throws(ConversionError) -> ValueSearch.Value {
        if let conversion {
            let json = try json + conversion.convertEnd()
            var search = Self.makeSearch(rule)
            if let value = try search.feed(json.span) { return value }
            return try search.finish()
        }
        if search == nil { search = Self.makeSearch(rule) }
        return try search?.finish() ?? .missing
    }

    private static func makeSearch(_ rule: StatusRule) -> ValueSearch {
        var limits = Limits()
        limits.key = max(limits.key, rule.look)
        limits.number = max(limits.number, rule.look)
        return ValueSearch(rule.path, limits: limits)
    }

    private func decide(_ rule: StatusRule, _ value: ValueSearch.Value) {
        guard let outcome = rule.outcome(of: value) else {
            guard case .status(let status) = rule.standard else { return endSearch(.unmapped) }
            self.status = status
            return endSearch(.standard)
        }
        if case .status(let status) = outcome { self.status = status }
        endSearch(.value)
    }

    private func endSearch(_ finding: StatusFinding) {
        statusFinding = finding
        search = nil
        conversion = nil
        json = []
        beginEnvelope()
    }

    // MARK: The problem

    private func beginEnvelope() {
        stage = .over
        guard rule.problem != nil, status >= 400, !isProblem else { return }
        if forbidsTransform { return endEnvelope(.noTransform) }
        if hasUnknownCoding || hasCodingError { return endEnvelope(.coding) }
        guard problemReading != nil else { return endEnvelope(.type) }
        stage = .envelope
    }

    private func endEnvelope(_ finding: ProblemFinding) {
        problemFinding = finding
        stage = .over
    }

    private func holdEnvelope(isWhole: Bool) {
        guard let rule = rule.problem, let reading = problemReading else { return }
        if count > rule.look { return endEnvelope(.tooLong) }
        if hasCodingError { return endEnvelope(.coding) }
        guard isWhole else { return }
        do throws(ConversionError) {
            let status = status
            problem = try withDocument { (document) throws(ConversionError) in
                guard reading.encoding != .json else {
                    return try EnvelopeProblem(json: document, status: status, rule: rule).body()
                }
                let conversion = try makeConversion(reading, look: rule.look)
                let json = try conversion.convert(document.copied()) + conversion.convertEnd()
                return try EnvelopeProblem(json: json.span, status: status, rule: rule).body()
            }
            endEnvelope(.made)
        } catch {
            endEnvelope(.malformed)
        }
    }

    // MARK: How bodies are read

    /// How a body of that Content-Type is read: as `declared`, as the rule's conversion reads it, or by what the type says.
    fileprivate static func reading(
        _ contentType: [UInt8], as declared: BodyEncoding?, _ rule: ResponseRules.Rule
    ) -> Reading? {
        if let declared { return Reading(encoding: declared, contentType: Array(declared.mediaType.utf8)) }
        if let conversion = rule.conversion, !conversion.acceptedTypes.isEmpty,
            let input = conversion.plan.inputs.first,
            StatusRule.encodings.contains(input), let type = conversion.ownType(for: contentType.span)
        {
            return Reading(encoding: input, contentType: type)
        }
        do throws(ConversionError) {
            let encoding = try rule.lookPlan(look: 0).inputEncoding(for: contentType.span)
            return contentType.isEmpty ? nil : Reading(encoding: encoding, contentType: contentType)
        } catch {
            return nil
        }
    }

    private func makeConversion(_ reading: Reading, look: Int) throws(ConversionError) -> Conversion {
        var plan = rule.lookPlan(look: look)
        plan.inputs = [reading.encoding]
        return try Conversion.make(plan: plan, contentType: reading.contentType.span)
    }
}

extension ResponseRules.Rule {
    /// Whether a response with that status is looked at, if it has content.
    package func looks(at status: Int) -> Bool { self.status != nil || problem != nil && status >= 400 }

    /// Whether the answer to GET could be a problem, where that to HEAD has this head: unless its status, which may be another one, its
    /// type or no-transform speaks against that.
    package func mayBecomeProblem(_ head: borrowing MessageHead) -> Bool {
        guard let problem, looks(at: head.status), !head.isProblem, !head.forbidsTransform else { return false }
        let type = head.contentTypeLine.map { head.value($0).copied() } ?? []
        let isRead = status.map { ResponseLook.reading(type, as: $0.encoding, self) != nil } ?? false
        return (head.status >= 400 || isRead) && ResponseLook.reading(type, as: problem.encoding, self) != nil
    }

    /// What makes JSON of a body, read as the rule's conversion reads it.
    fileprivate func lookPlan(look: Int) -> ConversionPlan {
        let own = conversion?.plan
        var plan = ConversionPlan(inputs: StatusRule.encodings, output: .json)
        if let own {
            plan.fieldDecoding = own.fieldDecoding
            plan.propertyListDecoding = own.propertyListDecoding
            plan.xmlDecoding = own.xmlDecoding
            // Property lists have the types of XML where no other XML is expected.
            if own.inputs.contains(.plist), !own.inputs.contains(.xml) { plan.inputs.removeAll { $0 == .xml } }
        }
        plan.limits.tree = max(plan.limits.tree, look * 16)
        plan.limits.field = max(plan.limits.field, look)
        plan.limits.key = max(plan.limits.key, look)
        plan.limits.number = max(plan.limits.number, look)
        plan.limits.fields = max(plan.limits.fields, look)
        return plan
    }
}
