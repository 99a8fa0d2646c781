internal import HTTPTypes
internal import Transcoding

/// Which responses may have an empty body.
public enum EmptyBodies: String, Hashable, Sendable, Codable, CaseIterable {
    /// All: AFNetworking's rule for JSON. The object is nil then, without an error.
    case anywhere
    /// Those to HEAD and those with status 204 or 205: Alamofire's rule. Others are an error, `emptyBody`.
    case whereExpected

    /// Whether that response may.
    internal func allows(_ response: HTTPResponse, _ request: HTTPRequest?) -> Bool {
        self == .anywhere || Self.isExpected(response, request)
    }

    internal static func isExpected(_ response: HTTPResponse, _ request: HTTPRequest?) -> Bool {
        request?.method == .head || response.status.code == 204 || response.status.code == 205
    }

    internal static func fault(beneath error: SerializationError?) -> SerializationError {
        SerializationError(.emptyBody, reason: "the response has no body", underlying: error)
    }

    /// The body without the line `)]}',` that keeps scripts from reading it, whether CR LF or LF ends it.
    internal static func droppingXSSIPrefix(_ body: [UInt8]) -> [UInt8] {
        let line = [")]}',\n", ")]}',\r\n"].first { body.starts(with: $0.utf8) }
        return line.map { Array(body.dropFirst($0.utf8.count)) } ?? body
    }
}
