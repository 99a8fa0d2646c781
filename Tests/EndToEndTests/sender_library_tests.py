"""What senders' own libraries sign is verified, and what Recast signs their receivers' libraries take."""

import base64
import gzip
import hashlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from urllib.parse import parse_qs

from harness import DEADLINE, FORM, JSON, ROOT, ProxyTestCase

HERE = os.path.dirname(os.path.abspath(__file__))
SECRET = "a secret of some length"
WHSEC = "whsec_" + base64.b64encode(SECRET.encode()).decode()
OLD = "another secret of some length"
URL = "https://hooks.example.com"
KIB = 1024


class Libraries:
    """The program that has them."""

    def __init__(self):
        python = os.path.join(ROOT, ".build_test", "bin", "python3")
        self.process = subprocess.Popen([python, os.path.join(HERE, "sender_libraries.py")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)

    def ask(self, action, body, secret, **more):
        question = {"do": action, "body": base64.b64encode(body).decode(), "secret": secret, **more}
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise AssertionError("the senders' libraries are not there: run scripts/dependencies test")
        return json.loads(answer)

    def sign(self, action, body, secret, **more):
        answer = self.ask(action, body, secret, **more)
        if "error" in answer:
            raise AssertionError(answer["error"])
        return [f"{name}: {value}" for name, value in answer["fields"].items()]

    def stop(self):
        self.process.stdin.close()
        self.process.wait(DEADLINE)
        self.process.stdout.close()


def openssl(*arguments):
    return subprocess.run(["openssl", *arguments], check=True, capture_output=True, text=True).stdout


class SenderLibraryTests(ProxyTestCase):
    KEYS = {"ed25519": ("-algorithm", "ed25519"), "ecdsa-p256-sha256": ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"),
            "ecdsa-p384-sha384": ("-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"),
            "rsa-pss-sha512": ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"),
            "rsa-v1_5-sha256": ("-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048")}
    # Name, action, secret, Content-Type.
    SENDERS = (("stripe", "sign_stripe", SECRET, JSON), ("slack", "sign_slack", SECRET, FORM),
               ("standard-webhooks", "sign_standard", WHSEC, JSON))

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.private, cls.public = {"hmac-sha256": SECRET}, {"hmac-sha256": SECRET}
        for name, options in cls.KEYS.items():
            path = os.path.join(cls.folder, name)
            openssl("genpkey", *options, "-out", path + ".key")
            openssl("pkey", "-in", path + ".key", "-pubout", "-out", path + ".pub")
            for keys, ending in ((cls.private, ".key"), (cls.public, ".pub")):
                with open(path + ending) as file:
                    keys[name] = file.read()
        routes = [{"name": name, "match": f"/{name}", "verify": {"preset": name, "secrets": [cls.other(secret), secret]}, "limits": {"signed": "16KiB"},
                   "request": "form -> json" if media_type == FORM else "json -> form"} for name, _, secret, media_type in cls.SENDERS]
        routes.append({"name": "twilio", "match": "/twilio", "verify": {"preset": "twilio", "secrets": [OLD, SECRET], "public_url": URL},
                       "request": {"decode": {"as": "auto"}, "encode": {"as": "json"}}})
        for name in cls.private:
            key = {"value": cls.public[name], "id": "k1"}
            if name != "hmac-sha256":
                key["encoding"] = "pem"
            routes.append({"name": name, "match": f"/message/{name}", "request": "json -> form",
                           "verify": {"preset": "rfc9421", "secrets": [{"value": OLD, "id": "k2"}, key], "algorithm": name, "public_url": URL}})
            ours = {"value": cls.private[name], "id": "ours"}
            if name != "hmac-sha256":
                ours["encoding"] = "pem"
            routes.append({"name": "sign-" + name, "match": f"/sign/{name}", "request": "form -> json", "host": "receiver.example",
                           "sign": {"preset": "http-message-signatures", "secret": ours, "algorithm": name, "public_url": "https://receiver.example"}})
        for name, secret in (("stripe", SECRET), ("slack", SECRET), ("standard-webhooks", WHSEC)):
            routes.append({"name": "sign-" + name, "match": f"/sign/{name}", "request": "form -> json", "sign": {"preset": name, "secret": secret}})
        routes.append({"name": "sign-twilio", "match": "/sign/twilio", "request": "json -> form",
                       "sign": {"preset": "twilio", "secret": SECRET, "public_url": "https://receiver.example"}})
        # JSON is YAML; `${` would begin a reference, and no key has one.
        cls.routes = "".join(f"  - {json.dumps({**route, 'upstream': 'app'})}\n" for route in routes)
        cls.libraries = Libraries()
        cls.addClassCleanup(cls.libraries.stop)
        super().setUpClass()

    @staticmethod
    def other(secret):
        return "whsec_" + base64.b64encode(OLD.encode()).decode() if secret == WHSEC else OLD

    def post(self, path, body, media_type, fields):
        self.upstream.reset()
        return self.send("POST", path, body, media_type, fields)

    def assert_refused(self, response, code):
        self.assert_problem(response, 401, "signature_" + code)
        self.assertEqual(self.upstream.requests, [])

    def test_what_the_libraries_sign_is_verified(self):
        for name, action, secret, media_type in self.SENDERS:
            with self.subTest(name):
                path, body = f"/{name}", b"a=1&b=%C3%A4" if media_type == FORM else '{"a": "\u00e4", "b": [1, 2.50]}'.encode()
                def sign(body=body, secret=secret, **more):
                    return self.libraries.sign(action, body, secret, **more)
                for key in (secret, self.other(secret)):
                    self.assertEqual(self.post(path, body, media_type, sign(secret=key)).status, 200)
                    self.assertEqual(self.upstream.one().fields.get("recast-verified"), name)
                self.assert_refused(self.post(path, body[:-1] + b"x", media_type, sign()), "mismatch")
                self.assert_refused(self.post(path, body, media_type, sign(secret="whsec_" + base64.b64encode(b"x" * 24).decode())), "mismatch")
                self.assert_refused(self.post(path, body, media_type, sign(at=int(time.time()) - 310)), "expired")
                later = self.post(path, body, media_type, sign(at=int(time.time()) + 400))
                # Stripe's library refuses what is too old alone.
                self.assertEqual(later.status, 200 if name == "stripe" else 401)
                fields = sign()
                self.assert_refused(self.post(path, body, media_type, [*fields, fields[0]]), "duplicated")
                self.assert_refused(self.post(path, body, media_type, fields[1:]), "missing")

    def test_chunked_and_at_the_limit(self):
        for name, action, secret, media_type in self.SENDERS:
            with self.subTest(name):
                frame = b"a=%s" if media_type == FORM else b'{"a":"%s"}'
                empty = len(frame % b"")
                for count in (16 * KIB - 1, 16 * KIB, 16 * KIB + 1):
                    body = frame % (b"x" * (count - empty))
                    fields = self.libraries.sign(action, body, secret)
                    response = self.post(f"/{name}", body, media_type, fields)
                    self.assertEqual(response.status, 200 if count <= 16 * KIB else 413)
                    self.upstream.reset()
                    client = self.client()
                    head = f"POST /{name} HTTP/1.1\r\nHost: a\r\nContent-Type: {media_type}\r\nTransfer-Encoding: chunked\r\n"
                    client.send((head + "".join(f"{field}\r\n" for field in fields) + "\r\n").encode())
                    half = len(body) // 2
                    try:
                        client.send(b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in (body[:half], body[half:])) + b"0\r\n\r\n")
                    except OSError:
                        pass  # the answer came before
                    self.assertEqual(client.response("POST").status, 200 if count <= 16 * KIB else 413)

    def test_a_coded_body_is_signed_as_it_is_sent(self):
        body = gzip.compress(b'{"a": 1}')
        at = str(int(time.time()))
        # The library signs texts alone, so the coded bytes are signed by hand.
        import hmac
        signature = base64.b64encode(hmac.new(SECRET.encode(), f"msg_1.{at}.".encode() + body, "sha256").digest()).decode()
        fields = ["webhook-id: msg_1", f"webhook-timestamp: {at}", f"webhook-signature: v1,{signature}", "Content-Encoding: gzip"]
        self.assertEqual(self.post("/standard-webhooks", body, JSON, fields).status, 200)
        self.assertEqual(self.upstream.one().body, b"a=1")

    def test_twilio(self):
        body = b"b=2&a=1+%C3%A4&a=0&c="
        values = {name: values for name, values in parse_qs(body.decode(), keep_blank_values=True).items()}
        fields = self.libraries.sign("sign_twilio", body, SECRET, url=f"{URL}/twilio?x=1", fields=values)
        self.assertEqual(self.post("/twilio?x=1", body, FORM, fields).status, 200)
        self.assert_refused(self.post("/twilio?x=2", body, FORM, fields), "mismatch")
        self.assert_refused(self.post("/twilio?x=1", body + b"x", FORM, fields), "mismatch")
        body = b'{"a": 1}'
        target = "/twilio?bodySHA256=" + hashlib.sha256(body).hexdigest()
        fields = self.libraries.sign("sign_twilio", body, OLD, url=URL + target)
        self.assertEqual(self.post(target, body, JSON, fields).status, 200)
        self.assert_refused(self.post(target, b'{"a": 2}', JSON, fields), "mismatch")

    def message(self, name, body=b'{"a": 1}', at=None, secret=None, key_id="k1", components=("@method", "@target-uri", "content-type"), target=None, **more):
        return self.libraries.sign(
            "sign_message", body, secret or self.private[name], at=int(time.time()) if at is None else at, method="POST",
            url=URL + (target or f"/message/{name}?x=a+b%20c&y"), headers={"Content-Type": JSON, "Content-Length": str(len(body))}, algorithm=name,
            key_id=key_id, components=components, **more)

    def test_messages(self):
        for name in self.private:
            with self.subTest(name):
                path, body = f"/message/{name}?x=a+b%20c&y", b'{"a": 1}'
                fields = self.message(name)
                self.assertEqual(self.post(path, body, JSON, fields).status, 200)
                self.assertEqual(self.upstream.one().body, b"a=1")
                self.assert_refused(self.post(path, b'{"a": 2}', JSON, fields), "mismatch")
                self.assert_refused(self.post(path + "z", body, JSON, fields), "mismatch")
                self.assert_refused(self.post(path, body, "application/vnd.api+json", fields), "mismatch")
                self.assert_refused(self.post(path, body, JSON, [field for field in fields if not field.startswith("Content-Digest")]), "missing")
                self.assert_refused(self.post(path, body, JSON, self.message(name, at=int(time.time()) - 310)), "expired")
                self.assert_refused(self.post(path, body, JSON, self.message(name, at=int(time.time()) + 400)), "future")
                self.assert_refused(self.post(path, body, JSON, self.message(name, key_id="k2")), "mismatch")
                self.assert_refused(self.post(path, body, JSON, self.message(name, components=("@method", "content-type"))), "missing")
                covered = ("@method", "@authority", "@scheme", "@path", "@query", '"@query-param";name="x"', "@request-target", "content-length",
                           "content-type", '"content-digest";key="sha-256"')
                self.assertEqual(self.post(path, body, JSON, self.message(name, components=covered, label="mine")).status, 200)

    def test_what_recast_signs_is_taken(self):
        body, fields = b"a=1&b=%C3%A4", ()
        for name in self.private:
            with self.subTest(name):
                self.assertEqual(self.post(f"/sign/{name}?q=1", body, FORM, fields).status, 200)
                request = self.upstream.one()
                self.assertEqual(request.json, {"a": "1", "b": "\u00e4"})
                headers = {key: request.fields.get(key) for key, _ in request.fields}
                asked = {"method": "POST", "url": f"https://receiver.example/sign/{name}?q=1", "headers": headers, "algorithm": name}
                self.assertEqual(self.libraries.ask("verify_message", request.body, self.public[name], **asked), {"holds": True})
                self.assertFalse(self.libraries.ask("verify_message", request.body + b" ", self.public[name], **asked)["holds"])
        for name, action, secret in (("stripe", "verify_stripe", SECRET), ("slack", "verify_slack", SECRET), ("standard-webhooks", "verify_standard", WHSEC)):
            with self.subTest(name):
                self.assertEqual(self.post(f"/sign/{name}", body, FORM, fields).status, 200)
                request = self.upstream.one()
                headers = {key.lower(): request.fields.get(key) for key, _ in request.fields}
                self.assertEqual(self.libraries.ask(action, request.body, secret, headers=headers), {"holds": True})
                self.assertFalse(self.libraries.ask(action, request.body + b" ", secret, headers=headers)["holds"])

    def test_twilio_s_library_takes_what_recast_signs(self):
        self.assertEqual(self.post("/sign/twilio?q=1", b'{"b": "2", "a": "1 \\u00e4"}', JSON, ()).status, 200)
        request = self.upstream.one()
        headers = {"x-twilio-signature": request.fields.get("x-twilio-signature")}
        values = {name: values for name, values in parse_qs(request.body.decode()).items()}
        for url, holds in (("https://receiver.example/sign/twilio?q=1", True), ("https://receiver.example/sign/twilio", False)):
            answer = self.libraries.ask("verify_twilio", request.body, SECRET, headers=headers, url=url, fields=values)
            self.assertEqual(answer["holds"], holds)


if __name__ == "__main__":
    unittest.main()
