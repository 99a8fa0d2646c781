internal import Octets

/// What of XML, HTML and property lists is masked: elements and attributes by their names, what elements and attributes beside them say
/// that they are called, and what stands in texts, comments and instructions.
extension BodyMask {
    mutating func maskMarkup() {
        var here = at
        // A property list has the name in an element of its own, in front of the value's.
        var hidesNext = false
        // Where the last end tags are of elements that may have none, so that each is looked for once.
        var lastEnds: [[UInt8]: Int] = [:]
        while let open = find(UInt8(ascii: "<"), from: here) {
            maskInside(here..<open, .markup)
            if let end = endOfOther(open) {
                if let text = textOfOther(open, end) { maskInside(text, nil) }
                // What entities are nobody looks up.
                if Self.isDeclaration(bytes[open..<end]) {
                    copy(to: open)
                    veil(to: end)
                }
                here = end
                continue
            }
            // Of a tag that is cut the values are masked, too.
            let close = endOfTag(open)
            let last = close.map { $0 - 1 } ?? bytes.count
            let tag = bytes[open + 1..<last]
            here = close ?? bytes.count
            guard let name = Self.name(of: tag), tag.first != UInt8(ascii: "/") else { continue }
            let element = Array(name)
            if close != nil, name.elementsEqual("key".utf8), attributes(name.endIndex..<last).isEmpty {
                let end = endOfContent(of: element, from: here)
                hidesNext = mask.holds(textContent(here..<end).span)
                here = end
                continue
            }
            let isMasked = hidesNext || mask.holds(Self.local(name).span)
            let isNamed = maskAttributes(name.endIndex..<last, ofMasked: isMasked)
            hidesNext = false
            guard let close, isMasked || isNamed, bytes[last - 1] != UInt8(ascii: "/") else { continue }
            // Those of HTML that have no content have no end either: none of the body's ends is behind them.
            if isWhole, Self.emptyElements.contains(String(decoding: element, as: UTF8.self).lowercased()) {
                let last = lastEnds[element] ?? lastEnd(of: element)
                lastEnds[element] = last
                if last < close { continue }
            }
            copy(to: close)
            hide(to: endOfContent(of: element, from: close))
            here = max(close, at)
        }
        maskInside(here..<bytes.count, .markup)
    }

    private static let emptyElements: Set<String> = [
        "input", "meta", "img", "link", "param", "source", "embed", "area",
    ]

    /// Where the last end tag of a name begins; -1 where there is none.
    private func lastEnd(of name: [UInt8]) -> Int {
        var last = -1
        var here = 0
        while let found = find(Array("</".utf8) + name, from: here) {
            last = found
            here = found + 1
        }
        return last
    }

    /// Whether it declares entities.
    private static func isDeclaration(_ tag: ArraySlice<UInt8>) -> Bool {
        guard tag.starts(with: "<!".utf8), !tag.starts(with: "<!--".utf8), !tag.starts(with: "<![".utf8) else {
            return false
        }
        let mark = "<!ENTITY".utf8
        return tag.indices.contains { tag[$0] == UInt8(ascii: "<") && tag[$0...].starts(with: mark) }
    }

    /// The text of what stands in a range of markup, without what is none.
    private func textContent(_ range: Range<Int>) -> [UInt8] {
        var text: [UInt8] = []
        var here = range.lowerBound
        while let open = bytes[here..<range.upperBound].firstIndex(of: UInt8(ascii: "<")) {
            text += PlainText(bytes[here..<open], without: .markup).bytes
            if let end = endOfOther(open) {
                if let section = textOfCDATA(open, end) { text += bytes[section] }
                here = min(end, range.upperBound)
            } else {
                here = min(endOfTag(open) ?? range.upperBound, range.upperBound)
            }
        }
        return text + PlainText(bytes[here..<range.upperBound], without: .markup).bytes
    }

    /// What stands in a CDATA section, a comment or a processing instruction; nil for another thing.
    private func textOfOther(_ open: Int, _ end: Int) -> Range<Int>? {
        if let text = textOfCDATA(open, end) { return text }
        for (mark, ending) in [("<!--", "-->"), ("<?", "?>")] where bytes[open..<end].starts(with: mark.utf8) {
            let isCut = !bytes[open..<end].suffix(ending.utf8.count).elementsEqual(ending.utf8)
            let start = min(open + mark.utf8.count, end)
            return start..<max(start, isCut ? end : end - ending.utf8.count)
        }
        return nil
    }

    /// What a CDATA section holds that begins at `open`; nil where none does.
    private func textOfCDATA(_ open: Int, _ end: Int) -> Range<Int>? {
        let mark = Array("<![CDATA[".utf8)
        guard bytes[open..<end].starts(with: mark) else { return nil }
        let isCut = !bytes[(open + mark.count)..<end].suffix(3).elementsEqual("]]>".utf8)
        return open + mark.count..<(isCut ? end : end - 3)
    }

    /// Attributes that say what the value of their element is, or that of an attribute beside them.
    private static let namingAttributes: Set<String> = ["key", "name", "field", "param"]

    private static func local(_ name: ArraySlice<UInt8>) -> [UInt8] {
        name.split(separator: UInt8(ascii: ":")).last.map(Array.init) ?? Array(name)
    }

    /// Masks the attributes of a tag: those whose name or whose element is masked, and those beside one that says such a name.
    ///
    /// - Returns: whether there is one that says it: then the element's content is masked, too.
    private mutating func maskAttributes(_ tag: Range<Int>, ofMasked isMasked: Bool) -> Bool {
        let attributes = self.attributes(tag)
        func says(_ attribute: Attribute) -> Bool {
            Self.namingAttributes.contains(String(decoding: attribute.local, as: UTF8.self).lowercased())
                && mask.holds(PlainText(bytes[attribute.value], without: .markup).bytes.span)
        }
        let isNamed = attributes.contains(where: says)
        for attribute in attributes where !attribute.value.isEmpty && !attribute.isNamespace {
            if isMasked || mask.holds(attribute.local.span) || isNamed && !says(attribute) {
                copy(to: attribute.value.lowerBound)
                hide(to: attribute.value.upperBound)
            } else {
                maskInside(attribute.value, .markup)
            }
        }
        return isNamed
    }

    private struct Attribute {
        var name: ArraySlice<UInt8>
        var value: Range<Int>

        var local: [UInt8] { BodyMask.local(name) }
        var isNamespace: Bool { name.elementsEqual("xmlns".utf8) || name.starts(with: "xmlns:".utf8) }
    }

    /// The attributes of a tag, also of one that HTML would take.
    private func attributes(_ tag: Range<Int>) -> [Attribute] {
        var attributes: [Attribute] = []
        var here = tag.lowerBound
        while here < tag.upperBound {
            let isBetween = { (byte: UInt8) in byte.isWhiteSpace || byte == UInt8(ascii: "/") }
            guard let start = bytes[here..<tag.upperBound].firstIndex(where: { !isBetween($0) }) else { break }
            let sign = bytes[start..<tag.upperBound].firstIndex { $0.isWhiteSpace || $0 == UInt8(ascii: "=") }
            let end = sign ?? tag.upperBound
            let equals = min(skipSpace(end), tag.upperBound)
            guard equals < tag.upperBound, bytes[equals] == UInt8(ascii: "=") else {
                here = max(equals, start + 1)
                continue
            }
            var value = min(skipSpace(equals + 1), tag.upperBound)..<tag.upperBound
            here = tag.upperBound
            if let quote = bytes[value].first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") {
                value = value.lowerBound + 1..<value.upperBound
                if let last = bytes[value].firstIndex(of: quote) {
                    value = value.lowerBound..<last
                    here = last + 1
                }
            } else if let last = bytes[value].firstIndex(where: { $0.isWhiteSpace }) {
                value = value.lowerBound..<last
                here = last
            }
            attributes.append(Attribute(name: bytes[start..<end], value: value))
        }
        return attributes
    }

    /// Notes the texts of what an element holds, and the values of its attributes.
    mutating func noteTexts(_ content: ArraySlice<UInt8>) {
        let inner = BodyMask(Array(content), mask)
        var here = 0
        while let open = inner.find(UInt8(ascii: "<"), from: here) {
            noteText(inner.bytes[here..<open])
            if let end = inner.endOfOther(open) {
                if let text = inner.textOfCDATA(open, end) { noteText(inner.bytes[text]) }
                here = end
                continue
            }
            here = inner.endOfTag(open) ?? inner.bytes.count
            let name = Self.name(of: inner.bytes[(open + 1)..<here])
            for attribute in inner.attributes((name?.endIndex ?? here)..<here) {
                noteText(inner.bytes[attribute.value])
            }
        }
        noteText(inner.bytes[here...])
    }

    private mutating func noteText(_ text: ArraySlice<UInt8>) {
        let trimmed = text.trimmed
        if trimmed.count >= Secrets.shortest { values.append(Array(trimmed)) }
    }

    /// Behind a comment, a CDATA section or a declaration that begins there; nil where none does.
    private func endOfOther(_ open: Int) -> Int? {
        func starts(_ text: StaticString) -> Bool {
            bytes[open...].starts(with: "\(text)".utf8)
        }
        func behind(_ text: StaticString) -> Int {
            let text = Array("\(text)".utf8)
            return find(text, from: open).map { $0 + text.count } ?? bytes.count
        }
        if starts("<!--") { return behind("-->") }
        if starts("<![CDATA[") { return behind("]]>") }
        if starts("<?") { return behind("?>") }
        if starts("<!") { return behind(">") }
        return nil
    }

    /// Behind the `>` that ends the tag which begins at `open`.
    private func endOfTag(_ open: Int) -> Int? {
        var quote: UInt8?
        var here = open + 1
        while here < bytes.count {
            let byte = bytes[here]
            if let open = quote {
                if byte == open { quote = nil }
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                quote = byte
            } else if byte == UInt8(ascii: ">") {
                return here + 1
            }
            here += 1
        }
        return nil
    }

    private static func name(of tag: ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
        let name = tag.prefix { !$0.isWhiteSpace && $0 != UInt8(ascii: "/") }
        return name.isEmpty ? nil : name
    }

    /// The end tag of the element, of whose name others may be inside of it.
    private func endOfContent(of name: [UInt8], from start: Int) -> Int {
        var depth = 1
        var here = start
        while let open = find(UInt8(ascii: "<"), from: here) {
            if let end = endOfOther(open) {
                here = end
                continue
            }
            guard let close = endOfTag(open) else { break }
            let tag = bytes[open + 1..<close - 1]
            here = close
            if tag.first == UInt8(ascii: "/") {
                guard Self.name(of: tag.dropFirst())?.elementsEqual(name) == true else { continue }
                depth -= 1
                if depth == 0 { return open }
            } else if Self.name(of: tag)?.elementsEqual(name) == true, tag.last != UInt8(ascii: "/") {
                depth += 1
            }
        }
        return bytes.count
    }
}
