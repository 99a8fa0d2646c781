"""Documents, and what expat makes of them: the second opinion on the reader of XML.

`python3 Tests/EndToEndTests/expat_vectors.py` writes Tests/Vectors/xml/expat.json anew from a seed. A document is made by a few
random edits of a small one; what expat refuses has an error there, the rest what the document is by the rules of docs/xml.md
with `mixed: join`, worked out from expat's events and nothing of ours. Left out are documents on which both differ by
design: document types, names that are not those of XML 1.0's fourth edition (expat's), colons, other encodings.
"""

import json
import os
import random
import xml.parsers.expat

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "Vectors", "xml", "expat.json")
COUNT = 700  # of those that expat takes, and of those that it refuses
SEEDS = [
    "<a/>", "<a>t</a>", "<a x='1' y=\"2\">t</a>", "<a><b>1</b><c/><b>2</b></a>", "<a>x<![CDATA[<y>]]>z</a>",
    "<a>&lt;&amp;&gt;&quot;&apos;&#65;&#x42;</a>", "<!-- c --><?p i?><a><!-- d --><?q?>t</a><!-- e -->",
    "<a x='&lt;\n&#10;\t'>]] ]> &#x1F600;</a>", "<?xml version='1.0'?><a><b><c><d>deep</d></c></b></a>",
    "<a>\r\n<b>\r</b>\n</a>", "<a-b.c_d x-y='1'>é<é/></a-b.c_d>", "<a>漢<b x='漢'/>字</a>", "<a b='1' c='2' d='3'/>",
    "<a><![CDATA[]]]]><![CDATA[>]]></a>", "<a>a&#x2028;b</a >", "<a\n\tx = '1'\r\n/>",
]
PIECES = ["<", ">", "/", "&", ";", "'", '"', "=", "!", "?", "-", "[", "]", "#", " ", "\n", "\r", "\t", "x", "a", "b", "1", "é",
          "漢", "\u00b7", "\u0001", "\u007f", "\ufffe", "\uffff", "<!--", "-->", "<![CDATA[", "]]>", "<?", "?>", "/>",
          "</a>", "<b>", "</b>", "&#", "&#x", "&amp;", " x='1'", "<?xml version='1.0'?>"]


def mutated(generator):
    text = generator.choice(SEEDS)
    for _ in range(generator.randrange(1, 4)):
        at = generator.randrange(len(text) + 1)
        kind = generator.randrange(4)
        if kind == 0:
            text = text[:at] + generator.choice(PIECES) + text[at:]
        elif kind == 1:
            text = text[:at] + text[at + 1:]
        elif kind == 2:
            text = text[:at] + generator.choice(PIECES) + text[at + 1:]
        else:
            other = generator.choice(SEEDS)
            start = generator.randrange(len(other))
            text = text[:at] + other[start:start + generator.randrange(1, 12)] + text[at:]
    return text


def document(text):
    """What the document is, from expat's events."""
    parser = xml.parsers.expat.ParserCreate("utf-8")
    parser.ordered_attributes = True
    parser.buffer_text = True
    result = {}
    # For each open element its name, members, runs of text and whether it has children.
    stack = [["", result, [""], False]]

    def start(name, attributes):
        outer = stack[-1]
        outer[2].append("")
        outer[3] = True
        members = {"@" + key: value for key, value in zip(attributes[::2], attributes[1::2])}
        stack.append([name, members, [""], False])

    def end(name):
        _, members, runs, has_children = stack.pop()
        if has_children:
            runs = [run for run in runs if run.strip(" \t\r\n")]
        content = "".join(runs)
        if members or has_children:
            if content:
                members["#text"] = content
            value = members
        else:
            value = content or None
        outer = stack[-1][1]
        if name in outer:
            if not isinstance(outer[name], list):
                outer[name] = [outer[name]]
            outer[name].append(value)
        else:
            outer[name] = value

    def characters(data):
        stack[-1][2][-1] += data

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, characters
    parser.Parse(text.encode(), True)
    return result


def has_other_rules(text):
    """Whether the document is one on which both differ by design."""
    return "<!d" in text.lower() or ":" in text or "version" in text[:-1] and not text.startswith("<?xml version='1.0'?>") \
        or "encoding" in text or "standalone" in text


def vectors():
    generator = random.Random(20261123)
    taken, refused, seen = [], [], set()
    while len(taken) < COUNT or len(refused) < COUNT:
        text = mutated(generator)
        if text in seen or has_other_rules(text):
            continue
        seen.add(text)
        try:
            taken.append({"xml": text, "json": json.dumps(document(text), ensure_ascii=False, separators=(",", ":"))})
        except xml.parsers.expat.ExpatError as error:
            refused.append({"xml": text, "error": xml.parsers.expat.ErrorString(error.code)})
    return taken[:COUNT] + refused[:COUNT]


def main():
    with open(PATH, "w") as file:
        file.write("[\n" + ",\n".join(json.dumps(row) for row in vectors()) + "\n]\n")


if __name__ == "__main__":
    main()
