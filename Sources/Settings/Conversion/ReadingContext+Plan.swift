internal import Transcoding

extension ReadingContext {
    /// Reports what can't hold in a plan whose words are all right, whatever the body, and warns of what it says for nothing.
    ///
    /// - Parameter which: behind the route's name, for warnings.
    func check(_ plan: ConversionPlan, at position: SettingsNode.Position, of which: String = "") {
        let options = idleOptions
        idleOptions = []
        let faults = plan.validate()
        for fault in faults {
            let place = fault.field.map { " (\"\($0)\")" } ?? ""
            report(position, "\(fault.setting.map { "\"\($0)\"" } ?? "the conversion")\(place): \(fault.reason)")
        }
        guard faults.isEmpty, let route else { return }
        for (option, position) in options where plan.idles(option) {
            let all = plan.remedies(for: option)
            let remedies =
                all.count == 1 ? all[0] : all.dropLast().joined(separator: ", ") + ", or \(all[all.count - 1])"
            note(
                SettingsNote(
                    severity: .warning, code: "key_unused", line: position.line, column: position.column,
                    subject: "route \(route)\(which)",
                    message: "\"\(option.rawValue)\" is for \(option.use), and none of them can come here",
                    hint: "it counts with \(remedies)", route: route))
        }
    }

    /// One media type or a list of them; `what` is the setting in quotes.
    func mediaPatterns(_ node: SettingsNode, _ what: String) -> [MediaPattern] {
        var elements = [node]
        if case .sequence(let list) = node.content { elements = list }
        if elements.isEmpty { report(node.position, "\(what) takes at least one type, as in [image/*]") }
        return elements.compactMap { element in
            guard let text = text(element, what) else { return nil }
            if let pattern = MediaPattern(text) { return pattern }
            report(element.position, "\(what) are media types, as in [image/*, application/pdf]")
            return nil
        }
    }
}
