import Octets
import Serialization
import TestSupport
import Testing
import Transcoding

/// `form-encode-vectors.json`: what the reference encoders write. A row of a library that is a dialect runs under it, another
/// one under the dialect that is next to it with single options changed.
@Suite("Form encode vectors")
struct FormEncodeVectorTests {
    /// The options of a reference and of its settings; nil where a setting has no counterpart.
    private func options(_ source: String, _ settings: String) -> FieldEncodingOptions? {
        var words: String
        switch source {
        case "qs": words = "dialect:qs"
        case "whatwg", "wpt.urlsearchparams-stringifier": words = "dialect:whatwg"
        case "rack.build_nested_query": words = "dialect:rack"
        case "php.http_build_query": words = "dialect:php"
        case "alamofire.URLEncodedFormEncoder": words = "dialect:alamofire"
        case "afnetworking.AFQueryStringFromParameters": words = "dialect:afnetworking"
        // No dialects. Alamofire's older encoder sorts keys and leaves arrays as they are, which is AFNetworking's way.
        case "alamofire.URLEncoding": words = "dialect:afnetworking"
        case "jquery.param": words = "dialect:qs arrays:auto"
        case "axios": words = "dialect:rack arrays:auto nulls:omit"
        case "rails.to_query": words = "dialect:rack order:sorted"
        case "go.url.Values.Encode": words = "dialect:whatwg order:sorted"
        case "python.urlencode": words = "dialect:qs nesting:flat spaces:plus"
        default: return nil
        }
        switch settings {
        case "{}", #"{"shape":"pairs"}"#, #"{"enc_type":"PHP_QUERY_RFC1738"}"#: break
        case #"{"arrayFormat":"brackets"}"#: words += " arrays:brackets"
        case #"{"arrayFormat":"repeat"}"#, #"{"indexes":null}"#, #"{"doseq":true}"#,
            #"{"arrayEncoding":"noBrackets"}"#:
            words += " arrays:repeat"
        case #"{"traditional":true}"#: words += " arrays:repeat nesting:flat"
        case #"{"arrayFormat":"comma"}"#, #"{"arrayFormat":"comma","commaRoundTrip":true}"#: words += " arrays:comma"
        case #"{"indexes":true}"#, #"{"arrayEncoding":"indexInBrackets"}"#: words += " arrays:indices"
        case #"{"allowEmptyArrays":true,"arrayFormat":"brackets"}"#: words += " arrays:brackets empties:marker"
        case #"{"allowDots":true}"#, #"{"allowDots":true,"encodeDotInKeys":true}"#, #"{"keyPathEncoding":"dots"}"#,
            #"{"dots":true}"#:
            words += " nesting:dots"
        case #"{"format":"RFC1738"}"#: words += " spaces:plus"
        case #"{"enc_type":"PHP_QUERY_RFC3986"}"#, #"{"quote_via":"quote"}"#: words += " spaces:percent"
        case #"{"skipNulls":true}"#: words += " nulls:omit"
        case #"{"strictNullHandling":true}"#: words += " nulls:key"
        case #"{"boolEncoding":"literal"}"#: words += " booleans:literal"
        case #"{"nilEncoding":"null"}"#: words += " nulls:literal"
        default: return nil
        }
        return FlattenerRow(words, "", "").options
    }

    /// What we write for a row, or the code of the refusal.
    private func outcome(_ row: FormTestDocument, _ options: FieldEncodingOptions) -> String {
        switch encodeForm(row["value"]!, options) {
        case .success(let form): form
        case .failure(let error): error.code
        }
    }

    private static let objects = "String(object) would lose the object in silence; it is refused"
    private static let shownObjects = [
        "fe-128", "fe-129", "fe-138", "fe-139", "fe-148", "fe-164", "fe-228", "fe-240", "fe-242", "fe-246", "fe-250",
        "fe-256", "fe-261", "fe-263", "fe-265", "fe-267", "fe-269",
    ]

    /// Rows whose bytes differ though we have all their settings, with the reason.
    private static let different: [String: String] = [
        "fe-059": "qs escapes nothing of that name: with an ampersand in it, it would be another form; ours is a%5B%5D",
        "fe-065": "commaRoundTrip, which marks an array of one, has no counterpart",
        "fe-114":
            "encodeDotInKeys has no counterpart: it escapes the separators too, so `a.b` is a flat name to qs itself",
        "fe-124": "encodeDotInKeys, as above",
        "fe-154": "encodeDotInKeys, as above",
        "fe-214": "jQuery leaves !'()* alone, which no dialect does",
        "fe-236": "jQuery's traditional joins inner arrays with commas",
        "fe-283": "axios writes NUL raw; it is always escaped here",
        "fe-304": "axios' dots spell elements a.0",
        "fe-305": "axios looks at all elements before it writes the first one",
        "fe-306": "axios' dots spell elements a.0",
        "fe-311": "axios has brackets for arrays of the root only",
        "fe-314": "axios' dots spell elements a.0",
        "fe-316": "axios' dots spell elements a.0",
        "fe-318": "axios' dots spell elements a.0",
        "fe-372": "Rails leaves ~ alone and not *, which is no dialect's set with spaces as +",
        "fe-488": "Go leaves ~ alone and not *, which is no dialect's set with spaces as +",
        "fe-494": "Python's repr is not a format",
    ].merging(shownObjects.map { ($0, objects) }) { first, _ in first }

    /// The settings without a counterpart, and how many rows have them.
    private static let withoutCounterpart = [
        // Of qs: bytes that another reader splits elsewhere, or other texts than UTF-8.
        #"{"encode":false}"#: 17, #"{"encodeValuesOnly":true}"#: 19, #"{"charset":"iso-8859-1"}"#: 4,
        #"{"charsetSentinel":true}"#: 1, #"{"charset":"iso-8859-1","charsetSentinel":true}"#: 1,
        #"{"addQueryPrefix":true}"#: 1, #"{"depth":1}"#: 1,
        // Of PHP: names for the elements of a root array; a separator that no form has any more.
        #"{"numeric_prefix":"n"}"#: 1, #"{"arg_separator":";"}"#: 1,
        // Of Alamofire: other names than the document's, which a map can give; a set of characters.
        #"{"keyEncoding":"convertToSnakeCase"}"#: 1, #"{"allowedCharacters":"afURLQueryAllowed minus ?/"}"#: 1,
    ]

    @Test("a row is written alike, or stands in the list of differences")
    func rows() {
        var alike = 0
        var withoutCounterpart: [String: Int] = [:]
        var different: Set<String> = []
        for row in formVectors("form-encode-vectors.json") {
            let settings = row["options"]!.canonical
            guard let options = options(row["source"]!.text!, settings) else {
                withoutCounterpart[settings, default: 0] += 1
                continue
            }
            if outcome(row, options) == row["expect"]!.text! {
                alike += 1
            } else {
                different.insert(row["id"]!.text!)
            }
        }
        #expect(alike == 303)
        #expect(withoutCounterpart == Self.withoutCounterpart)
        #expect(different == Set(Self.different.keys))
        #expect(alike + withoutCounterpart.values.reduce(0, +) + different.count == 386)
    }

    @Test("what would become [object Object] is refused by name", arguments: shownObjects)
    func objectsAreRefused(id: String) {
        let row = formVectors("form-encode-vectors.json").first { $0["id"]!.text == id }!
        let code = outcome(row, options(row["source"]!.text!, row["options"]!.canonical)!)
        #expect(code == "field_container_in_array" || code == "field_nested_object")
    }
}
