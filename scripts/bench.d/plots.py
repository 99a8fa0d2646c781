"""The plots of a run, as SVG. scripts/bench calls this file with a Python that has matplotlib: plots.py RESULTS.json"""

import json
import math
import os
import subprocess
import sys
import textwrap

HERE = os.path.dirname(os.path.abspath(__file__))
VENV = os.path.join(os.path.dirname(os.path.dirname(HERE)), ".build_bench", "bin", "python3")
OWN, OTHER, GRID, TEXT, QUIET = "#d9480f", "#98a2b3", "#e4e7ec", "#1d2939", "#667085"
LINES = {"recast": OWN, "haproxy": "#1971c2", "nginx": "#2f9e44", "envoy": "#9c36b5", "caddy": "#868e96"}


def draw_elsewhere(path):
    """Draws with the first Python that has matplotlib; what was drawn, or nothing, with a line that says why."""
    for python in (sys.executable, VENV, "/usr/bin/python3"):
        if not os.access(python, os.X_OK):
            continue
        if subprocess.run([python, "-c", "import matplotlib"], capture_output=True).returncode == 0:
            result = subprocess.run([python, "-B", os.path.abspath(__file__), path], capture_output=True, text=True)
            if result.returncode:
                print(f"bench: no plots: {result.stderr.strip()[-2000:]}", file=sys.stderr)
                return []
            return json.loads(result.stdout)
    print("bench: no plots: matplotlib is missing; run: scripts/dependencies bench", file=sys.stderr)
    return []


def figure(height):
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({
        # The same figures make the same file, which looks the same everywhere: no random ids, no date, and texts as outlines
        # of the font that comes with matplotlib.
        "svg.hashsalt": "recast", "svg.fonttype": "path", "font.family": "DejaVu Sans", "font.size": 10,
        "text.color": TEXT, "axes.labelcolor": QUIET, "xtick.color": QUIET, "ytick.color": TEXT})
    import matplotlib.pyplot as pyplot
    return pyplot.subplots(figsize=(8, height), layout="constrained")


def finish(drawing, axes, title, path):
    axes.set_title(title, loc="left", fontsize=13, fontweight="bold", pad=12)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(GRID)
    axes.tick_params(length=0)
    axes.set_axisbelow(True)
    drawing.savefig(path, metadata={"Date": None, "Creator": None}, facecolor="white")


def label(name):
    """`nginx-lua form -> json` as a person writes it."""
    words = {"recast": "Recast", "haproxy": "HAProxy", "envoy": "Envoy", "caddy": "Caddy", "nginx-lua": "nginx + Lua",
             "nginx-njs": "nginx + njs", "envoy-lua": "Envoy + Lua", "json": "JSON"}
    return " ".join(words.get(word.rstrip(","), word) for word in name.split()).replace("->", "\N{RIGHTWARDS ARROW}")


def bars(cases, key, unit, title, path, form="{:.1f}"):
    """Horizontal bars, the least first, Recast's in its colour; what was not measured is named below."""
    known = sorted(((case[key], name) for name, case in cases.items() if key in case), reverse=True)
    absent = [label(name) for name, case in cases.items() if key not in case]
    drawing, axes = figure(1.5 + 0.36 * len(known))
    most = known[0][0]
    axes.barh(range(len(known)), [value for value, _ in known], height=0.68,
              color=[OWN if name.startswith("recast") else OTHER for _, name in known])
    axes.set_yticks(range(len(known)), [label(name) for _, name in known])
    for tick, (_, name) in zip(axes.get_yticklabels(), known):
        tick.set_fontweight("bold" if name.startswith("recast") else "normal")
    for index, (value, _) in enumerate(known):
        axes.text(value + most * 0.01, index, form.format(value), va="center", color=TEXT, fontsize=9)
    axes.set_xlim(0, most * 1.1)
    axes.grid(axis="x", color=GRID)
    axes.set_xlabel(described(unit, absent, "not measured"))
    finish(drawing, axes, title, path)


def end_labels(axes, ends, least):
    """Names at the ends of lines, `least` apart in the axes' height, so that none covers another and none leaves it."""
    low, high = axes.get_ylim()
    if axes.get_yscale() == "log":
        places = [math.log(value / low) / math.log(high / low) for value, *_ in sorted(ends)]
    else:
        places = [(value - low) / (high - low) for value, *_ in sorted(ends)]
    for index in range(1, len(places)):
        places[index] = max(places[index], places[index - 1] + least)
    above = 1.0
    for index in reversed(range(len(places))):
        places[index] = min(places[index], above)
        above = places[index] - least
    for place, (_, x, text, colour, weight) in zip(places, sorted(ends)):
        axes.annotate(text, (x, place), xycoords=("data", "axes fraction"), xytext=(6, 0), textcoords="offset points",
                      va="center", color=colour, fontweight=weight, fontsize=9, annotation_clip=False)


def described(axis, absent, why):
    """The text below an axis, with the names of what the plot lacks."""
    return axis + ("\n" + textwrap.fill(f"{why}: {', '.join(absent)}", 92) if absent else "")


def latencies(cases, path):
    """Latency over percentiles: the further right, the rarer."""
    drawing, axes = figure(4.6)
    known = {name: case for name, case in cases.items() if "percentiles" in case}
    shares = ["50", "75", "90", "95", "98", "99", "99.5", "99.8", "99.9"]
    ends, rate = [], 0
    for name, case in known.items():
        rate = case["rate"]
        peer = name.split()[0]
        style = "-." if peer == "nginx-njs" else "-" if "->" in name else "--"
        colour = LINES.get(peer.split("-")[0], OTHER)
        values = [max(1, case["percentiles"][share]) for share in shares]
        weight = "bold" if peer == "recast" else "normal"
        axes.plot(range(len(shares)), values, color=colour, linewidth=2.6 if peer == "recast" else 1.5,
                  linestyle=style, zorder=3 if peer == "recast" else 2)
        ends.append((values[-1], len(shares) - 1, label(name), colour, weight))
    axes.set_yscale("log")
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_xticks(range(len(shares)), [f"p{share}" for share in shares])
    axes.set_ylabel("latency, µs")
    axes.grid(axis="y", color=GRID)
    end_labels(axes, ends, 0.055)
    slow = [label(name) for name, case in cases.items() if name not in known]
    axes.set_xlabel(described("share of requests that were answered sooner", slow, "not measured at this rate"))
    finish(drawing, axes, f"Latency at half load: {rate:,.0f} requests a second, 200 bytes", path)


def connections(cases, path):
    drawing, axes = figure(4.2)
    ends = []
    for name, case in cases.items():
        if "curve" in case:
            counts, values = zip(*case["curve"])
            colour = LINES.get(name, OTHER)
            weight = "bold" if name == "recast" else "normal"
            axes.plot(counts, values, color=colour, linewidth=2.6 if name == "recast" else 1.5)
            ends.append((values[-1], counts[-1], label(name), colour, weight))
    axes.set_ylim(bottom=0)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axes.set_ylabel("resident memory, MiB")
    axes.set_xlabel("idle keep-alive connections, each after one request")
    axes.grid(axis="y", color=GRID)
    end_labels(axes, ends, 0.06)
    finish(drawing, axes, "Memory over idle connections", path)


def draw(path):
    with open(path) as file:
        results = json.load(file)["results"]
    folder, drawn = os.path.dirname(path), []

    def add(load, key, name, title, draw_one):
        if any(key in case for case in results.get(load, {}).values()):
            draw_one(results[load], os.path.join(folder, name))
            drawn.append({"file": name, "title": title})

    def bar(load, key, name, unit, title, form="{:.1f}"):
        add(load, key, name, title, lambda cases, to: bars(cases, key, unit, title, to, form))

    cpu = "CPU time of the proxy, µs a request"
    bar("small", "cpu_us_per_request", "small.svg", cpu, "CPU per request of 200 bytes")
    bar("medium", "cpu_us_per_request", "medium.svg", cpu, "CPU per request of 16 KiB of nested JSON")
    bar("tls", "cpu_us_per_request", "tls.svg", cpu, "CPU per request of 200 bytes over TLS 1.3")
    bar("tls-new", "cpu_us_per_request", "tls-new.svg", cpu, "CPU per request with a full TLS handshake", "{:.0f}")
    bar("upload", "cpu_s_per_gib", "upload.svg", "CPU time of the proxy, s a GiB sent", "CPU per GiB of an upload", "{:.2f}")
    bar("upload", "peak_mib", "upload-memory.svg", "peak resident memory, MiB", "Memory during an upload")
    add("half", "percentiles", "latency.svg", "Latency at half load", latencies)
    add("idle", "curve", "idle.svg", "Memory over idle connections", connections)
    return drawn


if __name__ == "__main__":
    print(json.dumps(draw(os.path.abspath(sys.argv[1]))))
