internal import Transcoding

extension ConversionReader {
    /// Reads what an `auto` output is when there is no file: `without_files: form | json`.
    func readWithoutFiles(_ options: SectionReader, _ plan: inout ConversionPlan) {
        guard plan.outputWithoutFiles != nil else {
            return options.refuse("without_files", "is for the output auto only")
        }
        if let encoding = options.word("without_files", standard: BodyEncoding.form, among: [.form, .json]) {
            plan.outputWithoutFiles = encoding
        }
    }
}
