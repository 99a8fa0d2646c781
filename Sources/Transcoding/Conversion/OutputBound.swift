// How long the output of a body can become that has a known length: so that it can be announced before all of it is
// there. What the announced length has too many is filled with bytes that the encoding says are nothing.

extension Conversion {
    /// What may stand behind the output, see `BodyEncoding.padding`. For an `auto` output, known once its `contentType` is.
    public var padding: OutputPadding? { outputEncoding?.padding }

    /// At most how many bytes come out behind those that have been written, when the body has `length` bytes in all, of which
    /// `consumedCount` were fed; nil where no bound is close enough to be of use.
    ///
    /// What grows by structure (delimiters, names, base64, what a map adds) is counted at its most. What grows by rare
    /// escapes in texts and names has an allowance, a 32nd of `length` but 64 KiB to 1 MiB, or to 384 KiB where a multipart body comes out,
    /// in which names alone grow, and 24 KiB where it came as one, too: a body that needs more comes out longer than the bound says,
    /// and a caller that relied on it has to refuse the body then.
    ///
    /// The bound is of use while its part for fields to come, and for what stands in the lines of a property list's data, is at most a
    /// quarter of `length`, or 384 KiB.
    ///
    /// Where parts of a multipart body are copied, and nothing that the plan does makes them longer, it is the length: from here on
    /// each head of a part is written as long as it came.
    public func outputBound(ofBody length: Int) -> Int? { outputBound(ofBody: length, taken: nil) }

    /// As above, where `taken` bytes of output were taken; nil: nobody knows. Of a document that is whole and none of which has been taken
    /// the rest is counted, by writing it once more. That costs what writing it costs, for the few that are longer than what is held.
    package func outputBound(ofBody length: Int, taken: Int?) -> Int? {
        guard length <= OutputBound.longest, padding != nil, !plan.changesImages else { return nil }
        if isWritingDocument, taken == 0, let rest = countRest() { return rest }
        guard !plan.readsOtherCharsets else { return nil }
        if let rest = fit(length: length) {
            isExact = !plan.leavesOut
            return rest
        }
        return OutputBound(self, remaining: max(0, length - consumedCount), length: length).bytes
    }

    /// Whether the body may have more fields than `outputBound` counts, since no limit stops them, and each is longer in the output: of a
    /// document that becomes a multipart body or another kind of document. The body of `length` bytes then has to be whole before its
    /// length is known, where it has at most `short`, or its beginning lets expect so many.
    package func mayOutgrowBound(ofBody length: Int, short: Int) -> Bool {
        guard padding != nil, !OutputBound.limitsFields(of: inputEncoding),
            OutputBound.structure(of: plan, from: inputEncoding, count: 1, boundary: nil, sources: sources) > 0
                || !plan.map.rename.isEmpty
        else { return false }
        return length <= short || OutputBound.expectsMany(self, length: length)
    }

    /// Whether what `outputBound` says can't be close: of a body of `length` bytes whose values become files, of which base64 is a third
    /// longer, all that remains might be text. Not so where the body may have any number of fields.
    package func hasLooseBound(ofBody length: Int) -> Bool {
        plan.output == .multipart && !inputEncoding.hasFiles && plan.files.hasSource(from: inputEncoding)
            && !mayOutgrowBound(ofBody: length, short: 0)
    }
}

/// The sum behind `Conversion.outputBound`.
private struct OutputBound {
    /// The bound; nil where fields to come make too much of it.
    let bytes: Int?

    /// Bytes of a body beyond which no bound is told, 256 TiB: below it all sums are numbers.
    static let longest = 1 << 48
    /// Bytes that texts and names may grow by escapes: a thirty-second of the body, at least 64 KiB and at most 1 MiB, of a multipart body
    /// 384 KiB: there names alone grow, and Werkzeug refuses more than 500,000 bytes behind the closing delimiter. Where parts pass one by
    /// one it is 24 KiB: their names are as long as they were but for escapes, however long their content is.
    static func allowance(for length: Int, _ conversion: Conversion) -> Int {
        if conversion.passesParts { return 24 * 1024 }
        return min(max(length / 32, 64 * 1024), conversion.padding == .spaces ? 1024 * 1024 : 384 * 1024)
    }
    /// Filenames that are counted as written twice: their growth is some 24 KiB, in effect a constant that only bodies near their
    /// end and low limits of parts fall below. A limit of a thousand files times what a name may grow would be padding of half the
    /// body for each upload of 300 KiB; what is more takes of the allowance.
    static let filenamesWrittenTwice = 180
    /// What filenames that are written twice may add, if those to come are like those that came.
    static func filenames(_ conversion: Conversion, remaining: Int, coming: Int) -> Int {
        guard conversion.filenameGrowth > 0 else { return 0 }
        let each = Double(conversion.filenameGrowth) / Double(max(1, conversion.accounting.files))
        return Int(min(each * files(conversion, remaining: remaining, coming: coming), 1e15))
    }
    /// How many files are still to come, if they are as close as those that came, and half as many again: by the bytes that are left, or
    /// by the `coming` parts that may come, whichever is less.
    static func files(_ conversion: Conversion, remaining: Int, coming: Int) -> Double {
        // Nobody knows how long the last file is: one before a large file says nothing of others.
        let files = Double(conversion.accounting.files)
        guard files > 1 else { return 0 }
        let byBytes = (files - 1) / Double(max(1, conversion.consumedCount)) * Double(remaining)
        return 1.5 * min(byBytes, Double(coming))
    }
    /// What stands around parts that pass, and what makes their names longer: with 24 KiB for filenames less than 60,000 bytes.
    static let usualGrowth = 32 * 1024
    /// What may be added for fields to come: a quarter of the body, at least 384 KiB.
    static func worthwhile(for length: Int) -> Int { max(length / 4, 384 * 1024) }

    init(_ conversion: Conversion, remaining: Int, length: Int) {
        let plan = conversion.plan
        let input = conversion.inputEncoding
        let isDocument = conversion.padding == .spaces
        let seen = conversion.accounting
        let shortest = remaining / input.shortestField
        let allowed = Self.allowed(by: plan, from: input)
        // A document that lets expect more fields than are allowed for may have any number of them.
        let isBeyond = !Self.limitsFields(of: input) && Self.expectsMany(conversion, length: length)
        let coming = (isBeyond ? shortest : max(0, min(allowed - seen.parts, shortest))) + 1
        // Fields that a tree holds are not in what is to come.
        let isHeld = conversion.heldCount > 0
        let passes = conversion.passesParts
        let fields = Self.structure(
            of: plan, from: input, count: coming + (isHeld ? seen.parts : 0),
            boundary: passes ? conversion.boundaryLength : nil, sources: conversion.sources)
        let allowance = Self.allowance(for: length, conversion)
        var filenames = 0
        if plan.writesCameFilenames(from: input) {
            filenames = min(coming, Self.filenamesWrittenTwice) * FileRule.Filename.usualGrowth
            // A body that has begun with long ones goes on with them. Half of what escapes have is theirs, too.
            let expected = Self.filenames(conversion, remaining: remaining, coming: coming) - allowance / 2
            filenames = max(filenames, expected)
        }
        if passes {
            // What a rule gives a file replaces what came with it. Of parts of which few are files, few have it.
            let each = plan.fileHeadGrowth(from: input, sources: conversion.sources)
            let few = min(coming * each, Self.filenamesWrittenTwice * FileRule.Filename.usualGrowth)
            let expected = Int(Double(each) * Self.files(conversion, remaining: remaining, coming: coming))
            filenames = max(filenames, few, expected)
        }
        let renames = plan.map.renameGrowth(coming: coming, ofDocument: Self.limitsFields(of: input) ? 0 : remaining)
        // What is put between parts that pass has gone out before the first of them.
        let puts = passes && conversion.consumedCount > 0 ? 0 : plan.map.putGrowth(sources: conversion.sources)
        let lines = plan.dataDepth(from: input).map { PropertyList.DataLines.growth(of: remaining, depth: $0) } ?? 0
        guard fields + renames + puts + lines <= Self.worthwhile(for: length) else {
            bytes = nil
            return
        }
        // Files become base64 in documents, and in parts where the plan says so; in JSON they are that already.
        let isBase64 = isDocument ? input != .json : plan.writesBase64(from: input)
        let content = isBase64 ? remaining / 3 * 4 + 4 : remaining
        let held = conversion.heldCount * (plan.output == .json || !isDocument ? 1 : 2)
        // A body whose fields have all the structure they can and that is full of escapes besides is none that is sent.
        // Nor is one whose parts pass, and of which each of a thousand has a name that becomes much longer.
        let growth =
            passes
            ? max(fields + min(renames, max(0, Self.usualGrowth - fields)), allowance)
            : max(fields, allowance) + renames
        bytes = content + lines + held + puts + growth + filenames + Self.end
    }

    /// Whether a document of `length` bytes, if it goes on as it began, has more fields than are allowed for, and needs more room for what
    /// stands around them than there is for escapes.
    static func expectsMany(_ conversion: Conversion, length: Int) -> Bool {
        let plan = conversion.plan
        let input = conversion.inputEncoding
        let begun = Double(max(1, conversion.consumedCount))
        let expected = Int(min(Double(conversion.accounting.parts) / begun * Double(length), 1e15))
        let allowed = allowed(by: plan, from: input)
        return expected > allowed
            && structure(of: plan, from: input, count: expected, boundary: nil, sources: conversion.sources)
                > allowance(for: length, conversion)
    }

    /// Whether a body of that encoding has a limit of fields or parts, as forms and multipart bodies do.
    static func limitsFields(of input: BodyEncoding) -> Bool { input == .form || input == .multipart }

    /// Fields and files that a body may have; a document has seldom more.
    static func allowed(by plan: ConversionPlan, from input: BodyEncoding) -> Int {
        input == .multipart ? plan.limits.parts : plan.limits.fields
    }

    /// What stands around `count` fields and files in the output and not in the input. `boundary`: of parts that pass, the length of the
    /// client's; nil where they don't. `sources`: the values of the request's head, where they are known.
    static func structure(
        of plan: ConversionPlan, from input: BodyEncoding, count: Int, boundary: Int?, sources: [[UInt8]]
    ) -> Int {
        var each = input == .json ? 0 : member
        if let boundary {
            // A part that passes gains no more than quotes and blanks, and a delimiter of ours where the client's is shorter.
            each = 12 + max(0, 22 - boundary)
        } else {
            if plan.output == .multipart { each = input.growthAsPart }
            each += plan.fileHeadGrowth(from: input, sources: sources)
        }
        // A limit that was lifted makes a product that is no number any more.
        let (bytes, isTooMuch) = count.multipliedReportingOverflow(by: each)
        return isTooMuch ? .max / 4 : min(bytes, .max / 4)
    }

    /// A member of a document around its name and value: quotes, brackets, an element's tags, the padding of base64.
    private static let member = 64
    /// What closes the output: brackets, tags, the closing delimiter.
    private static let end = 1024
}

extension ConversionPlan {
    /// What of a body's length can't be told before all of the output is there; nil where it always can.
    ///
    /// It holds for bodies that come with a length and without a content coding: that of others can't be told anyway.
    public var framingNote: ConversionNote? {
        guard !writesQuery else { return nil }
        if inputs.contains(where: { decided(for: $0).needsChunks(from: $0) }) {
            return ConversionNote(
                code: "framing_chunked", .altered,
                what: "a body that becomes more than the upstream's spool holds (64 MiB without other settings)",
                effect: "goes out in chunks, which some servers read as an empty body",
                remedy: "framing: length on the upstream refuses it")
        }
        let what = "a body that becomes more than 256 KiB"
        let remedy = "framing: length on the upstream holds it until its length is known"
        // Other bodies seldom become so long, or are held meanwhile; and where parts are copied whole their length is that of the input.
        guard output == .multipart, inputs.contains(.multipart), !keepsLengths(from: .multipart) || leavesOut else {
            return nil
        }
        return ConversionNote(
            code: "framing_padded", .altered, what: what,
            effect:
                "goes out with empty lines behind its closing delimiter, which some readers refuse and limits of size count",
            remedy: remedy)
    }

    /// Whether parts of a body pass one by one into another one, with the names that they came with. It looks through the whole plan.
    internal func passesParts(from input: BodyEncoding) -> Bool {
        input == .multipart && output == .multipart && streams(from: input)
    }

    /// Whether the parts of a body pass, and each is as long in the output as it came, or can be written so: nothing makes them longer.
    /// Where something is left out, that is missing.
    internal func keepsLengths(from input: BodyEncoding) -> Bool {
        guard passesParts(from: input), outputWithoutFiles == nil, !changesImages, !readsOtherCharsets else {
            return false
        }
        let reading = NameQuoting(fieldDecoding.dialect)
        let writing = NameQuoting(fieldEncoding.dialect)
        // Rack takes other names for empty ones.
        guard reading.emptyName != .replaced, writing.emptyName != .replaced,
            !writing.doublesBackslashes || reading.doublesBackslashes
        else { return false }
        return map.rename.allSatisfy { $0.to.isNoLonger(than: $0.from) } && fieldDecoding.invalidUTF8 == .reject
            && fieldDecoding.mixed != .flatten && !FileGate(self).wantsTexts
            && [.stream, .drop, .reject].contains(generalFilePolicy)
            && files.allSatisfy { [.stream, .drop, .reject].contains($0.policy) && $0.source(from: input) == nil }
            && fileHeadGrowth(from: input, sources: []) == 0
    }

    /// Whether some fields or files are left out, or some are decoded, which are a quarter shorter then.
    fileprivate var leavesOut: Bool {
        !map.remove.isEmpty || !map.set.isEmpty || generalFilePolicy == .drop || files.contains { $0.policy == .drop }
            || fieldDecoding.transferEncoding == .decode
    }

    /// Whether a long output of a body of `input` may have no bound, or come out while the input does and be of an encoding
    /// that can't be padded.
    private func needsChunks(from input: BodyEncoding) -> Bool {
        // The written form of a tree is held whole up to 8 MiB, and may be three times its text.
        guard streams(from: input) || input.hasFiles else { return limits.tree > 2 * 1024 * 1024 }
        let long = 1 << 30
        let lines = dataDepth(from: input).map { PropertyList.DataLines.growth(of: long, depth: $0) } ?? 0
        return changesImages || output.padding == nil || outputWithoutFiles == .form || readsOtherCharsets
            || lines > OutputBound.worthwhile(for: long)
            || OutputBound.structure(
                of: self, from: input, count: OutputBound.allowed(by: self, from: input),
                boundary: passesParts(from: input) ? 1 : nil, sources: [])
                > OutputBound.worthwhile(for: 0)
    }

    /// Whether other bytes are made of files, of a length that nobody knows before.
    fileprivate var changesImages: Bool { files.contains { $0.image != nil } }

    /// Whether texts are read in other charsets than UTF-8: each byte of theirs may become three.
    fileprivate var readsOtherCharsets: Bool {
        fieldDecoding.invalidUTF8 == .latin1 || fieldDecoding.charsets.contains { $0 != .utf8 }
    }

    /// What the names and types that rules give files add to a part's head, or an object's, at most.
    fileprivate func fileHeadGrowth(from input: BodyEncoding, sources: [[UInt8]]) -> Int {
        files.map { rule in
            let name =
                rule.name.map { $0.pattern.pieces.reduce(0) { $0 + $1.count } + 4 * $0.pattern.pieces.count } ?? 0
            return name + (rule.filename.map { longest($0, sources) } ?? 0) + typeGrowth(rule, from: input)
        }.max() ?? 0
    }

    /// What a rule's filename takes, with `filename*` where it isn't ASCII. One that is a field's has come as that, which mostly goes out
    /// too: 255 bytes are what a text of 59 takes that is written twice, longer ones take of the allowance. One that `set` writes has
    /// not come.
    private func longest(_ filename: FileRule.Filename, _ sources: [[UInt8]]) -> Int {
        let text: [UInt8]? =
            switch filename {
            case .literal(let text): Array(text.utf8)
            case .field(let path): map.assigned(at: path)?.text(sources)
            }
        guard let text else { return 19 + 4 * 59 }
        return 3 * text.count
            + (fieldEncoding.filenames == .both ? Multipart.Encoder.extendedLength(text.span) : 0)
    }

    /// What a rule adds to the head of a file that came without a type: its own, or the one that it took the file for.
    private func typeGrowth(_ rule: FileRule, from input: BodyEncoding) -> Int {
        let line = "\r\nContent-Type: ".utf8.count
        if let type = rule.mediaType { return line + type.utf8.count }
        let standard = Multipart.Encoder.standardFileType
        guard input == .multipart, rule.types.contains(where: { $0.matches(Array("\(standard)".utf8).span) }) else {
            return 0
        }
        return line + standard.utf8CodeUnitCount
    }

    /// Whether files of a multipart body go into parts as base64.
    fileprivate func writesBase64(from input: BodyEncoding) -> Bool {
        input == .multipart && (generalFilePolicy == .base64 || files.contains { $0.policy == .base64 })
    }

    /// How deep a file may stand as data in a property list in XML, whose lines have the fewer bytes the deeper they are; nil where none
    /// does. Names say it, and those that come may lead as deep as their limit lets them.
    fileprivate func dataDepth(from input: BodyEncoding) -> Int? {
        guard output == .plist, input.hasFiles else { return nil }
        let policies = files.map(\.policy) + [generalFilePolicy]
        guard policies.contains(where: { ![.drop, .reject].contains($0) }) else { return nil }
        var depth = 1
        if input == .raw {
            depth += rawField.utf8.count { $0 == UInt8(ascii: "[") || $0 == UInt8(ascii: ".") }
        } else if [.brackets, .dots].contains(fieldDecoding.nesting) {
            depth += min(limits.keyDepth(for: fieldDecoding.dialect), 8)
        }
        for change in map.rename { depth += max(0, change.to.segments.count - change.from.segments.count) }
        if policies.contains(.object) { depth += 1 }
        if types.contains(where: { $0.type == .array }) { depth += 1 }
        return depth
    }

    /// Whether filenames that came go into a multipart body, where those that aren't ASCII are written twice.
    fileprivate func writesCameFilenames(from input: BodyEncoding) -> Bool {
        output == .multipart && fieldEncoding.filenames == .both
            && (input == .multipart || files.contains { $0.source(from: input) == .object })
    }
}

extension FileRule.Filename {
    /// What `filename*` adds to one that came: 19 bytes, and three for each of its own, of which usual ones have up to 40 where
    /// they aren't ASCII. Longer ones take of the allowance.
    fileprivate static let usualGrowth = 19 + 3 * 40
}

extension FieldMap {
    /// What longer names add at most while `coming` fields come in, or members of a document for which `remaining` bytes are left.
    fileprivate func renameGrowth(coming: Int, ofDocument remaining: Int) -> Int {
        var bytes = 0
        for change in rename {
            let longer = change.to.length - change.from.length
            guard longer > 0 else { continue }
            // A path without a wildcard names one field, which a flat body may repeat. Behind a wildcard a document spells the last key
            // alone each time.
            bytes += longer * (change.from.hasWildcard ? max(coming, remaining / change.from.shortestMember) : coming)
        }
        return bytes
    }

    /// What is put in.
    fileprivate func putGrowth(sources: [[UInt8]]) -> Int {
        var bytes = 0
        for assignment in set + append {
            let value =
                switch assignment.value {
                case .literal(let literal): literal.weight
                case .source(let index): sources.indices.contains(index) ? 6 * sources[index].count + 240 : 240
                }
            bytes += assignment.path.length + value
        }
        return bytes
    }
}

extension FieldPath {
    /// Whether a name that spells the path surely takes no more bytes than one that spells `other`, in brackets or with dots, and has
    /// none to escape.
    fileprivate func isNoLonger(than other: FieldPath) -> Bool {
        let arePlain = segments.allSatisfy { segment in
            guard case .key(let name) = segment else { return true }
            return Multipart.Encoder.isPlain(name.span)
        }
        let keys = length - 2 * segments.count, others = other.length - 2 * other.segments.count
        return arePlain && length <= other.length && keys + segments.count <= others + other.segments.count
    }

    /// About the bytes of a name that spells the path.
    fileprivate var length: Int {
        segments.reduce(0) { sum, segment in
            guard case .key(let name) = segment else { return sum + 12 }
            return sum + name.count + 2
        }
    }

    /// The bytes that what stands at the path takes at least, each time, in a document: its last key in quotes, a colon, a value of one
    /// byte and a comma. An element has no key.
    fileprivate var shortestMember: Int {
        guard case .key(let name)? = segments.last else { return 2 }
        return name.count + 5
    }
}

extension Literal {
    /// The bytes that it takes at most in any output that has a bound, with a part of its own for each scalar.
    fileprivate var weight: Int {
        switch self {
        case .null, .bool: 240
        case .number(let text), .string(let text): 6 * text.utf8.count + 240
        case .array(let elements): elements.reduce(240) { $0 + $1.weight }
        case .object(let members): members.reduce(240) { $0 + 2 * $1.name.utf8.count + $1.value.weight }
        }
    }
}

extension [FileRule] {
    /// Whether values of a body of that encoding become files.
    fileprivate func hasSource(from input: BodyEncoding) -> Bool { contains { $0.source(from: input) != nil } }
}
