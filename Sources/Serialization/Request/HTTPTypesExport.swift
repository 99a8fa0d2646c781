// The front speaks in the types of apple/swift-http-types. They are exported so that `import Serialization` is all that a
// program needs; the package is used without its Foundation part (its trait FoundationURL is off).
@_exported public import HTTPTypes
