internal import Foundation

/// What `${env:NAME}` and `${file:PATH}` read from.
public struct SettingsEnvironment: Sendable {
    /// The value of an environment variable, or nil.
    public var variable: @Sendable (_ name: String) -> String?
    /// The text of a file; throws a reason.
    public var file: @Sendable (_ path: String) throws(FileFault) -> String

    /// Why files can't be made in a folder, or nil when they can.
    public var folderFault: @Sendable (_ path: String) -> String? = { _ in nil }
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
        var environment = SettingsEnvironment(
            variable: { ProcessInfo.processInfo.environment[$0] },
            file: { path throws(FileFault) in
                try readText(Self.path(path, in: folder))
            }, path: { Self.path($0, in: folder) })
        environment.folderFault = folderFault
        return environment
    }

    /// Looks at the folder as this process would: by its own user.
    @Sendable private static func folderFault(_ path: String) -> String? {
        guard FileManager.default.fileExists(atPath: path) else { return "doesn't exist" }
        // With the slash it can only be a folder.
        guard FileManager.default.fileExists(atPath: "\(path)/") else { return "is no folder" }
        return FileManager.default.isWritableFile(atPath: path) ? nil : "can't be written"
    }

    /// Where `path` leads when relative paths begin at `folder`.
    static func path(_ path: String, in folder: String) -> String {
        path.hasPrefix("/") || folder.isEmpty ? path : "\(folder)/\(path)"
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
