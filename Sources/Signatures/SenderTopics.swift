internal import Octets

/// Of which topics messages of SNS are taken.
///
/// Amazon signs the messages of all its customers with the same keys: that one holds says that SNS has sent it, and its topic alone
/// whose it is.
package struct SenderTopics: Hashable, Sendable, CustomStringConvertible {
    /// As the settings write them: a star at the end stands for any rest.
    private let names: [String]

    package init(_ names: [String]) { self.names = names }

    /// Whether a message of this topic is taken.
    package func contains(_ topic: [UInt8]) -> Bool {
        names.contains { name in
            name.hasSuffix("*") ? topic.starts(with: name.utf8.dropLast()) : topic.elementsEqual(name.utf8)
        }
    }

    /// Whether a text names a topic, or all whose names begin so: `arn:aws:sns:eu-west-1:123456789012:orders`, with a star at its end
    /// or without. The account is always told, as anybody may have a topic in another one.
    package static func isName(_ text: String) -> Bool {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "arn", parts[1] == "aws" || parts[1].hasPrefix("aws-"), parts[2] == "sns",
            !parts[3].isEmpty, parts[4].utf8.count == 12, parts[4].utf8.allSatisfy(ASCII.isDigit)
        else { return false }
        let name = parts[5].hasSuffix("*") ? parts[5].dropLast() : parts[5]
        let signs = Array("-_.".utf8)
        return !parts[5].isEmpty
            && [parts[1], parts[3], name].allSatisfy { part in
                part.utf8.allSatisfy { ASCII.isAlpha($0) || ASCII.isDigit($0) || signs.contains($0) }
            }
    }

    package var description: String { names.joined(separator: ", ") }
}
