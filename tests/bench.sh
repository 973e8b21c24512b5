#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
#
# bench.sh PROGRAM: wall-clock time of `PROGRAM run fracture --on tcg` and of `PROGRAM report` on 100,000
# made-up rows, five times each; prints each and the median. The whole command is timed, start of
# QEMU and gnuplot and writing of results included, because that is what a user waits for.

set -u

program=${1:?usage: bench.sh PROGRAM}
runs=5
scratch=$(mktemp -d "${TMPDIR:-/tmp}/tlbscope-bench.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

LC_ALL=C
TIMEFORMAT=%3R

# timed NAME COMMAND...: the runs; %d in an argument is the number of the run.
timed() {
	local name=$1 i seconds
	shift
	for ((i = 1; i <= runs; i++)); do
		# The shell's own time goes to the group's stderr, the program's output to the log.
		if ! { time "${@//%d/$i}" >"$scratch/log" 2>&1 </dev/null; } 2>"$scratch/time.$i"; then
			cat "$scratch/log" >&2
			echo "bench: $name, run $i failed, see above" >&2
			exit 1
		fi
	done
	mapfile -t seconds < <(sort -n "$scratch"/time.*)
	echo "$name, $runs runs: ${seconds[*]} s; median ${seconds[runs / 2]} s"
}

# 2 host pages, 2 guest pages, 25 sizes of the set, 2 phases, 5 ops, 100 repeats: 100,000 rows.
make_rows() {
	awk 'BEGIN {
		print "run,target,accel,cpu,guest,host,host_how,op,class,at,leaves,phase,repeat,sequence,iterations,cycles,refills,off_median,valid"
		split("4k 2m", page); split("refill retouch", phase)
		split("none invlpg invlpg cr3 pge", op); split("none selective selective full full", class)
		split("none far mapped none none", at)
		for (r = 1; r <= 100; r++) for (h = 1; h <= 2; h++) for (g = 1; g <= 2; g++)
			for (l = 16; l < 41; l++) for (p = 1; p <= 2; p++) for (o = 1; o <= 5; o++)
				printf "many,kvm,kvm,Example,%s,%s,verified,%s,%s,%s,%d,%s,%d,%d,200,%s,%s,%s,ok\n",
					page[g], page[h], op[o], class[o], at[o], l, phase[p], r, ++n,
					p == 2 ? 10 * l + r + 200 * (o > 3) : "", p == 1 ? (o > 3 ? l : 0) : "",
					p == 1 ? 0 : ""
	}'
}

timed "fracture on tcg" "$program" run fracture --on tcg --out "$scratch/%d"
mkdir "$scratch/many" && make_rows >"$scratch/many/rows.csv" || exit 1
timed "report of 100,000 rows" "$program" report "$scratch/many"
