internal import Octets
internal import Serialization
internal import Transcoding
import Transcoding

extension Benchmark {
    static func json(folder: String) -> [Benchmark] {
        [("compact", "twitter.json"), ("indented", "twitter-indented.json")].flatMap { shape, file in
            [
                Benchmark(name: "json -> events -> json, \(shape)") {
                    convert(Documents.read(file, in: folder), ConversionPlan(inputs: [.json], output: .json))
                },
                Benchmark(name: "json -> json, duplicates: reject, \(shape)") {
                    var plan = ConversionPlan(inputs: [.json], output: .json)
                    plan.jsonDuplicates = .reject
                    return convert(Documents.read(file, in: folder), plan)
                },
                Benchmark(name: "json -> events, \(shape)") { decode(Documents.read(file, in: folder)) },
                Benchmark(name: "json -> encoder, \(shape)") { transcode(Documents.read(file, in: folder)) },
            ]
        } + [
            Benchmark(name: "json -> form") {
                var plan = ConversionPlan(inputs: [.json], output: .form)
                plan.fieldEncoding.empties = .omit
                return convert(Documents.read("twitter.json", in: folder), plan)
            }
        ]
    }

    static func form(folder: String) -> [Benchmark] {
        [
            Benchmark(name: "form -> events -> json") { convertToJSON("form.txt", in: folder) },
            Benchmark(name: "form -> events -> json, names escaped") { convertToJSON("form-escaped.txt", in: folder) },
            Benchmark(name: "form -> tree") { buildTree(Documents.read("form.txt", in: folder)) },
            Benchmark(name: "form -> fields") { decode(form: Documents.read("form.txt", in: folder)) },
            Benchmark(name: "form -> form") {
                convert(
                    Documents.read("form.txt", in: folder), ConversionPlan(inputs: [.form], output: .form))
            },
            Benchmark(name: "form encode") { encodeForm(count: 1000) },
            Benchmark(name: "percent decode, every byte") {
                let text = Documents.repeating("%E6%97%A5%E6%9C%AC%E8%AA%9E", 27 * 20_000)
                return decode(form: Array("a=".utf8) + text)
            },
        ]
    }

    private static func convertToJSON(_ file: String, in folder: String) -> (Int, () -> Int) {
        convert(Documents.read(file, in: folder), ConversionPlan(inputs: [.form], output: .json))
    }

    /// The work of a whole conversion, fed in slices, with its output taken whenever it is full.
    static func convert(_ body: [UInt8], _ plan: ConversionPlan, type: String? = nil) -> (Int, () -> Int) {
        let type = Array((type ?? plan.inputs[0].mediaType).utf8)
        let conversion = make(plan, type)
        let work = {
            var written = 0
            do throws(ConversionError) {
                try conversion.restart(contentType: type.span, sources: [])
                let input = body.span
                var start = 0
                while start < input.count {
                    let slice = input.extracting(start..<min(start + Documents.slice, input.count))
                    start += try conversion.feed(slice)
                    if conversion.isFull { written += take(from: conversion) }
                }
                while try !conversion.finish() { written += take(from: conversion) }
            } catch { fail("\(error.reason) at \(error.offset ?? -1)") }
            return written + take(from: conversion)
        }
        return (body.count, work)
    }

    private static func make(_ plan: ConversionPlan, _ type: [UInt8]) -> Conversion {
        do throws(ConversionError) {
            return try Conversion.make(plan: plan, contentType: type.span)
        } catch { fail(error.reason) }
    }

    private static func take(from conversion: Conversion) -> Int {
        conversion.withOutput { output in
            let count = output.count
            output.drop(count)
            return count
        }
    }

    private static func decode(_ body: [UInt8]) -> (Int, () -> Int) {
        var options = JSON.DecodingOptions()
        options.duplicates = .keep
        let work = {
            var decoder = JSON.Decoder(options: options, limits: Limits())
            var sink = CountingEventSink()
            do throws(ConversionError) {
                let input = body.span
                var start = 0
                while start < input.count {
                    let slice = input.extracting(start..<min(start + Documents.slice, input.count))
                    start += try decoder.feed(slice, into: &sink)
                }
                try decoder.finish(into: &sink)
            } catch { fail(error.reason) }
            return sink.count
        }
        return (body.count, work)
    }

    /// The decoder straight into the encoder, as a program does that has no plan.
    private static func transcode(_ body: [UInt8]) -> (Int, () -> Int) {
        var options = JSON.DecodingOptions()
        options.duplicates = .keep
        var encoder = JSON.Encoder(options: JSON.EncodingOptions())
        let work = {
            var decoder = JSON.Decoder(options: options, limits: Limits())
            encoder.reset()
            var written = 0
            do throws(ConversionError) {
                let input = body.span
                var start = 0
                while start < input.count {
                    let slice = input.extracting(start..<min(start + Documents.slice, input.count))
                    start += try decoder.feed(slice, into: &encoder)
                    written += encoder.output.count
                    encoder.output.removeAll()
                }
                try decoder.finish(into: &encoder)
            } catch { fail(error.reason) }
            return written + encoder.output.count
        }
        return (body.count, work)
    }

    private static func decode(form body: [UInt8]) -> (Int, () -> Int) {
        let work = {
            var decoder = Form.Decoder(options: FieldDecodingOptions(), limits: Limits())
            var sink = CountingFieldSink()
            do throws(ConversionError) {
                let input = body.span
                var start = 0
                while start < input.count {
                    let slice = input.extracting(start..<min(start + Documents.slice, input.count))
                    start += try decoder.feed(slice, into: &sink)
                }
                try decoder.finish(into: &sink)
            } catch { fail(error.reason) }
            return sink.count
        }
        return (body.count, work)
    }

    private static func buildTree(_ body: [UInt8]) -> (Int, () -> Int) {
        var limits = Limits()
        limits.tree = 64 * 1024 * 1024
        var decoder = Form.Decoder(options: FieldDecodingOptions(), limits: limits)
        var builder = FieldTreeBuilder(options: FieldDecodingOptions(), limits: limits)
        let work = {
            decoder.reset()
            builder.reset()
            do throws(ConversionError) {
                let input = body.span
                var start = 0
                while start < input.count {
                    let slice = input.extracting(start..<min(start + Documents.slice, input.count))
                    start += try decoder.feed(slice, into: &builder)
                }
                try decoder.finish(into: &builder)
                try builder.settle()
            } catch { fail(error.reason) }
            return builder.tree.cost
        }
        return (body.count, work)
    }

    private static func encodeForm(count: Int) -> (Int, () -> Int) {
        var encoder = Form.Encoder(options: FieldEncodingOptions())
        let head = PartHead(name: Array("address[street]".utf8).span)
        let value = Documents.repeating("Some text that a person wrote into a field, in M\u{FC}nchen. ", 100)
        let bytes = count * (head.name.count + value.count)
        let work = {
            encoder.reset()
            do throws(ConversionError) {
                for _ in 0..<count {
                    try encoder.beginPart(head)
                    try encoder.content(value.span, isLast: true)
                }
            } catch { fail(error.reason) }
            return encoder.output.count
        }
        return (bytes, work)
    }
}
