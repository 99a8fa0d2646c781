internal import Octets

/// Samples of metrics under the names and with the labels that Prometheus sees; those of several workers add up.
struct MetricSamples: Sendable {
    enum Kind: String, Sendable {
        case counter, gauge, histogram
    }

    struct Family: Sendable {
        let kind: Kind
        let help: String
        /// Upper bounds of a histogram's buckets, as labels write them, without the last one's, which is `+Inf`.
        let bounds: [String]
        /// By labels, in the order in which they first came.
        fileprivate(set) var samples: [(labels: [Label], value: Double)] = []
        /// As above, of a histogram.
        fileprivate(set) var distributions: [(labels: [Label], value: Distribution)] = []
        /// Where the sample of some labels stands.
        fileprivate var indices: [[Label]: Int] = [:]
    }

    /// How many values fell into each bucket (not into those below it), and their sum.
    struct Distribution: Sendable {
        var buckets: [UInt64]
        var sum: Double
    }

    struct Label: Hashable, Sendable {
        let name: String
        let value: String

        init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The families by name.
    private(set) var families: [String: Family] = [:]

    /// A number that only grows; its name ends in `_total`.
    mutating func counter(_ name: String, _ help: String, labels: [Label] = [], _ value: UInt64) {
        add(name, .counter, help, labels, Double(value))
    }

    /// As above, of seconds.
    mutating func counter(_ name: String, _ help: String, labels: [Label] = [], seconds value: Double) {
        add(name, .counter, help, labels, value)
    }

    /// A number that goes up and down. Those of several workers add up.
    mutating func gauge(_ name: String, _ help: String, labels: [Label] = [], _ value: Double) {
        add(name, .gauge, help, labels, value)
    }

    /// Values by how large they were. `value` has one bucket more than there are bounds.
    mutating func histogram(
        _ name: String, _ help: String, labels: [Label] = [], bounds: [String], _ value: Distribution
    ) {
        precondition(value.buckets.count == bounds.count + 1, "a histogram has one bucket more than bounds")
        var family = families.removeValue(forKey: name) ?? Family(kind: .histogram, help: help, bounds: bounds)
        if let index = family.indices[labels] {
            for bucket in value.buckets.indices {
                family.distributions[index].value.buckets[bucket] += value.buckets[bucket]
            }
            family.distributions[index].value.sum += value.sum
        } else {
            family.indices[labels] = family.distributions.count
            family.distributions.append((labels, value))
        }
        families[name] = family
    }

    private mutating func add(_ name: String, _ kind: Kind, _ help: String, _ labels: [Label], _ value: Double) {
        // Taken out, so that its arrays are changed where they are.
        var family = families.removeValue(forKey: name) ?? Family(kind: kind, help: help, bounds: [])
        if let index = family.indices[labels] {
            family.samples[index].value += value
        } else {
            family.indices[labels] = family.samples.count
            family.samples.append((labels, value))
        }
        families[name] = family
    }

    /// Forgets how things stood, and keeps what was counted: of a worker that has ended.
    mutating func dropGauges() {
        families = families.filter { $0.value.kind != .gauge }
    }

    /// Adds what another worker has counted.
    mutating func merge(_ other: MetricSamples) {
        for (name, family) in other.families {
            for sample in family.samples { add(name, family.kind, family.help, sample.labels, sample.value) }
            for sample in family.distributions {
                histogram(name, family.help, labels: sample.labels, bounds: family.bounds, sample.value)
            }
        }
    }
}

extension MetricSamples {
    /// The Content-Type of the text format of Prometheus.
    static let contentType: StaticString = "text/plain; version=0.0.4; charset=utf-8"

    /// The samples in the text format of Prometheus, version 0.0.4: families by name.
    func text() -> OutputBuffer {
        var text = OutputBuffer()
        for name in families.keys.sorted() {
            guard let family = families[name] else { continue }
            text.append(text: "# HELP \(name) \(Self.escaped(family.help, quotes: false))\n")
            text.append(text: "# TYPE \(name) \(family.kind.rawValue)\n")
            for sample in family.samples {
                text.append(text: "\(name)\(Self.written(sample.labels)) \(Self.written(sample.value))\n")
            }
            for sample in family.distributions {
                var total: UInt64 = 0
                for (index, count) in sample.value.buckets.enumerated() {
                    total += count
                    let bound = index < family.bounds.count ? family.bounds[index] : "+Inf"
                    text.append(text: "\(name)_bucket\(Self.written(sample.labels + [Label("le", bound)])) \(total)\n")
                }
                text.append(text: "\(name)_sum\(Self.written(sample.labels)) \(Self.written(sample.value.sum))\n")
                text.append(text: "\(name)_count\(Self.written(sample.labels)) \(total)\n")
            }
        }
        return text
    }

    private static func written(_ labels: [Label]) -> String {
        if labels.isEmpty { return "" }
        return "{\(labels.map { "\($0.name)=\"\(escaped($0.value, quotes: true))\"" }.joined(separator: ","))}"
    }

    /// Whole numbers without a fraction, as long as a double holds them exactly.
    private static func written(_ value: Double) -> String {
        if value.rounded() == value, abs(value) < 9e15 { return String(Int(value)) }
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return String(value)
    }

    private static func escaped(_ text: String, quotes: Bool) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\n": escaped += "\\n"
            case "\"" where quotes: escaped += "\\\""
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
