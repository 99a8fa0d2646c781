internal import Transcoding

/// Media types by the extension of a filename: what the parts of a form are declared as when it is not said.
public enum MediaTypeTable {
    /// What a file is called of which nothing is known.
    public static let unknown = "application/octet-stream"

    /// The media type for a filename's extension in any case, `unknown` where there is none in the table.
    public static func mediaType(forFileName name: String) -> String {
        guard let dot = name.utf8.lastIndex(of: UInt8(ascii: ".")), dot != name.startIndex else { return unknown }
        return mediaType(forExtension: String(name[name.utf8.index(after: dot)...]))
    }

    /// The media type for an extension without its dot, in any case.
    public static func mediaType(forExtension pathExtension: String) -> String {
        types[pathExtension.lowercased()] ?? unknown
    }

    private static let types: [String: String] = [
        "7z": "application/x-7z-compressed", "aac": "audio/aac", "aif": "audio/aiff", "aiff": "audio/aiff",
        "avi": "video/x-msvideo", "avif": "image/avif", "bin": unknown, "bmp": "image/bmp",
        "bz2": "application/x-bzip2",
        "cer": "application/x-x509-ca-cert", "crt": "application/x-x509-ca-cert", "css": "text/css", "csv": "text/csv",
        "der": "application/x-x509-ca-cert", "doc": "application/msword",
        "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "eml": "message/rfc822", "epub": "application/epub+zip", "flac": "audio/flac", "gif": "image/gif",
        "gz": "application/gzip", "heic": "image/heic", "heif": "image/heif", "htm": "text/html", "html": "text/html",
        "ico": "image/vnd.microsoft.icon", "ics": "text/calendar", "jpe": "image/jpeg", "jpeg": "image/jpeg",
        "jpg": "image/jpeg", "js": "text/javascript", "json": "application/json", "jsonl": "application/jsonl",
        "jxl": "image/jxl", "log": "text/plain", "m4a": "audio/mp4", "m4v": "video/x-m4v", "md": "text/markdown",
        "mid": "audio/midi", "mjs": "text/javascript", "mkv": "video/x-matroska", "mov": "video/quicktime",
        "mp3": "audio/mpeg", "mp4": "video/mp4", "mpeg": "video/mpeg", "mpg": "video/mpeg",
        "odp": "application/vnd.oasis.opendocument.presentation",
        "ods": "application/vnd.oasis.opendocument.spreadsheet", "odt": "application/vnd.oasis.opendocument.text",
        "oga": "audio/ogg", "ogg": "audio/ogg", "ogv": "video/ogg", "opus": "audio/ogg", "otf": "font/otf",
        "p12": "application/x-pkcs12", "pdf": "application/pdf", "pem": "application/x-pem-file",
        "pfx": "application/x-pkcs12", "plist": "application/x-plist", "png": "image/png",
        "ppt": "application/vnd.ms-powerpoint",
        "pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "ps": "application/postscript", "psd": "image/vnd.adobe.photoshop", "rar": "application/vnd.rar",
        "rtf": "application/rtf", "svg": "image/svg+xml", "tar": "application/x-tar", "tif": "image/tiff",
        "tiff": "image/tiff", "tsv": "text/tab-separated-values", "ttf": "font/ttf", "txt": "text/plain",
        "vcf": "text/vcard", "wasm": "application/wasm", "wav": "audio/wav", "weba": "audio/webm",
        "webm": "video/webm", "webp": "image/webp", "woff": "font/woff", "woff2": "font/woff2",
        "xhtml": "application/xhtml+xml", "xls": "application/vnd.ms-excel",
        "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", "xml": "application/xml",
        "yaml": "application/yaml", "yml": "application/yaml", "zip": "application/zip", "zst": "application/zstd",
    ]
}
