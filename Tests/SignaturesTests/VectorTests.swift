import Octets
import Signatures
import Testing

@Suite("Signature vectors")
struct VectorTests {
    @Test("there are vectors")
    func count() { #expect(SignatureVector.all.count == 33) }

    @Test("each holds, or doesn't, as it says", arguments: SignatureVector.all)
    func holds(_ vector: SignatureVector) {
        #expect(vector.holds(Array(vector.signed.utf8), vector.signatureBytes) == vector.valid)
    }

    @Test("one bit changed anywhere is refused", arguments: SignatureVector.all.filter(\.valid))
    func changed(_ vector: SignatureVector) {
        let signed = Array(vector.signed.utf8)
        for at in signed.indices {
            var other = signed
            other[at] ^= 1 << (at % 8)
            #expect(!vector.holds(other, vector.signatureBytes), "byte \(at) of what is signed")
        }
        for at in vector.signatureBytes.indices {
            var other = vector.signatureBytes
            other[at] ^= 1 << (at % 8)
            #expect(!vector.holds(signed, other), "byte \(at) of the signature")
        }
        #expect(!vector.holds(signed, Array(vector.signatureBytes.dropLast())), "cut short")
        #expect(!vector.holds(signed, vector.signatureBytes + [0]), "with a byte more")
        #expect(!vector.holds(signed, []), "none")
    }

    @Test("texts that are no bytes are refused")
    func encodings() {
        let rows: [(BinaryEncoding, String, [UInt8]?)] = [
            (.hex, "00fF", [0, 255]), (.hex, "0", nil), (.hex, "0g", nil), (.hex, "", []),
            (.base64, "AP8=", [0, 255]), (.base64, "AP8", [0, 255]), (.base64, "A", nil), (.base64, "-_8=", nil),
            (.base64, "AP8=x", nil), (.base64url, "-_8", [251, 255]), (.base64url, "+/8=", nil),
            (.base64url, "-_8=", [251, 255]),
        ]
        for (encoding, text, bytes) in rows {
            #expect(encoding.decode(Array(text.utf8).span) == bytes, "\(encoding) \(text)")
        }
        for encoding in BinaryEncoding.allCases {
            for count in 0..<70 {
                let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ 251) }
                #expect(encoding.decode(encoding.encode(bytes.span).span) == bytes)
            }
        }
    }

    @Test("times are read as they are written, and nothing else is")
    func times() {
        let rows: [(TimestampUnit, String, Int?)] = [
            (.seconds, "1614265330", 1_614_265_330_000), (.milliseconds, "1614265330123", 1_614_265_330_123),
            (.seconds, "Infinity", nil), (.seconds, "-1", nil), (.seconds, "1.5", nil), (.seconds, "", nil),
            (.seconds, " 1", nil), (.seconds, "1e9", nil), (.seconds, "1234567890123456", nil), (.seconds, "0", 0),
            (.iso, "2021-07-25T10:00:00Z", 1_627_207_200_000), (.iso, "2021-07-25T10:00:00.5Z", 1_627_207_200_500),
            (.iso, "2021-07-25T12:00:00+02:00", 1_627_207_200_000), (.iso, "2021-07-25T10:00:00", nil),
            (.iso, "2021-13-25T10:00:00Z", nil), (.iso, "2021-07-25T10:00:00Zx", nil),
            (.iso, "2021-07-25T24:00:00Z", nil),
            (.iso, "1970-01-01T00:00:00Z", 0), (.iso, "2024-02-29T23:59:60Z", 1_709_251_199_000),
        ]
        for (unit, text, milliseconds) in rows {
            #expect(SignedTime.milliseconds(Array(text.utf8).span, unit) == milliseconds, "\(text)")
        }
        for unit in TimestampUnit.allCases {
            for time in [0, 951_782_400_000, 1_614_265_330_000, 4_102_444_799_000] {
                #expect(SignedTime.milliseconds(Array(SignedTime.text(time, unit).utf8).span, unit) == time)
            }
        }
    }

    @Test("layouts are read, written, and refused with a reason")
    func layouts() throws {
        for text in ["{body}", "v0:{timestamp}:{body}", "{id}.{timestamp}.{body}", "{{x}}{method}{url}", ""] {
            #expect(try SignedLayout(parsing: text).description == text)
        }
        for text in ["{", "}", "{bod}", "{body}{body}", "a{body", "{}"] {
            #expect(throws: SignedLayout.Fault.self, "\(text)") { try SignedLayout(parsing: text) }
        }
    }

    @Test("secrets are read as they are written, and an error has nothing of them")
    func secrets() {
        let fine: [(String, SigningSecret.Writing, Int?)] = [
            ("abc", .text, 3), ("00ff", .hex, 2), ("AP8=", .base64, 2),
            ("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", .whsec, 24),
            ("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", .whsec, 24),
            ("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=", .whsec, nil),
            (TestKeys.ed25519Public, .ed25519, nil),
        ]
        for (text, writing, count) in fine {
            do throws(SigningSecret.Fault) {
                #expect(try SigningSecret(text, as: writing).sharedCount == count)
            } catch {
                Issue.record("\(writing) \(text): \(error.reason)")
            }
        }
        let wrong: [(String, SigningSecret.Writing)] = [
            ("", .text), ("xyz", .hex), ("***", .base64), ("whsec_***", .whsec), ("whpk_AP8=", .whsec),
            ("geheim", .pem),
            ("geheim", .ed25519), ("-----BEGIN CERTIFICATE-----\ngeheim\n-----END CERTIFICATE-----", .pem),
        ]
        for (text, writing) in wrong {
            do throws(SigningSecret.Fault) {
                _ = try SigningSecret(text, as: writing)
                Issue.record("\(writing) \(text) was taken")
            } catch {
                #expect(!error.reason.contains("geheim") && !error.reason.contains("xyz"))
            }
        }
    }

    /// A public key of Ed25519, as SubjectPublicKeyInfo (RFC 8410 §4) in base64.
    private static let publicKey: String = {
        let bytes =
            BinaryEncoding.hex.decode(Array("302a300506032b6570032100\(TestKeys.ed25519Public)".utf8).span) ?? []
        return String(decoding: BinaryEncoding.base64.encode(bytes.span), as: UTF8.self)
    }()

    private static let publicPEM = "-----BEGIN PUBLIC KEY-----\n\(publicKey)\n-----END PUBLIC KEY-----\n"
    private static let standardPublic = "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="

    static let keyTexts: [String] = [
        publicPEM, "\u{FEFF}\(publicPEM)", " \r\n\t\(publicPEM)", "Bag Attributes\n    a: b\n\(publicPEM)",
        publicPEM.replacing("\n", with: "\r\n"), publicKey, " \(publicKey)\n",
        standardPublic, " \(standardPublic)\r\n",
    ]

    @Test(
        "a key by its look is read as one where a scheme takes keys, and is no shared secret of any",
        arguments: keyTexts)
    func keysByTheirLook(text: String) throws {
        for scheme in SenderPresets.all {
            do throws(SigningSecret.Fault) {
                let secret = try SigningSecret(text, for: scheme, as: nil)
                #expect(scheme.takesKeys && secret.sharedCount == nil, "\(scheme.name)")
                #expect(secret.description == "a public key", "\(scheme.name)")
            } catch {
                #expect(!scheme.takesKeys, "\(scheme.name): \(error.reason)")
                #expect(error.reason.contains("by the encoding text") && !error.reason.contains(text))
            }
            // Whoever writes it has decided.
            let count = SecretText.alone(text).utf8.count
            #expect(try SigningSecret(text, for: scheme, as: .text).sharedCount == count)
        }
        let names = Set(SenderPresets.all.filter(\.takesKeys).map(\.name))
        #expect(
            names == [
                "discord", "sendgrid", "standard-webhooks", "svix", "http-message-signatures", "sns", "paypal",
            ])
        var scheme = try #require(SenderPresets.find("rfc9421"))
        scheme.messageSignature.algorithm = "hmac-sha256"
        #expect(throws: SigningSecret.Fault.self) { try SigningSecret(text, for: scheme, as: nil) }
    }

    @Test("a text that begins as a key and is none is no shared secret either")
    func keysThatCannotBeRead() throws {
        let scheme = try #require(SenderPresets.find("http-message-signatures"))
        for text in [
            "-----BEGIN PUBLIC KEY-----\ngeheim\n-----END PUBLIC KEY-----", "whpk_geheim", "whsk_geheim",
            "ssh-ed25519 geheim a@b", " ssh-rsa geheim\n", "ecdsa-sha2-nistp256 geheim",
            "---- BEGIN SSH2 PUBLIC KEY ----",
            "{ \"x\": \"geheim\", \"kty\": \"OKP\" }",
        ] {
            do throws(SigningSecret.Fault) {
                _ = try SigningSecret(text, for: scheme, as: nil)
                Issue.record("\(text) was taken")
            } catch {
                #expect(error.reason.contains("by the encoding text") && !error.reason.contains("geheim"))
            }
        }
        // What only resembles a key is what it was.
        for text in [
            "BEGIN PUBLIC KEY", "ssh-secret", "{kty}", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
            "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        ] {
            #expect(try SigningSecret(text, for: scheme, as: nil).sharedCount == text.utf8.count)
        }
    }

    @Test(
        "what editors put around a secret is none of it",
        arguments: [
            "\u{FEFF}a secret", "a secret\n", "a secret\r\n", "a secret\n\n", "a secret\r\n\n\r",
            "\u{FEFF}a secret\n\n",
        ])
    func marksAndLineEnds(text: String) throws {
        let scheme = try #require(SenderPresets.find("github"))
        for writing in [nil, SigningSecret.Writing.text] {
            guard case .shared(let bytes) = try SigningSecret(text, for: scheme, as: writing).material else {
                Issue.record("no shared secret")
                continue
            }
            #expect(bytes == Array("a secret".utf8))
        }
    }

    @Test(
        "white space at the ends of a secret is refused, unless it is said to be the secret's own",
        arguments: [
            " geheim", "geheim ", "\tgeheim", "geheim\t\n", "\ngeheim", "geheim\n \n", "\u{A0}geheim",
            "geheim\u{200B}", "geheim\u{FEFF}", "\u{FEFF}\u{FEFF}geheim", "geheim\0", "geheim\u{2028}",
        ])
    func blankEnds(text: String) throws {
        for scheme in SenderPresets.all where scheme.secretWriting == .text {
            do throws(SigningSecret.Fault) {
                _ = try SigningSecret(text, for: scheme, as: nil)
                Issue.record("it was taken by \(scheme.name)")
            } catch {
                #expect(error.reason.contains("white space") && !error.reason.contains("geheim"))
            }
            let secret = try SigningSecret(text, for: scheme, as: .text)
            #expect(secret.sharedCount == SecretText.alone(text).utf8.count)
        }
        let hex = try #require(SenderPresets.find("github"))
        do throws(SigningSecret.Fault) {
            _ = try SigningSecret(" 00ff", for: hex, as: .hex)
            Issue.record("it was taken")
        } catch {
            #expect(error.reason == "\(SecretText.blankEnd): remove that")
        }
        #expect(throws: SigningSecret.Fault.self) { try SigningSecret("\n\r\n", for: hex, as: nil) }
    }

    @Test("a public key signs nothing by RFC 9421 either")
    func publicKeysSignNothing() throws {
        let scheme = try #require(SenderPresets.find("http-message-signatures"))
        let secret = try SigningSecret(Self.publicPEM, for: scheme, as: nil)
        do throws(MessageSigner.Fault) {
            _ = try MessageSigner(scheme, secret: secret)
            Issue.record("a public key was taken")
        } catch {
            #expect(error.reason == "a public key can't sign")
        }
    }
}
