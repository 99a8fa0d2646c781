internal import FuzzTargets
internal import Glibc

/// The target that `RECAST_FUZZ_TARGET` names. libFuzzer brings the main function.
private let target: FuzzTarget = {
    // SAFETY: nothing changes the environment of this process, and the text is copied at once.
    let name = unsafe getenv("RECAST_FUZZ_TARGET").map { unsafe String(cString: $0) } ?? ""
    guard let target = FuzzTarget.named(name) else {
        // scripts/fuzz reads this: each target with the folder of Tests/Corpus that it begins with.
        let names = FuzzTarget.all.map { "\($0.name)/\($0.corpus)" }
        fatalError("set RECAST_FUZZ_TARGET to one of: \(names.joined(separator: " "))")
    }
    return target
}()

/// What libFuzzer calls for each input.
@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    // SAFETY: libFuzzer gives `count` readable bytes, which are copied.
    let input = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    if let violation = target.violation(of: input) { fatalError("\(target): \(violation)") }
    return 0
}
