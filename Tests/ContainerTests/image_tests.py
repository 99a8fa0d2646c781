"""What the image holds, and how it runs: scripts/image-test starts this in namespaces of its own, with what it has built."""

import http.server
import json
import os
import re
import runpy
import ssl
import stat
import subprocess
import sys
import threading
import unittest

from pod import ADDRESS, DEADLINE, NODE, Pod, Served, echoed, listens, request, run

WORK = sys.argv.pop(1)
ROOT = os.path.join(WORK, "root")
PROJECT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MIB = 1 << 20

SETTINGS = f"""
version: 1
listen: 0.0.0.0:8080
status: 0.0.0.0:9902
drain_delay: 0s
upstreams:
  app: 127.0.0.1:3000
  whole: {{ address: 127.0.0.1:3000, framing: length, spool: {{ memory: 64KiB, disk: 64MiB }} }}
  secure: {{ address: "upstream.test:8443", tls: true }}
  other: {{ address: "other.test:8443", tls: true }}
  slow: "{NODE}:8081"
routes:
  - {{ name: form, match: /form, upstream: app, request: form -> json }}
  - {{ name: whole, match: /whole, upstream: whole }}
  - {{ name: secure, match: /secure, upstream: secure }}
  - {{ name: other, match: /other, upstream: other }}
  - {{ name: slow, match: /slow, upstream: slow }}
  - {{ name: plain, match: "/*", upstream: app }}
"""


def certificates(folder):
    """A root that is added to the store, an authority below it, and a server's certificate with its chain."""
    def make(name, subject, issuer, *extensions):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-noenc"]
        signed = ["-CA", f"{folder}/{issuer}.pem", "-CAkey", f"{folder}/{issuer}.key"] if issuer else []
        run("openssl", "req", "-x509", *key, *signed, "-days", "7", "-subj", f"/CN={subject}", "-keyout", f"{folder}/{name}.key",
            "-out", f"{folder}/{name}.pem", *[part for one in extensions for part in ("-addext", one)])

    authority = ("basicConstraints=critical,CA:true", "keyUsage=critical,keyCertSign,cRLSign")
    make("root", "Test root", None, *authority)
    make("middle", "Test authority", "root", *authority)
    make("server", "upstream.test", "middle", "subjectAltName=DNS:upstream.test", "basicConstraints=critical,CA:false")
    with open(f"{folder}/chain.pem", "w", encoding="utf-8") as chain:
        for name in ("server", "middle"):
            with open(f"{folder}/{name}.pem", encoding="utf-8") as one:
                chain.write(one.read())


class Answering(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    held = threading.Event()
    let_go = threading.Event()

    def do_GET(self):
        if self.path == "/slow":
            self.held.set()
            self.let_go.wait(DEADLINE)
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"done")

    def log_message(self, *_):
        pass


def serve(port, context=None):
    server = http.server.ThreadingHTTPServer((NODE, port), Answering)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def setUpModule():
    global pod
    pod = Pod(WORK)
    certificates(WORK)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{WORK}/chain.pem", f"{WORK}/server.key")
    serve(8443, context)
    serve(8081)


class ContentTests(unittest.TestCase):
    def files(self):
        for folder, folders, names in os.walk(ROOT):
            for name in folders + names:
                path = os.path.join(folder, name)
                yield path[len(ROOT):], os.lstat(path)

    def test_nothing_is_there_that_nobody_asked_for(self):
        expected = re.compile("|".join([
            r"/(dev|proc|sys|run|var|var/spool|etc|usr|usr/(bin|lib|share|share/doc)|lib64|etc/ssl|etc/ssl/certs|etc/recast)",
            r"/(lib|usr/bin/recast|run/recast|var/spool/recast|lib64/ld-linux[^/]*)",
            r"/etc/(passwd|group|nsswitch\.conf|ld\.so\.cache|recast/recast\.yaml|ssl/certs/ca-certificates\.crt)",
            r"/etc/(hosts|resolv\.conf)",  # made by the test's engine
            r"/usr/lib/[a-z0-9_-]+(/[^/]+\.so[.0-9]*|/gconv|/gconv/[^/]+\.so|/gconv/gconv-modules\.cache)?",
            r"/usr/lib/(ssl|ssl/cert\.pem|ssl/certs|ld-linux[^/]*)",
            r"/usr/share/doc/[^/]+(/copyright)?", r"/usr/share/doc/recast/recast\.spdx\.json"]))
        self.assertEqual([path for path, _ in self.files() if not expected.fullmatch(path)], [])

    def test_nothing_is_written_by_others_or_run_as_another(self):
        open_folders = {"/run/recast", "/var/spool/recast"}
        for path, status in self.files():
            if stat.S_ISLNK(status.st_mode):
                continue
            with self.subTest(path):
                self.assertFalse(status.st_mode & (stat.S_ISUID | stat.S_ISGID))
                self.assertEqual(bool(status.st_mode & stat.S_IWOTH), path in open_folders)
                self.assertEqual((status.st_uid, status.st_gid), (0, 0))

    def test_the_bill_of_materials_names_each_file_s_package_with_its_version(self):
        with open(ROOT + "/usr/share/doc/recast/recast.spdx.json", encoding="utf-8") as file:
            document = json.load(file)
        self.assertEqual(document["spdxVersion"], "SPDX-2.3")
        names = {package["name"].split(":")[0]: package for package in document["packages"]}
        copyrights = set(os.listdir(ROOT + "/usr/share/doc"))
        self.assertLessEqual(copyrights, set(names))
        for name in ("recast", "swift-runtime", "swift-log", "swift-argument-parser", "libc6", "libssl3", "libyaml-0-2",
                     "ca-certificates"):
            self.assertTrue(names[name]["versionInfo"], name)
            self.assertTrue(names[name]["externalRefs"][0]["referenceLocator"].startswith("pkg:"), name)
        # What the library and the tests have besides isn't in the binary.
        self.assertEqual({name for name in names if name.startswith("swift-")}, {"swift-runtime", "swift-log", "swift-argument-parser"})
        identifiers = [package["SPDXID"] for package in document["packages"]]
        self.assertEqual(len(identifiers), len(set(identifiers)))
        related = {relation["relatedSpdxElement"] for relation in document["relationships"]}
        self.assertEqual(related, set(identifiers))
        code, output, _ = pod.run("--version")
        self.assertEqual((code, output.strip()), (0, names["recast"]["comment"]))


class ServingTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.echo = pod.start("echo", "127.0.0.1:3000", stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        cls.addClassCleanup(cls.echo.wait)
        cls.addClassCleanup(cls.echo.kill)
        cls.addClassCleanup(cls.echo.stderr.close)
        cls.assertIn(cls(), "echoing", cls.echo.stderr.readline())

    def runTest(self):
        """For the assertions of setUpClass."""

    def test_as_it_is(self):
        with Served(pod, "/etc/recast/recast.yaml") as served:
            self.assertEqual(served.status("Uid").split(), ["10001"] * 4)
            self.assertEqual({served.status(field) for field in ("CapPrm", "CapEff", "CapBnd", "CapInh")}, {"0" * 16})
            self.assertEqual(request("GET", "/live", port=9902)[0], 200)
            self.assertEqual(request("GET", "/metrics", port=9902)[0], 200)
            self.assertEqual(request("GET", "/config", port=9902)[0], 404)
            status, _, body = request("POST", "/any?x=1", b"a=1", {"Content-Type": "application/x-www-form-urlencoded"})
            self.assertEqual((status, echoed(body)["target"]), (200, "/any?x=1"))
            self.assertFalse(listens(9901), "the admin port is on no network")
            self.assertEqual(pod.run("probe", "unix:/run/recast/admin.sock", "/ready")[0], 0)
            self.assertEqual(pod.run("probe", "127.0.0.1:9902", "/ready")[0], 0, "the health check")
            print(f"image: {served.to_first_answer * 1000:.1f} ms to the first answer, "
                  f"{int(served.status('VmRSS').split()[0]) / 1024:.1f} MiB resident, "
                  f"{int(served.status('RssAnon').split()[0]) / 1024:.1f} of them anonymous")
            self.assertEqual(served.end(), 0)

    def test_settings_of_one_s_own(self):
        path = f"{WORK}/own.yaml"
        with open(path, "w", encoding="utf-8") as file:
            file.write(SETTINGS)
        pod.mount(path, "/etc/recast/recast.yaml")
        self.addCleanup(run, "umount", pod.root + "/etc/recast/recast.yaml")
        self.assertEqual(pod.run("check", "--quiet", "/etc/recast/recast.yaml")[0], 0)
        with Served(pod, "/etc/recast/recast.yaml") as served:
            with self.subTest("a form becomes JSON"):
                status, _, body = request("POST", "/form", "user[name]=Ann&tag=\N{SNOWMAN}".encode(),
                                          {"Content-Type": "application/x-www-form-urlencoded"})
                self.assertEqual((status, echoed(body)["json"]), (200, {"user": {"name": "Ann"}, "tag": "\N{SNOWMAN}"}))
            with self.subTest("a body that is held until its length is known goes to disk"):
                self.assertEqual(os.listdir(pod.root + "/var/spool/recast"), [])
                status, _, body = request("POST", "/whole", (b"x" * MIB for _ in range(8)), chunked=True)
                self.assertEqual((status, echoed(body)["body_bytes"]), (200, 8 * MIB))
                self.assertIn(f"Content-Length: {8 * MIB}", echoed(body)["headers"])
            with self.subTest("an authority that isn't in the store is not believed"):
                status, _, body = request("GET", "/secure")
                self.assertEqual(status, 502, body)
                self.assertIn("unknown_ca", json.loads(body)["detail"])
            with self.subTest("requests in flight end before it does"):
                answers = []
                client = threading.Thread(target=lambda: answers.append(request("GET", "/slow")))
                client.start()
                self.assertTrue(Answering.held.wait(DEADLINE))
                served.process.terminate()
                # It listens no more once it drains.
                while listens(8080):
                    self.assertIsNone(served.process.poll())
                Answering.let_go.set()
                client.join(DEADLINE)
                self.assertEqual([(status, body) for status, _, body in answers], [(200, b"done")])
                self.assertEqual(served.process.wait(DEADLINE), 0)

    def test_an_upstream_in_tls_with_a_chain_of_the_store(self):
        bundle, settings = f"{WORK}/store.crt", f"{WORK}/tls.yaml"
        inner = "/etc/ssl/certs/ca-certificates.crt"
        with open(bundle, "w", encoding="utf-8") as store:
            for path in (ROOT + inner, f"{WORK}/root.pem"):
                with open(path, encoding="utf-8") as one:
                    store.write(one.read())
        with open(settings, "w", encoding="utf-8") as file:
            file.write(SETTINGS)
        for path, name in ((bundle, inner), (settings, "/etc/recast/recast.yaml")):
            pod.mount(path, name)
            self.addCleanup(run, "umount", pod.root + name)
        with Served(pod, "/etc/recast/recast.yaml") as served:
            status, _, body = request("GET", "/secure")
            self.assertEqual((status, body), (200, b"done"))
            status, _, body = request("GET", "/other")
            self.assertEqual(status, 502, "another name than the certificate's")
            self.assertIn("wrong_name", json.loads(body)["detail"])
            served.process.terminate()
            self.assertEqual(served.process.wait(DEADLINE), 0)

    def test_every_charset_is_there(self):
        names = runpy.run_path(f"{PROJECT}/scripts/image-root")["charsets"]()
        self.assertGreater(len(names), 35)
        for name in names:
            with self.subTest(name):
                # One byte a character, or two.
                letter = "".join(f"%{byte:02x}" for byte in ("a".encode(name) if name.startswith("utf-16") else b"a"))
                code, output, error = pod.run("convert", f"form(charset: [{name}]) -> json", "--type",
                                              f"application/x-www-form-urlencoded; charset={name}",
                                              input=f"{letter}={letter}")
                self.assertEqual(code, 0, error)
                self.assertEqual(json.loads(output), {"a": "a"})

    def test_what_is_missing_is_told(self):
        code, _, error = pod.run("serve", "/etc/recast/none.yaml")
        self.assertEqual(code, 65)
        self.assertIn("/etc/recast/none.yaml", error)
        code, _, error = pod.run("check", "-", input=SETTINGS.replace("disk: 64MiB", "disk: 64MiB, dir: /srv/spool"))
        self.assertEqual(code, 65)
        self.assertIn("/srv/spool, doesn't exist, and can't be made: / can't be written", error)


if __name__ == "__main__":
    assert ADDRESS
    unittest.main(verbosity=2)
