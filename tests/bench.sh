#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# bench.sh PROGRAM: wall-clock time of `PROGRAM run fracture --on tcg`, five times; prints each and
# the median. The whole command is timed, start of QEMU and writing of results included, because
# that is what a user waits for.

set -u

program=${1:?usage: bench.sh PROGRAM}
runs=5
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tlbscope-bench.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

LC_ALL=C
TIMEFORMAT=%3R
for ((i = 1; i <= runs; i++)); do
	# The shell's own time goes to the group's stderr, the program's output to the log.
	if ! { time "$program" run fracture --on tcg --out "$scratch/$i" \
		>"$scratch/log" 2>&1 </dev/null; } 2>"$scratch/time.$i"; then
		cat "$scratch/log" >&2
		echo "bench: run $i failed, see above" >&2
		exit 1
	fi
done
mapfile -t seconds < <(sort -n "$scratch"/time.*)
echo "fracture on tcg, $runs runs: ${seconds[*]} s; median ${seconds[runs / 2]} s"
