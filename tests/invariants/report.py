"""Counts comparisons, prints each failure with the commands that repeat it, and the table at the end."""


class Tally:
    def __init__(self, weft, exceptions, out):
        self.weft, self.exceptions, self.out = weft, exceptions, out
        self.rows = {}
        self.failed = 0

    def row(self, of):
        return self.rows.setdefault(of.name, {"count": 0, "failed": 0, "refused": 0, "largest": 0.0, "where": "",
                                              "excepted": {}, "reasons": {}})

    def print(self, text):
        print(text, file=self.out, flush=True)

    def add(self, of, comparison):
        row = self.row(of)
        row["count"] += 1
        if comparison.difference > row["largest"]:
            row["largest"], row["where"] = comparison.difference, self.weft.shown(*comparison.commands[0])
        if comparison.difference <= comparison.bound:
            return
        for exception in self.exceptions:
            if exception.covers(of.name, comparison):
                row["excepted"][exception.name] = row["excepted"].get(exception.name, 0) + 1
                return
        row["failed"] += 1
        self.failed += 1
        difference, bound = (f"{100 * each:.3g} %" for each in (comparison.difference, comparison.bound))
        self.print(f"FAILED {of.name}: {comparison.says}: {difference}, at most {bound}")
        for command in comparison.commands:
            self.print(f"  {self.weft.shown(*command)}")

    def broken(self, of, case, message):
        self.row(of)["failed"] += 1
        self.failed += 1
        self.print(f"FAILED {of.name}: {case}: {message}")

    def refused(self, of, _, message):
        row = self.row(of)
        row["refused"] += 1
        row["reasons"][message] = row["reasons"].get(message, 0) + 1

    def finish(self, of):
        """A property that compared nothing has proven nothing."""
        if self.row(of)["count"] == 0:
            self.failed += 1
            self.print(f"FAILED {of.name}: nothing was compared; refused: {self.row(of)['reasons']}")

    def table(self):
        self.print(f"\n{'property':<18} {'compared':>8} {'failed':>6} {'excepted':>8} {'refused':>7} {'largest':>9}  where")
        for name, row in self.rows.items():
            excepted = sum(row["excepted"].values())
            largest = f"{100 * row['largest']:.3g} %"
            counts = f"{row['count']:>8} {row['failed']:>6} {excepted:>8} {row['refused']:>7}"
            self.print(f"{name:<18} {counts} {largest:>9}  {row['where']}")
        for name, row in self.rows.items():
            for exception, count in row["excepted"].items():
                self.print(f"  {name}: exception '{exception}' {count} times")
        compared = sum(row["count"] for row in self.rows.values())
        self.print(f"{compared} comparisons of {self.weft.runs} runs, {self.failed} failed")
