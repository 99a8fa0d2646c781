"""What a run prints and writes: tables as text and as Markdown."""

import os
import textwrap

import cases
import figures

COST = [("CPU us/request", "cpu_us_per_request", "{:.2f}"), ("x HAProxy", "cpu_us_per_request ratio", "{:.2f}")]
REQUESTS = [*COST, ("requests/s", "requests_per_s", "{:.0f}"), ("p50 us", "p50_us", "{:.0f}"), ("p99 us", "p99_us", "{:.0f}"),
            ("core busy", "core_share", "{:.0%}"), ("of it Recast's us", "asked_cpu_us_per_request", "{:.2f}"),
            ("beside Envoy's", "asked_ratio", "{:.2f}"), ("instructions/request", "instructions_per_request", "{:.0f}"),
            ("peak MiB", "peak_mib", "{:.1f}")]
UPLOADS = [("CPU s/GiB", "cpu_s_per_gib", "{:.3f}"), ("x HAProxy", "cpu_s_per_gib ratio", "{:.2f}"),
           ("s/GiB", "seconds_per_gib", "{:.2f}"), ("peak MiB", "peak_mib", "{:.1f}"),
           ("of it Recast's s", "asked_cpu_s_per_gib", "{:.3f}"), ("its peak MiB", "asked_peak_mib", "{:.1f}")]
HALF = [("requests/s", "rate", "{:.0f}"), ("p50 us", "p50_us", "{:.0f}"), ("p99 us", "p99_us", "{:.0f}"),
        ("p99 x HAProxy", "p99_us ratio", "{:.2f}"), ("p99.9 us", "p999_us", "{:.0f}"),
        ("client late p99 us", "client_lag_p99_us", "{:.0f}"), *COST]
TABLES = {
    **{name: (load.title, REQUESTS) for name, load in cases.REQUESTS.items()},
    "half": ("Small requests at half load: a constant rate, latencies from when each request was due", HALF),
    "upload": ("Upload of one large file", UPLOADS),
    "upload-h2": ("Upload of one large file over HTTP/2", UPLOADS),
    "idle": ("Idle connections", [
        ("connections", "connections", "{:.0f}"), ("bytes each", "bytes_per_connection", "{:.0f}"),
        ("floor MiB", "floor_mib", "{:.1f}"), ("of it anonymous", "floor_anonymous_mib", "{:.1f}"),
        ("with them MiB", "resident_after_mib", "{:.1f}")]),
    "memory": ("Idle connections and 100 multipart uploads at once", [
        ("idle", "idle", "{:.0f}"), ("uploads", "uploads", "{:.0f}"), ("MiB each", "upload_mib", "{:.0f}"),
        ("seconds", "seconds", "{:.1f}"), ("peak MiB", "peak_mib", "{:.1f}")]),
    "start": ("From start to the first answer", [
        ("ms", "start_ms", "{:.1f}"), ("slowest ms", "slowest_start_ms", "{:.1f}"), ("starts", "starts", "{:.0f}")]),
    "routes": ("Many routes", REQUESTS),
    "workers": ("Two workers", [*REQUESTS, ("at requests/s", "rate", "{:.0f}")]),
}


def add_ratios(results):
    """To each case its ratio to HAProxy, taken within rounds."""
    for result in results.values():
        base = result.get(cases.BASE, {})
        for name, case in result.items():
            for key in ("cpu_us_per_request", "cpu_s_per_gib", "p99_us"):
                if key in case and key in base and "rounds" in case and "rounds" in base:
                    case[f"{key} ratio"] = figures.ratio(result, name, (cases.BASE,), key)


def table(load, result):
    """The head and the rows of a load's table, without columns that nothing was measured for."""
    columns = [column for column in TABLES[load][1] if any(column[1] in case for case in result.values())]
    yield ["", *(head for head, _, _ in columns)], ""
    for name, case in result.items():
        why = case.get("missing") or case.get("note") or case.get("failed")
        word = next((word for word in ("missing", "failed") if word in case), "")
        yield ([name, *(form.format(case[key]) if key in case else "-" for _, key, form in columns)],
               textwrap.shorten(f"{word}: {why}" if word else why or "", 200, placeholder=" ..."))


def bound_lines(checked):
    for entry in checked:
        word = {"holds": "holds", "missed": "MISSED", "not measured": "not measured"}[entry["state"]]
        value = f" is {entry['value']:.3g}" if "value" in entry else ""
        why = f" ({entry['why']})" if "why" in entry else ""
        yield word, f"{entry['bound']}{value and ':' + value}{why}"


def print_tables(results, checked):
    for load, result in results.items():
        print(f"\n{load}: {TABLES[load][0]}")
        lines = list(table(load, result))
        widths = [max(len(cells[index]) for cells, _ in lines) for index in range(len(lines[0][0]))]
        for cells, why in lines:
            numbers = "" if why else "".join("  " + cell.rjust(width) for cell, width in zip(cells[1:], widths[1:]))
            print(f"  {cells[0].ljust(widths[0])}{numbers}{'  ' + why if why else ''}".rstrip())
    if checked:
        print("\nBounds")
    for word, text in bound_lines(checked):
        print(f"  {word:12s}  {text}")


def markdown_table(lines):
    head = lines[0][0]
    yield "| " + " | ".join(head) + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    for cells, why in lines[1:]:
        name = f"**{cells[0]}**" if cells[0].startswith("recast") else cells[0]
        yield f"| {name} | " + (why + " |" * (len(head) - 1) if why else " | ".join(cells[1:]) + " |")


def overview(results):
    """One table of what matters most, for the README: the small requests, half load and the connections of each peer."""
    small, half, idle = results.get("small", {}), results.get("half", {}), results.get("idle", {})
    columns = [("CPU us/request", small, "cpu_us_per_request", "{:.1f}"),
               ("x HAProxy", small, "cpu_us_per_request ratio", "{:.2f}"),
               ("p99 us at half load", half, "p99_us", "{:.0f}"), ("KiB an idle connection", idle, "bytes_per_connection", None)]
    yield ["200 bytes", *(head for head, *_ in columns)], ""
    for name, case in small.items():
        if any(word in case for word in ("missing", "failed")):
            yield [name], next(why for cells, why in table("small", small) if cells[0] == name)
            continue
        cells = [name]
        for _, result, key, form in columns:
            of = result.get(name.split()[0] if result is idle else name, {})
            text = "-" if key not in of else form.format(of[key]) if form else f"{of[key] / 1024:.1f}"
            cells.append("too slow" if result is half and "note" in of else text)
        yield cells, ""


def overview_of_documents(results):
    """The same for 16 KiB of JSON: each dialect's cost beside what forwarding costs."""
    columns = [("CPU us/request", "cpu_us_per_request", "{:.1f}"), COST[1]]
    yield ["16 KiB of JSON", *(head for head, *_ in columns)], ""
    for name, case in results["medium"].items():
        if name.startswith(("recast", "haproxy")) and "rounds" in case:
            yield [name, *(form.format(case[key]) if key in case else "-" for _, key, form in columns)], ""


def markdown(report):
    about, results = report["machine"], report["results"]
    yield "# Results"
    yield ""
    yield f"{about['date']}, commit {about['commit']}, {about['cpu']}, {about['cores']} cores, Linux {about['kernel']}. "\
          f"Load average at the start: {about['load_average_at_start'][0]:.2f}. {about['instructions']}."
    yield ""
    yield "; ".join(f"{name}: {version}" for name, version in report["versions"].items()) + "."
    for name, why in report["missing"].items():
        yield f"Missing: {name}: {why}."
    yield "[docs/benchmarks.md](../docs/benchmarks.md) says how to read this."
    if results.get("small"):
        yield ""
        yield from markdown_table(list(overview(results)))
    if results.get("medium"):
        yield ""
        yield from markdown_table(list(overview_of_documents(results)))
    for plot in report["plots"]:
        yield ""
        yield f"![{plot['title']}]({plot['file']})"
    for load, result in results.items():
        yield ""
        yield f"## {TABLES[load][0]}"
        yield ""
        yield from markdown_table(list(table(load, result)))
    if report["bounds"]:
        yield ""
        yield "## Bounds"
        yield ""
        for word, text in bound_lines(report["bounds"]):
            yield f"- {word}: {text}"


def write(path, lines):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write("\n".join(lines) + "\n")
