internal import Transcoding

// What answers in JSON are put together of.

func object(_ members: [(String, Literal)]) -> Literal {
    .object(members.map { Literal.Member(name: $0.0, value: $0.1) })
}

func number(_ number: Int) -> Literal { .number(String(number)) }
func texts(_ texts: [String]) -> Literal { .array(texts.map(Literal.string)) }
/// The text, or null.
func optional(_ text: String?) -> Literal { text.map(Literal.string) ?? .null }
