internal import Proxy

/// Reads `mode`, who may connect to a unix socket, beside its address.
struct SocketModeReader {
    let context: ReadingContext

    /// Takes `mode` of `section`.
    /// - Parameters:
    ///   - address: what the section says of it; nil for one that can't be read, or that says `off`.
    ///   - path: what stands before the key in the list of effective values.
    func read(_ section: SectionReader, at address: ListenAddress?, path: String) -> SocketMode? {
        switch address {
        case nil: _ = section.take("mode")
        case .tcp: section.refuse("mode", "is for the file of a unix socket, and this address has none")
        case .systemd: section.refuse("mode", "isn't set here: write SocketMode= in the unit of the socket")
        case .unix: return mode(section, path)
        }
        return nil
    }

    private func mode(_ section: SectionReader, _ path: String) -> SocketMode? {
        guard let node = section.take("mode"), let text = context.text(node, "\"mode\"") else { return nil }
        guard let mode = SocketMode(octal: text) else {
            context.report(
                node.position,
                "\"mode\" is three octal digits that let the owner write, as in 0660 for the owner and the group, not \"\(text)\""
            )
            return nil
        }
        context.record("\(path).mode", mode.description, .line(node.position.line))
        return mode
    }
}
