internal import Foundation

/// What `${env:NAME}` and `${file:PATH}` read from.
public struct SettingsEnvironment: Sendable {
    /// The value of an environment variable, or nil.
    public var variable: @Sendable (_ name: String) -> String?
    /// The text of a file; throws a reason.
    public var file: @Sendable (_ path: String) throws(FileFault) -> String

    /// Where a path that the settings name leads to: files of certificates, which are opened when they are needed.
    public var path: @Sendable (_ path: String) -> String

    /// Why a file could not be read.
    public struct FileFault: Error, Hashable, Sendable {
        public var reason: String
        public init(_ reason: String) { self.reason = reason }
    }

    /// Bytes of a file at most.
    static let maximumFileSize = 1024 * 1024

    public init(
        variable: @escaping @Sendable (_ name: String) -> String?,
        file: @escaping @Sendable (_ path: String) throws(FileFault) -> String,
        path: @escaping @Sendable (_ path: String) -> String = { $0 }
    ) {
        self.variable = variable
        self.file = file
        self.path = path
    }

    /// The process' own variables, and the file system. Relative paths begin at `folder`.
    public static func process(folder: String) -> SettingsEnvironment {
        let resolve = { @Sendable (path: String) in
            path.hasPrefix("/") || folder.isEmpty ? path : "\(folder)/\(path)"
        }
        return SettingsEnvironment(
            variable: { ProcessInfo.processInfo.environment[$0] },
            file: { path throws(FileFault) in try readText(resolve(path)) }, path: resolve)
    }

    /// A file's text; refuses what is larger than 1 MiB or not UTF-8.
    static func readText(_ path: String) throws(FileFault) -> String {
        let data: Data
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            data = try handle.read(upToCount: maximumFileSize + 1) ?? Data()
        } catch {
            let missing = !FileManager.default.fileExists(atPath: path)
            throw FileFault(missing ? "there is no file \(path)" : "the file \(path) can't be read")
        }
        if data.count > maximumFileSize { throw FileFault("the file \(path) is larger than 1 MiB") }
        guard let text = String(validating: data, as: UTF8.self) else {
            throw FileFault("the file \(path) is not UTF-8")
        }
        return text
    }
}
