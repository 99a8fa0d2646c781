import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("Multipart.Boundary")
struct MultipartBoundaryTests {
    static let acceptedRows: [(contentType: String, boundary: ByteString, written: ByteString)] = [
        ("multipart/form-data; boundary=b", "b", "multipart/form-data; boundary=b"),
        (" multipart/form-data ;boundary=b ", "b", "multipart/form-data; boundary=b"),
        ("MULTIPART/FORM-DATA;BOUNDARY=B;;", "B", "multipart/form-data; boundary=B"),
        ("multipart/form-data; boundary=\"a b\"", "a b", "multipart/form-data; boundary=\"a b\""),
        ("multipart/form-data; boundary=\"a,b\"", "a,b", "multipart/form-data; boundary=\"a,b\""),
        ("multipart/form-data; boundary=a:/?=b", "a:/?=b", "multipart/form-data; boundary=\"a:/?=b\""),
        ("multipart/form-data; boundary=(a')", "(a')", "multipart/form-data; boundary=\"(a')\""),
        ("multipart/form-data; x=\"boundary=z\"; boundary=b; charset=UTF8", "b", "multipart/form-data; boundary=b"),
    ]

    @Test("One boundary of legal characters is taken from a Content-Type and written back", arguments: acceptedRows)
    func accepted(contentType: String, boundary: ByteString, written: ByteString) throws {
        let value = try Multipart.boundary(contentType)
        #expect(value.bytes == boundary.bytes)
        #expect(value.contentType() == written.bytes)
        #expect(try Multipart.Boundary(contentType: value.contentType().span, limits: Limits()) == value)
    }

    static let refusedRows: [(contentType: String, code: String, kind: ConversionError.Kind)] = [
        ("", "multipart_media_type", .unsupported),
        ("multipart", "multipart_media_type", .unsupported),
        ("multipart/form-data2; boundary=b", "multipart_media_type", .unsupported),
        ("multipart/mixed; boundary=b", "multipart_media_type", .unsupported),
        ("text/plain", "multipart_media_type", .unsupported),
        ("multipart/form-data", "multipart_boundary_missing", .malformed),
        ("multipart/form-data; boundaries=b", "multipart_boundary_missing", .malformed),
        ("multipart/form-data; boundary", "multipart_content_type", .malformed),
        ("multipart/form-data; boundary=", "multipart_content_type", .malformed),
        ("multipart/form-data; boundary=;", "multipart_content_type", .malformed),
        ("multipart/form-data; boundary= b", "multipart_content_type", .malformed),
        ("multipart/form-data; boundary=a b", "multipart_content_type", .malformed),
        ("multipart/form-data boundary=b", "multipart_content_type", .malformed),
        ("multipart/form-data, boundary=b", "multipart_content_type", .malformed),
        ("multipart/form-data; boundary=\"b", "multipart_content_type", .malformed),
        ("multipart/form-data; boundary=\"b\"c", "multipart_content_type", .malformed),
        ("multipart/form-data; boundary=\"\"", "multipart_boundary_illegal", .malformed),
        ("multipart/form-data; boundary=\"b \"", "multipart_boundary_illegal", .malformed),
        ("multipart/form-data; boundary=\"b\\c\"", "multipart_boundary_illegal", .malformed),
        ("multipart/form-data; boundary=\"b\r\nc\"", "multipart_boundary_illegal", .malformed),
        ("multipart/form-data; boundary=b*", "multipart_boundary_illegal", .malformed),
        ("multipart/form-data; boundary=\"é\"", "multipart_boundary_illegal", .malformed),
        ("multipart/form-data; boundary=b; Boundary=b", "multipart_boundary_repeated", .malformed),
        ("multipart/form-data; boundary=b; charset=latin1", "multipart_charset", .unsupported),
    ]

    @Test("A Content-Type that two parsers could read in two ways is refused", arguments: refusedRows)
    func refused(contentType: String, code: String, kind: ConversionError.Kind) {
        do throws(ConversionError) {
            _ = try Multipart.boundary(contentType)
            Issue.record("accepted")
        } catch {
            #expect(error.code == code)
            #expect(error.kind == kind)
        }
    }

    @Test("The limit lets n characters pass and refuses n + 1 by its name")
    func limit() throws {
        for count in 69...71 {
            let contentType = "multipart/form-data; boundary=" + String(repeating: "b", count: count)
            do throws(ConversionError) {
                #expect(try Multipart.boundary(contentType).bytes.count == count)
                #expect(count <= 70)
            } catch {
                #expect(count == 71)
                #expect(error.code == "limit_boundary")
                #expect(error.kind == .limit)
                #expect(error.setting == "limits.boundary")
            }
        }
    }

    @Test("A Content-Type has at most 16 parameters")
    func parameterLimit() {
        for count in 15...17 {
            let extra = (1..<count).map { "; x\($0)=y" }.joined()
            let code: String?
            do throws(ConversionError) {
                _ = try Multipart.boundary("multipart/form-data; boundary=b" + extra)
                code = nil
            } catch {
                code = error.code
            }
            #expect(code == (count <= 16 ? nil : "multipart_content_type"))
        }
    }

    @Test("A random boundary has 22 characters of 64 that change, and needs no quotes")
    func random() throws {
        let boundaries = (0..<500).map { _ in Multipart.Boundary.random() }
        #expect(Set(boundaries).count == 500)
        for boundary in boundaries {
            #expect(boundary.bytes.count == 22)
            #expect(boundary.bytes.allSatisfy(ASCII.isToken))
            #expect(try Multipart.Boundary(contentType: boundary.contentType().span, limits: Limits()) == boundary)
        }
        for index in 0..<22 {
            // 500 draws of one in 64 leave out half of them with a chance far below 2^-100.
            #expect(Set(boundaries.map { $0.bytes[index] }).count > 32)
        }
    }
}
