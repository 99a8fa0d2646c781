"""Rows 62 to 72: settings and signals."""

import os
import signal
import socket
import subprocess
import threading
import time

import harness
from harness import DEADLINE, Closed
from rig import FORM, FORM_BODY, MIB, check, equal, hold_answer, injected, raises_closed, reload, rewrite, row, wait_until


class Load:
    """Requests from several threads until it is stopped; each carries a number that the upstream must see once."""

    def __init__(self, fault, stack, threads=4, keep_alive=True):
        self.fault, self.stack, self.keep_alive = fault, stack, keep_alive
        self.failures, self.answered, self.ends = [], [], threading.Event()
        self.seen, self.lock = {}, threading.Lock()

        def script(exchange):
            exchange.read_body()
            with self.lock:
                self.seen[exchange.received.target] = self.seen.get(exchange.received.target, 0) + 1
            exchange.answer(body=exchange.received.target.encode())

        fault.upstream.script = script
        self.threads = [threading.Thread(target=self._run, args=(number,), daemon=True) for number in range(threads)]
        for thread in self.threads:
            thread.start()

    def _run(self, number):
        count, client = 0, None
        while not self.ends.is_set():
            target = f"/json?{number}-{count}"
            count += 1
            try:
                if client is None:
                    client = self.stack.client()
                client.request("POST", target, FORM_BODY, FORM)
                response = client.response()
                if response.status != 200 or response.body != target.encode():
                    self.failures.append((target, response.status, response.body[:200]))
                else:
                    self.answered.append(target)
                if not self.keep_alive or response.fields.get("connection", "").lower() == "close":
                    client.socket.close()
                    client = None
            except (Closed, OSError) as error:
                if self.ends.is_set():
                    break
                self.failures.append((target, repr(error)))
                client = None
        if client:
            client.socket.close()

    def stop(self):
        self.ends.set()
        for thread in self.threads:
            thread.join(DEADLINE)
            check(not thread.is_alive(), "the load ends")

    def balance(self):
        equal(self.failures, [], "requests that failed")
        twice = {target: count for target, count in self.seen.items() if count != 1}
        equal(twice, {}, "requests that were executed more than once")
        equal(set(self.answered) - set(self.seen), set(), "answers that nobody gave")


@row(62, "settings that are wrong, and SIGHUP: the old ones are kept, the mistake is logged with its place")
def bad_settings(fault):
    stack = fault.stack()
    rewrite(stack, "match: /json", "macht: /json")
    reload(stack)
    wait_until(lambda: "macht" in stack.error_text(), "the mistake is logged")
    equal(stack.send().status, 200, "the old settings")


@row(63, "200 reloads under load: no request fails or is executed twice, no descriptor is lost", modes=("plain",))
def reloads(fault):
    stack = fault.stack(workers=2)
    load = Load(fault, stack)
    for number in range(200):
        reload(stack)
    load.stop()
    load.balance()
    check(len(load.answered) > 100, f"{len(load.answered)} requests")
    fault.upstream.reset()
    stack.added_memory = 48 * MIB
    stack.lines_before = None


@row(64, "a route is removed while requests are under way: they end on the old one, new ones get 404")
def removed_route(fault):
    stack = fault.stack()
    go = hold_answer(fault, body=b"from the old route")
    client = fault.keep(stack.client())
    client.request("GET", "/patient")
    fault.upstream.wait_for(1)
    rewrite(stack, 'match: "/*"', "match: /none")
    rewrite(stack, "match: /patient", "match: /none-either")
    reload(stack)
    equal(stack.send("GET", "/patient", None, None).status, 404, "a new request")
    go.set()
    response = client.response()
    equal((response.status, response.body), (200, b"from the old route"))
    rewrite(stack, "match: /none-either", "match: /patient")
    reload(stack)


@row(65, "SIGTERM under load: nothing that was accepted fails, exit 0")
def terminated(fault):
    stack = fault.stack(workers=2)
    load = Load(fault, stack)
    wait_until(lambda: len(load.answered) > 50, "the load runs")
    # Keep-alive clients are told by Connection: close; who connects later is refused, and that is no failure here.
    drained = len(load.failures)
    stack.process.send_signal(signal.SIGTERM)
    wait_until(lambda: stack.process.poll() is not None, "it ends")
    load.stop()
    equal(stack.process.returncode, 0, "the exit code")
    cut = [failure for failure in load.failures[drained:] if "Refused" not in str(failure) and "refused" not in str(failure)]
    # A request that was written when its idle connection closed was never read: clients send it again (RFC 9112 9.3.1).
    executed = [failure for failure in cut if failure[0] in load.seen]
    equal(executed, [], "requests that were executed and not answered")
    check(not [one for one in cut if len(one) == 3], f"answers that are no answers: {cut}")


@row(66, "a second SIGTERM: at once, with another exit code")
def terminated_twice(fault):
    stack = fault.stack()
    over = threading.Event()
    fault.cleanups.callback(over.set)
    fault.upstream.script = lambda exchange: over.wait(DEADLINE)
    client = fault.keep(stack.client())
    client.request("GET", "/patient")
    fault.upstream.wait_for(1)
    stack.process.send_signal(signal.SIGTERM)
    wait_until(lambda: not listens(stack.port), "it has stopped accepting")
    stack.process.send_signal(signal.SIGTERM)
    check(stack.process.wait(DEADLINE) != 0, "the exit code")


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False


@row(67, "SIGKILL and a new process at once: the port is free")
def killed(fault):
    stack = fault.stack()
    with stack.client() as client:
        client.request("GET", "/plain")
        equal(client.response().status, 200)
        stack.process.kill()
        stack.process.wait()
        with open(stack.errors, "ab") as errors, open(stack.output, "ab") as output:
            stack.process = subprocess.Popen(
                [harness.RECAST, "serve", stack.config], stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        wait_until(stack.is_ready, "it serves again")
        raises_closed(client.response)
    equal(stack.send().status, 200)
    stack.lines_before = None


@row(68, "storms of SIGPIPE, SIGUSR2, SIGWINCH and SIGCHLD: ignored")
def storms(fault):
    stack = fault.stack()
    for number in (signal.SIGPIPE, signal.SIGUSR2, signal.SIGWINCH, signal.SIGCHLD, signal.SIGUSR1):
        for _ in range(500):
            os.kill(stack.process.pid, number)
        equal(stack.send().status, 200, f"after {number}")


@row(69, "stopped for longer than its times, and continued: only what is due expires")
def paused(fault):
    stack = fault.stack(timeouts="header: 3s, body_gap: 3s, write: 3s, keep_alive: 3s")
    idle, busy, silent = (fault.keep(stack.client()) for _ in range(3))
    idle.request("GET", "/plain")
    equal(idle.response().status, 200)
    for client in (busy, silent):
        client.send(b"POST /patient HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\n12345")
    fault.upstream.wait_for(3)
    stack.process.send_signal(signal.SIGSTOP)
    # What comes while it is stopped has come in time, though every time is over when it looks.
    idle.request("GET", "/plain")
    busy.send(b"67890")
    time.sleep(4)
    stack.process.send_signal(signal.SIGCONT)
    equal(idle.response().status, 200, "an idle connection")
    equal(busy.response().status, 200, "a body that was under way")
    equal(silent.response().status, 408, "a body that stalls")


@row(70, "standard descriptors are closed at the start: they are opened on /dev/null")
def closed_standard(fault):
    stack = fault.stack(command=("sh", "-c", 'exec "$0" "$@" <&- >&- 2>&-'), warm=False, access_log="off")
    equal(stack.send().status, 200)
    places = {number: os.readlink(f"/proc/{stack.process.pid}/fd/{number}") for number in range(3)}
    equal(set(places.values()), {"/dev/null"}, "descriptors 0 to 2")
    equal(stack.stop(), 0)


@row(71, "a debugger stops it for seconds: as if nothing had been", modes=("plain",), needs=("gdb",))
def debugged(fault):
    stack = fault.stack()
    client = fault.keep(stack.client())
    client.request("GET", "/plain")
    equal(client.response().status, 200)
    # Without symbols, which take longer to read than all the rest.
    subprocess.run(["gdb", "-nx", "-iex", "set sysroot /nonexistent", "-iex", "set auto-solib-add off",
                    "-p", str(stack.process.pid), "-batch", "-ex", "shell sleep 2", "-ex", "detach"],
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=2 * DEADLINE, check=True)
    client.request("GET", "/plain")
    equal(client.response().status, 200)


@row(72, "one worker stands still: the other serves, the log says so", modes=("plain",), needs=("strace",))
def wedged(fault):
    stack = fault.stack(workers=2)
    threads = {}
    for task in os.listdir(f"/proc/{stack.process.pid}/task"):
        with open(f"/proc/{stack.process.pid}/task/{task}/comm") as file:
            threads[file.read().strip()] = int(task)
    worker = next(task for name, task in threads.items() if name.startswith("worker-"))
    with injected(worker, "epoll_wait:delay_exit=9000000:when=1", follow=False):
        served = 0
        for _ in range(20):
            client = stack.client()
            client.socket.settimeout(0.4)
            try:
                client.request("GET", "/plain")
                served += client.response().status == 200
            except OSError:
                pass
            client.socket.close()
        check(served > 0, "the other worker serves")
        wait_until(lambda: "worker" in stack.error_text(), "the log names the worker")
    wait_until(lambda: stack.send().status == 200, "all serve again")
    stack.lines_before = None
