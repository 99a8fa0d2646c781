internal import Octets
import Serialization
internal import Transcoding

/// What a program that links the library calls with bytes from elsewhere.
extension FuzzTarget {
    /// A document as a value: what was read is written and read again as the same value.
    static var value: FuzzTarget {
        FuzzTarget("value", corpus: "value") { variant, body in
            var options = DocumentOptions()
            options.limits = limits
            options.formDecoding = decoding(.form, variant)
            let format = DocumentFormat.allCases[Int(variant.byte) % DocumentFormat.allCases.count]
            guard let value = try? Value(decoding: body, as: format, options: options) else { return nil }
            // What can be read of it as another type is for the type to say; nothing may trap.
            let decoder = ValueDecoder()
            _ = try? decoder.decode([String: Double].self, from: value)
            _ = try? decoder.decode([[Int8]].self, from: value)
            _ = try? decoder.decode([String: [UInt64]].self, from: value)
            // A form has other names for some values, and no types.
            guard format != .form else { return nil }
            options.propertyListEncoding.format = variant.bit ? .binary : .xml
            // Objects of an XML document in memory count for more than its text.
            options.limits.tree = 1 << 30
            guard let written = try? value.encoded(as: format, options: options) else { return nil }
            do {
                let again = try Value(decoding: written, as: format, options: options)
                return again == value ? nil : "read again: \(again) after \(value)"
            } catch {
                return "what was written can't be read: \(error)"
            }
        }
    }

    /// An image's header: a size of at least one pixel, which doesn't depend on what follows the header's end.
    static var image: FuzzTarget {
        FuzzTarget("image", corpus: "image") { variant, body in
            let whole = ImageHeader(body)
            if let whole, whole.width < 1 || whole.height < 1 { return "no pixels: \(whole.width) x \(whole.height)" }
            _ = ImageHeader(Array(body.prefix(Int(variant.byte))))
            guard let whole, let longer = ImageHeader(body + [0]) else { return nil }
            let isSame = (longer.format, longer.width, longer.height) == (whole.format, whole.width, whole.height)
            return isSame ? nil : "a byte behind the image changes it"
        }
    }
}
