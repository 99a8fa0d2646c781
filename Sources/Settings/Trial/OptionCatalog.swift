internal import Transcoding

/// Hears which options the readers of a conversion ask for, with the words that each takes: a list of them that is no second
/// one beside the readers.
final class OptionCatalog {
    struct Option: Hashable {
        /// The section that has it: `request.decode`.
        var path: String
        var name: String
        /// Nil: it isn't one of some words.
        var values: [String]?
        /// What stands where nothing is written; nil: nothing does.
        var standard: String?
    }

    /// In the order in which they were asked for first.
    private(set) var options: [Option] = []

    /// Options that are for other encodings.
    private var refused: Set<String> = []

    /// The section at `path` has no such option.
    func refuse(_ path: String, _ name: String) { refused.insert("\(path).\(name)") }

    /// Those that the sections have.
    var allowed: [Option] { options.filter { !refused.contains("\($0.path).\($0.name)") } }

    /// A key was asked for. What is known of its values already stays.
    func note(_ path: String, _ name: String, values: [String]? = nil, standard: String? = nil) {
        guard let index = options.firstIndex(where: { $0.path == path && $0.name == name }) else {
            options.append(Option(path: path, name: name, values: values, standard: standard))
            return
        }
        options[index].values = options[index].values ?? values
        options[index].standard = options[index].standard ?? standard
    }
}

/// What can be written on the two sides of a conversion.
public struct ConversionWord: Hashable, Sendable {
    /// An option of one side, or of both where it takes the same there.
    public struct Option: Hashable, Sendable {
        public var name: String
        /// Whether it is one of the input, and of the output.
        public var reads: Bool
        public var writes: Bool
        /// The words it takes, as settings write them, those that only some other side allows included; nil: a text, a number, a
        /// list or a mapping.
        public var values: [String]?
        /// What stands where nothing is written; nil: nothing does.
        public var standard: String?
    }

    /// An encoding's name, `auto` or `query`.
    public var name: String
    public var reads: Bool
    public var writes: Bool
    /// Nil for `auto` and `query`.
    public var mediaType: String?
    public var options: [Option]

    /// All of them: what the readers of settings ask for when they read each pair.
    public static let all: [ConversionWord] = {
        let names = ConversionReader.words
        var sides: [String: [OptionCatalog.Option]] = [:]
        for input in names {
            for output in names {
                for option in options(from: input, to: output) {
                    let isInput = option.path == "request.decode"
                    add(option, to: &sides["\(isInput ? "<" : ">")\(isInput ? input : output)", default: []])
                }
            }
        }
        return names.map { name in
            let read = (sides["<\(name)"] ?? []).map { Option($0, reads: true) }
            let written = (sides[">\(name)"] ?? []).map { Option($0, reads: false) }
            return ConversionWord(
                name: name, reads: true, writes: true, mediaType: BodyEncoding(rawValue: name)?.mediaType,
                options: joined(read, written))
        }
    }()

    /// What the readers ask for of one pair.
    private static func options(from input: String, to output: String) -> [OptionCatalog.Option] {
        let context = ReadingContext("", environment: .nothing)
        let catalog = OptionCatalog()
        context.catalog = catalog
        func side(_ name: String, _ what: String, _ path: String) -> ConversionSide {
            ConversionSide(
                encoding: name, position: .init(line: 1, column: 1), options: .absent(what, path: path, context))
        }
        _ = ConversionReader(context: context).plan(
            decode: side(input, "the input", "request.decode"), encode: side(output, "the output", "request.encode"))
        return catalog.allowed
    }

    /// What depends on the other side is the words of all.
    private static func add(_ option: OptionCatalog.Option, to options: inout [OptionCatalog.Option]) {
        guard let index = options.firstIndex(where: { $0.name == option.name }) else { return options.append(option) }
        guard let values = option.values else { return }
        let known = options[index].values ?? []
        options[index].values = known + values.filter { !known.contains($0) }
    }

    private static func joined(_ read: [Option], _ written: [Option]) -> [Option] {
        var options = read
        for option in written {
            if let index = options.firstIndex(where: {
                $0.name == option.name && $0.values == option.values && $0.standard == option.standard
            }) {
                options[index].writes = true
            } else {
                options.append(option)
            }
        }
        return options
    }
}

extension ConversionWord.Option {
    fileprivate init(_ option: OptionCatalog.Option, reads: Bool) {
        // As YAML the bare word is no text.
        func written(_ word: String) -> String { word == "null" ? "\"null\"" : word }
        self.init(
            name: option.name, reads: reads, writes: !reads, values: option.values?.map(written),
            standard: option.standard.map(written))
    }
}
