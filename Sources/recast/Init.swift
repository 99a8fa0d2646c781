internal import ArgumentParser
internal import EventLoop
internal import Glibc

/// `recast init`: writes a settings file to begin with.
struct Init: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Write a recipe's settings file; list the recipes without one.",
        discussion: """
            A file that is there is never overwritten. Where nothing can be written, as in an image: \
            recast init --print slack > slack.yaml
            """)

    @Argument(
        help: "The recipe, as in slack: docs/recipes has a page for each.",
        completion: .list(Recipe.all.map(\.name)))
    var recipe: String?

    @Option(
        name: .shortAndLong, help: "The file to write, - for standard output; without it RECIPE.yaml in this folder.")
    var output: String?

    @Flag(help: "Print the settings instead.")
    var print = false

    func run() throws {
        guard let name = recipe else {
            guard output == nil, !print else {
                throw CommandFault(CommandFault.usage, "recast init: name the recipe; \"recast init\" lists them")
            }
            return try StandardStreams.write(text: Self.list)
        }
        guard let recipe = Recipe.all.first(where: { $0.name == name }) else {
            let names = Recipe.all.map(\.name).joined(separator: ", ")
            throw CommandFault(CommandFault.usage, "recast init: there is no recipe \"\(name)\": known are \(names)")
        }
        guard !print, output != "-" else {
            guard output == nil || output == "-" else {
                throw CommandFault(CommandFault.usage, "recast init: --print writes no file: leave --output out")
            }
            return try StandardStreams.write(recipe.text.span)
        }
        let path = output ?? "\(recipe.name).yaml"
        try Self.write(recipe.text, to: path)
        try StandardStreams.write(text: "\(path): \(recipe.summary)\n")
    }

    /// A line for each recipe.
    private static var list: String {
        let width = Recipe.all.map(\.name.utf8.count).max() ?? 0
        return Recipe.all.map { recipe in
            let blanks = String(repeating: " ", count: width - recipe.name.utf8.count)
            return "\(recipe.name)\(blanks)  \(recipe.summary)\n"
        }.joined()
    }

    /// Writes a new file, or none.
    private static func write(_ text: [UInt8], to path: String) throws(CommandFault) {
        // SAFETY: the path is lent for the call.
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard file >= 0 else {
            if errno == EEXIST {
                throw CommandFault(
                    CommandFault.usage, "recast init: there is \(path) already: name another file by --output")
            }
            throw unwritable(path, errno)
        }
        defer { close(file) }
        let number = StandardStreams.write(text.span, to: file)
        guard number == 0 else {
            // SAFETY: as above. Half a file would be one that is there.
            _ = unsafe unlink(path)
            throw unwritable(path, number)
        }
    }

    private static func unwritable(_ path: String, _ number: Int32) -> CommandFault {
        CommandFault(
            CommandFault.unavailable,
            "recast init: \(path) can't be written (\(systemErrorText(number))): --print prints it")
    }
}
