internal import CConsole
internal import HTTPWire
internal import Octets

/// The files of the console's page, which anybody may have: they hold no data, and ask for it by the token.
enum ConsolePage {
    /// Nothing from elsewhere, nothing inline, in nobody's frame; the token in the address's fragment goes nowhere.
    private static let fields: StaticString = """
        Content-Security-Policy: default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
        img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r
        X-Content-Type-Options: nosniff\r
        Referrer-Policy: no-referrer\r
        Cross-Origin-Opener-Policy: same-origin\r
        Cross-Origin-Resource-Policy: same-origin\r

        """

    /// The answer to a request for the page, at `/console`, or for a file of it below; nil where there is none of that name.
    static func answer(path: String) -> AdminResponse? {
        let root = AdminEndpoint.console.rawValue
        if path == root { return file("index.html") }
        // The page's own address is without it, so that names of files are relative to it.
        guard path.hasPrefix(root + "/") else { return nil }
        return file(String(path.dropFirst(root.count + 1)))
    }

    private static func file(_ name: String) -> AdminResponse? {
        var name = name
        let found = name.withUTF8 { name -> OutputBuffer? in
            // SAFETY: the name is read during the call, and what is found is a constant of the program.
            unsafe name.withMemoryRebound(to: CChar.self) { name in
                guard let file = unsafe recast_console_file_named(name.baseAddress, name.count) else { return nil }
                var output = OutputBuffer()
                unsafe output.append(
                    Span(_unsafeStart: file.pointee.bytes, count: file.pointee.count))
                return output
            }
        }
        guard let found else { return nil }
        var answer = AdminResponse(contentType: type(of: name), body: found)
        answer.fields = fields
        return answer
    }

    private static func type(of name: String) -> StaticString {
        if name.hasSuffix(".html") { return "text/html; charset=utf-8" }
        if name.hasSuffix(".css") { return "text/css; charset=utf-8" }
        return "text/javascript; charset=utf-8"
    }
}
