internal import ContentCoding
package import Gateway
internal import HTTPWire
internal import Octets

/// What the first rule that holds for a response makes of its body, as `serve` does: what was found in the body, and how that goes on.
package struct SampleResponse {
    /// The client's.
    package private(set) var status: Int
    /// Whether the body was looked at for its status or its envelope (docs/envelopes.md); `status` and the findings say what came of it.
    package private(set) var isLookedAt = false
    package private(set) var statusFinding: ResponseLook.StatusFinding?
    package private(set) var problemFinding: ResponseLook.ProblemFinding?
    /// The problem in the body's place.
    package private(set) var problem: [UInt8]?
    /// What the rule converts the body by, unless a problem was made of it; nil: it passes as it came.
    package let conversion: ResponseConversion?
    /// The texts of the conversion's sources.
    package let sources: [[UInt8]]
    /// Bytes of the body as it came.
    package let bodyCount: Int

    /// A body without content coding.
    init(
        _ body: [UInt8], _ head: borrowing MessageHead, rule: ResponseRules.Rule, sources: [[UInt8]], on route: Route
    ) {
        status = head.status
        conversion = rule.conversion
        self.sources = sources
        bodyCount = body.count
        // Rule C10 of docs/rules.md.
        guard rule.looks(at: head.status), !body.isEmpty, !head.isPartial, ![204, 205, 304].contains(head.status) else {
            return
        }
        isLookedAt = true
        let look = ResponseLook(
            rule, head, codings: route.undoneCodings(of: head), limits: route.options.coding.limits.ofResponse,
            coders: CoderPool()
        )
        look.feed(body.span)
        look.bodyEnded()
        status = look.status
        statusFinding = look.statusFinding
        problemFinding = look.problemFinding
        problem = look.problem?.span.copied()
    }
}
