"""The bodies of the loads, and what the upstream must receive for each conversion."""

import base64
import email.parser
import email.policy
import json
import random
import urllib.parse
from dataclasses import dataclass

from processes import BenchError

FORM_TYPE = "application/x-www-form-urlencoded"
JSON_TYPE = "application/json"
MULTIPART_TYPE = "multipart/form-data"
BOUNDARY = "----bench-7f3c1e5a9b2d4f60"
SMALL_BOUNDARY = "b7f3"

# 200 bytes, ten fields, two of them nested.
FORM = ("name=Ada+Lovelace&email=ada%40example.org&age=36&plan=professional&newsletter=true&city=London"
        "&street=St+James+Square+12&user[id]=1815&user[role]=owner&comment=The+engine+weaves+algebraic+patterns.+OK")
FORM_AS_JSON = {
    "name": "Ada Lovelace", "email": "ada@example.org", "age": "36", "plan": "professional", "newsletter": "true",
    "city": "London", "street": "St James Square 12", "user": {"id": "1815", "role": "owner"},
    "comment": "The engine weaves algebraic patterns. OK"}
SMALL_JSON = json.dumps({
    "name": "Ada Lovelace", "email": "ada@example.org", "age": 36, "plan": "professional", "newsletter": True,
    "city": "London", "user": {"id": 1815, "role": "owner"}, "comment": "The engine weaves algebraic patterns ok"},
    separators=(",", ":"))


def multipart_field(boundary, name, value):
    return f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'


# 200 bytes too: framing of parts is long, so there are three.
SMALL_MULTIPART = "".join(multipart_field(SMALL_BOUNDARY, name, value) for name, value in (
    ("title", "The engine"), ("user[id]", "1815"), ("c", "Yes"))) + f"--{SMALL_BOUNDARY}--\r\n"
SMALL_MULTIPART_AS_JSON = {"title": "The engine", "user": {"id": "1815"}, "c": "Yes"}
assert len(FORM) == len(SMALL_JSON) == len(SMALL_MULTIPART) == 200 and FORM.count("&") == 9


def medium_document():
    """Orders of a shop as JSON, 16 KiB of it: objects in arrays in objects, texts, numbers and booleans."""
    numbers = random.Random(16)
    words = "the engine weaves algebraic patterns just as a loom weaves flowers and leaves in many colours".split()

    def text(least, most):
        return " ".join(numbers.choice(words) for _ in range(numbers.randint(least, most)))

    def item():
        return {"sku": f"SKU-{numbers.randint(10**7, 10**8)}", "title": text(2, 6), "quantity": numbers.randint(1, 9),
                "price": numbers.randint(100, 99999) / 100, "gift": numbers.random() < 0.2,
                "attributes": {"colour": text(1, 1), "note": text(4, 16)},
                "tags": [text(1, 2) for _ in range(numbers.randint(1, 3))]}

    document = {"customer": {"id": 1815, "name": "Ada Lovelace", "email": "ada@example.org",
                             "address": {"street": "St James Square 12", "city": "London", "country": "GB"}},
                "orders": [], "note": ""}

    def length():
        return len(json.dumps(document, separators=(",", ":")))

    while length() < 15 << 10:
        document["orders"].append({"id": numbers.randint(10**6, 10**7), "paid": numbers.random() < 0.7,
                                   "items": [item() for _ in range(numbers.randint(2, 4))]})
    document["note"] = "n" * ((16 << 10) - length())
    return document


def medium_form():
    """A form of 16 KiB: what a page with many rows posts, each field of a row in brackets."""
    numbers = random.Random(61)
    words = "the engine weaves algebraic patterns just as a loom weaves flowers and leaves in many colours".split()
    fields = {"name": "Ada Lovelace", "email": "ada@example.org"}

    def encoded():
        return urllib.parse.urlencode(pairs(fields), safe="[]")

    for number in range(1000):
        row = {"sku": f"SKU-{numbers.randint(10**7, 10**8)}", "title": " ".join(numbers.choices(words, k=4)),
               "quantity": str(numbers.randint(1, 9)), "gift": numbers.choice(("true", "false")),
               "note": " ".join(numbers.choices(words, k=10)) + " & more"}
        fields[f"row{number}"] = row
        if len(encoded()) > (16 << 10) - 200:
            break
    fields["rest"] = "r" * ((16 << 10) - len(encoded()) - len("&rest="))
    return encoded(), fields


MEDIUM = medium_document()
MEDIUM_JSON = json.dumps(MEDIUM, separators=(",", ":"))
assert len(MEDIUM_JSON) == 16 << 10


def pairs(value, name=""):
    """The fields of a form for a document, with brackets: `a[b]`, `a[0][b]` in arrays of objects, `a[]` in those of texts."""
    if isinstance(value, dict):
        return [pair for key, inner in value.items() for pair in pairs(inner, f"{name}[{key}]" if name else key)]
    if isinstance(value, list):
        is_flat = not any(isinstance(inner, (dict, list)) for inner in value)
        return [pair for index, inner in enumerate(value)
                for pair in pairs(inner, f"{name}[]" if is_flat else f"{name}[{index}]")]
    return [(name, value if isinstance(value, str) else json.dumps(value))]


def php_pairs(value, name=""):
    """The same as PHP's http_build_query has it: all arrays numbered, booleans as 1 and 0, whole numbers without a point."""
    if isinstance(value, (dict, list)):
        members = value.items() if isinstance(value, dict) else enumerate(value)
        return [pair for key, inner in members for pair in php_pairs(inner, f"{name}[{key}]" if name else key)]
    is_whole = isinstance(value, bool) or isinstance(value, float) and value.is_integer()
    return [(name, value if isinstance(value, str) else json.dumps(int(value) if is_whole else value))]


def read_parts(content_type, body):
    """Name, filename and bytes of each part."""
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(
        b"Content-Type: " + content_type.encode() + b"\r\n\r\n" + body)
    return [(part.get_param("name", header="content-disposition"), part.get_filename(), part.get_payload(decode=True))
            for part in message.iter_parts()]


def parts(fields):
    return [(name, None, value.encode()) for name, value in fields]


READERS = {
    JSON_TYPE: lambda content_type, body: json.loads(body),
    FORM_TYPE: lambda content_type, body: urllib.parse.parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=True),
    MULTIPART_TYPE: read_parts,
}


@dataclass(frozen=True)
class Exchange:
    """A body that is sent, and what the upstream must receive: a value as READERS read it, or the very bytes."""

    sent: bytes
    content_type: str
    expected_type: str
    expected: object = None  # None: what was sent

    def check(self, status, content_type, body):
        """Ends the measurement of a peer that doesn't do what is to be measured."""
        if status != 200:
            raise BenchError(f"a request was answered with {status}: {body[:300]!r}")
        if content_type.split(";")[0].strip().lower() != self.expected_type:
            raise BenchError(f"the upstream received {content_type!r} and not {self.expected_type}: {body[:300]!r}")
        if self.expected is None:
            if body != self.sent:
                raise BenchError(f"the upstream received another body than was sent: {body[:300]!r}")
            return
        try:
            received = READERS[self.expected_type](content_type, body)
        except ValueError as error:
            raise BenchError(f"the upstream received what is no {self.expected_type} ({error}): {body[:300]!r}") from error
        if received != self.expected:
            raise BenchError(f"the upstream received other fields than were sent: {body[:300]!r}")


FORM_PLAIN = Exchange(FORM.encode(), FORM_TYPE, FORM_TYPE)
FORM_JSON = Exchange(FORM.encode(), FORM_TYPE, JSON_TYPE, FORM_AS_JSON)
JSON_FORM = Exchange(SMALL_JSON.encode(), JSON_TYPE, FORM_TYPE, pairs(json.loads(SMALL_JSON)))
JSON_MULTIPART = Exchange(SMALL_JSON.encode(), JSON_TYPE, MULTIPART_TYPE, parts(pairs(json.loads(SMALL_JSON))))
SMALL_MULTIPART_TYPE = f"{MULTIPART_TYPE}; boundary={SMALL_BOUNDARY}"
MULTIPART_MULTIPART = Exchange(
    SMALL_MULTIPART.encode(), SMALL_MULTIPART_TYPE, MULTIPART_TYPE,
    parts([("source", "bench"), ("headline", "The engine"), ("user[id]", "1815"), ("c", "Yes")]))
MULTIPART_JSON = Exchange(SMALL_MULTIPART.encode(), SMALL_MULTIPART_TYPE, JSON_TYPE, SMALL_MULTIPART_AS_JSON)
MEDIUM_PLAIN = Exchange(MEDIUM_JSON.encode(), JSON_TYPE, JSON_TYPE)
MEDIUM_FORM = Exchange(MEDIUM_JSON.encode(), JSON_TYPE, FORM_TYPE, pairs(MEDIUM))
MEDIUM_FORM_TEXT, MEDIUM_FORM_FIELDS = medium_form()
assert len(MEDIUM_FORM_TEXT) == 16 << 10
MEDIUM_FORM_JSON = Exchange(MEDIUM_FORM_TEXT.encode(), FORM_TYPE, JSON_TYPE, MEDIUM_FORM_FIELDS)
MEDIUM_FORM_PLAIN = Exchange(MEDIUM_FORM_TEXT.encode(), FORM_TYPE, FORM_TYPE)
# The same as it goes to the upstream, for a peer to forward: so much has to be sent, whoever makes it.
MEDIUM_AS_FORM = Exchange(urllib.parse.urlencode(pairs(MEDIUM), quote_via=urllib.parse.quote).encode(), FORM_TYPE, FORM_TYPE)
MEDIUM_AS_MULTIPART = Exchange(
    ("".join(multipart_field("b" * 22, name, value) for name, value in pairs(MEDIUM)) + f"--{'b' * 22}--\r\n").encode(),
    f"{MULTIPART_TYPE}; boundary={'b' * 22}", MULTIPART_TYPE)
MEDIUM_MULTIPART = Exchange(MEDIUM_JSON.encode(), JSON_TYPE, MULTIPART_TYPE, parts(pairs(MEDIUM)))
MEDIUM_PHP_FORM = Exchange(MEDIUM_JSON.encode(), JSON_TYPE, FORM_TYPE, php_pairs(MEDIUM))
MEDIUM_PHP_MULTIPART = Exchange(MEDIUM_JSON.encode(), JSON_TYPE, MULTIPART_TYPE, parts(php_pairs(MEDIUM)))


@dataclass(frozen=True)
class Upload:
    """A body with one large file: the start, a block to be repeated, how often, and the end."""

    start: bytes
    block: bytes
    count: int
    end: bytes
    content_type: str

    def length(self):
        return len(self.start) + len(self.block) * self.count + len(self.end)


NOISE = random.Random(20).randbytes(3 << 18)  # 768 KiB: a multiple of 3, so that base64 blocks join


def upload(content_type, size, block=NOISE):
    """A file of at least `size` bytes in a multipart body; in JSON the text in base64 has so many."""
    if content_type == MULTIPART_TYPE:
        start = "".join(multipart_field(BOUNDARY, name, value) for name, value in (("title", "An upload"), ("album", "42")))
        start += (f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="big.bin"\r\n'
                  "Content-Type: application/octet-stream\r\n\r\n")
        return Upload(start.encode(), block, -(-size // len(block)), f"\r\n--{BOUNDARY}--\r\n".encode(),
                      f"{MULTIPART_TYPE}; boundary={BOUNDARY}")
    text = base64.b64encode(block)
    return Upload(b'{"title":"An upload","album":42,"file":"', text, -(-size // len(text)), b'"}', JSON_TYPE)


def upload_exchange(conversion):
    """The same with a file of 3 KiB, which the upstream sends back, so that every field of it is checked."""
    source, _, target = conversion.partition(" -> ")
    block = NOISE[:3072]
    sent = upload(JSON_TYPE if source == "json" else MULTIPART_TYPE, 3072, block)
    body = sent.start + sent.block * sent.count + sent.end
    if conversion == "plain":
        return Exchange(body, sent.content_type, MULTIPART_TYPE)
    if target == "json":
        return Exchange(body, sent.content_type, JSON_TYPE,
                        {"title": "An upload", "album": "42", "file": base64.b64encode(block).decode()})
    file = [("file", "big.bin", block)]
    if source == "json":
        return Exchange(body, sent.content_type, MULTIPART_TYPE, parts([("title", "An upload"), ("album", "42")]) + file)
    return Exchange(body, sent.content_type, MULTIPART_TYPE,
                    parts([("source", "bench"), ("headline", "An upload"), ("album", "42")]) + file)
