internal import ContentCoding

/// What a worker counts of content codings.
struct CodingCounters {
    /// Whose coding was undone or applied.
    enum Flow: Int, CaseIterable {
        case requestDecoded, responseDecoded, responseEncoded

        var side: String { self == .responseDecoded ? "upstream" : "client" }
        var operation: String { self == .responseEncoded ? "encode" : "decode" }
    }

    /// For each flow and coding: bytes into the coder, bytes out of it.
    private var bytes = [UInt64](repeating: 0, count: Flow.allCases.count * Coding.allCases.count * 2)
    private var errors: [Failure: UInt64] = [:]

    private struct Failure: Hashable {
        var code: String
        var side: String
    }

    mutating func count(_ flow: Flow, _ coding: Coding, in input: Int, out output: Int) {
        let index = (flow.rawValue * Coding.allCases.count + coding.index) * 2
        bytes[index] += UInt64(input)
        bytes[index + 1] += UInt64(output)
    }

    /// Counts a body that was refused for its coding.
    mutating func countError(_ code: String, _ flow: Flow) {
        errors[Failure(code: code, side: flow.side), default: 0] += 1
    }

    func visit(_ samples: inout MetricSamples) {
        for flow in Flow.allCases {
            for coding in Coding.allCases {
                let index = (flow.rawValue * Coding.allCases.count + coding.index) * 2
                for (direction, count) in [("in", bytes[index]), ("out", bytes[index + 1])] where count > 0 {
                    samples.counter(
                        "recast_coding_bytes_total", "Bytes into and out of the coders of content codings.",
                        labels: [
                            .init("coding", coding.rawValue), .init("operation", flow.operation),
                            .init("side", flow.side), .init("direction", direction),
                        ], count)
                }
            }
        }
        for (failure, count) in errors {
            samples.counter(
                "recast_coding_errors_total", "Bodies that were refused for their content coding, by code.",
                labels: [.init("code", failure.code), .init("side", failure.side)], count)
        }
    }
}
