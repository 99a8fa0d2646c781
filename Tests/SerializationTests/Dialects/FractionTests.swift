import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("Fractions in all dialects")
struct FractionTests {
    private struct Numbers {
        var state: UInt64

        mutating func next(_ bound: Int) -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33) % bound
        }

        /// A fraction as Swift, JavaScript, Ruby and Python write it, or with more digits than a floating-point number has.
        mutating func fraction() -> String {
            while true {
                let scale = [0.1, 1, 100, 1e6, 1e13][next(5)]
                let fraction = Double(next(1 << 30)) / 0x1p30 + Double(next(1 << 30)) / 0x1p60
                let number = (next(2) == 0 ? 1 : -1) * scale * fraction
                guard abs(number) >= 0.01, number != number.rounded() else { continue }
                return "\(number)" + String(repeating: "3", count: next(4) == 0 ? next(12) : 0)
            }
        }
    }

    @Test("one that isn't written with an exponent stays as it stands, however many digits it has", arguments: 0..<4)
    func stay(_ seed: Int) {
        var numbers = Numbers(state: UInt64(seed + 1))
        let texts = (0..<200).map { _ in numbers.fraction() }
        let body = Array(("{" + texts.enumerated().map { "\"m\(1000 + $0)\":\($1)" }.joined(separator: ",") + "}").utf8)
        let wanted = texts.enumerated().map { "m\(1000 + $0)=\($1)" }.joined(separator: "&")
        for dialect in [Dialect.recast, .php, .rack, .qs, .afnetworking, .alamofire] {
            let plan = plan(.json, .form) { $0.fieldEncoding = FieldEncodingOptions(dialect: dialect) }
            for cut in [Cut.whole(body), .every(32, of: body)] {
                #expect(ConversionRun.run(plan, cut).result == wanted, "\(dialect)")
            }
        }
    }
}
