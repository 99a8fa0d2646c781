"""What is measured: the loads, and the cases of each, which are a peer and what it does with which body."""

from dataclasses import dataclass

import bodies


@dataclass(frozen=True)
class Case:
    """`name` is what it is called in results; `folder` begins the request target, which in Recast chooses the route."""

    name: str
    peer: str
    folder: str
    exchange: bodies.Exchange


def recast(conversion, exchange):
    return Case(f"recast {conversion}", "recast", "/" + conversion.replace(" -> ", "-"), exchange)


def plain(peer, exchange):
    return Case(f"{peer} plain", peer, "/plain", exchange)


BASE = "haproxy plain"
PLAIN_PEERS = ("nginx", "haproxy", "envoy", "caddy")
SCRIPTED_PEERS = ("nginx-lua", "nginx-njs", "envoy-lua", "envoy-recast")
SCRIPTED = [Case(f"{peer} form -> json", peer, "/form-json", bodies.FORM_JSON) for peer in SCRIPTED_PEERS]
PLAIN = [plain(peer, bodies.FORM_PLAIN) for peer in PLAIN_PEERS]
RECAST = [recast("form -> json", bodies.FORM_JSON), recast("plain", bodies.FORM_PLAIN)]
SMALL = [
    *RECAST,
    recast("json -> form", bodies.JSON_FORM),
    recast("json -> multipart", bodies.JSON_MULTIPART),
    recast("multipart -> multipart", bodies.MULTIPART_MULTIPART),
    recast("multipart -> json", bodies.MULTIPART_JSON),
    *PLAIN, *SCRIPTED,
]
MEDIUM = [
    recast("json -> form", bodies.MEDIUM_FORM),
    recast("json -> multipart", bodies.MEDIUM_MULTIPART),
    Case("recast json -> form, dialect: php", "recast", "/php-form", bodies.MEDIUM_PHP_FORM),
    Case("recast json -> multipart, dialect: php", "recast", "/php-multipart", bodies.MEDIUM_PHP_MULTIPART),
    recast("plain", bodies.MEDIUM_PLAIN),
    *(plain(peer, bodies.MEDIUM_PLAIN) for peer in PLAIN_PEERS),
    Case("haproxy plain, the form", "haproxy", "/plain", bodies.MEDIUM_AS_FORM),
    Case("haproxy plain, the multipart", "haproxy", "/plain", bodies.MEDIUM_AS_MULTIPART),
]
# Where a body has what a script must look at byte by byte.
FORMS = [
    recast("form -> json", bodies.MEDIUM_FORM_JSON), recast("plain", bodies.MEDIUM_FORM_PLAIN),
    plain("haproxy", bodies.MEDIUM_FORM_PLAIN), plain("envoy", bodies.MEDIUM_FORM_PLAIN),
    *(Case(f"{peer} form -> json", peer, "/form-json", bodies.MEDIUM_FORM_JSON) for peer in SCRIPTED_PEERS),
]
HALF = [*RECAST, *PLAIN, *SCRIPTED]
# Those that take HTTP/2 by the preface where they take HTTP/1.
HTTP2 = [*RECAST, plain("haproxy", bodies.FORM_PLAIN)]


@dataclass(frozen=True)
class RequestLoad:
    """A load of many requests by wrk, or by h2load where it has `streams` on a connection at once. `connections` of None are those
    of the command line."""

    title: str
    cases: list
    connections: int = None
    is_secured: bool = False
    is_new: bool = False
    is_resumed: bool = False
    streams: int = None


REQUESTS = {
    "small": RequestLoad("Small requests: 200 bytes", SMALL),
    "many": RequestLoad("Small requests on 1,000 connections", HALF, connections=1000),
    "medium": RequestLoad("Medium requests: 16 KiB of nested JSON", MEDIUM),
    "forms": RequestLoad("Medium requests: forms of 16 KiB", FORMS),
    "new": RequestLoad("Small requests, each on a new connection", [*RECAST, *PLAIN], is_new=True),
    "h2": RequestLoad("Small requests over HTTP/2, one at a time on 8 connections", HTTP2, connections=8, streams=1),
    "h2-streams": RequestLoad("Small requests over HTTP/2, 32 at once on one connection", HTTP2, connections=1, streams=32),
    "h2-tls": RequestLoad("Small requests over HTTP/2 with TLS, one at a time on 8 connections", HTTP2, connections=8, streams=1,
                          is_secured=True),
    "tls": RequestLoad("Small requests over TLS", [*RECAST, *PLAIN], is_secured=True),
    "tls-new": RequestLoad("Small requests over TLS, each with a full handshake", [*RECAST, *PLAIN],
                           is_secured=True, is_new=True),
    "tls-resumed": RequestLoad("Small requests over TLS, each taking the last session up", [*RECAST, *PLAIN],
                               is_secured=True, is_new=True, is_resumed=True),
}


@dataclass(frozen=True)
class UploadCase:
    """`kind` is the media type that is sent, `expected` what the upstream sees: its type, and bytes per byte sent."""

    name: str
    peer: str
    folder: str
    kind: str
    expected: tuple
    exchange: bodies.Exchange


def upload(name, peer, folder, kind, expected, conversion="plain"):
    return UploadCase(name, peer, folder, kind, expected, bodies.upload_exchange(conversion))


# What is received for each byte that is sent, at least and at most: a length that is a bound is filled up with padding, which
# is a quarter where strings of JSON become files (docs/framing.md).
UNCHANGED = (bodies.MULTIPART_TYPE, 1, 1)
UPLOADS = [
    upload("recast multipart -> multipart", "recast", "/multipart-multipart", bodies.MULTIPART_TYPE,
           (bodies.MULTIPART_TYPE, 0.999, 1.002), "multipart -> multipart"),
    upload("recast multipart -> json base64", "recast", "/multipart-json", bodies.MULTIPART_TYPE,
           (bodies.JSON_TYPE, 1.333, 1.335), "multipart -> json"),
    upload("recast json base64 -> multipart", "recast", "/base64-multipart", bodies.JSON_TYPE,
           (bodies.MULTIPART_TYPE, 0.749, 1.002), "json -> multipart"),
    upload("recast plain", "recast", "/plain", bodies.MULTIPART_TYPE, UNCHANGED),
    *(upload(f"{peer} plain", peer, "/plain", bodies.MULTIPART_TYPE, UNCHANGED) for peer in PLAIN_PEERS),
    upload("envoy-recast multipart -> multipart", "envoy-recast", "/multipart-multipart", bodies.MULTIPART_TYPE,
           (bodies.MULTIPART_TYPE, 0.999, 1.002), "multipart -> multipart"),
]
# Over HTTP/2, to those of the loads of HTTP/2.
HTTP2_UPLOADS = [
    upload("recast multipart -> multipart", "recast", "/multipart-multipart", bodies.MULTIPART_TYPE,
           (bodies.MULTIPART_TYPE, 0.999, 1.002), "multipart -> multipart"),
    upload("recast plain", "recast", "/plain", bodies.MULTIPART_TYPE, UNCHANGED),
    upload("haproxy plain", "haproxy", "/plain", bodies.MULTIPART_TYPE, UNCHANGED),
]
IDLE = [Case("recast", "recast", "/form-json", bodies.FORM_JSON),
        *(Case(peer, peer, "/plain", bodies.FORM_PLAIN) for peer in PLAIN_PEERS)]
# In this order: the rate of half load follows from the small requests.
LOADS = ["small", "half", "many", "medium", "forms", "new", "h2", "h2-streams", "h2-tls", "tls", "tls-new", "tls-resumed",
         "upload", "upload-h2", "idle", "memory", "start", "routes", "workers"]

ONE_ROUTE, MANY_ROUTES = "recast, 1 route", "recast, 1,000 routes"
ONE_WORKER, TWO_WORKERS = "recast, 1 worker", "recast, 2 workers"
ONE_PACED, TWO_PACED = "recast, 1 worker at a rate", "recast, 2 workers at a rate"
# Requests a second of those: a load that one worker carries with ease, so that cores are free on any machine.
WORKERS_RATE = 4000
START = "recast, 100 routes"


def routes(count):
    """The text of so many routes; the last is the one that is measured, so that all others are looked at before it."""
    lines = [f'  - {{ name: route-{number}, match: "/route-{number}/*", upstream: sink, request: form -> json }}'
             for number in range(count - 1)]
    return "\n".join([*lines, '  - { name: measured, match: "/measured/*", upstream: sink, request: form -> json }'])
