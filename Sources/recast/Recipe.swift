internal import CRecipes

/// A settings file to begin with, as docs/recipes tells of it: those of config/recipes are in the binary.
struct Recipe {
    /// The file's name without its ending.
    let name: String
    /// The settings, beginning with a comment of one line that says what they are for.
    let text: [UInt8]

    /// What it is for, from that line.
    var summary: String {
        let line = text.prefix { $0 != UInt8(ascii: "\n") }
        return String(decoding: line.drop { $0 == UInt8(ascii: "#") || $0 == UInt8(ascii: " ") }, as: UTF8.self)
    }

    /// All of them.
    static let all: [Recipe] = (0..<recast_recipe_count()).compactMap { index in
        // SAFETY: the index is less than the count.
        unsafe read(recast_recipe_at(index))
    }

    /// A route of each kind, and no recipe: config/recast.yaml.
    static let demonstration = unsafe read(recast_demonstration()) ?? Recipe(name: "recast", text: [])

    private static func read(_ recipe: UnsafePointer<recast_recipe>?) -> Recipe? {
        // SAFETY: name and text are constants of the program.
        unsafe recipe.flatMap { recipe in
            unsafe recipe.pointee.name.map { name in
                let bytes = unsafe UnsafeBufferPointer(start: recipe.pointee.text, count: recipe.pointee.count)
                return Recipe(name: unsafe String(cString: name), text: unsafe Array(bytes))
            }
        }
    }
}
