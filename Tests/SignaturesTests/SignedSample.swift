/// Requests and keys that are written once.
enum SignedSample {
    /// A JSON body whose digest the query doesn't have.
    static var twilioWithoutHash: SampleWebhook {
        var sample = SampleWebhook(
            "{}", [("X-Twilio-Signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8="), ("Content-Type", "application/json")])
        sample.target = "/myapp.php?foo=1&bar=2"
        return sample
    }

    /// A pair of 2,048 bits, made for these tests.
    static let rsaPublicKey = """
        -----BEGIN PUBLIC KEY-----
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAwniOeI44zcWmb/1cu6K1
        SmQAYTMfYbrVRd77XuA8ibT5rfhzkh5TtCQeRk6uMcoUJA/cW96y9+nitvPeAJTi
        gGrku4Ent1md76FSxQAJQwk4gAgZWh2akJC/is7yQwtapaAFFxHPljJ9+b8lJhyW
        +eVHAzFgWDxa5cMMcv/bPKJS0mMWKIrDlaYfufwhnXrxeHwkxIcRcC8GcBcpKj47
        0laSmj7cUXlaeLXIWM7s+INwrqLoXCMnk7Ggp8J95BWX3TwTDW1kcyyYtrsCNnzY
        ivZYsSkndXfr5R19oUCJ/knjG8wOiqfTlKT0r513KhmT3P6hpJVyptbBEidm/FhH
        rwIDAQAB
        -----END PUBLIC KEY-----
        """

    static let rsaPrivateKey = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDCeI54jjjNxaZv
        /Vy7orVKZABhMx9hutVF3vte4DyJtPmt+HOSHlO0JB5GTq4xyhQkD9xb3rL36eK2
        894AlOKAauS7gSe3WZ3voVLFAAlDCTiACBlaHZqQkL+KzvJDC1qloAUXEc+WMn35
        vyUmHJb55UcDMWBYPFrlwwxy/9s8olLSYxYoisOVph+5/CGdevF4fCTEhxFwLwZw
        FykqPjvSVpKaPtxReVp4tchYzuz4g3CuouhcIyeTsaCnwn3kFZfdPBMNbWRzLJi2
        uwI2fNiK9lixKSd1d+vlHX2hQIn+SeMbzA6Kp9OUpPSvnXcqGZPc/qGklXKm1sES
        J2b8WEevAgMBAAECggEAVD0Nleohb/0ocgVheIPsHNvBkFkpRFe+j6Qd5gSjJJGI
        wBPJ2Ccb4gHtPU5SxY1/+PkH3qHSi3I8Ozza0wyrKq5jA1fYgOMod0c9x8kSuf+S
        Al+/v5noPKv+1J19Mo6GBw2QduRHtAuOJzNl36LtwTTQdHEch0wpobJCP8RVzubM
        f0xEU1XIqszqlCcJ1E9guINIx/dVBEa64I0HwZlKX5pG9pVZtfdU9XdUrEd0Ef3I
        T9Qd3BP3fMLLacS7qBmKpeV+FgCdRiShc1sHtZtlBGnaRYU6CLzeGwC2CN/69vy9
        GPxKDxEqnHlSvDMX8Utqa1Hv9ztBR+UtIkie0iv6nQKBgQD/ckkFcBiMcIRBC0Ee
        e18NTpNoA6vgpU1KTYF68P4a7/EO/EdSEVp02WO8uXMj5lhDQ91rnck4yaLQSc6f
        OrCFrmkofrD4XU16EW2gqvxuxibcYdN5DtlMaLGfYGZL6DHjeuVqaJitzXLxJ48k
        THRgfeneYosWgdn7E08sk1+JTQKBgQDC5HGYSH+98079vlbTSn9dmh8MaeyZeCs7
        iiZTqEfsroCrom/aHiHo2RcKhXaFFjW+U5sDFWIOoiSQKidGq1TzGEYWH0564HAV
        XwALWifW/3MR9dsxXsnh6pVr69L67VBPHQNYHWUcrrVS3DvKMtGxN19vnxet1I3Y
        kofDD+s26wKBgEm30IzqMZtt6SzgM5W5Ys/zSiTtUk/NRIXZ4jD5lUtuzTFW6ror
        WeB40AipuCm3EueukRq6eVSTFBJqCl/3TvP1RlGyZh32xyIgH3QLhDfvpU1aSe4Y
        s+sSF5h3+G2Vf7g3Qje4Ib+el7oygWOnULp7+976r0r6hE6p3uJtUVfNAoGAMq3Y
        5DKmFSz5833VcihDKoHzZPT+c4IOK/NmuAZgfal7CCa7U0rWooghN7kw8ratzwpK
        muiqkQeU3nA3uma/Nl+vif0mGUnXm5cSmeEdzwiqUZdPIm11reukY2X1fQ7M/WWc
        AwPR0T2VJTDj01aXtK+jf5EtRSSqphCkgRLYpXUCgYEAlM5UfovV72fZj4944/Gr
        +DUKQMKsvh3eCKIpLIDMffSeo8fQ7amUvaXPbSnyDYI0KEedoWI28ske64xsMFKM
        0QpeDRgv3HsEn42KwQrNVNyED04Ih9NUJNDWO4nyuhoDgCaXuWCr2hyKu4yNzz3Y
        MmyK5nAeTNbs238Dc0PINGc=
        -----END PRIVATE KEY-----
        """
}
