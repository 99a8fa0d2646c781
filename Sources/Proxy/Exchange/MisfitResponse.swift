internal import Gateway
internal import Octets

/// A response that its rule doesn't take, should any content come of it but one space, which stands for none (docs/rules.md C3).
struct MisfitResponse {
    let fault: UnacceptableResponse
    let changes: HeadChanges
    let status: Int
    /// Whether the space has come.
    var isOneSpace = false

    /// Whether content, of which there is some, leaves it none. Under a coding it is no space.
    func takes(_ content: Span<UInt8>) -> Bool {
        content.count == 1 && content[0] == ASCII.space && !isOneSpace && fault != .coding
    }
}
