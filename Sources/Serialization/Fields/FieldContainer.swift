/// An open object or array.
internal struct FieldContainer: BitwiseCopyable {
    let isObject: Bool
    /// The bytes of `name` that name this container.
    let nameEnd: Int
    /// The segments of that name after its root.
    let depth: Int
    /// How the elements are written; settled at an array's first element that is written.
    var style: ArrayStyle
    /// Members or elements that have ended, left out or not.
    var position = 0
    /// Of those, the ones that were written.
    var written = 0
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
}
