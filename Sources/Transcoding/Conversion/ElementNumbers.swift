internal import Octets

/// Tells in which elements of arrays the fields and files of a flat body are, by the numbers that stand for `[]` in their names: where
/// a file takes its name from a text, both are in the same one.
///
/// Of the names none is kept but those in the arrays that the paths of filenames lead through.
internal struct ElementNumbers: ~Copyable {
    private let arrays: [FieldPath]
    /// PHP counts files and fields apart, so the first file belongs to the first text.
    private let countsApart: Bool
    private var fields: FileNumbers
    private var files: FileNumbers

    /// Nil where none of the paths leads through the elements of an array.
    init?(_ plan: ConversionPlan, _ paths: [FieldPath]) {
        let arrays = paths.compactMap { path in
            path.segments.firstIndex(of: .any).map { FieldPath(Array(path.segments[..<$0])) }
        }
        if arrays.isEmpty { return nil }
        self.arrays = arrays
        let isPHP = plan.fieldDecoding.libraryOfNames == .php
        countsApart = isPHP
        // To qs all of `a[][b]` is in one element. Ours has several, so that no file gets the name of another one.
        fields = FileNumbers(library: isPHP ? .php : nil, limits: plan.limits)
        files = FileNumbers(library: isPHP ? .php : nil, limits: plan.limits)
    }

    /// Bytes that are held.
    var count: Int { fields.count + files.count }

    mutating func removeAll() {
        fields.removeAll()
        files.removeAll()
    }

    /// Puts numbers in the places of the pushes in `name`, which is that of the next part. Returns false where there are none, as where
    /// numbers and `[]` are mixed. Throws where a limit is passed.
    mutating func assign(
        to name: inout MappedName, of part: borrowing PartHead
    ) throws(ConversionError) -> Bool {
        let isInside = arrays.contains { name.isAtOrBelow($0) }
        guard isInside else { return true }
        do throws(ConversionError) {
            if part.isFile, countsApart {
                try files.assign(to: &name, field: part.name)
            } else {
                try fields.assign(to: &name, field: part.name)
            }
            return true
        } catch {
            if error.kind == .limit { throw error }
            return false
        }
    }
}
