internal import Octets

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
