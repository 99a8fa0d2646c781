// `import Serialization` is all that a program needs: what its own declarations speak of comes along. That is the types of
// apple/swift-http-types, which is used without its Foundation part (its trait FoundationURL is off), the documents and options
// of the codecs, and conversions.
@_exported public import HTTPTypes
@_exported public import Transcoding
