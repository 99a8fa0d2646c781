"""The cases: what is sent, to which route, and what the upstream must have received."""

import base64
import hmac
import json
import random
import re
import urllib.parse

import bodies
import codec_documents
from processes import BenchError

MIB = 1 << 20
CROWD = 1000  # connections that have a request on its way at the same time
JSON_TYPE = "application/json"


class Case:
    """Requests that are all the same. `counts` are the two numbers of requests whose difference is taken."""

    unit = "request"
    is_secured = is_new = False
    is_processed = False  # whether an Envoy asks, by gRPC, and sends the request on itself
    counts = (40, 140)
    window = 10  # requests between two readings where a reading costs nothing
    windows = 12
    connections = 1  # above one, each has a request on its way at the same time
    streams = 0  # requests at once on one connection of HTTP/2; 0: by HTTP/1
    pieces = None  # of a body that is sent piece by piece: their size
    fields = ()  # of the request, besides those that each has
    without = None  # a library whose own instructions don't count
    settings = ""  # more of them, as lines of YAML
    padding = 0  # bytes behind a long body that fill up its announced length, at most

    def __init__(self, name, folder, body, media_type, check, **more):
        self.name, self.folder, self.body, self.media_type, self.check = name, folder, body, media_type, check
        self.__dict__.update(more)

    @property
    def at_once(self):
        return max(self.connections, self.streams)

    def sample(self):
        """The body of the request that the sink echoes, and what the sink then receives of `body`, in bytes more."""
        return self.body, 0


class Upload(Case):
    """A multipart body with a file of 1 MiB, sent in pieces. What is echoed has a smaller file: the sink's bound is 128 KiB."""

    unit = "MiB"
    counts = (2, 8)
    window = 1
    padding = MIB // 8
    pieces = 48 * 1024  # one segment of the loopback device, so that one read takes it
    small = 30 * 1024

    def __init__(self, name, folder, size_of_file, check):
        super().__init__(name, folder, multipart(random_file(MIB)), f"multipart/form-data; boundary={bodies.BOUNDARY}", check)
        self.size_of_file = size_of_file

    def sample(self):
        return multipart(random_file(self.small)), self.size_of_file(MIB) - self.size_of_file(self.small)


class Webhook(Case):
    """A form as GitHub's webhooks have it, with a document of 10 KiB in its one field, verified and signed again where it says so."""

    counts, window = (4, 20), 1
    # valgrind's processor has no instructions for SHA-256, which cost 22 others a byte then instead of 2.
    without = "libcrypto"

    def __init__(self, name, folder):
        body = b"payload=" + urllib.parse.quote_plus(document(4700)).encode()
        self.fields = (f"X-Hub-Signature-256: sha256={hmac.new(SECRET, body, 'sha256').hexdigest()}",)
        super().__init__(name, folder, body, bodies.FORM_TYPE, check_payload)


SECRET = b"a secret of some length"


def random_file(size):
    return random.Random(20).randbytes(size)


def multipart(file):
    upload = bodies.upload(bodies.MULTIPART_TYPE, 1)
    return upload.start + file + upload.end


def document(size):
    """Orders of a shop in JSON, at least `size` bytes: objects in arrays in objects, numbers, booleans, escapes, and no value
    that a form or a multipart body can't carry. The same on every machine."""
    writer = codec_documents.Writer()
    number, orders = writer.random, []
    while True:
        orders.append({
            "id": number.randint(10**6, 10**9), "paid": number.random() < 0.5, "total": round(number.uniform(1, 900), 2),
            "customer": {
                "name": writer.text(8, 20), "email": writer.word() + "@example.org",
                "address": {"street": writer.text(10, 40), "city": writer.word(), "zip": str(number.randint(10**4, 10**5))}},
            "tags": [writer.word() for _ in range(number.randint(1, 4))],
            "items": [
                {"sku": f"{writer.word()}-{number.randint(1, 999)}", "quantity": number.randint(1, 9),
                 "note": writer.text(20, 90)} for _ in range(number.randint(1, 4))]})
        text = json.dumps({"orders": orders}, ensure_ascii=False, separators=(",", ":")).encode()
        if len(text) >= size:
            return text


def renamed(text):
    """A document with names as others write them: longer ones, and ones with spaces, marks and letters beyond ASCII; and behind them more
    members in one object than most have."""
    names = {"id": "identification_number", "paid": "is paid", "total": "@total", "customer": "customerOfThisOrder", "name": "größe",
             "email": "$email", "street": "address_line_of_street", "sku": "xsi:sku", "note": "note/remark"}

    def rename(value):
        if isinstance(value, dict):
            return {names.get(name, name): rename(member) for name, member in value.items()}
        return [rename(element) for element in value] if isinstance(value, list) else value

    found = rename(json.loads(text))
    found["labels"] = {f"label_{number}": found["orders"][number % 9]["customerOfThisOrder"]["größe"] for number in range(100)}
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def sparse(text):
    """A document with what services leave open in most of theirs: nulls, empty lists and objects, whole numbers that have a fraction, and
    others that have all digits of a double."""
    found = json.loads(text)
    for number, order in enumerate(found["orders"]):
        order["total"] = float(number)
        order["shipped"] = None
        order["position"] = {"latitude": 52.520006599999995 + number, "longitude": 13.404953999999975, "accuracy": None}
        order["coupons"] = []
        if number % 2:
            order["tags"], order["customer"]["address"] = [], {"street": None, "city": None}
        for item in order["items"][::2]:
            item["note"] = None
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode()


def measured():
    """A document of numbers with many digits, as positions and identities have, in objects whose names Python and PHP write with escapes."""
    numbers = random.Random(3)
    rows = [{"id": 1234567890123456789 + 1009 * number, "latitude": numbers.uniform(-90, 90), "longitude": numbers.uniform(-180, 180),
             "größe": numbers.uniform(1, 100)} for number in range(170)]
    return json.dumps({"places": rows}, separators=(",", ":")).encode()


class Dialect:
    """How a dialect spells the document above. `arrays` is `auto`, `indices` or `brackets`."""

    def __init__(self, arrays="auto", numeric=False, fractions=True, is_sorted=False):
        self.arrays, self.numeric, self.fractions, self.is_sorted = arrays, numeric, fractions, is_sorted

    def text(self, value):
        if isinstance(value, bool) and self.numeric:
            return str(int(value))
        if isinstance(value, float) and value.is_integer() and not self.fractions:
            return str(int(value))
        return value if isinstance(value, str) else json.dumps(value)


RECAST = Dialect()
# Without whatwg, which has no names for objects in objects.
DIALECTS = {
    "afnetworking": Dialect("brackets", numeric=True, fractions=False, is_sorted=True),
    "alamofire": Dialect("brackets", numeric=True, is_sorted=True),
    "php": Dialect("indices", numeric=True, fractions=False),
    "qs": Dialect("indices", fractions=False),
    "rack": Dialect("brackets"),
}


def leaves(value, name="", dialect=RECAST):
    """The texts of a document in its order, each with the name that a form in the dialect gives it."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, f"{name}[{key}]" if name else key, dialect)
    elif isinstance(value, list):
        # Arrays of values are `a[]`, those of objects `a[0]`: arrays: auto.
        is_flat = dialect.arrays == "brackets" or dialect.arrays == "auto" and not any(
            isinstance(element, (dict, list)) for element in value)
        for index, element in enumerate(value):
            yield from leaves(element, f"{name}[]" if is_flat else f"{name}[{index}]", dialect)
    elif value is not None:
        yield name, dialect.text(value)


def parts_of(body):
    """Name, filename and content of each part, in their order."""
    delimiter = body.partition(b"\r\n")[0]
    pieces = (b"\r\n" + body).split(b"\r\n" + delimiter)
    if len(pieces) < 3 or pieces[-1] not in (b"--", b"--\r\n"):
        raise BenchError(f"the upstream received no whole multipart body: {body[:200]!r}")
    parts = []
    for piece in pieces[1:-1]:
        head, _, content = piece.partition(b"\r\n\r\n")
        found = dict(re.findall(r'\b(name|filename)="([^"]*)"', head.decode()))
        parts.append((found.get("name"), found.get("filename"), content))
    return parts


def demand(is_right, body):
    if not is_right:
        raise BenchError(f"the upstream received the wrong body: {body[:500]!r}")


def check_same(sent, body):
    demand(body == sent, body)


def check_json(_, body):
    demand(json.loads(body) == bodies.FORM_AS_JSON, body)


def check_rows(_, body):
    demand(json.loads(body) == bodies.MEDIUM_FORM_FIELDS, body)


def check_form(sent, body, dialect=RECAST):
    found = urllib.parse.parse_qsl(body.decode(), keep_blank_values=True)
    expected = list(leaves(json.loads(sent), dialect=dialect))
    # The order of sorted fields is what the tests of dialects look at.
    demand(sorted(found) == sorted(expected) if dialect.is_sorted else found == expected, body)


def check_payload(sent, body):
    demand(json.loads(body) == dict(urllib.parse.parse_qsl(sent.decode())), body)


def in_dialect(name):
    def check(sent, body):
        check_form(sent, body, DIALECTS[name])
    return check


def form_of(name, folder, body, check):
    return Case(name, folder, body, JSON_TYPE, check, counts=(4, 20), window=1)


def form_in(name, nested):
    """The document in one of the dialects. Those that sort hold it until its end."""
    return form_of(f"json -> form({name}) 16 KiB", f"/json-form-{name}", nested, in_dialect(name))


def check_parts(sent, body):
    expected = [(name, None, text.encode()) for name, text in leaves(json.loads(sent))]
    demand(parts_of(body) == expected, body)


def check_upload(sent, body):
    renamed = [("headline" if name == "title" else name, filename, content) for name, filename, content in parts_of(sent)]
    demand(parts_of(body) == renamed, body)


def check_base64(sent, body):
    expected = {name: base64.b64encode(content).decode() if filename else content.decode()
                for name, filename, content in parts_of(sent)}
    demand(json.loads(body) == expected, body)


def small(name, folder, check, **more):
    return Case(name, folder, bodies.FORM.encode(), bodies.FORM_TYPE, check, **more)


def rows(name, folder):
    return Case(name, folder, bodies.MEDIUM_FORM_TEXT.encode(), bodies.FORM_TYPE, check_rows, counts=(4, 20), window=1)


def crowd(name, folder, check):
    return small(name, folder, check, connections=CROWD, counts=(CROWD, 2 * CROWD), window=CROWD, windows=3)


def streams(name, folder, check, count):
    return small(name, folder, check, streams=count, counts=(4 * count, 14 * count), window=count)


def observed(name, settings):
    """A plain request that somebody may see. Two of these differ by a few hundredths, which what Recast does once a second must not
    blur: each request has a smaller part of that the more there are."""
    return small(name, "", check_same, settings=settings, counts=(40, 440))


def orders():
    """A form as a shop has it: rows by number, several tags of each, numbers and booleans as text, names beyond ASCII, and the document
    that PHP and qs read in it."""
    pairs, document = [], {}
    for number in range(14):
        rows = document[f"order{number}"] = []
        for row in range(6):
            entry = {"name": f"Article {row} of {number}", "tags": ["new", "on sale"], "größe": 12.5 + row, "in_stock": row % 2 == 0}
            rows.append(entry)
            for name, value in entry.items():
                texts = value if isinstance(value, list) else [json.dumps(value) if not isinstance(value, str) else value]
                push = "[]" if isinstance(value, list) else ""
                pairs += [(f"order{number}[{row}][{name}]{push}", text) for text in texts]
        document[f"choice{number}"] = ["left", "right"]
        pairs += [(f"choice{number}[]", text) for text in ("left", "right")]
    return urllib.parse.urlencode(pairs).encode(), document


def ordered(name, folder):
    body, expected = orders()
    return Case(name, folder, body, bodies.FORM_TYPE, lambda _, found: demand(json.loads(found) == expected, found), counts=(4, 20), window=1)


# The dialects whose libraries put fields together by rules of their own.
READERS = ("php", "qs", "rack")
# Counts of requests, as an admin port has them: what is seen besides is compared with that.
ADMIN = "admin: 127.0.0.1:@ADMIN@\n"
# So few entries that all have their memory before it is measured.
CONSOLE = "admin: { address: 127.0.0.1:@ADMIN@, console: { entries: 40 } }\n"
# Nothing is recorded: which requests of a share are is chance, and a collector's answers come by time.
TRACING = "tracing: { endpoint: http://127.0.0.1:9, sample: 0% }\n"


def all_cases():
    nested, others, gaps = document(16 * 1024), renamed(document(11 * 1024)), sparse(document(14 * 1024))
    return [
        small("plain 200 B", "", check_same),
        small("plain 200 B, new connection", "", check_same, is_new=True),
        crowd("plain 200 B, 1000 connections", "", check_same),
        observed("plain 200 B, admin", ADMIN),
        observed("plain 200 B, console", CONSOLE),
        observed("plain 200 B, tracing", ADMIN + TRACING),
        small("form -> json 200 B", "/form-json", check_json),
        small("form -> json 200 B, new connection", "/form-json", check_json, is_new=True),
        crowd("form -> json 200 B, 1000 connections", "/form-json", check_json),
        small("form -> json 200 B, TLS", "/form-json", check_json, is_secured=True),
        small("form -> json 200 B, HTTP/2", "/form-json", check_json, streams=1),
        streams("plain 200 B, HTTP/2, 32 streams", "", check_same, 32),
        streams("form -> json 200 B, HTTP/2, 32 streams", "/form-json", check_json, 32),
        small("form -> json 200 B, ext_proc", "/form-json", check_json, is_processed=True),
        rows("form -> json 16 KiB", "/form-json"),
        # The names are such that all of them read the same.
        *(small(f"form({name}) -> json 200 B", f"/form-json-{name}", check_json) for name in READERS),
        *(rows(f"form({name}) -> json 16 KiB", f"/form-json-{name}") for name in READERS),
        *(ordered(f"form({name}, types: safe) -> json 16 KiB, orders", f"/form-json-typed-{name}") for name in ("php", "qs")),
        form_of("json -> form 16 KiB", "/json-form", nested, check_form),
        Case("json -> form 16 KiB, ext_proc", "/json-form", nested, JSON_TYPE, check_form, counts=(4, 20), window=1,
             is_processed=True),
        form_of("json -> form 16 KiB, other names", "/json-form", others, check_form),
        form_of("json -> form(afnetworking) 16 KiB, other names", "/json-form-afnetworking", others, in_dialect("afnetworking")),
        form_of("json -> form(php) 16 KiB, odd values", "/json-form-php", gaps, in_dialect("php")),
        form_of("json -> form(alamofire) 16 KiB, odd values", "/json-form-alamofire", gaps, in_dialect("alamofire")),
        form_of("json -> form(qs) 16 KiB, many digits", "/json-form-qs", measured(), in_dialect("qs")),
        *(form_in(name, nested) for name in DIALECTS),
        Case("json -> multipart 16 KiB", "/json-multipart", nested, JSON_TYPE, check_parts, counts=(4, 20), window=1),
        Webhook("webhook 10 KiB", "/webhook"),
        Webhook("webhook 10 KiB, verified and signed", "/webhook-signed"),
        Upload("multipart -> multipart", "/multipart-multipart", lambda size: size, check_upload),
        Upload("multipart -> json base64", "/multipart-json", lambda size: -(-size // 3) * 4, check_base64),
    ]
