import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("Fields that become property lists")
struct PropertyListFieldTests {
    static let json = #"{"d":"2001-01-01T00:00:00Z","x":"aGk="}"#

    static let rows: [PipelineRow] = [
        PipelineRow(.form, .json, "d=2001-01-01T00:00:00Z&x=aGk=", json) { $0.types = types },
        PipelineRow(.multipart, .json, multipart("d=2001-01-01T00:00:00Z", "x=aGk="), json) { $0.types = types },
    ]

    static let types = [TypeRule(path: path("d"), type: .date), TypeRule(path: path("x"), type: .data)]

    @Test("a date and bytes that fields declare stay what they are", arguments: rows)
    func declared(_ row: PipelineRow) {
        row.check()
        var plan = row.plan
        plan.output = .bplist
        let list = ConversionRun.run(plan, .whole(Array(row.input.utf8)))
        var decoder = PropertyList.Decoder(limits: .init())
        let events = EventRecorder.record(.whole(list.output.bytes), with: &decoder).events
        #expect(
            events == [
                .beginObject, .key("d"), .date("2001-01-01T00:00:00Z"), .key("x"), .data("hi"), .endObject,
            ])
    }
}
