internal import CXMLShims

/// libxml2, as the process has loaded it: not the one that it was built with.
package enum XMLLibrary {
    /// As `2.9.14`.
    package static var version: String {
        // SAFETY: a constant text of the library.
        let text = unsafe String(cString: recast_xml_version())
        // 20914, or 20914-GITv2.9.14.
        guard let number = Int(text.prefix { $0.isNumber }) else { return text }
        return "\(number / 10_000).\(number / 100 % 100).\(number % 100)"
    }
}
