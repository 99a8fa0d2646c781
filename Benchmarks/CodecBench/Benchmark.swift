/// One case: what is done over and over, and the bytes it takes.
struct Benchmark {
    struct Result {
        var bytes: Int
        /// Of the fastest round.
        var seconds: Double
        /// What the work gave, so that two sides can be seen to have done the same, and nothing is left out as unused.
        var check: Int
    }

    let name: String
    /// Makes what the work needs, which isn't measured, and returns the bytes of the input and the work.
    let prepare: () -> (bytes: Int, work: () -> Int)

    /// The fastest of the rounds that fit into `seconds`, three at least.
    func best(seconds: Double) -> Result {
        let (bytes, work) = prepare()
        let clock = ContinuousClock()
        let end = clock.now + .seconds(seconds)
        var result = Result(bytes: bytes, seconds: .infinity, check: work())
        var rounds = 0
        while rounds < 3 || clock.now < end {
            let start = clock.now
            let check = work()
            let elapsed = start.duration(to: clock.now) / .seconds(1)
            guard check == result.check else { fail("\(name) gave \(check), and \(result.check) before") }
            result.seconds = min(result.seconds, elapsed)
            rounds += 1
        }
        return result
    }

    static func all(folder: String) -> [Benchmark] {
        multipart() + json(folder: folder) + form(folder: folder) + codable() + octets()
    }
}
