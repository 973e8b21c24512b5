# SPDX-License-Identifier: GPL-2.0
#
# The target user end to end, on whatever CPU this is. What F comes out as is the machine's affair:
# these tests hold the rows against each other and against what the kernel says of this process.

load helpers

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	cat >small.plan <<-'END'
		[plan]
		title = Small windows
		about = Both controls, a selective flush, and a negative control of each kind

		[4k]
		op = mprotect-twin, mprotect
		at = mapped
		count = 1, 2, 64, 65
		guest = 4k
		leaves = 64
		phase = retouch
		iterations = 40

		[2m]
		op = mprotect-twin, mprotect
		at = mapped
		count = 1, 64
		guest = 2m
		leaves = 4
		phase = retouch
		iterations = 40

		[idle]
		op = none
		guest = 4k
		leaves = 8
		phase = retouch
		iterations = 40

		[families]
		op = madvise-twin, madvise, munmap-twin, munmap
		at = mapped
		count = 1, 64
		guest = 4k
		leaves = 16
		phase = retouch
		iterations = 40
	END
	tlbscope run ./small.plan --on user --out small >small.out
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "every row that was measured has cycles, a page size that smaps saw, and its rounds" {
	local cycles how rounds valid
	[ "$(values small cycles | wc -l)" -eq 21 ]
	while read -r cycles how rounds valid; do
		[ "$valid" != no-huge-page ] || continue
		[ "$cycles" -gt 0 ]
		[ "$rounds" -ge 20 ]
		[[ $how =~ ^(4k|thp|collapse|hugetlb)$ ]]
	done < <(values small cycles,guest_how,rounds,valid)
	every small guest_how 4k guest=4k
}

@test "the class of a flush goes by its number of pages" {
	if grep -q '"ceiling_how": "assumed"' small/run.json &&
		grep -q '"tracepoint": false' small/run.json; then
		every small class selective op=mprotect count=1
		every small class selective op=mprotect count=2
		every small class full op=mprotect count=64
		every small class full op=mprotect count=65
		every small class full op=munmap count=64
	fi
	every small class none op=mprotect-twin
	every small class none op=none
}

@test "what was flushed is said to be unverified, or is what the tracepoint saw" {
	if grep -q '"tracepoint": false' small/run.json; then
		every small flush_seen unverified op=mprotect
	else
		every small flush_seen nothing op=mprotect-twin
		every small flush_seen full op=mprotect count=64
	fi
}

@test "references have no F; everything else has one within its interval, or a reason" {
	local f low high valid
	every small f . op=none
	every small f . op=mprotect-twin count=1
	every small f . op=mprotect count=64
	while read -r f low high valid; do
		if [ "$f" = . ]; then
			[ "$valid" != ok ]
		else
			awk -v f="$f" -v low="$low" -v high="$high" \
				'BEGIN { exit !(low <= f && f <= high) }'
		fi
	done < <(values small f,f_low,f_high,valid op=mprotect count=1)
}

@test "negative controls: the twin in the place of the op gives 0, a full flush gives 1" {
	local f
	f=$(values small f op=mprotect-twin count=2 valid=ok)
	[ -n "$f" ] || skip "not here: $(values small valid op=mprotect-twin count=2)"
	awk -v f="$f" 'BEGIN { exit !(f > -0.25 && f < 0.25) }'
	f=$(values small f op=mprotect count=65 valid=ok)
	[ -z "$f" ] || awk -v f="$f" 'BEGIN { exit !(f > 0.75 && f < 1.25) }'
}

@test "the host's page is inferred, never called verified" {
	local how
	how=$(values small host_how | sort -u)
	[ "$how" = inferred ] || [ "$how" = . ]
	grep -q '"host_check"' small/run.json
}

@test "as an ordinary user, pinned to one CPU: the same columns" {
	need setpriv util-linux
	need taskset util-linux
	[ "$(id -u)" -eq 0 ] || skip "already an ordinary user"
	mkdir ordinary && chown 65534:65534 ordinary
	chmod 755 "$BATS_FILE_TMPDIR" ordinary
	setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$TLBSCOPE" ||
		skip "an ordinary user cannot reach the program"
	setpriv --reuid 65534 --regid 65534 --clear-groups test -r small.plan ||
		skip "an ordinary user cannot reach this directory"
	run -0 setpriv --reuid 65534 --regid 65534 --clear-groups taskset -c 0 \
		timeout 60 "$TLBSCOPE" run ./small.plan --on user --out ordinary/run
	[ "$(head -1 ordinary/run/rows.csv)" = "$(head -1 small/rows.csv)" ]
	every ordinary/run flush_seen unverified op=mprotect
}

@test "without huge pages the 4K half is measured, and the log has the remedy" {
	local limit=200000
	[[ $TLBSCOPE != *build/asan* ]] || skip "the sanitizers need more address space than that"
	(
		ulimit -v $limit
		tlbscope run ./small.plan --on user --out poor --leaves 64 >poor.out
	)
	every poor valid no-memory guest=2m
	every poor guest_how 4k guest=4k
	grep -q 'no-memory: .*remedy' poor/log.txt
}

@test "phases and ops of ring 0 are declined row by row, with the reason in the log" {
	tlbscope run ./small.plan --on user --phase refill --out refill >refill.out
	every refill valid,cycles "no-feature ."
	grep -q 'no-feature: phase refill needs ring 0; remedy:' refill/log.txt
	grep -q '^Declined, [0-9]* rows: no-feature: phase refill needs ring 0; remedy: phase retouch$' refill.out
	tlbscope run ./small.plan --on user --op invlpg --out ring0 >ring0.out
	every ring0 valid,cycles "no-feature ."
	grep -q '^Declined, [0-9]* rows: no-feature: op invlpg needs ring 0; remedy: mprotect' ring0.out
}

@test "Ctrl-C ends it at once and keeps what was measured" {
	"$TLBSCOPE" run ./small.plan --on user --iterations 60000 --out stopped \
		>stopped.out 2>&1 3>&- &
	local pid=$! start status=0
	eventually test -s stopped/log.txt
	start=$SECONDS
	kill -INT "$pid"
	wait "$pid" || status=$?
	[ $((SECONDS - start)) -le 5 ]
	[ "$status" -eq 130 ]
	[ -f stopped/rows.csv ]
}

# --- tlbscope-check, the static program -----------------------------------------------------------

# Sets $check: beside the program, or in build/bin when the program is the one under sanitizers.
need_check() {
	check=${TLBSCOPE%/*}/tlbscope-check
	[ -x "$check" ] || check=${TLBSCOPE%/*}/../../bin/tlbscope-check
	[ -x "$check" ] || skip "tlbscope-check is not built; make static"
}

@test "tlbscope-check: its exit code says what its JSON says" {
	local check status=0
	need_check
	timeout 60 "$check" --json --seconds 0.5 >check.json || status=$?
	case $(sed -n 's/.*"verdict": "\([a-z-]*\)".*/\1/p' check.json) in
	intact) [ "$status" -eq 0 ] ;;
	large-only | whole) [ "$status" -eq 3 ] ;;
	undecided | odd) [ "$status" -eq 4 ] || [ "$status" -eq 5 ] ;;
	*) false ;;
	esac
	[ "$(wc -l <check.json)" -eq 1 ]
}

@test "tlbscope-check: wrong options are refused with status 2" {
	local check
	need_check
	run -2 "$check" --nonsense
	run -2 "$check" --seconds 0
	run -2 "$check" --seconds 1x
	run -2 "$check" surplus
	run -0 "$check" --help
}

@test "run.json and the rows give the CPU one name" {
	need jq jq
	[ "$(jq -r .machine.cpu.model_name small/run.json)" = "$(awk -F, 'NR == 2 { print $4 }' small/rows.csv)" ]
}
