"""Runs `weft`, once for each command however often it is asked for, on a few processes at a time."""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import threading
import xml.etree.ElementTree as ElementTree

import errors

REFUSED = 2  # exit status of what a user could have known
# Such refusals are mistakes of these tests: a row that is refused always would else never be missed.
MISWRITTEN = re.compile(r"unknown (key|parameter|value|kind|option)|cannot read|needs a value|not well-formed|already exists")


class Weft:
    """`root` is the folder of the project, where commands run; `work` keeps the files that commands name."""

    def __init__(self, program, root, work, patience=300):
        self.program, self.root, self.work = str(program), pathlib.Path(root), pathlib.Path(work)
        self.patience = patience * float(os.environ.get("WEFT_TEST_PATIENCE", "1"))
        self.made = {}
        self.lock = threading.Lock()
        self.runs = 0

    def run(self, *arguments):
        """The result of a command as JSON, without the configuration that it repeats. Errors are `errors.Refused`."""
        result = json.loads(self.text(*arguments, "--json", "-"))
        result.pop("configuration", None)
        return result

    def series(self, kind, *arguments):
        """The points of `weft collective`, size by size."""
        return self.run("collective", kind, *arguments)["points"]

    def configuration(self, *arguments):
        return json.loads(self.text("topo", *arguments, "--json", "-"))["configuration"]

    def names(self, kind):
        """The first column of `weft list`."""
        return [line.split()[0] for line in self.text("list", kind).splitlines() if line.strip()]

    def links(self, *arguments):
        """Devices by name, and links, of `weft topo --graphml`: dictionaries of what is said of each."""
        tree = ElementTree.fromstring(self.text("topo", *arguments, "--graphml", "-"))
        space = "{http://graphml.graphdrawing.org/xmlns}"
        devices, links = {}, []
        for node in tree.iter(space + "node"):
            said = {data.get("key"): data.text for data in node}
            devices[node.get("id")] = said | {"host": int(said.get("host", -1))}
        for edge in tree.iter(space + "edge"):
            said = {data.get("key"): data.text for data in edge}
            links.append({"from": devices[edge.get("source")], "to": devices[edge.get("target")], "type": said["type"],
                          "rate": float(said["rate"]) / 8, "efficiency": float(said["efficiency"]),
                          "latency": float(said["latency"]) / 1e3})
        return {device["name"]: device for device in devices.values()}, links

    def file(self, name, content):
        """A file of this content, for commands to name; its name is that of its content, so that it can be kept."""
        text = content if isinstance(content, str) else json.dumps(content)
        path = self.work / f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:12]}.yaml"
        with self.lock:
            if not path.exists():
                self.work.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
        return os.path.relpath(path, self.root)

    def no_file(self, name, content):
        """The name of a database that is not there yet, for this content."""
        path = self.work / f"{name}_{hashlib.sha256(content.encode()).hexdigest()[:12]}.sqlite"
        path.unlink(missing_ok=True)
        return os.path.relpath(path, self.root)

    def relative_to_work(self, file):
        """A file of the project as the files of `work` name it."""
        return os.path.relpath(self.root / file, self.work)

    def shown(self, *arguments):
        """How a user repeats a command, from the root of the project."""
        return shlex.join([os.path.relpath(self.program, self.root), *map(str, arguments)])

    def text(self, *arguments):
        arguments = tuple(map(str, arguments))
        with self.lock:
            mine = arguments not in self.made
            future = self.made.setdefault(arguments, concurrent.futures.Future())
        if mine:
            try:
                future.set_result(self.answer(arguments))
            except Exception as error:  # whoever asks for it again gets it too
                future.set_exception(error)
        return future.result()

    def answer(self, arguments):
        with self.lock:
            self.runs += 1
        quiet = [] if arguments[0] == "list" else ["-q"]
        try:
            done = subprocess.run([self.program, *arguments, *quiet], cwd=self.root, capture_output=True, text=True,
                                  timeout=self.patience, check=False)
        except subprocess.TimeoutExpired:
            raise errors.Broken(f"no answer in {self.patience} s: {self.shown(*arguments)}") from None
        if done.returncode == REFUSED and not MISWRITTEN.search(done.stderr):
            raise errors.Refused(done.stderr.strip().splitlines()[0] if done.stderr.strip() else "refused without a word")
        if done.returncode != 0:
            raise errors.Broken(f"exit {done.returncode}: {self.shown(*arguments)}\n{done.stderr.strip()}")
        return done.stdout
