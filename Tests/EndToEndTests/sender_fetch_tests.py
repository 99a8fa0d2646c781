"""Routes with `verify` and `fetch`: certificates and confirmations that a sender keeps on its own server, here one of ours."""

import base64
import json
import os
import shutil
import ssl
import subprocess
import tempfile
import threading
import unittest
import zlib

from admin import Admin, admin_port
from harness import DEADLINE, JSON, RECAST, ProxyTestCase, Upstream
from lifecycle_support import reload

HOST = "sns.eu-west-1.amazonaws.com"
TOPIC = "arn:aws:sns:eu-west-1:123456789012:orders"


def openssl(*arguments, data=None):
    return subprocess.run(["openssl", *arguments], input=data, check=True, capture_output=True).stdout


class SenderServer(Upstream):
    """An HTTPS server with the names of senders, whose certificate is of an authority that the route trusts."""

    def __init__(self, context):
        self.context = context
        super().__init__()

    def _serve(self, connection):
        try:
            secured = self.context.wrap_socket(connection, server_side=True)
        except (ssl.SSLError, OSError):
            connection.close()
            return
        super()._serve(secured)


def make_certificate(folder, name, names, authority=None):
    """A key and a certificate in PEM, signed by `authority` or by itself."""
    path = os.path.join(folder, name)
    common = ["-subj", f"/CN={names[0]}", "-addext", "subjectAltName=" + ",".join("DNS:" + name for name in names)]
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", path + ".key", "-out", path + ".pem", *common,
            *(("-CA", authority + ".pem", "-CAkey", authority + ".key") if authority else ()))
    return path


class FetchTests(ProxyTestCase):
    admin_address, admin_line = admin_port()
    settings = admin_line
    folder = None

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.authority = make_certificate(cls.folder, "ca", ["An Authority"])
        server = make_certificate(cls.folder, "server", [HOST, "api.paypal.com", "sns.us-east-1.amazonaws.com"], cls.authority)
        cls.signer = make_certificate(cls.folder, "signer", ["sns.amazonaws.com"])
        cls.other = make_certificate(cls.folder, "other", ["sns.evil.example"])
        cls.paypal = make_certificate(cls.folder, "paypal", ["messageverificationcerts.paypal.com"])
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(server + ".pem", server + ".key")
        cls.sender = SenderServer(context)
        cls.addClassCleanup(cls.sender.stop)
        shutil.copy(cls.authority + ".pem", os.path.join(cls.folder, "changing.pem"))
        fetch = f"fetch: {{ ca: {cls.authority}.pem, address: \"127.0.0.1:{cls.sender.port}\" }}"
        cls.routes = f"""
  - {{ name: sns, match: /sns, upstream: app, request: json -> form, on_other_type: pass, verify: {{ preset: sns, topics: {TOPIC}, {fetch} }} }}
  - {{ name: pinned, match: /pinned, upstream: app, verify: {{ preset: sns, topics: {TOPIC}, secret: "${{file:{cls.signer}.pem}}" }} }}
  - {{ name: forward, match: /forward, upstream: app, verify: {{ preset: sns, topics: {TOPIC}, {fetch} }}, challenge: forward }}
  - {{ name: report, match: /report, upstream: app, verify: {{ preset: sns, topics: {TOPIC}, {fetch}, on_failure: report }} }}
  - {{ name: strangers, match: /strangers, upstream: app, verify: {{ preset: sns, topics: {TOPIC}, fetch: {{ address: "127.0.0.1:{cls.sender.port}" }} }} }}
  - {{ name: changing, match: /changing, upstream: app, verify: {{ preset: sns, topics: {TOPIC},
      fetch: {{ ca: {cls.folder}/changing.pem, address: "127.0.0.1:{cls.sender.port}" }} }} }}
  - {{ name: closed, match: /closed, upstream: app, verify: {{ preset: sns, topics: {TOPIC}, fetch: {{ address: "127.0.0.1:1" }} }} }}
  - {{ name: account, match: /account, upstream: app, verify: {{ preset: sns, topics: ["arn:aws:sns:eu-west-1:210987654321:*"], {fetch} }} }}
  - {{ name: any, match: /any, upstream: app, verify: {{ preset: sns, topics: any, {fetch} }} }}
  - {{ name: paypal, match: /paypal, upstream: app, verify: {{ preset: paypal, webhook_id: WH-1, {fetch} }} }}
"""
        super().setUpClass()

    def setUp(self):
        super().setUp()
        self.sender.reset()
        self.sender.script = self.serve
        self.served = {"signer": self.signer, "other": self.other, "paypal": self.paypal}

    def serve(self, exchange):
        """Certificates by their names, which may have a number so that none is remembered, and pages."""
        name = exchange.received.target.split("/")[-1].split("-")[0].split(".")[0]
        if name in self.served:
            with open(self.served[name] + ".pem", "rb") as file:
                return exchange.answer(200, file.read())
        if exchange.received.target.startswith("/?Action=ConfirmSubscription"):
            return exchange.answer(200, b"<ConfirmSubscriptionResponse/>")
        if name == "long":
            return exchange.answer(200, b"x" * (64 * 1024 + 1))
        if name == "cut":
            exchange.send(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nx")
            return exchange.close()
        return exchange.answer(404, b"no")

    number = 0

    def fresh(self, name="signer"):
        FetchTests.number += 1
        return f"https://{HOST}/{name}-{self.number}.pem"

    def message(self, url, key=None, **members):
        members = {"Type": "Notification", "MessageId": "m1", "TopicArn": TOPIC, "Message": "hello", "Timestamp": "2026-11-24T00:00:00Z", **members}
        names = ["Message", "MessageId", "SubscribeURL", "Subject", "Timestamp", "Token", "TopicArn", "Type"]
        signed = "".join(f"{name}\n{members[name]}\n" for name in names if name in members)
        signature = openssl("dgst", "-sha256", "-sign", (key or self.signer) + ".key", data=signed.encode())
        return json.dumps({**members, "SignatureVersion": "2", "Signature": base64.b64encode(signature).decode(),
                           "SigningCertURL": url}).encode()

    def post(self, path, body, media_type="text/plain; charset=UTF-8"):
        return self.send("POST", path, body, media_type)

    def test_a_certificate_is_fetched_once(self):
        url = self.fresh()
        body = self.message(url)
        for _ in range(3):
            self.upstream.reset()
            self.assertEqual(self.post("/sns", body).status, 200)
            self.assertEqual(self.upstream.one().body, body)
            self.assertEqual(self.upstream.one().fields.get("recast-verified"), "sns")
        self.assertEqual([request.target for request in self.sender.requests], [url.removeprefix("https://" + HOST)])
        self.assertEqual(self.sender.requests[0].fields.get("host"), HOST)
        self.upstream.reset()
        self.assert_problem(self.post("/sns", body.replace(b"hello", b"hullo")), 401, "signature_mismatch")
        self.assertEqual(self.upstream.requests, [])
        # Converted behind it.
        self.assertEqual(self.post("/sns", self.message(url, Message="x y"), JSON).status, 200)
        self.assertIn(b"Message=x%20y", self.upstream.one().body)

    def test_requests_for_one_certificate_wait_for_one_fetch(self):
        url, ready = self.fresh(), threading.Event()
        def script(exchange):
            ready.wait(DEADLINE)
            self.serve(exchange)
        self.sender.script = script
        body = self.message(url)
        clients = [self.client() for _ in range(5)]
        for client in clients:
            client.request("POST", "/sns", body, "text/plain")
        self.sender.wait_for(1)
        # One that leaves, and one that has said all it has to say.
        clients[0].socket.close()
        clients[1].finish_sending()
        ready.set()
        for client in clients[1:]:
            self.assertEqual(client.response("POST").status, 200)
        self.assertEqual(len(self.sender.requests), 1)
        self.assertEqual(len(self.upstream.wait_for(4)), 4)

    def test_what_one_route_trusts_another_one_does_not(self):
        body = self.message(self.fresh())
        self.assertEqual(self.post("/sns", body).status, 200)
        self.assert_problem(self.post("/strangers", body), 503, "signature_unfetched")
        # Where two routes say the same, one has what the other has fetched.
        self.assertEqual(self.post("/forward", body).status, 200)
        self.assertEqual(len(self.sender.requests), 1)

    def test_another_authority_in_the_file_is_another_trust(self):
        body = self.message(self.fresh())
        changing = os.path.join(self.folder, "changing.pem")
        self.assertEqual(self.post("/changing", body).status, 200)
        reload(self.recast)
        self.assertEqual(self.post("/changing", body).status, 200)
        self.assertEqual(len(self.sender.requests), 1)
        shutil.copy(self.signer + ".pem", changing)
        reload(self.recast)
        self.assert_problem(self.post("/changing", body), 503, "signature_unfetched")

    def test_only_a_sender_s_own_server_is_asked(self):
        for url in ("https://sns.evil.example/signer.pem", "http://" + HOST + "/signer.pem", f"https://{HOST}.evil.example/signer.pem",
                    "https://evil.example/sns.eu-west-1.amazonaws.com/signer.pem", f"https://{HOST}:8443/signer.pem",
                    f"https://a@{HOST}/signer.pem", f"https://{HOST}/signer.pem?x", f"https://{HOST}/../signer.pem", f"https://{HOST}/%2e/signer.pem",
                    f"https://{HOST}#/signer.pem", "https://sns.amazonaws.com/signer.pem", f"https://{HOST}/ signer.pem",
                    "https://sns.a.b.amazonaws.com/signer.pem", "//" + HOST + "/signer.pem", ""):
            with self.subTest(url):
                self.assert_problem(self.post("/sns", self.message(url)), 401, "signature_certificate")
        self.assertEqual(self.sender.requests, [])

    def test_what_is_fetched_must_be_the_sender_s_certificate(self):
        # For another name: whoever could put a file there could sign.
        self.assert_problem(self.post("/sns", self.message(self.fresh("other"), self.other)), 401, "signature_certificate")
        # Another key.
        self.assert_problem(self.post("/sns", self.message(self.fresh(), self.other)), 401, "signature_mismatch")
        for name in ("nothing", "long", "cut"):
            with self.subTest(name):
                url = self.fresh(name)
                response = self.post("/sns", self.message(url))
                self.assert_problem(response, 503, "signature_unfetched")
                self.assertEqual(response.fields.get("retry-after"), "10")
                # It isn't tried again at once.
                count = len(self.sender.requests)
                self.assert_problem(self.post("/sns", self.message(url)), 503, "signature_unfetched")
                self.assertEqual(len(self.sender.requests), count)
        self.assertEqual(self.upstream.requests, [])

    def test_a_server_that_is_no_sender_s_or_not_there(self):
        # The authorities of the system don't know ours.
        self.assert_problem(self.post("/strangers", self.message(self.fresh())), 503, "signature_unfetched")
        self.assert_problem(self.post("/closed", self.message(self.fresh())), 503, "signature_unfetched")
        self.assertEqual(self.sender.requests, [])
        url = self.fresh("nothing")
        self.assertEqual(self.post("/report", self.message(url)).status, 200)
        self.assertEqual(self.upstream.one().fields.get("recast-verified"), "failed; sender=sns; reason=unfetched")

    def subscription(self, host=HOST, **members):
        return self.message(self.fresh(), Type="SubscriptionConfirmation", Token="t", SubscribeURL=f"https://{host}/?Action=ConfirmSubscription&Token=t", **members)

    def test_a_subscription_is_confirmed(self):
        response = self.post("/sns", self.subscription())
        self.assertEqual((response.status, response.body), (200, b"{}"))
        self.assertEqual(self.sender.requests[-1].target, "/?Action=ConfirmSubscription&Token=t")
        self.assertEqual(self.upstream.requests, [])
        # Not one that is not signed, and not at another place.
        self.sender.reset()
        self.sender.script = self.serve
        self.assert_problem(self.post("/sns", self.subscription().replace(b"hello", b"hullo")), 401, "signature_mismatch")
        self.assertFalse([request for request in self.sender.requests if "Confirm" in request.target])
        body = self.subscription("evil.example")
        self.assertEqual(self.post("/sns", body).status, 200)
        self.assertEqual(self.upstream.one().body, body)

    def test_amazon_signs_for_all_its_customers_so_the_topic_says_whose_a_message_is(self):
        other = "arn:aws:sns:eu-west-1:210987654321:orders"
        for body in (self.message(self.fresh(), TopicArn=other), self.subscription(TopicArn=other)):
            self.assert_problem(self.post("/sns", body), 401, "signature_topic")
            self.assertEqual(self.post("/report", body).status, 200)
            self.assertEqual(self.upstream.one().fields.get("recast-verified"), "failed; sender=sns; reason=topic")
            self.upstream.reset()
        # Nobody's subscription to a topic of another's is confirmed, and no certificate is fetched for strangers.
        self.assertEqual(self.sender.requests, [])
        self.assert_problem(self.post("/account", self.message(self.fresh())), 401, "signature_topic")
        self.assertEqual(self.upstream.requests, [])
        for path, topic in (("/account", other), ("/any", other), ("/any", TOPIC), ("/sns", TOPIC)):
            self.assertEqual(self.post(path, self.message(self.fresh(), TopicArn=topic)).status, 200)

    def test_a_member_in_another_case_is_refused_since_nothing_signs_it(self):
        body = self.message(self.fresh())
        for more in (b'"message":"evil"', b'"subject":"evil"', b'"topicArn":"evil"', '"Me\u017f\u017fage":"evil"'.encode()):
            self.assert_problem(self.post("/sns", body[:-1] + b"," + more + b"}"), 401, "signature_body")
        self.assertEqual(self.upstream.requests, [])
        self.assertEqual(self.post("/sns", body[:-1] + b',"MessageAttributes":{}}').status, 200)

    def test_a_confirmation_that_fails_is_asked_for_again_by_its_sender(self):
        def script(exchange):
            if "Confirm" in exchange.received.target:
                return exchange.answer(500, b"no")
            self.serve(exchange)
        self.sender.script = script
        self.assert_problem(self.post("/sns", self.subscription()), 503, "signature_unfetched")
        self.assertEqual(self.upstream.requests, [])

    def test_the_service_confirms_where_the_route_says_so_or_nothing_is_fetched(self):
        for path in ("/forward", "/pinned"):
            with self.subTest(path):
                self.upstream.reset()
                body = self.subscription()
                self.assertEqual(self.post(path, body).status, 200)
                self.assertEqual(self.upstream.one().body, body)
        self.assertFalse([request for request in self.sender.requests if "Confirm" in request.target])

    def test_paypal(self):
        FetchTests.number += 1
        body = b'{"id":"WH"}'
        signed = f"t1|2026-11-24T00:00:00Z|WH-1|{zlib.crc32(body)}".encode()
        signature = base64.b64encode(openssl("dgst", "-sha256", "-sign", self.paypal + ".key", data=signed)).decode()
        fields = ("PAYPAL-TRANSMISSION-ID: t1", "PAYPAL-TRANSMISSION-TIME: 2026-11-24T00:00:00Z", f"PAYPAL-TRANSMISSION-SIG: {signature}",
                  "PAYPAL-AUTH-ALGO: SHA256withRSA", f"PAYPAL-CERT-URL: https://api.paypal.com/v1/notifications/certs/paypal-{self.number}")
        self.assertEqual(self.send("POST", "/paypal", body, JSON, fields).status, 200)
        self.assert_problem(self.send("POST", "/paypal", body + b" ", JSON, fields), 401, "signature_mismatch")
        self.assertEqual(len(self.sender.requests), 1)

    def test_mistakes_in_the_settings(self):
        path = os.path.join(self.folder, "wrong.yaml")
        for text, expected in (("preset: github, secret: s, fetch: true", "names no certificate"), ("preset: sns, topics: any", "needs a secret"),
                               ("preset: sns, fetch: true, topics: orders", "a topic has its account"),
                               ("preset: sns, fetch: true, topics: [\"arn:aws:sns:eu-west-1:*\"]", "a topic has its account"),
                               ("preset: github, secret: s, topics: any", "\"topics\""),
                               ("preset: sns, fetch: false", "needs a secret"), ("preset: sns, fetch: maybe", "\"fetch\""),
                               ("preset: sns, fetch: { ca: /nowhere.pem }", "/nowhere.pem"), ("preset: sns, fetch: { address: nowhere }", "\"address\""),
                               ("preset: sns, fetch: { url: x }", "has no key \"url\"")):
            with self.subTest(text):
                with open(path, "w") as file:
                    file.write("version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: 127.0.0.1:3000 }\nroutes:\n"
                               f"  - {{ name: a, match: /a, upstream: app, verify: {{ {text} }} }}\n")
                result = subprocess.run([RECAST, "check", path], capture_output=True, text=True)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(expected, result.stdout + result.stderr)

    def test_it_is_counted(self):
        metrics = Admin(self.admin_address).metrics
        before = metrics().sum("recast_verifications_total", sender="sns", result="unfetched")
        self.post("/sns", self.message(self.fresh("nothing")))
        self.assertEqual(metrics().sum("recast_verifications_total", sender="sns", result="unfetched"), before + 1)


if __name__ == "__main__":
    unittest.main()
