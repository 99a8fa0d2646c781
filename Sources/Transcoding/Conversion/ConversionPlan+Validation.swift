internal import Octets

extension ConversionPlan {
    /// What in the plan can't hold, whatever the body: to be shown when the settings are read. Empty when the plan is fine.
    ///
    /// Each fault has a `code` that begins with `plan_`, the path concerned as its `field`, and the setting to change.
    public func validate() -> [ConversionError] {
        var faults: [ConversionError] = []
        func report(_ code: String, _ reason: String, _ path: FieldPath? = nil, setting: String) {
            faults.append(
                ConversionError(
                    .unrepresentable, code: "plan_\(code)", reason: reason, field: path?.description, setting: setting))
        }
        if inputs.isEmpty { report("inputs", "the conversion takes no input", setting: "decode.as") }
        if jsonDuplicates == .array {
            report(
                "duplicates", "repeated members of JSON are kept, refused, or the first or last one counts",
                setting: "duplicates")
        }
        if fieldDecoding.duplicates == .keep {
            report(
                "duplicates", "repeated fields make an array, are refused, or the first or last one counts",
                setting: "duplicates")
        }

        if let rule = document, rule.path.hasWildcard || rule.path.segments.isEmpty {
            report("wildcard", "the document stands in one field, without *", rule.path, setting: "document")
        }
        for path in map.remove where path.segments.isEmpty {
            report("path", "the whole document can't be removed", path, setting: "map.remove")
        }
        faults += map.rename.compactMap(\.fault)
        for rename in map.rename where !rename.from.segments.isEmpty {
            if rename.from == rename.to {
                report("rename", "the field is to become what it is already", rename.from, setting: "map.rename")
            } else if rename.from.begins(with: rename.to), !inputs.contains(where: { $0.isFlat && streams(from: $0) }) {
                report(
                    "rename", "the field can't take the place of what it stands in, \"\(rename.to)\"", rename.from,
                    setting: "map.rename")
            }
        }
        if output == .multipart || output == .form, inputs.contains(where: { $0.isFlat && streams(from: $0) }) {
            for rename in map.rename where rename.to.leastLength > limits.key {
                report(
                    "rename",
                    "the new name is longer than \(limits.key) bytes (limits.key), so that no field can have it",
                    rename.from,
                    setting: "map.rename")
            }
        }
        for (index, rename) in map.rename.enumerated() {
            guard let taken = map.taking(rename.from, before: index) else { continue }
            report(
                "rename", "a rename finds what the rules before it leave, and the map \(taken)", rename.from,
                setting: "map.rename")
        }
        for rule in types {
            guard let taken = map.taking(rule.path) else { continue }
            report(
                "types", "types are declared of the names behind the map, which \(taken)", rule.path, setting: "fields")
        }
        for path in jsonParts {
            guard let taken = map.taking(path) else { continue }
            report("parts", "parts are named as they are behind the map, which \(taken)", path, setting: "parts")
        }
        for rule in files {
            // Of pictures that the map takes away a note tells.
            if rule.image == nil, let taken = map.taking(rule.path) {
                report(
                    "files", "files are named as they are behind the map, which \(taken)", rule.path, setting: "files")
            }
            guard case .field(let path) = rule.filename, let taken = map.taking(path) else { continue }
            // Where fields are gathered, what the map removes has given its text before.
            if map.place(of: path) == path, inputs.contains(where: { $0.isFlat && !streams(from: $0) }) { continue }
            report(
                "files", "the filename comes from a field behind the map, which \(taken)", path, setting: "files")
        }
        if output == .xml, xmlEncoding.convention == .attributes {
            for (name, setting) in xmlEncoding.inventedNames where !xmlEncoding.isName(Array(name.utf8).span) {
                report("xml_name", "\"\(name)\" is no name of an element in XML", setting: setting)
            }
        }
        for assignment in map.set where assignment.path.hasWildcard || assignment.path.segments.isEmpty {
            report("wildcard", "a value can be set at one place only, without *", assignment.path, setting: "map.set")
        }
        for assignment in map.append where assignment.path.hasWildcard || assignment.path.segments.isEmpty {
            report(
                "wildcard", "a value can be appended at one place only, without *", assignment.path,
                setting: "map.append")
        }
        if faults.isEmpty, !map.set.contains(where: \.path.hasIndex), let fault = faultOfAssignments() {
            faults.append(fault)
        }

        for (index, rule) in files.enumerated() {
            guard let name = rule.name?.pattern else { continue }
            let nesting = fieldEncoding.nesting
            let other = files[..<index].first { other in
                guard let earlier = other.name?.pattern, !earlier.isPush || earlier != name else { return false }
                return earlier.clashes(with: name, nesting)
            }
            if let other {
                report(
                    "files", "its files and those of \"\(other.path)\" get the same names", rule.path, setting: "files")
            }
        }
        for rule in files {
            if rule.policy == .stream, !output.hasFiles {
                report(
                    "files",
                    "\(output.rawValue) has no files; say \(output.hasObjects ? "base64, object" : "base64"), "
                        + "drop or reject", rule.path, setting: "files")
            }
            let isObjectRead = output.hasFiles && inputs.contains { !$0.isFlat }
            if rule.policy == .object, !output.hasObjects || !inputs.contains(.multipart), !isObjectRead {
                report("files", FilePolicy.objectFault, rule.path, setting: "files")
            }
            let isImage = rule.image != nil && rule.source != .object && rule.name == nil
            if rule.source != nil || rule.name != nil, !output.hasFiles, !isImage {
                report("files", "only multipart has parts that texts become", rule.path, setting: "files")
            }
            if rule.source == .object, !inputs.contains(where: { !$0.isFlat }) {
                report("files", "a form and multipart have no objects that could be files", rule.path, setting: "files")
            }
            if output.hasFiles, inputs.contains(where: { !$0.isFlat && rule.source(from: $0) != nil }),
                let setting = settingOfJSON(around: rule.path)
            {
                report(
                    "files", "under \(setting) the value stands inside a JSON text, where nothing is a file", rule.path,
                    setting: "files")
            }
            if fieldEncoding.order == .sorted,
                inputs.contains(where: { !$0.isFlat && rule.source(from: $0) == .object })
            {
                report("order", "the members of a file come in their own order, data last", rule.path, setting: "order")
            }
            if rule.filename != nil || rule.mediaType != nil, !output.hasFiles, rule.policy != .object {
                report("files", "\(output.rawValue) has no filenames and types of files", rule.path, setting: "files")
            }
            if let max = rule.max, max < 0 {
                report("files", "the size of a file can't be negative", rule.path, setting: "files")
            }
            if let type = rule.mediaType, !ContentType.isMediaType(Array(type.utf8).span) {
                report("files", "the type is no media type (RFC 9110 section 8.3.1)", rule.path, setting: "files")
            }
        }
        if !output.hasObjects, fieldDecoding.files == .object || fieldEncoding.files == .object {
            report("files", FilePolicy.objectFault, setting: "files")
        }
        if outputWithoutFiles != nil, inputs.contains(.multipart) {
            for rule in files where rule.policy == .base64 || rule.policy == .object {
                report("files", "auto carries files as files; say stream, drop or reject", rule.path, setting: "files")
            }
            for policy in [fieldDecoding.files, fieldEncoding.files] where policy == .base64 || policy == .object {
                report("files", "auto carries files as files; say stream, drop or reject", setting: "files")
            }
        }
        let policies = files.map(\.policy) + [fieldDecoding.files, fieldEncoding.files]
        if inputs.contains(.multipart), output.hasObjects, fieldEncoding.order == .sorted,
            policies.contains(.base64) || policies.contains(.object)
        {
            report(
                "order", "files are written as they come, before the fields, so members can't be sorted",
                setting: "order")
        }
        if inputs.contains(.form), fieldDecoding.dialect == .qs,
            fieldDecoding.charsetHint == .use || fieldDecoding.charsets.contains(where: { !$0.isUTF8 })
        {
            report("charset", "a form is read in utf-8 under dialect: qs", setting: "charset")
        }
        if inputs.contains(.text), inputField == nil, output.isFlat {
            report("field", "a text needs a name to stand in \(output.rawValue)", setting: "field")
        }
        return faults
    }

    /// The setting that writes all values of a document at `path`, or what they stand in, as one JSON text; nil where there is none.
    private func settingOfJSON(around path: FieldPath) -> String? {
        for part in jsonParts where part.segments.count <= path.segments.count && part.overlaps(path) {
            return "parts: { \(part): json }"
        }
        let arrays = fieldEncoding.writesArraysAsJSON
        let objects = fieldEncoding.nesting == .json
        for segment in path.segments.dropFirst() {
            // An element of an array, a member of an object, or either.
            switch segment {
            case .index where arrays: return "arrays: \(fieldEncoding.arrays.rawValue)"
            case .key where objects, .any where arrays && objects: return "nesting: json"
            case .index, .key, .any: break
            }
        }
        return nil
    }

    /// Values that a plan may take from a request's head.
    private static let mostSources = 10_000

    /// What the assigned values run into by themselves: one inside another that is no object, a number that is none, a null
    /// that the output refuses.
    private func faultOfAssignments() -> ConversionError? {
        var count = 0
        for assignment in map.set + map.append {
            switch assignment.value {
            case .source(let index):
                guard (0..<Self.mostSources).contains(index) else {
                    return ConversionError(
                        .unrepresentable, code: "plan_source", reason: "there is no value \(index) of a request's head",
                        field: assignment.path.description, setting: "map")
                }
                count = max(count, index + 1)
            case .literal(let literal):
                if let text = literal.badNumber {
                    return ConversionError(
                        .unrepresentable, code: "plan_number", reason: "\"\(text)\" is no number of JSON",
                        field: assignment.path.description, setting: "map")
                }
            }
        }
        do throws(ConversionError) {
            if output.isFlat {
                var assigned = AssignedFields(self)
                var list = FieldList()
                try assigned.send(Array(repeating: [], count: count), to: &list)
            } else {
                var sets = FieldMap()
                sets.set = map.set
                sets.append = map.append
                var tree = Tree(limits: limits)
                try tree.makeRootObject()
                try tree.apply(sets, sources: Array(repeating: [], count: count))
            }
            return nil
        } catch {
            return error
        }
    }
}

extension FieldMap.Rename {
    /// Why nothing can be renamed so, whatever the body; nil where something can.
    internal var fault: ConversionError? {
        let shared = sharedPrefix
        let isEmpty = from.segments.isEmpty || to.segments.isEmpty
        guard isEmpty || from.segments[shared...].contains(.any) || to.segments[shared...].contains(.any) else {
            return nil
        }
        return ConversionError(
            .unrepresentable, code: "plan_wildcard",
            reason: "a rename with * must begin with the same path, up to the *, on both sides",
            field: from.description, setting: "map.rename")
    }
}

extension FieldMap {
    /// How the map takes away whatever comes at the path, so that nothing stands there behind it; nil where something may.
    ///
    /// - Parameter before: the rename by which the path is meant; nil: what the whole map leaves.
    fileprivate func taking(_ path: FieldPath, before last: Int? = nil) -> String? {
        let renames = rename[..<(last ?? rename.count)]
        // Where one of an array's elements is taken, the next one has its number.
        func takes(_ taken: FieldPath) -> Bool { !taken.segments.isEmpty && !taken.hasIndex && taken.covers(path) }
        // Most paths are taken by nothing.
        let isRemoved = remove.contains(where: takes)
        guard isRemoved || renames.contains(where: { takes($0.from) && $0.from != $0.to }) else { return nil }
        if renames.contains(where: { $0.to.overlaps(path) }) { return nil }
        if last == nil, (set + append).contains(where: { $0.path.overlaps(path) }) { return nil }
        if isRemoved { return "removes this one" }
        return "has made this one \"\(place(of: path))\""
    }
}

extension FieldPath {
    /// Whether the first steps of the path are those of `other`.
    fileprivate func begins(with other: FieldPath) -> Bool { segments.starts(with: other.segments) }

    /// The bytes that a field's name has at least which leads to the path.
    fileprivate var leastLength: Int {
        segments.reduce(0) { count, segment in
            if case .key(let key) = segment { count + key.count } else { count + 1 }
        }
    }
}

extension XML.EncodingOptions {
    /// The names that elements get which have none in the document, by their settings.
    fileprivate var inventedNames: [(name: String, setting: String)] {
        (root == .member ? [] : [(rootName, "root_name")]) + [(itemName, "item_name")]
    }
}

extension Literal {
    /// The text of a number, anywhere in the value, that isn't in JSON's grammar.
    fileprivate var badNumber: String? {
        switch self {
        case .number(let text): NumberText(Array(text.utf8).span) == nil ? text : nil
        case .array(let elements): elements.lazy.compactMap(\.badNumber).first
        case .object(let members): members.lazy.compactMap(\.value.badNumber).first
        case .null, .bool, .string: nil
        }
    }
}
