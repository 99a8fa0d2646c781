internal import Transcoding

extension ConversionReader {
    /// Reads the dialect of an output: the bundle that the single options then change.
    func readOutputDialect(_ options: SectionReader) -> FieldEncodingOptions {
        FieldEncodingOptions(dialect: options.word("dialect", standard: Dialect.recast) ?? .recast)
    }
}
