# SPDX-License-Identifier: GPL-2.0
#
# Runs that are cut short: by the death of the program or of QEMU, a hung guest, Ctrl-C, a line
# that was half written. Whatever happens, --resume ends with every row of the plan once.
#
# The program is killed once it has written a certain number of rows, not after a time, so that a
# slow machine kills at the same place as a fast one. Rows take some 10 ms: there are always some
# left when the kill arrives, and a test fails if there were none.

load helpers

# Every test is a process of its own: what one sets, no other sees.
# shellcheck disable=SC2030,SC2031

setup() {
	need_qemu
	cd "$BATS_TEST_TMPDIR" || return 1
	driver=
	hung=
}

teardown() {
	[ -z "$driver" ] || kill -KILL "$driver" 2>/dev/null || true
	[ -z "$hung" ] || kill -KILL "$hung" 2>/dev/null || true
}

# Rows of the plan below: 8 cells (none, cr3, pge, invlpg at five places) in 3 repetitions.
ROWS=24

# start [OPTION...], start_again: the program in the background, writing to ./run.
start() {
	"$TLBSCOPE" run fracture --on tcg --out run --guest 4k --phase refill --repeats 3 \
		--iterations "${iterations:-2000}" "$@" </dev/null >run.out 2>&1 3>&- &
	driver=$!
}

start_again() {
	"$TLBSCOPE" run --resume run </dev/null >run.out 2>&1 3>&- &
	driver=$!
}

# Rows that are whole. No process is started for it: while one starts, rows are written.
rows() {
	local -a line=()
	[ ! -f run/rows.csv ] || mapfile -t line <run/rows.csv
	echo $((${#line[@]} > 0 ? ${#line[@]} - 1 : 0))
}

has_rows() {
	local -a line=()
	[ ! -f run/rows.csv ] || mapfile -t line <run/rows.csv
	[ "${#line[@]}" -gt "$1" ] || ! is_alive "$driver"
}

# await_rows N: there are N rows and the program is still at work.
await_rows() {
	eventually has_rows "$1"
	is_alive "$driver" || {
		cat run.out
		return 1
	}
}

qemu_pid() {
	pgrep -P "$driver" -f -- -kernel
}

# await_end STATUS: the program ends by itself with that status.
ended() {
	! is_alive "$driver"
}
await_end() {
	local status=0
	eventually ended
	wait "$driver" || status=$?
	driver=
	[ "$status" -eq "$1" ] || {
		echo "exit status $status instead of $1"
		cat run.out
		return 1
	}
}

kill_driver() {
	kill -KILL "$driver"
	wait "$driver" || true
	driver=
	[ "$(rows)" -lt "$ROWS" ]
}

gone() {
	! is_alive "$1"
}

started_twice() {
	[ "$(grep -c '^driver: qemu: ' run/log.txt)" -eq 2 ]
}

# Every case of the plan once, in order, and the run says that it is complete.
is_complete() {
	local key=op,at,count,guest,global,pcid,leaves,touches,stride,offset,frames,mix,order,access
	key+=,phase,repeat,iterations,seed
	diff <(values run sequence) <(seq "$ROWS")
	[ "$(values run "$key" | sort -u | wc -l)" -eq "$ROWS" ]
	every run run,target,valid "run tcg ok"
	every run refills 50 op=cr3
	every run refills 1 op=invlpg at=in-set
	every run refills 0 op=none
	grep -q '"complete": true' run/run.json
	grep -q "\"rows\": $ROWS\\>" run/run.json
	[ "$(LC_ALL=C ls -x run)" = "log.txt  rows.csv  run.json" ]
}

resume() {
	run -0 tlbscope run --resume run
	says "results: run" "50 x 4k"
	is_complete
}

@test "kill -9 of the program at several places, then --resume; no QEMU is left behind" {
	local qemu
	start
	await_rows 1
	kill_driver
	start_again
	await_rows 6
	kill_driver
	start_again
	await_rows 13
	qemu=$(qemu_pid)
	is_alive "$qemu"
	kill_driver
	eventually gone "$qemu"
	grep -q '"complete": false' run/run.json
	cp run/rows.csv before.csv
	resume
	# What was there is there still, byte for byte.
	cmp -n "$(stat -c %s before.csv)" before.csv run/rows.csv
}

# Processes of a group that are alive.
group() {
	local stat fields
	for stat in /proc/[0-9]*/stat; do
		{ read -r stat <"$stat"; } 2>/dev/null || continue
		read -ra fields <<<"${stat##*) }"
		[ "${fields[0]}" = Z ] || [ "${fields[2]}" != "$1" ] || echo "${stat%%)*}"
	done
}

no_group() {
	[ -z "$(group "$1")" ]
}

@test "kill -9 of the program, or of a script around QEMU: nothing is left of their process group" {
	local script members iterations=20000
	# shellcheck disable=SC2016,SC2153 # for the script; QEMU is of helpers.bash
	printf '#!/bin/sh\n%s "$@"\nexit $?\n' "$QEMU" >wrap
	chmod +x wrap
	start --qemu ./wrap
	await_rows 3
	script=$(qemu_pid)
	members=$(group "$script")
	[[ $members == *qemu* && $members == *wrap* && $members == *tlbscope* ]]
	kill_driver
	eventually no_group "$script"
	start_again
	await_rows $(($(rows) + 2))
	script=$(qemu_pid)
	kill -KILL "$script" # QEMU goes on without it, but nobody knows any more how it ended
	await_end 1
	no_group "$script"
	resume
}

# The guard of QEMU must not keep what a reader of the output waits for.
@test "kill -9 of the program: its output and the lock of its run are free at once" {
	start
	await_rows 3
	ls -l /proc/"$(pgrep -P "$driver" -x tlbscope-guard)"/fd >fds
	[ "$(grep -c -- '->' fds)" -eq 1 ]
	grep -q "0 -> pipe:" fds
	kill_driver
	resume
}

@test "a torn last line is measured again" {
	start
	await_rows 2
	kill_driver
	truncate -s -7 run/rows.csv
	run -0 tlbscope table run
	says "last line has no end"
	start_again
	await_rows 10
	kill_driver
	truncate -s -1 run/rows.csv
	resume
}

@test "kill -9 of QEMU: the run finishes, the log says what happened" {
	local qemu
	start
	await_rows 10
	qemu=$(qemu_pid)
	kill -KILL "$qemu"
	await_end 0
	is_complete
	grep -q '"restarts": 1' run/run.json
	grep -q 'the target ended in case op=' run/log.txt
	started_twice
	run -0 cat run.out
	says "starting it again" "log.txt"
	# How it ended is the first thing that a reader wants to know.
	grep -q 'signal 9' run/log.txt
}

@test "QEMU killed twice: exit 1, the rows are kept, --resume goes on" {
	local before
	start
	await_rows 5
	kill -KILL "$(qemu_pid)"
	before=$(rows)
	eventually started_twice
	await_rows $((before + 2))
	kill -KILL "$(qemu_pid)"
	await_end 1
	run -0 cat run.out
	says "a second time" "--resume run" "log.txt"
	says_not Sanitizer
	[ "$(rows)" -ge $((before + 2)) ]
	[ "$(rows)" -lt "$ROWS" ]
	grep -q '"complete": false' run/run.json
	resume
}

# 2 seconds: the time-out holds for the guest's start too, which a loaded machine draws out.
@test "a guest that hangs is started again after --timeout" {
	start --timeout 2
	await_rows 8
	hung=$(qemu_pid)
	kill -STOP "$hung"
	await_end 0
	gone "$hung"
	is_complete
	grep -q '"restarts": 1' run/run.json
	grep -q "gave no answer in time in case op=" run/log.txt
	grep -q "gave no answer in time" run.out
}

@test "Ctrl-C: exit 130, the rows are kept, no QEMU is left" {
	local qemu before
	start
	await_rows 12
	qemu=$(qemu_pid)
	kill -INT "$driver"
	await_end 130
	gone "$qemu"
	before=$(rows)
	[ "$before" -ge 12 ]
	[ "$before" -lt "$ROWS" ]
	run -0 cat run.out
	says "$before of $ROWS rows" "--resume run"
	says_not Sanitizer
	grep -q '"complete": false' run/run.json
	resume
}

@test "SIGTERM is taken like Ctrl-C" {
	start
	await_rows 2
	kill -TERM "$driver"
	await_end 130
	[ "$(rows)" -ge 2 ]
}

@test "--resume of a complete run adds nothing" {
	iterations=20 start
	await_end 0
	cp run/rows.csv before.csv
	is_complete
	resume
	cmp before.csv run/rows.csv
}

@test "a complete run that has lost rows since is not complete: table and report say so, --resume measures them" {
	iterations=20 start
	await_end 0
	cp -r run whole
	run -0 tlbscope table run
	says_not "not complete"
	local cut
	for cut in "head -n 4" "head -c -7"; do
		$cut whole/rows.csv >run/rows.csv
		cp whole/run.json run/run.json
		run -0 tlbscope table run
		says "run is not complete: rows of its plan are missing"
		rm -rf page && cp -r run page
		tlbscope report page >/dev/null
		grep -q "The run is not complete: rows of its plan are missing" page/report.html
		grep -q "a row for every case of the plan, measured or declined</th><td>no</td>" page/report.html
		run -0 tlbscope run --resume run
		says_not "nothing is left"
		is_complete
	done
}

@test "rows.csv replaced, removed or cut while the run goes on: exit 1, not complete" {
	local harm
	for harm in "cp run/rows.csv new; mv new run/rows.csv" "rm run/rows.csv" "truncate -s 300 run/rows.csv"; do
		rm -rf run
		start
		await_rows 3
		eval "$harm"
		await_end 1
		run -0 cat run.out
		says "run/rows.csv: someone else"
		grep -q '"complete": false' run/run.json
	done
}

# Two programs that append to one file would measure rows twice.
@test "--resume of a run that is still at work is refused" {
	start
	await_rows 3
	run tlbscope run --resume run
	[ "$status" -eq 2 ]
	await_end 0
	is_complete
}

@test "--resume takes another --timeout, or refuses it, but does not pass over it" {
	start --timeout 50
	await_rows 3
	kill_driver
	run tlbscope run --resume run --timeout 40
	[ "$status" -eq 2 ] || grep -Eq '"timeout": 40' run/run.json
}

@test "--resume refuses what is no run, another plan, and a file that was changed" {
	start
	await_rows 9
	kill_driver
	refused run --resume nothing
	says nothing
	mkdir empty
	refused run --resume empty
	says empty
	refused run fracture --resume run
	says --resume
	refused run --resume run --leaves 16
	says --resume
	refused run --resume run --on tcg
	refused run --resume run --out other
	sed -i '4d' run/rows.csv
	run -2 tlbscope run --resume run
	says run/rows.csv:4 "start a new run"
	[ "$(rows)" -lt "$ROWS" ]
}

# A cell would hold rows of both, and nothing would say so.
@test "--resume refuses another machine, QEMU, guest CPU or version, and names what changed" {
	local qemu
	need jq jq
	qemu=$(command -v "$QEMU")
	printf '#!/bin/sh\nexec %s "$@"\n' "$qemu" >w
	chmod +x w
	start --qemu ./w
	await_rows 3
	kill_driver
	cp -r run was
	# Which flushes the guest has: that of qemu64 has no PCID.
	# shellcheck disable=SC2016 # for the script
	printf '#!/bin/sh\n[ "$1" = --version ] && exec %s "$@"\nexec %s "$@" -cpu qemu64\n' "$qemu" "$qemu" >w
	run -2 tlbscope run --resume run
	says "features of the guest's CPU was \"" ",1g," "start a new run"
	diff was/rows.csv run/rows.csv
	diff was/run.json run/run.json
	printf '#!/bin/sh\nexec %s "$@"\n' "$qemu" >w
	local change path
	for change in '.qemu.version="7.2.1"' '.machine.kernel.release="2.6.32"' '.machine.cpu.stepping="99"' \
		'.tlbscope="0.0.9"' '.qemu.cpu_model="host"'; do
		jq "$change" was/run.json >run/run.json
		cp run/run.json changed.json
		run -2 tlbscope run --resume run
		path=${change%%=*}
		says "was $(jq -c "$path" run/run.json) and is $(jq -c "$path" was/run.json)"
		diff was/rows.csv run/rows.csv
		diff changed.json run/run.json
	done
	# Without run.json's word the rows have theirs.
	jq 'del(.qemu) | del(.machine)' was/run.json >run/run.json
	sed -i 's/,QEMU [^ ,]* TCG/,QEMU 7.0.0 TCG/' run/rows.csv
	run -2 tlbscope run --resume run
	says 'column cpu was "QEMU 7.0.0 TCG max" and is "QEMU '
	cp was/rows.csv run/rows.csv
	resume
}

@test "--resume refuses options of a wrong type in run.json, with file and key" {
	local change
	need jq jq
	start --cpu qemu64
	await_rows 3
	kill_driver
	cp run/run.json was.json
	for change in qemu=5 cpu=true image='[]' counters=1 memory='"1g"' memory=-1 timeout='"x"' fresh_boot=1 events='[1]' \
		events='"page-faults"'; do
		jq ".options.$change" was.json >run/run.json
		refused run --resume run
		says "run/run.json: options: ${change%%=*}: not "
	done
	for change in '.options=[]' 'del(.options)'; do
		jq "$change" was.json >run/run.json
		refused run --resume run
		says "run/run.json: options: not an object"
	done
	jq '.plan.sections[0].hosts="4k"' was.json >run/run.json
	refused run --resume run
	says "section 1 of its plan"
	cp was.json run/run.json
	resume
}

# talker MONITOR PROTOCOL: a program that QEMU's place is taken by; words of shell for each of the two sockets.
talker() {
	cat >talker <<-END
		#!/bin/bash
		[ "\$1" = --version ] && exec $QEMU --version
		for word; do
			[[ \$word =~ socket,id=([a-z]+),fd=([0-9]+) ]] && declare "\${BASH_REMATCH[1]}=\${BASH_REMATCH[2]}"
		done
		talk() { echo '{"QMP": {"version": {"qemu": {"major": 7, "minor": 2, "micro": 22}}}}'; read -r -u "\$monitor"; echo '{"return": {}}'; }
		$1
	END
	chmod +x talker
}

@test "words without end on the monitor win no time; nor do lines in place of a row" {
	# shellcheck disable=SC2016 # for the script
	talker 'while echo "{\"event\": \"STOP\"}"; do :; done >&"$monitor"'
	TLBSCOPE_LIMIT=100 run -1 tlbscope run fracture --on tcg --guest 4k --leaves 16 --qemu ./talker --out run
	says "does not answer at its start"
	# shellcheck disable=SC2016
	talker 'talk >&"$monitor"; while echo SeaBIOS; do :; done >&"$protocol"'
	TLBSCOPE_LIMIT=100 run -1 tlbscope run fracture --on tcg --guest 4k --leaves 16 --qemu ./talker --timeout 1 --out run2
	says "said nothing"
}

@test "a row that cannot be read is the target's fault: exit 1, and what was measured is kept" {
	local version
	version=$(sed -n 's/.*TS_VERSION "\(.*\)"/\1/p' "$BATS_TEST_DIRNAME/../../sweeps/core/version.h")
	# Rows of the first two cases as they are asked for, then one of more leaves than it touches.
	# shellcheck disable=SC2016
	talker 'talk >&"$monitor"; echo "hello protocol=1 version='"$version"' features=pge,nx,ring0" >&"$protocol"
		while read -r -u "$protocol" word case; do
			[ "$((++n))" -lt 3 ] || case=${case/leaves=/leaves=9}
			[ "$word" != case ] || echo "row $case class=none must=0 refills=0 off_median=0 cycles=100" >&"$protocol"
		done'
	run -1 tlbscope run fracture --on tcg --guest 4k --op none,invlpg --at far --repeats 2 --qemu ./talker --out run
	says "row from the guest"
	[ "$(rows)" -eq 2 ]
}

@test "a QEMU that is another one when it is started again in a run: exit 1, no row of it" {
	local qemu before
	qemu=$(command -v "$QEMU")
	printf '#!/bin/sh\nexec %s "$@"\n' "$qemu" >w
	chmod +x w
	iterations=20000 start --qemu ./w
	await_rows 3
	printf '#!/bin/sh\nexec %s "$@" -cpu qemu64\n' "$qemu" >w
	kill -KILL "$(qemu_pid)"
	await_end 1
	before=$(rows)
	run -0 cat run.out
	says "is not what it was: features of the guest's CPU was \"" "$before of $ROWS rows" "--resume run"
	printf '#!/bin/sh\nexec %s "$@"\n' "$qemu" >w
	resume
}

@test "--resume of a run on target user goes on" {
	tlbscope run fracture --on user --guest 4k --repeats 2 --iterations 5 --out whole >run.out
	cp -r whole run
	head -n 4 whole/rows.csv >run/rows.csv
	sed -i 's/"complete": true/"complete": false/' run/run.json
	run -0 tlbscope run --resume run
	[ "$(rows)" -eq "$(($(wc -l <whole/rows.csv) - 1))" ]
	sed -i 's/"complete": true/"complete": false/; s/"release": "/&9./' run/run.json
	run -2 tlbscope run --resume run
	says 'kernel was "9.'
}

@test "a disk that is full at the start: says so, and leaves no directory that nobody can resume" {
	[ "$(id -u)" -eq 0 ] || skip "mounting a small disk needs root"
	unshare --mount true 2>/dev/null || skip "no permission for mounts of one's own"
	mkdir disk
	local most
	for most in 0 4096 8192; do
		# shellcheck disable=SC2016 # for the inner shell
		run -1 unshare --mount sh -c 'mount -t tmpfs -o size=16k tmpfs disk && head -c "$1" /dev/zero >disk/most &&
			"$TLBSCOPE" run fracture --on tcg --out disk/run; status=$?; ls disk; exit $status' sh $most
		says "No space left" most
		says_not $'\nrun'
	done
}

@test "the command in run.json makes such a run again, whatever its words are" {
	need jq jq
	cp "${TLBSCOPE%/*}/../share/tlbscope/plans/fracture.plan" "it's \$mine & yours.plan"
	tcg "./it's \$mine & yours.plan" --out run --guest 4k,2m --leaves 16 --phase refill --iterations 5 --repeats 1 \
		--cpu "max,model-id=Mine; and yours" --memory 1g >run.out
	eval "$(jq -r .command run/run.json) --out again >again.out"
	diff <(jq '.plan, .options, .cpu' run/run.json) <(jq '.plan, .options, .cpu' again/run.json)
	tlbscope run fracture --on user --guest 4k --repeats 1 --iterations 5 --event page-faults --out counted >run.out
	eval "$(jq -r .command counted/run.json) --out again2 >again.out"
	diff <(head -n 1 counted/rows.csv) <(head -n 1 again2/rows.csv)
	head -n 1 again2/rows.csv | grep -q page-faults
}
