/// Something that the output of a plan can't carry, or can't tell apart from something else, and what becomes of it.
///
/// A note is about what may come in, not about a body that did: see `ConversionPlan.notes()`.
public struct ConversionNote: Hashable, Sendable {
    /// What happens to it.
    public enum Outcome: String, Hashable, Sendable, CaseIterable {
        /// The request is refused.
        case refused
        /// It is left out, by a rule of the plan.
        case omitted
        /// It goes out and reads back as something else.
        case altered
    }

    /// Stable, as `null_empty`.
    public var code: String
    /// What happens to it.
    public var outcome: Outcome
    /// What it is: `null`, `an empty array`, `the file "photo"`.
    public var what: String
    /// What becomes of it, in words: `becomes an empty value`.
    public var effect: String
    /// The setting that mends it, and how; nil when none does.
    public var remedy: String?

    /// A note of those words.
    public init(code: String, _ outcome: Outcome, what: String, effect: String, remedy: String? = nil) {
        self.code = code
        self.outcome = outcome
        self.what = what
        self.effect = effect
        self.remedy = remedy
    }
}

extension ConversionNote: CustomStringConvertible {
    /// `null becomes an empty value; nulls: literal or reject keeps it apart`
    public var description: String { "\(what) \(effect)\(remedy.map { "; \($0)" } ?? "")" }
}

// MARK: Notes of a plan

/// What may be lost on the way, told before a body comes.
extension ConversionPlan {
    /// What the output can't carry or can't tell apart under these settings, of all that may come in. Empty when
    /// everything that the input can say goes out and reads back as it was, read with the options it was written with.
    ///
    /// What a rule of the plan names itself, as `map.remove`, is no note.
    public func notes() -> [ConversionNote] {
        // An output that is `auto` has been decided where no file can come.
        var writer = NoteWriter(plan: inputs.count == 1 ? decided(for: inputs[0]) : self)
        writer.write()
        return writer.notes
    }
}
