import HTTPWire
import Octets
import Testing

/// The head of a request for the tables, read by the real parser. Bad escapes come through for the table to judge.
func requestHead(
    _ method: String, _ target: String, host: String = "shop.example", fields: [(String, String)] = [],
    limits: WireLimits = WireLimits()
) throws -> MessageHead {
    var text = "\(method) \(target) HTTP/1.1\r\nHost: \(host)\r\n"
    for (name, value) in fields { text += "\(name): \(value)\r\n" }
    let bytes = Array((text + "\r\n").utf8)
    var head = MessageHead()
    var rules = RequestRules()
    rules.refusesBadPercent = false
    var parser = RequestParser(limits: limits, rules: rules)
    let count = try parser.parse(bytes.span, into: &head)
    #expect(count == bytes.count)
    return head
}

func requestHead(_ target: String) throws -> MessageHead { try requestHead("GET", target) }

/// The text of a range of the head's path.
func text(of range: Range<Int>, in head: borrowing MessageHead) -> String { head.path.extracting(range).lossyString() }
