import Serialization

func convertBody() throws {
    // A body in memory, from one encoding to another.
    var plan = ConversionPlan(inputs: [.form], output: .json)
    plan.fieldDecoding.types = .safe
    let form = Array("user[name]=Ada&user[age]=36&tags[]=a&tags[]=b".utf8)
    let json = try plan.convert(form, contentType: "application/x-www-form-urlencoded")
    show("form to JSON", json.contentType, String(decoding: json.body, as: UTF8.self))

    // A document in memory, to look at and to change on its way.
    var value = try Value(decoding: json.body, as: .json)
    value["user"]?["age"] = 37
    value["tags"] = nil
    show("form", String(decoding: try value.encoded(as: .form), as: UTF8.self))
    show("XML", String(decoding: try value.encoded(as: .xml), as: UTF8.self))

    // What can't be read says what and where.
    do {
        _ = try Value(decoding: #"{"a":[1,2,}"#)
    } catch {
        show("fault", error.code, "byte \(error.offset ?? -1), \(error.field ?? "")")
    }
}
