# SPDX-License-Identifier: GPL-2.0
#
# The program end to end on QEMU's software CPU: what every plan has to measure there.
#
# What is expected comes from the architecture (what an op has to drop, SDM vol. 3, 4.10.4.1) and
# from how QEMU's soft TLB is built (target/i386 and accel/tcg/cputlb.c): it keeps 4K pieces, drops
# everything when the flushed page lies in the area that it remembers as covered by large pages,
# and drops global entries at a CR3 write. None of it comes from an earlier run of this program.

load helpers

setup_file() {
	need_qemu
	cd "$BATS_FILE_TMPDIR" || return 1
	tcg fracture --out first --guest 4k,2m --repeats 2 >first.out
	tcg fracture --out second --guest 4k,2m --repeats 1 --iterations 20 >second.out
	tcg fracture --out giga --guest 1g --repeats 1 --iterations 20 >giga.out
	tcg fracture --out cycles --guest 4k,2m --op none,invlpg,cr3 --at far --repeats 1 \
		--iterations 20 --phase refill,retouch,both,op,access >cycles.out
	tcg mixed --out mixed --iterations 20 --repeats 1 --phase refill,retouch >mixed.out
	tcg global --out global --iterations 20 --repeats 1 >global.out
	tcg kinds --out kinds --iterations 20 --phase refill,retouch >kinds.out
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "fracture, 4k x50: a selective flush refills what it names" {
	local at
	every first refills,off_median "0 0" guest=4k leaves=50 phase=refill op=none
	for at in far next-2m same-2m mapped; do
		every first refills 0 guest=4k leaves=50 phase=refill op=invlpg at="$at"
	done
	every first refills 1 guest=4k leaves=50 phase=refill op=invlpg at=in-set
	every first refills 50 guest=4k leaves=50 phase=refill op=cr3
	every first refills 50 guest=4k leaves=50 phase=refill op=pge
}

@test "fracture, 2m x16: QEMU drops everything for a flush within the large pages" {
	local at
	every first refills,off_median "0 0" guest=2m leaves=16 phase=refill op=none
	for at in far next-2m mapped; do
		every first refills 0 guest=2m leaves=16 phase=refill op=invlpg at="$at"
	done
	for at in same-2m in-set; do
		every first refills 16 guest=2m leaves=16 phase=refill op=invlpg at="$at"
	done
	every first refills 16 guest=2m leaves=16 phase=refill op=cr3
	every first refills 16 guest=2m leaves=16 phase=refill op=pge
}

@test "fracture, 1g x4: controls hold" {
	every giga refills 0 guest=1g op=none
	every giga refills 0 guest=1g op=invlpg at=far
	every giga refills 4 guest=1g op=cr3
	every giga refills 4 guest=1g op=pge
	grep -Eq '^none +1g +4 x 1g +0 +0 +4 +0\.00 ' giga.out
}

@test "fracture: both repeats of every cell, none differs" {
	every first repeat $'1\n2' phase=refill op=none leaves=50
	[ "$(values first repeat phase=refill op=none leaves=50 | wc -l)" -eq 2 ]
	[ "$(values first op,at,guest,leaves,refills phase=refill | sort | uniq -c |
		awk '{ print $1 }' | sort -u)" = 2 ]
}

@test "fracture: what has to be dropped is the architecture's, not QEMU's" {
	every first must,class "0 none" op=none phase=refill
	every first must,class "0 selective" op=invlpg at=far phase=refill
	every first must,class "0 selective" op=invlpg at=mapped phase=refill
	every first must,class "0 selective" op=invlpg at=next-2m guest=4k phase=refill
	every first must,class "0 selective" op=invlpg at=same-2m guest=4k phase=refill
	every first must,class "1 selective" op=invlpg at=in-set phase=refill
	every first must,class "50 full" op=cr3 guest=4k phase=refill
	every first must,class "16 full" op=pge guest=2m leaves=16 phase=refill
}

@test "two runs agree in every refill median" {
	local key=op,at,count,guest,leaves,refills,off_median
	values first "$key" phase=refill | sort -u >first.medians
	values second "$key" phase=refill | sort -u >second.medians
	every first iterations 200
	every second iterations 20
	[ -s first.medians ]
	diff first.medians second.medians
}

@test "mixed: a flush in the 4k set leaves the 2m set alone, a full one drops both" {
	local at
	every mixed refills,mix_refills "0 0" guest=4k mix=2m:8 phase=refill op=none
	for at in far mapped next-2m; do
		every mixed refills,mix_refills "0 0" guest=4k mix=2m:8 phase=refill op=invlpg at="$at"
	done
	every mixed refills,mix_refills "1 0" guest=4k mix=2m:8 phase=refill op=invlpg at=in-set
	every mixed refills,mix_refills "25 8" guest=4k mix=2m:8 phase=refill op=cr3
	every mixed refills,mix_refills "25 8" guest=4k mix=2m:8 phase=refill op=pge
	every mixed must,mix_must "25 8" guest=4k mix=2m:8 phase=refill op=cr3
	grep -Eq '^cr3 .*[ ]25\|8( |$)' mixed.out
}

@test "global: QEMU drops global pages at a CR3 write, the architecture does not ask for it" {
	every global refills,must "50 0" global=1 guest=4k phase=refill op=cr3
	every global refills,must "50 50" global=1 guest=4k phase=refill op=pge
	every global refills,must "50 50" global=0 guest=4k phase=refill op=cr3
	every global refills,must "1 1" global=1 guest=4k phase=refill op=invlpg at=in-set
	every global refills,must "0 0" global=1 guest=4k phase=refill op=invlpg at=far
	every global refills,must "0 0" global=1 guest=4k phase=refill op=none
	every global refills 16 global=1 guest=2m phase=refill op=cr3
}

@test "the functional twin sees the new frame behind every flush, the stale one without" {
	local run
	for run in first second mixed giga; do
		every "$run" twin new op=invlpg
		every "$run" twin new op=cr3
		every "$run" twin stale op=none
	done
	every first twin new op=pge
	every global twin new op=pge
	every global twin new op=cr3
	every global twin stale op=none
}

# In DESIGN section 7's order; the five behind exits are documented in sweeps/driver/row.h.
@test "rows.csv has all columns, in order, and names what it is about" {
	local header=run,target,accel,cpu,guest,host,host_how,op,class,at,count,global,pcid
	header+=,leaves,touches,stride,offset,frames,mix,order,access,phase,repeat,sequence
	header+=,iterations,seed,cycles,refills,off_median,exits,must,mix_refills,mix_must,op_va
	header+=,twin,code,valid
	[ "$(head -n 1 first/rows.csv)" = "$header"$'\r' ]
	every first run,target,accel,host,host_how,exits "first tcg tcg none . ."
	[[ $(values first cpu op=none | sort -u) == *QEMU*TCG* ]]
	values first sequence | diff - <(seq "$(values first sequence | wc -l)")
	[[ $(values first op_va op=invlpg at=in-set leaves=50 | sort -u) =~ ^0x[0-9a-f]+$ ]]
	every first op_va . op=cr3
	# RFC 4180: every line ends with CR LF
	[ "$(grep -c $'\r$' first/rows.csv)" -eq "$(wc -l <first/rows.csv)" ]
}

@test "what was not measured is empty, never 0" {
	local phase
	every cycles cycles . phase=refill
	every cycles refills 50 phase=refill op=cr3 guest=4k
	for phase in retouch both op access; do
		every cycles refills,off_median ". ." phase="$phase"
		run values cycles cycles phase="$phase"
		[[ ! $output =~ (^|$'\n')[^1-9] ]]
	done
	every cycles mix_refills,mix_must ". ."
	every mixed mix_refills . phase=retouch
}

@test "cycles of an emulated CPU are marked in every row that has some, refills are valid" {
	local phase
	for phase in retouch both op access; do
		every cycles valid emulated-cpu phase="$phase"
	done
	every cycles valid ok phase=refill
	every first valid ok phase=refill
	run -0 cat cycles.out
	says emulated-cpu "the emulator's own"
	# None of these numbers stands in the table.
	says_not retouch: "cycles of an iteration"
}

@test "phases that tell nothing on an emulator are measured only when asked for" {
	every first phase refill
	every global phase refill
}

@test "the table calls it QEMU's soft TLB and gives no verdict about hardware" {
	run -0 cat first.out
	says "target tcg" "QEMU's soft TLB" imitates "no verdict about hardware" "results: first"
	says_not "the whole TLB" "large entries only"
	[[ $output != *"Host page none: intact"* ]]
	grep -Eq '^none +4k +50 x 4k +0 +0 +50 +0\.00 ' first.out
	grep -Eq '^none +2m +16 x 2m +0 +0 +16 +0\.00 ' first.out
	grep -Eq '^invlpg same-2m +0 +16( |$)' first.out
	run -0 tlbscope table first
	says "no verdict about hardware"
	diff <(echo "$output") <(grep -v '^results: ' first.out | sed '$ d')
}

@test "kinds: what the CPU lacks is a row without numbers that says no-feature" {
	local op
	if grep -q '"features": ".*invpcid' kinds/run.json; then
		skip "this QEMU's -cpu max has INVPCID"
	fi
	for op in invpcid-addr invpcid-ctx invpcid-nonglobal invpcid-all; do
		every kinds cycles,refills,off_median,twin ". . . ." op="$op"
		every kinds valid no-feature op="$op" phase=refill
		[[ $(values kinds valid op="$op" phase=retouch | sort -u) == *no-feature* ]]
		[ "$(values kinds op op="$op" phase=refill pcid=0 | wc -l)" -ge 2 ]
	done
	every kinds refills 50 op=cr3 guest=4k pcid=0 phase=refill
	every kinds refills 1 op=invlpg at=in-set guest=4k pcid=0 phase=refill
}

@test "kinds: what was declined stands below the table, with the reason" {
	if grep -q '"features": ".*pcid' kinds/run.json; then
		skip "this QEMU's -cpu max has PCID"
	fi
	run -0 tcg kinds --leaves 4 --iterations 2 --out declined
	[[ $(grep -c '^Declined, [1-9][0-9]* rows: no-feature: ' <<<"$output") -ge 1 ]]
	says "no-feature: pcid: "
}

@test "kinds: no PCID, no number under a PCID" {
	if grep -q '"features": ".*pcid' kinds/run.json; then
		skip "this QEMU's -cpu max has PCID"
	fi
	every kinds cycles,refills,twin ". . ." pcid=1
	every kinds valid no-feature pcid=1 phase=refill
	every kinds cycles,refills,twin ". . ." op=cr3-keep
}

# A CPU that lacks an op is no reason to give no F: another full flush was measured.
@test "kinds: F rests on a full flush that was measured" {
	grep -Eq '^none +4k +50 x 4k +0 +0 +50 +0\.00 ' kinds.out
}

@test "access, order and frames change no median" {
	local at page way
	local ways=(access=write order=sequential frames=scattered)
	cd "$BATS_TEST_TMPDIR"
	for way in "${ways[@]}"; do
		for page in "4k 50" "2m 16"; do
			printf '[%s]\nop = none, invlpg, cr3\nat = far, next-2m, same-2m, mapped, in-set\n' \
				"$way-$page"
			printf 'guest = %s\nleaves = %s\n%s = %s\n' "${page% *}" "${page#* }" \
				"${way%=*}" "${way#*=}"
		done
	done >ways.plan
	run -0 tcg ways.plan --out ways --iterations 20
	for way in "${ways[@]}"; do
		every ways refills 0 "$way" op=none
		for at in far next-2m mapped; do
			every ways refills 0 "$way" op=invlpg at="$at"
		done
		every ways refills 0 "$way" op=invlpg at=same-2m guest=4k
		every ways refills 1 "$way" op=invlpg at=in-set guest=4k
		every ways refills 50 "$way" op=cr3 guest=4k
		every ways refills 16 "$way" op=invlpg at=same-2m guest=2m
		every ways refills 16 "$way" op=invlpg at=in-set guest=2m
		every ways refills 16 "$way" op=cr3 guest=2m
	done
	every ways valid ok
}

# By the architecture one leaf for every address flushed.
@test "count flushes that many pages" {
	cd "$BATS_TEST_TMPDIR"
	run -0 tcg fracture --out count --guest 4k --op none,invlpg,cr3 --at in-set,far \
		--count 1,5,50 --phase refill --repeats 1 --iterations 20
	every count refills,must "1 1" op=invlpg at=in-set count=1
	every count refills,must "5 5" op=invlpg at=in-set count=5
	every count refills,must "50 50" op=invlpg at=in-set count=50
	every count refills,must "0 0" op=invlpg at=far count=50
	every count refills 50 op=cr3
}

@test "without --out the directory is results/PLAN-TARGET-TIME" {
	cd "$BATS_TEST_TMPDIR"
	run -0 tcg fracture --guest 4k --op none --repeats 1 --iterations 2
	[[ $output =~ results:\ (results/fracture-tcg-[0-9]{8}-[0-9]{6}) ]]
	[ -s "${BASH_REMATCH[1]}/rows.csv" ]
	[ -s "${BASH_REMATCH[1]}/run.json" ]
	[ -s "${BASH_REMATCH[1]}/log.txt" ]
}

@test "run.json and log.txt say how it was measured" {
	run -0 cat first/run.json
	says '"version"' '"by_hand"' '"kernel"' '"start"' '"end"' '"complete": true' '"restarts": 0' \
		'"plan"' '"thp_enabled"'
	grep -q '^driver: qemu: .*-kernel .*tlbscope-guest.elf' first/log.txt
	grep -q '^driver: by hand: ' first/log.txt
	run ! grep '^guest: error' first/log.txt
}

@test "a plan file of one's own works like an installed one" {
	cd "$BATS_TEST_TMPDIR"
	printf '%s\n' '[plan]' 'title = Mine' '[one]' 'op = none, invlpg, cr3' 'at = in-set' \
		'guest = 4k' 'leaves = 7' 'iterations = 20' >mine.plan
	run -0 tcg mine.plan --out mine
	every mine refills 0 op=none
	every mine refills 1 op=invlpg
	every mine refills 7 op=cr3
	run -0 tcg "$PWD/mine.plan" --out more --leaves 3,9
	every more refills 3 op=cr3 leaves=3
	every more refills 9 op=cr3 leaves=9
	[ "$(values more op | wc -l)" -eq 6 ]
}
