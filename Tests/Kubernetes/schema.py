"""The schema of each object: Kubernetes' own for its kinds, strictly, and shapes written down here for the custom ones."""

import re

import kubernetes_validate

# The oldest version that the manifests promise to work with, and the newest that there is a schema of.
VERSIONS = ("1.30", "1.37")


class Any:
    """A value of a type that is checked by a pattern, where it has one."""

    def __init__(self, kind, pattern=None):
        self.kind, self.pattern = kind, pattern


class Optional:
    def __init__(self, shape):
        self.shape = shape


NAME = Any(str, r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?")
LABEL = Any(str, r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?)?")
DURATION = Any(str, r"(\d+(ms|s|m|h))+")
LABELS = {Any: LABEL}
METADATA = {"name": NAME, "namespace": Optional(NAME), "labels": Optional(LABELS), "annotations": Optional({Any: Any(str)})}
SELECTOR = {"matchLabels": LABELS}
SCRAPED = {"port": Any(str, r"[a-z0-9]([a-z0-9-]{0,13}[a-z0-9])?"), "path": Any(str, "/.*"), "interval": Optional(DURATION),
           "scrapeTimeout": Optional(DURATION), "scheme": Optional(Any(str, "https?")), "honorLabels": Any(bool)}
# Where a monitor looks for what it selects: its own namespace without it.
NAMESPACES = {"any": Any(bool)}
USAGES = "|".join(("digital signature", "key encipherment", "server auth", "client auth"))

METHOD = Any(str, "GET|POST|PUT|PATCH|DELETE")
QUANTITY = Any(str, r"\d+[KMG]i")
BODY_MODE = Any(str, "FullDuplexStreamed")  # the one in which bodies stream through Recast, docs/ext-proc.md
TARGET = {"group": Any(str, r"|gateway\.networking\.k8s\.io"), "kind": Any(str, "Gateway|HTTPRoute|Service"), "name": NAME}

# By apiVersion and kind: each key that the manifests may use of it, and what it holds.
CUSTOM = {
    ("cert-manager.io/v1", "Certificate"): {
        "secretName": NAME,
        "dnsNames": [Any(str, r"(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?")],
        "issuerRef": {"name": NAME, "kind": Any(str, "Issuer|ClusterIssuer"), "group": Any(str, r"cert-manager\.io")},
        "usages": [Any(str, USAGES)],
        "duration": Optional(DURATION),
        "renewBefore": Optional(DURATION),
        "privateKey": {"algorithm": Any(str, "RSA|ECDSA|Ed25519"), "size": Optional(Any(int)),
                       "rotationPolicy": Any(str, "Always|Never")},
    },
    ("gateway.networking.k8s.io/v1", "HTTPRoute"): {
        "parentRefs": [{"name": NAME, "namespace": Optional(NAME)}],
        "hostnames": Optional([Any(str, r"(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?")]),
        "rules": [{"matches": [{"path": {"type": Any(str, "Exact|PathPrefix"), "value": Any(str, "/.*")}, "method": Optional(METHOD)}],
                   "backendRefs": [{"name": NAME, "port": Any(int)}]}],
    },
    ("gateway.envoyproxy.io/v1alpha1", "EnvoyExtensionPolicy"): {
        "targetRefs": [TARGET],
        "extProc": [{
            "backendRefs": [{"name": NAME, "port": Any(int)}],
            "processingMode": {"request": {"body": BODY_MODE}, "response": {"body": BODY_MODE}},
            "failOpen": Any(bool),
            "statusOnError": Any(int),
            "backendSettings": {
                "circuitBreaker": {"maxParallelRequests": Any(int)},
                "connection": {"bufferLimit": QUANTITY},
                "http2": {"initialStreamWindowSize": QUANTITY, "initialConnectionWindowSize": QUANTITY},
                "healthCheck": {"active": {"type": Any(str, "GRPC"), "grpc": {}, "interval": DURATION, "timeout": DURATION,
                                           "unhealthyThreshold": Any(int), "healthyThreshold": Any(int)}},
            },
        }],
    },
    ("networking.istio.io/v1", "VirtualService"): {
        "hosts": [Any(str)], "gateways": [NAME],
        "http": [{"name": NAME, "match": Optional([{"uri": {"exact": Any(str, "/.*")}, "method": {"exact": METHOD}}]),
                  "route": [{"destination": {"host": NAME, "port": {"number": Any(int)}}}]}],
    },
    ("networking.istio.io/v1", "DestinationRule"): {
        "host": NAME, "trafficPolicy": {"connectionPool": {"http": {"http2MaxRequests": Any(int)}}}},
    # What a patch writes is Envoy's, and compared with config/envoy/envoy.yaml, which Envoy itself reads.
    ("networking.istio.io/v1alpha3", "EnvoyFilter"): {
        "workloadSelector": {"labels": LABELS},
        "configPatches": [{"applyTo": Any(str, "HTTP_FILTER|HTTP_ROUTE"), "match": Any(dict),
                           "patch": {"operation": Any(str, "INSERT_BEFORE|MERGE"), "value": Any(dict)}}],
    },
    ("networking.gke.io/v1", "HealthCheckPolicy"): {
        "targetRef": TARGET,
        "default": {"checkIntervalSec": Any(int), "timeoutSec": Any(int), "healthyThreshold": Any(int), "unhealthyThreshold": Any(int),
                    "config": {"type": Any(str, "HTTP"), "httpHealthCheck": {
                        "portSpecification": Any(str, "USE_FIXED_PORT"), "port": Any(int), "requestPath": Any(str, "/.*")}}},
    },
    ("networking.gke.io/v1", "GCPTrafficExtension"): {
        "targetRefs": [TARGET],
        "extensionChains": [{
            "name": NAME, "matchCondition": {"celExpressions": [{"celMatcher": Any(str)}]},
            "extensions": [{
                "name": NAME, "backendRef": {"group": Any(str, ""), "kind": Any(str, "Service"), "name": NAME, "port": Any(int)},
                "authority": NAME, "timeout": DURATION, "failOpen": Any(bool), "requestBodySendMode": BODY_MODE,
                "responseBodySendMode": BODY_MODE, "supportedEvents": [Any(str, "(Request|Response)(Headers|Body|Trailers)")]}],
        }],
    },
    ("monitoring.coreos.com/v1", "ServiceMonitor"): {"selector": SELECTOR, "endpoints": [SCRAPED]},
    ("monitoring.coreos.com/v1", "PodMonitor"): {
        "namespaceSelector": Optional(NAMESPACES), "selector": SELECTOR, "podMetricsEndpoints": [SCRAPED]},
}


def differences(value, shape, path=""):
    """Where a value isn't as its shape says."""
    if isinstance(shape, Optional):
        shape = shape.shape
    if isinstance(shape, Any):
        if type(value) is not shape.kind:
            yield f"{path}: {value!r} is no {shape.kind.__name__}"
        elif shape.pattern and not re.fullmatch(shape.pattern, value):
            yield f"{path}: {value!r} doesn't look like {shape.pattern}"
    elif isinstance(shape, list):
        if not isinstance(value, list) or not value:
            yield f"{path}: {value!r} is no list of at least one"
        else:
            for index, one in enumerate(value):
                yield from differences(one, shape[0], f"{path}[{index}]")
    elif not isinstance(value, dict):
        yield f"{path}: {value!r} is no mapping"
    elif Any in shape:
        for key, one in value.items():
            yield from differences(one, shape[Any], f"{path}.{key}")
    else:
        for key in value.keys() - shape.keys():
            yield f"{path}.{key}: there is no such key"
        for key, inner in shape.items():
            if key in value:
                yield from differences(value[key], inner, f"{path}.{key}")
            elif not isinstance(inner, Optional):
                yield f"{path}.{key} is missing"


def complaints(item):
    """What is wrong with an object's shape."""
    label = f"{item.get('kind')}/{item.get('metadata', {}).get('name')}"
    shape = CUSTOM.get((item["apiVersion"], item["kind"]))
    if shape:
        whole = {"apiVersion": Any(str), "kind": Any(str), "metadata": METADATA, "spec": shape}
        yield from (f"{label}{text}" for text in differences(item, whole))
        return
    for version in VERSIONS:
        try:
            used = kubernetes_validate.validate(item, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            place = ".".join(str(one) for one in error.path)
            yield f"{label} in {version}: {place}: {error.message[:300]}"
        except kubernetes_validate.SchemaNotFoundError as error:
            yield f"{label} in {version}: {error.message}"
        else:
            if used != version:
                yield f"there is no schema of version {version}, only of {used}"
