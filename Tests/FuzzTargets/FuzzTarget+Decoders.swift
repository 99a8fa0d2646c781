internal import Octets
internal import TestSupport
internal import Transcoding

extension FuzzTarget {
    /// Limits so low that a fuzzer meets them.
    static var limits: Limits {
        var limits = Limits()
        limits.tree = 64 * 1024
        limits.fields = 200
        limits.parts = 200
        limits.field = 4096
        return limits
    }

    static var decoders: [FuzzTarget] {
        [
            FuzzTarget("json", corpus: "json") { variant, body in
                document(variant, body, through: .json) {
                    var options = JSON.DecodingOptions()
                    options.duplicates = variant.bit ? .keep : .reject
                    return JSON.Decoder(options: options, limits: limits)
                }
            },
            FuzzTarget("value-search", corpus: "json") { variant, body in
                let paths: [[FieldPath.Segment]] = [
                    [.key([0x61])], [.index(0)], [.key([0x62]), .index(1)], [.key([0x65])],
                ]
                func search(_ cut: [ArraySlice<UInt8>]) -> String {
                    var search = ValueSearch(FieldPath(paths[Int(variant.byte / 8) % paths.count]), limits: limits)
                    do throws(ConversionError) {
                        for piece in cut {
                            if let value = try search.feed(Array(piece).span) { return "\(value)" }
                        }
                        return "\(try search.finish())"
                    } catch {
                        return error.code
                    }
                }
                let whole = search([body[...]])
                let recut = search(
                    stride(from: 0, to: body.count, by: variant.size).map {
                        body[$0..<min($0 + variant.size, body.count)]
                    })
                return whole == recut ? nil : "\(whole), cut: \(recut)"
            },
            FuzzTarget("plist", corpus: "plist") { variant, body in
                document(variant, body, through: variant.bit ? .bplist : .plist) {
                    PropertyList.Decoder(limits: limits)
                }
            },
            FuzzTarget("xml", corpus: "xml") { variant, body in
                document(variant, body, through: .xml) { XML.Decoder(limits: limits) }
            },
            FuzzTarget("text", corpus: "text") { variant, body in
                document(variant, body, through: .text) { PlainText.Decoder() }
            },
            FuzzTarget("form", corpus: "form") { variant, body in
                fields(variant, body) { () throws(ConversionError) in
                    var options = decoding(.form, variant)
                    options.percent = variant.bit ? .strict : .lenient
                    return Form.Decoder(options: options, limits: limits)
                }
            },
            FuzzTarget("multipart", corpus: "multipart") { variant, body in
                fields(variant, body) { () throws(ConversionError) in
                    let type = Array(ConversionRun.defaultType(.multipart).utf8)
                    let boundary = try Multipart.Boundary(contentType: type.span, limits: limits)
                    return Multipart.Decoder(
                        boundary: boundary, options: decoding(.multipart, variant), limits: limits)
                }
            },
        ]
    }

    /// A dialect's way of reading, and for multipart bodies what can be chosen besides.
    static func decoding(_ from: BodyEncoding, _ variant: Variant) -> FieldDecodingOptions {
        var options = FieldDecodingOptions(dialect: variant.dialect)
        // Under dialect: qs a form is read in UTF-8.
        if from != .form || variant.dialect != .qs, variant.flag(0), let charset = Charset(label: "windows-1252") {
            options.charsets = [.utf8, charset]
            options.charsetHint = .use
            options.invalidUTF8 = variant.bit ? .replace : .reject
        }
        guard from == .multipart else { return options }
        if variant.flag(1) { options.transferEncoding = .decode }
        if variant.flag(2) { options.mixed = .flatten }
        if variant.flag(1) != variant.flag(2) { options.jsonParts = .parse }
        return options
    }

    /// Events don't depend on the cut, and what was read once is read again from what is written of it.
    private static func document<Decoder: EventDecoder & ~Copyable>(
        _ variant: Variant, _ body: [UInt8], through encoding: BodyEncoding, _ make: () -> Decoder
    ) -> String? {
        func record(_ cut: Cut, pauses: Bool = false) -> EventRecording {
            var decoder = make()
            return EventRecorder.record(cut, with: &decoder, pauses: pauses)
        }
        let whole = record(.whole(body))
        if !whole.violations.isEmpty { return "\(whole.violations)" }
        for recut in [record(.every(variant.size, of: body)), record(.every(variant.size, of: body), pauses: true)] {
            if !recut.violations.isEmpty { return "\(recut.violations)" }
            if recut.failure?.code != whole.failure?.code { return "an error of a cut: \(recut.failure as Any)" }
            if recut.failure == nil, recut.events != whole.events { return "events depend on the cut" }
        }
        guard whole.failure == nil else { return nil }
        var plan = ConversionPlan(inputs: [encoding], output: encoding)
        plan.limits = limits
        plan.limits.tree = 1 << 30
        let written = ConversionRun.run(plan, .whole(body))
        if !written.violations.isEmpty { return "\(written.violations)" }
        // What can be read need not be representable, but then that must be said.
        guard written.failure == nil else { return nil }
        let again = record(.whole(written.output.bytes))
        return again.failure == nil && again.events == whole.events
            ? nil : "read again: \(again.failure as Any) \(again.events) after \(whole.events)"
    }

    /// The same for fields and files.
    private static func fields<Decoder: FieldDecoder & ~Copyable>(
        _ variant: Variant, _ body: [UInt8], _ make: () throws(ConversionError) -> Decoder
    ) -> String? {
        func record(_ cut: Cut, pauses: Bool = false) -> FieldRecording? {
            guard var decoder = try? make() else { return nil }
            return FieldRecorder.record(cut, with: &decoder, pauses: pauses)
        }
        guard let whole = record(.whole(body)) else { return "the decoder can't be made" }
        if !whole.violations.isEmpty { return "\(whole.violations)" }
        for recut in [record(.every(variant.size, of: body)), record(.every(variant.size, of: body), pauses: true)] {
            guard let recut else { continue }
            if !recut.violations.isEmpty { return "\(recut.violations)" }
            // Of two things wrong in one value, as a percent sign and bytes that are not UTF-8, either may be found first.
            guard (recut.failure == nil) == (whole.failure == nil) else {
                return "\(whole.failure as Any), cut: \(recut.failure as Any)"
            }
            if recut.failure == nil, recut.parts != whole.parts { return "parts depend on the cut" }
        }
        guard whole.failure == nil else { return nil }
        return formRoundTrip(whole.parts) ?? multipartRoundTrip(whole.parts)
    }

    private static func formRoundTrip(_ parts: [FieldRecorder.Part]) -> String? {
        let texts = parts.filter { !$0.isFile }
        guard let written = encode(texts, with: Form.Encoder(options: .init())) else { return nil }
        var decoder = Form.Decoder(options: .init(), limits: Limits())
        let again = FieldRecorder.record(.whole(written), with: &decoder)
        guard again.failure == nil else {
            return again.failure?.code == "form_invalid_utf8" ? nil : "\(again.failure!)"
        }
        let sameNames = again.parts.map(\.name) == texts.map(\.name)
        return sameNames && again.parts.map(\.content) == texts.map(\.content) ? nil : "a form reads differently"
    }

    /// In the WHATWG's way of quoting, names in which `%22`, `%0D` or `%0A` stand for themselves have no spelling of their
    /// own, and a line break of any kind becomes CR LF.
    private static func multipartRoundTrip(_ parts: [FieldRecorder.Part]) -> String? {
        if parts.contains(where: { $0.name.bytes.contains { "%\r\n".utf8.contains($0) } }) { return nil }
        let boundary = Multipart.Boundary.random()
        guard let written = encode(parts, with: Multipart.Encoder(boundary: boundary, options: .init())) else {
            return nil
        }
        var decoder = Multipart.Decoder(boundary: boundary, options: .init(), limits: Limits())
        let again = FieldRecorder.record(.whole(written), with: &decoder)
        // What a form can hold may be more than a part's head may: then reading must say so.
        guard again.failure == nil else { return nil }
        let sameNames = again.parts.map(\.name) == parts.map(\.name)
        let sameFiles = again.parts.map(\.isFile) == parts.map(\.isFile)
        return sameNames && sameFiles && again.parts.map(\.content) == parts.map(\.content)
            ? nil : "a multipart body reads differently"
    }

    /// The bytes of `parts`, or nil when the encoder refuses them.
    private static func encode<Encoder: FieldEncoder>(
        _ parts: [FieldRecorder.Part], with encoder: consuming Encoder
    ) -> [UInt8]? {
        do throws(ConversionError) {
            for part in parts {
                var head = PartHead(name: part.name.bytes.span)
                let filename = part.filename ?? ""
                if part.isFile { head.setFilename(filename.bytes.span) }
                if let type = part.mediaType { head.setMediaType(type.bytes.span) }
                for field in part.otherFields {
                    head.addField(name: field.name.bytes.span, value: field.value.bytes.span)
                }
                try encoder.beginPart(head)
                try encoder.content(part.content.bytes.span, isLast: true)
            }
            try encoder.finish()
        } catch {
            return nil
        }
        return encoder.output.span.copied()
    }
}
