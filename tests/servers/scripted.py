"""A stdio MCP server that does exactly what its options say: raw JSON-RPC, standard library only, both eras.

Messages are handled strictly one after the other, so a test needs no waiting: once a later request is answered,
everything sent before it stands in `--log`. Only a held handshake is answered from a thread of its own, so that the
server goes on reading and ends at once when its standard input does.

| request | `--era legacy` | `--era modern` | `--era both` |
| --- | --- | --- | --- |
| `server/discover` | error -32601 | answered | answered |
| `initialize` | answered | error -32022 | answered |
| with the `_meta` envelope | the envelope means nothing | modern | modern |
| without it | legacy, once initialized | error -32602 | legacy, once initialized |
"""

import argparse
import base64
import fcntl
import json
import os
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO

Json = dict[str, Any]

LEGACY = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN = "2026-07-28"
KEY = "io.modelcontextprotocol/"
ENVELOPE = {KEY + "protocolVersion", KEY + "clientInfo", KEY + "clientCapabilities"}
PIXEL = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
NOISE = (
    b"starting up ...\n",
    b"\n",
    b"  \r\n",
    b"caf\xe9 \xff\xfe\n",
    b'{"level": "info", "msg": "log line"}\n',
    b"42\n",
)


class Refusal(Exception):  # noqa: N818 - it becomes the answer, nothing has gone wrong
    """A JSON-RPC error to answer with."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.body: Json = {"code": code, "message": message} | ({} if data is None else {"data": data})


def text_result(text: str, **rest: Any) -> Json:
    return {"content": [{"type": "text", "text": text}], **rest}


def tool(name: str, description: str, properties: Json, **rest: Any) -> Json:
    schema = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    return {"name": name, "description": description, "inputSchema": schema, **rest}


TOOLS = [
    tool("echo", "Give a text back. It comes back unchanged.", {"text": {"type": "string", "description": "any text"}}),
    tool("add", "Add two integers.", {"a": {"type": "integer"}, "b": {"type": "integer"}}),
    tool(
        "rich",
        "Answer with every kind of content there is, and with fields that no model knows.",
        {"failed": {"type": "boolean", "description": "whether the result says isError"}},
        title="Rich content",
        annotations={"readOnlyHint": True, "category": "unknown to the specification"},
        icons=[{"src": "data:image/png;base64," + PIXEL, "futureField": "unknown"}],
        _meta={"example.test/tool": {"kept": True}},
        futureField=["unknown"],
    ),
    tool(
        "slow",
        "Report three steps of progress, then answer if it is to finish, else wait until it is cancelled.",
        {"finish": {"type": "boolean"}},
    ),
    tool("env", "The environment this server runs in, as JSON.", {}, annotations={"readOnlyHint": True}),
    tool("stop", "Exit in the middle of this call.", {}, annotations={"destructiveHint": True}),
]
GROW = tool("grow", "Add one more tool to the list.", {})
BAD_TOOLS: list[Any] = [
    "not an object",
    None,
    {"description": "a tool without a name", "inputSchema": {"type": "object"}},
    {"name": 7, "inputSchema": {"type": "object"}},
    {"name": "", "inputSchema": {"type": "object"}},
    {"name": "bad_no_schema"},
    {"name": "bad_schema_text", "inputSchema": "object"},
    {"name": "bad_schema_type", "inputSchema": {"type": "array"}},
    {"name": "bad_schema_invalid", "inputSchema": {"type": "object", "properties": {"a": {"type": "no such type"}}}},
    {"name": "bad_description", "description": 3, "inputSchema": {"type": "object"}},
    {"name": "echo", "description": "the name of a good tool once more", "inputSchema": {"type": "object"}},
]


def rich_result(failed: bool) -> Json:
    """Every kind of content, with unknown fields at every level that a proxy might rebuild."""
    embedded = {"uri": "test://text", "mimeType": "text/plain", "text": "embedded", "futureField": 1}
    return {
        "content": [
            {"type": "text", "text": "größe ☃ \u0000 \ud83d\ude00", "annotations": {"audience": ["user"], "mood": 1}},
            {"type": "image", "data": PIXEL, "mimeType": "image/png", "name": "unknown here"},
            {"type": "audio", "data": PIXEL, "mimeType": "audio/wav", "_meta": {"example.test/audio": 0.5}},
            {"type": "resource", "resource": embedded, "futureField": None},
            {"type": "resource", "resource": {"uri": "test://blob", "blob": PIXEL}},
            {"type": "resource_link", "uri": "test://link", "name": "link", "size": 10**15, "futureField": []},
        ],
        "structuredContent": {"nested": {"list": [1, 2.5, None, True]}, "isError": "only a name"},
        "isError": failed,
        "_meta": {"example.test/result": {"deep": [{"kept": "yes"}]}},
        "futureField": {"unknown": ["to", "everyone"]},
    }


class Server:
    """One connection over standard input and output."""

    def __init__(self, options: argparse.Namespace, out: BinaryIO) -> None:
        self.options, self.out = options, out
        self.writing = threading.Lock()
        self.initialized = self.ready = False
        self.first = True
        self.held = bool(options.barrier or options.wait_for)
        self.listening: dict[Any, Json] = {}
        self.tools: list[Any] = [*TOOLS, *([GROW] if options.change else [])]
        for number in range(1, options.tools + 1):
            self.tools.append(tool(f"tool_{number:03}", f"Filler number {number}.", {"text": {"type": "string"}}))
        if options.bad_tool:
            self.tools[1:1] = BAD_TOOLS

    def send(self, message: Json) -> None:
        line = json.dumps({"jsonrpc": "2.0", **message}).encode()
        with self.writing:
            if self.options.noise:
                line = (b"\xef\xbb\xbf" if self.first else b"") + line + b"\r"
                self.first = False
                self.out.writelines(NOISE)
            self.out.write(line + b"\n")
            self.out.flush()

    def receive(self, message: Json) -> None:
        method, params = message.get("method"), message.get("params", {})
        if method == "notifications/initialized":
            self.ready = self.initialized
        elif method == "notifications/cancelled":
            self.listening.pop(params.get("requestId"), None)
        elif method in ("server/discover", "initialize") and self.held:
            threading.Thread(target=self.answer_when_released, args=(message,), daemon=True).start()
        elif "id" in message and isinstance(method, str):
            self.answer(message, method, params)

    def answer_when_released(self, message: Json) -> None:
        if self.options.barrier:
            wait_at_barrier(self.options.barrier, self.options.name)
        if self.options.wait_for:
            self.options.wait_for.read_bytes()  # of a FIFO: blocks until a writer has opened and closed it
        self.held = False
        self.answer(message, message["method"], message.get("params", {}))

    def answer(self, message: Json, method: str, params: Json) -> None:
        try:
            result = self.result(message["id"], method, params)
        except Refusal as refusal:
            self.send({"id": message["id"], "error": refusal.body})
            return
        if result is not None:
            self.send({"id": message["id"], "result": result})

    def result(self, request_id: Any, method: str, params: Json) -> Json | None:
        """What to answer with now, or None where the answer comes never or later."""
        if method == "initialize":
            return self.initialize(params)
        modern = self.is_modern(method, params)
        complete = {"resultType": "complete"} if modern else {}
        fresh = {"ttlMs": 0, "cacheScope": "private"} if modern else {}
        match method:
            case "server/discover" if modern:
                return {**self.introduction("_meta"), "supportedVersions": [MODERN], **complete, **fresh}
            case "subscriptions/listen" if modern:
                return self.listen(request_id, params["notifications"])
            case "ping":
                return complete
            case "tools/list":
                return {**self.page(params.get("cursor")), **complete, **fresh}
            case "tools/call":
                result = self.call(params["name"], params.get("arguments", {}), params.get("_meta", {}))
                return None if result is None else {**result, **complete}
        raise Refusal(-32601, f"no method `{method}`")

    def is_modern(self, method: str, params: Json) -> bool:
        """Which era a request is of; refuses one of an era that this server does not speak."""
        meta = params.get("_meta", {})
        if self.options.era != "legacy" and KEY + "protocolVersion" in meta:
            if missing := ENVELOPE - meta.keys():
                raise Refusal(-32602, f"the envelope lacks {sorted(missing)}")
            if (wanted := meta[KEY + "protocolVersion"]) != MODERN:
                raise Refusal(-32022, f"no version `{wanted}`", {"supported": [MODERN], "requested": wanted})
            return True
        if self.options.era == "modern":
            raise Refusal(-32602, "the request has no envelope")
        if method not in ("server/discover", "ping") and not self.ready:
            raise Refusal(-32600, f"`{method}` before the connection was initialized")
        return False

    def introduction(self, place: str) -> Json:
        info = {"name": self.options.name, "version": "1.2.3", "futureField": True}
        capabilities = {"tools": {"listChanged": self.options.change}, "experimental": {"scripted": {}}}
        named = {KEY + "serverInfo": info} if place == "_meta" else info
        return {"capabilities": capabilities, "instructions": f"This is {self.options.name}.", place: named}

    def initialize(self, params: Json) -> Json:
        wanted = params.get("protocolVersion")
        if self.options.era == "modern":
            raise Refusal(-32022, f"no version `{wanted}`", {"supported": [MODERN], "requested": wanted})
        self.initialized = True
        return {**self.introduction("serverInfo"), "protocolVersion": wanted if wanted in LEGACY else LEGACY[-1]}

    def listen(self, request_id: Any, wanted: Json) -> Json | None:
        honored = {"toolsListChanged": True} if wanted.get("toolsListChanged") and self.options.change else {}
        self.listening[request_id] = honored
        stamp = {KEY + "subscriptionId": request_id}
        params = {"notifications": honored, "_meta": stamp}
        self.send({"method": "notifications/subscriptions/acknowledged", "params": params})
        return None

    def announce(self) -> None:
        """Say that the list has changed, on every way that somebody asked for."""
        changed = {"method": "notifications/tools/list_changed"}
        if self.ready:
            self.send(changed)
        for request_id, honored in self.listening.items():
            if honored:
                self.send({**changed, "params": {"_meta": {KEY + "subscriptionId": request_id}}})

    def page(self, cursor: str | None) -> Json:
        start = int(cursor or 0)
        end = start + self.options.page if self.options.page else len(self.tools)
        more = {"nextCursor": str(end)} if end < len(self.tools) else {}
        return {"tools": self.tools[start:end], **more}

    def call(self, name: str, arguments: Json, meta: Json) -> Json | None:
        match name:
            case "echo":
                return text_result(arguments["text"])
            case "add":
                return text_result(str(arguments["a"] + arguments["b"]))
            case "rich":
                return rich_result(arguments["failed"])
            case "slow":
                return self.slow(arguments["finish"], meta.get("progressToken"))
            case "env":
                return text_result(json.dumps(dict(os.environ)))
            case "stop":
                sys.exit(7)
            case "grow" if self.options.change:
                self.tools.append(tool(f"grown_{len(self.tools)}", "A tool that came later.", {}))
                self.announce()
                return text_result("grown")
            case _ if name.startswith(("tool_", "grown_")):
                return text_result(f"{name}: {json.dumps(arguments)}")
        raise Refusal(-32602, f"no tool `{name}`")

    def slow(self, finish: bool, token: Any) -> Json | None:
        for step in (1, 2, 3) if token is not None else ():
            params = {"progressToken": token, "progress": step, "total": 3, "message": f"step {step}", "futureField": 1}
            self.send({"method": "notifications/progress", "params": params})
        return text_result("done") if finish else None


def wait_at_barrier(barrier: str, name: str) -> None:
    """Return once as many servers as `FOLDER:COUNT` says have come here; each needs a name of its own.

    Every server leaves a FIFO. Under the lock exactly one finds itself the last, and opens those of all the others.
    """
    folder, count = barrier.rsplit(":", 1)
    mine = Path(folder, f"{name}.fifo")
    with Path(folder, "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not mine.exists():
            os.mkfifo(mine)
        arrived = sorted(Path(folder).glob("*.fifo"))
    if len(arrived) < int(count):
        mine.read_bytes()
        return
    for other in arrived:
        if other != mine:
            other.write_bytes(b"")


def parser() -> argparse.ArgumentParser:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    flag: Any = options.add_argument
    flag("--name", default="scripted", help="what it says its name is")
    flag("--tools", type=int, default=0, metavar="N", help="so many more tools: tool_001, tool_002, ...")
    flag("--era", choices=("legacy", "modern", "both"), default="both")
    flag("--page", type=int, default=0, metavar="N", help="list so many tools a page")
    flag("--log", type=Path, metavar="FILE", help="append every message that comes, one JSON line each")
    flag("--barrier", metavar="FOLDER:N", help="answer the handshake when N servers have got theirs")
    flag("--wait-for", type=Path, metavar="FIFO", help="answer the handshake when somebody has written to this FIFO")
    flag("--die-on-discover", action="store_true", help="exit on server/discover, as some servers do")
    flag("--never", action="store_true", help="read everything, answer nothing")
    flag("--exit", action="store_true", help="say why on stderr and exit at once")
    flag("--noise", action="store_true", help="write what is no message between the messages; CRLF, a BOM")
    flag("--bad-tool", action="store_true", help="list broken tools among the good ones")
    flag("--change", action="store_true", help="have a tool `grow` that changes the list and says so")
    return options


def main() -> None:
    options = parser().parse_args()
    if options.exit:
        sys.exit(f"{options.name}: the database is locked")
    server = Server(options, sys.stdout.buffer)
    log = options.log.open("ab", buffering=0) if options.log else None
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if log:
            log.write(json.dumps(message).encode() + b"\n")
        if options.die_on_discover and message.get("method") == "server/discover":
            sys.exit(f"{options.name}: unknown method server/discover")
        if not options.never:
            server.receive(message)


if __name__ == "__main__":
    main()
