#!/usr/bin/env python3
"""run.py [--seed N] [--kills N]: orders while the service is killed with SIGKILL, at random moments and at every crash point.

Judged from the participants' databases alone: COMPLETED: each effect exactly once; COMPENSATED: each undone exactly once; nothing
that was acknowledged is missing, none left running or stuck. A kill counts when the next start finds unfinished sagas in the
store, so that every kill that counts found work in flight. The last line is "N kills, N crash points, N problems"."""
import argparse
import pathlib
import random
import re
import shutil
import signal
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tools" / "dev"), str(ROOT / "tools")]

import check_effects  # noqa: E402
import daemons  # noqa: E402
import order_client  # noqa: E402
import orders  # noqa: E402

SENDERS = 12
PASSES = 3             # of each crash point: the first, and two later ones
READY_WITHIN = 30.0
HIT_WITHIN = 60.0


def crash_point_names():
    """From the one list in the code."""
    text = (ROOT / "lib" / "runtime" / "crash_point.h").read_text()
    found = re.search(r"kCrashPointNames\{(.*?)\};", text, re.S)
    return re.findall(r'"([^"]+)"', found.group(1))


class Failed(Exception):
    pass


class Run:
    def __init__(self, folder, seed):
        self.folder, self.data, self.dice = folder, folder / "data", random.Random(seed)
        self.extra = ["--drain-delay", "0", "--participant-latency", "3ms", "--participant-failure-rate", "0.05", "--participant-seed", str(seed)]
        self.service, self.senders = None, orders.Senders(SENDERS)
        self.kills, self.idle_kills, self.hits, self.slowest_start = 0, 0, {}, 0.0

    def start(self, crash_point=None):
        """None when it died at the crash point before it was ready."""
        environment = {"OUTRIGGER_CRASH_POINT": crash_point, "OUTRIGGER_ALLOW_CRASH_POINTS": "1"} if crash_point else {}
        began = time.monotonic()
        try:
            self.service = daemons.start_service(self.folder, self.data, *self.extra, environment=environment, ready_within=READY_WITHIN)
        except daemons.DaemonError as died:
            if crash_point and f"crash point {crash_point.split(':')[0]}" in str(died):
                self.service = None
                return None
            raise
        self.slowest_start = max(self.slowest_start, time.monotonic() - began)
        self.senders.port = self.service.ports["http"]
        return self.service

    def metric(self, name, **labels):
        status, _, text = order_client.Client(self.service.ports["operations"]).request("GET", "/metrics")
        if status != 200:
            raise Failed(f"/metrics: HTTP {status}")
        total = 0.0
        for line in text.splitlines():
            if re.match(rf"{name}[ {{]", line) and all(f'{key}="{value}"' in line for key, value in labels.items()):
                total += float(line.rsplit(" ", 1)[1])
        return total

    def wait_for_progress(self):
        """Until orders are in flight again and some have ended since the last start."""
        senders = self.senders
        before = len(senders.ended)
        if not senders.wait_for(lambda: senders.in_flight() >= 2 and len(senders.ended) > before, HIT_WITHIN):
            raise Failed(f"no progress within {HIT_WITHIN:g} s: {senders.in_flight()} orders in flight, {before} ended\n{self.service.log_tail()}")

    def kill_at_random(self):
        self.wait_for_progress()
        time.sleep(self.dice.uniform(0, 0.12))
        self.service.kill()
        self.start()
        if self.metric("outrigger_sagas_restored_total") > 0:
            self.kills += 1
        else:
            self.idle_kills += 1

    def kill_at(self, name, count):
        """The service, started with the point armed, must die there by itself."""
        self.service.kill()
        if self.start(f"{name}:{count}"):
            end = time.monotonic() + HIT_WITHIN
            while self.service.is_running():
                if time.monotonic() > end:
                    raise Failed(f"the crash point {name} was not passed {count} times within {HIT_WITHIN:g} s")
                time.sleep(0.002)
            if self.service.process.returncode != -signal.SIGKILL or f"crash point {name}\n" not in self.service.log_text():
                raise Failed(f"ended with {self.service.process.returncode}, not at the crash point {name}:\n{self.service.log_tail()}")
            self.service.kill()
        self.start()
        if self.metric("outrigger_sagas_restored_total") > 0:
            self.hits[name] = self.hits.get(name, 0) + 1

    def kill_at_all_points(self):
        for name in crash_point_names():
            self.wait_for_progress()
            # The restore passes its point once a lane; the others are passed for every order.
            passes = [1] if name.startswith("restore") else [1] + [self.dice.randint(2, 60) for _ in range(PASSES - 1)]
            for count in passes:
                self.kill_at(name, count)
            self.wait_for_progress()

    def judge(self):
        """The problems there are, once everything has ended."""
        senders = self.senders
        problems = [] if senders.finish(within=60) else [f"{senders.in_flight()} acknowledged orders have not ended within 60 s"]
        problems += senders.problems
        for status in ("RUNNING", "COMPENSATING", "STUCK"):
            if left := self.metric("outrigger_sagas_active", status=status):
                problems.append(f"{left:g} sagas are left {status}")
        client = order_client.Client(self.service.ports["http"])
        for saga in senders.acknowledged:
            if (status := client.request("GET", f"/v1/sagas/{saga}")[0]) != 200:
                problems.append(f"{saga} was acknowledged, and is answered HTTP {status}")
        self.service.kill()
        count, found = check_effects.check(self.data / "participants", senders.ended)
        problems += found + [f"the databases know {saga}, no client does" for saga in check_effects.sagas(self.data / "participants") - senders.acknowledged.keys()]
        if not count or len(set(senders.ended.values())) != 2:
            problems.append("the check has seen nothing")
        print(f"{len(senders.acknowledged)} orders acknowledged, {count} effects, slowest start {self.slowest_start:.2f} s")
        return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("--kills", type=int, default=30)
    asked = parser.parse_args()
    print(f"seed {asked.seed} (repeat with --seed {asked.seed}; the machine's timing is not repeated)", flush=True)
    run, problems = Run(pathlib.Path(tempfile.mkdtemp(prefix="outrigger-crash-")), asked.seed), []
    try:
        run.senders.start(run.start().ports["http"])
        while run.kills < asked.kills and run.idle_kills <= asked.kills:
            run.kill_at_random()
        print(f"{run.kills} kills at random moments found work in flight; {run.idle_kills} did not and do not count", flush=True)
        run.kill_at_all_points()
        print("crash points: " + ", ".join(f"{name} {run.hits.get(name, 0)}" for name in crash_point_names()), flush=True)
        problems += [f"no kill at {name} left work in flight" for name in crash_point_names() if not run.hits.get(name)]
        if run.kills < asked.kills:
            problems.append(f"only {run.kills} of {asked.kills} kills found work in flight")
        problems += run.judge()
    except (Failed, daemons.DaemonError) as problem:
        problems.append(str(problem))
    finally:
        if run.service:
            run.service.kill()
        run.senders.finish(within=0)
    print("\n".join(problems[:40]))
    print(f"{run.kills} kills, {len(run.hits)} crash points, {len(problems)} problems")
    sys.stdout.flush()
    if problems:
        print(f"the data is kept in {run.folder}")
    else:
        shutil.rmtree(run.folder, ignore_errors=True)
    # Senders that wait for a service which will not come back end with the process.
    sys.exit(1 if problems else 0)


main()
