"""Documents, and what expat makes of them: the second opinion on the reader and the writer of XML.

`python3 Tests/EndToEndTests/expat_vectors.py` writes Tests/Vectors/xml/expat.json and namespaces.json anew from seeds. A document is made by a few
random edits of a small one; what expat refuses has an error there, the rest what the document is by the rules of docs/xml.md
with `mixed: join`, worked out from expat's events and nothing of ours. Left out are documents on which both differ by
design: document types, names that are not those of XML 1.0's fourth edition (expat's), colons, other encodings.
"""

import json
import os
import random
import xml.parsers.expat

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "Vectors", "xml")
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


# Namespaces: elements as JSON has them, written down with all they say, and whether expat with namespaces takes that. Left out
# is what has a prefix that nobody declares, which is part of the name by docs/xml.md.
PREFIXES = ["p", "q", "r", "xml", "xmlns"]
NAMESPACES = ["u", "v", "u", "", "http://www.w3.org/XML/1998/namespace", "http://www.w3.org/2000/xmlns/"]


def element(generator, depth):
    members = {}
    for _ in range(generator.randrange(4)):
        kind = generator.randrange(16)
        if kind == 0:
            members["@xmlns" + generator.choice(["", ":p", ":q", ":r", ":xml", ":xmlns"])] = generator.choice(NAMESPACES)
        elif kind < 9:
            members["@" + generator.choice(["p:", "q:", "r:", "xml:", ""]) + generator.choice("xy")] = "1"
        else:
            members["@xmlns:" + generator.choice("pqr")] = generator.choice("uv")
    if depth < 2:
        for _ in range(generator.randrange(2)):
            name = generator.choice(["", "", "", "p:", "p:", "q:", "q:", "xml:", "xml:", "xmlns:"]) + generator.choice("bc")
            if name not in members:
                members[name] = element(generator, depth + 1)
    return members


def written(name, members):
    attributes = "".join(f' {key[1:]}="{value}"' for key, value in members.items() if key[0] == "@")
    content = "".join(written(key, value) for key, value in members.items() if key[0] != "@")
    return f"<{name}{attributes}>{content}</{name}>" if content else f"<{name}{attributes}/>"


def namespace_vectors():
    generator = random.Random(20261124)
    taken, refused, seen = [], [], set()
    while len(taken) < COUNT // 2 or len(refused) < COUNT // 2:
        root = {"@xmlns:p": "u", "@xmlns:q": "v", "@xmlns:r": "u"} if generator.randrange(8) else {}
        root.update(element(generator, 0))
        text = written("a", root)
        if text in seen:
            continue
        seen.add(text)
        row = {"xml": text, "json": json.dumps({"a": root}, separators=(",", ":"))}
        try:
            xml.parsers.expat.ParserCreate("utf-8", " ").Parse(text.encode(), True)
            taken.append(row)
        except xml.parsers.expat.ExpatError as error:
            reason = xml.parsers.expat.ErrorString(error.code)
            if reason != "unbound prefix" or "<xmlns:" in text:
                refused.append({**row, "error": reason})
    return taken[:COUNT // 2] + refused[:COUNT // 2]


def main():
    for name, rows in (("expat.json", vectors()), ("namespaces.json", namespace_vectors())):
        with open(os.path.join(FOLDER, name), "w") as file:
            file.write("[\n" + ",\n".join(json.dumps(row) for row in rows) + "\n]\n")


if __name__ == "__main__":
    main()
