# SPDX-License-Identifier: GPL-2.0
#
# Counted events: the tables and pictures of a run that has some, software events of the real kernel on QEMU's
# vCPU thread and on this process, and what is said where nothing can be counted.

load helpers

DATA=$BATS_TEST_DIRNAME/../data/counters

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# The constructed run has, for host 4k, guest 2m: nothing flushed 0.001 walks; invlpg 102.038 in the loop with both
# parts and 1 alone; cr3 102.023 and 2; the touches alone 0.002. So net is 102.038 - 1 - 0.002 = 101.036 and
# 102.023 - 2 - 0.002 = 100.021, F = 102.037 / 102.022 = 1.00. Guest 4k: 0.093 - 0.040 - 0.001 = 0.052,
# 103.008 - 1.5 - 0.001 = 101.507, F = 0.092 / 103.007 = 0.00. Host 2m: repeats of 0.4 and 0.6, median 0.5; net
# 0.5 - 0.1 - 0 = 0.4; F = 0.5 / 1.5 = 0.33. Host 2m, guest 4k was multiplexed: nothing.
@test "table: the layout of 2016, filled from counters" {
	run -0 tlbscope table "$DATA"
	grep -Eq '^DTLB_LOAD_MISSES.WALK_COMPLETED, in an iteration, medians$' <<<"$output"
	grep -Eq '^host +guest flush +by +both +flush +touches +net +F$' <<<"$output"
	grep -Eq '^4k +4k +selective invlpg far +0\.093 +0\.040 +0\.001 +0\.052 +0\.00$' <<<"$output"
	grep -Eq '^4k +4k +full +cr3 +103\.008 +1\.500 +0\.001 +101\.507$' <<<"$output"
	grep -Eq '^4k +2m +none +none +0\.001 +- +0\.002 +-$' <<<"$output"
	grep -Eq '^4k +2m +selective invlpg far +102\.038 +1\.000 +0\.002 +101\.036 +1\.00$' <<<"$output"
	grep -Eq '^4k +2m +full +cr3 +102\.023 +2\.000 +0\.002 +100\.021$' <<<"$output"
	grep -Eq '^2m +2m +selective invlpg far +0\.500~ +0\.100 +0\.000 +0\.400 +0\.33$' <<<"$output"
	[ "$(grep -Ec '^2m +4k +(none|selective|full) ' <<<"$output")" -eq 0 ]
	# what was not counted is no 0
	grep -Eq '^4k +4k +full +cr3 +- +- +- +-$' <<<"$output"
	# columns of the target are no events
	says_not "pages_4k," "backing,"
	says multiplexed
}

@test "table --json: events by name, null where nothing was counted" {
	need jq jq
	tlbscope table --json "$DATA" >table.json
	jq -e '[.runs[0].cells[] | select(.phase == "both" and .host == "4k" and .guest == "2m") | .outcomes[] |
		select(.op == "cr3") | .events] == [{"DTLB_LOAD_MISSES.WALK_COMPLETED": 102.023,
		"DTLB_LOAD_MISSES.STLB_HIT": null}]' table.json
	jq -e '.runs[0].cells[] | select(.phase == "both" and .host == "2m" and .guest == "2m") | .outcomes[] |
		select(.op == "invlpg far") | .events."DTLB_LOAD_MISSES.WALK_COMPLETED" == 0.5' table.json
}

@test "plot: a picture for each event that has the three of them" {
	need gnuplot gnuplot-nox
	cp -r "$DATA" run
	run -0 --separate-stderr tlbscope plot run
	[ "${lines[*]}" = "run/event-DTLB_LOAD_MISSES.WALK_COMPLETED.svg run/event-DTLB_LOAD_MISSES.WALK_COMPLETED.png" ]
	grep -q '102.04' run/event-DTLB_LOAD_MISSES.WALK_COMPLETED.svg
	grep -q '^"guest 2m.nhost 4k.n50 touches" 0.0010 .* 102.0380 102.0380 102.0380 .* 102.0230 .*"F = 1.00" 1$' \
		run/event-DTLB_LOAD_MISSES.WALK_COMPLETED.dat
	[ ! -e run/event-DTLB_LOAD_MISSES.STLB_HIT.dat ]
}

need_perf() {
	[ "$(id -u)" -eq 0 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 1 ] ||
		skip "perf_event_paranoid forbids it"
}

@test "tcg: software events of the vCPU thread, as slopes, and a run that goes on" {
	need_qemu
	need_perf
	printf '%s\n' '[plan]' 'title = Small' '[l]' 'op = none, cr3' 'leaves = 50' 'phase = both, op, access, refill' \
		'iterations = 20000' >small.plan
	tcg small.plan --phase refill,both,access --out run --event page-faults --event context-switches \
		--event task-clock
	head -1 run/rows.csv | grep -q ',code,page-faults,context-switches,task-clock,valid'
	# refills are not counted, loops are: twenty thousand iterations touch no fresh page of QEMU's
	every run page-faults,task-clock ". ." phase=refill
	[ "$(values run page-faults phase=both op=cr3 | awk '{ print ($1 > -0.01 && $1 < 0.01) }')" = 1 ]
	[ "$(values run context-switches,task-clock phase=both op=cr3 | awk '{ print ($1 != "." && $2 > 0) }')" = 1 ]
	grep -q '"source": "host"' run/run.json
	grep -q '"name": "task-clock"' run/run.json
	grep -q 'driver: counters: 3 events of thread [0-9]* in one pinned group' run/log.txt
	# half of it again
	sed -i '4,$d' run/rows.csv
	sed -i 's/"complete": true/"complete": false/' run/run.json
	run -0 tlbscope run --resume run
	[ "$(values run task-clock phase=access | grep -c '[0-9]')" -eq 1 ]
	# nothing is counted there unasked
	tcg small.plan --phase refill --out plain
	head -1 plain/rows.csv | grep -q ',code,valid'
}

@test "plan 2016: every loop of the table, for both guest pages" {
	need_qemu
	tcg 2016 --phase both,op,access --iterations 20 --repeats 1 --out run
	local guest phase op
	for guest in 4k 2m; do
		for phase in both op; do
			for op in none invlpg cr3; do
				every run iterations 20 guest=$guest phase=$phase op=$op
			done
		done
		every run op none guest=$guest phase=access
	done
	[ "$(values run op | wc -l)" -eq 14 ]
	every run touches 50
}

@test "user: events of this process, checked against fresh pages before" {
	need_perf
	tlbscope run --on user --guest 4k --event page-faults --event task-clock --out run
	[ "$(values run page-faults phase=retouch | grep -c '^0.0000$')" -ge 1 ]
	[ "$(values run task-clock op=mprotect | awk '$1 > 0' | wc -l)" -ge 1 ]
	grep -q 'self-check of page-faults: good' run/log.txt
	grep -q '"self_check": "1.0.* a fresh page' run/run.json
	run -0 tlbscope table run
	says "page-faults, in an iteration"
}

@test "no PMU: empty columns, one line in the log, rows as valid as ever" {
	[ ! -e /sys/bus/event_source/devices/cpu ] && [ ! -e /sys/bus/event_source/devices/cpu_core ] ||
		skip "this machine has a PMU"
	run -0 --separate-stderr tlbscope run --on user --guest 4k --event r0e08 --out run
	# shellcheck disable=SC2154 # stderr is set by run
	[ "$(grep -c 'not counted: event r0e08: .*pmu=on' <<<"$stderr")" -eq 1 ]
	every run r0e08 .
	[ "$(grep -c 'driver: counters: no events are counted' run/log.txt)" -eq 1 ]
	grep -q 'pmu=on' run/log.txt
	grep -q '"why_not": "event r0e08' run/run.json
	[ "$(values run valid | grep -c no-counter)" -eq 0 ]
}

@test "an event that cannot be counted is named, and the others are counted" {
	[ ! -e /sys/bus/event_source/devices/cpu ] && [ ! -e /sys/bus/event_source/devices/cpu_core ] ||
		skip "this machine has a PMU"
	need_perf
	run -0 --separate-stderr tlbscope run --on user --guest 4k --event r0e08 --event page-faults \
		--event task-clock --out run
	[ "$(grep -c 'not counted: ' <<<"$stderr")" -eq 1 ]
	grep -q 'not counted: event r0e08: .*no such counter' <<<"$stderr"
	every run r0e08 .
	[ "$(values run page-faults phase=retouch | grep -c '^0.0000$')" -ge 1 ]
	[ "$(values run task-clock | awk '$1 > 0' | wc -l)" -eq 4 ]
	grep -q '"missing": "event r0e08' run/run.json
}

# Refills are not counted: the run would end with an empty column.
@test "events that no row of the plan would be counted in" {
	refused run fracture --on tcg --event page-faults
	says --event "both, op and access" --phase
	refused run fracture --on user --phase refill --event page-faults
	says retouch
	need_qemu
	need_perf
	run -0 --separate-stderr tcg fracture --guest 4k --at far --repeats 1 --iterations 2 --leaves 4 \
		--phase refill,both --event page-faults --out run
	grep -q 'events are counted in [0-9]* of [0-9]* rows' <<<"$stderr"
}

@test "events and counters that cannot be" {
	refused run --on user --event NO_SUCH_EVENT
	says NO_SUCH_EVENT "list events"
	refused run --on user --event cycles
	says "column of that name"
	refused run --on user --event page-faults --event page-faults
	refused run --on user --event 'a b'
	refused run --on user --counters vpmu
	says "process, none"
	refused run --on user --counters none --event page-faults
	refused run --on user --counters none --counters none
	need_qemu
	refused run --on tcg --counters host
	says "--event"
	refused run --on tcg --counters vpmu --event r0e08
}

@test "pictures of events with any name" {
	mkdir -p odd
	# shellcheck disable=SC2016 # a shell that took it for its own would show here
	for name in 'a/b' "'it's" '$(touch HERE)' '`touch HERE`'; do
		sed "1s|DTLB_LOAD_MISSES.WALK_COMPLETED|$name|" "$DATA/rows.csv" >odd/rows.csv
		run -0 tlbscope plot odd
	done
	[ -s odd/event-a_b.svg ]
	[ ! -e HERE ]
}

@test "pictures of events whose names differ only in what a file's name cannot hold" {
	mkdir -p twins
	sed '1s|DTLB_LOAD_MISSES.WALK_COMPLETED|A/B|; 1s|DTLB_LOAD_MISSES.STLB_HIT|A_B|' "$DATA/rows.csv" >twins/rows.csv
	# counts where the second event of the data has none, so that both have a picture
	awk -F, -v OFS=, 'NR > 1 && $(NF - 1) == "" { $(NF - 1) = "0.5000" } { print }' twins/rows.csv >more.csv
	mv more.csv twins/rows.csv
	run -0 tlbscope plot twins
	[ "$(grep -c 'event-A_B\(-2\)\?\.svg$' <<<"$output")" = 2 ]
	grep -q 'A/B; medians' twins/event-A_B.svg
	grep -q 'A_B; medians' twins/event-A_B-2.svg
	tlbscope report twins
	run -0 grep -o '"Event A[^"]*"\|Event A.B' twins/report.html
	says "Event A/B" "Event A_B"
}

@test "gnuplot that ends well and draws nothing leaves no picture of an earlier time" {
	mkdir -p old nothing closed
	cp "$DATA/rows.csv" old/
	run -0 tlbscope plot old
	ls old/*.svg old/*.png
	printf '#!/bin/sh\nexit 0\n' >nothing/gnuplot
	chmod +x nothing/gnuplot
	run -1 env PATH="$PWD/nothing:$PATH" "$TLBSCOPE" plot old
	says "did not write it to its end"
	[ -z "$(find old -name '*.svg' -o -name '*.png')" ]
	# one that is there but cannot be started is not told to be missing
	printf 'no program' >closed/gnuplot
	chmod 755 closed/gnuplot
	run -1 env PATH="$PWD/closed" "$TLBSCOPE" plot old
	says "gnuplot cannot be started: Exec format error"
	says_not "not installed"
}

@test "a picture that gnuplot cannot write to its end is a failure" {
	mkdir -p cut
	cp "$DATA/rows.csv" cut/
	# shellcheck disable=SC2016 # the variable is the inner shell's
	run -1 bash -c 'ulimit -f 8; exec "$TLBSCOPE" plot cut'
	says "did not write it to its end"
	[ -z "$(find cut -name '*.svg' -size 0)" ]
}
