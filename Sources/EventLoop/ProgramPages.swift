internal import CEventShims

/// The pages of memory that hold the code and constants of the program and its libraries.
public enum ProgramPages {
    /// Lets the system take them back, all of which are unchanged copies of files; what runs on reads its own again, from the
    /// system's cache. To be called between the steps of the start and once the process serves: loading the libraries, reading
    /// settings and starting the runtime touch up to 14 MiB each, which no request needs. Takes up to a millisecond with the
    /// hundred page faults that follow.
    public static func letGo() {
        recast_release_program_pages()
    }
}
