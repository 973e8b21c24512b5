# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # output and status are set by run
#
# The marks behind numbers of the tables, on rows that were made for it.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	mkdir run
	echo run,target,accel,cpu,guest,host,host_how,op,class,at,count,global,pcid,leaves,touches,stride,offset,frames,mix,order,access,phase,repeat,sequence,iterations,seed,cycles,refills,off_median,exits,must,mix_refills,mix_must,op_va,twin,code,EVENT,valid >run/rows.csv
	sequence=0
}

# row PHASE OP CLASS AT REPEAT CYCLES REFILLS EVENT
row() {
	sequence=$((sequence + 1))
	echo "run,kvm,kvm,Constructed,4k,4k,verified,$2,$3,$4,1,0,0,50,50,4096,0,contiguous,none,sequential,read,$1,$5,$sequence,100,1,$6,$7,0,0,$([ "$2" = cr3 ] && echo 50 || echo 0),,,,stale,0,$8,ok" >>run/rows.csv
}

# Medians of two: 1000 and 1200 make 1100, 200 of it is 18 %; 1000 and 1250 make 1125, 250 of it 22 %.
# 40 and 60 are 40 % apart, but less than the 24 cycles that a timer may step by.
@test "~ at cycles: repeats more than 20 per cent of their median apart, and more than a timer's step" {
	row retouch none none none 1 40 '' ''
	row retouch none none none 2 60 '' ''
	row retouch invlpg selective far 1 1000 '' ''
	row retouch invlpg selective far 2 1200 '' ''
	row retouch cr3 full none 1 1000 '' ''
	row retouch cr3 full none 2 1250 '' ''
	run -0 tlbscope table run
	grep -Eq '^4k +4k +50 x 4k, .* 50 +1100 +1125~ ' <<<"$output"
	grep -Eq '^cr3 +1125~$' <<<"$output"
	grep -Eq '^invlpg far +1100$' <<<"$output"
	says "20 % of the median"
	need jq jq
	tlbscope table --json run | jq -e '[.runs[0].cells[0].outcomes[] | .repeats_differ] == [false, false, true]'
}

@test "~ at refills: any difference; their cycles, which are not shown, do not count" {
	row refill none none none 1 10 0 ''
	row refill none none none 2 9000 0 ''
	row refill invlpg selective far 1 100 0 ''
	row refill invlpg selective far 2 100 1 ''
	row refill cr3 full none 1 100 50 ''
	row refill cr3 full none 2 100 50 ''
	run -0 tlbscope table run
	grep -Eq '^4k +4k +50 x 4k, .* 0 +0\.5~ +50 ' <<<"$output"
}

# Events: 50 and 70 of 60 are 33 %; 0.01 and 0.05 are less than a tenth of an event apart.
@test "~ at the loops of 2016 and at events, each at its own number" {
	local phase
	for phase in both op access; do
		row $phase none none none 1 500 '' 0.01
		row $phase none none none 2 510 '' 0.05
		row $phase invlpg selective far 1 1000 '' 50
		row $phase invlpg selective far 2 "$([ $phase = op ] && echo 3000 || echo 1010)" '' \
			"$([ $phase = both ] && echo 70 || echo 51)"
		row $phase cr3 full none 1 2000 '' 100
		row $phase cr3 full none 2 2100 '' 101
	done
	run -0 tlbscope table run
	grep -Eq '^  4k/4k none +505 +505 +505 ' <<<"$output"
	grep -Eq '^  4k/4k invlpg far +1005 +2000~ +505 ' <<<"$output"
	grep -Eq '^4k +4k +none +none +0\.030 ' <<<"$output"
	grep -Eq '^4k +4k +selective invlpg far +60\.000~ +50\.500 ' <<<"$output"
	grep -Eq '^4k +4k +full +cr3 +100\.500 ' <<<"$output"
}

@test "no ~ in the legend where none is in a table" {
	row retouch none none none 1 400 '' ''
	row retouch invlpg selective far 1 1000 '' ''
	row retouch cr3 full none 1 1000 '' ''
	run -0 tlbscope table run
	says "F: 0"
	says_not "~"
}

# One page and nothing else: neither 64 pages nor a twin is there to be explained. Then a twin.
@test "target user: the note explains what the run has, and sends to doctor for why nothing was verified" {
	user_row() {
		sequence=$((sequence + 1))
		echo "run,user,native,Constructed,4k,unknown,asked,$1,$2,mapped,1,0,0,50,50,4096,0,contiguous,none,sequential,read,retouch,1,$sequence,100,1,1000,,0,0,1,,,,,0,unverified,ok" >>run/rows.csv
	}
	sed -i '1s/EVENT/flush_seen/' run/rows.csv
	user_row mprotect selective
	run -0 tlbscope table run
	says "What each call flushed was not verified" "says why (tracefs)"
	says_not "x64:" "-twin:" "needs root"
	user_row mprotect-twin none
	run -0 tlbscope table run
	says "-twin: the same call"
	says_not "x64:"
}
