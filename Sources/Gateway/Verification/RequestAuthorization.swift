package import HTTPWire
internal import Octets
internal import Signatures

/// Who may use a route: what `authorize` says in the settings, ready for use. Any of its ways lets a request in.
///
/// Secrets are kept as digests, and those are compared, each one with all, in a time that tells nothing.
public final class RequestAuthorization: Sendable {
    /// One way in.
    package enum Way: Sendable {
        /// `Authorization: Bearer TOKEN` (RFC 6750 §2.1): SHA-256 of the tokens.
        case bearer([[UInt8]])
        /// `Authorization: Basic …` (RFC 7617): users with SHA-256 of their passwords.
        case basic([User])
        /// A field with a key: its name, and SHA-256 of the keys.
        case key(field: String, [[UInt8]])

        /// For logs and metrics.
        package var name: String {
            switch self {
            case .bearer: "bearer"
            case .basic: "basic"
            case .key: "key"
            }
        }
    }

    package struct User: Sendable {
        package let name: String
        /// SHA-256 of the name.
        fileprivate let nameDigest: [UInt8]
        /// SHA-256 of the password: 32 bytes.
        package let password: [UInt8]

        /// - Parameter password: its SHA-256.
        package init(name: String, password: [UInt8]) {
            self.name = name
            nameDigest = RequestAuthorization.digest(Array(name.utf8))
            self.password = password
        }
    }

    /// What a request's credentials are.
    package enum Result: Hashable, Sendable {
        /// Good in this way; of Basic the user's name.
        case granted(way: String, user: String?)
        /// There are none.
        case missing
        /// They are not good, or can't be read.
        case refused

        /// For logs and metrics.
        package var name: String {
            switch self {
            case .granted(let way, _): way
            case .missing: "missing"
            case .refused: "refused"
            }
        }
    }

    package let ways: [Way]

    package init(_ ways: [Way]) { self.ways = ways }

    /// The request's fields that let it in, in lower case.
    var fieldNames: [String] {
        ways.map { if case .key(let field, _) = $0 { field.lowercased() } else { "authorization" } }
    }

    /// What secrets are compared by.
    package static func digest(_ secret: [UInt8]) -> [UInt8] { Digest.of(secret.span, .sha256) }

    /// Sees what the credentials of a request are worth.
    package func check(_ request: borrowing MessageHead) -> Result {
        var result = Result.missing
        let authorization = Self.value(of: "Authorization", in: request)
        for way in ways {
            switch way {
            case .bearer(let tokens):
                guard case .one(let value) = authorization, let token = Self.credentials(value, of: "bearer") else {
                    break
                }
                if Self.isAmong(tokens, token) { return .granted(way: way.name, user: nil) }
                result = .refused
            case .basic(let users):
                guard case .one(let value) = authorization, let text = Self.credentials(value, of: "basic") else {
                    break
                }
                if let user = Self.user(text, among: users) { return .granted(way: way.name, user: user) }
                result = .refused
            case .key(let field, let keys):
                switch Self.value(of: field, in: request) {
                case .none: break
                case .several: result = .refused
                case .one(let key):
                    if Self.isAmong(keys, key) { return .granted(way: way.name, user: nil) }
                    result = .refused
                }
            }
        }
        // Of several it can't be known which one others would heed.
        if case .several = authorization { return .refused }
        return result
    }

    /// What a 401 to a request says in WWW-Authenticate (RFC 9110 §11.6.1). An error is told of a bearer token that came, and of nothing
    /// else: no credentials, or others, have no error code (RFC 6750 §3.1).
    package func challenges(to request: borrowing MessageHead) -> String {
        var hasToken = false
        if case .one(let value) = Self.value(of: "Authorization", in: request) {
            hasToken = Self.credentials(value, of: "bearer") != nil
        }
        return ways.map { way in
            switch way {
            case .bearer: "Bearer realm=\"recast\"" + (hasToken ? ", error=\"invalid_token\"" : "")
            case .basic: "Basic realm=\"recast\", charset=\"UTF-8\""
            case .key(let field, _): "ApiKey realm=\"recast\", header=\"\(field)\""
            }
        }.joined(separator: ", ")
    }

    private enum Value {
        case none
        case one([UInt8])
        case several
    }

    private static func value(of field: String, in request: borrowing MessageHead) -> Value {
        let name = Array(field.utf8)
        guard let index = request.first(named: name.span, from: 0) else { return .none }
        if request.first(named: name.span, from: index + 1) != nil { return .several }
        return .one(request.value(index).copied())
    }

    /// What stands behind the name of a scheme, which is given in lower case and may come in either; nil of another scheme.
    private static func credentials(_ value: [UInt8], of scheme: StaticString) -> [UInt8]? {
        guard let space = value.firstIndex(of: ASCII.space),
            value.span.extracting(0..<space).isEqualIgnoringCase(to: scheme)
        else { return nil }
        return Array(value[space...].drop { $0 == ASCII.space })
    }

    /// All of them are compared, so that the time doesn't tell which one it was.
    private static func isAmong(_ digests: [[UInt8]], _ secret: [UInt8]) -> Bool {
        let given = digest(secret)
        var isFound = false
        for digest in digests where ConstantTime.areEqual(digest.span, given.span) { isFound = true }
        return isFound
    }

    /// The user that a text of Basic credentials names, where the password is that user's.
    private static func user(_ text: [UInt8], among users: [User]) -> String? {
        guard let decoded = BinaryEncoding.base64.decode(text.span),
            let colon = decoded.firstIndex(of: UInt8(ascii: ":"))
        else { return nil }
        let name = digest(Array(decoded[..<colon]))
        let password = digest(Array(decoded[(colon + 1)...]))
        var found: String?
        for user in users {
            let isName = ConstantTime.areEqual(user.nameDigest.span, name.span)
            let isPassword = ConstantTime.areEqual(user.password.span, password.span)
            if isName, isPassword { found = user.name }
        }
        return found
    }
}
