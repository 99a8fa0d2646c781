"""Rules about external processing: who asks Recast reaches it, in the mode and for the paths that its settings serve."""

import os
import re

import yaml

from manifests import ROOT
from rules import proxies, rule

EXT_PROC = "envoy.filters.http.ext_proc"
EVENTS = {side + what for side in ("Request", "Response") for what in ("Headers", "Body", "Trailers")}
# What a Service says of its port, and whether TLS is spoken there.
PROTOCOLS = {"kubernetes.io/h2c": False, "HTTP2": True}


def askers(rendering):
    """(kind, Service, port, namespace or None, [what is wrong with the mode]) of each object that has a data plane ask Recast."""
    for item in rendering.of_kind("EnvoyExtensionPolicy"):
        for one in item["spec"]["extProc"]:
            wrong = ["failOpen"] if one["failOpen"] else []
            yield item, one["backendRefs"][0]["name"], one["backendRefs"][0]["port"], None, wrong
    for item in rendering.of_kind("GCPTrafficExtension"):
        for chain in item["spec"]["extensionChains"]:
            for one in chain["extensions"]:
                wrong = (["failOpen"] if one["failOpen"] else []) + sorted(EVENTS - set(one["supportedEvents"]))
                yield item, one["backendRef"]["name"], one["backendRef"]["port"], None, wrong
    for item in rendering.of_kind("EnvoyFilter"):
        for config in filters(item):
            name = config["grpc_service"]["envoy_grpc"]["cluster_name"]
            found = re.fullmatch(r"outbound\|(\d+)\|\|([a-z0-9-]+)\.([a-z0-9-]+)\.svc\.cluster\.local", name)
            with open(os.path.join(ROOT, "config", "envoy", "envoy.yaml")) as file:
                known = next(filters(yaml.safe_load(file)))
            wrong = [key for key in known.keys() | config.keys() if key != "grpc_service" and known.get(key) != config.get(key)]
            yield item, found[2], int(found[1]), found[3], wrong


def filters(value):
    """The settings of each filter of external processing, however deep."""
    if isinstance(value, dict):
        if value.get("name") == EXT_PROC and "typed_config" in value:
            yield value["typed_config"]
        for inner in value.values():
            yield from filters(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from filters(inner)


def paths(rendering):
    """The paths that data planes send through Recast."""
    for item in rendering.of_kind("HTTPRoute"):
        yield from (match["path"]["value"] for one in item["spec"]["rules"] for match in one["matches"])
    for item in rendering.of_kind("VirtualService"):
        yield from (match["uri"]["exact"] for one in item["spec"]["http"] for match in one.get("match", []))
    for item in rendering.of_kind("GCPTrafficExtension"):
        for chain in item["spec"]["extensionChains"]:
            for one in chain["matchCondition"]["celExpressions"]:
                yield from re.findall(r'request\.path == "([^"]+)"', one["celMatcher"])


@rule
def processing(rendering):
    """The Service and the port that a data plane asks are there, lead to a listener that serves it, and the mode is one that converts
    or fails, never one that lets a body pass under a wrong type."""
    for item, name, number, namespace, wrong in askers(rendering):
        label = f"{item['kind']}/{item['metadata']['name']}"
        yield from (f"{label}: {one}" for one in wrong)
        if namespace not in (None, item["metadata"]["namespace"]):
            yield f"{label}: asks in another namespace, {namespace}"
        service = rendering.named("Service", name)
        port = next((one for one in (service or {"spec": {"ports": []}})["spec"]["ports"] if one["port"] == number), None)
        if not port:
            yield f"{label}: there is no {name}:{number}"
            continue
        for pod, _, found in proxies(rendering):
            served = found.processors() if found else {}
            target = pod.resolve(port["targetPort"])
            if not target or target[1] not in served:
                yield f"{label}: {name}:{number} leads to no listener that serves ext_proc: {served}"
            elif served[target[1]] != PROTOCOLS.get(port.get("appProtocol")):
                yield f"{label}: {name}:{number} says {port.get('appProtocol')}, the listener has {'' if served[target[1]] else 'no '}TLS"


@rule
def processed(rendering):
    """Each path that is sent through Recast has a route there, and each route is sent something."""
    if not list(askers(rendering)):
        return
    for pod, _, found in proxies(rendering):
        routes = {route["match"]["path"] for route in found.value["routes"]} if found else set()
        if routes != set(paths(rendering)):
            yield f"{pod.name}: routes for {sorted(routes)}, sent are {sorted(set(paths(rendering)))}"
