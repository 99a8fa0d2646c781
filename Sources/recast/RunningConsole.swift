internal import Octets
internal import Transcoding

/// The console of a proxy that runs, as a command asks it: where it is, and by which token.
struct RunningConsole {
    /// Where a token may stand that isn't to stand in the list of processes.
    static let variable = "RECAST_TOKEN"

    private let port: AskedPort
    private let token: String

    /// Why there is nothing to ask by: one sentence in lower case.
    struct Usage: Error {
        var reason: String
    }

    /// Reads where and by which token.
    /// - Parameters:
    ///   - admin: an address of the admin port, or the console's whole one, as the log has it.
    ///   - token: that of the command's option, which may not stand in the address as well.
    ///   - variable: the environment's, where neither has one.
    init(admin: String, token: String?, variable: String?) throws(Usage) {
        let (address, pasted) = try Self.parts(of: admin)
        guard let port = AskedPort(address) else {
            throw Usage(
                reason: "--admin is 127.0.0.1:9901, [::1]:9901, unix:/path, or the console's address as the log has it")
        }
        self.port = port
        if token != nil, pasted != nil { throw Usage(reason: "the token stands in --admin: leave --token out") }
        let given = token ?? pasted ?? variable ?? ""
        guard !given.isEmpty else {
            throw Usage(
                reason: "--token is missing: the log has it at the proxy's start; "
                    + "\(Self.variable) in the environment may hold it, too")
        }
        // It goes into a line of a head.
        guard given.utf8.allSatisfy({ 33...126 ~= $0 }) else {
            throw Usage(reason: "the token has a character that none has")
        }
        self.token = given
    }

    /// The address and the token of `http://127.0.0.1:9901/console#token=…`; what else it is stays as it is.
    private static func parts(of admin: String) throws(Usage) -> (address: String, token: String?) {
        let scheme = "http://"
        guard admin.hasPrefix(scheme) else { return (admin, nil) }
        let rest = admin.dropFirst(scheme.count).split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false)
        let place = rest[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard place.count == 1 || ["", "console", "console/"].contains(place[1]) else {
            throw Usage(reason: "the console's address is http://ADDRESS/console, with no other path")
        }
        let mark = "token="
        guard rest.count == 2, rest[1].hasPrefix(mark) else { return (String(place[0]), nil) }
        // What stands behind it is a view of the page.
        let token = rest[1].dropFirst(mark.count).prefix { $0 != "&" }
        return (String(place[0]), token.isEmpty ? nil : String(token))
    }

    // MARK: - Learning

    /// Bytes of an answer at most: 500 names of fields and a definition have less.
    private static let limit = 8 * 1024 * 1024
    /// Seconds for an answer. Workers have one, then 4 MiB of each are looked through.
    private static let patience = 30

    /// Asks `GET /console/learn` for that route. All that isn't a proposal is a fault, for which something is not available.
    func learn(_ route: String) throws(CommandFault) -> LearntAnswer {
        var target = OutputBuffer()
        target.append("/console/learn?route=")
        target.append(percentEncoding: Array(route.utf8).span, keeping: .unreserved, plusForSpace: false)
        let body = Kept()
        let answer: AskedPort.Answer
        do throws(AskedPort.Fault) {
            answer = try port.ask(
                "GET", target.span.lossyString(), fields: "Authorization: Bearer \(token)\r\n", within: Self.patience
            ) { body.add($0, limit: Self.limit) }
        } catch {
            throw fault(error.reason)
        }
        let learnt = LearntAnswer(json: body.bytes)
        guard answer.status == 200 else {
            guard answer.status != 401 else {
                throw fault("it doesn't take this token: each start of the proxy makes another, and the log has it")
            }
            throw fault(learnt?.error.map(Self.line) ?? "it answers \"\(answer.line)\": is it the admin port?")
        }
        guard let learnt, learnt.definition != nil else {
            throw fault("it answers with no definition: is it the admin port?")
        }
        return learnt
    }

    private func fault(_ reason: String) -> CommandFault {
        CommandFault(CommandFault.unavailable, "recast learn: \(port.name): \(reason)")
    }

    /// A text of whoever answers, as one line that a terminal may get.
    private static func line(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.prefix(1000).map { $0.properties.generalCategory == .control ? " " : $0 }))
    }

    /// A body that comes piece by piece.
    private final class Kept {
        private(set) var bytes: [UInt8] = []

        func add(_ piece: Span<UInt8>, limit: Int) -> String? {
            guard piece.count <= limit - bytes.count else { return "its answer has more than \(limit) bytes" }
            bytes.append(contentsOf: piece)
            return nil
        }
    }
}

/// What a console answers when it is asked to learn, or the reason why it doesn't.
struct LearntAnswer {
    /// The answer as it came.
    let json: [UInt8]
    private let members: [Literal.Member]

    /// nil where the bytes are no JSON.
    init?(json: [UInt8]) {
        var document = LiteralBuilder()
        do throws(ConversionError) {
            try document.take(json: json)
        } catch {
            return nil
        }
        self.json = json
        members = document.value.members
    }

    var definition: String? { member("definition")?.text }
    var error: String? { member("error")?.text }
    /// Fields beyond what is looked at.
    var leftOut: Int { member("left_out")?.text.flatMap { Int($0) } ?? 0 }
    /// How many bodies can't be read, by the code of the error.
    var unreadable: [String: Int] {
        var counts: [String: Int] = [:]
        for error in member("unreadable")?.members ?? [] { counts[error.name] = error.value.text.flatMap { Int($0) } }
        return counts
    }

    private func member(_ name: String) -> Literal? { members.last { $0.name == name }?.value }
}

extension Literal {
    /// A text, or that of a number.
    fileprivate var text: String? {
        switch self {
        case .string(let text), .number(let text): text
        case .null, .bool, .array, .object: nil
        }
    }

    /// Those of an object.
    fileprivate var members: [Member] { if case .object(let members) = self { members } else { [] } }
}
