"""What must hold in every rendering beyond its schema. A rule yields a line for each thing that is wrong."""

import os
import re

from manifests import DEPLOY, IMAGE, cores, is_selected, kustomization, seconds, size

RULES = {}
UID = 10001  # the user of the image
ENDING = 1  # seconds that a worker that hangs is waited for


def rule(check):
    RULES[check.__name__] = check
    return check


def proxies(rendering):
    """(pod, container, settings) of each Recast."""
    for pod in rendering.pods():
        for container in pod.proxies():
            yield pod, container, pod.settings(container)


def is_sidecar(pod, container):
    return container in pod.spec.get("initContainers", [])


@rule
def restricted(rendering):
    """The Pod Security Standard "restricted"."""
    for pod in rendering.pods():
        spec, outer = pod.spec, pod.spec.get("securityContext", {})
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            if spec.get(key):
                yield f"{pod.name}: {key}"
        for volume in spec.get("volumes", []):
            kinds = volume.keys() - {"name"}
            if not kinds <= {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected",
                             "secret"}:
                yield f"{pod.name}: a volume of {sorted(kinds)}"
        for container in pod.containers:
            own, name = container.get("securityContext", {}), f"{pod.name}.{container['name']}"
            both = {**outer, **own}
            if both.get("runAsNonRoot") is not True:
                yield f"{name}: runAsNonRoot isn't true"
            if both.get("runAsUser") == 0:
                yield f"{name}: runs as root"
            if own.get("allowPrivilegeEscalation") is not False:
                yield f"{name}: allowPrivilegeEscalation isn't false"
            if own.get("privileged"):
                yield f"{name}: privileged"
            capabilities = own.get("capabilities", {})
            if "ALL" not in capabilities.get("drop", []) or set(capabilities.get("add", [])) - {"NET_BIND_SERVICE"}:
                yield f"{name}: capabilities {capabilities}"
            if both.get("seccompProfile", {}).get("type") not in ("RuntimeDefault", "Localhost"):
                yield f"{name}: no seccompProfile"
            if both.keys() & {"seLinuxOptions", "windowsOptions", "sysctls", "procMount", "appArmorProfile"}:
                yield f"{name}: {sorted(both)}"
            if any("hostPort" in port for port in container.get("ports", [])):
                yield f"{name}: a hostPort"


@rule
def hardened(rendering):
    """What the standard doesn't ask for."""
    for pod in rendering.pods():
        if pod.spec.get("automountServiceAccountToken") is not False:
            yield f"{pod.name}: has the token of a service account"
        for container in pod.containers:
            if container.get("securityContext", {}).get("readOnlyRootFilesystem") is not True:
                yield f"{pod.name}.{container['name']}: its root can be written"
    for pod, container, _ in proxies(rendering):
        both = {**pod.spec.get("securityContext", {}), **container.get("securityContext", {})}
        if (both.get("runAsUser"), both.get("runAsGroup")) != (UID, UID):
            yield f"{pod.name}.{container['name']}: runs as another user than the image's, {UID}"


@rule
def names(rendering):
    """What the API server asks for and a schema can't say."""
    for item in rendering.objects:
        if not re.fullmatch(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", item["metadata"]["name"]):
            yield f"{item['kind']}: the name {item['metadata']['name']!r}"
    keys = [(item["apiVersion"], item["kind"], item["metadata"]["name"]) for item in rendering.objects]
    yield from (f"twice: {key}" for key in set(keys) if keys.count(key) > 1)
    for pod in rendering.pods():
        ports = [port for _, port in pod.ports()]
        for what in ("name", "containerPort"):
            values = [port.get(what) for port in ports]
            yield from (f"{pod.name}: the port {value} twice" for value in set(values) if values.count(value) > 1)
        yield from (f"{pod.name}: the port's name {port.get('name')!r}" for port in ports
                    if not re.fullmatch(r"(?!.*--)[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?", port.get("name", "")))
    for service in rendering.of_kind("Service"):
        if len({port.get("name") for port in service["spec"]["ports"]}) != len(service["spec"]["ports"]):
            yield f"Service/{service['metadata']['name']}: ports without names of their own"


@rule
def settings(rendering):
    """The ConfigMap is mounted as a folder, Recast takes it and watches it."""
    for pod, container, found in proxies(rendering):
        name = f"{pod.name}.{container['name']}"
        if found is None:
            yield f"{name}: no ConfigMap has the file {container['args'][1]}"
            continue
        if complaint := found.check():
            yield f"{name}: {complaint}"
        if found.get("watch").lower() != "true":
            yield f"{name}: watch isn't on: a changed ConfigMap would not be read"
        mount, volume = pod.mount_of(container, container["args"][1])
        config = rendering.named("ConfigMap", volume["configMap"]["name"])
        if config.get("immutable"):
            yield f"{name}: its ConfigMap is immutable"
        if re.search(r"-[bcdfghkmt2456789]{10}$", config["metadata"]["name"]):
            yield f"{name}: its ConfigMap has a hash in its name, so a change is a rollout"


@rule
def mounts(rendering):
    """Each mount has its volume and each volume its use; nothing is mounted by subPath; what is named is there."""
    for pod in rendering.pods():
        volumes = {one["name"]: one for one in pod.spec.get("volumes", [])}
        mounted = [(container, mount) for container in pod.containers for mount in container.get("volumeMounts", [])]
        for container, mount in mounted:
            name = f"{pod.name}.{container['name']}: {mount['mountPath']}"
            if mount.get("subPath") or mount.get("subPathExpr"):
                yield f"{name}: a subPath never changes"
            if mount["name"] not in volumes:
                yield f"{name}: no volume {mount['name']}"
            elif not mount.get("readOnly") and "emptyDir" not in volumes[mount["name"]]:
                yield f"{name}: can be written"
        for unused in volumes.keys() - {mount["name"] for _, mount in mounted}:
            yield f"{pod.name}: nobody mounts {unused}"
        for volume in volumes.values():
            if "configMap" in volume and not rendering.named("ConfigMap", volume["configMap"]["name"]):
                yield f"{pod.name}: no ConfigMap {volume['configMap']['name']}"
            if "secret" in volume and not any(
                    one["spec"]["secretName"] == volume["secret"]["secretName"] for one in rendering.of_kind("Certificate")):
                yield f"{pod.name}: nobody makes the Secret {volume['secret']['secretName']}"
            if "emptyDir" in volume and "sizeLimit" not in volume["emptyDir"]:
                yield f"{pod.name}: the volume {volume['name']} has no limit"


@rule
def folders(rendering):
    """What Recast writes lies in an emptyDir, and what it reads of certificates in a Secret that it may read."""
    for pod, container, found in proxies(rendering):
        if found is None:
            continue  # said by `settings`
        name = f"{pod.name}.{container['name']}"
        socket = found.admin_socket()
        mount, volume = (socket and pod.mount_of(container, socket)) or (None, None)
        if not volume or volume.get("emptyDir", {}).get("medium") != "Memory":
            yield f"{name}: the admin socket isn't in an emptyDir in memory: {socket}"
        total = size(found.get("spool.total"))
        for spool in found.spools():
            mount, volume = pod.mount_of(container, spool.get("dir", "/tmp")) or (None, None)
            if not volume or "emptyDir" not in volume or mount.get("readOnly"):
                yield f"{name}: the spool {spool} isn't in an emptyDir"
            elif size(volume["emptyDir"].get("sizeLimit", 0)) <= total:
                yield f"{name}: the volume of the spool isn't larger than spool.total"
        for _, _, tls in found.listeners():
            for key in ("certificate", "key"):
                if not tls or key not in tls:
                    continue
                mount, volume = pod.mount_of(container, tls[key]) or (None, None)
                if not volume or "secret" not in volume:
                    yield f"{name}: {tls[key]} isn't in a Secret"
                    continue
                mode = volume["secret"].get("defaultMode", 0o644)
                group = pod.spec.get("securityContext", {}).get("fsGroup")
                if not mode & 0o004 and not (group == UID and mode & 0o040):
                    yield f"{name}: {tls[key]} can't be read by {UID}: mode {mode:o}, fsGroup {group}"


@rule
def listeners(rendering):
    """Ports of the container are those that the settings listen on, at all of the pod's addresses."""
    for pod, container, found in proxies(rendering):
        if found is None or not rendering.has_own_settings:
            continue
        name = f"{pod.name}.{container['name']}"
        heard = [(host, port) for host, port, _ in found.listeners()] + [found.port("status")]
        for host, port in heard:
            if host not in ("0.0.0.0", "::"):
                yield f"{name}: {host}:{port} is reached from inside the pod only"
        declared = {port["containerPort"] for port in container["ports"]}
        if declared != {port for _, port in heard}:
            yield f"{name}: declares {sorted(declared)}, listens on {heard}"


@rule
def probes(rendering):
    """Probes ask ports that there are; those of Recast ask the status port what it answers."""
    for pod in rendering.pods():
        for container in pod.sidecars + pod.spec["containers"]:
            ports = {value for port in container.get("ports", []) for value in (port.get("name"), port["containerPort"])}
            for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
                target = container.get(kind, {}).get("httpGet")
                if target and target["port"] not in ports:
                    yield f"{pod.name}.{container['name']}: the {kind} asks a port that isn't there: {target['port']}"
    for pod, container, found in proxies(rendering):
        status = found and found.port("status")[1]
        for kind, path in (("startupProbe", "/ready"), ("readinessProbe", "/ready"), ("livenessProbe", "/live")):
            target = container.get(kind, {}).get("httpGet", {})
            numbers = [port["containerPort"] for port in container["ports"]
                       if target.get("port") in (port.get("name"), port["containerPort"])]
            if (target.get("path"), numbers) != (path, [status]):
                yield f"{pod.name}.{container['name']}: the {kind} isn't {path} at the status port: {target}"


def sleep_of(container):
    return container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)


@rule
def grace(rendering):
    """The end fits: preStop, drain_delay and timeouts.grace into the pod's grace period, noticing into drain_delay."""
    for pod, container, found in proxies(rendering):
        if found is None:
            continue
        name, given = f"{pod.name}.{container['name']}", pod.spec.get("terminationGracePeriodSeconds", 30)
        delay = seconds(found.get("drain_delay"))
        taken = delay + seconds(found.get("timeouts.grace")) + ENDING
        readiness = container.get("readinessProbe", {})
        if readiness.get("periodSeconds", 10) * readiness.get("failureThreshold", 3) >= delay:
            yield f"{name}: who looks at /ready notices after drain_delay"
        if not is_sidecar(pod, container):
            if sleep_of(container) < 1:
                yield f"{name}: no preStop"
            if sleep_of(container) + taken >= given:
                yield f"{name}: the end takes {sleep_of(container)} + {taken} s, of {given}"
            continue
        # A sidecar gets SIGTERM when the app has ended. It drains before, by its hook, while the app's hook waits.
        hook = container.get("lifecycle", {}).get("preStop", {}).get("exec", {}).get("command")
        if hook != ["/usr/bin/recast", "probe", "--method", "POST", f"unix:{found.admin_socket()}", "/drain"]:
            yield f"{name}: its preStop isn't a drain: {hook}"
        for app in pod.spec["containers"]:
            if not taken <= sleep_of(app) < given:
                yield f"{pod.name}.{app['name']}: preStop waits {sleep_of(app)} s; Recast takes {taken}, the pod has {given}"


@rule
def sidecars(rendering):
    """A Recast among the init containers stays."""
    for pod in rendering.pods():
        for container in pod.spec.get("initContainers", []):
            if container in pod.proxies() and container.get("restartPolicy") != "Always":
                yield f"{pod.name}.{container['name']}: without restartPolicy: Always it keeps the app from starting"


def selectors(rendering):
    """(who, selector, what it may select: labels) of all but custom resources."""
    pods = [pod.labels for pod in rendering.pods()]
    for item in rendering.objects:
        spec, name = item.get("spec", {}), f"{item['kind']}/{item['metadata']['name']}"
        if item["kind"] == "Service":
            yield name, spec.get("selector", {}), pods
        elif item["kind"] == "NetworkPolicy":
            yield name, spec["podSelector"].get("matchLabels", {}), pods
        elif item["kind"] == "PodDisruptionBudget":
            yield name, spec["selector"].get("matchLabels", {}), pods
        elif item["kind"] in ("Deployment", "StatefulSet", "DaemonSet"):
            labels = spec["template"]["metadata"].get("labels", {})
            yield name, spec["selector"].get("matchLabels", {}), [labels]
            for one in spec["template"]["spec"].get("topologySpreadConstraints", []):
                yield f"{name} spread", one["labelSelector"].get("matchLabels", {}), [labels]
        elif item["kind"] == "ServiceMonitor":
            yield name, spec["selector"]["matchLabels"], [
                one["metadata"].get("labels", {}) for one in rendering.of_kind("Service")
                if {port["name"] for port in one["spec"]["ports"]} >= {end["port"] for end in spec["endpoints"]}]
        elif item["kind"] == "PodMonitor":
            yield name, spec["selector"]["matchLabels"], [
                pod.labels for pod in rendering.pods()
                if {port.get("name") for _, port in pod.ports()} >= {end["port"] for end in spec["podMetricsEndpoints"]}]


@rule
def selected(rendering):
    """Every selector takes something, none takes all; a monitor's port is there."""
    for name, selector, candidates in selectors(rendering):
        if not selector:
            yield f"{name}: an empty selector takes every pod of the namespace"
        elif not any(is_selected(selector, labels) for labels in candidates):
            yield f"{name}: nothing has {selector}"
    for scaler in rendering.of_kind("HorizontalPodAutoscaler"):
        target = scaler["spec"]["scaleTargetRef"]
        if not rendering.named(target["kind"], target["name"]):
            yield f"HorizontalPodAutoscaler: there is no {target}"


@rule
def services(rendering):
    """A Service's ports are open in each pod that it selects, and lead to Recast where there is one."""
    for service in rendering.of_kind("Service"):
        for pod in rendering.pods():
            if not is_selected(service["spec"].get("selector", {}), pod.labels):
                continue
            for port in service["spec"]["ports"]:
                name = f"Service/{service['metadata']['name']}:{port['port']}"
                found = pod.resolve(port.get("targetPort", port["port"]))
                if not found:
                    yield f"{name}: {pod.name} has no port {port.get('targetPort')} that a Service finds"
                elif pod.proxies() and found[0] not in pod.proxies():
                    yield f"{name}: goes past Recast to {found[0]['name']}"


@rule
def images(rendering):
    """One entry has the image's version: that of deploy/kubernetes/image."""
    entry, = kustomization(IMAGE)["images"]
    wanted = f"{entry.get('newName', entry['name'])}:{entry['newTag']}"
    for pod in rendering.pods():
        for container in pod.containers:
            if container["image"] != wanted:
                yield f"{pod.name}.{container['name']}: {container['image']} isn't {wanted}"


def written_images():
    """Files that write a version themselves."""
    for path, _, names_ in os.walk(DEPLOY):
        for name in names_:
            with open(os.path.join(path, name)) as file:
                text = re.sub(r"(^| )#.*", "", file.read(), flags=re.M)
            if path != IMAGE and re.search(r"newTag|newName|digest|image: *\S*[:@]", text):
                yield os.path.relpath(os.path.join(path, name), DEPLOY)


@rule
def resources(rendering):
    """Requests and limits are set, and hold what is mounted in memory and on disk."""
    for pod in rendering.pods():
        for container in pod.containers:
            name, given = f"{pod.name}.{container['name']}", container.get("resources", {})
            requests, limits = given.get("requests", {}), given.get("limits", {})
            wanted = {"cpu", "memory"}
            if not (wanted <= requests.keys() and "memory" in limits):
                yield f"{name}: resources {given}"
                continue
            if container in pod.proxies() and not {"cpu", "memory", "ephemeral-storage"} <= limits.keys():
                yield f"{name}: limits {limits}: without one of CPU there is a worker for each processor of the node"
            for key, parse in (("cpu", cores), ("memory", size), ("ephemeral-storage", size)):
                if key in requests and key in limits and parse(requests[key]) > parse(limits[key]):
                    yield f"{name}: requests more {key} than its limit"
            mounted = [pod.volume(mount["name"]) for mount in container.get("volumeMounts", [])]
            for key, medium in (("memory", "Memory"), ("ephemeral-storage", "")):
                held = sum(size(one["emptyDir"].get("sizeLimit", 0)) for one in mounted
                           if one and "emptyDir" in one and one["emptyDir"].get("medium", "") == medium)
                if held and held >= size(limits.get(key, 0)):
                    yield f"{name}: volumes of {held} bytes are more than its limit of {key}"


@rule
def availability(rendering):
    """A gateway survives a node and a zone."""
    for pod, container, _ in proxies(rendering):
        if is_sidecar(pod, container):
            continue
        name, labels = pod.workload["metadata"]["name"], pod.labels
        scaler = next((one for one in rendering.of_kind("HorizontalPodAutoscaler")
                       if one["spec"]["scaleTargetRef"]["name"] == name), {"spec": {}})["spec"]
        if scaler.get("minReplicas", 1) < 2 or scaler.get("maxReplicas", 0) <= scaler.get("minReplicas", 1):
            yield f"{pod.name}: no autoscaler of two and more"
        if scaler and "replicas" in pod.workload["spec"]:
            yield f"{pod.name}: replicas would undo what the autoscaler has set"
        budgets = [one["spec"] for one in rendering.of_kind("PodDisruptionBudget")
                   if is_selected(one["spec"]["selector"], labels)]
        if len(budgets) != 1 or budgets[0].get("maxUnavailable") not in range(1, scaler.get("minReplicas", 1)):
            yield f"{pod.name}: disruption budgets {budgets}"
        keys = {one["topologyKey"] for one in pod.spec.get("topologySpreadConstraints", [])}
        if keys != {"kubernetes.io/hostname", "topology.kubernetes.io/zone"}:
            yield f"{pod.name}: spread over {sorted(keys)}"
        update = pod.workload["spec"].get("strategy", {}).get("rollingUpdate", {})
        if update.get("maxUnavailable") != 0:
            yield f"{pod.name}: a rollout takes pods away before others serve"
