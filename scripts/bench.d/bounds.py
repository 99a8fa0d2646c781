"""What Recast is to reach."""

from cases import BASE, MANY_ROUTES, ONE_PACED, ONE_ROUTE, ONE_WORKER, START, TWO_PACED, TWO_WORKERS
from figures import Bound

CPU, PER_GIB, PEAK = "cpu_us_per_request", "cpu_s_per_gib", "peak_mib"
# What Recast spends where Envoy asks it, beside what Envoy itself spends.
BESIDE = "asked_ratio"
FORM_JSON = "recast form -> json"


def against(load, case, figure, limit, *bases):
    return Bound(load, case, figure, limit, bases or (BASE,), "ratio")


BOUNDS = [
    against("small", FORM_JSON, CPU, 0.9),
    against("small", FORM_JSON, CPU, 0.75, "nginx-lua form -> json"),
    against("small", FORM_JSON, CPU, 0.2, "envoy-lua form -> json"),
    against("small", "envoy-recast form -> json", CPU, 1.5, "envoy-lua form -> json"),
    # 30 us where Envoy spends 140.
    Bound("small", "envoy-recast form -> json", BESIDE, 0.21),
    against("forms", "envoy-recast form -> json", CPU, 1.0, "envoy-lua form -> json"),
    against("small", "recast plain", CPU, 0.8),
    against("half", FORM_JSON, "p99_us", 1.1),
    against("many", FORM_JSON, CPU, 1.0),
    # HAProxy itself spends 1.1 and 1.26 on forwarding what these become.
    against("medium", "recast json -> form", CPU, 1.25),
    against("medium", "recast json -> multipart", CPU, 1.35),
    against("new", FORM_JSON, CPU, 1.0),
    against("h2", FORM_JSON, CPU, 1.0),
    against("h2-streams", FORM_JSON, CPU, 1.0),
    against("h2-tls", FORM_JSON, CPU, 1.0),
    against("tls", FORM_JSON, CPU, 1.0),
    against("tls-new", FORM_JSON, CPU, 1.0),
    against("tls-resumed", FORM_JSON, CPU, 1.0),
    against("upload", "recast multipart -> multipart", PER_GIB, 1.0, BASE, "envoy plain"),
    Bound("upload", "recast multipart -> multipart", PEAK, 24),
    against("upload", "recast multipart -> json base64", PER_GIB, 1.8),
    Bound("upload", "recast multipart -> json base64", PEAK, 24),
    against("upload", "recast json base64 -> multipart", PER_GIB, 1.8),
    Bound("upload", "recast json base64 -> multipart", PEAK, 24),
    Bound("upload", "envoy-recast multipart -> multipart", "asked_peak_mib", 24),
    against("upload-h2", "recast plain", PER_GIB, 1.2),
    against("upload-h2", "recast plain", "seconds_per_gib", 1.2),
    against("upload-h2", "recast multipart -> multipart", "seconds_per_gib", 1.2),
    against("upload-h2", "recast multipart -> multipart", PER_GIB, 1.2),
    # 24 MiB and the window of the connection.
    Bound("upload-h2", "recast plain", PEAK, 25),
    Bound("upload-h2", "recast multipart -> multipart", PEAK, 25),
    Bound("idle", "recast", "bytes_per_connection", 1024),
    Bound("idle", "recast", "floor_mib", 10),
    Bound("memory", "recast", PEAK, 128),
    Bound("memory", "recast, slow upstream", PEAK, 128),
    Bound("start", START, "start_ms", 15),
    Bound("routes", MANY_ROUTES, CPU, 1, (ONE_ROUTE,), "difference"),
    Bound("workers", TWO_WORKERS, "requests_per_s", 1.8, (ONE_WORKER,), "ratio", is_least=True),
    # Twice the cores do 1.8 times the requests where a request costs at most 2 / 1.8 of what it costs with one.
    Bound("workers", TWO_PACED, CPU, 1.11, (ONE_PACED,), "ratio"),
]
