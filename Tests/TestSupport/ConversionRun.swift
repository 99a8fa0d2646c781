public import Octets
public import Transcoding

/// One body through one conversion: what came out, or why not.
public struct ConversionRun: Hashable, Sendable {
    /// All bytes that were written, also before an error. A random boundary reads as `BOUNDARY`.
    public var output: ByteString
    /// The lengths of what was left in the input, one after the other.
    public var passed: [Int] = []
    public var failure: ConversionError?
    public var accounting = Accounting()
    public var contentType: ByteString = ""
    /// What the conversion did against its contract; a test expects it to be empty.
    public var violations: [String] = []

    /// The output of a whole conversion, or the error's code and field.
    public var result: String {
        if let failure { return "!" + failure.code + (failure.field.map { " " + $0 } ?? "") }
        return String(decoding: output.bytes, as: UTF8.self)
    }

    /// Runs `cut` through `plan`. Output is taken whenever `highWatermark` bytes wait. `passes`: long content may stay in the
    /// input.
    public static func run(
        _ plan: ConversionPlan, _ cut: Cut, type: String? = nil, sources: [String] = [],
        highWatermark: Int = OutputBuffer.defaultHighWatermark, passes: Bool = false
    ) -> ConversionRun {
        let type = type ?? plan.inputs.first.map { defaultType($0) } ?? ""
        let given = sources.map { Array($0.utf8) }
        do throws(ConversionError) {
            let conversion = try Conversion.make(plan: plan, contentType: Array(type.utf8).span, sources: given)
            return run(conversion, cut, highWatermark: highWatermark, passes: passes)
        } catch {
            return ConversionRun(output: "", failure: error)
        }
    }

    /// Runs `cut` through a conversion that has taken nothing yet.
    public static func run(
        _ conversion: Conversion, _ cut: Cut, highWatermark: Int = OutputBuffer.defaultHighWatermark,
        passes: Bool = false
    ) -> ConversionRun {
        var buffer = OutputBuffer(highWatermark: highWatermark)
        conversion.swapOutput(&buffer)
        var run = ConversionRun(output: "")
        func take() {
            conversion.withOutput { output in
                run.output.bytes.append(contentsOf: output.span)
                output.drop(output.count)
            }
        }
        do throws(ConversionError) {
            for slice in cut.slices {
                var start = 0
                repeat {
                    let rest = slice.span.extracting(start..<slice.count)
                    var passed = 0..<0
                    let consumed = try passes ? conversion.feed(rest, passing: &passed) : conversion.feed(rest)
                    start += consumed
                    if !passed.isEmpty {
                        if passed.upperBound > consumed { run.violations.append("passed what was not consumed") }
                        take()
                        run.output.bytes.append(contentsOf: rest.extracting(passed))
                        run.passed.append(passed.count)
                    } else if start < slice.count, !conversion.isFull {
                        run.violations.append("left \(slice.count - start) bytes though the output was not full")
                        break
                    }
                    if conversion.isFull { take() }
                    if let file = conversion.takeFile() { conversion.settleFile(turned(file)) }
                } while start < slice.count
            }
            while try !conversion.finish() {
                if let file = conversion.takeFile() { conversion.settleFile(turned(file)) }
                if !conversion.isFull {
                    run.violations.append("not finished though the output was not full")
                    break
                }
                take()
            }
        } catch {
            run.failure = error
            run.checkThatItIsOver(conversion, error)
        }
        take()
        run.accounting = conversion.accounting
        run.contentType = ByteString(conversion.contentType)
        run.hideBoundary()
        return run
    }

    /// What becomes of a picture here: its bytes, the last one first. One that is `same` passes as it is.
    private static func turned(_ file: HeldFile) -> SettledFile {
        if file.content == Array("same".utf8) { return SettledFile(content: file.content) }
        return SettledFile(
            content: file.content.reversed(), mediaType: Array("image/turned".utf8),
            filename: file.filename.map { $0 + Array(".turned".utf8) })
    }

    /// After an error the same error comes again, whatever is called.
    private mutating func checkThatItIsOver(_ conversion: Conversion, _ failure: ConversionError) {
        let before = conversion.outputCount
        do throws(ConversionError) {
            _ = try conversion.feed(Array("x".utf8).span)
            violations.append("fed after an error")
        } catch {
            if error != failure { violations.append("another error by feed: \(error)") }
        }
        do throws(ConversionError) {
            _ = try conversion.finish()
            violations.append("finished after an error")
        } catch {
            if error != failure { violations.append("another error by finish: \(error)") }
        }
        if conversion.outputCount != before { violations.append("wrote after an error") }
    }

    private mutating func hideBoundary() {
        let type = String(decoding: contentType.bytes, as: UTF8.self)
        guard let range = type.range(of: "boundary=") else { return }
        let boundary = Array(type[range.upperBound...].utf8)
        output = ByteString(output.bytes.replacing(boundary, with: Array("BOUNDARY".utf8)))
        contentType = ByteString(contentType.bytes.replacing(boundary, with: Array("BOUNDARY".utf8)))
    }

    /// The Content-Type that tests send a body of that encoding with.
    public static func defaultType(_ encoding: BodyEncoding) -> String {
        encoding == .multipart ? "multipart/form-data; boundary=b" : encoding.mediaType
    }
}

extension String {
    fileprivate func range(of text: String) -> Range<Index>? {
        var at = startIndex
        while at < endIndex {
            if self[at...].hasPrefix(text) { return at..<index(at, offsetBy: text.count) }
            at = index(after: at)
        }
        return nil
    }
}
