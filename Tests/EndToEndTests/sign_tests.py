"""Routes with `sign`: what the upstream gets is signed over what the body has become."""

import base64
import gzip
import hashlib
import hmac
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from urllib.parse import parse_qsl

from harness import DEADLINE, FORM, JSON, RECAST, ProxyTestCase, select_nothing

SECRET = "A Secret to Everybody"
WHSEC = "whsec_" + base64.b64encode(SECRET.encode()).decode()
KIB = 1024


def chunked(body, size):
    return b"".join(b"%x\r\n%s\r\n" % (len(body[at:at + size]), body[at:at + size])
                    for at in range(0, len(body), size)) + b"0\r\n\r\n"


def standard(secret, identifier, at, body):
    return "v1," + base64.b64encode(hmac.new(secret, f"{identifier}.{at}.".encode() + body, hashlib.sha256).digest()).decode()


def make_keys(folder):
    """The paths of a private and a public Ed25519 key in PEM, with a byte order mark in front of the latter."""
    private, public = os.path.join(folder, "private.pem"), os.path.join(folder, "public.pem")
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", private], check=True, capture_output=True)
    text = subprocess.run(["openssl", "pkey", "-in", private, "-pubout"], check=True, capture_output=True).stdout
    with open(public, "wb") as file:
        file.write(b"\xef\xbb\xbf" + text)
    return private, public


class KeyTests(ProxyTestCase):
    """Keys whose encoding the settings don't say: what is verified by a public key, nobody can sign by it."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.private, cls.public = make_keys(cls.folder)
        cls.shared = os.path.join(cls.folder, "shared")
        with open(cls.shared, "w") as file:
            file.write(SECRET + "\n")
        cls.routes = f"""
  - {{ name: g, match: /g, upstream: app, verify: {{ preset: github, secret: "${{file:{cls.shared}}}" }} }}
  - {{ name: v, match: /v, upstream: app, verify: {{ preset: http-message-signatures, secret: "${{file:{cls.public}}}" }} }}
  - {{ name: s, match: /s, upstream: app, sign: {{ preset: http-message-signatures, secret: "${{file:{cls.private}}}" }} }}
"""
        super().setUpClass()

    def sign(self, *arguments):
        url = f"http://127.0.0.1:{self.recast.port}/v"
        return subprocess.run([RECAST, "sign", "http-message-signatures", "--url", url, "--type", JSON, *arguments],
                              input=b"{}", capture_output=True)

    def post(self, signed):
        fields = signed.stdout.decode().splitlines() + [f"Host: 127.0.0.1:{self.recast.port}"]
        head = "".join(f"{line}\r\n" for line in fields)
        client = self.client()
        client.send(f"POST /v HTTP/1.1\r\nContent-Type: {JSON}\r\nContent-Length: 2\r\n{head}\r\n{{}}".encode())
        return client.response("POST").status

    def test_the_private_key_signs_and_the_public_one_does_not(self):
        signed = self.sign("--secret-file", self.private)
        self.assertEqual(signed.returncode, 0, signed.stderr)
        self.assertEqual(self.post(signed), 200)
        refused = self.sign("--secret-file", self.public)
        self.assertEqual((refused.returncode, refused.stdout), (64, b""))
        self.assertIn(b"a public key can't sign", refused.stderr)
        with open(self.public, encoding="utf-8-sig") as file:
            text = file.read()
        for secret in (text, "\ufeff" + text, text.rstrip("\n")):
            forged = self.sign(f"--secret={secret}", "--encoding", "text")
            self.assertEqual(forged.returncode, 0, forged.stderr)
            self.assertEqual(self.post(forged), 401)

    def test_a_reload_takes_no_key_for_a_shared_secret(self):
        def send(secret):
            digest = hmac.new(secret, b"{}", hashlib.sha256).hexdigest()
            return self.send("POST", "/g", b"{}", JSON, (f"X-Hub-Signature-256: sha256={digest}",)).status

        self.assertEqual(send(SECRET.encode()), 200)
        with open(self.public, "rb") as file:
            key = file.read()
        with open(self.shared, "wb") as file:
            file.write(key)
        self.recast.process.send_signal(signal.SIGHUP)
        deadline = time.monotonic() + DEADLINE
        while "no shared secret" not in self.recast.error_text():
            self.assertLess(time.monotonic(), deadline)
            select_nothing()
        self.assertEqual([send(secret) for secret in (key, key.strip(), key[3:], SECRET.encode())], [401, 401, 401, 200])

    def test_what_goes_on_is_signed_by_the_key(self):
        self.assertEqual(self.send("POST", "/s", b"{}", JSON).status, 200)
        self.assertIn('alg="ed25519"', self.upstream.one().fields.get("signature-input"))


class SignTests(ProxyTestCase):
    folder = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.key = os.path.join(cls.folder, "key.pem")
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", cls.key], check=True, capture_output=True)
        cls.routes = f"""
  - {{ name: plain, match: /plain, upstream: app, sign: 'standard-webhooks(secret: "{WHSEC}")' }}
  - {{ name: svix, match: /svix, upstream: app, sign: 'svix(secret: "{WHSEC}")' }}
  - {{ name: clerk, match: /clerk, upstream: app, request: form -> json, verify: 'clerk(secret: "{WHSEC}")', sign: 'svix(secret: "{WHSEC}")' }}
  - {{ name: form, match: /form, upstream: app, request: form -> json, sign: 'standard-webhooks(secret: "{WHSEC}")', limits: {{ signed: 1KiB }} }}
  - {{ name: big, match: /big, upstream: app, request: form -> json, limits: {{ signed: 8MiB, field: 8MiB, tree: 16MiB }},
      sign: 'standard-webhooks(secret: "{WHSEC}")' }}
  - {{ name: query, match: /query, upstream: app, request: form -> query, sign: {{ header: X-Signed, signed: "{{method}} {{path}} {{body}}", secret: "{SECRET}" }} }}
  - {{ name: both, match: /both, upstream: app, request: form -> json, verify: {{ preset: github, secret: "{SECRET}" }},
      sign: 'github(secret: another)' }}
  - {{ name: again, match: /again, upstream: app, verify: {{ preset: standard-webhooks, secret: "{WHSEC}" }},
      sign: {{ preset: standard-webhooks, secret: {{ value: "other", encoding: text }} }} }}
  - name: generic
    match: "/generic/{{name}}"
    upstream: app
    rewrite: "/in/${{path.name}}"
    host: inner.example
    sign:
      header: X-Acme
      list: {{ timestamp: t, signature: v1 }}
      signed: "{{id}} {{method}} {{url}} {{path}} {{timestamp}} {{body}}!"
      id: X-Delivery
      algorithm: hmac-sha512
      encoding: base64
      timestamp: {{ unit: ms }}
      secret: {{ value: "{SECRET.encode().hex()}", encoding: hex }}
  - {{ name: url, match: /url, upstream: app, sign: {{ preset: square, secret: "{SECRET}", public_url: "https://shop.example/hooks" }} }}
  - {{ name: slash, match: /slash, upstream: app, sign: {{ preset: square, secret: "{SECRET}", public_url: "https://shop.example/hooks/" }} }}
  - {{ name: twilio, match: "/twilio", upstream: app, request: json -> form, sign: {{ preset: twilio, secret: "{SECRET}", public_url: "https://t.example" }} }}
  - {{ name: ed25519, match: /ed25519, upstream: app, request: form -> json,
      sign: {{ preset: discord, secret: {{ value: "${{file:{cls.key}}}", encoding: pem }} }} }}
  - {{ name: token, match: /token, upstream: app, sign: 'gitlab-token(secret: "{SECRET}")' }}
  - {{ name: length, match: /length, upstream: wants-length, request: form -> json, limits: {{ field: 1MiB, tree: 4MiB }}, sign: 'standard-webhooks(secret: "{WHSEC}")' }}
  - {{ name: chunks, match: /chunks, upstream: wants-chunks, sign: 'standard-webhooks(secret: "{WHSEC}")' }}
"""
        super().setUpClass()

    further_upstreams = {"wants-length": "{ address: $APP, framing: length }", "wants-chunks": "{ address: $APP, framing: chunked }"}

    def post(self, path, body, media_type=JSON, *fields):
        return self.send("POST", path, body, media_type, fields)

    def assert_standard(self, request, identifier=None, secret=SECRET.encode()):
        fields = request.fields
        for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
            self.assertEqual(len(fields.all(name)), 1, name)
        identifier = identifier or fields.get("webhook-id")
        self.assertEqual(fields.get("webhook-id"), identifier)
        at = fields.get("webhook-timestamp")
        self.assertLess(abs(int(at) - time.time()), 60)
        self.assertEqual(fields.get("webhook-signature"), standard(secret, identifier, at, request.body))

    def test_the_body_is_signed_as_it_has_become(self):
        self.assertEqual(self.post("/form", b"a=1&b=%C3%A4", FORM, "X-Request-Id: id-1").status, 200)
        request = self.upstream.one()
        self.assertEqual(request.json, {"a": "1", "b": "\u00e4"})
        self.assertEqual(request.fields.get("content-length"), str(len(request.body)))
        self.assertNotIn("transfer-encoding", request.fields)
        self.assert_standard(request, "id-1")

    def test_what_passes_is_signed_too_with_its_length(self):
        for body in (b'{"a":1}', b"", b"\x00\xff" * 700):
            for path in ("/plain", "/chunks"):
                self.upstream.reset()
                self.assertEqual(self.post(path, body).status, 200)
                request = self.upstream.one()
                self.assertEqual(request.body, body)
                self.assert_standard(request)
        self.upstream.reset()
        client = self.client()
        client.send(b"POST /plain HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(b'{"a": "b"}', 3))
        self.assertEqual(client.response("POST").status, 200)
        request = self.upstream.one()
        self.assertEqual(request.fields.get("content-length"), "10")
        self.assert_standard(request)
        for method in ("GET", "DELETE"):
            self.upstream.reset()
            self.assertEqual(self.send(method, "/plain").status, 200)
            self.assert_standard(self.upstream.one())

    def test_an_id_that_could_be_read_in_two_ways_is_told_by_its_digest(self):
        for given in ("a.b", "a b", "\u00e4", "x" * 127 + "."):
            self.upstream.reset()
            self.post("/plain", b"{}", JSON, f"X-Request-Id: {given}")
            digest = hashlib.sha256(given.encode("latin-1")).hexdigest()[:32]
            self.assert_standard(self.upstream.one(), f"msg_{digest}")

    def test_fields_of_those_names_from_outside_go(self):
        # Receivers of the scheme read it under the names of Svix too, and some of them first.
        forged = ("webhook-signature: v1,forged", "Webhook-Id: forged", "WEBHOOK_TIMESTAMP: 1", "svix-id: 7", "Svix-Signature: v1,forged",
                  "SVIX-TIMESTAMP: 1", "svix-other: 7")
        for path in ("/plain", "/svix"):
            with self.subTest(path):
                self.upstream.reset()
                self.post(path, b"{}", JSON, *forged)
                request = self.upstream.one()
                self.assert_standard(request)
                self.assertNotIn("WEBHOOK_TIMESTAMP", str(request.fields))
                for name in ("svix-id", "svix-timestamp", "svix-signature"):
                    self.assertNotIn(name, request.fields)
                self.assertEqual(request.fields.get("svix-other"), "7")

    def test_what_svix_has_signed_is_signed_anew_under_one_set_of_names(self):
        body, at = b"a=1", str(int(time.time()))
        signature = standard(SECRET.encode(), "msg_7", at, body)
        sent = ("svix-id: msg_7", f"svix-timestamp: {at}", f"svix-signature: {signature}")
        self.assertEqual(self.post("/clerk", body, FORM, *sent).status, 200)
        request = self.upstream.one()
        self.assertEqual(request.body, b'{"a":"1"}')
        self.assert_standard(request, "msg_7")
        for name in ("svix-id", "svix-timestamp", "svix-signature"):
            self.assertNotIn(name, request.fields)

    def test_verified_converted_and_signed_again(self):
        body = b"payload=%7B%7D"
        signature = hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        self.assertEqual(self.post("/both", body, FORM, f"X-Hub-Signature-256: sha256={signature}").status, 200)
        request = self.upstream.one()
        self.assertEqual(request.fields.get("recast-verified"), "github")
        self.assertEqual(request.body, b'{"payload":"{}"}')
        expected = hmac.new(b"another", request.body, hashlib.sha256).hexdigest()
        self.assertEqual(request.fields.all("x-hub-signature-256"), [f"sha256={expected}"])
        self.upstream.reset()
        self.assert_problem(self.post("/both", body + b"x", FORM, f"X-Hub-Signature-256: sha256={signature}"), 401, "signature_mismatch")
        self.assertEqual(self.upstream.requests, [])

    def test_a_sender_that_names_its_message_names_ours(self):
        body, at = b'{"a":1}', str(int(time.time()))
        fields = ("webhook-id: msg_7", f"webhook-timestamp: {at}", "webhook-signature: " + standard(SECRET.encode(), "msg_7", at, body))
        self.assertEqual(self.post("/again", body, JSON, *fields).status, 200)
        self.assert_standard(self.upstream.one(), "msg_7", b"other")

    def test_the_generic_form_signs_what_is_sent(self):
        self.assertEqual(self.post("/generic/a%20b?c=d", b"x=1", "text/plain", "X-Request-Id: r1").status, 200)
        request = self.upstream.one()
        self.assertEqual(request.target, "/in/a%20b?c=d")
        time_text, signature = request.fields.get("x-acme").split(",")
        signed = f"r1 POST http://inner.example/in/a%20b?c=d /in/a%20b?c=d {time_text[2:]} x=1!"
        expected = base64.b64encode(hmac.new(SECRET.encode(), signed.encode(), hashlib.sha512).digest()).decode()
        self.assertEqual(signature, f"v1={expected}")
        self.assertGreater(int(time_text[2:]), 1_700_000_000_000)
        self.assertEqual(request.fields.get("x-delivery"), "r1")

    def test_a_url_is_what_the_receiver_is_called(self):
        self.post("/url?a=b", b"{}")
        expected = hmac.new(SECRET.encode(), b"https://shop.example/hooks/url?a=b{}", hashlib.sha256).digest()
        self.assertEqual(self.upstream.one().fields.get("x-square-hmacsha256-signature"), base64.b64encode(expected).decode())
        # A slash at its end is the target's, as it is in verify.
        self.upstream.reset()
        self.post("/slash?a=b", b"{}")
        expected = hmac.new(SECRET.encode(), b"https://shop.example/hooks/slash?a=b{}", hashlib.sha256).digest()
        self.assertEqual(self.upstream.one().fields.get("x-square-hmacsha256-signature"), base64.b64encode(expected).decode())

    def test_a_form_that_became_a_query_is_signed_where_it_stands(self):
        self.assertEqual(self.post("/query", b"a=1&b=2", FORM).status, 200)
        request = self.upstream.one()
        self.assertEqual((request.target, request.body), ("/query?a=1&b=2", b""))
        self.assertEqual(request.fields.get("x-signed"), hmac.new(SECRET.encode(), b"POST /query?a=1&b=2 ", hashlib.sha256).hexdigest())

    def test_twilio_signs_the_fields_that_the_body_has_now(self):
        self.assertEqual(self.post("/twilio", b'{"b": "2", "a": "1 \\u00e4"}').status, 200)
        request = self.upstream.one()
        signed = "https://t.example/twilio" + "".join(name + value for name, value in sorted(parse_qsl(request.body.decode())))
        expected = base64.b64encode(hmac.new(SECRET.encode(), signed.encode(), hashlib.sha1).digest()).decode()
        self.assertEqual(request.fields.get("x-twilio-signature"), expected)

    def test_a_private_key(self):
        self.assertEqual(self.post("/ed25519", b"a=" + b"b" * 5000, FORM).status, 200)
        request = self.upstream.one()
        fields = [f"{name}: {request.fields.get(name)}" for name in ("x-signature-ed25519", "x-signature-timestamp")]
        der = subprocess.run(["openssl", "pkey", "-in", self.key, "-pubout", "-outform", "DER"], check=True, capture_output=True).stdout
        command = [RECAST, "verify", "discord", "--secret", der[-32:].hex(), "-H", fields[0], "-H", fields[1]]
        self.assertEqual(subprocess.run(command, input=request.body, capture_output=True).stdout, b"verified: discord\n")

    def test_a_token(self):
        self.post("/token", b"{}", JSON, "X-Gitlab-Token: guess")
        self.assertEqual(self.upstream.one().fields.all("x-gitlab-token"), [SECRET])

    def test_the_limit_of_what_is_signed(self):
        # {"a":"…"} has 8 bytes beside the text.
        for count in (KIB - 1, KIB, KIB + 1):
            with self.subTest(count):
                self.upstream.reset()
                response = self.post("/form", b"a=" + b"x" * (count - 8), FORM)
                if count <= KIB:
                    self.assertEqual(response.status, 200)
                    request = self.upstream.one()
                    self.assertEqual(len(request.body), count)
                    self.assert_standard(request)
                else:
                    problem = self.assert_problem(response, 413, "limit_signed")
                    self.assertEqual(problem["setting"], "limits.signed")
                    self.assertEqual(self.upstream.requests, [])

    def test_a_body_of_many_pieces(self):
        for path, most in (("/big", 700 * KIB), ("/length", 200 * KIB)):
            for count in (64 * KIB - 8, 64 * KIB, most):
                with self.subTest(path=path, count=count):
                    self.upstream.reset()
                    self.assertEqual(self.post(path, b"a=" + b"x" * count, FORM).status, 200)
                    request = self.upstream.one()
                    self.assertEqual(len(request.body), count + 8)
                    self.assert_standard(request)
        self.upstream.reset()
        self.assertEqual(self.post("/big", b"a=" + b"y" * (7 * KIB * KIB), FORM).status, 200)
        self.assert_standard(self.upstream.one())

    def test_a_request_that_is_sent_again_has_the_same_signature(self):
        # A connection that closes on reuse: the request goes out once more, as it was.
        self.assertEqual(self.send("PUT", "/plain", b"{}", JSON).status, 200)
        self.upstream.one()
        self.upstream.reset()
        seen = []

        def script(exchange):
            exchange.read_body()
            seen.append(exchange.received)
            if len(seen) == 1:
                exchange.close()
            else:
                exchange.answer()
        self.upstream.script = script
        self.assertEqual(self.send("PUT", "/plain", b"{}", JSON).status, 200)
        self.assertEqual(len(seen), 2)
        for request in seen:
            self.assert_standard(request)
        self.assertEqual(seen[0].fields.get("webhook-signature"), seen[1].fields.get("webhook-signature"))

    def test_a_coded_body_that_passes_is_signed_as_it_is(self):
        body = gzip.compress(b'{"a":1}')
        self.post("/plain", body, JSON, "Content-Encoding: gzip")
        request = self.upstream.one()
        self.assertEqual(request.body, body)
        self.assert_standard(request)

    def test_a_client_that_waits_for_100_is_told_to_go_on(self):
        client = self.client()
        client.send(b"POST /form HTTP/1.1\r\nHost: a\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 3\r\n"
                    b"Expect: 100-continue\r\n\r\n")
        self.assertEqual(client.response("POST").status, 100)
        client.send(b"a=1")
        self.assertEqual(client.response("POST").status, 200)
        self.assert_standard(self.upstream.one())


class SettingsTests(unittest.TestCase):
    """What is wrong with `sign`, and is said."""

    CASES = (
        ("sign: standard-webhooks", "needs \"secret\""),
        ("sign: 'standard-webhook(secret: x)'", "did you mean \"standard-webhooks\""),
        ("sign: { preset: mailgun, secret: x }", "signs in the body"),
        ("sign: { preset: sendgrid, secret: { value: x, encoding: text } }", "isn't signed with a shared secret"),
        ("sign: { preset: github, secret: s, tolerance: 5m }", "has no key \"tolerance\""),
        ("sign: { preset: github, secrets: [a, b] }", "needs \"secret\""),
        ("sign: { header: X-A, signed: \"{time}\", secret: s }", "which is none of"),
        ("sign: { preset: github, secret: s, public_url: \"https://a\" }", "doesn't sign the URL"),
        ("sign: { preset: rfc9421, secret: \"${file:PUBLIC}\" }", "a public key can't sign"),
        ("sign: { preset: github, secret: \"${file:PRIVATE}\" }", "no shared secret, and github signs with one"),
        ("verify: { preset: github, secret: \"${file:PUBLIC}\" }", "no shared secret, and github signs with one"),
        ("verify: { preset: gitlab, secret: \"${file:PUBLIC}\" }", "no shared secret, and gitlab signs with one"),
        ("verify: { header: X-A, secret: \"${file:PUBLIC}\" }", "no shared secret, and custom signs with one"),
        ("verify: { preset: rfc9421, algorithm: hmac-sha256, secret: \"${file:PUBLIC}\" }", "no shared secret"),
        ("verify: { preset: rfc9421, secret: \"${file:PRIVATE}\" }", "a private key is nothing that rfc9421 signs with"),
        ("verify: { preset: github, secret: whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4= }", "no shared secret"),
        ("challenge: answer", "is for routes with \"verify\""),
        ("verify: 'github(secret: s)', challenge: answer", "has no challenges"),
        ("verify: { preset: github, secret: s, verify_token: t }", "have no token"),
        ("verify: { preset: github, secret: s, replay: soon }", "\"replay\""),
        ("verify: { preset: github, secret: s, replay: { remember: 1m, entries: 0 } }", "is from 1 to"),
        ("verify: { preset: github, secret: s, replay: { entries: 5 } }", "needs \"remember\""),
        ("authorize: yes", "is a list of ways in"),
        ("authorize: []", "is a list of ways in"),
        ("authorize: [bearer]", "is a mapping"),
        ("authorize: [{ bearer: \"\" }]", "is empty"),
        ("authorize: [{ basic: { \"a:b\": c } }]", "has no colon"),
        ("authorize: [{ basic: { a: \"{SHA256}abc\" } }]", "64 digits of hex"),
        ("authorize: [{ bearer: \"{SHA256}abc\" }]", "64 digits of hex"),
        ("authorize: [{ header: X-Key, keys: [\"{SSHA}abc\"] }]", "isn't read"),
        ("authorize: [{ basic: { user: ada, password: hunter2hunter2 } }]", "two users"),
        ("verify: { preset: github, secret: \"  padded-secret-0123456 \" }", "white space"),
        ("verify: { preset: meta, secret: s, verify_token: \"t \" }", "white space"),
        ("authorize: [{ header: X Key, keys: [k] }]", "is the name of a field"),
        ("authorize: [{ header: X-Key }]", "has one of"),
        ("authorize: [{ bearer: a, basic: { b: c } }]", "has one of"),
        ("authorize: [{ token: a }]", "has no key \"token\""),
    )

    def test_mistakes(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "recast.yaml")
            private, public = make_keys(folder)
            for text, expected in self.CASES:
                with self.subTest(text):
                    text = text.replace("PRIVATE", private).replace("PUBLIC", public)
                    with open(path, "w") as file:
                        file.write("version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: 127.0.0.1:3000 }\nroutes:\n"
                                   f"  - {{ name: a, match: /a, upstream: app, {text} }}\n")
                    result = subprocess.run([RECAST, "check", path], capture_output=True, text=True)
                    self.assertNotEqual(result.returncode, 0)
                    self.assertIn(expected, result.stdout + result.stderr)

    def test_the_commands_take_the_secret_of_a_file_as_the_settings_do(self):
        def run(*arguments, **environment):
            return subprocess.run([RECAST, *arguments], input=b"a=1", capture_output=True, env={**os.environ, **environment})
        expected = run("sign", "github", "--secret", "a-long-enough-secret").stdout.decode().strip()
        self.assertIn("sha256=", expected)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "secret")
            for text in ("{}", "{}\n", "{}\r\n", "{}\n\n", "{}\r\n\r\n", "\ufeff{}", "\ufeff{}\n\n"):
                with open(path, "wb") as file:
                    file.write(text.format("a-long-enough-secret").encode())
                with self.subTest(text):
                    self.assertEqual(run("sign", "github", "--secret-file", path).stdout.decode().strip(), expected)
                    result = run("verify", "github", "--secret-file", path, "-H", expected)
                    self.assertEqual(result.returncode, 0, result.stderr)
            for text in (" {}", "{} ", "{} \n", "\n{}", "{}\t\n"):
                with open(path, "wb") as file:
                    file.write(text.format("a-long-enough-secret").encode())
                with self.subTest(text):
                    for command in (("sign",), ("verify", "-H", expected)):
                        result = run(*command, "github", "--secret-file", path)
                        self.assertEqual(result.returncode, 64, result.stderr)
                        self.assertIn(b"white space", result.stderr)

    def test_check_warns_and_explain_says_what_is_signed_and_nothing_secret(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "recast.yaml")
            def check(listen, secret):
                with open(path, "w") as file:
                    file.write(f"""
version: 1
listen: {listen}
upstreams: {{ app: 127.0.0.1:3000 }}
routes:
  - {{ name: a, match: /a, upstream: app, request: form -> json, verify: {{ preset: twilio, secret: "{secret}", public_url: "https://a.example" }},
      sign: 'standard-webhooks(secret: "{WHSEC}")', authorize: {{ bearer: "{secret}" }} }}
""")
                output = subprocess.run([RECAST, "check", path, "--json"], capture_output=True, text=True)
                self.assertEqual(output.returncode, 0, output.stdout + output.stderr)
                return {note["code"] for note in json.loads(output.stdout)["findings"]}
            warnings = {"secret_short", "verified_in_the_clear"}
            self.assertEqual(check("127.0.0.1:8080", "x" * 16) & warnings, set())
            self.assertEqual(check("127.0.0.1:8080", "x" * 15) & warnings, {"secret_short"})
            self.assertEqual(check("0.0.0.0:8080", "geheimgeheimgehe") & warnings, {"verified_in_the_clear"})
            for preset, replay, is_short in (("slack", "599s", True), ("slack", "10m", False), ("stripe", "299s", True), ("stripe", "5m", False),
                                            ("slack, tolerance: 1s", "1s", True), ("slack, tolerance: 1s", "2s", False),
                                            ("slack, tolerance: off", "1s", False), ("github", "1s", False), ("rfc9421", "5m", True)):
                with open(path + ".2", "w") as file:
                    file.write("version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: 127.0.0.1:3000 }\nroutes:\n"
                               f"  - {{ name: a, match: /a, upstream: app, verify: {{ preset: {preset}, secret: {'x' * 16}, replay: {replay} }} }}\n")
                output = subprocess.run([RECAST, "check", path + ".2", "--json"], capture_output=True, text=True)
                codes = {note["code"] for note in json.loads(output.stdout)["findings"]}
                self.assertEqual("replay_short" in codes, is_short, (preset, replay, output.stdout))
            for arguments in ([], ["--json"]):
                output = subprocess.run([RECAST, "explain", path, "a", *arguments], input="a=1", capture_output=True, text=True).stdout
                for text in ("X-Twilio-Signature", "hmac-sha1", "https://a.example", "{id}.{timestamp}.{body}", "webhook-signature"):
                    self.assertIn(text, output)
                for secret in ("geheim", WHSEC, SECRET):
                    self.assertNotIn(secret, output)


if __name__ == "__main__":
    unittest.main()
