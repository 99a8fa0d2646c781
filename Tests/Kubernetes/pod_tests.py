"""The life of each pod that a rendering has, from its start to its end, with the real Recast under load."""

import json
import os
import re
import shlex
import subprocess
import threading
import time
import unittest

from manifests import ROOT, renderings, size
from pod import NODE, POD, BalancedLoad, Kubelet, PlayedPod, get, grace_period, inside
from rules import is_sidecar, proxies, sleep_of
from ext_proc_client import HEALTH, Processing, Refused, pseudo
from ext_proc_messages import decode, encode
from grpc_client import OK, Call
from harness import DEADLINE, FORM, Client, Closed, Upstream
from http2_client import HTTP2Client
from lifecycle_support import tell_apart, wait_until
from tls_support import TLSClient, certificates

ADMIN = "unix:/run/recast/admin.sock"
SERVING, NOT_SERVING = 1, 2


class PodTests(unittest.TestCase):
    outlasts_grace = False

    def play(self, pod, spec, settings):
        """The pod's volumes and network, its upstreams, and Recast in its container, started."""
        self.settings, self.is_sidecar = settings, is_sidecar(pod, spec)
        addresses = set(settings.upstream_addresses())
        # One server stands for all upstreams here; a data plane that asks forwards requests itself.
        self.assertEqual(len(addresses), 0 if settings.processors() else 1)
        host, port = next(iter(addresses), ("127.0.0.1", 0))
        self.played = PlayedPod(pod, {} if host == "127.0.0.1" else {host: NODE})
        self.addCleanup(self.played.remove)
        if self.is_sidecar:
            self.assertEqual(host, "127.0.0.1")
            with inside(self.played.name):
                self.upstream = Upstream(address=(host, port))
        else:
            self.upstream = Upstream(address=(NODE, port))
        self.addCleanup(self.upstream.stop)
        self.hold = threading.Event()
        self.addCleanup(self.hold.set)
        self.upstream.script = self.answer
        volumes = [pod.mount_of(spec, spec["args"][1])[1], *(one for one in pod.spec["volumes"] if "secret" in one)]
        self.config, *self.secrets = [self.played.files[one["name"]] for one in volumes]
        self.show_certificate("server")
        self.container = self.played.container(spec)
        self.container.start()
        self.kubelet = Kubelet(self.container)
        self.kubelet.wait_for_start()
        self.plain = next((port for _, port, tls in settings.listeners() if not tls), None)
        self.status = settings.port("status")[1]

    def show_certificate(self, name):
        """What cert-manager writes into a Secret."""
        for files in self.secrets:
            certificate, key = certificates().pair(name)
            with open(certificate, "rb") as one, open(key, "rb") as other:
                files.swap({"tls.crt": one.read(), "tls.key": other.read()})

    def answer(self, exchange):
        exchange.read_body()
        if exchange.received.target == "/held":
            self.hold.wait(2 * DEADLINE)
        exchange.answer(body=exchange.received.body)

    def metric(self, name, *labels):
        text = get(self.status, "/metrics")[1].decode()
        return sum(float(value) for key, value in re.findall(r"^([a-z_]+(?:\{.*\})?) (\S+)$", text, re.M)
                   if key.split("{")[0] == name and all(label in key for label in labels))

    def send(self, target, body=b"a=1", media_type=FORM):
        with Client((POD, self.plain)) as client:
            client.request("POST", target, body, media_type)
            return client.response()

    def test_lives(self):
        played = set()
        for rendering in renderings():
            if not rendering.has_own_settings:
                continue
            for pod, spec, settings in proxies(rendering):
                with self.subTest(rendering=rendering.name, pod=pod.name):
                    self.play(pod, spec, settings)
                    if settings.processors():
                        self.processor_lives()
                    else:
                        self.lives()
                    played.add(rendering.name)
                self.doCleanups()
        self.assertGreaterEqual(len(played), 9, played)

    def begins(self):
        self.is_confined()
        for kind in ("readinessProbe", "livenessProbe"):
            self.assertTrue(self.kubelet.ask(kind), kind)
        self.assertEqual(get(self.status, "/config")[0], 404)
        self.answers_its_admin_socket()

    def lives(self):
        self.begins()
        self.spools()
        with BalancedLoad(self.kubelet, self.plain) as load:
            self.reloads()
            self.renews_its_certificate()
            self.ends(load)
        tell_apart(self, load, self.upstream)
        self.assertEqual(load.refused, 0, "a client came before the balancer had noticed, and nobody listened")
        self.assertGreater(len(load.answered), 200)

    def processor_lives(self):
        """The same for a pod that a data plane asks by gRPC."""
        self.begins()
        (port, is_secured), = self.settings.processors().items()
        text = self.settings.text
        added = text.replace("routes:\n", "routes:\n  - { name: extra, match: /extra, request: form -> json }\n")

        def connect():
            context = certificates().client_context(check_hostname=False) if is_secured else None
            client = HTTP2Client((POD, port), context)
            self.addCleanup(client.socket.close)
            return client

        def ask(path):
            call = Processing(connect())
            message = call.run("request", pseudo("POST", path, FORM), b"a=1")
            self.assertEqual(call.finish()[0], OK)
            return message.json

        def health():
            call = Call(connect(), HEALTH + "Check")
            call.send(encode("HealthCheckRequest", {}), end=True)
            return decode("HealthCheckResponse", call.next())["status"]

        with self.assertRaises(Refused) as refused:
            ask("/extra")
        self.assertEqual(refused.exception.response.status, 404)
        self.config.swap({"recast.yaml": added})
        wait_until("it is read again", lambda: self.metric("recast_config_reloads_total", 'result="success"') == 1)
        self.assertEqual(ask("/extra"), {"a": "1"})
        self.config.swap({"recast.yaml": added + "unheard_of: [\n"})
        wait_until("it is refused", lambda: self.metric("recast_config_reloads_total", 'result="failure"') == 1)
        self.assertEqual((ask("/extra"), ask("/signup")), ({"a": "1"}, {"a": "1"}))
        if is_secured:
            self.show_certificate("rsa")
            wait_until("the new certificate is shown",
                       lambda: connect().socket.getpeercert()["subject"][0][0][1] == "rsa")
        # The end: a call that is on its way is served, and others are sent elsewhere.
        call = Processing(connect())
        call.headers("request", pseudo("POST", "/signup", FORM))
        call.body("request", b"a=1")
        call.client.pause()
        self.assertEqual(health(), SERVING)
        begun = time.monotonic()
        self.container.terminate()
        wait_until("its health says no", lambda: health() == NOT_SERVING)
        self.assertFalse(self.kubelet.ask("readinessProbe"))
        self.assertIsNone(self.container.process.poll(), "it waits for what is in flight")
        call.body("request", b"&b=2", end=True)
        self.assertEqual(call.take_streamed("request", call.take_headers("request", [])).json, {"a": "1", "b": "2"})
        self.assertEqual(call.finish()[0], OK)
        self.assertEqual(self.container.wait(grace_period(self.played.pod) - (time.monotonic() - begun)), 0)

    def test_a_pod_that_ends_badly_is_noticed(self):
        """What the test above looks at can go wrong: a delay too short for the balancer, a grace too short for a request."""
        rendering = next(one for one in renderings() if one.name == "gateway/overlays/example")
        config, = rendering.of_kind("ConfigMap")
        text = config["data"]["recast.yaml"]
        for old, new, complaint in (("drain_delay: 5s", "drain_delay: 0s", "nobody listened"),
                                    ("grace: 30s", "grace: 100ms", "closed after 0 bytes|it waits for what is in flight")):
            with self.subTest(new=new):
                # The answer comes when the pod has ended, not a moment before.
                self.outlasts_grace = new.startswith("grace")
                self.assertIn(old, text)
                config["data"]["recast.yaml"] = text.replace(old, new).replace("drain_delay: 5s", "drain_delay: 1s")
                for pod, spec, settings in proxies(rendering):
                    self.play(pod, spec, settings)
                    with self.assertRaisesRegex((AssertionError, Closed, OSError), complaint):
                        self.lives()
            self.doCleanups()

    def is_confined(self):
        """As the manifest says, and nothing of what the kernel knows was given besides."""
        self.assertEqual(set(self.container.status("Uid").split()), {"10001"})
        self.assertEqual(set(self.container.status("Gid").split()), {"10001"})
        self.assertEqual(int(self.container.status("CapEff"), 16), 0)
        self.assertEqual(self.container.status("NoNewPrivs"), "1")
        self.assertEqual(self.container.status("NSpid").split()[-1], "1")
        # Half of the limit of memory is what bodies may hold.
        limit = size(self.container.spec["resources"]["limits"]["memory"])
        self.assertAlmostEqual(self.metric("recast_memory_budget_bytes"), limit / 2, delta=limit / 16)

    def answers_its_admin_socket(self):
        """What docs/kubernetes.md shows for kubectl exec, and for a debug container of the same user."""
        shown = self.container.execute("/usr/bin/recast", "probe", "--print", ADMIN, "/upstreams")
        self.assertEqual((shown.returncode, shown.stderr), (0, b""))
        self.assertEqual({one["name"] for one in json.loads(shown.stdout)["upstreams"]}, set(self.settings.value.get("upstreams", ())))
        self.does_what_the_page_says()
        user = str(self.container.security["runAsUser"])
        seen = subprocess.run(
            ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups", "curl", "--silent", "--show-error",
             "--unix-socket", f"/proc/{self.container.first}/root/run/recast/admin.sock", "http://localhost/ready"],
            capture_output=True, text=True)
        self.assertEqual((seen.stdout, seen.stderr), ("ready\n", ""))

    def does_what_the_page_says(self):
        """Every `kubectl exec` of docs/kubernetes.md, in this pod."""
        with open(os.path.join(ROOT, "docs", "kubernetes.md")) as file:
            commands = re.findall(r"^(?:(.+) \| )?kubectl exec (?:-i )?\S+ -c recast -- (.+)$", file.read(), re.M)
        for before, command in commands:
            given = subprocess.run(["sh", "-c", before or "true"], capture_output=True, check=True).stdout
            result = self.container.execute(*shlex.split(command), given=given)
            self.assertEqual(result.returncode, 0, (command, result.stderr))
        self.assertGreater(len(commands), 5)

    def spools(self):
        """A body that is held on disk, in the volume that the settings name."""
        if not self.settings.spools():
            return
        with Client((POD, self.plain)) as client:
            client.request("POST", "/upload", media_type="multipart/form-data; boundary=b",
                           fields=["Transfer-Encoding: chunked"])
            part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n' + bytes(1 << 20)
            client.send(b"%x\r\n%s\r\n" % (len(part), part))
            wait_until("it is on disk", lambda: self.metric("recast_spool_files") == 1)
            end = b"\r\n--b--\r\n"
            client.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(end), end))
            self.assertEqual(client.response().status, 200)
        received = next(one for one in self.upstream.requests if one.target == "/upload")
        self.assertEqual(received.fields.get("content-length"), str(len(part) + len(end)))
        self.upstream.requests.remove(received)

    def reloads(self):
        """The ConfigMap changes under load: new settings, broken ones, the first ones."""
        text = self.settings.text
        self.assertEqual(self.send("/extra").body, b"a=1")
        added = text.replace("routes:\n", "routes:\n  - { name: extra, match: /extra, upstream: %s, request: form -> json }\n"
                             % next(iter(self.settings.value["upstreams"])))
        self.config.swap({"recast.yaml": added})
        wait_until("it is read again", lambda: self.metric("recast_config_reloads_total", 'result="success"') == 1)
        self.assertEqual(self.send("/extra").json, {"a": "1"})
        self.config.swap({"recast.yaml": added + "unheard_of: [\n"})
        wait_until("it is refused", lambda: self.metric("recast_config_reloads_total", 'result="failure"') == 1)
        self.assertEqual(self.metric("recast_config_last_reload_successful"), 0)
        self.assertEqual(self.send("/extra").json, {"a": "1"})
        self.assertTrue(self.kubelet.ask("readinessProbe") and self.kubelet.ask("livenessProbe"))
        self.config.swap({"recast.yaml": text})
        wait_until("it is read once more", lambda: self.metric("recast_config_reloads_total", 'result="success"') == 2)
        self.assertEqual(self.metric("recast_config_last_reload_successful"), 1)
        self.assertEqual(self.send("/extra").body, b"a=1")
        self.upstream.requests[:] = [one for one in self.upstream.requests if one.target != "/extra"]

    def renews_its_certificate(self):
        port = next((port for _, port, tls in self.settings.listeners() if tls), None)
        if port is None:
            return

        def subject():
            with TLSClient((POD, port), certificates().client_context(check_hostname=False)) as client:
                client.request("GET", "/tls")
                self.assertEqual(client.response().status, 200)
                return client.socket.getpeercert()["subject"][0][0][1]

        self.assertEqual(subject(), "server")
        self.show_certificate("rsa")
        wait_until("the new certificate is shown", lambda: subject() == "rsa")

    def ends(self, load):
        """The end of the pod, as the kubelet goes about it."""
        hook, begun = self.container.spec["lifecycle"]["preStop"], time.monotonic()
        limit = grace_period(self.played.pod)
        if not self.is_sidecar:
            ready = self.kubelet.ask("readinessProbe")
            load.ended.wait(hook["sleep"]["seconds"])
            self.assertTrue(ready and not load.out.is_set(), "it serves as ever during the hook")
        held = Client((POD, self.plain))
        self.addCleanup(held.socket.close)
        held.request("POST", "/held", b"held", "text/plain")
        wait_until("it is at the upstream", lambda: any(one.target == "/held" for one in list(self.upstream.requests)))
        if self.is_sidecar:
            # Hooks of all containers run at once. Recast's ends with the answer, the app's waits; SIGTERM comes after the
            # app's end.
            done = self.container.execute(*hook["exec"]["command"])
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            limit = min(sleep_of(app) for app in self.played.spec["containers"])
        else:
            self.container.terminate()
        self.assertTrue(load.out.wait(DEADLINE), "the balancer noticed")
        if self.outlasts_grace:
            self.container.process.wait(DEADLINE)
        self.assertIsNone(self.container.process.poll(), "it waits for what is in flight")
        self.hold.set()
        response = held.response()
        self.assertEqual((response.status, response.body), (200, b"held"))
        self.assertEqual(response.fields.get("connection"), "close")
        self.assertEqual(self.container.wait(limit - (time.monotonic() - begun)), 0)
        load.stop()
        self.upstream.requests[:] = [one for one in self.upstream.requests if one.target != "/held"]


if __name__ == "__main__":
    unittest.main()
