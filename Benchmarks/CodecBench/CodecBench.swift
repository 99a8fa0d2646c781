internal import CAllocations
internal import Glibc

/// Measures the codecs: `codec-bench measure FOLDER SECONDS [WORD...]` and `codec-bench allocations`; for a program that counts
/// instructions `codec-bench requests COUNT [WORD...]`, which converts small bodies COUNT times, and
/// `codec-bench coding COUNT [WORD...]`, which does the same with types of a program.
///
/// Prints one line for a case, fields separated by tabs, for `scripts/bench-codecs` to read. FOLDER has the documents
/// that the script has made; a WORD picks the cases that have it in their name.
@main
struct CodecBench {
    static func main() {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case "measure" where arguments.count >= 3:
            guard let seconds = Double(arguments[arguments.startIndex + 2]) else { usage() }
            measure(
                folder: arguments[arguments.startIndex + 1], seconds: seconds, words: Array(arguments.dropFirst(3)))
        case "requests" where arguments.count >= 2:
            guard let count = Int(arguments[arguments.startIndex + 1]) else { usage() }
            convertRequests(count: count, words: Array(arguments.dropFirst(2)))
        case "coding" where arguments.count >= 2:
            guard let count = Int(arguments[arguments.startIndex + 1]) else { usage() }
            code(count: count, words: Array(arguments.dropFirst(2)))
        case "allocations" where arguments.count == 1: countAllocations()
        default: usage()
        }
    }

    private static func measure(folder: String, seconds: Double, words: [String]) {
        for benchmark in Benchmark.all(folder: folder) {
            guard words.isEmpty || words.contains(where: { benchmark.name.contains($0) }) else { continue }
            let best = benchmark.best(seconds: seconds)
            print("\(benchmark.name)\t\(best.bytes)\t\(best.seconds)\t\(best.check)")
        }
    }

    private static func convertRequests(count: Int, words: [String]) {
        for request in RequestCase.all {
            guard words.isEmpty || words.contains(where: { request.name.contains($0) }) else { continue }
            print("\(request.name)\t\(request.body.count)\t\(count)\t\(request.run(count))")
        }
    }

    private static func code(count: Int, words: [String]) {
        for benchmark in Benchmark.codable() {
            guard words.isEmpty || words.contains(where: { benchmark.name.contains($0) }) else { continue }
            let (bytes, work) = benchmark.prepare()
            var check = 0
            for _ in 0..<count { check += work() }
            print("\(benchmark.name)\t\(bytes)\t\(count)\t\(check)")
        }
    }

    private static func countAllocations() {
        guard allocations_are_counted() != 0 else { fail("allocations can't be counted here") }
        for pipeline in AllocationCount.pipelines {
            let few = pipeline.allocations(items: 80)
            let many = pipeline.allocations(items: 800)
            print("\(pipeline.name)\t80\t\(few)\t800\t\(many)")
        }
    }

    private static func usage() -> Never {
        fail(
            "usage: codec-bench measure FOLDER SECONDS [WORD...] | requests COUNT [WORD...] | coding COUNT [WORD...] | "
                + "allocations")
    }
}

/// Ends the program with a sentence.
func fail(_ reason: String) -> Never {
    print("codec-bench: \(reason)")
    exit(64)
}
