import Serialization

let serializer = HTTPRequestSerializer()
let request = try serializer.request(method: .get, url: "https://example.com/", parameters: ["q": "a & b"])
print(request.url)

// The snippets of the documentation, as one program. `make test` builds and runs it and compares what it prints.
try sendForm()
try sendJSON()
try foundationTypes()
try await uploadFile()
try followProgress()
try validateResponse()
try convertBody()
try readUpload()
try chooseDialect()
try documentComments()

/// Prints a title and what there is to see.
func show(_ title: String, _ lines: String...) {
    print("== \(title)")
    for line in lines { print(line.replacing("\r\n", with: "\n")) }
}
