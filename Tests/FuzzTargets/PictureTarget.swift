internal import Images
internal import Transcoding

/// Pictures made smaller: read, turned, scaled, written, or stripped, by a rule that the first byte chooses.
extension FuzzTarget {
    /// Whatever comes is a fault, or a picture of the format and the size that the rule demands, to which the rule does nothing
    /// more; and as much for the same bytes every time.
    static var picture: FuzzTarget {
        FuzzTarget("picture", corpus: "picture") { variant, body in
            let rule = rule(variant.byte)
            let job: ImageJob
            do throws(ImageFault) {
                job = try ImageJob(body, rule: rule)
            } catch {
                return nil
            }
            let (width, height) = (job.header.width, job.header.height)
            if width < 1 || height < 1 { return "no pixels: \(width) x \(height)" }
            if width * height > rule.pixels { return "\(width) x \(height) pixels were let in" }
            if !job.isNeeded, job.memory > 0 { return "\(job.memory) bytes for nothing" }
            let made: [UInt8]
            do throws(ImageFault) {
                made = try job.run()
            } catch {
                return error == .memory ? "there is no memory for \(job.memory) bytes" : nil
            }
            guard job.isNeeded else { return made == body ? nil : "it doesn't pass as it is" }
            if (try? job.run()) != made { return "it becomes something else each time" }
            do throws(ImageFault) {
                let again = try ImageJob(made, rule: rule)
                if again.header.format != job.format { return "it became \(again.header.format)" }
                if again.isNeeded { return "\(again.header.width) x \(again.header.height) is to be changed again" }
                // Whoever gets it can read it, unless what came could not be read and lost its metadata alone.
                var small = ImageRule()
                small.format = .png
                small.width = 1
                if (try? ImageJob(made, rule: small).run()) != nil { return nil }
                return (try? ImageJob(body, rule: small).run()) == nil ? nil : "what was made of it can't be decoded"
            } catch {
                return "what was made of it can't be read: \(error)"
            }
        }
    }

    private static func rule(_ byte: UInt8) -> ImageRule {
        var rule = ImageRule()
        // What is decoded for one input is bounded, so that there are many a second.
        rule.pixels = 1 << 16
        rule.format = [nil, .jpeg, .png, .webp][Int(byte & 3)]
        rule.keepsMetadata = byte & 4 != 0
        let side: Int? = [nil, 1, 7, 33][Int(byte >> 3 & 3)]
        switch byte >> 5 & 3 {
        case 0: rule.longestSide = side
        case 1: rule.width = side
        case 2: rule.height = side
        default: (rule.longestSide, rule.quality) = (side, 95)
        }
        if byte & 0x80 != 0 { rule.quality = 1 }
        return rule
    }
}
