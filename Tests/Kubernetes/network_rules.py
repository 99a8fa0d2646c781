"""Rules about NetworkPolicies: what clients, the scraper and Recast need is let through, and nothing else comes in."""

from manifests import is_selected
from rules import is_sidecar, proxies, rule

MONITORING = "monitoring"  # the namespace of the scraper
DNS = "kube-system"
NAMESPACE = "kubernetes.io/metadata.name"


def policies(rendering, pod, direction):
    """The rules of all policies that hold for a pod; None where none does, so that all is let through."""
    found = [one["spec"] for one in rendering.of_kind("NetworkPolicy") if is_selected(one["spec"]["podSelector"], pod.labels)]
    found = [one for one in found if direction in one["policyTypes"]]
    if not found:
        return None
    return [one for spec in found for one in spec.get(direction.lower(), [])]


def has_port(one, protocol, number):
    return "ports" not in one or any(
        (port.get("protocol", "TCP"), port.get("port")) in ((protocol, number), (protocol, None)) for port in one["ports"])


def open_to_all(rules):
    """Ports that anybody reaches; None for all of them."""
    ports = set()
    for one in rules:
        if not one.get("from"):
            if "ports" not in one:
                return None
            ports |= {port.get("port") for port in one["ports"]}
    return ports


def lets(rules, side, protocol, number, namespace=None, labels=None):
    """Whether a peer in a namespace (None: the pod's own) with labels is let through."""
    for one in rules:
        if not has_port(one, protocol, number):
            continue
        if not one.get(side):
            return True
        for peer in one[side]:
            if peer.keys() - {"namespaceSelector", "podSelector"}:
                continue
            if "namespaceSelector" in peer:
                near = is_selected(peer["namespaceSelector"], {NAMESPACE: namespace or "the pod's own"})
            else:
                near = namespace is None
            # Labels that nobody here knows are the cluster's.
            if near and (labels is None or "podSelector" not in peer or is_selected(peer["podSelector"], labels)):
                return True
    return False


@rule
def ingress(rendering):
    """Clients reach what Services lead to, the scraper the status port, nobody anything else."""
    for pod, container, found in proxies(rendering):
        rules = policies(rendering, pod, "Ingress")
        if rules is None:
            yield f"{pod.name}: no NetworkPolicy for what comes in"
            continue
        status = found and found.port("status")[1]
        wanted = set()
        for service in rendering.of_kind("Service"):
            if is_selected(service["spec"].get("selector", {}), pod.labels):
                targets = [pod.resolve(port["targetPort"]) for port in service["spec"]["ports"]]
                wanted |= {target[1] for target in targets if target}
        if open_to_all(rules) != wanted - {status}:
            yield f"{pod.name}: clients reach {open_to_all(rules)}, the Services lead to {sorted(wanted)}"
        if not lets(rules, "from", "TCP", status, MONITORING):
            yield f"{pod.name}: the scraper doesn't reach {status}"
        if lets(rules, "from", "TCP", status, "elsewhere"):
            yield f"{pod.name}: anybody reaches {status}"


@rule
def egress(rendering):
    """Names can be looked up, and the settings' upstreams be called. Whether a sidecar's pod has bounds is the app's to say."""
    for pod, container, found in proxies(rendering):
        rules = policies(rendering, pod, "Egress")
        if rules is None:
            if not is_sidecar(pod, container):
                yield f"{pod.name}: no NetworkPolicy for what goes out"
            continue
        if any(not one.get("to") for one in rules):
            yield f"{pod.name}: everything may go out"
        for protocol in ("UDP", "TCP"):
            if not lets(rules, "to", protocol, 53, DNS):
                yield f"{pod.name}: no look-ups by {protocol}"
        for host, port in found.upstream_addresses() if found else ():
            if host in ("127.0.0.1", "::1", "localhost"):
                continue
            name, _, rest = host.partition(".")
            namespace = rest.partition(".")[0] or None
            service = rendering.named("Service", name) if namespace is None else None
            targets = [(port, None)]
            if service:
                behind = [other for other in rendering.pods() if is_selected(service["spec"]["selector"], other.labels)]
                targets = [(other.resolve(one["targetPort"])[1], other.labels)
                           for one in service["spec"]["ports"] if one["port"] == port for other in behind]
                if not targets:
                    yield f"{pod.name}: the Service {name} has no port {port}"
            elif namespace is None:
                continue  # a Service that another kustomization brings: only that one knows the pods' port
            for number, labels in targets:
                if not lets(rules, "to", "TCP", number, namespace, labels):
                    yield f"{pod.name}: {host}:{port} can't be called: {number} of its pods isn't let through"
