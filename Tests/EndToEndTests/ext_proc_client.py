"""A client of Recast's ext_proc that does what Envoy does with a request: sends its events, and applies the answers as Envoy would.

What Envoy refuses, or what it would get wrong, is an AssertionError here: an answer of the wrong kind or out of order, a mutation of
a field that isn't the processor's, a length that isn't the body's.
"""

import json

from grpc_client import Call
from ext_proc_messages import decode, encode, header_map
from harness import ProxyTestCase, Received, free_port
from http2_client import HTTP2Client
from raw_client import Fields, Response

PROCESS = "/envoy.service.ext_proc.v3.ExternalProcessor/Process"
HEALTH = "/grpc.health.v1.Health/"
NONE, STREAMED, BUFFERED, PARTIAL, FULL_DUPLEX, GRPC = range(6)
APPEND, OVERWRITE = 0, 2  # append_action APPEND_IF_EXISTS_OR_ADD, OVERWRITE_IF_EXISTS_OR_ADD
MOST_OF_ANSWER = 64 * 1024  # what Envoy recommends as the most that one answer carries of a body
OTHERS = ("host", ":scheme", ":method")  # what Recast never changes, and Envoy as a rule lets no processor change


class Refused(Exception):
    """An immediate response, which the client gets in place of the upstream's."""

    def __init__(self, response):
        super().__init__(response.status)
        self.response = response


class Ended(Exception):
    """The call ended while an answer was due: Envoy answers 500, or resets what has begun."""

    def __init__(self, code, message):
        super().__init__(f"{code} {message}")
        self.code, self.message = code, message


def pseudo(method, path, media_type=None, fields=(), length=None, authority="client.example"):
    """The fields of a request as Envoy sends them."""
    result = [(":authority", authority), (":path", path), (":method", method), (":scheme", "http")]
    if media_type:
        result.append(("content-type", media_type))
    if length is not None:
        result.append(("content-length", str(length)))
    return [*result, *fields]


def applied(fields, mutation):
    """Fields after a HeaderMutation, as Envoy 1.36 and 1.40 apply it: removals first, then each option, of which `append` alone says
    whether it adds. What takes its place elsewhere, `append_action`, isn't heeded; it must say the same to whoever heeds it."""
    names = [option["header"]["key"] for option in mutation.get("set_headers", [])] + mutation.get("remove_headers", [])
    for name in names:
        if name != name.lower() or name in OTHERS or name.startswith("x-envoy-"):
            raise AssertionError(f"Envoy doesn't let a processor change {name}")
    gone = {name for name in mutation.get("remove_headers", [])}
    if any(name.startswith(":") for name in gone):
        raise AssertionError(f"Envoy removes no {gone}")
    fields = Fields((name, value) for name, value in fields if name not in gone)
    for option in mutation.get("set_headers", []):
        header = option["header"]
        if "value" in header and "raw_value" in header:
            raise AssertionError("both value and raw_value: Envoy refuses that")
        value = header.get("raw_value", header.get("value", "").encode()).decode("latin-1")
        is_added = option.get("append", {}).get("value", False)
        if option.get("append_action", APPEND) != (APPEND if is_added else OVERWRITE):
            raise AssertionError(f"append and append_action differ: {option}")
        if not is_added:
            fields = Fields(pair for pair in fields if pair[0] != header["key"])
        if value or option.get("keep_empty_value"):
            fields.append((header["key"], value))
    return fields


class Message:
    """What came out of one direction: the fields and the body as the other side gets them."""

    def __init__(self, fields):
        self.fields, self.body, self.trailers = fields, b"", None
        self.pieces = []  # sizes of the answers
        self.ended = False

    json = Received.json
    media_type = Received.media_type
    parts = Received.parts

    @property
    def status(self):
        return int(self.fields.get(":status"))


class Processing(Call):
    """One request on its way through Recast. `mode` is that of the bodies of both directions; Envoy says it in its first message,
    from 1.36 at the latest, also where it is NONE."""

    def __init__(self, client, mode=FULL_DUPLEX, metadata=(), says_mode=True):
        super().__init__(client, PROCESS, metadata)
        self.mode, self.says_mode = mode, says_mode
        self.is_first = True

    def say(self, **event):
        """Sends one ProcessingRequest."""
        if self.is_first and self.says_mode:
            event["protocol_config"] = {"request_body_mode": self.mode, "response_body_mode": self.mode}
        self.is_first = False
        self.send(encode("ProcessingRequest", event))

    def headers(self, side, fields, end=False):
        self.say(**{f"{side}_headers": {"headers": header_map(fields), "end_of_stream": end}})

    def body(self, side, data, end=False):
        self.say(**{f"{side}_body": {"body": data, "end_of_stream": end}})

    def trailers(self, side, fields):
        self.say(**{f"{side}_trailers": {"trailers": header_map(fields)}})

    def answer(self):
        """The next ProcessingResponse: (what it answers, its content)."""
        message = self.next()
        if message is None:
            raise Ended(*self.status())
        (kind, content), = decode("ProcessingResponse", message).items()
        if kind == "immediate_response":
            status = content.get("status", {}).get("code", 0)
            body = content.get("body", b"")
            fields = applied(Fields(), content.get("headers", {}))
            raise Refused(Response(status, Fields(fields), body, "immediate"))
        return kind, content

    def common(self, kind):
        """The CommonResponse of the next answer, which must be of that kind."""
        got, content = self.answer()
        if got != kind:
            raise AssertionError(f"the answer is of the kind {got}, not {kind}")
        common = content.get("response", {})
        if common.get("status", 0) not in (0, 1):
            raise AssertionError(f"a status of {common['status']}")
        return common

    def take_headers(self, side, fields, end=False):
        """The answer to the headers, applied."""
        common = self.common(f"{side}_headers")
        message = Message(applied(Fields(fields), common.get("header_mutation", {})))
        body = common.get("body_mutation", {})
        if body and self.mode == FULL_DUPLEX:
            raise AssertionError("a body in the answer to headers: not in FULL_DUPLEX_STREAMED")
        if common.get("status") == 1:
            message.body, message.ended = body.get("body", b""), True
        elif body:
            raise AssertionError("a body in the answer to headers needs CONTINUE_AND_REPLACE")
        if end and self.mode == FULL_DUPLEX:
            message.ended = True
        return message

    def take_streamed(self, side, message, has_trailers=False):
        """The answers of FULL_DUPLEX_STREAMED to a body, until its end. Where trailers were sent they are the end."""
        while not message.ended:
            kind, content = self.answer()
            if kind == f"{side}_trailers":
                if not has_trailers:
                    raise AssertionError("trailers are answered that nobody sent")
                message.trailers, message.ended = content.get("header_mutation", {}), True
            elif kind == f"{side}_body":
                common = content.get("response", {})
                if set(common) - {"body_mutation"} or set(common.get("body_mutation", {})) != {"streamed_response"}:
                    raise AssertionError(f"not one streamed_response: {common}")
                piece = common["body_mutation"]["streamed_response"]
                message.body += piece.get("body", b"")
                message.pieces.append(len(piece.get("body", b"")))
                if message.pieces[-1] > MOST_OF_ANSWER:
                    raise AssertionError(f"one answer carries {message.pieces[-1]} bytes")
                if piece.get("end_of_stream"):
                    if has_trailers:
                        raise AssertionError("end_of_stream where the trailers are the end")
                    message.ended = True
            else:
                raise AssertionError(f"{kind} is answered inside of the {side}'s body")
        return message

    def take_body(self, side, message, data):
        """The answer to one message of the body in STREAMED or BUFFERED."""
        common = self.common(f"{side}_body")
        mutation = common.get("body_mutation", {})
        if "streamed_response" in mutation:
            raise AssertionError("streamed_response: only in FULL_DUPLEX_STREAMED")
        piece = b"" if mutation.get("clear_body") else mutation["body"] if "body" in mutation else data
        message.body += piece
        message.pieces.append(len(piece))
        headers = common.get("header_mutation", {})
        if self.mode == BUFFERED:
            message.fields = applied(message.fields, headers)
        elif headers:
            raise AssertionError("STREAMED ignores the fields of an answer to a body")

    def run(self, side, fields, body=None, pieces=None, trailers=None):
        """One direction from its beginning to its end. `pieces` are the messages in which the body comes; returns the Message."""
        pieces = pieces if pieces is not None else [body] if body is not None else None
        has_body = pieces is not None or trailers is not None
        self.headers(side, fields, end=not has_body)
        if self.mode == FULL_DUPLEX:
            for number, piece in enumerate(pieces or []):
                self.body(side, piece, end=trailers is None and number == len(pieces) - 1)
            if trailers is not None:
                self.trailers(side, trailers)
            message = self.take_headers(side, fields, end=not has_body)
            if has_body:
                self.take_streamed(side, message, trailers is not None)
        else:
            message = self.take_headers(side, fields, end=not has_body)
            if self.mode == BUFFERED and has_body:
                pieces = [b"".join(pieces or [])]
            if self.mode == NONE or message.ended:  # Envoy doesn't send what it won't send on
                pieces, has_body = [], False
            for number, piece in enumerate(pieces or []):
                self.body(side, piece, end=number == len(pieces) - 1)
                self.take_body(side, message, piece)
            message.ended = True
        return self.framed(message, bool(pieces) or has_body)

    def framed(self, message, has_body):
        """The length that goes on with a message: Envoy takes it off what streams, and holds BUFFERED to the one that is there."""
        lengths = message.fields.all("content-length")
        if self.mode in (STREAMED, FULL_DUPLEX) and has_body:
            message.fields = Fields(pair for pair in message.fields if pair[0] != "content-length")
        elif self.mode == BUFFERED and has_body and lengths and lengths != [str(len(message.body))]:
            raise AssertionError(f"a content-length of {lengths} for {len(message.body)} bytes: Envoy answers 500")
        return message

    def finish(self):
        """The request is over: Envoy half-closes, or resets, and the call ends well."""
        self.half_close()
        return self.status()


class ExtProcTestCase(ProxyTestCase):
    """Recast with the same routes for HTTP and, on a port of its own, for ext_proc. What both make of a request can be compared."""

    ext_proc_options = ""  # of the listener, in YAML's flow style, as ", tls: {…}"

    @classmethod
    def setUpClass(cls):
        cls.port = free_port()
        cls.listeners = (f'{{ address: "127.0.0.1:{cls.port}", serves: ext_proc{cls.ext_proc_options} }}', *cls.listeners)
        super().setUpClass()

    def connect(self, **options):
        client = HTTP2Client(self.port, **options)
        self.addCleanup(client.socket.close)
        return client

    def processing(self, mode=FULL_DUPLEX, metadata=(), client=None):
        return Processing(client or self.connect(), mode, metadata)

    def ask(self, method, path, body=None, media_type=None, fields=(), mode=FULL_DUPLEX, metadata=(), pieces=None, trailers=None,
            has_length=True, authority="client.example"):
        """A request as Envoy brings it; returns the Message that the upstream gets. Refusals are raised."""
        length = len(body) if body is not None and has_length else None
        call = self.processing(mode, metadata)
        message = call.run("request", pseudo(method, path, media_type, fields, length, authority), body, pieces, trailers)
        self.assertEqual(call.finish()[0], 0)
        return message

    def refusal(self, *arguments, **options):
        """The immediate response that a request gets."""
        try:
            message = self.ask(*arguments, **options)
        except Refused as refused:
            return refused.response
        raise AssertionError(f"no refusal, but {message.fields} {message.body[:200]!r}")

    def assert_same_refusal(self, through_http, immediate):
        """The same problem document as a client of the proxy gets, but for the id of the request."""
        self.assertEqual(immediate.status, through_http.status, (through_http.body, immediate.body))
        self.assertEqual(immediate.fields.get("content-type"), through_http.fields.get("content-type"))
        for name in ("accept-post", "retry-after", "www-authenticate", "allow"):
            self.assertEqual(immediate.fields.all(name), through_http.fields.all(name), name)
        documents = [json.loads(one.body) for one in (through_http, immediate)]
        for document in documents:
            self.assertTrue(document.pop("request_id"))
        self.assertEqual(documents[1], documents[0])
