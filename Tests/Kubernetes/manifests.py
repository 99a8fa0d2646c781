"""What the folders of deploy/kubernetes render to, and questions about it."""

import copy
import os
import re
import subprocess
import tempfile

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DEPLOY = os.path.join(ROOT, "deploy", "kubernetes")
KUBECTL = os.environ.get("KUBECTL", "kubectl")
RECAST = os.environ["RECAST_BIN"]
IMAGE = os.path.join(DEPLOY, "image")


def kustomization(folder):
    with open(os.path.join(folder, "kustomization.yaml")) as file:
        return yaml.safe_load(file)


def folders(kind):
    """All folders with a kustomization.yaml of a kind, however deep."""
    found = [path for path, _, names in os.walk(DEPLOY) if "kustomization.yaml" in names]
    return sorted(path for path in found if kustomization(path)["kind"] == kind)


def used_by(folder):
    """The folders that a kustomization takes in, and those that they take in."""
    found = set()
    content = kustomization(folder)
    for name in [*content.get("resources", []), *content.get("components", [])]:
        path = os.path.normpath(os.path.join(folder, name))
        if os.path.isdir(path):
            found |= {path} | used_by(path)
    return found


class Rendering:
    """What one kustomization renders to."""

    def __init__(self, name, objects, has_own_settings=True):
        self.name, self.objects = name, objects
        # A component alone changes what another folder's settings are for: TLS of which they don't know yet.
        self.has_own_settings = has_own_settings

    def copy(self):
        return Rendering(self.name, copy.deepcopy(self.objects), self.has_own_settings)

    def of_kind(self, *kinds):
        return [item for item in self.objects if item["kind"] in kinds]

    def named(self, kind, name):
        return next((item for item in self.of_kind(kind) if item["metadata"]["name"] == name), None)

    def workloads(self):
        """Everything that has a template of pods."""
        return [item for item in self.objects if "template" in (item.get("spec") or {}) and item["kind"] != "Certificate"]

    def pods(self):
        return [Pod(self, item) for item in self.workloads()]


class Pod:
    """The template of a workload."""

    def __init__(self, rendering, workload):
        self.rendering, self.workload = rendering, workload
        self.name = f"{workload['kind']}/{workload['metadata']['name']}"
        self.labels = workload["spec"]["template"]["metadata"].get("labels", {})
        self.spec = workload["spec"]["template"]["spec"]
        self.sidecars = [one for one in self.spec.get("initContainers", []) if one.get("restartPolicy") == "Always"]
        self.containers = self.spec.get("initContainers", []) + self.spec["containers"]

    def proxies(self):
        """The containers that are Recast, serving."""
        return [one for one in self.containers
                if re.match(r"(.*/)?recast(:|@|$)", one["image"]) and one.get("args", [""])[0] == "serve"]

    def volume(self, name):
        return next((one for one in self.spec.get("volumes", []) if one["name"] == name), None)

    def ports(self):
        """(container, port) of all that run beside one another."""
        return [(one, port) for one in self.sidecars + self.spec["containers"] for port in one.get("ports", [])]

    def resolve(self, target):
        """(container, number) of a Service's targetPort; None where there is none. A name of a sidecar's port isn't found by
        Kubernetes before 1.32, so it isn't here."""
        for container, port in self.ports():
            if isinstance(target, str) and container in self.sidecars:
                continue
            if target in (port.get("name"), port["containerPort"]):
                return container, port["containerPort"]
        return None

    def mount_of(self, container, path):
        """The (mount, volume) in which a path of a container lies; None for the image itself."""
        fitting = [one for one in container.get("volumeMounts", [])
                   if (path + "/").startswith(one["mountPath"].rstrip("/") + "/")]
        if not fitting:
            return None
        mount = max(fitting, key=lambda one: len(one["mountPath"]))
        return mount, self.volume(mount["name"])

    def settings(self, container):
        """The settings of a Recast, from the ConfigMap that is mounted where its argument points."""
        path = container["args"][1]
        mount, volume = self.mount_of(container, path) or (None, None)
        if not volume or "configMap" not in volume:
            return None
        config = self.rendering.named("ConfigMap", volume["configMap"]["name"])
        text = (config or {}).get("data", {}).get(os.path.relpath(path, mount["mountPath"]))
        return Settings(text) if text is not None else None


class Settings:
    """A file of settings: what it says, or the standard value that Recast itself tells."""

    standard = {}

    def __init__(self, text):
        self.text = text
        self.value = yaml.safe_load(text)

    def get(self, key):
        value = self.value
        for name in key.split("."):
            if not isinstance(value, dict) or name not in value:
                return standard_settings()[key]
            value = value[name]
        return str(value)

    def listeners(self):
        """(address, port, tls or None) of each address of `listen`."""
        listen = self.value["listen"]
        for one in listen if isinstance(listen, list) else [listen]:
            address, tls = (one["address"], one.get("tls")) if isinstance(one, dict) else (one, None)
            if not address.startswith(("unix:", "systemd:")):
                host, _, port = address.rpartition(":")
                yield host.strip("[]"), int(port), tls

    def processors(self):
        """{port: whether it speaks TLS} of the listeners for external processing."""
        listen = self.value["listen"]
        return {int(one["address"].rpartition(":")[2]): "tls" in one
                for one in (listen if isinstance(listen, list) else [listen]) if isinstance(one, dict) and one.get("serves") == "ext_proc"}

    def port(self, key):
        host, _, port = self.get(key).rpartition(":")
        return (host.strip("[]"), int(port)) if port.isdigit() else (None, None)

    def admin_socket(self):
        admin = self.value.get("admin")
        address = admin.get("address") if isinstance(admin, dict) else admin
        return address.removeprefix("unix:") if (address or "").startswith("unix:") else None

    def upstream_addresses(self):
        """(host, port) of all upstreams."""
        for upstream in self.value.get("upstreams", {}).values():
            address = upstream["address"] if isinstance(upstream, dict) else upstream
            for one in address if isinstance(address, list) else [address]:
                if not one.startswith("unix:"):
                    host, _, port = one.rpartition(":")
                    yield host.strip("[]"), int(port)

    def spools(self):
        """The `spool` of each upstream that holds bodies until they are whole."""
        return [one.get("spool", {}) for one in self.value.get("upstreams", {}).values()
                if isinstance(one, dict) and one.get("framing") == "length"]

    def check(self):
        """What `recast check` complains of, away from the machine that the file is for: None where it is fine."""
        result = subprocess.run([RECAST, "check", "--no-secrets", "-"], input=self.text, capture_output=True, text=True)
        return None if result.returncode == 0 else result.stdout + result.stderr


def standard_settings():
    """Each key with its standard value, as `recast routes` prints them."""
    if not Settings.standard:
        text = ('version: 1\nlisten: 127.0.0.1:8080\nupstreams: { app: 127.0.0.1:3000 }\n'
                'routes: [ { name: all, match: "/*", upstream: app } ]\n')
        shown = subprocess.run([RECAST, "routes", "-"], input=text, capture_output=True, text=True, check=True).stdout
        Settings.standard = dict(re.findall(r"^  ([a-z_.]+) +(\S.*?)  +(?:default|-:\d+)$", shown, re.M))
    return Settings.standard


def seconds(text):
    number, unit = re.fullmatch(r"(\d+)(ms|s|m|h)", text).groups()
    return int(number) * {"ms": 0.001, "s": 1, "m": 60, "h": 3600}[unit]


def size(text):
    """Bytes of a size as Recast writes it, or of a quantity as Kubernetes does."""
    number, unit = re.fullmatch(r"(\d+)((?:[KMG]i?)?)B?", str(text)).groups()
    return int(number) * {"": 1, "K": 1000, "M": 10**6, "G": 10**9, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}[unit]


def cores(text):
    text = str(text)
    return int(text[:-1]) / 1000 if text.endswith("m") else float(text)


def is_selected(selector, labels):
    """Whether a label selector, or a Service's, takes labels. An empty one takes all."""
    if "matchLabels" in selector or "matchExpressions" in selector:
        if selector.get("matchExpressions"):
            raise AssertionError("write matchLabels: matchExpressions is not read here")
        selector = selector["matchLabels"]
    return all(labels.get(key) == value for key, value in selector.items())


def build(folder):
    """What `kubectl kustomize` prints for a folder, or the reason why it doesn't."""
    result = subprocess.run([KUBECTL, "kustomize", folder], capture_output=True, text=True)
    if result.returncode:
        raise AssertionError(f"{folder}: {result.stderr}")
    if result.stderr:
        raise AssertionError(f"{folder}: a warning: {result.stderr}")
    return [item for item in yaml.safe_load_all(result.stdout) if item]


def renderings():
    """Every base and overlay, and every component on its family's example or base, alone."""
    whole = folders("Kustomization")
    result = [Rendering(os.path.relpath(folder, DEPLOY), build(folder)) for folder in whole]
    for component in folders("Component"):
        if component == IMAGE:
            continue
        family = component[len(DEPLOY) + 1:].split(os.sep)[0]
        example = os.path.join(DEPLOY, family, "overlays", "example")
        if component in used_by(example):
            continue  # rendered with it
        with tempfile.TemporaryDirectory(dir=os.path.join(ROOT, ".build_kubernetes")) as folder:
            with open(os.path.join(folder, "kustomization.yaml"), "w") as file:
                yaml.safe_dump({
                    "apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization",
                    "resources": [os.path.relpath(example, folder)],
                    "components": [os.path.relpath(component, folder), os.path.relpath(IMAGE, folder)]}, file)
            result.append(Rendering(os.path.relpath(component, DEPLOY) + " alone", build(folder), has_own_settings=False))
    return result


def unused_components():
    """Components that no base and no overlay takes in."""
    used = set().union(*(used_by(folder) for folder in folders("Kustomization")))
    return sorted(os.path.relpath(one, DEPLOY) for one in set(folders("Component")) - used)
