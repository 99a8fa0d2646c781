internal import Transcoding

/// What `/console/replay` is asked for. What isn't known is refused, so that nothing but what was meant is sent.
struct ReplayOrder: Sendable {
    /// The exchange's.
    let id: String
    /// That of the request which is meant, where it is said: an id is given anew after a restart.
    let requestID: String?
    /// Nil: it is sent as it was.
    let edit: Edit?

    /// What takes the place of what was, where it isn't nil.
    struct Edit: Sendable {
        var method: String?
        var target: String?
        var fields: [(name: String, value: String)]?
        var body: String?
        var base64: String?

        fileprivate static let known = ["method", "target", "fields", "body", "base64"]
    }

    private static let known = ["id", "request_id", "edit"]

    /// - Parameter hint: says what may be meant by a word, of those that are known.
    /// - Throws: what is wrong with it; members that are null aren't there.
    init(_ document: Literal, hint: (String, [String]) -> String) throws(ReplayFault) {
        let members = try Self.members(of: document, "the body", "{\"id\": \"0-17\"}", Self.known) { name in
            Edit.known.contains(name) ? "it stands in \"edit\"" : hint(name, Self.known)
        }
        guard let text = members["id"] else { throw Self.fault("which exchange? As in {\"id\": \"0-17\"}") }
        id = try Self.text(text, "id")
        requestID = try members["request_id"].map { value throws(ReplayFault) in try Self.text(value, "request_id") }
        guard let value = members["edit"] else {
            self.edit = nil
            return
        }
        let edited = try Self.members(of: value, "\"edit\"", "{\"target\": \"/orders\"}", Edit.known) { name in
            name == "headers" ? "they are \"fields\"" : hint(name, Edit.known)
        }
        var edit = Edit()
        edit.method = try edited["method"].map { value throws(ReplayFault) in try Self.text(value, "method") }
        edit.target = try edited["target"].map { value throws(ReplayFault) in try Self.text(value, "target") }
        edit.body = try edited["body"].map { value throws(ReplayFault) in try Self.text(value, "body") }
        edit.base64 = try edited["base64"].map { value throws(ReplayFault) in try Self.text(value, "base64") }
        if edit.body != nil, edit.base64 != nil {
            throw Self.fault("\"body\" and \"base64\" say the same: remove one")
        }
        edit.fields = try edited["fields"].map { value throws(ReplayFault) in try Self.fields(value, hint) }
        self.edit = edit
    }

    private static func fault(_ reason: String) -> ReplayFault { ReplayFault(status: 400, reason: reason) }

    private static func text(_ value: Literal, _ name: String) throws(ReplayFault) -> String {
        guard case .string(let text) = value else { throw fault("\"\(name)\" is a text") }
        return text
    }

    private static func fields(
        _ value: Literal, _ hint: (String, [String]) -> String
    ) throws(ReplayFault) -> [(name: String, value: String)] {
        let example = "{\"name\": \"Host\", \"value\": \"localhost\"}"
        guard case .array(let elements) = value else {
            throw fault("\"fields\" is a list of fields, each as \(example)")
        }
        var fields: [(name: String, value: String)] = []
        for element in elements {
            // An exchange as it is shown says of each whether it is masked.
            let known = ["name", "value", "masked"]
            let members = try Self.members(of: element, "a field", example, known) { hint($0, known) }
            guard let name = members["name"], let value = members["value"] else {
                throw fault("a field has a name and a value, as \(example)")
            }
            fields.append((try text(name, "name"), try text(value, "value")))
        }
        return fields
    }

    /// The members of an object that are there, each of which must be known and stand once.
    private static func members(
        of value: Literal, _ what: String, _ example: String, _ known: [String], hint: (String) -> String
    ) throws(ReplayFault) -> [String: Literal] {
        guard case .object(let members) = value else { throw fault("\(what) is an object, as \(example)") }
        var found: [String: Literal] = [:]
        for member in members {
            let name = member.name
            guard known.contains(name) else { throw fault("there is no \"\(name)\" here: \(hint(name))") }
            if member.value == .null { continue }
            guard found.updateValue(member.value, forKey: name) == nil else {
                throw fault("\"\(name)\" stands there twice")
            }
        }
        return found
    }
}
