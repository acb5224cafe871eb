#!/usr/bin/env python3
"""lint.py [--jobs N] [FILE...]: clang-format, clang-tidy and shellcheck over the tree; exits 1 and prints what they say.

clang-tidy takes seconds a file, so a clean result is remembered under the cache folder by the hash of the preprocessed
source and the configuration: an unchanged file is not analysed twice."""
import argparse
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/dev"
FOLDERS = ["lib", "service", "sidecar", "slo", "chaos", "cli"]
CACHE = pathlib.Path(os.environ.get("OUTRIGGER_CACHE", ROOT / "build")) / "clang-tidy"


def run(command, **options):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, **options)


def check_format():
    files = [str(p) for top in FOLDERS + ["tests", "bench", "examples"] for p in (ROOT / top).rglob("*") if p.suffix in {".h", ".cpp"}]
    result = run(["clang-format-19", "--dry-run", "--Werror", *files])
    return [] if result.returncode == 0 else [result.stderr + "\nformatting: run ./dev fmt"]


def check_shell():
    scripts = ["dev", ".ci/run", *sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tools").rglob("*.sh"))]
    result = run(["shellcheck", "-x", "-e", "SC1090,SC1091,SC2015,SC2016,SC2034,SC2154", *scripts])
    return [] if result.returncode == 0 else [result.stdout]


def tidy_command(entry):
    """The compiler's arguments without the precompiled header, which clang cannot read from GCC."""
    words = shlex.split(entry["command"])
    words = [w for w in words if "ccache" not in w]
    kept, skip = [], False
    for index, word in enumerate(words):
        if skip:
            skip = False
            continue
        if word == "-include" and "cmake_pch" in words[index + 1]:
            kept += ["-include", words[index + 1]]
            skip = True
        elif word in {"-o", "-c", "-MT", "-MF"}:
            skip = word in {"-o", "-MT", "-MF"}
        elif word in {"-MD", "-fpch-preprocess", "-Winvalid-pch", "-Werror"} or word == entry["file"]:
            continue
        else:
            kept.append(word)
    return kept[1:]


def check_source(entry, configuration):
    arguments = tidy_command(entry)
    directory = entry["directory"]
    preprocessed = subprocess.run(["clang++-19", *arguments, "-E", "-P", entry["file"]], cwd=directory, capture_output=True)
    key = hashlib.sha256(configuration + preprocessed.stdout).hexdigest()
    if preprocessed.returncode == 0 and (CACHE / key).exists():
        return None
    result = subprocess.run(["clang-tidy-19", "--quiet", entry["file"], "--", *arguments], cwd=directory, capture_output=True, text=True)
    if result.returncode == 0:
        CACHE.mkdir(parents=True, exist_ok=True)
        (CACHE / key).touch()
        return None
    return re.sub(r"^\d+ warnings? generated\.\n", "", result.stdout + result.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    problems = check_format() + check_shell()
    configuration = (ROOT / ".clang-tidy").read_bytes()
    wanted = {str((ROOT / f).resolve()) for f in options.files}
    entries = [e for e in json.loads((BUILD / "compile_commands.json").read_text())
               if pathlib.Path(e["file"]).is_relative_to(ROOT) and pathlib.Path(e["file"]).relative_to(ROOT).parts[0] in FOLDERS
               and (not wanted or e["file"] in wanted)]
    done = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for outcome in pool.map(lambda e: check_source(e, configuration), entries):
            done += 1
            if done % 20 == 0:
                print(f"clang-tidy: {done} of {len(entries)}", file=sys.stderr)
            if outcome:
                problems.append(outcome)
    print("\n".join(problems) if problems else f"{len(entries)} sources and the scripts are clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
