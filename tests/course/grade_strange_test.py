#!/usr/bin/env python3
"""What people really hand in, a submission of each kind, and what `grade` makes of it.

grade_strange_test.py ROOT            makes the folder, grades it in the C locale, and looks at every document
grade_strange_test.py ROOT --make DIR only makes it, to be graded by hand
"""
import csv
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile

root = pathlib.Path(sys.argv[1]).resolve()
NAME = "ring_shift.cpp"
RIGHT = (root / "solutions/01_point_to_point" / NAME).read_text()
STUB = subprocess.run(["git", "show", f"HEAD:exercises/01_point_to_point/{NAME}"], cwd=root, capture_output=True, text=True).stdout
assert "    const int p =" in RIGHT
JOINS = "// joins%s#define J(a, b) a##b%s"
THROWS = "#include <stdexcept>\n#include <string>\n" + RIGHT.replace(
    "    const int p =", "    throw std::runtime_error(std::string(20000000, 'x'));\n    const int p =")
LONG = "namespace dist { int %s() { return 0; } }\n" % ("a" * 300000) + RIGHT
DEEP = "namespace dist { template <class A, class B> struct P {}; using A0 = int; %s int takes(A40*) { return 0; } }\n" % " ".join(
    f"using A{i + 1} = P<A{i}, A{i}>;" for i in range(40)) + RIGHT
NEAR = ["ring_shift.CPP", "ring_shift.cc", "ring_shift.cpp.txt", "ring_shift.hpp", "ring_shift", "my_ring_shift.cpp",
        "copy of ring_shift.cpp", "ringshift.cpp"]
DOS_TIME = (2026, 12, 1, 23, 30, 0)

# What each has to get: the state of ring_shift, or of no answer a word of its note
STATES = {
    "throws": "fail", "fork": "pass", "github": "pass", "lovelaceada_1234": "pass", "hopperg_77": "pass", "both": "pass", "capital": "pass",
    "TARRED": "pass", "jose": "not_run", "near": "pass", "cr": "forbidden", "lf": "forbidden", "crlf": "pass", "bom": "pass",
    "utf16": "not_run", "dos": "pass", "empty": "not_run", "untouched": "not_started",
    "long": "forbidden", "deep": "forbidden",
}
NOTES = [f"near: {name}: not taken; is it meant as ring_shift.cpp?" for name in NEAR] + [
    "old.rar: not taken: it is neither", "ring_shift.cpp: not taken: put it into a folder", "empty: no file of an exercise is in it",
]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def make(folder):
    write(folder / "throws" / NAME, THROWS)
    write(folder / "long" / NAME, LONG)
    write(folder / "deep" / NAME, DEEP)
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, check=True, capture_output=True, text=True).stdout
    with zipfile.ZipFile(folder / "github.zip", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as github:
        for name in filter(None, listed.split("\0")):
            text = (root / name).read_bytes()
            if name == f"exercises/01_point_to_point/{NAME}":
                text = RIGHT.encode()
            elif name.startswith("exercises/") and name.endswith(".cpp"):  # an instructor may have worked on them
                text = subprocess.run(["git", "show", f"HEAD:{name}"], cwd=root, check=True, capture_output=True).stdout
            write(folder / "fork" / name, text)
            github.writestr(f"shardlings-main/{name}", text)
    write(folder / "fork/.git/config", "")
    write(folder / "fork/build/release" / NAME, "made")
    write(folder / "lovelaceada_1234_56789_ring_shift.cpp", RIGHT)
    write(folder / "hopperg_LATE_77_88_ring_shift-1.cpp", RIGHT)
    write(folder / "both/notes.txt", "the answer is in the zip")
    for name, member in (("both.zip", NAME), ("capital.ZIP", NAME)):
        with zipfile.ZipFile(folder / name, "w") as zipped:
            zipped.writestr(member, RIGHT)
    with zipfile.ZipFile(folder / "jose.zip", "w") as zipped:
        zipped.writestr(f"José/{NAME}", RIGHT)
        zipped.writestr(f"old/{NAME}", STUB)
    write(folder / "right" / NAME, RIGHT)
    with tarfile.open(folder / "TARRED.TAR.GZ", "w:gz") as tarred:
        tarred.add(folder / "right" / NAME, f"a/{NAME}")
    shutil.rmtree(folder / "right")
    write(folder / "old.rar", "Rar!")
    write(folder / "near" / NAME, RIGHT)
    for name in NEAR:
        write(folder / "near" / name, "x")
    write(folder / "cr" / NAME, JOINS % ("\r", "\r") + RIGHT)
    write(folder / "lf" / NAME, JOINS % ("\n", "\n") + RIGHT)
    write(folder / "crlf" / NAME, RIGHT.replace("\n", "\r\n"))
    write(folder / "bom" / NAME, b"\xef\xbb\xbf" + RIGHT.encode())
    write(folder / "utf16" / NAME, RIGHT.encode("utf-16"))
    with zipfile.ZipFile(folder / "dos.zip", "w") as zipped:
        zipped.writestr(zipfile.ZipInfo(NAME, DOS_TIME), RIGHT)
    (folder / "empty").mkdir()
    write(folder / "untouched" / NAME, STUB)
    write(folder / NAME, RIGHT)


def grade(folder, out, **environment):
    due = folder.parent / "due.toml"
    due.write_text("due = 2026-12-01T23:59:00+01:00\nlost_per_day = 10\n")
    try:  # where there can be no sandbox, as in a chroot, the rest is tried without
        sandbox = subprocess.run(["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        sandbox = False
    words = [root / "shardlings", "grade", folder, *([] if sandbox else ["--no-sandbox"]), "--out", out, "--jobs", "2", "--seed", "7", "--due", due]
    ended = subprocess.run(words, env={**os.environ, **environment}, capture_output=True, text=True, errors="replace", timeout=600)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def look(out, said):
    rows = {row["submission"]: row for row in csv.DictReader(open(out / "results.csv")) if row["exercise"] == "ring_shift"}
    states = {name: row["status"] for name, row in rows.items()}
    assert states == STATES, {name: (states.get(name), STATES.get(name)) for name in {**states, **STATES} if states.get(name) != STATES.get(name)}
    page = (out / "report.html").read_text()
    for note in NOTES:
        assert f"to look at: {note}" in said, (note, said)
        assert note in page, note
    assert "José/ring_shift.cpp and old/ring_shift.cpp differ" in page
    assert "is UTF-16: it has to be saved as UTF-8" in page
    assert said.count("to look at: fork") == said.count("to look at: github") == 0, said
    assert rows["dos"]["days_late"] == "0", rows["dos"]  # a quarter of an hour early where it was due, whatever the grader's zone
    canvas = {row["Student"]: row["ID"] for row in csv.DictReader(open(out / "canvas.csv"))}
    assert canvas["lovelaceada_1234"] == "1234" and canvas["hopperg_77"] == "77" and canvas["both"] == "", canvas
    sizes = {file: file.stat().st_size for file in out.rglob("*") if file.is_file()}
    assert max(sizes.values()) < 1_000_000, max(sizes.items(), key=lambda item: item[1])
    assert all(size < 100_000 for file, size in sizes.items() if file.parent.name == "gradescope"), sizes
    for file in sizes:
        assert str(root) not in file.read_text(errors="replace"), f"{file} has a path of this machine"
        if file.suffix == ".json":
            json.loads(file.read_text())


if len(sys.argv) > 3:
    make(pathlib.Path(sys.argv[3]))
    sys.exit(0)
with tempfile.TemporaryDirectory() as name:
    place = pathlib.Path(name)
    (place / "in").mkdir()
    make(place / "in")
    look(place / "out", grade(place / "in", place / "out", LC_ALL="C", TZ="Asia/Tokyo"))
print(f"{len(STATES)} submissions have their grades, and {len(NOTES)} notes say what is in none")
