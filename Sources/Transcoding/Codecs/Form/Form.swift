/// application/x-www-form-urlencoded: bytes to fields and back, by the rules of the WHATWG URL standard §5.
///
/// Names are taken and written whole, brackets and all. What structure they spell is the business of a `Dialect`.
public enum Form {}
