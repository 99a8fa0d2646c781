internal import Transcoding

extension ConversionReader {
    /// The options that the input's `dialect` stands for; those that are written down change them.
    func decodingDialect(_ options: SectionReader) -> FieldDecodingOptions {
        FieldDecodingOptions(dialect: options.word("dialect", standard: Dialect.recast) ?? .recast)
    }
}
