package import HTTPWire
internal import Octets
internal import Transcoding

/// A route's response rules as the data path needs them: by reference, with what can be known of them beforehand.
package final class ResponseRules: Sendable {
    package final class Rule: Sendable {
        /// The place among the route's rules.
        package let index: Int
        package let condition: ResponseCondition
        /// Nil: the response is forwarded.
        package let conversion: ResponseConversion?
        package let status: StatusRule?
        package let problem: ProblemRule?

        package init(_ rule: ResponseRule, index: Int) {
            self.index = index
            condition = rule.condition
            if case .convert(let conversion) = rule.action { self.conversion = conversion } else { conversion = nil }
            status = rule.status
            problem = rule.problem
        }
    }

    /// What the rules say of a response.
    package struct Choice {
        package var rule: Rule?
        /// Whether another Accept could have led to another rule.
        package var dependsOnAccept = false
    }

    package let rules: [Rule]
    /// Whether some rule converts.
    package let converts: Bool
    /// Whether some rule converts, or makes problems.
    package let changesContent: Bool
    /// Whether some rule asks for the client's Accept.
    package let readsAccept: Bool
    /// Whether some conversion takes values from the request.
    package let hasSources: Bool
    /// The request's fields among those values, in lower case: another one could have led to another body.
    package let sourceFields: [String]

    /// Nil when there are no rules.
    package init?(_ rules: [ResponseRule]) {
        if rules.isEmpty { return nil }
        self.rules = rules.enumerated().map { Rule($1, index: $0) }
        converts = self.rules.contains { $0.conversion != nil }
        changesContent = converts || rules.contains { $0.problem != nil }
        readsAccept = rules.contains { !$0.condition.accept.isEmpty }
        let sources = self.rules.flatMap { $0.conversion?.sources ?? [] }
        hasSources = !sources.isEmpty
        sourceFields = Set(sources.flatMap(\.fieldNames)).sorted()
    }

    /// The first rule that holds for `response`, asked for by `request`.
    package func choose(for response: borrowing MessageHead, to request: borrowing MessageHead) -> Choice {
        var choice = Choice()
        for rule in rules {
            guard rule.condition.takesStatus(of: response), rule.condition.takesType(of: response) else { continue }
            if !rule.condition.accept.isEmpty {
                choice.dependsOnAccept = true
                guard rule.condition.takesAccept(of: request) else { continue }
            }
            choice.rule = rule
            break
        }
        return choice
    }
}

extension ResponseCondition {
    fileprivate func takesStatus(of head: borrowing MessageHead) -> Bool {
        if statuses.isEmpty { return true }
        for candidate in statuses where candidate.range.contains(head.status) { return true }
        return false
    }

    fileprivate func takesType(of head: borrowing MessageHead) -> Bool {
        if types.isEmpty { return true }
        guard let line = head.contentTypeLine else { return false }
        for candidate in types where candidate.matches(contentType: head.value(line)) { return true }
        return false
    }

    fileprivate func takesAccept(of request: borrowing MessageHead) -> Bool {
        for candidate in accept where AcceptField.allows(candidate, in: request) { return true }
        return false
    }
}

extension ResponseConversion {
    package func acceptsStatus(_ status: Int) -> Bool {
        if acceptedStatuses.isEmpty { return true }
        for candidate in acceptedStatuses where candidate.range.contains(status) { return true }
        return false
    }

    package func acceptsType(_ contentType: Span<UInt8>) -> Bool {
        for candidate in acceptedTypes where candidate.matches(contentType: contentType) { return true }
        return false
    }
}

extension ResponseConversion {
    /// The Content-Type by which a body of an accepted type is read: that of the plan's input, whatever it is called. The
    /// parameters, as the charset, stay what they are. Nil for a type that isn't accepted.
    package func ownType(for contentType: Span<UInt8>) -> [UInt8]? {
        guard acceptsType(contentType), let input = plan.inputs.first else { return nil }
        let end = Scan.firstIndex(of: UInt8(ascii: ";"), in: contentType) ?? contentType.count
        return Array(input.mediaType.utf8) + contentType.extracting(end..<contentType.count).copied()
    }
}
