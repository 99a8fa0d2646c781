import CImages
import Images
import TestSupport
import Testing
import Transcoding

@Suite("Pictures that nobody waits for any more", .enabled(if: PictureHeader.isBuiltIn))
struct ImageAskerTests {
    /// Waits for so many questions, and has left at the next one.
    private final class Counter {
        let patience: Int
        var asked = 0

        init(patience: Int) { self.patience = patience }

        func ask() -> Bool {
            asked += 1
            return asked <= patience
        }
    }

    /// Makes that picture for one who leaves at some question.
    private static func convert(
        _ bytes: [UInt8], to format: recast_image_kind, patience: Int
    ) -> (status: recast_image_status, asked: Int, isEmpty: Bool) {
        let counter = Counter(patience: patience)
        var header = recast_image_header()
        var result = unsafe recast_image_result()
        let asker = unsafe recast_image_asker(
            is_waiting: { context in
                // SAFETY: the counter below, which lives until the call is over.
                unsafe Unmanaged<Counter>.fromOpaque(context!).takeUnretainedValue().ask()
            },
            context: UnsafeRawPointer(Unmanaged.passUnretained(counter).toOpaque()))
        // SAFETY: all is read and written during the calls only; what has come out is freed once.
        let status = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe recast_image_look(bytes.baseAddress, bytes.count, &header)
            // As it is seen: it is turned.
            var options = recast_image_options(
                width: header.height, height: header.width, format: format, quality: 85, keeps_metadata: true)
            // SAFETY: as above.
            return unsafe withUnsafePointer(to: asker) {
                unsafe recast_image_convert(bytes.baseAddress, bytes.count, &header, &options, $0, &result)
            }
        }
        defer { unsafe recast_image_free(&result) }
        return withExtendedLifetime(counter) { unsafe (status, counter.asked, result.bytes == nil) }
    }

    /// Noise of some transparency, lying on its side: all that there is to do is done to it.
    private static func source(_ format: ImageFormat) throws -> [UInt8] {
        var random = SplitMix(state: 7)
        let png = PNGSample.png(160, 120, type: 6) { _, _ in
            [UInt8(truncatingIfNeeded: random.next()), UInt8(truncatingIfNeeded: random.next()), 90, 200]
        }
        return try ImageSamples.tagged(png, format, ImageSamples.exif(6))
    }

    /// Whether the work stops at whichever question it hears so, asks no more, and leaves nothing.
    private static func expectStops(_ source: [UInt8], to format: ImageFormat, questions: Int) {
        let kinds = [ImageFormat.jpeg: RECAST_IMAGE_JPEG, .png: RECAST_IMAGE_PNG, .webp: RECAST_IMAGE_WEBP]
        let kind = kinds[format]!
        let whole = convert(source, to: kind, patience: .max)
        #expect(whole.status == RECAST_IMAGE_DONE && !whole.isEmpty)
        #expect(whole.asked >= questions)
        for patience in 0..<whole.asked {
            let stopped = convert(source, to: kind, patience: patience)
            #expect(stopped.status == RECAST_IMAGE_STOPPED && stopped.isEmpty, "\(patience)")
            #expect(stopped.asked == patience + 1)
        }
        #expect(convert(source, to: kind, patience: whole.asked).status == RECAST_IMAGE_DONE)
    }

    @Test("the work stops wherever it hears so", arguments: ImageJobTests.pairs)
    func stop(_ from: ImageFormat, _ to: ImageFormat) throws {
        // Reading, turning and writing are 57,600 pixels at least.
        Self.expectStops(try Self.source(from), to: to, questions: 6)
    }

    @Test("so it does on an interlaced PNG, whose rows come seven times")
    func interlaced() {
        let passes = [(20, 15), (20, 15), (40, 15), (40, 30), (80, 30), (80, 60), (160, 60)]
        var rows: [UInt8] = []
        for (width, height) in passes {
            for _ in 0..<height { rows += [0] + [UInt8](repeating: 90, count: 3 * width) }
        }
        let source = PNGSample.file(
            160, 120, type: 2, depth: 8, rows: rows, interlace: 1, chunks: [("eXIf", ImageSamples.exif(6))])
        Self.expectStops(source, to: .png, questions: 20)
    }

    @Test("a job that nobody waits for isn't begun, and one that somebody waits for is done")
    func job() throws {
        let asker = ImageAsker()
        var rule = ImageRule()
        rule.longestSide = 20
        let job = try ImageJob(ImageSamples.quarters(64, 40), rule: rule)
        #expect(try job.run(for: asker) == job.run())
        asker.leave()
        #expect(throws: ImageFault.stopped) { try job.run(for: asker) }
    }
}
