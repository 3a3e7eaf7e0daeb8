"""Sends a changing mix of traces to a sidecar that runs fixtures/load.toml before stand-ins of judges.

Half of the mix is steady. The rest changes with the time: first all is well, then the generator invents, then retrieval
fails, then the fallback judge is down, then all is well again. With `--seconds 40` this goes by in a glance, with
`--seconds 600` it makes curves to look at. Ends with 0 once every kind of call was answered as it should be.
"""

import argparse
import collections
import http.client
import json
import random
import subprocess
import threading
import time

# What a caller asks, and how often: the words that tell the stand-ins what to say.
PHASES = [
    # (until which share of the time, {words: weight})
    (0.30, {"": 78, "ungrounded": 3, "missing": 4, "unrelated": 2, "irrelevant": 2, "conflicting": 1, "unsure": 10}),
    (0.50, {"": 54, "ungrounded": 24, "missing": 4, "unrelated": 2, "irrelevant": 5, "conflicting": 1, "unsure": 10}),
    (0.70, {"": 46, "ungrounded": 3, "missing": 18, "unrelated": 12, "irrelevant": 2, "conflicting": 3, "unsure": 16}),
    (
        0.82,
        {"": 70, "ungrounded": 3, "missing": 4, "unrelated": 2, "irrelevant": 2, "conflicting": 1, "unsure outage": 18},
    ),
    (1.01, {"": 76, "ungrounded": 3, "missing": 4, "unrelated": 2, "irrelevant": 2, "conflicting": 1, "unsure": 12}),
]
# What the atomic judge is unsure about, and what the fallback judge then finds.
UNSURE_ABOUT = {"groundedness": 6, "context_sufficiency": 3, "chunk_": 2, "answer_relevance": 1}
THEN = {"": 6, "ungrounded": 2, "missing": 2}
PROFILES = {"assistant": 60, "search": 28, "default": 12}


def pick(weights):
    return random.choices(list(weights), weights.values())[0]


def request(row, words, number):
    """A trace of fixtures/traces as a DiagnoseRequest in JSON; the number makes its question a new one."""
    if "unsure" in words:
        words = words.replace("unsure", f"unsure-{pick(UNSURE_ABOUT)} {pick(THEN)}".strip())
    profile = pick(PROFILES)
    answer = row["answer"]
    if profile == "default" and "un" not in words and row["contexts"]:
        # The embedded judge passes only what stands in the context.
        answer = row["contexts"][0]["text"].split(". ")[0] + "."
    again = "" if random.random() < 0.25 else f" ({number})"
    trace = {
        "question": f"{row['question']} {words}{again}",
        "chunks": [{"chunkId": chunk["id"], "text": chunk["text"]} for chunk in row["contexts"]],
        "answer": answer,
        # Now and then the answer is one of the fallback judge's own model.
        "generatorModel": "stand-in-strong" if random.random() < 0.1 else "example-generator",
    }
    if "retrieval" in row:
        trace["retrieval"] = f"RETRIEVAL_STATE_{row['retrieval'].upper()}"
    return {"trace": trace, "profile": profile}


class Load:
    def __init__(self, options):
        self.options = options
        with open("fixtures/traces/demo.jsonl", encoding="utf-8") as rows:
            self.rows = [json.loads(row) for row in rows]
        self.start = time.monotonic()
        self.statuses = collections.Counter()
        self.lock = threading.Lock()

    def passed(self):
        return (time.monotonic() - self.start) / self.options.seconds

    def caller(self, caller):
        """One caller that waits for each answer, then a little."""
        connection = http.client.HTTPConnection(self.options.http, timeout=30)
        number = caller
        while (passed := self.passed()) < 1:
            words = pick(next(weights for until, weights in PHASES if passed < until))
            self.send(connection, request(random.choice(self.rows), words, number))
            number += self.options.callers
            time.sleep(random.expovariate(1 / self.options.pause))
        connection.close()

    def faulty(self):
        """What callers do wrong, and calls that have too little time."""
        connection = http.client.HTTPConnection(self.options.http, timeout=30)
        while self.passed() < 1:
            good = request(self.rows[0], "", 0)
            self.send(connection, good | {"profile": "nobody"})
            self.send(connection, {"trace": good["trace"] | {"question": " "}})
            self.send(connection, good | {"options": {"skipCache": True}})
            self.send_late(good)
            time.sleep(random.expovariate(1 / max(1, self.options.seconds / 120)))
        connection.close()

    def recorded(self):
        """The recorded judges, over gRPC."""
        command = [self.options.binary, "diagnose", "fixtures/traces/demo.jsonl", "--profile", "demo"]
        while self.passed() < 1:
            done = subprocess.run(
                [*command, "--endpoint", f"http://{self.options.grpc}"], capture_output=True, text=True
            )
            if done.returncode != 0:
                raise SystemExit(f"diagnose ended with {done.returncode}: {done.stderr}")
            with self.lock:
                self.statuses["gRPC"] += done.stdout.count("\n")

    def send(self, connection, body):
        connection.request("POST", "/v1/diagnose", json.dumps(body), {"content-type": "application/json"})
        self.count(connection)

    def send_late(self, body):
        """A call whose body comes when its time is over."""
        text = json.dumps(body).encode()
        connection = http.client.HTTPConnection(self.options.http, timeout=30)
        connection.putrequest("POST", "/v1/diagnose")
        for name, value in {
            "content-type": "application/json",
            "x-timeout-ms": 10,
            "content-length": len(text),
        }.items():
            connection.putheader(name, str(value))
        connection.endheaders()
        time.sleep(0.1)
        connection.send(text)
        self.count(connection)
        connection.close()

    def count(self, connection):
        response = connection.getresponse()
        response.read()
        with self.lock:
            self.statuses[response.status] += 1

    def run(self):
        threads = [threading.Thread(target=self.caller, args=[place]) for place in range(self.options.callers)]
        threads += [threading.Thread(target=self.faulty), threading.Thread(target=self.recorded)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--binary", required=True)
    parser.add_argument("--http", required=True)
    parser.add_argument("--grpc", required=True)
    parser.add_argument("--seconds", type=float, default=40)
    parser.add_argument("--callers", type=int, default=8)
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between two calls of a caller, on average")
    load = Load(parser.parse_args())
    load.run()
    print(f"sent for {load.options.seconds:.0f} s: {dict(load.statuses)}")
    for status in (200, 400, 504, "gRPC"):
        if not load.statuses[status]:
            raise SystemExit(f"no call ended with {status}")


if __name__ == "__main__":
    main()
