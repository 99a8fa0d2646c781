import Octets
import Serialization
import TestSupport
import Testing

/// `form-encode-vectors.json`: what the reference encoders write. A row runs with the options that say the same.
@Suite("Form encode vectors")
struct FormEncodeVectorTests {
    /// The options of a reference and of its settings; nil where a setting has no counterpart.
    private func options(_ source: String, _ settings: String) -> FieldEncodingOptions? {
        var words: String
        switch source {
        case "qs": words = "arrays:indices empties:omit"
        case "jquery.param": words = "empties:omit"
        case "axios": words = "nulls:omit spaces:plus empties:omit"
        case "whatwg", "wpt.urlsearchparams-stringifier": words = "nesting:flat spaces:plus"
        case "rack.build_nested_query", "rails.to_query": words = "arrays:brackets nulls:key spaces:plus empties:omit"
        case "php.http_build_query": words = "arrays:indices nulls:omit booleans:numeric spaces:plus empties:omit"
        case "go.url.Values.Encode": words = "arrays:repeat nesting:flat spaces:plus"
        case "python.urlencode": words = "spaces:plus"
        case "alamofire.URLEncodedFormEncoder", "alamofire.URLEncoding":
            words = "arrays:brackets nulls:omit booleans:numeric empties:omit"
        case "afnetworking.AFQueryStringFromParameters": words = "arrays:brackets nulls:key empties:omit"
        default: return nil
        }
        switch settings {
        case "{}", #"{"shape":"pairs"}"#, #"{"enc_type":"PHP_QUERY_RFC1738"}"#: break
        case #"{"arrayFormat":"brackets"}"#: words += " arrays:brackets"
        case #"{"arrayFormat":"repeat"}"#, #"{"indexes":null}"#, #"{"traditional":true}"#, #"{"doseq":true}"#,
            #"{"arrayEncoding":"noBrackets"}"#:
            words += " arrays:repeat"
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
        let value = row["value"]!
        guard row["options"]!["shape"]?.text == "pairs" else {
            switch encodeForm(value, options) {
            case .success(let form): return form
            case .failure(let error): return error.code
            }
        }
        var encoder = Form.Encoder(options: options)
        for pair in value.elements {
            let (name, content) = (pair.elements[0].bytes!, pair.elements[1].bytes!)
            try! encoder.beginPart(PartHead(name: name.span))
            try! encoder.content(content.span, isLast: true)
        }
        return encoder.output.span.lossyString()
    }

    /// Rows whose bytes differ though both sides write the document: what we don't have, or do on purpose.
    private static let different: [String: String] = [
        "fe-020": "the set of bytes that stay as they are is WHATWG's",
        "fe-021": "the set of bytes that stay as they are is WHATWG's",
        "fe-059": "an empty array is `a[]=`, not `a[]`",
        "fe-065": "an array of one is not marked under comma",
        "fe-114": "qs escapes every dot, the separators too",
        "fe-124": "qs escapes every dot, the separators too",
        "fe-154": "qs escapes every dot, the separators too",
        "fe-214": "the set of bytes that stay as they are is WHATWG's",
        "fe-228": "objects are not written as [object Object]",
        "fe-240": "objects are not written as [object Object]",
        "fe-242": "objects are not written as [object Object]",
        "fe-265": "objects are not written as [object Object]",
        "fe-283": "NUL is always escaped",
        "fe-304": "elements keep brackets under dots, as in qs",
        "fe-311": "auto looks at the array alone, not at its depth",
        "fe-314": "elements keep brackets under dots, as in qs",
        "fe-316": "elements keep brackets under dots, as in qs",
        "fe-318": "elements keep brackets under dots, as in qs",
        "fe-372": "the set of bytes that stay as they are is WHATWG's",
        "fe-485": "sorting is the work of the tree",
        "fe-488": "the set of bytes that stay as they are is WHATWG's",
        "fe-494": "Python's repr is not a format",
        "fe-512": "the set of bytes that stay as they are is WHATWG's",
        "fe-519": "sorting is the work of the tree",
        "fe-525": "the set of bytes that stay as they are is WHATWG's",
    ]

    @Test("a row is written alike, or refused, or stands in the list of differences")
    func rows() {
        var alike = 0
        var withoutCounterpart = 0
        var refused: [String: Int] = [:]
        var different: Set<String> = []
        for row in formVectors("form-encode-vectors.json") {
            guard let base = options(row["source"]!.text!, row["options"]!.canonical) else {
                withoutCounterpart += 1
                continue
            }
            // A key at the root that reads as structure is refused unless names are flat.
            var flat = base
            flat.nesting = .flat
            let expected = row["expect"]!.text!
            let written = outcome(row, base)
            if written == expected || outcome(row, flat) == expected {
                alike += 1
            } else if written.hasPrefix("field_") {
                refused[written, default: 0] += 1
            } else {
                different.insert(row["id"]!.text!)
            }
        }
        #expect(alike == 251)
        // encode, encodeValuesOnly, charset, charsetSentinel, addQueryPrefix, depth, numeric_prefix, arg_separator,
        // convertToSnakeCase, allowedCharacters.
        #expect(withoutCounterpart == 48)
        // Nested arrays and arrays of objects that collapse, commas in comma lists, and keys that would be read as
        // structure: what the design calls traps.
        #expect(
            refused == [
                "field_comma": 1, "field_mixed_array": 2, "field_name_unrepresentable": 34,
                "field_container_in_array": 25,
            ])
        #expect(different == Set(Self.different.keys))
        #expect(alike + withoutCounterpart + refused.values.reduce(0, +) + different.count == 386)
    }
}
