import Serialization

func chooseDialect() throws {
    // The same parameters as different servers want them.
    let parameters: Value = ["items": [["sku": "A", "qty": 2], ["sku": "B", "qty": 1]], "gift": true]
    for dialect in [Dialect.afnetworking, .recast, .php] {
        let query = try HTTPRequestSerializer.queryString(from: parameters, dialect: dialect)
        let plain = query.replacing("%5B", with: "[").replacing("%5D", with: "]")
        show("\(dialect)", plain)
    }

    // A dialect with one option changed.
    var serializer = HTTPRequestSerializer(dialect: .afnetworking)
    serializer.encoding.booleans = .literal
    serializer.encoding.arrays = .indices
    let request = try serializer.request(
        method: .get, url: "https://example.com/", parameters: ["ids": [3, 4], "all": false])
    show("options", request.url)
}
