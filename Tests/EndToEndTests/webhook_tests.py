"""Routes with `verify`: challenges that are answered at the edge, and requests that come a second time."""

import base64
import hashlib
import hmac
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from concurrent.futures import ThreadPoolExecutor

from admin import Admin, admin_port
from lifecycle_support import reload
from harness import FORM, JSON, RECAST, ProxyTestCase

SECRET = "A Secret to Everybody"


def mac(text, secret=SECRET):
    return hmac.new(secret.encode(), text.encode() if isinstance(text, str) else text, hashlib.sha256)


def timed(name, signature, stamp):
    """Signs as Slack and Zoom do."""
    def fields(body, secret=SECRET, at=None):
        at = str(int(time.time()) if at is None else at)
        return (f"{stamp}: {at}", f"{signature}: v0=" + mac(f"v0:{at}:".encode() + body, secret).hexdigest())
    return fields


slack = timed("slack", "X-Slack-Signature", "X-Slack-Request-Timestamp")
zoom = timed("zoom", "x-zm-signature", "x-zm-request-timestamp")


def standard(body, identifier="msg_1", at=None, secret=SECRET):
    at = str(int(time.time()) if at is None else at)
    signature = hmac.new(secret.encode(), f"{identifier}.{at}.".encode() + body, hashlib.sha256).digest()
    return (f"webhook-id: {identifier}", f"webhook-timestamp: {at}",
            "webhook-signature: v1," + base64.b64encode(signature).decode())


WHSEC = "whsec_" + base64.b64encode(SECRET.encode()).decode()


class ChallengeTests(ProxyTestCase):
    admin_address, admin_line = admin_port()
    settings = admin_line
    folder = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.key = os.path.join(cls.folder, "key.pem")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", cls.key], check=True, capture_output=True)
        der = subprocess.run(["openssl", "pkey", "-in", cls.key, "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout
        public = der[-32:].hex()
        cls.routes = f"""
  - {{ name: slack, match: /slack, upstream: app, request: form -> json, on_other_type: pass, verify: 'slack(secret: "{SECRET}")' }}
  - {{ name: slack-forward, match: /slack-forward, upstream: app, verify: 'slack(secret: "{SECRET}")', challenge: forward }}
  - {{ name: zoom, match: /zoom, upstream: app, verify: 'zoom(secret: "{SECRET}")' }}
  - {{ name: discord, match: /discord, upstream: app, verify: 'discord(secret: "{public}")' }}
  - {{ name: meta, match: /meta, upstream: app, verify: {{ preset: whatsapp, secret: "{SECRET}", verify_token: "a token & more" }} }}
  - {{ name: meta-none, match: /meta-none, upstream: app, verify: {{ preset: meta, secret: "{SECRET}" }} }}
  - {{ name: meta-forward, match: /meta-forward, upstream: app, verify: {{ preset: meta, secret: "{SECRET}" }}, challenge: forward }}
  - {{ name: meta-report, match: /meta-report, upstream: app, verify: {{ preset: meta, secret: "{SECRET}", on_failure: report }} }}
  - {{ name: x, match: /x, upstream: app, verify: 'x(secret: "{SECRET}")' }}
  - {{ name: dropbox, match: /dropbox, upstream: app, verify: 'dropbox(secret: "{SECRET}")' }}
  - {{ name: github, match: /github, upstream: app, verify: 'github(secret: "{SECRET}")' }}
  - {{ name: intercom, match: /intercom, upstream: app, verify: 'intercom(secret: "{SECRET}")' }}
  - {{ name: mandrill, match: /mandrill, upstream: app, request: "form(document: mandrill_events) -> json",
      verify: 'mandrill(secret: "{SECRET}")' }}
  - {{ name: mandrill-forward, match: /mandrill-forward, upstream: app, verify: 'mandrill(secret: "{SECRET}")', challenge: forward }}
  - {{ name: woocommerce, match: /woocommerce, upstream: app, verify: 'woocommerce(secret: "{SECRET}")' }}
  - {{ name: slack-form, match: /slack-form, upstream: app, request: form -> json, verify: 'slack(secret: "{SECRET}")' }}
  - {{ name: woocommerce-json, match: /woocommerce-json, upstream: app, request: json -> form, verify: 'woocommerce(secret: "{SECRET}")' }}
  - {{ name: keyed, match: /keyed, upstream: app, authorize: [{{ header: X-Api-Key, keys: ["a key of some length"] }}] }}
"""
        super().setUpClass()

    def assert_answer(self, response, content, media_type):
        self.assertEqual(response.status, 200)
        self.assertEqual(response.body, content)
        self.assertEqual(response.fields.get("content-type"), media_type)
        self.assertEqual(response.fields.get("x-content-type-options"), "nosniff")
        self.assertEqual(self.upstream.requests, [])

    def get(self, target):
        return self.send("GET", target)

    def test_slack(self):
        body = b'{"token": "t", "challenge": "3eZ\\u00e4\\"x", "type": "url_verification"}'
        response = self.send("POST", "/slack", body, JSON, slack(body))
        self.assert_answer(response, b'{"challenge":"3eZ\xc3\xa4\\"x"}', "application/json")
        # Not before its signature holds, and nothing that only looks like it.
        self.assert_problem(self.send("POST", "/slack", body, JSON, slack(body, "other")), 401, "signature_mismatch")
        self.assertEqual(self.upstream.requests, [])
        for other in (b'{"type": "event_callback", "challenge": "x"}', b'{"type": "url_verification"}', b"payload=1", b"{", b"[]",
                      b'{"type":"url_verification","challenge":"x","more":"' + b"y" * 4096 + b'"}'):
            with self.subTest(other):
                self.upstream.reset()
                self.assertEqual(self.send("POST", "/slack", other, JSON, slack(other)).status, 200)
                self.assertEqual(self.upstream.one().body, other)

    def test_challenges_are_forwarded_where_the_route_says_so(self):
        body = b'{"challenge": "x", "type": "url_verification"}'
        self.assertEqual(self.send("POST", "/slack-forward", body, JSON, slack(body)).status, 200)
        self.assertEqual(self.upstream.one().fields.get("recast-verified"), "slack")
        self.upstream.reset()
        self.assertEqual(self.get("/meta-forward?hub.mode=subscribe&hub.challenge=1&hub.verify_token=t").status, 200)
        self.assertEqual(self.upstream.one().fields.get("recast-verified"), "challenge; sender=meta")
        self.upstream.reset()
        self.assert_problem(self.get("/meta-forward?hub.mode=subscribe"), 401, "signature_missing")
        self.assertEqual(self.upstream.requests, [])

    def test_zoom(self):
        body = b'{"event":"endpoint.url_validation","payload":{"plainToken":"qgg8vlvZRS6UYooatFL8Aw"},"event_ts":1654503849680}'
        answer = json.dumps({"plainToken": "qgg8vlvZRS6UYooatFL8Aw", "encryptedToken": mac("qgg8vlvZRS6UYooatFL8Aw").hexdigest()},
                            separators=(",", ":")).encode()
        self.assert_answer(self.send("POST", "/zoom", body, JSON, zoom(body)), answer, "application/json")
        # What is signed here must be nothing that would pass for a signed request.
        body = b'{"event":"endpoint.url_validation","payload":{"plainToken":"v0:1:{}"}}'
        self.assertEqual(self.send("POST", "/zoom", body, JSON, zoom(body)).status, 200)
        self.assertEqual(self.upstream.one().body, body)

    def test_discord(self):
        def fields(body):
            command = [RECAST, "sign", "discord", "--secret-file", self.key, "--encoding", "pem"]
            return subprocess.run(command, input=body, check=True, capture_output=True).stdout.decode().splitlines()
        body = b'{"id":"1","type":1}'
        self.assert_answer(self.send("POST", "/discord", body, JSON, fields(body)), b'{"type":1}', "application/json")
        self.assert_problem(self.send("POST", "/discord", body, JSON, fields(b"")), 401, "signature_mismatch")
        body = b'{"id":"1","type":2}'
        self.assertEqual(self.send("POST", "/discord", body, JSON, fields(body)).status, 200)
        self.assertEqual(self.upstream.one().body, body)

    def test_meta(self):
        asked = "hub.mode=subscribe&hub.challenge=11%2058&hub.verify_token=a+token+%26+more"
        self.assert_answer(self.get("/meta?" + asked), b"11 58", "text/plain; charset=utf-8")
        for query, code in ((asked.replace("more", "mort"), "mismatch"), (asked.replace("subscribe", "unsubscribe"), "missing"),
                            (asked.split("&hub.v")[0], "missing"), (asked + "&hub.challenge=2", "missing"),
                            (asked.replace("11%2058", ""), "malformed"), (asked.replace("11", "1" * 5000), "malformed"),
                            ("hub.mode=subscribe", "missing"), ("", "missing")):
            with self.subTest(query[:80]):
                self.assert_problem(self.get("/meta?" + query), 401, f"signature_{code}")
        self.assert_problem(self.get("/meta-none?" + asked), 401, "signature_missing")
        self.assertEqual(self.upstream.requests, [])
        self.assertEqual(self.get("/meta-report?" + asked).status, 200)
        self.assertEqual(self.upstream.one().fields.get("recast-verified"), "failed; sender=meta; reason=missing")

    def test_x(self):
        answer = b'{"response_token":"sha256=' + base64.b64encode(mac("MTIz-_.9").digest()) + b'"}'
        self.assert_answer(self.get("/x?nonce=1&crc_token=MTIz-_.9"), answer, "application/json")
        # With a signature over any text everybody could forge bodies.
        for token in ('{"a":1}', "a b", "%7B%7D", "", "[1]", '"', "admin%3Dtrue", "123", "true", "null"):
            response = self.get("/x?crc_token=" + token.replace('"', "%22").replace(" ", "%20").replace("{", "%7B").replace("}", "%7D"))
            self.assert_problem(response, 401, "signature_malformed")
        # And what anybody may have signed as a token is no body.
        signature = base64.b64encode(mac("MTIz").digest()).decode()
        response = self.send("POST", "/x", b"MTIz", "text/plain", (f"X-Twitter-Webhooks-Signature: sha256={signature}",))
        self.assert_problem(response, 401, "signature_body")
        self.assertEqual(self.upstream.requests, [])

    def test_dropbox(self):
        self.assert_answer(self.get("/dropbox?challenge=%3Cb%3E"), b"<b>", "text/plain; charset=utf-8")
        self.assert_problem(self.get("/dropbox"), 401, "signature_missing")
        self.assert_problem(self.send("POST", "/dropbox?challenge=x", b"{}", JSON), 401, "signature_missing")

    def test_a_head_and_what_says_nothing_need_no_signature(self):
        for path in ("/intercom", "/mandrill"):
            self.assert_answer(self.send("HEAD", path), b"", JSON)
            self.assert_problem(self.get(path), 401, "signature_missing")
        # Mandrill signs it with a key that everybody knows, before there is another one.
        for signature in ((), ("X-Mandrill-Signature: bm9ib2R5IGtub3dzIHRoaXM=",)):
            self.assert_answer(self.send("POST", "/mandrill", b"mandrill_events=%5B%5D", FORM, signature), b"{}", JSON)
            code = "signature_mismatch" if signature else "signature_missing"
            self.assert_problem(self.send("POST", "/mandrill", b"mandrill_events=%5B1%5D", FORM, signature), 401, code)
        self.assert_answer(self.send("POST", "/woocommerce", b"webhook_id=7", FORM), b"{}", JSON)
        self.assert_problem(self.send("POST", "/woocommerce", b'{"id":7}', JSON), 401, "signature_missing")
        self.assert_problem(self.send("POST", "/woocommerce", b"webhook_id=" + b"7" * 60, FORM), 401, "signature_missing")
        self.assert_problem(self.send("POST", "/mandrill-forward", b"mandrill_events=%5B%5D", FORM), 401, "signature_missing")
        self.assertEqual(self.upstream.requests, [])
        self.assertEqual(self.send("HEAD", "/mandrill-forward").status, 200)
        self.assertEqual(self.upstream.one().fields.all("recast-verified"), ["challenge; sender=mandrill"])

    def test_whose_it_is_comes_before_what_the_route_converts(self):
        """A challenge is of another type than deliveries, and who isn't known hears nothing of types."""
        body = b'{"challenge": "x", "type": "url_verification"}'
        self.assert_answer(self.send("POST", "/slack-form", body, JSON, slack(body)), b'{"challenge":"x"}', JSON)
        self.assert_answer(self.send("POST", "/woocommerce-json", b"webhook_id=7", FORM), b"{}", JSON)
        for path, body, media_type in (("/slack-form", b'{"a":1}', JSON), ("/woocommerce-json", b"a=" + b"1" * 64, FORM), ("/slack-form", b"", JSON)):
            with self.subTest(path, body=body):
                self.assert_problem(self.send("POST", path, body, media_type), 401, "signature_missing")
                self.assert_problem(self.send("POST", path, body, media_type, ("Cache-Control: no-transform",)), 401, "signature_missing")
        body = b'{"a":1}'
        self.assert_problem(self.send("POST", "/slack-form", body, JSON, slack(body)), 415, "unsupported_media_type")
        body = b"a=1"
        signature = (f"X-WC-Webhook-Signature: {base64.b64encode(mac(body).digest()).decode()}",)
        self.assert_problem(self.send("POST", "/woocommerce-json", body, FORM, signature), 415, "unsupported_media_type")
        self.assertEqual(self.upstream.requests, [])
        self.assertEqual(self.send("POST", "/slack-form", body, FORM, slack(body)).status, 200)
        self.assertEqual(self.upstream.one().json, {"a": "1"})

    def test_what_was_looked_at_goes_on_whole(self):
        """Connection must not take away what a signature or a key was known by, or anything else of such a request."""
        body = b"{}"
        signed = (f"X-Hub-Signature-256: sha256={mac(body).hexdigest()}", "X-GitHub-Event: push")
        for names, status in (("x-hub-signature-256", 400), ("X-GitHub-Event", 400), ("close, x-github-event", 400), ("x-other", 200),
                              ("keep-alive", 200), ("TE", 200)):
            with self.subTest(names):
                response = self.send("POST", "/github", body, JSON, (*signed, f"Connection: {names}", "TE: trailers"))
                self.assertEqual(response.status, status, response.body)
                if status == 400:
                    self.assert_problem(response, 400, "http_protected_connection_option")
        key = "X-Api-Key: a key of some length"
        self.assertEqual(self.send("GET", "/keyed", fields=(key,)).status, 200)
        self.assert_problem(self.send("GET", "/keyed", fields=(key, "Connection: x-api-key")), 400, "http_protected_connection_option")

    def test_a_connection_goes_on_behind_an_answer(self):
        client = self.client()
        for path in ("/intercom", "/mandrill"):
            client.request("HEAD", path)
            response = client.response("HEAD")
            self.assertEqual((response.status, response.fields.get("content-length")), (200, "2"))
        body = b'{"challenge": "x", "type": "url_verification"}'
        for _ in range(3):
            client.request("GET", "/dropbox?challenge=x")
            self.assertEqual(client.response().body, b"x")
            client.request("POST", "/slack", body, JSON, slack(body))
            self.assertEqual(client.response().body, b'{"challenge":"x"}')

    def test_they_are_counted_and_logged(self):
        def count():
            return Admin(self.admin_address).metrics().sum("recast_verifications_total", sender="dropbox", result="challenge")
        first = count()
        self.send("GET", "/dropbox?challenge=1", fields=("X-Request-Id: one-challenge",))
        self.assertEqual(count(), first + 1)
        entry = self.recast.log_entry("one-challenge")
        self.assertEqual((entry["sender"], entry["signature"], entry["status"], entry.get("flags")), ("dropbox", "challenge", 200, None))


class ReplayTests(ProxyTestCase):
    admin_address, admin_line = admin_port()
    settings = admin_line
    workers = 2
    routes = f"""
  - {{ name: standard, match: /standard, upstream: app, request: json -> form,
      verify: {{ preset: standard-webhooks, secret: "{WHSEC}", replay: 10m }} }}
  - {{ name: few, match: /few, upstream: app,
      verify: {{ preset: standard-webhooks, secret: "{WHSEC}", replay: {{ remember: 10m, entries: 3 }} }} }}
  - {{ name: short, match: /short, upstream: app,
      verify: {{ preset: standard-webhooks, secret: "{WHSEC}", replay: {{ remember: 1ms }} }} }}
  - {{ name: report, match: /report, upstream: app,
      verify: {{ preset: standard-webhooks, secret: "{WHSEC}", replay: 10m, on_failure: report }} }}
  - {{ name: off, match: /off, upstream: app, verify: {{ preset: standard-webhooks, secret: "{WHSEC}" }} }}
  - {{ name: slack, match: /slack, upstream: app, verify: {{ preset: slack, secret: "{SECRET}", replay: 10m }} }}
  - {{ name: github, match: /github, upstream: app, verify: {{ preset: github, secret: "{SECRET}", replay: 10m }} }}
  - {{ name: stripe, match: /stripe, upstream: app, verify: {{ preset: stripe, secret: "{SECRET}", replay: 10m }} }}
  - {{ name: shopify, match: /shopify, upstream: app, verify: {{ preset: shopify, secret: "{SECRET}", replay: 10m }} }}
"""
    number = 0

    def identifier(self):
        ReplayTests.number += 1
        return f"msg_{self.number}"

    def post(self, path, identifier, body=b'{"a":1}'):
        return self.send("POST", path, body, JSON, standard(body, identifier))

    def test_what_came_before_is_refused_on_every_worker(self):
        one = self.identifier()
        self.assertEqual(self.post("/standard", one).status, 200)
        for _ in range(8):
            self.assert_problem(self.post("/standard", one), 409, "signature_replayed")
        # Another content and another time are the same message, by its id.
        self.assert_problem(self.post("/standard", one, b'{"a":2}'), 409, "signature_replayed")
        self.assertEqual(len(self.upstream.requests), 1)
        self.assertEqual(self.post("/standard", self.identifier()).status, 200)
        # Each route remembers its own.
        self.assertEqual(self.post("/few", one).status, 200)
        for _ in range(2):
            self.assertEqual(self.post("/off", one).status, 200)

    def test_a_request_that_failed_may_come_again(self):
        one = self.identifier()
        for status in (500, 503, 404, 302):
            self.upstream.script = lambda exchange, status=status: (exchange.read_body(), exchange.answer(status))
            self.assertEqual(self.post("/standard", one).status, status)
        self.upstream.script = lambda exchange: (exchange.read_body(), exchange.close())
        self.assertEqual(self.post("/standard", one).status, 502)
        # What can't be converted never reached the service.
        self.assertEqual(self.post("/standard", one, b'{"a":').status, 400)
        # A forged one with its id doesn't count.
        fields = standard(b"{}", one, secret="other")
        self.assertEqual(self.send("POST", "/standard", b"{}", JSON, fields).status, 401)
        self.upstream.reset()
        self.assertEqual(self.post("/standard", one).status, 200)
        self.assertEqual(self.post("/standard", one).status, 409)

    def test_of_many_at_once_one_is_taken(self):
        one = self.identifier()
        with ThreadPoolExecutor(8) as pool:
            statuses = sorted(pool.map(lambda _: self.post("/standard", one).status, range(24)))
        self.assertEqual(statuses, [200] + [409] * 23)

    def test_the_oldest_are_forgotten_beyond_the_entries(self):
        names = [self.identifier() for _ in range(4)]
        for name in names[:3]:
            self.assertEqual(self.post("/few", name).status, 200)
        for name in names[:3]:
            self.assertEqual(self.post("/few", name).status, 409)
        self.assertEqual(self.post("/few", names[3]).status, 200)
        self.assertEqual([self.post("/few", name).status for name in names[1:]], [409] * 3)
        self.assertEqual(self.post("/few", names[0]).status, 200)
        metrics = Admin(self.admin_address).metrics()
        self.assertEqual(metrics.sum("recast_replay_entries", route="few"), 3)
        self.assertGreaterEqual(metrics.sum("recast_replay_dropped_total", route="few"), 2)

    def test_the_time_ends(self):
        one = self.identifier()
        self.assertEqual(self.post("/short", one).status, 200)
        deadline = time.monotonic() + 10
        while self.post("/short", one).status == 409:
            self.assertLess(time.monotonic(), deadline)

    def test_report_lets_them_in_and_says_so(self):
        one = self.identifier()
        for mark in ("standard-webhooks", "failed; sender=standard-webhooks; reason=replayed"):
            self.upstream.reset()
            self.assertEqual(self.post("/report", one).status, 200)
            self.assertEqual(self.upstream.one().fields.get("recast-verified"), mark)

    def test_without_an_id_the_signature_is_one(self):
        body, at = b"{}", int(time.time())
        fields = slack(body, at=at)
        self.assertEqual(self.send("POST", "/slack", body, JSON, fields).status, 200)
        self.assertEqual(self.send("POST", "/slack", body, JSON, fields).status, 409)
        self.assertEqual(self.send("POST", "/slack", body, JSON, slack(body, at=at - 1)).status, 200)

    def test_the_same_signature_written_otherwise_is_the_same_request(self):
        digest = mac("{}").hexdigest()
        at = int(time.time())
        timed_digest = mac(f"{at}.{{}}").hexdigest()
        encoded = base64.b64encode(mac("{}").digest()).decode()

        def shopify(signature, name):
            return (f"X-Shopify-Hmac-Sha256: {signature}", "X-Shopify-Topic: a", "X-Shopify-Shop-Domain: b", "X-Shopify-API-Version: c",
                    f"X-Shopify-Webhook-Id: {name}")
        for path, first, others in (
            ("/github", (f"X-Hub-Signature-256: sha256={digest}",), [(f"X-Hub-Signature-256: sha256={digest.upper()}",)]),
            ("/stripe", (f"Stripe-Signature: t={at},v1={timed_digest}",),
             [(f"Stripe-Signature: t={at},v1={timed_digest},v0=00",), (f"Stripe-Signature: v1={timed_digest.upper()},t={at}",)]),
            # Its id isn't signed, so it tells nothing.
            ("/shopify", shopify(encoded, "1"), [shopify(encoded.rstrip("="), "1"), shopify(encoded, "2")]),
        ):
            with self.subTest(path):
                self.assertEqual(self.send("POST", path, b"{}", JSON, first).status, 200)
                for fields in others:
                    self.assert_problem(self.send("POST", path, b"{}", JSON, fields), 409, "signature_replayed")
        # Another content is another request.
        fields = (f"X-Hub-Signature-256: sha256={mac('[]').hexdigest()}",)
        self.assertEqual(self.send("POST", "/github", b"[]", JSON, fields).status, 200)

    def test_a_reload_forgets_nothing(self):
        one = self.identifier()
        self.assertEqual(self.post("/standard", one).status, 200)
        reload(self.recast)
        self.assertEqual(self.post("/standard", one).status, 409)


class SignedFieldTests(ProxyTestCase):
    """What senders sign inside of bodies, beside which there may be much that they don't, or as much as the route takes."""

    routes = f"""
  - {{ name: linear, match: /linear, upstream: app, verify: 'linear(secret: "{SECRET}")' }}
  - {{ name: mailgun, match: /mailgun, upstream: app, verify: 'mailgun(secret: "{SECRET}")' }}
  - {{ name: twilio, match: /twilio, upstream: app, verify: {{ preset: twilio, secret: "{SECRET}", public_url: "https://t.example" }} }}
  - {{ name: wide, match: /wide, upstream: app, limits: {{ fields: 50000 }},
      request: {{ decode: {{ as: form, charset: windows-1252 }}, encode: json }},
      verify: {{ preset: twilio, secret: "{SECRET}", public_url: "https://t.example" }} }}
  - {{ name: report, match: /report, upstream: app,
      verify: {{ preset: twilio, secret: "{SECRET}", public_url: "https://t.example", on_failure: report }} }}
  - {{ name: signed, match: /signed, upstream: app, request: json -> form, sign: {{ preset: twilio, secret: "{SECRET}", public_url: "https://t.example" }} }}
  - {{ name: signed-wide, match: /signed-wide, upstream: app, limits: {{ fields: 50000 }}, request: json -> form,
      sign: {{ preset: twilio, secret: "{SECRET}", public_url: "https://t.example" }} }}
  - {{ name: shopify, match: /shopify, upstream: app, verify: 'shopify(secret: "{SECRET}")' }}
"""

    def twilio(self, path, body, signed, media_type=FORM):
        digest = hmac.new(SECRET.encode(), f"https://t.example{path}{signed}".encode(), hashlib.sha1).digest()
        return self.send("POST", path, body, media_type, (f"X-Twilio-Signature: {base64.b64encode(digest).decode()}",))

    def test_a_time_beside_any_members(self):
        for data in ("[" + ",".join("1" * 40000) + "]", "[" * 200 + "]" * 200, '{"a":1,"a":2}', '"\\ud800"', '{"%s":1}' % ("k" * 3000), "7" * 3000):
            body = f'{{"webhookTimestamp":{int(time.time() * 1000)},"data":{data}}}'.encode()
            with self.subTest(data[:40]):
                self.upstream.reset()
                self.assertEqual(self.send("POST", "/linear", body, JSON, (f"Linear-Signature: {mac(body).hexdigest()}",)).status, 200)
                self.assertEqual(self.upstream.one().body, body)
        self.upstream.reset()
        for body, code in ((b'{"data":[1,]}', "body"), (b'{"webhookTimestamp":1,"webhookTimestamp":1}', "duplicated"), (b"{}", "missing")):
            problem = self.assert_problem(
                self.send("POST", "/linear", body, JSON, (f"Linear-Signature: {mac(body).hexdigest()}",)), 401, f"signature_{code}")
            self.assertEqual(problem.get("pointer"), "/webhookTimestamp" if code == "missing" else None)
        self.assertEqual(self.upstream.requests, [])

    def test_three_fields_of_any_mail(self):
        at = str(int(time.time()))
        fields = f"timestamp={at}&token=tok&signature={mac(at + 'tok').hexdigest()}".encode()
        parts = b"".join(b"--b\r\nContent-Disposition: form-data; name=\"%s\"\r\n\r\n%s\r\n" % tuple(one.split(b"=")) for one in fields.split(b"&"))
        for more in (b"&".join(b"f%d=1" % number for number in range(1500)), b"n" * 3000 + b"=1", b"subject=%FC"):
            body = more + b"&" + fields
            self.upstream.reset()
            self.assertEqual(self.send("POST", "/mailgun", body, FORM).status, 200, more[:20])
            self.assertEqual(self.upstream.one().body, body)
        head = b"--b\r\nContent-Disposition: form-data; name=\"s\""
        for more in (b"".join(head + b"\r\n\r\n1\r\n" for _ in range(1500)), head + b"\r\nX-A: 1" * 20 + b"\r\n\r\n1\r\n", head + b"\r\n\r\n\xfc\r\n"):
            self.assertEqual(self.send("POST", "/mailgun", more + parts + b"--b--\r\n", "multipart/form-data; boundary=b").status, 200)

    def test_where_all_fields_are_signed_the_routes_limits_and_charset_hold(self):
        many = "&".join(f"f{number:04}=1" for number in range(1001)).encode()
        signed = "".join(f"f{number:04}1" for number in range(1001))
        problem = self.assert_problem(self.twilio("/twilio", many, signed), 413, "limit_fields")
        self.assertEqual(problem["setting"], "limits.fields")
        self.assertEqual(self.upstream.requests, [])
        self.assertEqual(self.twilio("/wide", many, signed).status, 200)
        self.upstream.reset()
        self.assertEqual(self.twilio("/wide", b"A=%FC", "A\u00fc").status, 200)
        self.assertEqual(self.upstream.one().json, {"A": "\u00fc"})
        self.upstream.reset()
        self.assertEqual(self.twilio("/report", many, signed).status, 200)
        self.assertEqual(self.upstream.one().fields.get("recast-verified"), "failed; sender=twilio; reason=too_long")
        self.assert_problem(self.twilio("/twilio", b"A=%FC", "A\u00fc"), 401, "signature_body")
        self.assertEqual(self.twilio("/twilio", b"A=1", "A1", FORM + "\t; charset=utf-8").status, 200)
        document = json.dumps({f"f{number:04}": "1" for number in range(1001)}).encode()
        problem = self.assert_problem(self.send("POST", "/signed", document, JSON), 413, "limit_fields")
        self.assertEqual(problem["setting"], "limits.fields")
        self.assertEqual(self.send("POST", "/signed-wide", document, JSON).status, 200)

    def test_what_is_missing_has_a_name(self):
        encoded = base64.b64encode(mac("{}").digest()).decode()
        for path, media_type, fields, missing in (
            ("/shopify", JSON, (), "X-Shopify-Hmac-Sha256"), ("/shopify", JSON, (f"X-Shopify-Hmac-Sha256: {encoded}",), "X-Shopify-Topic"),
            ("/twilio", FORM, (), "X-Twilio-Signature"), ("/twilio", None, ("X-Twilio-Signature: AA==",), "Content-Type"),
            ("/twilio", JSON, ("X-Twilio-Signature: AA==",), "bodySHA256"), ("/mailgun", FORM, (), "signature"),
        ):
            with self.subTest(path=path, missing=missing):
                problem = self.assert_problem(self.send("POST", path, b"{}", media_type, fields), 401, "signature_missing")
                self.assertEqual(problem["field"], missing)
                self.assertIn(missing, problem["detail"])

    def test_the_command_reads_what_the_proxy_does(self):
        body = b'{"data":[' + b",".join([b"1"] * 400000) + b'],"webhookTimestamp":%d}' % (int(time.time()) * 1000)
        signed = subprocess.run([RECAST, "sign", "linear", "--secret", SECRET], input=body, capture_output=True)
        self.assertEqual(signed.returncode, 0, signed.stderr)
        verified = subprocess.run([RECAST, "verify", "linear", "--secret", SECRET, "-H", signed.stdout.decode().strip()],
                                  input=body, capture_output=True)
        self.assertEqual((verified.returncode, verified.stdout), (0, b"verified: linear\n"), verified.stderr)
        refused = subprocess.run([RECAST, "verify", "github", "--secret", SECRET], input=body, capture_output=True)
        self.assertIn(b"missing: the request has no X-Hub-Signature-256", refused.stderr)


if __name__ == "__main__":
    unittest.main()
