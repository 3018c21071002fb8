"""Writes what measure_decode.py measured as measurement files (docs/measurement_format.md), for `weft validate` and `weft calibrate`.

    python3 as_points.py measured/h200_later_decode_tp1.json -o h200_later.jsonl
    weft validate h200_later.jsonl --cluster h200x4
"""

import argparse
import json

import measure_decode
import serving  # which measure_decode has put in the path
import weft_serving_blocks as blocks

WARMUP = 5  # replays before the samples
SAMPLES = 15  # where a point does not say


def record(row, sequence):
    shape = measure_decode.shape_of(row["model"])
    point = blocks.Point(shape, row["layers"], row["tp"], row["batch"], row["tokens"], row["context"])
    times = row.get("times_us")
    made = serving.record_of(point, times or [row["us_min"], row["us"], row["us_max"]], {})
    made.update(median_us=row["us"], warmup=WARMUP, samples=len(times or []) or SAMPLES)
    if not times:  # quartiles of 15 samples are not known
        for key in ("p25_us", "p75_us", "samples_us", "mean_us"):
            del made[key]
    kind = made.pop("kind")
    return {"kind": kind, "sequence": sequence, **made}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("-o", "--output", required=True)
    args = parser.parse_args()
    with open(args.file, encoding="utf-8") as file:
        measured = json.load(file)
    nccl = [int(part) for part in measured["nccl"].split(".")]
    gpus = [{"index": index, "name": measured["gpu"]} for index in range(max(row["tp"] for row in measured["points"]))]
    rows = [{"weft_measurements": 1, "kind": "header", "sequence": 0, "tool": "measure_decode.py", "set": "serving",
             "machine": {"torch": measured["torch"], "nccl": nccl[0] * 10000 + nccl[1] * 100 + nccl[2], "gpus": gpus}}]
    rows += [record(row, sequence) for sequence, row in enumerate(measured["points"], start=1)]
    rows.append({"kind": "end", "sequence": len(rows), "reason": "finished", "measured": len(rows) - 1, "planned": len(rows) - 1,
                 "elapsed_s": 0})
    with open(args.output, "w", encoding="utf-8") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)


if __name__ == "__main__":
    main()
