internal import Transcoding

extension ConversionReader {
    /// Reads the dialect of an output: the bundle that the single options then change.
    func readOutputDialect(_ options: SectionReader) -> FieldEncodingOptions {
        FieldEncodingOptions(dialect: options.word("dialect", standard: Dialect.recast) ?? .recast)
    }
}

extension Dialect {
    /// Whether names are spelled anew where form or multipart comes in. Our own dialect leaves them as they came unless
    /// `arrays` or `nesting` is set, and to URLSearchParams a name is just a text.
    var writesNames: Bool { self != .recast && self != .whatwg }
}
