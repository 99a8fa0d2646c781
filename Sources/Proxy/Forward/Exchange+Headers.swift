internal import EventLoop
internal import Gateway
internal import HTTPWire
internal import Octets

// Header rules: the route's last word on the fields of both heads (docs/forwarding.md).
extension Exchange {
    /// Takes what the rules want of the request's head, before anything goes upstream. It is refused where a
    /// value could begin a line of its own.
    func takeHeaderValues(_ editors: HeaderEditors) throws(Refusal) {
        headerLines.removeAll(keepingCapacity: true)
        // Nothing of a head has been written yet: the buffer is free for the address.
        if editors.readsClient, let client, !client.isUnix { client.appendIP(to: &framed) }
        defer { framed.removeAll() }
        do throws(HeaderValueFault) {
            try editors.request?.appendLines(
                from: request, captures: captures, client: framed.span, to: &headerLines)
            responseHeaderLines = headerLines.count
            try editors.response?.appendLines(
                from: request, captures: captures, client: framed.span, to: &headerLines)
            hasHeaderLines = true
        } catch {
            throw .headerValue(error)
        }
    }

    /// Gives the route's rules their last word on the fields of the request that `output` ends with.
    func applyRequestRules(_ editor: HeaderEditor, to output: inout OutputBuffer, at position: HeadEdits.Position) {
        let lines = hasHeaderLines ? headerLines : editor.constants
        let end = hasHeaderLines ? responseHeaderLines : lines.count
        record.headers = editor.apply(to: &output, at: position, adding: lines.span.extracting(0..<end))
    }

    /// Gives the route's rules their last word on the fields of the upstream's response, as `applyRequestRules`.
    func applyResponseRules(_ editor: HeaderEditor, to output: inout OutputBuffer, at position: HeadEdits.Position) {
        let lines = hasHeaderLines ? headerLines : editor.constants
        let first = hasHeaderLines ? responseHeaderLines : 0
        record.responseHeaders = editor.apply(
            to: &output, at: position, adding: lines.span.extracting(first..<lines.count))
    }

    /// Adds to an answer of ours, whose fields stand in `output` from `start` on, what the route's rules set and add.
    func appendRuledFields(to output: inout OutputBuffer, from start: Int) {
        guard let editor = route?.headers?.response else { return }
        let lines = hasHeaderLines ? headerLines : editor.constants
        let first = hasHeaderLines ? responseHeaderLines : 0
        record.responseHeaders.written = HeaderEditor.appendOthers(
            lines.span.extracting(first..<lines.count), to: &output, from: start)
    }
}
