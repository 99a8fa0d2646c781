import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

@Suite("Fractions in all dialects")
struct FractionTests {
    /// A fraction as Swift, JavaScript, Ruby and Python write it, or with more digits than a floating-point number has.
    private static func fraction(_ numbers: inout SplitMix) -> String {
        while true {
            let scale = [0.1, 1, 100, 1e6, 1e13][numbers.below(5)]
            let number = scale * Double.random(in: -1..<1, using: &numbers)
            guard abs(number) >= 0.01, number != number.rounded() else { continue }
            return "\(number)" + String(repeating: "3", count: numbers.below(4) == 0 ? numbers.below(12) : 0)
        }
    }

    @Test("one that isn't written with an exponent stays as it stands, however many digits it has", arguments: 0..<4)
    func stay(_ seed: Int) {
        var numbers = SplitMix(state: UInt64(seed + 1))
        let texts = (0..<200).map { _ in Self.fraction(&numbers) }
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
