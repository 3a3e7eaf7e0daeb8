"""A stand-in for a System One model on a free port of this machine.

What it says is told by a word of the question: `unsure` makes every probability 0.5 and `unsure-groundedness` that of
one dimension, `ungrounded` makes the answer unsupported, `irrelevant` makes it miss the question, `missing` makes the
context insufficient, `conflicting` makes it contradict itself, `unrelated` makes every chunk irrelevant; anything else is
good. A stand-in with `--sure` never is unsure: it takes `unsure` for good. It prints its address and serves until it is
ended.
"""

import argparse
import json
import random
import re
import ssl
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

GOOD, BAD = 0.995, 0.005
BAD_WHEN_TRUE = ("context_conflict", "contradiction")
WRONG = {
    "ungrounded": "groundedness",
    "irrelevant": "answer_relevance",
    "missing": "context_sufficiency",
    "conflicting": "context_conflict",
    "unrelated": "chunk_",
}
UNSURE = re.compile(r"unsure(?:-(\w+))?")


def probability(key, question, is_sure):
    about = UNSURE.search(question)
    if about and not is_sure and key.startswith(about[1] or ""):
        return 0.5
    holds = not any(word in question and key.startswith(dimension) for word, dimension in WRONG.items())
    return GOOD if holds != (key in BAD_WHEN_TRUE) else BAD


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    asked = 0
    lock = threading.Lock()

    def do_GET(self):
        self.reply(200, {"data": [{"id": self.options.model}]})

    def do_POST(self):
        text = self.rfile.read(int(self.headers["content-length"]))
        with Handler.lock:
            Handler.asked += 1
            is_busy = self.options.busy_every and Handler.asked % self.options.busy_every == 0
        body = json.loads(text)
        question = body["state"]["question"]
        if is_busy or self.options.down_word and self.options.down_word in question:
            self.reply(503, {"error": {"message": "busy"}})
            return
        longer = random.expovariate(1) if self.options.varied else 0
        time.sleep(self.options.delay_ms / 1000 * (1 + longer))
        answers = {
            key: {"type": "noul", "noul": probability(key, question, self.options.sure)} for key in body["questions"]
        }
        usage = {"input_tokens": len(text) // 4, "output_tokens": self.options.output_tokens}
        self.reply(200, {"model": self.options.model, "answers": answers, "usage": usage})

    def reply(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        try:
            self.end_headers()
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True  # the caller has gone away

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="stand-in-1")
    parser.add_argument("--sure", action="store_true")
    parser.add_argument("--delay-ms", type=float, default=0)
    parser.add_argument("--varied", action="store_true", help="the delay is the shortest, and twice as long on average")
    parser.add_argument("--output-tokens", type=int, default=0)
    parser.add_argument("--down-word", help="answers 503 to questions that hold this word")
    parser.add_argument("--busy-every", type=int, default=0, help="answers 503 to every so many requests")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--certificate", help="PEM; with --key it serves over TLS")
    parser.add_argument("--key")
    Handler.options = parser.parse_args()
    server = ThreadingHTTPServer(("127.0.0.1", Handler.options.port), Handler)
    scheme = "http"
    if Handler.options.certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(Handler.options.certificate, Handler.options.key)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    print(f"{scheme}://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


main()
