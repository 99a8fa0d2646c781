/// An open object or array.
internal struct FieldContainer: BitwiseCopyable {
    enum Kind {
        case object, array
        /// An array whose elements are joined with commas, or one inside of it.
        case joined
        /// URLSearchParams' array of pairs, and one of these.
        case pairs, pair
    }

    /// What a value is to the array it stands in.
    enum Element {
        /// One that becomes one field, a JSON text and a file included.
        case scalar
        case object, array
    }

    let kind: Kind
    /// The bytes of `name` that name this container.
    let nameEnd: Int
    /// The segments of that name after its root.
    let depth: Int
    /// How the elements are written: under `auto` settled at an array's first element that is written.
    var style: ArrayStyle
    /// Members and elements that have begun, left out or not.
    var position = 0
    /// Of those, the ones of which something was written, when they have ended.
    var written = 0
    /// Whether the latest element was an object or array that was left out because it is empty. For `FieldStyle.leavesGaps`.
    var lastIsEmpty = false
    /// Where the names of the latest object element begin in `seen`. For `brackets` arrays.
    var seenStart = -1
    /// Whether the element that was written last is an object, which the next one could be joined with.
    var lastWasObject = false
    /// Whether the element at hand is an object.
    var inObject = false
    /// Whether it is an object of which no field has been written yet.
    var awaitsFirstField = false
    /// Where what stands before the names of its members ends in `prefix`; -1 while that isn't written. For
    /// `DirectFieldEncoder`s.
    var prefixEnd = -1
    /// Whether it is one whose elements are not named as those of most arrays are, or stands in one: nothing of it is written without
    /// events.
    var isForEvents = false

    var isObject: Bool { kind == .object }
}
