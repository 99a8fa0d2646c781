/// Samples of metrics under the names and with the labels that Prometheus sees; those of several workers add up.
struct MetricSamples: Sendable {
    enum Kind: String, Sendable {
        case counter, gauge
    }

    struct Family: Sendable {
        let kind: Kind
        let help: String
        /// By labels, in the order in which they first came.
        var samples: [(labels: [Label], value: Double)] = []
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

    /// A number that goes up and down. Those of several workers add up.
    mutating func gauge(_ name: String, _ help: String, labels: [Label] = [], _ value: Double) {
        add(name, .gauge, help, labels, value)
    }

    private mutating func add(_ name: String, _ kind: Kind, _ help: String, _ labels: [Label], _ value: Double) {
        var family = families[name] ?? Family(kind: kind, help: help)
        if let index = family.samples.firstIndex(where: { $0.labels == labels }) {
            family.samples[index].value += value
        } else {
            family.samples.append((labels, value))
        }
        families[name] = family
    }

    /// Adds what another worker has counted.
    mutating func merge(_ other: MetricSamples) {
        for (name, family) in other.families {
            for sample in family.samples { add(name, family.kind, family.help, sample.labels, sample.value) }
        }
    }
}
