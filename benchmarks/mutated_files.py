"""Mutated files: seeds of every τ-ARGUS format, damaged and given to their readers; only our own errors may come out, soon and in little memory."""

from __future__ import annotations

import random
import resource
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType

import cellward as cw
from cellward.errors import CellwardError
from cellward.formats.hrc import read_hrc
from cellward.tauargus.batch import Batch
from cellward.tauargus.files.arb import read_arb
from cellward.tauargus.files.asc import read_asc
from cellward.tauargus.files.cdl import read_cdl
from cellward.tauargus.files.grc import closed, cut, read_grc
from cellward.tauargus.files.hst import read_hst
from cellward.tauargus.files.rda import read_rda
from cellward.tauargus.files.tab import TabSpec, read_tab

LIMIT_S = 5
"""A file that takes longer is a fault."""
MEMORY_MB = 512
"""More than this beside what the process holds at the start is a fault."""

FIXED = b"""Kind 1 1 9
  <RECODEABLE>
Place 3 2 "99"
  <RECODEABLE>
  <CODELIST> "place.cdl"
  <HIERARCHICAL>
  <HIERCODELIST> "C:\\old\\place.hrc"
  <HIERLEADSTRING> "@"
Code 6 3
  <RECODEABLE>
  <HIERARCHICAL>
  <HIERLEVELS> 2 1 0
  <DISTANCE> 1 2 3 4 5
W 10 3
  <WEIGHT>
V 14 5 99999
  <NUMERIC>
  <DECIMALS> 1
Asked 20 1
  <REQUEST> "1" "2"
"""
ASC = b"""1  1 111 1.0    90 0
1  1 112 2.0    10 1
2  2 111 1.0     7 0
3 10 121 1.5  5,25 0
9 10 122 1.0 99999 2
"""
FREE = b'<SEPARATOR> ","\nSex 6\n <RECODEABLE>\n <TOTCODE> "All"\nV 5 999\n <NUMERIC>\n <DECIMALS> 2\n'
FREE_ASC = b'  male, 12\r\r\nfemale,999\r\r\n"male",1.5,\r\r\n'
TABLE = b"""<SEPARATOR> ";"
<SAFE> "V"
P
 <RECODEABLE>
 <HIERARCHICAL>
 <HIERCODELIST> "place.hrc"
K
 <RECODEABLE>
 <TOTCODE> All
V
 <NUMERIC>
 <DECIMALS> 1
F
 <FREQUENCY>
C
 <NUMERIC> <COSTVAR>
T1
 <MAXSCORE>
X
 <STATUS>
L
 <NUMERIC> <LOWERPL>
U
 <NUMERIC> <UPPERPL>
"""
TAB = b""""Total";"All";22,5;9;22,5;8;V;;
"Total";"a";12,5;4;12,5;8;V;0,1;0,1
"Total";"b";10;5;10;5;V;0,1;0,1
"N";"All";11,5;4;11,5;8;U;2;3
"N";"a";8,5;1;8,5;8;U;;
"N";"b";3;3;3;1;P;;
" 1";"All";11,5;4;11,5;8;M;;
" 1";"a";8,5;1;8,5;8;V;;
" 1";"b";3;3;3;1;V;;
"S";"All";11;5;11;5;V;;
"S";"a";4;3;4;2;V;;
"S";"b";7;2;7;5;V;;
"10";"All";11;5;11;5;V;;
"10";"a";4;3;4;2;V;;
"10";"b";7;2;7;5;V;;
" 2";"b";-;-;;;E;;
"""
HRC = b"N\r\n@ 1\r\n@ 2\r\nS \r\n@10\r\n"
CDL = b" 1,Groningen\n 2,Friesland\n10,Zeeland\nN,North\n"
GRC = b'1: 1, 3-5\n2:-0,150-199,300-\n7:"2-7"\n<MISSING> 9, 8\n<CODELIST> "new.cdl"\n'
TREE = b"<TREERECODE>\nN\nS\n"
HST = b'1;;U\nN;"b";PL;10;12,5\n;a;C;3;\n10;b;P\n2;a;ML\n'
JJ = b"""0
4
0 10.5 1 s 0 100 0 0 0
1 4 2 u 0 100 1.5 2 0
2 3.5 1 m 0 100 0 0 0
3 3 1 z 0 100 0 0 0
1
0 4 : 0 (-1) 1 (1) 2 (1) 3 (1)
"""
FRQ = b"9 0\n4 2\n3 1\n2 0\n"
ARB = b"""//a batch
<LOGBOOK> "log.txt"
<OPENMICRODATA> "data.asc"
<OPENMETADATA> "data.rda"
<SPECIFYTABLE> "Kind""Place"|"V"||-2|1
<SAFETYRULE> NK(2,75)|P(20,1)|FREQ(3,20)|ZERO(2)|REQ(10,10,0,5)|WGT(1)|MIS(1)|MAN(30)
<SPECIFYTABLE> "Code"|"<freq>"
<SAFETYRULE> FREQ(2,0)
<READMICRODATA>
<RECODE> 1, Kind, "kind.grc"
<RECODE> 1, Place, 1
<APRIORI> "a.hst",1,";",1,1
<SOLVER> FREE
<SUPPRESS> RND(1,5,1,1,0,2,1)
<WRITETABLE> (1,3,AS+FL+SE-QU+,"out.txt")
<WRITETABLE> (2,6,,"out.jj")
<CLEAR>
<OPENTABLEDATA> "t.tab"
<OPENMETADATA> "t.rda"
<SPECIFYTABLE> "P""K"|"V"||"C"
<READTABLE> 1T
<SUPPRESS> OPT(1,5)
<GOINTERACTIVE>
"""
WORDS = [
    b"<", b">", b'"', b"|", b";", b",", b"\n", b"\r", b"\r\r\n", b"\t", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xe2\x82\xac", b"\xed\xa0\x80",
    b"-", b"--", b"0", b"-1", b"1e9", b"1e-15", b"9" * 20, b"9" * 400, b"1e999999999", b"nan", b"inf", b".", b"1.2.3", b"()", b"((((",
    b"@@@@", b"//", b"\\\\", b"../", b"/dev/null", b"CON", b"Total", b"All", b"<NUMERIC>", b"<RECODEABLE>", b"<SEPARATOR>", b"<HIERLEVELS>",
    b"<DECIMALS>", b"<STATUS>", b"<TREERECODE>", b"<CLEAR>", b"<SPECIFYTABLE>", b"RND(1,5)", b"CTA(1)", b"2147483648", b" " * 50,
    b"18446744073709551616", b"x" * 3000,
]  # fmt: skip
"""What is put in."""


def mutate(data: bytes, draw: random.Random) -> bytes:
    """A seed, damaged one to eight times."""
    out = bytearray(data)
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        kind, size = draw.randrange(9), len(out)
        at = draw.randrange(size + 1)
        upto = min(size, at + draw.choice((1, 1, 2, 5, 20, 200)))
        if kind == 0 and size:
            out[draw.randrange(size)] = draw.randrange(256)
        elif kind == 1:
            del out[at:upto]
        elif kind in (2, 3):
            out[at:at] = draw.choice(WORDS)
        elif kind == 4:
            out[at:upto] = draw.choice(WORDS)
        elif kind == 5:
            out[at:at] = out[draw.randrange(size + 1) :][: draw.choice((3, 30, 300))]
        elif kind == 6:
            lines = bytes(out).split(b"\n")
            draw.shuffle(lines) if draw.random() < 0.2 else lines.insert(
                draw.randrange(len(lines) + 1), draw.choice(lines)
            )
            out = bytearray(b"\n".join(lines))
        elif kind == 7:
            lines = bytes(out).split(b"\n")
            lines.pop(draw.randrange(len(lines)))
            out = bytearray(b"\n".join(lines))
        else:
            del out[at:]
    return bytes(out[:20_000])


@dataclass
class Found:
    """What came of the files of one reader."""

    files: int = 0
    read: int = 0
    slowest_s: float = 0.0
    seconds: float = 0.0
    memory_mb: float = 0.0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Reader:
    """A reader, and its seeds: files by name of which one is damaged."""

    seeds: tuple[tuple[str, dict[str, bytes]], ...]
    read: Callable[[Path], object]


_PLACE = {"place.hrc": HRC, "place.cdl": CDL}
_RECORDS = {"data.rda": FIXED, "data.asc": ASC, **_PLACE}
_CELLS = {"t.rda": TABLE, "t.tab": TAB, **_PLACE}
_BATCH = {"b.arb": ARB, "kind.grc": b"7:1-3\n", "a.hst": HST, **_RECORDS, **_CELLS}


def _recode(folder: Path) -> None:
    recoding = read_grc(folder / "g.grc")
    tree = cw.Hierarchy.from_dict({"Total": {"N": ["1", "2"], "S": ["10"]}})
    recoding.new_codes(["  1", "2", "150", "x"], 3) if not recoding.is_tree else closed(tree, recoding.close, "here")
    cut(tree, 1)


def _compute(folder: Path) -> None:
    metadata = read_rda(folder / "t.rda", "table")
    read_tab(folder / "t.tab", metadata, TabSpec(totals="compute"))


_RUN = {**_BATCH, "b.arb": ARB.replace(b"<SUPPRESS> OPT(1,5)\n", b'<WRITETABLE> (1,5,AR+,"out.tab")\n')}
_RUN["data.asc"] = ASC.replace(b"99999", b"    4")
_RUN["b.arb"] = _RUN["b.arb"].replace(b"RND(1,5,", b"RND(1,500,")
_RUN["a.hst"] = b"7;N;U\n;S;PL;10;12,5\n9;;C;3\n7;S;ML\n"

WHOLE = Reader(
    tuple((name, _RUN) for name in ("b.arb", "b.arb", "data.asc", "data.rda", "a.hst", "t.tab", "t.rda", "place.hrc")),
    lambda f: Batch(f / "b.arb").run(),
)
"""Batches carried out from the files to the outputs; slower, so on fewer files."""

READERS: dict[str, Reader] = {
    ".rda": Reader((("data.rda", _RECORDS), ("t.rda", _CELLS), ("f.rda", {"f.rda": FREE})), lambda f: [read_rda(p) for p in f.glob("*.rda")]),
    ".asc fixed": Reader((("data.asc", _RECORDS), ("data.rda", _RECORDS)), lambda f: read_asc(f / "data.asc", read_rda(f / "data.rda", "records"))),
    ".asc separated": Reader(
        (("f.asc", {"f.rda": FREE, "f.asc": FREE_ASC}), ("f.rda", {"f.rda": FREE, "f.asc": FREE_ASC})),
        lambda f: read_asc(f / "f.asc", read_rda(f / "f.rda", "records")),
    ),
    ".tab": Reader((("t.tab", _CELLS), ("t.tab", _CELLS), ("t.rda", _CELLS), ("place.hrc", _CELLS)), lambda f: cw.read(f / "t.tab")),
    ".tab, totals computed": Reader((("t.tab", _CELLS), ("t.rda", _CELLS)), _compute),
    ".hrc": Reader((("h.hrc", {"h.hrc": HRC}),), lambda f: read_hrc(f / "h.hrc", repeated="by line")),
    ".cdl": Reader((("c.cdl", {"c.cdl": CDL}),), lambda f: read_cdl(f / "c.cdl")),
    ".grc": Reader((("g.grc", {"g.grc": GRC}), ("g.grc", {"g.grc": TREE})), _recode),
    ".hst": Reader((("a.hst", {"a.hst": HST}),), lambda f: read_hst(f / "a.hst", 2)),
    ".jj and .frq": Reader((("j.jj", {"j.jj": JJ, "j.jj.frq": FRQ}), ("j.jj.frq", {"j.jj": JJ, "j.jj.frq": FRQ})), lambda f: cw.read(f / "j.jj")),
    ".arb": Reader((("b.arb", {"b.arb": ARB}),), lambda f: read_arb(f / "b.arb")),
    ".arb, looked through": Reader((("b.arb", _BATCH), ("b.arb", _BATCH), ("data.rda", _BATCH)), lambda f: Batch(f / "b.arb")),
}  # fmt: skip


class _TooSlowError(BaseException):
    """A file took too long."""


def _alarm(_signal: int, _frame: FrameType | None) -> None:
    raise _TooSlowError


def damage(reader: Reader, files: int, seed: int) -> Found:
    """Give so many damaged files to a reader."""
    draw, found = random.Random(seed), Found()
    before = signal.signal(signal.SIGALRM, _alarm)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    memory_disk = Path("/dev/shm")
    with tempfile.TemporaryDirectory(prefix="cellward-", dir=memory_disk if memory_disk.is_dir() else None) as name:
        folders = []
        for k, (damaged, others) in enumerate(reader.seeds):
            folder = Path(name) / str(k)
            folder.mkdir()
            for file, content in others.items():
                (folder / file).write_bytes(content)
            folders.append((folder, damaged, others[damaged]))
        for number in range(files):
            folder, damaged, content = folders[number % len(folders)]
            data = mutate(content, draw)
            (folder / damaged).write_bytes(data)
            began = time.perf_counter()
            signal.setitimer(signal.ITIMER_REAL, LIMIT_S)
            try:
                reader.read(folder)
                found.read += 1
            except CellwardError as error:
                if "\n" in str(error) or not str(error).isprintable():
                    found.faults.append(f"{damaged}: a message of several lines from {data[:200]!r}")
            except _TooSlowError:
                found.faults.append(f"{damaged}: longer than {LIMIT_S} s, {data[:200]!r}")
            except Exception as error:  # noqa: BLE001 (that is what is looked for)
                found.faults.append(f"{damaged}: {type(error).__name__}: {error}, from {data[:300]!r}")
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            found.slowest_s = max(found.slowest_s, time.perf_counter() - began)
            found.files += 1
            if len(found.faults) >= 20:
                break
    signal.signal(signal.SIGALRM, before)
    found.seconds = time.perf_counter() - started
    found.memory_mb = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory) / 1024
    if found.memory_mb > MEMORY_MB:
        found.faults.append(f"{found.memory_mb:.0f} MB more than before")
    return found


def kinds_of_faults(found: Found) -> Counter[str]:
    """The faults by their first words."""
    return Counter(fault.split(",")[0][:120] for fault in found.faults)


if __name__ == "__main__":
    import sys

    many = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for name, reader in {**READERS, "whole": WHOLE}.items():
        if len(sys.argv) > 2 and name not in sys.argv[2:]:
            continue
        found = damage(reader, many, seed=many)
        print(
            f"{name}: {found.files} files, {found.read} read, slowest {found.slowest_s:.3f} s, {found.seconds:.1f} s, "
            f"+{found.memory_mb:.0f} MB, {len(found.faults)} faults",
            flush=True,
        )
        for fault in found.faults[:5]:
            print("   ", fault[:600])
