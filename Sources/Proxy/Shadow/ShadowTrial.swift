internal import Gateway
internal import HTTPWire
internal import Octets
internal import Transcoding

/// A copy of a request that is converted to see what that would refuse; nobody gets what comes out.
final class ShadowTrial {
    enum Result {
        case converted
        /// It would pass as it is: it has nothing to convert.
        case passed
        case refused(Refusal)
    }

    private let route: Route
    private let coders: CoderPool
    private let conversions: ConversionPool
    private var transcoder = RequestTranscoder()
    private var head = MessageHead()
    private var content: OutputBuffer
    private let hasContent: Bool
    /// How long a client's request line may be.
    private let requestLine: Int
    /// Takes the output, of which only the length matters.
    private var output = OutputBuffer()
    private var isBegun = false
    private var charge = CopyCharge()

    /// - Parameters:
    ///   - route: one that converts.
    ///   - content: as it came, with its content codings.
    ///   - requestLine: how long a client's request line may be.
    init(
        _ route: Route, content: consuming OutputBuffer, hasContent: Bool, conversions: ConversionPool,
        coders: CoderPool, requestLine: Int
    ) {
        self.route = route
        self.content = content
        self.hasContent = hasContent
        self.conversions = conversions
        self.coders = coders
        self.requestLine = requestLine
    }

    /// Pays for the content. Returns false where copies have all the memory that they may have.
    func pay(from memory: MemoryAllowance) -> Bool { charge.set(content.count, from: memory) }

    /// Gives its memory back.
    func giveBack(to memory: MemoryAllowance) { charge.end(memory) }

    /// Begins with a head as it went upstream. Returns what is known at once.
    func begin(_ bytes: Span<UInt8>, sources: Swift.Result<[[UInt8]], Refusal>) -> Result? {
        do throws(Refusal) {
            guard let rule = route.conversion else { return .passed }
            try parse(bytes)
            guard try route.converts(head, hasBody: hasContent) else { return .passed }
            guard
                try transcoder.begin(
                    head, by: rule, of: route, framing: hasContent ? .length(content.count) : .none,
                    sources: try sources.get(), conversions: conversions, coders: coders,
                    requestLine: requestLine)
            else { return .passed }
            isBegun = true
            if transcoder.readsQuery { try transcoder.feedQuery(of: head) }
            return nil
        } catch {
            return end(.refused(error))
        }
    }

    private func parse(_ bytes: Span<UInt8>) throws(Refusal) {
        // It is here already, and rules may have made it longer than a client's may be.
        var limits = WireLimits()
        limits.head = bytes.count
        limits.fieldLine = bytes.count
        limits.fieldCount = bytes.count
        limits.requestLine = bytes.count
        // The settings' own have let it pass.
        var rules = RequestRules()
        rules.refusesBadPercent = false
        var parser = RequestParser(limits: limits, rules: rules)
        do throws(WireError) {
            _ = try parser.parse(bytes, into: &head)
        } catch {
            throw .wire(error)
        }
    }

    /// Does a slice of work. Nil: there is more to do.
    func step() -> Result? {
        guard isBegun else { return .passed }
        do throws(Refusal) {
            transcoder.beginSlice()
            var left = RequestTranscoder.sliceSize
            while !content.isEmpty {
                let count = min(left, content.count)
                let step = try transcoder.feed(content.span.extracting(0..<count))
                content.drop(step.consumed)
                left -= step.consumed
                if try goesOn(step.outcome) { return nil }
                if left == 0 { return nil }
            }
            // Writing a document out takes as many slices as there is output.
            let outcome = try transcoder.finish()
            if case .done = outcome { return end(.converted) }
            _ = try goesOn(outcome)
            return nil
        } catch {
            return end(.refused(error))
        }
    }

    /// Makes room for what follows. Returns whether that is done in another tick.
    private func goesOn(_ outcome: RequestTranscoder.Outcome) throws(Refusal) -> Bool {
        // What was taken counts for `limits.ratio`. A query is whole or nothing.
        if !transcoder.writesQuery {
            transcoder.swapOutput(&output)
            output.removeAll()
        }
        switch outcome {
        case .done, .full: return false
        case .tick: return true
        case .held:
            // A picture that would be made smaller: making it would cost more than all the rest, so its header alone is looked at.
            guard let file = transcoder.takeFile() else { return false }
            switch try PictureWork.begin(file) {
            case .settled(let settled): transcoder.settleFile(settled)
            case .work: transcoder.settleFile(SettledFile(content: file.content))
            }
            return true
        }
    }

    private func end(_ result: Result) -> Result {
        if let decoder = transcoder.takeDecoder() { coders.recycle(decoder) }
        if case .converted = result, let conversion = transcoder.end() {
            conversion.withOutput { $0.removeAll() }
            conversions.recycle(conversion)
        }
        transcoder.reset()
        isBegun = false
        return result
    }
}
