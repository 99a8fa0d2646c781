public import Transcoding

/// What a route does with some of its responses. Of a route's rules the first whose condition holds decides; a response for
/// which none holds is forwarded as it is, streamed.
public struct ResponseRule: Sendable {
    public enum Action: Sendable {
        /// The response passes as it is, streamed.
        case forward
        /// The body is re-encoded; the response is held until that is done.
        case convert(ResponseConversion)
    }

    public var condition: ResponseCondition
    public var action: Action
    /// Takes the client's status from the body; nil: it is the upstream's.
    public var status: StatusRule?
    /// Makes a problem of an error's envelope, in the place of `action`; nil: none is made.
    public var problem: ProblemRule?

    public init(
        _ condition: ResponseCondition, _ action: Action, status: StatusRule? = nil, problem: ProblemRule? = nil
    ) {
        self.condition = condition
        self.action = action
        self.status = status
        self.problem = problem
    }
}

/// The condition of a response rule: all that is given must hold.
public struct ResponseCondition: Hashable, Sendable {
    /// The status is in any of these; empty: any.
    public var statuses: [StatusRange]
    /// The Content-Type is of any of these; empty: any, also none.
    public var types: [ResponseTypePattern]
    /// The client's Accept allows any of these, which have no star; empty: not asked.
    public var accept: [MediaRange]

    public init(statuses: [StatusRange] = [], types: [ResponseTypePattern] = [], accept: [MediaRange] = []) {
        self.statuses = statuses
        self.types = types
        self.accept = accept
    }

    /// Whether every response that `other` takes is taken here too, so that a rule with `other` behind one with this can
    /// never hold.
    public func covers(_ other: ResponseCondition) -> Bool {
        (statuses.isEmpty
            || !other.statuses.isEmpty
                && other.statuses.allSatisfy { status in statuses.contains { $0.covers(status) } })
            && (types.isEmpty
                || !other.types.isEmpty && other.types.allSatisfy { type in types.contains { $0.covers(type) } })
            && (accept.isEmpty || !other.accept.isEmpty && other.accept.allSatisfy(accept.contains))
    }
}

/// How a response's body is re-encoded, and which responses are good for it.
public struct ResponseConversion: Sendable {
    public var plan: ConversionPlan
    /// A response with another status is refused with 502; empty: any is good.
    public var acceptedStatuses: [StatusRange] = []
    /// The types that are read as the plan's one input; empty: those of the encoding itself.
    public var acceptedTypes: [ResponseTypePattern] = []
    /// What happens to a body that can't be read: of another type, with a content coding, or not to be transformed.
    public var otherTypes = OtherTypes.pass
    /// What the plan's `AssignedValue.source` numbers stand for; taken from the request.
    public var sources: [SourceReference] = []

    public init(_ plan: ConversionPlan) {
        self.plan = plan
    }
}
