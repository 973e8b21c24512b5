# SPDX-License-Identifier: GPL-2.0
#
# tlbscope ceiling: from rows to the recommendation, out of a made-up run whose break-evens are known;
# what it refuses; and what runs of the plan on this machine come to.

load helpers

# made_up DIR: rows of target module, 200 n cycles one by one, 1000 + 28 a line by a full flush; what the first
# page drops of 2m pages is everything. So n* is 5 without a set, and (1000 + 28 W) / 200 with one of 4k.
made_up() {
	mkdir -p "$1"
	awk 'BEGIN {
		ORS = "\r\n"
		print "run,target,accel,cpu,guest,host,host_how,op,class,at,count,leaves,touches,stride,phase,repeat,cycles,valid"
		for (repeat = 1; repeat <= 3; repeat++)
			for (guest = 0; guest < 2; guest++)
				for (w = guest ? 64 : 0; w <= 256; w = w ? 4 * w : 64)
					cell()
	}
	function row(op, class, n, cycles) {
		print "made-up,module,native,a CPU," (guest ? "2m" : "4k") ",none,," op "," class "," \
			(class == "selective" ? "mapped" : "none") "," n "," (w ? w : 1) "," (w ? w : 1) "," \
			(guest ? 2097152 : 4096) "," (w ? "both" : "op") "," repeat "," cycles ",ok"
	}
	function cell() {
		row("none", "none", 1, 500)
		row("cr3", "full", 1, 1500 + 28 * w + repeat % 2)
		for (n = 1; n <= 512; n *= 2)
			row("invlpg", "selective", n, 500 + 200 * n + guest * 28 * w + (n + repeat) % 3)
	}' >"$1/rows.csv"
	printf '{"machine": {"tsc_hz": 2e9}}\n' >"$1/run.json"
}

# record: 1000 flushes of 1 page, 100 of 20, 10 full, a millisecond apart.
record() {
	awk 'BEGIN {
		for (i = 0; i < 1110; i++) {
			pages = i < 1000 ? 1 : i < 1100 ? 20 : -1
			printf "  make-77      [001] d..1.  %.6f: tlb_flush: pages:%d reason:local mm shootdown (3)\n",
				50 + i / 1000, pages
		}
	}'
}

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	made_up results/ceiling-module-1
	record >flushes.txt
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

# json PATH: a value of the JSON on stdin, by python's index syntax.
json() {
	python3 -c "import json, sys; print(json.load(sys.stdin)$1)"
}

@test "break-evens, F, and a recommendation with its policy" {
	run -0 tlbscope ceiling results/ceiling-module-1
	[[ $output =~ none\ +any\ +0\ +[0-9]\ \+\ 200.0\ n\ +[0-9]+\ +100[01]\ +[0-9]+\ +5.0 ]]
	[[ $output =~ none\ +4k\ +64\ .*\ 14\.0\ .*\ 0\.00 ]]
	[[ $output =~ none\ +4k\ +256\ .*\ 40\.8\ .*\ 0\.00 ]]
	[[ $output =~ none\ +2m\ +256\ .*\ 5\.0\ .*\ 1\.00 ]]
	says "Policy:" "Scope:" "INVLPGB" "perf record -a -e tlb:tlb_flush" \
		"and yet one by one is cheaper up to n = "
	says_not nan inf
	[ "$(awk 'length > 100 && !/    echo/' <<<"$output")" = "" ]
}

@test "without a name it takes the newest run of the plan in results" {
	made_up results/ceiling-module-2
	touch -d 2020-01-01 results/ceiling-module-2/rows.csv
	run -0 tlbscope ceiling
	says results/ceiling-module-1
	touch results/ceiling-module-2/rows.csv
	run -0 tlbscope ceiling
	says results/ceiling-module-2
	rm -r results/ceiling-module-2
	cd /
	run -2 tlbscope ceiling
	says "no run named" "tlbscope run ceiling"
}

# of_tcg DIR: the made-up run as if it were an emulator's, all of its times not valid.
of_tcg() {
	mkdir -p "$1"
	sed 's/,module,native,/,tcg,tcg,/; s/,ok\r$/,emulated-cpu\r/' results/ceiling-module-1/rows.csv >"$1/rows.csv"
}

# flushing_calls DIR: a run of target user where every call flushes: of 10 rows 8 are not valid.
flushing_calls() {
	mkdir -p "$1"
	awk 'BEGIN {
		ORS = "\r\n"
		print "run,target,accel,cpu,guest,host,op,class,at,count,leaves,touches,phase,repeat,cycles,op_cycles,valid"
		for (repeat = 1; repeat <= 2; repeat++) {
			row("none", "none", "none", 1, 100, "", "ok")
			for (n = 1; n <= 2; n++) {
				row("mprotect-twin", "none", "mapped", n, 900, 1000, "no-contrast+syscall-flush")
				row("mprotect", "selective", "mapped", n, 910, 1400, "no-contrast+syscall-flush")
			}
		}
	}
	function row(op, class, at, n, cycles, call, valid) {
		print "calls,user,native,a CPU,4k,none," op "," class "," at "," n ",16,16,retouch," repeat "," cycles \
			"," call "," valid
	}' >"$1/rows.csv"
}

@test "without a name: what cannot tell hides no run that can" {
	of_tcg results/ceiling-tcg-2
	flushing_calls results/ceiling-user-2
	touch -d 2020-01-01 results/ceiling-module-1/rows.csv
	run -0 tlbscope ceiling
	says "not results/ceiling-tcg-2: target tcg is QEMU's soft TLB, not hardware: an emulator's cycles give no" \
		"not results/ceiling-user-2: 8 of 10 rows" "results/ceiling-module-1: target module"
	# With those only: which were looked at, why not, the remedy, and no way back to where one was.
	mv results/ceiling-module-1 kept
	run -5 --separate-stderr tlbscope ceiling
	mv kept results/ceiling-module-1
	[ "$output" = "" ]
	# shellcheck disable=SC2154 # set by run
	output=$stderr
	says "not results/ceiling-tcg-2:" "not results/ceiling-user-2:" "every system call empties the TLB" \
		"use the target module or kvm" "none of the results/ceiling-* tells a break-even (2 looked at" \
		"tlbscope doctor"
	says_not "tlbscope run ceiling"
	rm -r results/ceiling-tcg-2 results/ceiling-user-2
}

# Rows of ring 0 of a kernel that QEMU emulates, which nobody marked: by their column accel, or by run.json.
@test "an emulator's rows give no break-even, whatever they are marked" {
	mkdir -p emulated vm
	sed 's/,module,native,/,module,tcg,/' results/ceiling-module-1/rows.csv >emulated/rows.csv
	cp results/ceiling-module-1/rows.csv vm
	echo '{"machine": {"tsc_hz": 2e9, "cpu": {"hypervisor_name": "TCGTCGTCGTCG"}}}' >vm/run.json
	for run in emulated vm; do
		run -5 --separate-stderr tlbscope ceiling $run
		[ "$output" = "" ]
		# shellcheck disable=SC2154 # set by run
		[[ $stderr == *"an emulator's cycles give no break-even"* ]]
		run -5 --separate-stderr tlbscope ceiling --json $run
		[ "$(jq -c '.runs[0].advice' <<<"$output")" = "[]" ]
		run -0 tlbscope report $run
		run -0 cat $run/report.html
		says "No break-even: target module is"
		says_not Recommendation
	done
}

@test "rows that are left out are as many as table counts" {
	flushing_calls calls
	run -5 tlbscope ceiling calls
	says "8 of 10 rows that a break-even needs are not valid (no-contrast+syscall-flush)"
	run -0 tlbscope table calls
	says "8 of 10 rows carry no verdict (column valid): no-contrast+syscall-flush."
}

@test "where only an emulator is left nothing is measured unasked" {
	# A plan that is for nothing else, so that it is the same on every machine.
	sed 's/^on = .*/on = tcg/; /^\[user/,$d' "${TLBSCOPE%/*}/../share/tlbscope/plans/ceiling.plan" >ceiling.plan
	grep -q '^on = tcg' ceiling.plan
	local before
	before=$(listing .)
	run -5 tlbscope run ./ceiling.plan
	says "target tcg is all that is left, an emulator" "nothing was measured" "--on tcg tries the path"
	[ "$before" = "$(listing .)" ]
}

@test "where only an emulator is left each better target is told with its remedy" {
	tlbscope doctor --json | python3 -c '
import json, sys
sys.exit(any(t["unasked"] for t in json.load(sys.stdin)["targets"] if t["name"] != "tcg"))' ||
		skip "this machine has a better target"
	local before remedy
	before=$(listing .)
	run -5 tlbscope run ceiling
	says "not on kvm: " "not on module: " "not on user: " "--on tcg tries the path"
	[ "$before" = "$(listing .)" ]
	tlbscope doctor --json >doctor.json
	while read -r remedy; do
		grep -qF "\"remedy_id\": \"$remedy\"" doctor.json
	done < <(sed -n 's/^not on .*\[\([a-z.0-9-]*\)\].*/\1/p' <<<"$output")
	[ "$(grep -c '^not on .*; .*\[' <<<"$output")" = 3 ]
}

@test "weighed by a record: cycles a second by hand, per cent of a core" {
	run -0 tlbscope ceiling results/ceiling-module-1 --flushes flushes.txt
	says "1110 flushes in 1.109 s" "whatever the ceiling: 0 at a change" \
		"which the record does not tell: 10"
	# Without a set: 1000 x 200 + 110 x 1000 = 310,000 with 20 pages fully, 610,000 one by one.
	tlbscope ceiling results/ceiling-module-1 --flushes flushes.txt --json >weighed.json
	python3 - <<-'END'
		import json
		run = json.load(open("weighed.json"))["runs"][0]
		cell = run["cells"][0]
		at = {int(x["ceiling"]): x["cycles"] for x in cell["expected"]["by_ceiling"]}
		assert abs(at[1] - 310000) < 2000, at
		assert abs(at[16] - 310000) < 2000, at
		assert abs(at[33] - 610000) < 4000, at
		best = cell["expected"]["best"]
		assert (best["from"], best["to"]) == (1, 19), best
		assert abs(best["percent_of_core"] - at[1] / 1.109 / 2e9 * 100) < 1e-6, best
		assert run["flushes"]["flushes"] == 1110
	END
	# Without the TSC's frequency no per cent is invented.
	mkdir -p plain
	cp results/ceiling-module-1/rows.csv plain
	run -0 tlbscope ceiling plain --flushes flushes.txt
	says "No per cent of a core"
	# Nor is a frequency taken that no TSC has.
	for hz in 1 1e300 9.9e7 1.1e11 -2e9 '"fast"'; do
		printf '{"machine": {"tsc_hz": %s}}\n' "$hz" >plain/run.json
		run -0 tlbscope ceiling plain --flushes flushes.txt
		says "No per cent of a core"
	done
	printf '{"machine": {"tsc_hz": 1e8}}\n' >plain/run.json
	run -0 tlbscope ceiling plain --flushes flushes.txt
	says_not "No per cent of a core"
}

@test "a record that is none is refused with file and line" {
	sed '3s/pages:.*/pages:what/' flushes.txt >bad.txt
	refused ceiling results/ceiling-module-1 --flushes bad.txt
	says "bad.txt:3:"
	echo "nothing" >bad.txt
	refused ceiling results/ceiling-module-1 --flushes bad.txt
	says "bad.txt: no tlb_flush event" "perf record"
	refused ceiling results/ceiling-module-1 --flushes missing.txt
	says "missing.txt: No such file"
	refused ceiling results/ceiling-module-1 --flushes bad.txt --flushes bad.txt
	refused ceiling nowhere
}

@test "several runs: each is told, and what one lacks does not hide the others" {
	mkdir -p lacking
	grep -v ',cr3,' results/ceiling-module-1/rows.csv >lacking/rows.csv
	run -2 tlbscope ceiling lacking results/ceiling-module-1
	says "lacking: no valid full flush (op cr3) beside invlpg" "results/ceiling-module-1: target module"
	[ "$(tlbscope ceiling --json lacking results/ceiling-module-1 2>/dev/null |
		json '["runs"][0]["advice"]')" = "[]" ]
	awk -F, 'NR == 1 || $8 != "invlpg" || $11 == 4' results/ceiling-module-1/rows.csv >lacking/rows.csv
	refused ceiling lacking
	says "one number of pages only (4)"
}

@test "a picture for each host page" {
	need gnuplot gnuplot-nox
	run -0 tlbscope plot results/ceiling-module-1
	says results/ceiling-module-1/ceiling.svg
	says_not warning
	[ -s results/ceiling-module-1/ceiling.png ]
	grep -q '256 lines' results/ceiling-module-1/ceiling.svg
	grep -q 'n\* 41' results/ceiling-module-1/ceiling.svg
}

@test "picture: labels of n* stand in their panel" {
	need gnuplot gnuplot-nox
	tlbscope plot results/ceiling-module-1
	python3 - results/ceiling-module-1/ceiling.svg <<-'END'
		import re, sys
		svg = open(sys.argv[1]).read()
		texts = re.findall(r'translate\(([\d.]+),([\d.]+)\)"[^>]*text-anchor="(\w+)">\s*<text>(.*?)</text>', svg, re.S)
		texts = [(float(x), float(y), how, re.sub(r"<[^>]*>", "", text).strip()) for x, y, how, text in texts]
		# A panel is as wide as its axis: from the tick of 1 to that of 256, and some more.
		ticks = sorted({x for x, y, how, text in texts if text in ("1", "256")})
		panels = list(zip(ticks[::2], ticks[1::2]))
		labels = [t for t in texts if t[3].startswith("n*")]
		assert len(panels) == 3 and len(labels) == 5, (panels, labels)
		for x, y, how, text in labels:
		    wide = 6.2 * len(text)  # of DejaVu Sans 9
		    left = x if how == "start" else x - wide if how == "end" else x - wide / 2
		    assert any(a - 15 <= left and left + wide <= b + 40 for a, b in panels), (text, x, how, panels)
		# and none lies on another
		assert len({(round(x), round(y)) for x, y, how, text in labels}) == 5, labels
	END
}

@test "report: the page has the tables of the terminal" {
	tlbscope report results/ceiling-module-1 2>/dev/null
	page() {
		sed -e 's/<\/t[dh]>/|/g' -e 's/<[^>]*>//g' -e "s/&#39;/'/g; s/&quot;/\"/g; s/&gt;/>/g; s/&lt;/</g"
	}
	sed '/<details>/,/<\/details>/d' results/ceiling-module-1/report.html >open.html
	run -0 page <open.html
	# 1000 / 200 = 5; (1000 + 28 x 64) / 200 = 14.0; (1000 + 28 x 256) / 200 = 40.8
	says "host|page|lines|n one by one|resid.|full|resid.|n*|95 % interval|beyond|F|"
	[[ $output =~ none\|any\|0\|[0-9]\ \+\ 200.0\ n\|[0-9]+\|100[01]\|[0-9]+\|5.0\| ]]
	[[ $output =~ none\|4k\|64\|[^$'\n']*\|14.0\|1[34].[0-9]\ to\ 14.[0-9]\|\|0.00\| ]]
	[[ $output =~ none\|4k\|256\|[^$'\n']*\|40.8\|40.[0-9]\ to\ 4[01].[0-9]\|\|0.00\| ]]
	[[ $output =~ none\|2m\|256\|[^$'\n']*\|5.0\|[0-9.]*\ to\ 5.[0-9]\|\|1.00\| ]]
	# Under 0 the worst flush is the first page of 2 x 4k: 1000 + 28 x 256 - 200 = 7968.
	says "ceiling|0|8|16|33|64|128|256|" "worst loss|79" "Policy: which working set" "Fieller's interval" \
		"Scope: the cost of a flush" "INVLPGB" "sudo tee /etc/tmpfiles.d/tlb-ceiling.conf" \
		"none|4k|64|500|cr3|279" "|passed|"
	# Sentences are the terminal's own.
	tlbscope ceiling results/ceiling-module-1 | tr '\n' ' ' >terminal.txt
	local sentence
	while read -r sentence; do
		grep -qF -- "$sentence" terminal.txt || {
			echo "not on the terminal: $sentence"
			return 1
		}
	done < <(page <open.html | sed -n '/^Net TSC cycles/,/^PTI: /p' | grep -E '^(Net|F:|2m pages|Policy|The second|Scope)')
	# The rows that it is made of are there, but folded.
	says_not "invlpg mapped x512"
	run -0 page <results/ceiling-module-1/report.html
	says "invlpg mapped x512" "Every cell and op that it is made of"
	need tidy tidy
	run tidy -quiet -errors results/ceiling-module-1/report.html
	[ "$(grep -v '<title> proprietary attribute "id"' <<<"$output")" = "" ]
}

@test "report: rows left out and why; no page of an emulator's break-even" {
	mkdir -p left
	sed '2s/,ok\r$/,op-exits\r/' results/ceiling-module-1/rows.csv >left/rows.csv
	tlbscope report left 2>/dev/null
	run -0 cat left/report.html
	says "1 of 180 rows that a break-even needs are not valid (op-exits) and left out."
	of_tcg emulated
	tlbscope report emulated 2>/dev/null
	run -0 cat emulated/report.html
	says "No break-even: target tcg is QEMU&#39;s soft TLB, not hardware: an emulator&#39;s cycles give no break-even"
	says_not "Recommendation, host page" "95 % interval" "sudo tee"
}

@test "the plan on tcg: every cell works, and refills make no ceiling" {
	need_qemu
	# Not 256 leaves: QEMU resizes its TLB by the clock and may have no room for them for a while.
	run -0 tcg ceiling --leaves 16,64 --out tcg
	# The one line that says why there is no answer, and no command that fails.
	says "No break-even:" "an emulator's cycles give no break-even" "results: tcg"
	says_not "tlbscope ceiling tcg" "page flushed" "run ceiling"
	every tcg refills 0 op=invlpg
	every tcg refills 0 op=none
	every tcg refills 16 op=cr3 leaves=16
	every tcg refills 64 op=pge leaves=64
	[ "$(values tcg count op=invlpg guest=2m leaves=64 | tr '\n' ' ')" = "1 8 64 512 " ]
	run -5 tlbscope ceiling tcg
	says "an emulator's cycles give no break-even"
	# Cycles of an emulator become no number, even when they are asked for.
	run -0 tcg ceiling --phase op,both --leaves 16 --iterations 2 --repeats 1 --out tcg-cycles
	run -5 tlbscope ceiling tcg-cycles
	says "an emulator's cycles give no break-even"
}

@test "controls at many counts" {
	mkdir many
	awk '!/,none,none,none,1,/ { print }
		/,none,none,none,1,/ {
			for (n = 1; n <= 60; n++) {
				line = $0
				sub(/,none,none,none,1,/, ",none,none,none," n ",", line)
				print line
			}
		}' results/ceiling-module-1/rows.csv >many/rows.csv
	run tlbscope ceiling many
	[ "$status" -le 5 ]
	says_not Sanitizer
	run tlbscope plot many
	says_not Sanitizer
}

@test "the plan on user: a break-even, or the reason why not" {
	run -0 tlbscope run ceiling --on user --guest 4k --leaves 16 --iterations 20 --repeats 1 --out user
	echo "$output" >run.out
	run tlbscope ceiling user
	if [ "$status" -eq 0 ]; then
		grep -q "Recommendation, host page" run.out
	else
		# the same reason, without the run's name, and without advice to do what was just done
		output=${output#tlbscope: user: }
		[ "$(sed -n 's/^No break-even: //p' run.out)" = "${output%; tlbscope run ceiling *}" ]
	fi
	run tlbscope ceiling user
	if [ "$status" -eq 0 ]; then
		says "mprotect, up to the kernel's ceiling" "Recommendation, host page"
	else
		[ "$status" -eq 5 ]
		says "rows that a break-even needs are not valid"
	fi
}
