"""Every rendering of deploy/kubernetes against the schema and the rules, and each rule against something that it must find."""

import os
import re
import shutil
import tempfile
import textwrap
import unittest

import ext_proc_rules
import network_rules
import rules
import schema
from manifests import DEPLOY, ROOT, Rendering, build, folders, is_selected, renderings, standard_settings, unused_components

assert ext_proc_rules and network_rules  # their rules are registered with the others

RENDERED = renderings()


def rendering(name):
    return next(one for one in RENDERED if one.name == name).copy()


class RenderingTests(unittest.TestCase):
    def test_all_are_rendered(self):
        names = {one.name for one in RENDERED}
        self.assertLessEqual({"gateway/base", "gateway/overlays/example", "gateway/overlays/production", "sidecar/base",
                              "sidecar/overlays/example", "sidecar/overlays/production", "ext-proc/base", "ext-proc/overlays/envoy-gateway",
                              "ext-proc/overlays/istio", "ext-proc/overlays/gke"}, names)
        for component in folders("Component"):
            # On its own where no example has it.
            if os.path.basename(component) in ("certificate", "monitoring", "spool"):
                self.assertIn(os.path.relpath(component, DEPLOY) + " alone", names)
        self.assertEqual(unused_components(), [])
        # A folder that isn't a kustomization would never be looked at.
        for path, children, files in os.walk(DEPLOY):
            self.assertTrue(children or "kustomization.yaml" in files, path)

    def test_schema(self):
        for one in RENDERED:
            for item in one.objects:
                with self.subTest(rendering=one.name, kind=item["kind"]):
                    self.assertEqual(list(schema.complaints(item)), [])

    def test_rules(self):
        proxies = 0
        for one in RENDERED:
            proxies += len(list(rules.proxies(one)))
            for name, check in rules.RULES.items():
                with self.subTest(rendering=one.name, rule=name):
                    self.assertEqual(list(check(one)), [])
        self.assertGreaterEqual(proxies, 8)

    def test_the_version_is_written_once(self):
        self.assertEqual(list(rules.written_images()), [])

    def test_bases_need_no_custom_resource(self):
        """Clusters without cert-manager or the Prometheus Operator take bases and examples as they are."""
        for one in RENDERED:
            if one.name.endswith(("base", "example")):
                groups = {item["apiVersion"].rpartition("/")[0] for item in one.objects}
                self.assertLessEqual(groups, {"", "apps", "autoscaling", "policy", "networking.k8s.io"}, one.name)

    def test_the_standard_values_are_recasts_own(self):
        standard = standard_settings()
        self.assertEqual((standard["drain_delay"], standard["timeouts.grace"], standard["watch"]), ("0s", "25s", "false"))

    def test_the_page_and_the_manifests_name_what_there_is(self):
        """Folders in docs/kubernetes.md, sections of it in the manifests."""
        with open(os.path.join(ROOT, "docs", "kubernetes.md")) as file:
            page = file.read()
        named = set(re.findall(r"deploy/kubernetes/[a-z/]+[a-z]", page))
        named |= {f"deploy/kubernetes/{one}" for one in re.findall(r"^\| `((?:gateway|sidecar)/[a-z/]+[a-z])`", page, re.M)}
        self.assertGreaterEqual(len(named), 6)
        for folder in named:
            self.assertTrue(os.path.isfile(os.path.join(ROOT, folder, "kustomization.yaml")), folder)
        sections = {re.sub("[^a-z -]", "", title.lower()).replace(" ", "-") for title in re.findall(r"^#+ (.*)$", page, re.M)}
        links = set()
        for path, _, names in os.walk(DEPLOY):
            for name in names:
                with open(os.path.join(path, name)) as file:
                    links |= set(re.findall(r"docs/kubernetes\.md#([a-z-]+)", file.read()))
        self.assertTrue(links)
        self.assertLessEqual(links, sections)

    def test_another_registry_as_the_page_says(self):
        """The `images` of docs/kubernetes.md in an overlay of each example: nothing is left with the manifests' own."""
        with open(os.path.join(ROOT, "docs", "kubernetes.md")) as file:
            images = re.search(r"^images:\n.*\n", file.read(), re.M)[0]
        for example in ("gateway/overlays/production", "sidecar/overlays/production"):
            with tempfile.TemporaryDirectory(dir=os.path.join(ROOT, ".build_kubernetes")) as folder:
                with open(os.path.join(folder, "kustomization.yaml"), "w") as file:
                    path = os.path.relpath(os.path.join(DEPLOY, example), folder)
                    file.write(f"kind: Kustomization\nresources: [{path}]\n{images}")
                one = Rendering("own", build(folder))
            self.assertTrue(list(rules.proxies(one)))
            used = {container["image"] for pod in one.pods() for container in pod.containers}
            self.assertEqual(used, {"registry.example/recast:0.5.0"})

    def test_an_app_of_ones_own_as_the_page_says(self):
        """The kustomization that docs/kubernetes.md shows, with an app that has more than the example's."""
        with open(os.path.join(ROOT, "docs", "kubernetes.md")) as file:
            shown = re.search(r"^ *```yaml\n( *resources: \[app\.yaml\]\n.*?)^ *```$", file.read(), re.M | re.S)[1]
        for kind in ("Deployment", "StatefulSet", "DaemonSet"):
            with self.subTest(kind=kind), tempfile.TemporaryDirectory(dir=os.path.join(ROOT, ".build_kubernetes")) as folder:
                component = os.path.relpath(os.path.join(DEPLOY, "sidecar/components/recast"), folder)
                text = textwrap.dedent(shown).replace("../recast/deploy/kubernetes/sidecar/components/recast", component)
                with open(os.path.join(folder, "kustomization.yaml"), "w") as file:
                    file.write(text)
                shutil.copy(os.path.join(DEPLOY, "sidecar/overlays/example/recast.yaml"), folder)
                with open(os.path.join(folder, "app.yaml"), "w") as file:
                    text = OWN_APP.replace("KIND", kind)
                    file.write(text.replace("spec:", "spec:\n  serviceName: web", 1) if kind == "StatefulSet" else text)
                one = Rendering("own", build(folder))
                pod, = one.pods()
                # In front of the app's own, which may want to call through it.
                self.assertEqual([item["name"] for item in pod.spec["initContainers"]], ["recast", "migrate"])
                self.assertEqual([item["name"] for item in pod.spec["containers"]], ["web", "logs"])
                self.assertEqual(pod.spec["securityContext"], {"fsGroup": 2000})
                targets = {item["metadata"]["name"]: item["spec"]["ports"] for item in one.of_kind("Service")}
                self.assertEqual([port["targetPort"] for port in targets["web"]], [8080, 9000])
                self.assertEqual([port["targetPort"] for port in targets["other"]], [3000])
                for item in one.objects:
                    self.assertEqual(list(schema.complaints(item)), [])
                for rule in ("settings", "listeners", "probes", "grace"):
                    self.assertEqual(list(rules.RULES[rule](one)), [], rule)
                version = rendering("gateway/base").pods()[0].containers[0]["image"]
                self.assertEqual([item["image"] for item in pod.containers], [version, "web:1", "web:1", "logs:1"])

    def test_prometheus_finds_every_recast_of_the_cluster(self):
        """deploy/observability: its monitors take the pods of all installations, at a port that those have, and the dashboard goes
        where Grafana's sidecar finds it."""
        observability = os.path.join(ROOT, "deploy", "observability")
        objects = build(observability)
        for item in objects:
            self.assertEqual(list(schema.complaints(item)), [])
            self.assertEqual(item["metadata"]["namespace"], network_rules.MONITORING)
        monitors = [item["spec"] for item in objects if item["kind"] == "PodMonitor"]
        config, = [item for item in objects if item["kind"] == "ConfigMap"]
        self.assertEqual(config["metadata"]["labels"], {"grafana_dashboard": "1"})
        with open(os.path.join(observability, "dashboard.json")) as file:
            self.assertEqual(config["data"], {"recast.json": file.read()})
        found = 0
        for one in RENDERED:
            for pod in one.pods():
                names = {port["name"] for container in pod.proxies() for port in container["ports"]}
                takers = [spec for spec in monitors if is_selected(spec["selector"], pod.labels)]
                self.assertEqual(len(takers), bool(pod.proxies()), (one.name, pod.name))
                for spec in takers:
                    self.assertEqual(spec["namespaceSelector"], {"any": True})
                    scraped, = spec["podMetricsEndpoints"]
                    self.assertIs(scraped["honorLabels"], True)
                    self.assertIn(scraped["port"], names, (one.name, pod.name))
                    found += 1
        self.assertGreaterEqual(found, 8)

    def test_monitors_keep_the_labels_of_recast(self):
        """A target has a label `endpoint`, too, which is the operator's name of the port."""
        monitors = [item for one in RENDERED for item in one.of_kind("ServiceMonitor", "PodMonitor")]
        self.assertGreaterEqual(len(monitors), 2)
        for item in monitors:
            for scraped in item["spec"].get("endpoints") or item["spec"]["podMetricsEndpoints"]:
                self.assertIs(scraped["honorLabels"], True, item["metadata"]["name"])

    def test_examples_are_apart(self):
        """Both can be applied to one cluster."""
        keys = [(item["kind"], item["metadata"].get("namespace"), item["metadata"]["name"])
                for name in ("gateway/overlays/example", "sidecar/overlays/example") for item in rendering(name).objects]
        self.assertEqual(len(keys), len(set(keys)))


OWN_APP = """
apiVersion: apps/v1
kind: KIND
metadata: { name: web, labels: { recast-sidecar: enabled } }
spec:
  selector: { matchLabels: { app: web } }
  template:
    metadata: { labels: { app: web } }
    spec:
      securityContext: { fsGroup: 2000 }
      initContainers: [ { name: migrate, image: "web:1" } ]
      containers:
        - name: web
          image: web:1
          ports: [ { name: http, containerPort: 3000 } ]
          lifecycle: { preStop: { sleep: { seconds: 26 } } }
        - name: logs
          image: logs:1
          lifecycle: { preStop: { sleep: { seconds: 30 } } }
---
apiVersion: v1
kind: Service
metadata: { name: web, labels: { recast-sidecar: enabled } }
spec:
  selector: { app: web }
  ports: [ { name: http, port: 80, targetPort: 3000 }, { name: other, port: 81, targetPort: 9000 } ]
---
apiVersion: v1
kind: Service
metadata: { name: other }
spec:
  selector: { app: other }
  ports: [ { name: http, port: 80, targetPort: 3000 } ]
"""

# What a change to a rendering looks like: (rule that must find it, rendering, change).
GATEWAY, SIDECAR = "gateway/overlays/production", "sidecar/overlays/production"
EXAMPLE, BESIDE = "gateway/overlays/example", "sidecar/overlays/example"
MUTATIONS = []


def mutation(rule, *names):
    def register(change):
        MUTATIONS.extend((rule, name, change) for name in names)
        return change
    return register


def put(rule, names, path, value):
    """A mutation that sets, or with None removes, what lies at a path of the proxy's pod, container or of an object."""
    def change(one):
        root, *keys = path.split("/")
        pod, container, _ = next(rules.proxies(one))
        target = {"pod": pod.spec, "container": container, "workload": pod.workload}.get(root) or one.of_kind(root)[0]
        for key in keys[:-1]:
            target = target[int(key)] if isinstance(target, list) else target.setdefault(key, {})
        last = int(keys[-1]) if isinstance(target, list) else keys[-1]
        if value is None:
            del target[last]
        else:
            target[last] = value
    change.__name__ = f"{path} = {value!r}"
    MUTATIONS.extend((rule, name, change) for name in names)


def text(rule, names, old, new):
    """A mutation of the settings."""
    def change(one):
        config = one.of_kind("ConfigMap")[0]
        assert old in config["data"]["recast.yaml"], old
        config["data"]["recast.yaml"] = config["data"]["recast.yaml"].replace(old, new)
    change.__name__ = f"{old!r} becomes {new!r}"
    MUTATIONS.extend((rule, name, change) for name in names)


BOTH = (GATEWAY, SIDECAR)
ENVOY_GATEWAY, ISTIO, GKE = (f"ext-proc/overlays/{name}" for name in ("envoy-gateway", "istio", "gke"))
put("processing", [ENVOY_GATEWAY], "EnvoyExtensionPolicy/spec/extProc/0/failOpen", True)
put("processing", [ENVOY_GATEWAY], "EnvoyExtensionPolicy/spec/extProc/0/backendRefs/0/port", 9001)
put("processing", [ENVOY_GATEWAY, ISTIO], "Service/spec/ports/0/appProtocol", None)
put("processing", [GKE], "Service/spec/ports/0/appProtocol", "kubernetes.io/h2c")
put("processing", [GKE], "GCPTrafficExtension/spec/extensionChains/0/extensions/0/supportedEvents", ["RequestHeaders", "RequestBody"])
put("processing", [GKE], "GCPTrafficExtension/spec/extensionChains/0/extensions/0/failOpen", True)
put("processing", [ISTIO], "EnvoyFilter/spec/configPatches/0/patch/value/typed_config/processing_mode/request_body_mode", "BUFFERED")
put("processing", [ISTIO], "EnvoyFilter/spec/configPatches/0/patch/value/typed_config/failure_mode_allow", True)
put("processing", [ISTIO], "EnvoyFilter/metadata/namespace", "elsewhere")
put("processed", [ENVOY_GATEWAY], "HTTPRoute/spec/rules/0/matches/0/path/value", "/other")
put("processed", [GKE], "GCPTrafficExtension/spec/extensionChains/0/matchCondition/celExpressions/0/celMatcher", "true")
text("processing", [ENVOY_GATEWAY], ", serves: ext_proc", "")
text("processed", [ISTIO], "path: /orders", "path: /order")
put("restricted", BOTH, "container/securityContext/allowPrivilegeEscalation", True)
put("restricted", BOTH, "container/securityContext/capabilities/drop", [])
put("restricted", BOTH, "container/securityContext/capabilities/add", ["NET_ADMIN"])
put("restricted", BOTH, "container/securityContext/privileged", True)
put("restricted", BOTH, "container/securityContext/runAsUser", 0)
put("restricted", BOTH, "container/securityContext/runAsNonRoot", False)
put("restricted", BOTH, "container/securityContext/seccompProfile", {"type": "Unconfined"})
put("restricted", [GATEWAY], "pod/securityContext", {})
put("restricted", BOTH, "pod/hostNetwork", True)
put("restricted", BOTH, "pod/volumes/0", {"name": "host", "hostPath": {"path": "/"}})
put("restricted", BOTH, "container/ports/0/hostPort", 80)
put("hardened", BOTH, "container/securityContext/readOnlyRootFilesystem", None)
put("hardened", BOTH, "pod/automountServiceAccountToken", None)
put("hardened", BOTH, "container/securityContext/runAsUser", 1000)
put("names", BOTH, "container/ports/0/name", "a-name-of-17-char")
put("names", BOTH, "container/ports/0/containerPort", 9902)
text("settings", BOTH, "upstream: uploads", "upstream: upload")
text("settings", BOTH, "tags: [ a ]", "tags: [ b ]")
text("settings", BOTH, "watch: true", "watch: false")
put("settings", BOTH, "ConfigMap/immutable", True)
put("settings", BOTH, "container/args/1", "/etc/recast/other.yaml")
put("mounts", BOTH, "container/volumeMounts/0/name", "nothing")
put("mounts", BOTH, "container/volumeMounts/0/subPath", "recast.yaml")
put("mounts", BOTH, "Certificate/spec/secretName", "other")
put("mounts", BOTH, "ConfigMap/metadata/name", "other")
text("folders", BOTH, "dir: /var/spool/recast", "dir: /tmp")
text("folders", BOTH, "MiB } # less", "GiB } # less")
text("folders", BOTH, "unix:/run/recast/admin.sock", "unix:/tmp/admin.sock")
text("folders", BOTH, "/etc/recast-tls/tls.key", "/etc/recast/tls.key")
put("folders", [GATEWAY], "pod/securityContext/fsGroup", 1)
text("listeners", BOTH, "0.0.0.0:8080", "127.0.0.1:8080")
text("listeners", BOTH, "0.0.0.0:8443", "0.0.0.0:8444")
text("listeners", BOTH, "status: 0.0.0.0:9902", "status: 127.0.0.1:9902")
put("probes", BOTH, "container/livenessProbe/httpGet/path", "/ready")
put("probes", BOTH, "container/readinessProbe/httpGet/port", "http")
put("probes", BOTH, "container/startupProbe/httpGet/port", "nowhere")
put("probes", BOTH, "container/startupProbe", None)
put("grace", [GATEWAY], "pod/terminationGracePeriodSeconds", None)
put("grace", [SIDECAR], "pod/terminationGracePeriodSeconds", 26)
put("grace", [GATEWAY], "pod/terminationGracePeriodSeconds", 41)
put("grace", [GATEWAY], "container/lifecycle", None)
put("grace", [SIDECAR], "container/lifecycle/preStop", {"sleep": {"seconds": 5}})
put("grace", [SIDECAR], "pod/containers/0/lifecycle/preStop/sleep/seconds", 25)
put("grace", [SIDECAR], "pod/containers/0/lifecycle/preStop/sleep/seconds", 45)
put("grace", BOTH, "container/readinessProbe/periodSeconds", 3)
text("grace", [GATEWAY], "grace: 30s", "grace: 1m")
text("grace", BOTH, "drain_delay: 5s", "drain_delay: 0s")
put("sidecars", [SIDECAR], "container/restartPolicy", None)
put("selected", BOTH, "Service/spec/selector", {})
put("selected", BOTH, "Service/spec/selector", {"app.kubernetes.io/name": "other"})
put("selected", BOTH, "NetworkPolicy/spec/podSelector", {})
put("selected", [GATEWAY], "PodDisruptionBudget/spec/selector", {})
put("selected", [GATEWAY], "HorizontalPodAutoscaler/spec/scaleTargetRef/name", "other")
put("selected", [GATEWAY], "ServiceMonitor/spec/endpoints/0/port", "metrics")
put("selected", [SIDECAR], "PodMonitor/spec/podMetricsEndpoints/0/port", "metrics")
put("selected", [SIDECAR], "PodMonitor/spec/selector/matchLabels", {"recast-sidecar": "on"})
put("selected", [GATEWAY], "pod/topologySpreadConstraints/0/labelSelector/matchLabels", {"app": "recast"})
put("selected", BOTH, "workload/spec/selector/matchLabels", {"app": "other"})
put("services", BOTH, "Service/spec/ports/0/targetPort", 8081)
put("services", [SIDECAR], "Service/spec/ports/0/targetPort", 3000)
put("services", [SIDECAR], "Service/spec/ports/0/targetPort", "recast-http")
put("images", BOTH, "container/image", "recast:latest")
put("images", BOTH, "container/image", "recast")
put("resources", BOTH, "container/resources/limits/memory", None)
put("resources", BOTH, "container/resources/limits/cpu", None)
put("resources", BOTH, "container/resources/requests/memory", "1Gi")
put("resources", BOTH, "container/resources/limits/ephemeral-storage", "512Mi")
put("availability", [GATEWAY], "HorizontalPodAutoscaler/spec/minReplicas", 1)
put("availability", [GATEWAY], "PodDisruptionBudget/spec/maxUnavailable", 2)
put("availability", [GATEWAY], "pod/topologySpreadConstraints/0", {
    "topologyKey": "rack", "labelSelector": {"matchLabels": {"app.kubernetes.io/name": "recast"}}})
put("availability", [GATEWAY], "workload/spec/replicas", 2)
put("availability", [GATEWAY], "workload/spec/strategy", {})
put("ingress", BOTH, "NetworkPolicy/spec/policyTypes", ["Egress"])
put("ingress", BOTH, "NetworkPolicy/spec/ingress/0/ports/0/port", 80)
put("ingress", BOTH, "NetworkPolicy/spec/ingress/0/ports", None)
put("ingress", BOTH, "NetworkPolicy/spec/ingress/1", {"ports": [{"protocol": "TCP", "port": 9902}]})
put("ingress", BOTH, "NetworkPolicy/spec/ingress/1/from/0/namespaceSelector/matchLabels", {"team": "operations"})
put("ingress", [SIDECAR], "NetworkPolicy/spec/ingress/0/ports/1/port", 3000)
put("egress", [GATEWAY, EXAMPLE], "NetworkPolicy/spec/egress/0/ports/0/protocol", "TCP")
put("egress", [GATEWAY, EXAMPLE], "NetworkPolicy/spec/egress/1/ports/0/port", 80)
put("egress", [GATEWAY, EXAMPLE], "NetworkPolicy/spec/egress/1", {})
put("egress", [GATEWAY, EXAMPLE], "NetworkPolicy/spec/policyTypes", ["Ingress"])
put("egress", [EXAMPLE], "NetworkPolicy/spec/egress/1/to/0/podSelector/matchLabels", {"app.kubernetes.io/name": "other"})
put("egress", [GATEWAY], "NetworkPolicy/spec/egress/1/to/0/namespaceSelector/matchLabels", {
    "kubernetes.io/metadata.name": "other"})
put("egress", [BESIDE], "NetworkPolicy/spec/egress/0/to", [{"podSelector": {}}])


@mutation("names", GATEWAY, SIDECAR)
def an_object_twice(one):
    one.objects.append(one.objects[0])


@mutation("mounts", GATEWAY, SIDECAR)
def a_volume_that_nobody_mounts(one):
    next(rules.proxies(one))[0].spec["volumes"].append({"name": "spare", "emptyDir": {"sizeLimit": "1Mi"}})


@mutation("mounts", GATEWAY, SIDECAR)
def a_volume_without_a_limit(one):
    for volume in next(rules.proxies(one))[0].spec["volumes"]:
        volume.get("emptyDir", {}).pop("sizeLimit", None)


@mutation("folders", SIDECAR)
def a_key_that_is_the_groups(one):
    for volume in next(rules.proxies(one))[0].spec["volumes"]:
        if "secret" in volume:
            volume["secret"]["defaultMode"] = 0o440


class MutationTests(unittest.TestCase):
    """The rules can fail."""

    def test_each_rule_finds_what_it_is_for(self):
        for name, where, change in MUTATIONS:
            with self.subTest(rule=name, rendering=where, change=change.__name__):
                mutated = rendering(where)
                change(mutated)
                self.assertNotEqual(list(rules.RULES[name](mutated)), [])

    def test_no_rule_is_without_a_mutation(self):
        self.assertEqual({name for name, _, _ in MUTATIONS}, set(rules.RULES))

    def test_the_schema_knows_its_keys_at_every_depth(self):
        """A key that isn't there, a value of another type, at each place of each object: the schema must say so."""
        places = 0
        for where in (EXAMPLE, GATEWAY, SIDECAR):
            for item in rendering(where).objects:
                for place in mappings(item):
                    kind = item["kind"]
                    place["unheardOf"] = "x"
                    self.assertNotEqual(list(schema.complaints(item)), [], (where, kind, place))
                    del place["unheardOf"]
                    places += 1
                self.assertEqual(list(schema.complaints(item)), [])
        self.assertGreater(places, 200)

    def test_the_schema_wants_what_is_needed_and_the_right_types(self):
        for kind, path, value in (
                ("Deployment", "spec/selector", None), ("Deployment", "spec/template/spec/terminationGracePeriodSeconds", "1m"),
                ("Service", "spec/ports", {}), ("HorizontalPodAutoscaler", "spec/maxReplicas", None),
                ("Certificate", "spec/secretName", None), ("Certificate", "spec/dnsNames", []),
                ("Certificate", "spec/issuerRef/kind", "CA"), ("Certificate", "spec/usages", ["server-auth"]),
                ("ServiceMonitor", "spec/endpoints", None), ("ServiceMonitor", "spec/endpoints/0/interval", 30)):
            with self.subTest(kind=kind, path=path):
                item = rendering(GATEWAY).of_kind(kind)[0]
                target = item
                *keys, last = path.split("/")
                for key in keys:
                    target = target[int(key)] if isinstance(target, list) else target[key]
                if value is None:
                    del target[last]
                else:
                    target[last] = value
                self.assertNotEqual(list(schema.complaints(item)), [])

    def test_an_unknown_kind_is_no_success(self):
        self.assertNotEqual(list(schema.complaints({"apiVersion": "v1", "kind": "Gateway", "metadata": {"name": "a"}})), [])

    def test_a_folder_that_does_not_render_is_no_success(self):
        with self.assertRaises(AssertionError):
            build(os.path.join(DEPLOY, "nowhere"))


# Where any key is fine.
FREE = ("labels", "annotations", "matchLabels", "selector", "data", "limits", "requests", "nodeSelector")


def mappings(value, key=""):
    """Every mapping of an object that has keys of its own."""
    if isinstance(value, dict):
        if key not in FREE or "matchLabels" in value:
            yield value
        for name, inner in value.items():
            if name != "targetPort":
                yield from mappings(inner, name)
    elif isinstance(value, list):
        for inner in value:
            yield from mappings(inner, key)


if __name__ == "__main__":
    unittest.main()
