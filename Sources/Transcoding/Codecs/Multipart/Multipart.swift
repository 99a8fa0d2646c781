/// The codec of multipart/form-data (RFC 7578, RFC 2046 §5.1).
public enum Multipart {}
