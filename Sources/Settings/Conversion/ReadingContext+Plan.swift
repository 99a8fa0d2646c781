internal import Transcoding

extension ReadingContext {
    /// Reports what can't hold in a plan whose words are all right, whatever the body.
    func check(_ plan: ConversionPlan, at position: SettingsNode.Position) {
        for fault in plan.validate() {
            let place = fault.field.map { " (\"\($0)\")" } ?? ""
            report(position, "\(fault.setting.map { "\"\($0)\"" } ?? "the conversion")\(place): \(fault.reason)")
        }
    }
}
