package import Images
package import Transcoding

/// What becomes of a picture that a conversion holds (`RequestTranscoder.takeFile`): what has to be done, and what goes out then.
package struct PictureWork: Sendable {
    package enum Beginning: Sendable {
        /// Its bytes pass as they are; its type and the end of its filename are the picture's all the same.
        case settled(SettledFile)
        /// It is to be made on a thread of its own: `job.run`, and `settled` with what that gives.
        case work(PictureWork)
    }

    package let job: ImageJob
    private let image: ImageRule
    private let path: FieldPath
    private let field: [UInt8]
    private let filename: [UInt8]?

    /// Says what is to be done, by the picture's header. Throws 413 for one of too many pixels, and 422 for what is none, where its
    /// rule doesn't let that pass.
    package static func begin(_ file: HeldFile) throws(Refusal) -> Beginning {
        do throws(ImageFault) {
            let job = try ImageJob(file.content, rule: file.image)
            guard job.isNeeded else { return .settled(described(file.content, as: job.format, file.filename)) }
            return .work(
                PictureWork(job: job, image: file.image, path: file.path, field: file.field, filename: file.filename))
        } catch {
            return .settled(try passed(file.content, by: file.image, of: file.path, error, field: file.field))
        }
    }

    /// What goes out in the picture's place. Throws as `begin` does.
    package func settled(_ result: Result<[UInt8], ImageFault>) throws(Refusal) -> SettledFile {
        switch result {
        case .success(let content):
            return Self.described(content, as: job.format, filename)
        case .failure(let fault): return try Self.passed(job.bytes, by: image, of: path, fault, field: field)
        }
    }

    /// The file as it came, where its rule lets it pass.
    private static func passed(
        _ content: [UInt8], by image: ImageRule, of path: FieldPath, _ fault: ImageFault, field: [UInt8]
    ) throws(Refusal) -> SettledFile {
        let name = String(decoding: field, as: UTF8.self)
        let reason: String
        switch fault {
        case .tooManyPixels(let count):
            let setting = FileRule.setting(path, "image.pixels")
            let error = ConversionError(
                .limit, code: "limit_pixels",
                reason: "the picture has \(count) pixels and passes the limit of \(image.pixels) (\(setting))",
                field: name, setting: setting)
            throw .conversion(error, accepted: [])
        case .sideTooLong(let count):
            let error = ConversionError(
                .limit, code: "limit_pixels",
                reason:
                    "a side of the picture has \(count) pixels, and \(ImageJob.longestSide) are the most that are decoded",
                field: name)
            throw .conversion(error, accepted: [])
        case .memory: throw .memoryExhausted
        case .stopped: preconditionFailure("a picture that nobody waits for")
        case .notAnImage: reason = "the file is no JPEG, PNG or WebP"
        case .animated: reason = "the file holds several pictures"
        case .broken(let why): reason = "the picture can't be made smaller: \(why)"
        }
        if image.others == .pass { return SettledFile(content: content) }
        let error = ConversionError(
            .unrepresentable, code: "image_unreadable", reason: reason, field: name,
            setting: FileRule.setting(path, "image.on_other"))
        throw .conversion(error, accepted: [])
    }

    /// A picture of that format, with the type and the filename that tell it.
    private static func described(
        _ content: [UInt8], as format: ImageFormat, _ filename: [UInt8]?
    ) -> SettledFile {
        SettledFile(
            content: content, mediaType: Array(format.mediaType.utf8),
            filename: filename.flatMap { renamed($0, to: format) })
    }

    /// The filename with the format's extension, where it had another picture's; nil: it stays.
    private static func renamed(_ filename: [UInt8], to format: ImageFormat) -> [UInt8]? {
        guard let dot = filename.lastIndex(of: UInt8(ascii: ".")), dot > 0 else { return nil }
        let ending = String(decoding: filename[(dot + 1)...], as: UTF8.self).lowercased()
        guard !format.filenameExtensions.contains(ending),
            ImageFormat.allCases.contains(where: { $0.filenameExtensions.contains(ending) })
        else { return nil }
        return Array(filename[...dot]) + Array(format.filenameExtensions[0].utf8)
    }
}
