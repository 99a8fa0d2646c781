internal import Gateway
internal import HTTPWire
internal import Octets

/// Writes a refusal as an answer of HTTP/1.
struct ProblemWriter {
    let refusal: Refusal
    let isHead: Bool
    let keepsAlive: Bool
    let requestID: [UInt8]
    let clock: Clock

    /// - Parameter addFields: gets the fields' start in `output`, and may append more.
    func write(into output: inout OutputBuffer, adding addFields: (inout OutputBuffer, Int) -> Void = { _, _ in }) {
        let problem = Problem(refusal, requestID: requestID)
        let body = problem.body()
        HeadWriter.statusLine(refusal.status, into: &output)
        let fields = output.count
        HeadWriter.clean("Date", clock.date.span, into: &output)
        problem.appendFields(length: body.count, to: &output)
        addFields(&output, fields)
        if !keepsAlive { HeadWriter.field("Connection", "close", into: &output) }
        HeadWriter.end(into: &output)
        if !isHead { output.append(body.span) }
    }
}
