#!/usr/bin/env python3
"""Writes a page of the site for each notebook: its text, code, and the output and pictures that it keeps.

    docs/site/notebooks.py FOLDER
"""
import base64
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def page(file, folder):
    parts = []
    for number, cell in enumerate(json.loads(file.read_text(encoding="utf-8"))["cells"]):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            if output["output_type"] == "stream":
                parts.append(f"```text\n{''.join(output['text']).rstrip()}\n```")
            elif "image/png" in output.get("data", {}):
                picture = f"{file.stem}_{number}.png"
                (folder / picture).write_bytes(base64.b64decode("".join(output["data"]["image/png"])))
                parts.append(f"![The figure of the cell above]({picture})")
    parts.append(f"*From `notebooks/{file.name}`, executed by `tools/notebooks.py`.*")
    return "\n\n".join(parts) + "\n"


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for file in sorted((ROOT / "notebooks").glob("*.ipynb")):
        (folder / f"{file.stem}.md").write_text(page(file, folder), encoding="utf-8")


if __name__ == "__main__":
    main()
