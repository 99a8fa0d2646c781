import Testing

@testable import Transcoding

@Suite("The tables of what formats find wrong")
struct FaultTableTests {
    struct Table: Sendable, CustomTestStringConvertible {
        let prefixes: [String]
        let rows: [ConversionError]

        init<Fault: ConversionFault>(_ faults: [Fault], _ prefixes: String...) {
            self.prefixes = prefixes
            rows = faults.map(\.row)
        }

        var testDescription: String { prefixes[0] }
    }

    static let json: [JSON.Fault] = [
        .unexpectedByte(.value), .unexpectedEnd, .emptyBody, .trailingData, .invalidNumber, .invalidEscape,
        .loneSurrogate, .invalidUTF8, .controlCharacter, .duplicateKey, .unsupportedCharset, .file, .fileType,
    ]
    static let tables = [
        Table(json, "json_"), Table(XML.Fault.allCases, "xml_"), Table(PropertyList.Fault.allCases, "plist_"),
        Table(Form.Fault.allCases, "form_"), Table(FieldFault.allCases, "field_", "root_not_object"),
        Table(Multipart.Fault.allCases, "multipart_", "charset_invalid"), Table(PlainText.Fault.allCases, "text_"),
        Table(Raw.Fault.allCases, "raw_"), Table(DocumentFault.allCases, "document_"),
    ]

    @Test("each has a code of its own in the words of its format, a sentence, and no place", arguments: tables)
    func rows(table: Table) {
        for row in table.rows {
            #expect(table.prefixes.contains { row.code.hasPrefix($0) }, "\(row.code)")
            #expect(row.code.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789_".utf8.contains($0) })
            #expect(!row.reason.isEmpty && !row.reason.hasSuffix("."), "\(row.code)")
            #expect(row.offset == nil && row.field == nil)
        }
        #expect(Set(table.rows.map(\.reason)).count == table.rows.count)
    }

    @Test("no code stands in two tables")
    func codes() {
        let codes = Self.tables.flatMap { $0.rows.map(\.code) }
        #expect(Set(codes).count == codes.count)
    }

    @Test("an error is the row with its place")
    func error() {
        let error = XML.Fault.name.error(offset: 3, field: "/a")
        #expect(error.offset == 3 && error.field == "/a")
        #expect(error.kind == .unrepresentable && error.code == "xml_name" && error.setting == "names")
        #expect(XML.Fault.name.error() == XML.Fault.name.row)
    }
}
