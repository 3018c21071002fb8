"""`weft view`: a page that stands by itself, in which a browser finds what the results have.

    view_test.py ROOT WEFT [--screenshots DIR]

Without a browser (Debian: chromium) the page is only read; what the browser would be asked is skipped and said.
"""

import argparse
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT, WEFT, SHOTS = None, None, None
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")
# A frame may take so long to draw: 60 a second are 16.7 ms, and a shared machine may have a third of a core to give.
FRAME_MS = 50.0

# Goes into the page behind its own script: draws every canvas at several zooms and says what it saw.
PROBE = """<script>
const seen = {sections: [...document.querySelectorAll("section > h2")].map((h) => h.textContent), views: []};
for (const view of window.weftViews) {
  view.now();
  const pixels = view.canvas.getContext("2d").getImageData(0, 0, view.canvas.width, view.canvas.height).data;
  const colours = new Set();
  for (let i = 0; i < pixels.length; i += 4 * 97) colours.add(pixels[i] << 16 | pixels[i + 1] << 8 | pixels[i + 2]);
  const inside = {};  // how many pixels have which opaque colour in the first row, in the middle of its height
  const ratio = window.devicePixelRatio, line = Math.round(24 * ratio) * view.canvas.width;
  for (let x = Math.round(160 * ratio); x < view.canvas.width; ++x) {
    const at = 4 * (line + x);
    const key = pixels.slice(at, at + 3).join(",");
    if (pixels[at + 3] === 255) inside[key] = (inside[key] || 0) + 1;
  }
  const frames = [];
  for (let i = 0; i < 8; ++i) {
    view.canvas.dispatchEvent(new WheelEvent("wheel", {deltaY: i < 5 ? -160 : 260, clientX: 700, clientY: 100, bubbles: true, cancelable: true}));
    view.now();
    frames.push(view.ms);
  }
  frames.sort((a, b) => a - b);
  seen.views.push({colours: colours.size, inside, frame_ms: frames[4]});
}
for (const input of document.querySelectorAll(".sliders input")) { input.value = input.max; input.dispatchEvent(new Event("input")); }
seen.tables = [...document.querySelectorAll(".pair table")].map((table) => table.textContent);
seen.plots = document.querySelectorAll(".uplot").length;
const note = document.createElement("pre");
note.id = "seen";
note.textContent = JSON.stringify(seen);
document.body.append(note);
</script>"""


def trace_of(ranks, streams, spans):
    """A Chrome trace in which every rank's streams are busy end to end: ranks x streams x spans events."""
    events = []
    for rank in range(ranks):
        events.append({"name": "process_name", "ph": "M", "pid": rank, "tid": 0, "args": {"name": f"rank {rank}"}})
        for stream in range(streams):
            events.append({"name": "thread_name", "ph": "M", "pid": rank, "tid": stream, "args": {"name": f"stream {stream}"}})
            events += [{"name": f"kernel {i % 7}", "cat": ["gemm", "attention", "communication"][i % 3], "ph": "X", "ts": 10 * i, "dur": 9,
                        "pid": rank, "tid": stream} for i in range(spans)]
    return {"traceEvents": events}


class View(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.holder = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.holder.name)
        cls.environment = dict(os.environ, WEFT_CONFIG_DIR=str(ROOT / "configs"))
        step = ROOT / "configs/scenarios/training/gpt_1f1b.yaml"
        cls.weft("run", step, "--json", "run.json", "--timeline", "step.json", "-q")
        cls.weft("collective", "all_reduce", "--cluster", "h200x4", "-b", "1K", "-e", "64M", "-f", "8", "--json", "calls.json", "-q")
        cls.weft("validate", ROOT / "tests/data/h200x4/all_reduce_4gpu.txt", "--cluster", "h200x4", "--json", "measured.json", "-q")
        (cls.folder / "sweep.yaml").write_text(
            "kind: sweep\nscenario: {cluster: h200x4, workload: {collectives: [{kind: all_reduce, bytes: 1 MiB}]}}\n"
            "grid: {\"workload.collectives[0].bytes\": [64 KiB, 1 MiB, 16 MiB], \"workload.collectives[0].ranks\": [2, 4]}\n"
            "metrics: [time_us, busbw_GBps, algorithm]\n", encoding="utf-8")
        cls.weft("sweep", "sweep.yaml", "--db", "s.sqlite", "--export", "json", "--to", "sweep.json", "-q")
        cls.files = ["run.json", "step.json", "calls.json", "measured.json", "sweep.json"]

    @classmethod
    def tearDownClass(cls):
        cls.holder.cleanup()

    @classmethod
    def weft(cls, *words, expect=0):
        done = subprocess.run([WEFT, *map(str, words)], cwd=cls.folder, env=cls.environment, capture_output=True, text=True, check=False)
        assert done.returncode == expect, f"{words}: {done.returncode}\n{done.stderr}"
        return done

    def page(self, *files):
        self.weft("view", *files, "-o", "page.html")
        return (self.folder / "page.html").read_text(encoding="utf-8")

    def browse(self, page, name, size="1400,3000"):
        """What PROBE saw, and the console's errors."""
        probed = self.folder / "probed.html"
        probed.write_text(page.replace("</body>", PROBE + "</body>"), encoding="utf-8")
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}", "--enable-logging=stderr",
                 f"--user-data-dir={self.folder / 'browser'}"]
        done = subprocess.run([BROWSER, *flags, "--virtual-time-budget=5000", "--dump-dom", probed.as_uri()], capture_output=True, text=True,
                              timeout=240, check=False)
        errors = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
        found = re.search(r'<pre id="seen">(.*?)</pre>', done.stdout, re.S)
        self.assertIsNotNone(found, f"the page's script did not end\n{errors}")
        if SHOTS:
            plain = self.folder / "plain.html"
            plain.write_text(page, encoding="utf-8")
            subprocess.run([BROWSER, *flags, "--virtual-time-budget=5000", f"--screenshot={SHOTS / name}", plain.as_uri()],
                           capture_output=True, timeout=240, check=False)
        return json.loads(html.unescape(found.group(1))), errors

    def test_stands_by_itself(self):
        page = self.page(*self.files)
        # Addresses are told in licences and data, and nothing is loaded from them.
        self.assertNotRegex(page.replace("\\u003c", ""), r"(?i)<(script|link|img|iframe)[^>]*\s(src|href)=")
        self.assertIn("default-src 'none'", page)
        self.assertNotRegex(page, r"\bfetch\(|XMLHttpRequest|WebSocket|\bimport\(")
        self.assertIn("MIT License", page)

    def test_holds_what_results_say(self):
        text = self.page(*self.files)
        data = json.loads(re.search(r'<script id="data" type="application/json">(.*?)</script>', text, re.S).group(1))
        run = json.loads((self.folder / "run.json").read_text(encoding="utf-8"))
        self.assertEqual([result["file"] for result in data["results"]], ["run.json", "calls.json", "measured.json", "sweep.json"])
        self.assertEqual(data["results"][0]["digest"], run["digest"])
        self.assertNotIn("configuration", data["results"][0])
        # 4 GPUs on one NVSwitch with one CPU and one NIC, as the cluster has them; one graph for all results on it.
        [graph] = data["topologies"]
        kinds = [graph["kinds"][device[1]] for device in graph["devices"]]
        self.assertEqual((kinds.count("gpu"), kinds.count("nvswitch")), (4, 1))
        names = {name for link in graph["links"] for name in link[4:]}
        self.assertLessEqual({link["name"] for link in run["hottest_links"]}, names)
        # Spans are those of the timeline, in whole nanoseconds.
        events = json.loads((self.folder / "step.json").read_text(encoding="utf-8"))["traceEvents"]
        spans = [event for event in events if event["ph"] == "X"]
        [timeline] = data["timelines"]
        self.assertEqual(sum(len(track["t"]) for track in timeline["tracks"]), len(spans))
        self.assertEqual(max(t + d for track in timeline["tracks"] for t, d in zip(track["t"], track["d"], strict=True)) // 1000,
                         round(max(event["ts"] + event["dur"] for event in spans) * 1e3) // 1000)

    def test_refuses_what_is_no_result(self):
        for text, why in (("{}", "is neither a result of weft nor a timeline"), ("[1", "neither"), ("[" * 100_000, "neither"), ("{\"command\": 1, \"digest\": []}", "")):
            (self.folder / "other.json").write_text(text, encoding="utf-8")
            if why:
                self.assertIn(why, self.weft("view", "other.json", expect=2).stderr)
            else:
                self.page("other.json")
        self.assertIn("cannot read 'none.json'", self.weft("view", "none.json", expect=2).stderr)

    def test_text_of_a_file_is_no_part_of_the_page(self):
        """A name with a script in it stays a text."""
        (self.folder / "bad.json").write_text(json.dumps({"command": "</script><script>alert(1)</script>", "digest": "<b>"}), encoding="utf-8")
        self.assertNotIn("<script>alert", self.page("bad.json"))
        self.weft("view", "bad.json", "--title", "<b>x</b>", "-o", "page.html")
        self.assertNotIn("<b>x", (self.folder / "page.html").read_text(encoding="utf-8"))

    @unittest.skipUnless(BROWSER, "no chromium")
    def test_a_browser_draws_every_part(self):
        seen, errors = self.browse(self.page(*self.files), "view.png")
        self.assertEqual(errors, [])
        for part in ("Results", "Collectives by size", "Where an iteration goes: run.json", "Timeline: step.json", "Topology: 4 x H200",
                     "What if: sweep.json"):
            self.assertIn(part, seen["sections"])
        self.assertEqual(seen["plots"], 2)
        for view in seen["views"]:
            self.assertGreater(view["colours"], 4)
        # Sliders at their ends: the last point of the sweep.
        last = json.loads((self.folder / "sweep.json").read_text(encoding="utf-8"))["points"][-1]
        self.assertIn(f"{last['time_us']:.6g}"[:5], seen["tables"][0].replace(",", ""))

    @unittest.skipUnless(BROWSER, "no chromium")
    def test_a_thousand_ranks_stay_smooth(self):
        (self.folder / "many.json").write_text(json.dumps(trace_of(1024, 2, 100)), encoding="utf-8")
        seen, errors = self.browse(self.page("many.json"), "view_1024.png", "1400,800")
        self.assertEqual(errors, [])
        [view] = seen["views"]
        self.assertGreater(view["colours"], 3)
        self.assertLess(view["frame_ms"], FRAME_MS)

    @unittest.skipUnless(BROWSER, "no chromium")
    def test_long_rows_stay_smooth_and_keep_the_colours_of_their_spans(self):
        """16 x 2 rows of 4,000 spans: three to a pixel, so a pixel has the colour of one, and is no mixture."""
        (self.folder / "long.json").write_text(json.dumps(trace_of(16, 2, 4000)), encoding="utf-8")
        seen, errors = self.browse(self.page("long.json"), "view_long.png", "1400,800")
        self.assertEqual(errors, [])
        [view] = seen["views"]
        self.assertLess(view["frame_ms"], FRAME_MS)
        inside = view["inside"]
        own = [inside.get(colour, 0) for colour in ("0,114,178", "213,94,0", "0,158,115")]
        self.assertGreater(min(own), 0)
        self.assertGreater(sum(own), 0.95 * sum(inside.values()))  # the rest lies below the lines of the axis


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("root", type=pathlib.Path)
    parser.add_argument("weft")
    parser.add_argument("--screenshots", type=pathlib.Path)
    arguments, rest = parser.parse_known_args()
    ROOT, WEFT, SHOTS = arguments.root.resolve(), str(pathlib.Path(arguments.weft).resolve()), arguments.screenshots
    unittest.main(argv=["view_test.py", *rest], verbosity=2)
