internal import HTTPWire
internal import Octets
internal import Signatures

/// What says whose a request is: the field of a signature, what it stands beside, and the content that it may be in.
extension FuzzTarget {
    /// The first line is the value of each field of a sender's, the second path and query, the rest the content. Nobody is let in who has
    /// no secret; the cut of the content changes nothing; what structured fields and layouts are read as is written the same again.
    static var signature: FuzzTarget {
        FuzzTarget("signature", corpus: "signature") { variant, bytes in
            let lines = bytes.split(separator: UInt8(ascii: "\n"), maxSplits: 2, omittingEmptySubsequences: false)
            let value = lines.first.map { Array($0) } ?? []
            let target = [UInt8(ascii: "/")] + (lines.count > 1 ? Array(lines[1]) : [])
            let content = lines.count > 2 ? Array(lines[2]) : []
            return structured(value) ?? layout(value) ?? challenges(value, content)
                ?? requests(variant, value, target, content)
        }
    }

    private static func structured(_ value: [UInt8]) -> String? {
        guard let members = try? StructuredField.dictionary(value.span) else { return nil }
        let written = StructuredField.text(members)
        guard let again = try? StructuredField.dictionary(written.span) else { return "what was written isn't read" }
        return StructuredField.text(again) == written ? nil : "what was written is read as another value"
    }

    private static func layout(_ value: [UInt8]) -> String? {
        let text = String(decoding: value, as: UTF8.self)
        guard let layout = try? SignedLayout(parsing: text) else { return nil }
        return (try? SignedLayout(parsing: layout.description)) == layout ? nil : "a layout is read as another one"
    }

    private static let secrets: [SigningSecret] = {
        let shared = SigningSecret(.shared(Array("a secret that no fuzzer finds, of 46 bytes in all".utf8)))
        let key = try? SigningSecret("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a", as: .ed25519)
        return [shared] + (key.map { [$0] } ?? [])
    }()

    private static func challenges(_ query: [UInt8], _ content: [UInt8]) -> String? {
        for challenge in [EndpointChallenge.slack, .zoom, .discord, .meta, .x, .dropbox, .sns] {
            _ = challenge.answer(content: content.span, secrets: secrets)
            let token = Array("a token that no fuzzer finds".utf8)
            let answer = try? challenge.answer(query: query.span, secrets: secrets, token: token)
            if challenge == .meta, answer != nil { return "a token was found" }
        }
        if let location = SignatureVerifier.confirmation(content.span),
            !location.host.hasPrefix("sns.") || location.target.utf8.first != UInt8(ascii: "/")
        {
            return "a location that is no sender's: \(location)"
        }
        return nil
    }

    private static func requests(
        _ variant: Variant, _ value: [UInt8], _ target: [UInt8], _ content: [UInt8]
    ) -> String? {
        guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }), target.allSatisfy({ $0 > 0x20 && $0 < 0x7F }) else {
            return nil
        }
        for scheme in SenderPresets.all {
            let options = SignatureVerifier.Options(scheme: scheme, secrets: secrets)
            let whole = outcome(options, value, target, content, every: .max)
            if whole == "verified" { return "\(scheme.name) let a request in" }
            let cut = outcome(options, value, target, content, every: variant.size)
            if cut != whole { return "\(scheme.name): \(whole), cut: \(cut)" }
        }
        return nil
    }

    private static func outcome(
        _ options: SignatureVerifier.Options, _ value: [UInt8], _ target: [UInt8], _ content: [UInt8],
        every size: Int
    ) -> String {
        var head = MessageHead()
        var builder = HeadBuilder()
        let scheme = options.scheme
        var names = scheme.headers + scheme.idHeaders + scheme.requiredHeaders + ["Signature-Input", "Content-Digest"]
        if case .headers(let times)? = scheme.timestamp { names += times }
        let type = scheme.special == nil ? "application/json" : "application/x-www-form-urlencoded"
        do throws(WireError) {
            try builder.beginRequest(
                method: Array("POST".utf8).span, authority: Array("h.example".utf8).span, path: target.span,
                into: &head)
            for name in names { try builder.add(Array(name.utf8).span, value.span, to: &head) }
            try builder.add(Array("Content-Type".utf8).span, Array(type.utf8).span, to: &head)
            try builder.finish(&head)
        } catch {
            return "no request"
        }
        do throws(SignatureError) {
            let verifier = try SignatureVerifier(
                options, head, target: target.span, isSecure: true, now: 1_700_000_000_000)
            var at = 0
            while at < content.count {
                let end = at + min(size, content.count - at)
                verifier.update(content.span.extracting(at..<end))
                at = end
            }
            _ = try verifier.certificate(content.span)
            try verifier.finish(verifier.needsWholeContent ? content.span : Span())
            return "verified"
        } catch {
            return error.fault.rawValue
        }
    }
}
