internal import ExtProc
internal import Octets

/// A call of external processing: what a data plane sends, by bytes, and what we say to it.
extension FuzzTarget {
    /// Whatever comes is a fault or a row of messages, the same however it is cut and however little of its content is taken; and
    /// each answer of ours is one that can be read.
    static var extProc: FuzzTarget {
        FuzzTarget("ext-proc", corpus: "ext-proc") { variant, body in
            let whole = read([body], most: .max)
            let pieces = stride(from: 0, to: body.count, by: variant.size).map {
                Array(body[$0..<min($0 + variant.size, body.count)])
            }
            guard read(pieces, most: 1 + Int(variant.byte >> 4)) == whole else { return "cut, it is something else" }
            return answers(to: whole.messages, BodyMode.allCases[Int(variant.byte) % BodyMode.allCases.count])
        }
    }

    private enum Message: Equatable {
        case head(Direction, endsStream: Bool, fields: [[UInt8]])
        case content(Direction, [UInt8], endsStream: Bool)
        case trailers(Direction, fields: [[UInt8]])
        case nothing
    }

    private struct Reading: Equatable {
        var messages: [Message] = []
        /// Content of a message that isn't whole.
        var rest: [UInt8] = []
        var error: CallError?
    }

    private static func read(_ pieces: [[UInt8]], most: Int) -> Reading {
        var reader = MessageReader()
        var reading = Reading()
        func fields() -> [[UInt8]] {
            var fields: [[UInt8]] = []
            reader.forEachField { name, value in fields += [name.copied(), value.copied()] }
            return fields
        }
        do throws(CallError) {
            for piece in pieces {
                var at = 0
                loop: while true {
                    switch try reader.next(piece.span, at: &at) {
                    case .needsMore: break loop
                    case .head(let direction, let ends):
                        reading.messages.append(.head(direction, endsStream: ends, fields: fields()))
                    case .trailers(let direction): reading.messages.append(.trailers(direction, fields: fields()))
                    case .content(_, let range, let isHeld):
                        let part = range.lowerBound..<range.lowerBound + min(most, range.count)
                        reading.rest += isHeld ? reader.held.span.extracting(part).copied() : Array(piece[part])
                        reader.took(part.count)
                        if !isHeld { at += part.count }
                    case .contentEnded(let direction, let ends):
                        reading.messages.append(.content(direction, reading.rest, endsStream: ends))
                        reading.rest = []
                    case .nothing: reading.messages.append(.nothing)
                    }
                }
            }
        } catch {
            // What of content came before depends on the cut.
            reading.rest = []
            reading.error = error
        }
        return reading
    }

    /// Says to each message what goes on, which is what came.
    private static func answers(to messages: [Message], _ mode: BodyMode) -> String? {
        var flows = [ProcessingFlow(.request), ProcessingFlow(.response)]
        var output = OutputBuffer()
        var sent = [0, 0]
        do throws(CallError) {
            for message in messages {
                switch message {
                case .head(let direction, let ends, _):
                    let index = direction.rawValue
                    flows[index].mode = mode
                    try flows[index].headCame(endsStream: ends, length: nil)
                    var mutation = HeaderMutation()
                    mutation.set([0x61].span, [0x62].span)
                    flows[index].sendHead(mutation, to: &output)
                    flows[index].answerHead(to: &output)
                    if !flows[index].takesContent { try flows[index].end(to: &output) }
                case .content(let direction, let content, let ends):
                    let index = direction.rawValue
                    if try flows[index].contentComes() {
                        flows[index].send(content.span, to: &output)
                        sent[index] += content.count
                    }
                    if try flows[index].contentMessageEnded(endsStream: ends, to: &output) {
                        try flows[index].end(to: &output)
                    } else {
                        flows[index].endTurn(to: &output)
                    }
                case .trailers(let direction, _):
                    let index = direction.rawValue
                    if try flows[index].trailersCame(to: &output) { try flows[index].end(to: &output) }
                case .nothing: break
                }
            }
        } catch {
            return nil
        }
        for flow in flows where flow.isComplete && !flow.pending.isEmpty { return "content is left behind the end" }
        return areMessages(output)
    }

    /// Whether all that we said can be read.
    private static func areMessages(_ output: OutputBuffer) -> String? {
        let bytes = output.span.copied()
        var at = 0
        while at < bytes.count {
            guard bytes.count - at >= GRPC.prefix, bytes[at] == 0 else { return "a frame of ours is cut" }
            let count = bytes[at + 1..<at + GRPC.prefix].reduce(0) { $0 << 8 | Int($1) }
            guard count <= bytes.count - at - GRPC.prefix else { return "a message of ours is cut" }
            var reader = FieldReader(at + GRPC.prefix..<at + GRPC.prefix + count)
            var fields = 0
            do throws(CallError) {
                while try reader.next(in: bytes.span) != nil { fields += 1 }
            } catch {
                return "a message of ours can't be read: \(error.reason)"
            }
            guard fields == 1 else { return "a message of ours is about \(fields) things" }
            at += GRPC.prefix + count
        }
        return nil
    }
}
