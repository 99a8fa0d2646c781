internal import EventLoop
internal import Octets
internal import Proxy

/// Reads `tls` of an upstream: `true`, `false` or a mapping.
struct UpstreamTLSReader {
    let context: ReadingContext
    /// Read once for all upstreams of the file: a hundred took two seconds and 80 MB.
    let system: TLSSystemAnchors

    /// - Parameters:
    ///   - name: the upstream's.
    ///   - hasName: whether every address of the upstream has a name or an address to check a certificate for.
    ///   - offersHTTP2: whether the upstream is spoken to by HTTP/2.
    func read(_ section: SectionReader, of name: String, hasName: Bool, offersHTTP2: Bool) -> UpstreamTLS? {
        guard let node = section.take("tls") else {
            section.record("tls", "false", .standard)
            return nil
        }
        let files = TLSFileReader(context)
        let failures = context.failures
        var options = TLSClientOptions()
        options.offersHTTP2 = offersHTTP2
        if case .mapping = node.content {
            guard let tls = SectionReader(node, "\"tls\"", path: section.path + ".tls", context) else { return nil }
            read(tls, files, &options)
            tls.finish()
        } else {
            guard let isOn = context.bool(node, "\"tls\"") else { return nil }
            section.record("tls", isOn ? "true" : "false", .line(node.position.line))
            if !isOn { return nil }
        }
        if !hasName, options.name == nil, options.verifies, options.verifiesName {
            context.report(
                node.position,
                "a unix socket has no name that a certificate could be for: write tls: {name: app.internal}")
        }
        guard context.failures == failures, !context.environment.lacksSecrets else { return nil }
        do throws(TLSFileError) {
            let tls = try UpstreamTLS(options, system: system)
            files.tell(tls.context.loadedFiles, of: "upstream \(name)")
            return tls
        } catch {
            files.report(error, node)
            return nil
        }
    }

    private func read(_ tls: SectionReader, _ files: TLSFileReader, _ options: inout TLSClientOptions) {
        options.verifies = tls.bool("verify", standard: options.verifies)
        if !options.verifies {
            tls.refuse("ca", "is not looked at with \"verify: false\": remove one of them")
            tls.refuse("crl", "is not looked at with \"verify: false\": remove one of them")
        }
        options.authorities = files.path(tls, "ca", .authorities)
        let asksForName = tls.remaining.first { $0.key == "verify_name" }?.position
        options.verifiesName = tls.bool("verify_name", standard: options.verifiesName)
        // Without a check, `false` says what holds anyway.
        if !options.verifies, options.verifiesName, let asksForName {
            context.report(asksForName, "\"verify_name\" is not looked at with \"verify: false\": remove one of them")
        }
        options.indication = host(tls, "sni")
        // A name that isn't checked is still the one that is asked for, unless there is another one for that.
        if options.indication != nil, !options.verifies || !options.verifiesName {
            let key = options.verifies ? "verify_name" : "verify"
            tls.refuse("name", "is not looked at with \"\(key): false\" beside \"sni\": remove one of them")
        }
        options.name = host(tls, "name")
        options.identity = files.identity(tls, index: 0, isNeeded: false)
        options.revocations = files.path(tls, "crl", .revocations)
        options.resumes = tls.bool("session_resumption", standard: options.resumes)
        files.versions(tls, &options.minimum, &options.maximum)
        tls.knows("pins", "pinned_certificates")
        if let node = tls.take("pins") {
            let pins = (context.elements(node, "\"pins\"") ?? []).compactMap(pin)
            options.pinning = .keys(pins)
            tls.record("pins", "\(pins.count) keys", .line(node.position.line))
            tls.refuse("pinned_certificates", "can't stand beside \"pins\": pin keys or certificates")
        } else if let node = tls.take("pinned_certificates") {
            let paths = (context.elements(node, "\"pinned_certificates\"") ?? []).compactMap {
                files.path($0, "pinned_certificates", .pinned)
            }
            options.pinning = .certificates(paths)
            tls.record("pinned_certificates", paths.joined(separator: ", "), .line(node.position.line))
            if options.authorities != nil {
                context.report(
                    node.position,
                    "\"pinned_certificates\" are the only authorities: remove \"ca\", or pin keys instead")
            }
        }
    }

    /// A host by itself, as certificates and the TLS handshake name it.
    private func host(_ section: SectionReader, _ key: String) -> String? {
        guard let node = section.take(key), let text = context.text(node, "\"\(key)\"") else { return nil }
        let isName = key == "sni"
        if isName, AddressReader.isAddress(text) {
            context.report(
                node.position,
                "\"sni\" is a name: an address is never asked for (RFC 6066 §3); \"name\" may be one")
            return nil
        }
        guard AddressReader.isAddress(text) || AddressReader.nameFault(text) == nil else {
            let why = AddressReader.foreignLetters(text).map { ": \($0)" } ?? ""
            context.report(
                node.position,
                "\"\(key)\" is \(isName ? "a name" : "a name or an address") alone, as in app.internal, without a scheme, "
                    + "a port, a path or brackets, not \"\(text)\"\(why)")
            return nil
        }
        section.record(key, text, .line(node.position.line))
        return text
    }

    private func pin(_ node: SettingsNode) -> TLSPin? {
        guard let text = context.text(node, "a pin") else { return nil }
        if text.hasPrefix("sha256/"), let digest = Base64Decoder.bytes(of: Array(text.utf8.dropFirst(7)).span),
            let pin = TLSPin(digest: digest)
        {
            return pin
        }
        context.report(
            node.position, "a pin is sha256/ and the 44 characters of the key's digest in base64, not \"\(text)\"")
        return nil
    }
}
