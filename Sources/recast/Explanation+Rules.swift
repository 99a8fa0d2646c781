internal import Gateway
internal import HTTPWire
internal import Settings

/// What a route's settings say of pictures and of envelopes: what is in effect, as the settings write it, a secret as its reference.
extension Explanation {
    typealias Lines = [(key: String, value: String)]

    /// A file that becomes another picture.
    struct Image {
        /// As `files` names it.
        var field: String
        var lines: Lines

        /// With what stands where nothing is said.
        var shown: Lines { lines.contains { $0.key == "format" } ? lines : lines + [("format", "as it came")] }
    }

    /// A rule for responses that takes the status from the body, or makes a problem of it.
    struct Envelope {
        /// `when`; empty: any response.
        var condition: Lines
        /// Nil: the status is the upstream's.
        var status: Lines?
        /// What `status_from.map` says of each value; nil: the value is the status.
        var map: Lines?
        /// Nil: none is made.
        var problem: Lines?

        var name: String {
            condition.isEmpty ? "any" : condition.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        }

        /// With what stands where nothing is said.
        var shown: Lines {
            var shown: Lines = []
            if let status {
                let map = map.map { $0.map { "\($0.key): \($0.value)" }.joined(separator: ", ") }
                shown += status.filter { $0.key == "path" }.map { ("status_from", $0.value) }
                shown.append(("map", map ?? "the value is the status"))
                shown += status.filter { $0.key != "path" }
                if !status.contains(where: { $0.key == "as" }) { shown.append(("as", "by Content-Type")) }
            }
            if let problem { shown += [("problem", "true")] + problem.map { ("  \($0.key)", $0.value) } }
            return shown
        }
    }

    var images: [Image] {
        var images: [Image] = []
        for value in effective where value.key.hasPrefix("request.") {
            guard let files = value.key.firstRange(of: ".files."), let image = value.key.ranges(of: ".image.").last,
                files.upperBound <= image.lowerBound
            else { continue }
            let field = String(value.key[files.upperBound..<image.lowerBound])
            if images.last?.field != field { images.append(Image(field: field, lines: [])) }
            images[images.count - 1].lines.append((String(value.key[image.upperBound...]), value.value))
        }
        return images
    }

    var envelopes: [Envelope] {
        route.responses.enumerated().compactMap { index, rule in
            guard rule.status != nil || rule.problem != nil else { return nil }
            // A rule that stands in no list has no number.
            let isListed = effective.contains { $0.key.hasPrefix("response[") }
            let path = isListed ? "response[\(index)]" : "response"
            return Envelope(
                condition: lines(below: "\(path).when."),
                status: rule.status.map { _ in
                    lines(below: "\(path).status_from.").filter { !$0.key.hasPrefix("map.") }
                },
                map: rule.status?.map.map { _ in lines(below: "\(path).status_from.map.") },
                problem: rule.problem.map { _ in lines(below: "\(path).problem.") })
        }
    }

    private func lines(below path: String) -> Lines {
        effective.filter { $0.key.hasPrefix(path) }.map { (String($0.key.dropFirst(path.count)), $0.value) }
    }
}

extension SampleResponse {
    /// What a look at the body has found, by what it was for.
    var findings: Explanation.Lines {
        var findings: Explanation.Lines = []
        if let statusFinding { findings.append(("status_from", "\(statusFinding.name)")) }
        if let problemFinding { findings.append(("problem", "\(problemFinding.name)")) }
        return findings
    }

    /// The Content-Type of what goes out in the body's place; nil: nothing does.
    var type: String? { problem == nil ? nil : String(decoding: ResponseLook.problemType, as: UTF8.self) }

    /// The status that the client gets, and its phrase.
    var statusLine: String {
        let phrase = ReasonPhrase.of(status).description
        return phrase.isEmpty ? String(status) : "\(status) \(phrase)"
    }
}
