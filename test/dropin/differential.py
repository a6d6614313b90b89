#!/usr/bin/env python3
"""Random GraphBLAS programs, plain and through Tessera: every line they print must be the same.

SPDX-License-Identifier: Apache-2.0
"""
import argparse
import concurrent.futures
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FORCED = {"TESSERA_MODE": "cpu", "TESSERA_MIN_WORK": "0"}
ROUTED = re.compile(r'"route"\s*:\s*"(?!suitesparse)')
ON_GPU = re.compile(r'"route"\s*:\s*"(cuda|fake):')
CHECK_REPORT = re.compile(r"^tessera: CHECK: .* changed .* without a write hook", re.M)
CHECK_SUMMARY = re.compile(r"^tessera: CHECK: (\d+) fingerprints compared", re.M)
UNUSABLE = re.compile(r" crashed \(\d+\)$| broken | => -102 ")
ISO = re.compile(r" iso=[01]")
FORM = re.compile(r" form (\d+) of (\d+)")
REFUSAL = re.compile(r" info=-7003\b")
PANIC = re.compile(r" -101\b")
LINES_SHOWN = 3


def clean_environment(scratch):
    """No setting of the caller's may reach the programs; threads wait asleep, for tests run side by side."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("TESSERA_") and k != "LD_PRELOAD"}
    env.update(XDG_CONFIG_HOME=str(scratch), OMP_WAIT_POLICY="passive")
    return env


def modes(args):
    preload = {"LD_PRELOAD": str(args.library.resolve())}
    table = {
        "forced": (args.program, {**preload, **FORCED}),
        "auto": (args.program, {**preload, "TESSERA_MODE": "auto", **({"TESSERA_MIN_WORK": "0"} if args.cases else {})}),
        "check": (args.program, {**preload, **FORCED, "TESSERA_CHECK": "1"}),
        "eager": (args.program, {**preload, **FORCED, "TESSERA_EAGER": "1"}),
        "defer": (args.program, {**preload, **FORCED, "TESSERA_DEFER": "1"}),
    }
    if args.replacement:
        table["replaced"] = (args.program, {"LD_LIBRARY_PATH": str(args.replacement.resolve().parent), **FORCED})
    if args.linked:
        table["linked"] = (args.linked, dict(FORCED))
    if args.plugin:
        gpu = {**preload, **FORCED, "TESSERA_MODE": "gpu", "TESSERA_PLUGIN_DIR": str(args.plugin.resolve().parent)}
        table["gpu"] = (args.program, gpu)
        table["gpu-eager"] = (args.program, {**gpu, "TESSERA_EAGER": "1", "TESSERA_DEFER": "1"})
        table["gpu-check"] = (args.program, {**gpu, "TESSERA_CHECK": "1"})
        table["gpu-bmat"] = (args.program, {**gpu, "TESSERA_KERNEL": "bmat"})
        table["gpu-tight"] = (args.program, {**gpu, "TESSERA_DEVICE_MEMORY": "8K"})
        table["gpu-failing"] = (args.program, {**gpu, "TSR_EMULATE_FAIL_EVERY": str(args.fail_every)})
        table["gpu-lost"] = (args.program, gpu)
    if args.blind:
        table["check"][1]["TESSERA_CHECK_BLIND"] = args.blind
    chosen = args.modes.split(",") if args.modes else list(table)
    return {name: table[name] for name in chosen if name in table}


class Runner:
    def __init__(self, args, scratch):
        self.args = args
        self.scratch = scratch
        self.iso_lines = []
        self.other_forms = []
        self.env = clean_environment(scratch)

    def run(self, program, seed, extra, finish):
        command = ["timeout", str(self.args.timeout), "env"]
        command += [f"{name}={value}" for name, value in extra.items()]
        command += [str(program), "--seed", str(seed), "--ops", str(self.args.ops)]
        command += ["--large"] * self.args.large + ["--chains"] * self.args.chains + ["--whole"] * self.args.whole + ["--iso"] * self.args.iso
        command += ["--odd"] * self.args.odd
        command += ["--finish"] * finish
        done = subprocess.run(command, env=self.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", check=False)
        # What the library prints as it aborts may end a line within a case.
        return done.returncode, done.stdout.replace("\n crashed", " crashed").splitlines(), done.stderr

    def finishes(self, name):
        """Every call finishes its operands in CHECK mode, and some cases come out otherwise then, also without Tessera."""
        return self.args.cases and name.endswith("check")

    def reference(self, seed, finish):
        """The plain run; None when it crashes, hangs, or depends on memory it never wrote.  10.5 refuses some of its own results
        (GxB_OUTPUT_IS_READONLY), which the programs never ask for: what comes after that is not compared."""
        code, lines, _ = self.run(self.args.program, seed, {}, finish)
        return self.comparable(lines) if code == 0 else None

    def comparable(self, lines):
        """Up to the first refusal, which is the last line then; a case stands for itself."""
        first = next((n for n, line in enumerate(lines) if not self.args.cases and REFUSAL.search(line)), len(lines))
        return lines[:first + 1]

    def reference_is_stable(self, seed, lines):
        for extra in ({"MALLOC_PERTURB_": "85"}, {"MALLOC_PERTURB_": "170", "OMP_NUM_THREADS": "1"}):
            code, again, _ = self.run(self.args.program, seed, extra, False)
            if code != 0 or self.comparable(again) != lines:
                return False
        return True

    def without_unstable(self, seed, lines, finish):
        """Cases of a plain run; None in place of those that another plain run does not repeat."""
        for extra in ({"MALLOC_PERTURB_": "85"}, {"MALLOC_PERTURB_": "170", "OMP_NUM_THREADS": "1"}):
            _, again, _ = self.run(self.args.program, seed, extra, finish)
            again += [None] * (len(lines) - len(again))
            lines = [line if line == other else None for line, other in zip(lines, again)]
        return lines

    def routed(self, trace, name):
        wanted = ON_GPU if name.startswith("gpu") else ROUTED
        if not trace.exists():
            return 0
        with trace.open(errors="replace") as records:
            count = sum(1 for record in records if wanted.search(record))
        trace.unlink()
        return count

    def compare(self, seed, name, program, extra, expected):
        """(problem or None, products routed)"""
        if name == "gpu-lost":
            extra = {**extra, "TSR_EMULATE_LOST": str(losing_work(seed))}
        trace = self.scratch / f"trace-{seed}-{name}"
        code, lines, errors = self.run(program, seed, {**extra, "TESSERA_TRACE": str(trace)}, self.finishes(name))
        if self.args.spoil and name == "forced" and len(lines) > 20:
            lines[20] += " spoiled"
        routed = self.routed(trace, name)
        if not self.args.cases and expected and REFUSAL.search(expected[-1]):
            lines = lines[:len(expected) - 1] + expected[-1:]
        report = check_report(errors) if name.endswith("check") and code == 0 else None
        if self.args.cases:
            report = report if len(CHECK_REPORT.findall(errors)) > lost_cases(expected) else None  # it ended within them
            pairs = self.not_in_form(seed, name, self.not_as_finished(seed, name, different_cases(lines, expected)))
            if name == "gpu-lost":
                pairs = [(plain, ours) for plain, ours in pairs if not ends_in_panic(plain, ours or "")]
            if self.args.most_iso:
                pairs = self.more_than_iso(seed, name, pairs)
            return describe_cases(seed, name, pairs, errors) or report, routed
        if code == 0 and lines == expected:
            return report and f"seed {seed} {name}: {report}", routed
        other = sum(a != b for a, b in zip(lines, expected))
        if self.args.most_iso and code == 0 and [ISO.sub("", a) for a in lines] == [ISO.sub("", b) for b in expected]:
            self.iso_lines += [f"{seed} {name}"] * other
            return report and f"seed {seed} {name}: {report}", routed
        return describe(seed, name, code, lines, expected, errors), routed


    def not_as_finished(self, seed, name, pairs):
        """Modes that force our kernels inspect operands, which finishes them, also of calls that are forwarded then; what SuiteSparse by itself
        makes of finished operands is right there."""
        if not pairs or name == "auto":
            return pairs
        finished = set(self.run(self.args.program, seed, {}, True)[1])
        return [(plain, ours) for plain, ours in pairs if ours not in finished]

    def not_in_form(self, seed, name, pairs):
        """The cases that do not differ alone in forms that SuiteSparse's settings allow; the others are counted."""
        more = [(plain, ours) for plain, ours in pairs if not has_allowed_forms(plain, ours or "")]
        self.other_forms += [f"{seed} {name}"] * (len(pairs) - len(more))
        return more

    def more_than_iso(self, seed, name, pairs):
        """The cases that do not differ in which objects are iso alone; the others are counted."""
        more = [(plain, ours) for plain, ours in pairs if ISO.sub("", plain) != ISO.sub("", ours or "")]
        self.iso_lines += [f"{seed} {name}"] * (len(pairs) - len(more))
        return more


def lost_cases(expected):
    """Cases in which plain SuiteSparse damages its own objects or ends."""
    return sum(line is None or bool(UNUSABLE.search(line)) for line in expected)


def has_allowed_forms(plain, ours):
    """Between two of its thresholds SuiteSparse leaves contents in the form that it happened to compute them in, and where it edits in place, or has
    entries to delete, it does not ask for them.  Ours is at least one that the thresholds allow."""
    if FORM.sub("", plain) != FORM.sub("", ours):
        return False
    other = False  # an object has another form that is allowed: what SuiteSparse makes of it, as a resize of a bitmap, need not be what the settings say
    for (form, allowed), there in zip(FORM.findall(ours), FORM.findall(plain)):
        if (form, allowed) != there and not int(form) & int(allowed) and not other:
            return False
        other = other or (form, allowed) != there
    return True


def losing_work(seed):
    """Of how many allocations, copies and launches the emulated device does not survive the last."""
    return int(10 ** random.Random(seed).uniform(1, 3.7))


def ends_in_panic(plain, ours):
    """A case that needs what a lost device had alone says so, and all of it before that is the same."""
    steps, wanted = ours.split("; "), plain.split("; ")
    first = next((k for k, step in enumerate(steps) if PANIC.search(step)), None)
    return first is not None and has_allowed_forms("; ".join(wanted[:first]), "; ".join(steps[:first]))


def check_report(errors):
    """What CHECK mode found, or that it looked at nothing."""
    found = CHECK_REPORT.search(errors)
    if found:
        return found.group(0)
    summary = CHECK_SUMMARY.search(errors)
    return None if summary and int(summary.group(1)) > 0 else "no fingerprint was compared"


def describe(seed, name, code, lines, expected, errors):
    at = next((i for i, (a, b) in enumerate(zip(expected, lines)) if a != b), min(len(lines), len(expected)))
    text = [f"seed {seed} {name}: exit code {code}, first difference at output line {at + 1}"]
    text += ["    before:  " + line for line in expected[max(0, at - LINES_SHOWN):at]]
    text.append("    plain:   " + (expected[at] if at < len(expected) else "(end)"))
    text.append("    tessera: " + (lines[at] if at < len(lines) else "(end)"))
    text += ["    stderr:  " + line for line in errors.splitlines()[-LINES_SHOWN:]]
    return "\n".join(text)


def unusable(line):
    """A case that crashes, leaves a broken object, lacks memory or is refused without Tessera; None: that is not always the same."""
    return line is None or UNUSABLE.search(line) or REFUSAL.search(line)


def different_cases(lines, expected):
    """Each case is compared by itself; what the plain run cannot do is not."""
    lines = lines + [None] * (len(expected) - len(lines))
    return [(plain, ours) for plain, ours in zip(expected, lines) if not unusable(plain) and plain != ours]


def describe_cases(seed, name, pairs, errors):
    if not pairs:
        return None
    text = [f"seed {seed} {name}: {len(pairs)} cases differ"]
    for plain, ours in pairs[:LINES_SHOWN]:
        text += ["    plain:   " + plain, "    tessera: " + (ours or "(end)")]
    return "\n".join(text + ["    stderr:  " + line for line in errors.splitlines()[-LINES_SHOWN:]])


class Summary:
    def __init__(self):
        self.skipped = []
        self.refused = []
        self.unstable = []
        self.problems = []
        self.routed = {}
        self.compared = 0
        self.cases_lost = 0
        self.iso_lines = []
        self.other_forms = []


def one_seed(runner, table, seed):
    """Of each reference: what collect() takes."""
    parts = [{name: mode for name, mode in table.items() if runner.finishes(name) == finish} for finish in (False, True)]
    return [one_reference(runner, part, seed, finish) for finish, part in enumerate(parts) if part]


def one_reference(runner, table, seed, finish):
    expected = runner.reference(seed, finish)
    if expected is None:
        return seed, None, []
    results = [(name, *runner.compare(seed, name, program, extra, expected))
               for name, (program, extra) in table.items()]
    if not any(problem for _, problem, _ in results):
        return seed, expected, results
    if runner.args.cases:
        expected = runner.without_unstable(seed, expected, finish)
        results = [(name, *runner.compare(seed, name, program, extra, expected)) for name, (program, extra) in table.items()]
    elif not runner.reference_is_stable(seed, expected):
        return seed, expected, None
    return seed, expected, results


def collect(summary, seed, expected, results):
    if expected is None:
        summary.skipped.append(seed)
    elif results is None:
        summary.unstable.append(seed)
    else:
        summary.cases_lost += sum(1 for line in expected if unusable(line))
        if expected and expected[-1] and REFUSAL.search(expected[-1]):
            summary.refused.append(seed)
        for name, problem, routed in results:
            summary.compared += 1
            summary.routed[name] = summary.routed.get(name, 0) + routed
            if problem:
                summary.problems.append(problem)
                print(problem, flush=True)


def run_all(args, scratch):
    runner, table, summary = Runner(args, scratch), modes(args), Summary()
    seeds = range(args.first_seed, args.first_seed + args.programs)
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for results in pool.map(lambda seed: one_seed(runner, table, seed), seeds):
            for result in results:
                collect(summary, *result)
    summary.iso_lines = runner.iso_lines
    summary.other_forms = runner.other_forms
    return summary


def verdict(args, summary):
    """Exit status: differences, too many programs that could not be compared, or nothing routed at all."""
    if args.expect_difference:
        return 0 if summary.problems else 1
    failed = bool(summary.problems) or len(summary.iso_lines) > args.most_iso or len(summary.other_forms) > args.most_forms
    lost = len(summary.skipped) + len(summary.unstable)
    if summary.cases_lost > args.programs * args.ops // 20:
        print(f"too many cases crash or change without Tessera: {summary.cases_lost}")
        failed = True
    if lost > max(2, args.programs // 5):
        print(f"too many references failed: {lost} of {args.programs}")
        failed = True
    if args.min_routed:
        for name in ("forced", "check", "eager", "defer", "replaced", "linked", "gpu", "gpu-eager", "gpu-check", "gpu-failing"):
            if name in summary.routed and summary.routed[name] < args.min_routed:
                print(f"{name}: only {summary.routed[name]} products went to Tessera, expected {args.min_routed}")
                failed = True
    return 1 if failed else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=Path, required=True, help="random_program, linked with the real library")
    parser.add_argument("--library", type=Path, required=True, help="libtessera to preload")
    parser.add_argument("--replacement", type=Path, help="the replacement libgraphblas, in its directory")
    parser.add_argument("--plugin", type=Path, help="libtessera_cuda.so, for the gpu modes")
    parser.add_argument("--linked", type=Path, help="random_program linked with Tessera ahead of the real library")
    parser.add_argument("--programs", type=int, default=40)
    parser.add_argument("--ops", type=int, default=300)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--modes", help="comma-separated: forced,auto,check,eager,defer,replaced,linked,gpu,...")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=int, default=60)
    parser.add_argument("--large", action="store_true", help="every program has large objects")
    parser.add_argument("--chains", action="store_true", help="only chains of calls over dense objects")
    parser.add_argument("--whole", action="store_true", help="every program sorts, reshapes and serializes objects as well")
    parser.add_argument("--cases", action="store_true", help="the program is random_cases, whose lines stand for themselves")
    parser.add_argument("--iso", action="store_true", help="more objects are iso, and which are is printed and compared")
    parser.add_argument("--odd", action="store_true", help="of random_cases: objects, sizes and values that shortcuts might take for something else")
    parser.add_argument("--most-iso", type=int, default=0, help="lines that may differ in which objects are iso, and in nothing else")
    parser.add_argument("--most-forms", type=int, default=0, help="cases that may have another form of those that SuiteSparse's settings allow")
    parser.add_argument("--fail-every", type=int, default=7, help="mode gpu-failing: as many allocations of the emulated device, one fails")
    parser.add_argument("--min-routed", type=int, default=0, help="fail unless so many products are routed, per mode")
    parser.add_argument("--blind", help="self-test: CHECK mode without the write hooks of functions of this prefix")
    parser.add_argument("--expect-difference", action="store_true", help="self-test: fail unless something is found")
    parser.add_argument("--spoil", action="store_true", help="self-test: change one line, which must be found")
    return parser.parse_args()


def main():
    args = parse_arguments()
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tessera-differential-") as scratch:
        summary = run_all(args, Path(scratch))
    print(f"{args.programs} programs x {args.ops} operations: {summary.compared} comparisons, "
          f"{len(summary.problems)} differences, {len(summary.skipped)} references failed {summary.skipped}, "
          f"{len(summary.unstable)} unstable {summary.unstable}, {summary.cases_lost} cases lost, {time.monotonic() - start:.0f} s")
    if summary.refused:
        print(f"compared until SuiteSparse refuses a result of its own: {summary.refused}")
    if args.most_iso:
        print(f"{len(summary.iso_lines)} lines differ in iso alone, at most {args.most_iso} may: {summary.iso_lines}")
    if args.cases and args.iso:
        print(f"{len(summary.other_forms)} cases in another form that the settings allow, at most {args.most_forms} may: {summary.other_forms}")
    print("routed to Tessera:", ", ".join(f"{name} {count}" for name, count in sorted(summary.routed.items())))
    return verdict(args, summary)


if __name__ == "__main__":
    sys.exit(main())
