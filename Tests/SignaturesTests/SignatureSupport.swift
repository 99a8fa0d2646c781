import Foundation
import HTTPWire
import Octets
import Signatures
import Testing

/// One entry of Tests/Vectors/webhook-vectors.json.
struct SignatureVector: Decodable, CustomTestStringConvertible {
    var name: String
    var algorithm: String
    var encoding: String
    var signed: String
    var signature: String
    var valid: Bool
    var key: String?
    var key_base64: String?

    var testDescription: String { name }

    static let all: [SignatureVector] = {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Vectors/webhook-vectors.json")
        guard let data = try? Data(contentsOf: file),
            let all = try? JSONDecoder().decode([SignatureVector].self, from: data)
        else { return [] }
        return all
    }()

    static func named(_ name: String) throws -> SignatureVector {
        guard let vector = all.first(where: { $0.name == name }) else { throw Missing(name: name) }
        return vector
    }

    struct Missing: Error { var name: String }

    var keyBytes: [UInt8] {
        key_base64.flatMap { BinaryEncoding.base64.decode(Array($0.utf8).span) } ?? Array((key ?? "").utf8)
    }

    var signatureBytes: [UInt8] { BinaryEncoding(rawValue: encoding)?.decode(Array(signature.utf8).span) ?? [] }

    /// Whether `signature` is the vector's key's over `signed`.
    func holds(_ signed: [UInt8], _ signature: [UInt8]) -> Bool {
        let digest: DigestAlgorithm =
            algorithm.contains("sha512") ? .sha512 : algorithm.contains("sha1") ? .sha1 : .sha256
        switch algorithm {
        case "hmac-sha1", "hmac-sha256", "hmac-sha512":
            return ConstantTime.areEqual(Digest.hmac(signed.span, key: keyBytes.span, digest).span, signature.span)
        case "sha256": return ConstantTime.areEqual(Digest.of(signed.span, digest).span, signature.span)
        case "ed25519":
            return SignatureKey(ed25519: keyBytes.span, isPrivate: false)?.verify(.ed25519, signed.span, signature.span)
                == true
        case "ecdsa-p256-sha256-der", "ecdsa-p256-sha256-raw":
            let form: SignatureForm = algorithm.hasSuffix("der") ? .ecdsaDER(.sha256) : .ecdsaRaw(.sha256)
            let message = Digest.of(signed.span, .sha256)
            return SignatureKey(der: keyBytes.span)?.verify(form, message.span, signature.span) == true
        default: return false
        }
    }
}

/// A request as a test writes it.
struct SampleWebhook {
    var method = "POST"
    var target = "/hook"
    var host = "hooks.example.com"
    var fields: [(name: String, value: String)] = []
    var body: [UInt8] = []

    init(_ body: String = "", _ fields: [(name: String, value: String)] = []) {
        self.body = Array(body.utf8)
        self.fields = fields
    }

    /// Verifies it, its content cut into pieces of `size` bytes.
    func verify(_ options: SignatureVerifier.Options, now: Int, cut size: Int = .max, isSecure: Bool = true)
        -> SignatureFault?
    {
        do throws(SignatureError) {
            _ = try replayKey(options, now: now, cut: size, isSecure: isSecure)
            return nil
        } catch {
            return error.fault
        }
    }

    /// Verifies it, and tells what it is known by when it comes again.
    func replayKey(
        _ options: SignatureVerifier.Options, now: Int, cut size: Int = .max, isSecure: Bool = true
    ) throws(SignatureError) -> [UInt8] {
        let verifier = try verifier(options, now: now, isSecure: isSecure)
        var at = 0
        while at < body.count {
            let end = at + min(size, body.count - at)
            verifier.update(body.span.extracting(at..<end))
            at = end
        }
        try verifier.finish(verifier.needsWholeContent ? body.span : Span())
        return verifier.replayKey
    }

    /// What verifies it, of which the head is read.
    func verifier(
        _ options: SignatureVerifier.Options, now: Int, isSecure: Bool = true
    ) throws(SignatureError) -> SignatureVerifier {
        var head = MessageHead()
        var builder = HeadBuilder()
        do {
            try builder.beginRequest(
                method: Array(method.utf8).span, authority: Array(host.utf8).span, path: Array(target.utf8).span,
                into: &head)
            for field in fields {
                try builder.add(Array(field.name.utf8).span, Array(field.value.utf8).span, to: &head)
            }
            try builder.finish(&head)
        } catch {
            preconditionFailure("a sample is no request: \(error)")
        }
        return try SignatureVerifier(options, head, target: head.target, isSecure: isSecure, now: now)
    }

    mutating func set(_ name: String, _ value: String) {
        if let index = fields.firstIndex(where: { $0.name.lowercased() == name.lowercased() }) {
            fields[index].value = value
        } else {
            fields.append((name, value))
        }
    }
}

/// The same, where a local name stands in its way.
func requestOptions(_ preset: String, _ secret: SigningSecret) throws -> SignatureVerifier.Options {
    try options(preset, secret)
}

func options(_ preset: String, _ secrets: SigningSecret...) throws -> SignatureVerifier.Options {
    guard let scheme = SenderPresets.find(preset) else { throw SignatureVector.Missing(name: preset) }
    return SignatureVerifier.Options(scheme: scheme, secrets: secrets)
}

/// An Ed25519 pair, an ECDSA and an RSA one, made for these tests alone.
enum TestKeys {
    /// RFC 8032 §7.1, test 1.
    static let ed25519Private = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
    static let ed25519Public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
}
