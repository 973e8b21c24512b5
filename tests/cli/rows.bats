# SPDX-License-Identifier: GPL-2.0
#
# A rows.csv that something changed on the way: what it lacks, or cannot be, is an error or no verdict, never a
# result. The run is tests/data/fractured, whose verdict for host pages of 4k is large-only; of counters the events.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -r "$BATS_TEST_DIRNAME/../data/fractured" "$BATS_TEST_DIRNAME/../data/counters" .
	chmod -R u+w .
}

# changed SED-SCRIPT [RUN]: the run (fractured) with its rows changed, as directory a.
changed() {
	rm -rf a
	cp -r "${2:-fractured}" a
	sed -i "$1" a/rows.csv
	if cmp -s a/rows.csv "${2:-fractured}/rows.csv"; then
		echo "nothing changed: $1"
		return 1
	fi
}

# refused_change SED-SCRIPT TEXT...: the changed run is refused, with each TEXT.
refused_change() {
	local script=$1
	shift
	changed "$script" "${run:-fractured}"
	refused table a
	says "$@"
}

# The same by every reader.
refused_by_all() {
	local command
	refused_change "$@"
	shift
	for command in report plot ceiling 'compare fractured'; do
		# shellcheck disable=SC2086 # a command and what stands before the run
		refused $command a
		says "$@"
	done
}

# no_verdict REASON: of all 72 rows.
no_verdict() {
	run -0 tlbscope table a
	says "$1 of 72 rows carry no verdict (column valid): $2." "Host page 4k: no verdict"
	says_not large-only
	run -0 tlbscope table --json a
	says_not '"verdict": "large-only"'
	run -0 tlbscope report a
	says_not "the cached translations of all large"
	run -0 grep -c "$2" a/report.html
	run tlbscope compare fractured a # 6 where the change is told
	says "large-only -> undecided"
}

@test "what nobody judged is not ok" {
	run -0 tlbscope table fractured
	says "Host page 4k: large-only"
	changed 's/,ok\r$/,\r/'
	no_verdict 72 not-judged
	for valid in + ' ' ++ ok+ ok+ok; do
		changed "s/,ok\\r\$/,$valid\\r/"
		run -0 tlbscope table a
		says "72 of 72 rows carry no verdict (column valid): not-judged." "Host page 4k: no verdict"
	done
	run -0 tlbscope table a
	says "nobody has judged them"
	# a reason beside an ok is a reason
	changed 's/,ok\r$/,ok+nested\r/'
	no_verdict 72 nested
	# nor is there a break-even of such rows
	awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i; print; next }
		$column["phase"] == "retouch" { sub(/\r$/, ""); $column["phase"] = "op"; $NF = "\r"; print }' \
		fractured/rows.csv >a/rows.csv
	run -5 tlbscope ceiling a
	says not-judged
}

@test "controls are judged by their numbers, whatever column valid says" {
	# op none: 15 of 16 leaves came back
	changed '/,none,none,none,/s/,0,0,,0,,,,,0,/,15,0,,0,,,,,0,/'
	no_verdict 12 control-none
	# a full flush that left 47 of 50, 13 of 16 in place
	changed '/,cr3,full,.*,refill,/s/,\(50\|16\),0,,\(50\|16\),/,3,0,,\2,/'
	no_verdict 12 control-full
	# a reason that was there stays
	changed '/,none,none,none,/s/,0,0,,0,,,,,0,\(.*\),ok\r$/,15,0,,0,,,,,0,\1,backing\r/'
	run -0 tlbscope table a
	says backing+control-none
}

@test "numbers that cannot have been measured: file, line, column" {
	# line 2: none, 50 leaves; line 4: cr3; line 5: none in cycles
	refused_by_all '4s/,50,0,,50,/,999,0,,50,/' a/rows.csv:4: "column refills" 999
	refused_change '2s/,50,50,4096,/,fit,50,4096,/' a/rows.csv:2: "column leaves" fit
	refused_change '2s/,50,50,4096,/,18446744073709551615,50,4096,/' a/rows.csv:2: "column leaves"
	refused_change '2s/,50,50,4096,/,50,0,4096,/' a/rows.csv:2: "column touches"
	refused_change '2s/,50,50,4096,/,50,,4096,/' a/rows.csv:2: "column touches"
	refused_change '2s/,4k,verified,/,4K,verified,/' a/rows.csv:2: "column host" 4K
	refused_change '2s/,4k,verified,/,"4k\\nset x",verified,/' a/rows.csv:2: "column host"
	refused_change '5s/,300,/,310k,/' a/rows.csv:5: "column cycles" 310k
	refused_change '4s/,50,0,,50,/,0x32,0,,50,/' a/rows.csv:4: "column refills" 0x32
	# what target user measures, in a column of its own
	for column in f f_low op_cycles; do
		for value in 0x10 1e3 2k nan; do
			refused_change "1s/,backing,/,$column,/; s/,memfd,ok/,,ok/; 3s/,,ok/,$value,ok/" \
				a/rows.csv:3: "column $column" $value
		done
	done
	# axes keep what they take
	changed '2s/,50,50,4096,/,50,50,4k,/'
	run -0 tlbscope table a
	says "Host page 4k: large-only"
}

@test "a byte order mark is no part of a name" {
	awk -F, -v OFS=, '{ first = $1; $1 = $5; $5 = first; print }' fractured/rows.csv >swapped.csv
	head -c 6 swapped.csv | grep -q '^guest,'
	mkdir -p a
	{ printf '\xef\xbb\xbf' && cat swapped.csv; } >a/rows.csv
	run -0 tlbscope table a
	says "Host page 4k: large-only" "16 x 2m"
	run -0 tlbscope table --skip-bad-rows a
	says "Host page 4k: large-only"
	says_not "left out"
}

@test "columns without which a row has no meaning" {
	for column in target guest host op class at leaves touches phase valid; do
		refused_change "1s/\\b$column\\b/x$column/" a/rows.csv:1: "no column $column"
	done
	refused_by_all '1s/,guest,/,Guest,/' a/rows.csv:1: '"Guest" is not "guest"'
	refused_change '1s/,refills,/,Refills,/' a/rows.csv:1: '"Refills" is not "refills"'
	refused_change '1s/,host_how,/,host how,/' a/rows.csv:1: '"host how" is not "host_how"'
	refused_change '1s/,valid\r/,"valid "\r/' a/rows.csv:1: '"valid " is not "valid"'
	refused_change '2s/,none,none,none,/,,none,none,/' a/rows.csv:2: "column op"
	# what says nothing about a row's meaning may be missing, and blanks before a name are CSV's own
	changed '1s/,backing,/,note,/; 1s/,guest,/, guest,/'
	run -0 tlbscope table a
	says "Host page 4k: large-only"
}

# of_both FIRST SECOND: rows of the 4k cells with the beginning FIRST, of the 2m cells with SECOND.
of_both() {
	changed "s/^fractured,kvm,kvm,\([^,]*\),4k,/$1,\1,4k,/; s/^fractured,kvm,kvm,\([^,]*\),2m,/$2,\1,2m,/"
}

@test "a verdict takes both cells from one target, accelerator and CPU" {
	of_both r,module,native r,kvm,kvm
	run -0 tlbscope table a
	says "Host page 4k: no verdict: the 4k and the 2m cell come from different targets or CPUs."
	says_not large-only intact
	run -0 tlbscope report a
	run ! grep -q large-only a/report.html
	# an emulator's cells are none of hardware, wherever in the file they stand
	of_both r,kvm,kvm r,tcg,tcg
	run -0 tlbscope table a
	says "no verdict about hardware"
	says_not large-only intact
	of_both r,kvm,kvm r,kvm,tcg
	run -0 tlbscope table a
	says "no verdict about hardware"
	says_not large-only intact
	changed 's/Example CPU 1000,2m,/Other CPU,2m,/'
	run -0 tlbscope table a
	says "come from different targets or CPUs"
	says_not large-only
	# repeats of one op by two accelerators are no repeats of one thing
	changed '/,2m,4k,verified,.*,[13],[0-9]*,200,/s/^fractured,kvm,kvm/fractured,kvm,tcg/'
	run -0 tlbscope table a
	says_not large-only
}

@test "an event's value that cannot be read hides no other" {
	local run=counters name=DTLB_LOAD_MISSES.WALK_COMPLETED
	for value in n/a '"1,5"' inf nan 1e400 0x10 7. .5 1k; do
		refused_change "2s#,0.0010,,ok#,$value,,ok#" a/rows.csv:2: "column $name"
	done
	# counts have decimals, and a difference of two may lie a little below zero
	changed '2s#,0.0010,,ok#,-0.0003,,ok#; 3s/,0.0930,/,7,/' counters
	run -0 tlbscope table a
	says "$name, in an iteration"
	# a column of words is none of an event, and stands in nobody's way
	awk '{ sub(/\r$/, ""); sub(/,[^,]*$/, NR == 1 ? ",note&" : ",mine&"); print }' counters/rows.csv >a/rows.csv
	run -0 tlbscope table a
	says "$name, in an iteration"
	says_not "note, in an iteration"
}
