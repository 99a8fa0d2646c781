import HTTPWire
import Octets

/// Our reading of the bytes of one connection: heads and bodies in turn, until it must close. `isClosed` says that what
/// follows was not looked at, because the connection ends with the last request.
func readingByUs(_ bytes: [UInt8]) -> (reading: Reading, isClosed: Bool) {
    var reading = Reading()
    var parser = RequestParser()
    var head = MessageHead()
    let input = bytes.span
    var at = 0
    do throws(WireError) {
        while at < input.count, let used = try parser.parse(input.extracting(at...), into: &head) {
            at += used
            reading.requests.append(ParsedRequest(head))
            var limits = WireLimits()
            limits.body = 100 * 1024 * 1024
            var decoder = BodyDecoder(framing: head.framing, limits: limits)
            while true {
                let step = try decoder.next(input.extracting(at...))
                at += step.skipped
                let body = input.extracting(at..<at + step.available)
                for index in body.indices { reading.requests[reading.requests.count - 1].body.append(body[index]) }
                decoder.took(step.available)
                at += step.available
                if step.isEnd || decoder.isComplete { break }
                if step.skipped + step.available == 0 || at == input.count {
                    guard decoder.isComplete else { return (reading, false) }
                    break
                }
            }
            reading.requests[reading.requests.count - 1].isComplete = true
            if !head.isKeepAlive { return (reading, true) }
        }
        reading.endsInHead = at < input.count
    } catch {
        reading.refusal = error.code
    }
    return (reading, false)
}

extension ParsedRequest {
    fileprivate init(_ head: borrowing MessageHead) {
        var fields: [[String]] = []
        for index in 0..<head.fieldCount {
            fields.append([head.name(index).lossyString().lowercased(), head.value(index).lossyString()])
        }
        self.init(
            method: head.method.lossyString(), target: head.target.lossyString(),
            minor: head.version == .http1_0 ? 0 : 1,
            fields: fields)
    }
}
