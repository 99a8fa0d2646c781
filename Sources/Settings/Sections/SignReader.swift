internal import Gateway
internal import Signatures

/// Reads `sign` of a route: how its requests are signed on their way to the upstream, in the words of `verify`.
struct SignReader {
    let context: ReadingContext

    /// Takes `sign` of a route; nil where it isn't there, or is wrong.
    ///
    /// - Parameter limit: bytes of content that are signed (`limits.signed`).
    func read(_ route: SectionReader, limit: Int) -> RequestSigning? {
        let taken = route.take("sign")
        guard let node = taken, !context.saysOff(node, "\"sign\"") else {
            route.record("sign", "off", taken.map { .line($0.position.line) } ?? .standard)
            return nil
        }
        let failures = context.failures
        let reader = VerifyReader(context: context)
        guard
            let (section, preset) = reader.open(
                node, "sign", example: "one, as in standard-webhooks(secret: \"${env:SECRET}\")"),
            var scheme = reader.scheme(section, preset, node.position)
        else { return nil }
        if case .member(let name)? = scheme.timestamp {
            if preset == nil {
                context.report(
                    node.position, "a request is signed with its time in a field, not in the member \"\(name)\"")
            }
            // A preset's is its sender's affair: nothing is put into a body that is only signed.
            scheme.timestamp = nil
        }
        reader.messageSignature(section, &scheme)
        let base = reader.publicURL(section, scheme)
        let written = section.required("secret", example: "\"${env:SECRET}\"")
        let secret = written.flatMap { reader.secret($0, scheme, isOurs: true) }
        section.finish()
        guard let secret, context.failures == failures else { return nil }
        do throws(MessageSigner.Fault) {
            // What a placeholder stands for isn't known.
            let signer = secret.isKnown ? try MessageSigner(scheme, secret: secret) : MessageSigner(unknown: scheme)
            route.record("sign", "\(scheme.name), \(secret)", .line(node.position.line))
            return RequestSigning(signer, name: scheme.name, base: base, limit: limit)
        } catch {
            context.report((written ?? node).position, "\"sign\": \(error.reason)")
            return nil
        }
    }
}
