"""A stand-in for an Azure OpenAI deployment on a free port of this machine, for the commands of README.md.

It takes a key, reads the data and the schema of a request as the program sends them, and labels by counting words: good
enough to tell a right answer from a wrong one. It prints its address and serves until it is ended.
"""

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = "fake-azure-key"
DATA = re.compile(r"^<data-(\w+)>\n(.*)\n</data-\1>$", re.MULTILINE)
STOP_WORDS = set("a an and are at by does for from in is it of on or the to was what when where which who".split())


def words(text):
    return set(re.findall(r"\w+", text.lower())) - STOP_WORDS


def share(part, whole):
    """How much of the words of one text stands in another."""
    return len(words(part) & words(whole)) / max(1, len(words(part)))


def judged(data, schema):
    chunks = [chunk["text"] for chunk in data.get("chunks", [])]
    context, question, answer = " ".join(chunks), data.get("question", ""), data.get("answer", "")
    holds = {
        "context_sufficiency": share(question, context) >= 0.5,
        "context_conflict": False,
        "answer_relevance": share(question, answer) >= 0.3,
        "groundedness": share(answer, context) >= 0.9,
        "contradiction": False,
        "correctness": share(data.get("reference_answer", ""), answer) >= 0.3,
    }
    label = lambda truth: "true" if truth else "false"
    said = {}
    for name, shape in schema["properties"].items():
        if name == "chunks":
            ids = shape["items"]["properties"]["id"]["enum"]
            relevant = {id: share(question, chunks[int(id.removeprefix("chunk_"))]) >= 0.4 for id in ids}
            said[name] = [{"id": id, "label": label(relevant[id])} for id in ids]
        elif name == "unsupported_sentences":
            said[name] = [] if holds["groundedness"] else [answer]
        else:
            said[name] = label(holds[name])
    return said


class Deployment(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.reply(200, {"data": [{"id": "judge"}]})

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self.headers.get("api-key") != KEY:
            self.reply(401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key."}})
        elif self.path != "/openai/v1/chat/completions":
            self.reply(404, {"error": {"code": "404", "message": "Resource not found"}})
        else:
            self.reply(200, self.completion(request))

    def completion(self, request):
        prompt = "\n".join(message["content"] for message in request["messages"])
        data = json.loads(DATA.search(prompt).group(2))
        said = judged(data, request["response_format"]["json_schema"]["schema"])
        message = {"role": "assistant", "content": json.dumps(said)}
        usage = {"prompt_tokens": len(prompt) // 4, "completion_tokens": 40}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return {"model": "model-behind-judge", "choices": [choice], "usage": usage}

    def reply(self, status, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Deployment)
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
