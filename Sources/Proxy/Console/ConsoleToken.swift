internal import Octets

/// What the console asks for: 128 random bits, made once a process.
struct ConsoleToken: CustomStringConvertible {
    let description: String
    private let bytes: [UInt8]

    init() {
        let digits = Entropy.words(2).map { word in
            let text = String(word, radix: 16)
            return String(repeating: "0", count: 16 - text.count) + text
        }
        description = digits.joined()
        bytes = Array(description.utf8)
    }

    /// Whether `text` is the token; how long that takes says nothing of how much of it is right.
    func matches(_ text: [UInt8]) -> Bool {
        guard text.count == bytes.count else { return false }
        var difference: UInt8 = 0
        for index in bytes.indices { difference |= text[index] ^ bytes[index] }
        return difference == 0
    }
}
