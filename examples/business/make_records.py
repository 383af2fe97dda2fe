"""Makes records.csv: invented firms with a turnover, an activity, a region and sometimes a holding; the same file every time."""

import csv
import random
from pathlib import Path

ACTIVITIES = ("A01", "A02", "B05", "B06", "B07", "C10", "C11", "C13", "C14", "F41", "F42")
REGIONS = ("N1", "N2", "N3", "S1", "S2")


def records(many: int = 260, seed: int = 7):
    """One record an establishment: firm, holding (or none), activity, region, turnover in thousands."""
    rng = random.Random(seed)
    for number in range(many):
        holding = f"H{rng.randrange(40):02}" if rng.random() < 0.25 else ""
        activity = rng.choices(ACTIVITIES, weights=range(len(ACTIVITIES), 0, -1))[0]
        yield f"F{number:04}", holding, activity, rng.choice(REGIONS), round(rng.lognormvariate(3.2, 1.2), 1)


if __name__ == "__main__":
    with (Path(__file__).parent / "records.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("firm", "holding", "activity", "region", "turnover"))
        writer.writerows(records())
