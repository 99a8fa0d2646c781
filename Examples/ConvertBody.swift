import Serialization

private struct User: Decodable {
    var name: String
    var age: Int
    var admin: Bool
}

func convertBody() throws {
    // A body in memory, from one encoding to another.
    var plan = ConversionPlan(inputs: [.form], output: .json)
    plan.fieldDecoding.types = .safe
    let form = Array("user[name]=Ada&user[age]=36&tags[]=a&tags[]=b".utf8)
    let json = try plan.convert(form, contentType: "application/x-www-form-urlencoded")
    show("form to JSON", json.contentType, String(decoding: json.body, as: UTF8.self))

    // A body in pieces: an upload becomes JSON, its file base64 on the way.
    var upload = ConversionPlan(inputs: [.multipart], output: .json)
    upload.fieldDecoding.files = .base64
    var parts = try MultipartFormData(boundary: "example-boundary")
    try parts.append("Ada", name: "user[name]")
    try parts.append(Array("hello".utf8), name: "note", fileName: "note.txt", mimeType: "text/plain")
    let arriving = try parts.makeStream()
    let conversion = try Conversion.make(plan: upload, contentType: parts.contentType)
    var converted: [UInt8] = []
    while arriving.hasBytesAvailable {
        converted += try conversion.convert(arriving.read(upTo: 32))
    }
    converted += try conversion.convertEnd()
    show("in pieces", String(decoding: converted, as: UTF8.self))

    // Members on their way: one gets another name, one is put in, and texts become the numbers that they are declared to be.
    var rules = ConversionPlan(inputs: [.form], output: .json)
    rules.map.rename = [.init(from: try FieldPath(parsing: "user.mail"), to: try FieldPath(parsing: "email"))]
    rules.map.set = [.init(path: try FieldPath(parsing: "source"), value: .literal(.string("web")))]
    rules.types = [.init(path: try FieldPath(parsing: "ids[*]"), type: .integer)]
    let ruled = try rules.convert(
        Array("user[mail]=ada@example.com&user[name]=Ada&ids[]=1&ids[]=2".utf8),
        contentType: "application/x-www-form-urlencoded")
    show("rules", String(decoding: ruled.body, as: UTF8.self))

    // A document in memory, to look at and to change on its way.
    var value = try Value(decoding: json.body, as: .json)
    value["user"]?["age"] = 37
    value["tags"] = nil
    show("form", String(decoding: try value.encoded(as: .form), as: UTF8.self))
    show("XML", String(decoding: try value.encoded(as: .xml), as: UTF8.self))

    // Text is read as numbers, booleans and nil where the type asks for them, as the dialect writes them.
    let decoder = ValueDecoder(reading: .afnetworking)
    let user = try decoder.decode(User.self, from: "name=Ada&age=36&admin=1", as: .form)
    show("own type", "\(user.name) \(user.age) \(user.admin)")

    // What can't be read says what and where.
    do {
        _ = try Value(decoding: #"{"a":[1,2,}"#)
    } catch {
        show("fault", error.code, "byte \(error.offset ?? -1), \(error.field ?? "")")
    }
}
