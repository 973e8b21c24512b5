# SPDX-License-Identifier: GPL-2.0
#
# import of logs that are written here, line by line: what they can make somebody believe, and what damages them.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# hello HYPERVISOR [BRAND]: the guest's first word; HYPERVISOR "" leaves the key out.
hello() {
	echo "hello protocol=1 version=$(tlbscope --version | cut -d' ' -f2) vendor=GenuineIntel" \
		"${1:+hypervisor=$1 }features=pge,nx,ring0 memory=249561088 loop_cycles=5 pmu=none counters=0" \
		"brand=${2:-CPU}"
}

# row OP AT PHASE PAGE RESULT...: a row of 16 leaves.
row() {
	local op=$1 at=$2 phase=$3 page=$4 stride=4096
	shift 4
	[ "$page" = 4k ] || stride=2097152
	echo "row op=$op at=$at count=1 guest=$page global=0 pcid=0 leaves=16 touches=16 stride=$stride" \
		"offset=spread frames=contiguous mix=none order=chase access=read phase=$phase repeat=1" \
		"iterations=20 seed=1 code=0 $*"
}

# What looks like an intact CPU: two windows with their controls. Nothing but the log says so.
intact() {
	local page
	hello "$1"
	for page in 4k 2m; do
		row none none refill $page class=none must=0 refills=0 off_median=0 twin=stale
		row invlpg far refill $page class=selective must=0 op_va=0xe000000000 refills=0 off_median=0 twin=new
		row cr3 none refill $page class=full must=16 refills=16 off_median=0 twin=new
	done
	echo "end rows=6"
}

@test "no verdict of an import, whatever the log says of what is above the guest" {
	local above n=0
	for above in none VMwareVMware Microsoft_Hv KVMKVMKVM TCGTCGTCGTCG ""; do
		intact "$above" >log
		run -0 tlbscope import log --out "$((++n))"
		[ "$above" = TCGTCGTCGTCG ] || says "what executed the rows is not verified"
		run -0 tlbscope table "$n"
		says "no verdict"
		says_not ": intact" "Flushing one page leaves"
		run -0 tlbscope table --json "$n"
		says_not '"intact"'
	done
	every 1 target,accel,host,valid "guest none none backing"
	every 2 target,accel,host,valid "guest none unknown backing"
	every 4 target,accel,host,valid "kvm kvm unknown backing"
	every 5 target,accel,host,valid "tcg tcg none ok"
	every 6 target,accel,host,valid "guest none unknown backing"
	run -0 tlbscope table 1
	says "imported: what executed it"
}

@test "no break-even of an import" {
	local repeat
	{
		hello none
		for repeat in 1 2 3; do
			{
				row none none both 4k class=none must=0 "cycles=100$repeat" twin=stale
				row invlpg far both 4k class=selective must=0 "cycles=140$repeat" twin=new
				row invlpg far both 4k class=selective must=0 "cycles=260$repeat" twin=new |
					sed 's/count=1/count=4/'
				row cr3 none both 4k class=full must=16 "cycles=400$repeat" twin=new
			} | sed "s/repeat=1/repeat=$repeat/"
		done
		echo "end rows=12"
	} >log
	run -0 tlbscope import log --out run
	run -5 tlbscope ceiling run
	says "12 of 12 rows" backing
}

@test "a byte that is no printable ASCII in the guest's lines: the log is damaged, nothing is made of it" {
	local bad n=0
	# half of a number must not be taken for one, nor reach a terminal what is a command to it
	for bad in '4s/refills=16/refills=1\x006/' '4s/refills=16/refills=1\r6/' '4s/twin/\x1b[2J&/' \
		'4s/twin=new/twin=new\x7f/' '4s/ op=/ \xc3\xa4=1&/'; do
		intact KVMKVMKVM | sed "$bad" >log
		refused import log --out run
		says "tlbscope: log:4: byte 0x" "printable ASCII"
	done
	intact KVMKVMKVM | sed '1s/brand=/&\x1b[31m/' >log
	refused import log --out run
	says "log:1: byte 0x1b"
	intact KVMKVMKVM | sed '5s/^.*/error status=no-feature hint="\x1b[31m"/' >log
	refused import log --out run
	says "log:5: byte 0x1b"
	# what the firmware writes is its own affair
	{
		printf '\033[2J\0\r\rBIOS\r\n'
		intact KVMKVMKVM | sed 's/$/\r/'
	} >log
	run -0 tlbscope import log --out good
	says "6 rows"
	# the last line breaks off where the log does
	intact KVMKVMKVM | sed '4s/refills=16/refills=1\x006/; 4q' >log
	run -0 tlbscope import log --out torn
	says "2 rows" "log:4: the last line breaks off" "Not complete"
}

@test "rows that another's words stand before are lost, and the run is not complete" {
	intact KVMKVMKVM | sed '3,4s/^/boot: /' >log
	run -0 tlbscope import log --out run
	says "4 rows; the guest ended after 6 rows that it measured, and 4 are in the log" "Not complete"
	grep -q '"complete": false' run/run.json
}

@test "a log with the same rows behind a second hello is refused; rows of other cases are one run" {
	intact KVMKVMKVM >log
	cat log log >twice
	refused import twice --out run
	says "tlbscope: twice:9: the guest starts a second time" "(line 10)" "split the log"
	# a start that broke off, and all of it once more; another order is no other rows
	{
		sed 4q log
		sed '2d' log
	} >again
	refused import again --out run
	says "again:5: the guest starts a second time" "(line 6)"
	{
		cat log
		sed 's/repeat=1/repeat=2/' log
	} >both
	run -0 tlbscope import both --out both.run
	says "12 rows"
	# a plan whose sections overlap measures a case twice without a second start
	sed '2{p}; s/rows=6/rows=7/' log >overlap
	run -0 tlbscope import overlap --out overlap.run
	says "7 rows"
	says_not "Not complete"
}

@test "a row's numbers are plain and each key stands once" {
	intact KVMKVMKVM | sed '4s/refills=16/refills=0x10/' >log
	refused import log --out run
	says "log:4: bad-number" 0x10
	intact KVMKVMKVM | sed '4s/refills=16/& twin=new refills=7/' >log
	refused import log --out run
	says "log:4: duplicate-key" refills
	intact KVMKVMKVM | sed '4s/$/ op=none/' >log
	refused import log --out run
	says "log:4: duplicate-key" op
}

@test "report does not call an import hardware" {
	intact none >log
	run -0 tlbscope import log --out one
	intact KVMKVMKVM >log
	run -0 tlbscope import log --out two
	run -0 tlbscope report one two --out page
	run -0 sed 's/<[^>]*>/ /g' page/report.html
	says "one  (not verified: imported): " "two  (not verified: imported): " "gives no verdict"
	says_not "(hardware)" "Flushing one page leaves" " intact"
}
