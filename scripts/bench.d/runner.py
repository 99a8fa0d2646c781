"""One run: starts the peers, puts each through the loads in turn, and keeps what failed beside what was measured."""

import os
import shutil
import subprocess
import tempfile

import bodies
import cases
import clients
import figures
import loads
import memory
import proxies
from processes import BenchError, Server, counts_instructions, free_port, raise_file_limit

HERE = os.path.dirname(os.path.abspath(__file__))
# What makes the measurement of one peer void; the others go on.
FAILURES = (BenchError, OSError, subprocess.SubprocessError)


class Run:
    def __init__(self, options, recast):
        self.options, self.recast = options, recast
        self.names = options.peers.split(",")
        self.peers = {name: proxies.Recast(recast) if name == "recast" else proxies.PEERS[name]() for name in self.names}
        self.missing, self.servers, self.results = {}, [], {}
        if "envoy-recast" in self.peers:
            self.peers["envoy-recast"].recast = recast
        for name, peer in self.peers.items():
            try:
                peer.program()
            except proxies.Missing as error:
                self.missing[name] = str(error)
                print(f"missing: {name}: {error}", flush=True)
        self.versions = {name: peer.version() for name, peer in self.peers.items() if name not in self.missing}
        # One core for the proxy; the load and the upstream share one where there are no more.
        self.cores = sorted(os.sched_getaffinity(0))
        self.proxy_cores, self.load_core, self.sink_core = {self.cores[0]}, self.cores[1], self.cores[min(2, len(self.cores) - 1)]
        self.files = raise_file_limit(4 * proxies.CONNECTIONS)
        self.has_instructions = counts_instructions()
        self.folder = tempfile.mkdtemp(prefix="recast-bench-")
        proxies.make_certificate(self.folder)

    def run(self):
        os.sched_setaffinity(0, {self.load_core})
        self.start_sink()
        for name in (load for load in cases.LOADS if load in self.options.loads.split(",")):
            load = cases.REQUESTS.get(name)
            self.results[name] = self.requests(load) if load else getattr(self, name.replace("-", "_"))()
        return self.results

    def stop(self):
        for server in reversed(self.servers):
            server.stop()
        shutil.rmtree(self.folder)

    def compile(self, name):
        program = os.path.join(self.folder, name)
        source = os.path.join(HERE, f"{name}.c")
        subprocess.run(["cc", "-O2", "-Wall", "-Wextra", "-o", program, source], check=True)
        return program

    def start_sink(self):
        port = free_port()
        self.pace = self.compile("pace")
        self.sink = Server("sink", [self.compile("sink"), str(port)], port, {self.sink_core},
                           os.path.join(self.folder, "sink.log"))
        self.servers.append(self.sink)

    def begin(self, peer, cores=None):
        server = peer.prepare(self.folder, self.sink.port, self.files)(cores or self.proxy_cores)
        self.servers.append(server)
        return server

    def with_fresh(self, peer, action):
        """A process for one measurement, so that its memory is of this one alone."""
        server = self.begin(peer)
        try:
            return action(server)
        except OSError as error:
            raise BenchError(f"{type(error).__name__}: {error}; its log: {server.log()}") from error
        finally:
            self.end(server)

    def end(self, server):
        server.stop()
        self.servers.remove(server)

    def chosen(self, all_cases, result, peers):
        """The cases of peers that were asked for; those of missing ones are put down as such."""
        for case in all_cases:
            if case.peer in peers and case.peer in self.missing:
                result[case.name] = {"missing": self.missing[case.peer]}
        return [case for case in all_cases if case.peer in peers and case.peer not in self.missing]

    def attempt(self, result, case, action, server=None):
        """The figures of one measurement, or None when it failed: then the case is out, with what went wrong."""
        try:
            return action()
        except FAILURES as error:
            if self.sink.process.poll() is not None:
                raise BenchError(f"the upstream ended while {case.name} ran: {self.sink.log()}") from error
            text = str(error) if isinstance(error, BenchError) else f"{type(error).__name__}: {error}"
            if server and server.process.poll() is not None:
                text = f"{server.name} has ended with code {server.process.returncode}, its log: {server.log()}; {text}"
            result[case.name] = {"failed": text}
            print(f"FAILED: {case.name}: {text}", flush=True)
            return None

    def in_rounds(self, title, all_cases, peers, count, measure, *, check=None, last=False, cores=None):
        """Interleaved rounds: each measures every case once, after a request that is looked at whole, so that a peer that
        doesn't convert isn't counted. The first round is thrown away, so that caches, pools and the branch predictor are warm;
        with `last` one more counts instructions, which would disturb the others."""
        result = {}
        measured = self.chosen(all_cases, result, peers)
        running, rounds = {}, {case.name: [] for case in measured}
        for case in measured:
            if case.peer not in running:
                running[case.peer] = self.attempt(result, case, lambda: self.begin(peers[case.peer], cores))
            elif running[case.peer] is None:
                result[case.name] = {"failed": f"{case.peer} didn't start"}

        def checked(server, case, number):
            (check or clients.check)(server, case)
            return measure(server, case, number)

        for number in range(count + 1 + last):
            for case in measured:
                if case.name in result:
                    continue
                taken = self.attempt(result, case, lambda: checked(running[case.peer], case, number), running[case.peer])
                if taken and number > count:
                    rounds[case.name][-1]["instructions_per_request"] = taken["instructions_per_request"]
                elif taken and number:
                    rounds[case.name].append(taken)
            if 0 < number <= count:
                print(f"{title}: round {number} of {count}", flush=True)
        for case in measured:
            if case.name not in result:
                result[case.name] = figures.summarise(rounds[case.name])
                # A process runs several cases: its peak is theirs together.
                result[case.name]["peak_mib"] = running[case.peer].peak_bytes() / (1 << 20)
        for server in filter(None, running.values()):
            self.end(server)
        return {case.name: result[case.name] for case in all_cases if case.name in result}

    def requests(self, load, *, rounds=None):
        options = self.options
        agreed = {}

        def check(server, case):
            agreed[case.name] = clients.check_secured(server, case)
            first = next(iter(agreed.values()))
            if agreed[case.name] != first:
                raise BenchError(f"it speaks {agreed[case.name]}, others {first}")

        def measure(server, case, number):
            # A slow peer needs more than a second to answer on many connections at all.
            seconds = options.seconds if 0 < number <= options.rounds else 2 if load.connections else 1
            if load.is_resumed:
                return loads.run_resumed(server, case.folder, case.exchange, seconds)
            if load.streams:
                return loads.run_streams(
                    server, case.folder, case.exchange, seconds, load.connections, load.streams, self.load_core,
                    port=server.secure_port if load.is_secured else None, instructions=number > options.rounds)
            return loads.run_closed(
                server, case.folder, case.exchange, seconds, load.connections or options.connections, self.load_core,
                is_new=load.is_new, port=server.secure_port if load.is_secured else None, instructions=number > options.rounds)

        result = self.in_rounds(load.title, load.cases, self.peers, rounds or options.rounds, measure,
                                check=check if load.is_secured else None,
                                last=self.has_instructions and not load.is_resumed and rounds is None)
        for name, tls in agreed.items():
            if "rounds" in result[name]:
                result[name]["tls"] = f"{tls}, ECDSA P-256"
        return result

    def half(self):
        """All at the same constant rate: half of what the slower of Recast and HAProxy reached in this run."""
        known = self.results.get("small")
        if known is None:
            print("half load: one round as fast as it goes, for the rate", flush=True)
            known = self.requests(cases.RequestLoad("the rate of half load", cases.HALF), rounds=1)
        compared = [known[name]["requests_per_s"] for name in ("recast form -> json", cases.BASE)
                    if "requests_per_s" in known.get(name, {})]
        if not compared:
            return {case.name: {"note": "neither Recast nor HAProxy was measured, so there is no rate"}
                    for case in cases.HALF if case.peer in self.names}
        rate = min(compared) / 2
        slow = {}
        for case in cases.HALF:
            reached = known.get(case.name, {}).get("requests_per_s")
            if reached is not None and reached < rate:
                slow[case.name] = {"note": f"reaches {reached:.0f} requests/s at most, less than the {rate:.0f} of this load"}

        def measure(server, case, number):
            return loads.run_paced(self.pace, server, case.folder, case.exchange, rate,
                                   self.options.seconds if number else 1, self.options.connections, self.load_core)

        result = self.in_rounds(f"half load, {rate:.0f} requests/s", [case for case in cases.HALF if case.name not in slow],
                                self.peers, self.options.rounds, measure)
        return {**result, **slow}

    def upload(self):
        return self.uploads("uploads", cases.UPLOADS, lambda case, server: loads.run_upload(
            server, case.folder, case.kind, self.options.upload_mib << 20, case.expected))

    def upload_h2(self):
        sent = bodies.upload(bodies.MULTIPART_TYPE, self.options.upload_mib << 20)
        path = os.path.join(self.folder, "upload")
        with open(path, "wb") as file:
            file.write(sent.start)
            for _ in range(sent.count):
                file.write(sent.block)
            file.write(sent.end)
        try:
            return self.uploads("uploads over HTTP/2", cases.HTTP2_UPLOADS, lambda case, server: loads.run_http2_upload(
                server, case.folder, path, sent.content_type, case.expected, self.load_core))
        finally:
            os.remove(path)

    def uploads(self, title, all_cases, run):
        """Rounds in which each case has a fresh process, which is looked at once first."""
        result = {}
        measured = self.chosen(all_cases, result, self.peers)
        rounds = {case.name: [] for case in measured}

        def measure(case, server):
            clients.check(server, case)
            return run(case, server)

        for number in range(self.options.upload_rounds):
            for case in measured:
                if case.name in result:
                    continue
                taken = self.attempt(result, case, lambda: self.with_fresh(
                    self.peers[case.peer], lambda server: measure(case, server)))
                if taken:
                    rounds[case.name].append(taken)
            print(f"{title}: round {number + 1} of {self.options.upload_rounds}", flush=True)
        for case in measured:
            if case.name not in result:
                result[case.name] = figures.summarise(rounds[case.name])
        return {case.name: result[case.name] for case in all_cases if case.name in result}

    def idle(self):
        result = {}
        most = min(self.options.idle, self.files - 200)
        if most < self.options.idle:
            print(f"idle connections: only {most} files may be open here (ulimit -n)", flush=True)

        for case in self.chosen(cases.IDLE, result, self.peers):
            taken = self.attempt(result, case, lambda: self.with_fresh(
                self.peers[case.peer], lambda server: loads.run_idle(server, case.folder, case.exchange, most)))
            if taken:
                result[case.name] = taken
            print(f"idle connections: {case.name}", flush=True)
        return {case.name: result[case.name] for case in cases.IDLE if case.name in result}

    def memory(self):
        """Recast alone, on two cores: idle connections and many uploads at once, to a quick upstream and to a slow one."""
        result = {}
        if "recast" not in self.names:
            return result
        for name, slow in (("recast", 0), ("recast, slow upstream", 50)):
            os.sched_setaffinity(0, {*self.proxy_cores, self.load_core})
            try:
                taken = self.attempt(result, cases.Case(name, "recast", "", None), lambda: memory.run(
                    self.recast, self.options.idle, 100, self.options.memory_mib << 20, slow))
            finally:
                os.sched_setaffinity(0, {self.load_core})
            if taken:
                result[name] = taken
        return result

    def start(self):
        """From the start of a process to its first answer: Recast with 100 routes, its peers as they are elsewhere."""
        result = {}
        peers = {**self.peers, "recast": proxies.RecastText(self.recast, cases.routes(100))}
        for case in self.chosen(cases.IDLE, result, self.peers):
            case = cases.Case(cases.START if case.peer == "recast" else case.name, case.peer, case.folder, case.exchange)
            taken = self.attempt(result, case, lambda: loads.run_start(
                peers[case.peer], self.folder, self.sink.port, self.proxy_cores, self.files, case.exchange, self.options.starts))
            if taken:
                result[case.name] = taken
            print(f"start: {case.name}", flush=True)
        return result

    def routes(self):
        """What 999 routes before it cost a request."""
        return self.compare("routes", {cases.ONE_ROUTE: proxies.RecastText(self.recast, cases.routes(1)),
                                       cases.MANY_ROUTES: proxies.RecastText(self.recast, cases.routes(1000))})

    def workers(self):
        """Two workers beside one: what they reach where the load has cores of its own, and what a request costs at a rate."""

        def variants(one, two):
            return {one: proxies.RecastText(self.recast, cases.routes(1)),
                    two: proxies.RecastText(self.recast, cases.routes(1), workers=2)}

        closed = variants(cases.ONE_WORKER, cases.TWO_WORKERS)
        if len(self.cores) < 4:
            why = f"not measurable here: 4 cores are needed, two of them for the load, and there are {len(self.cores)}"
            result = {name: {"note": why} for name in closed}
        else:
            result = self.compare("workers", closed, {self.cores[0], self.cores[3]})
        paced = variants(cases.ONE_PACED, cases.TWO_PACED)
        both = {*self.proxy_cores, self.load_core}
        return {**result, **self.compare("workers at a rate", paced, both, cases.WORKERS_RATE)}

    def compare(self, title, variants, cores=None, rate=None):
        """Recast with one configuration beside Recast with another: as fast as it goes, or at a rate."""
        if "recast" not in self.names:
            return {}

        def measure(server, case, number):
            seconds, connections = self.options.seconds if number else 1, self.options.connections
            if rate:
                return loads.run_paced(self.pace, server, case.folder, case.exchange, rate, seconds, connections, self.load_core)
            return loads.run_closed(server, case.folder, case.exchange, seconds, connections, self.load_core)

        compared = [cases.Case(name, name, "/measured", bodies.FORM_JSON) for name in variants]
        return self.in_rounds(title, compared, variants, self.options.rounds, measure, cores=cores)
