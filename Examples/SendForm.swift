import Serialization

func sendForm() throws {
    // GET: the parameters go into the query.
    let serializer = HTTPRequestSerializer()
    let search = try serializer.request(
        method: .get, url: "https://example.com/search?page=1",
        parameters: ["q": "swift & libevent", "tags": ["new", "free"]])
    show("GET", search.url)

    // POST: the parameters become the body.
    let signUp = try serializer.request(
        method: .post, url: "https://example.com/users",
        parameters: ["user": ["name": "Ada", "admin": false], "newsletter": nil])
    let body = String(decoding: signUp.bodyBytes ?? [], as: UTF8.self)
    show("POST", signUp.head.headerFields[.contentType] ?? "", body)

    // Header fields of all requests, and of one.
    var api = HTTPRequestSerializer()
    try api.setAuthorization(username: "user", password: "password")
    try api.setAcceptLanguage(["en-US", "de"])
    try api.setUserAgent(product: "Example", version: "1.0", comment: "Linux")
    try api.setValue("42", forHeaderField: "X-Tenant")
    let request = try api.request(
        method: .delete, url: "https://example.com/users/7", headerFields: [.accept: "application/json"])
    for field in request.head.headerFields { show("field", "\(field.name): \(field.value)") }

    // A query of your own making.
    api.querySerialization = { _, parameters in
        parameters.object?.map { "\($0.key):\($0.value)" }.joined(separator: ";")
    }
    show("own query", try api.request(method: .get, url: "https://example.com/", parameters: ["a": 1, "b": 2]).url)

    // What can't be sent says why.
    do {
        _ = try HTTPRequestSerializer(dialect: .recast)
            .request(method: .post, url: "https://example.com/", parameters: ["user": ["tags": []]])
    } catch {
        show("error", "\(error.kind) \(error.domain) \(error.code)", error.conversion?.field ?? "")
    }
}
