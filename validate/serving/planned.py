"""Predicts the points of `weft measure --serving` before anybody measured them.

    python3 planned.py WEFT CLUSTER [--model ...] > predictions_fifth.json        options as serving.py has them

Every point is written with a time of 1 us, and `weft validate` says what it predicts.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import measure_decode  # noqa: F401  it puts the companion's folder in the path
import serving
import weft_serving_blocks as blocks


def main():
    program, cluster, *rest = sys.argv[1:]
    options = serving.parser().parse_args(rest)
    shapes = [blocks.model_of(text) for text in options.model or blocks.DEFAULT_MODELS]
    points = blocks.points_of(shapes, sorted(set(options.tensor or [1])), options.layers, *serving.asked_places(options))
    with tempfile.TemporaryDirectory() as folder:
        file, result = pathlib.Path(folder, "planned.jsonl"), pathlib.Path(folder, "result.json")
        rows = [{"weft_measurements": 1, "kind": "header", "sequence": 0, "tool": "planned.py", "set": "serving",
                 "machine": {"gpus": [{"index": index, "name": "planned"} for index in range(max(options.tensor or [1]))]}}]
        rows += [{"sequence": place, **serving.record_of(point, [1.0, 1.0, 1.0], {})} for place, point in enumerate(points, start=1)]
        rows.append({"kind": "end", "sequence": len(rows), "reason": "finished", "measured": len(points), "planned": len(points), "elapsed_s": 0})
        file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        subprocess.run([program, "validate", "-q", file, "--cluster", cluster, "--json", result], check=True, stdout=subprocess.DEVNULL)
        found = json.loads(result.read_text(encoding="utf-8"))["points"]
    json.dump({"cluster": cluster, "options": rest, "predicted_us": {point.id: row.get("predicted_us", row.get("predicted_ns", 0) / 1e3)
                                                                      for point, row in zip(points, found)}}, sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
