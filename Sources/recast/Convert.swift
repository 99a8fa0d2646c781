internal import ArgumentParser
internal import Gateway
internal import Glibc
internal import Images
internal import Octets
internal import Settings
internal import Transcoding

/// `recast convert`: one body from standard input to standard output, by the code that the proxy uses.
struct Convert: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Re-encode standard input to standard output.",
        discussion: """
            The expression is that of a route's "request": 'form -> json', 'json -> form(arrays: indices)', \
            'multipart -> json(files: base64)'.
            """)

    @Argument(help: "The conversion, as in 'form -> json'.")
    var expression: String

    @Option(help: "The input's Content-Type; needed for multipart, whose boundary it holds, and for auto.")
    var type: String?

    @Option(
        help:
            """
            Limits as a route has them, as in 'body: 1GiB, fields: 5000'. Those that are left out are a route's standard ones, \
            as field: 64KiB, but for body: as a whole it may be as long as it is.
            """
    )
    var limits: String?

    @Flag(name: .customShort("i"), help: "Print the output's Content-Type and an empty line first.")
    var printsType = false

    /// Bytes read at once.
    private static let sliceSize = 64 * 1024

    func run() throws {
        // A closed output is an error of write, not the end of the process.
        signal(SIGPIPE, SIG_IGN)
        let plan = try plan()
        let contentType = Array(try inputType(plan).utf8)
        do {
            try convert(try Conversion.make(plan: plan, contentType: contentType.span))
        } catch let error as ConversionError {
            throw CommandFault(CommandFault.data, "recast convert: \(error)")
        }
    }

    private func plan() throws(CommandFault) -> ConversionPlan {
        var plan = try reading("") { () throws(SettingsMistakes) in try Conversions.parse(expression) }
        // Who gives the input is who waits for the output: a body streams, and need not be bounded.
        var standard = Limits()
        standard.body = .max
        plan.limits = try reading("--limits ") { () throws(SettingsMistakes) in
            try Conversions.parseLimits(limits ?? "", standard: standard)
        }
        return plan
    }

    private func reading<Value>(
        _ argument: String, _ read: () throws(SettingsMistakes) -> Value
    ) throws(CommandFault) -> Value {
        do {
            return try read()
        } catch {
            let reasons = error.all.map { "at character \($0.column): \($0.message)" }
            throw CommandFault(CommandFault.usage, "recast convert: \(argument)\(reasons.joined(separator: "; "))")
        }
    }

    /// The Content-Type to read the input by: the one given, or that of the one encoding there can be.
    private func inputType(_ plan: ConversionPlan) throws(CommandFault) -> String {
        if let type { return type }
        guard plan.inputs.count == 1, let input = plan.inputs.first else {
            throw CommandFault(
                CommandFault.usage, "recast convert: with the input auto, say what it is: --type application/json")
        }
        if input == .multipart {
            throw CommandFault(
                CommandFault.usage,
                "recast convert: multipart is read by its boundary: --type 'multipart/form-data; boundary=…'")
        }
        return input.mediaType
    }

    /// Feeds slices until the input ends. Output is written when it is full and at the end, so a small body that turns
    /// out to be bad leaves nothing behind; a large one lacks its end.
    private func convert(_ conversion: Conversion) throws {
        var needsHead = printsType
        var slice = [UInt8](repeating: 0, count: Self.sliceSize)
        while case let count = try StandardStreams.read(into: &slice), count > 0 {
            var fed = 0
            while fed < count {
                fed += try conversion.feed(slice.span.extracting(fed..<count))
                if conversion.isFull { try write(conversion, &needsHead) }
                try makePicture(conversion)
            }
        }
        while try !conversion.finish() {
            try write(conversion, &needsHead)
            try makePicture(conversion)
        }
        try write(conversion, &needsHead)
    }

    /// Makes the picture that the conversion holds, if it holds one.
    private func makePicture(_ conversion: Conversion) throws(CommandFault) {
        guard let file = conversion.takeFile() else { return }
        do throws(Refusal) {
            switch try PictureWork.begin(file) {
            case .settled(let settled): conversion.settleFile(settled)
            case .work(let work):
                let result = Result { () throws(ImageFault) in try work.job.run() }
                conversion.settleFile(try work.settled(result))
            }
        } catch {
            throw CommandFault(CommandFault.data, "recast convert: \(error.conversionError?.reason ?? "no memory")")
        }
    }

    /// Writes what waits, behind the head where that is still to come: the type is known when there is output.
    private func write(_ conversion: Conversion, _ needsHead: inout Bool) throws(CommandFault) {
        if needsHead {
            let head = Array("Content-Type: ".utf8) + conversion.contentType + Array("\n\n".utf8)
            try StandardStreams.write(head.span)
            needsHead = false
        }
        var output = OutputBuffer()
        conversion.swapOutput(&output)
        try StandardStreams.write(output.span)
        output.removeAll()
        conversion.swapOutput(&output)
    }
}
