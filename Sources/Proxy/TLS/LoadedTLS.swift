internal import EventLoop

/// A context with the stamps of the files that it was made of. They are taken before the files are read: a file that is
/// replaced meanwhile, or later, has another one, however long it takes until it is looked at.
struct LoadedTLS<Context: Sendable>: Sendable {
    let context: Context
    let stamps: [FileStamp?]
}

/// What is made of files and can be made of them again.
protocol LoadedFromFiles {
    var files: [String] { get }
    /// Those of `files` when they were loaded last.
    var stamps: [FileStamp?] { get }
    /// Loads the files anew. What was loaded stays when one of them can't be used.
    func reload() throws(TLSFileError)
}
