# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# What the jobs of the host module share; `. /lab/module.sh` behind lib.sh.

device=/dev/tlbscope

# ask REQUEST...: all requests in one session; the answers behind hello.
ask() {
	exec 3<>"$device"
	printf '%s\n' "$@" >&3
	cat <&3 | sed '/^hello /d'
	exec 3>&-
}

# word KEY: its value in the lines of standard input.
word() {
	sed -n "s/.* $1=\([^ ]*\).*/\1/p"
}

device_is_private() {
	stat -c '%a %U' "$device"
	[ "$(stat -c '%a %u' "$device")" = "600 0" ]
}

says_hello() {
	cat "$device" >/lab/hello || return
	cat /lab/hello
	for key in protocol version vendor family model stepping hypervisor features memory \
		loop_cycles pmu counters kernel cpu smt_sibling pti kernel_pcid levels large brand; do
		[ -n "$(word $key </lab/hello)" ] || { echo "no $key"; return 1; }
	done
	[ "$(word large </lab/hello)" = none ] || { echo "on large pages"; return 1; }
	[ "$(word kernel </lab/hello)" = "$(uname -r)" ]
}

# row GUEST OP AT REFILLS CASE-KEYS: asks, compares the median.
row() {
	row_said=$(ask "case op=$2${3:+ at=$3} guest=$1 iterations=100 $5")
	row_seen=$(printf '%s\n' "$row_said" | word refills)
	[ "$row_seen" = "$4" ] ||
		echo "$1 $2 $3 $5: expected $4, got ${row_seen:-nothing}: $row_said"
}

# One line for each row that is not as expected.
differences() {
	row 4k none "" 0 leaves=50
	for at in far next-2m mapped; do
		row 4k invlpg $at 0 leaves=50
	done
	row 4k invlpg same-2m 0 leaves=50
	row 4k invlpg in-set 1 leaves=50
	row 4k cr3 "" 50 leaves=50
	row 4k pge "" 50 leaves=50
	row 4k cr3 "" 50 "leaves=50 global=1"
	row 4k pge "" 50 "leaves=50 global=1"
	row 4k cr3 "" 50 "leaves=50 frames=scattered order=sequential access=write"
	row 2m none "" 0 leaves=16
	for at in far next-2m mapped; do
		row 2m invlpg $at 0 leaves=16
	done
	row 2m invlpg in-set 16 leaves=16
	row 2m cr3 "" 16 leaves=16
	row 2m pge "" 16 leaves=16
	row 2m none "" 0 "leaves=1 touches=50 stride=4096"
	row 2m invlpg in-set 1 "leaves=1 touches=50 stride=4096"
}

drops_as_expected() {
	differences >/lab/differences
	cat /lab/differences
	[ ! -s /lab/differences ]
}

twins_see_flushes() {
	for op in "invlpg at=in-set" cr3 pge; do
		[ "$(ask "case op=$op leaves=50" | word twin)" = new ] || { echo "op=$op"; return 1; }
	done
	[ "$(ask "case op=none leaves=50" | word twin)" = stale ] || { echo "op=none"; return 1; }
}

has_cycles() {
	for phase in retouch both op access; do
		has_said=$(ask "case op=cr3 leaves=50 phase=$phase iterations=20000")
		echo "$has_said"
		[ "$(printf '%s\n' "$has_said" | word cycles)" -gt 0 ] || return
		case $has_said in *refills=*) return 1 ;; esac
	done
}

slice=/sys/module/tlbscope/parameters/longest_slice_us

# Behind the first cases; how long is a matter of the machine.
says_longest_slice() {
	grep -Eqx '[1-9][0-9]*' $slice
}

# QEMU's TCG has no PMU: events are refused with the remedy, and rows have no counts.
says_no_counters() {
	[ "$(word pmu </lab/hello)" = none ] && [ "$(word counters </lab/hello)" = 0 ] || return
	ask "events 0x3c" "case op=cr3 leaves=50 phase=both iterations=1000" "events none" >/lab/counters
	cat /lab/counters
	head -n 1 /lab/counters | grep -q '^error status=no-feature word=pmu hint="no event counters here' ||
		return
	sed -n 2p /lab/counters | grep '^row ' | grep -qv counts= || return
	[ "$(sed -n 3p /lab/counters)" = "events general=0 width=0 used=0 pmu=none" ] || return
	dmesg | grep 'tlbscope: no event counters'
}

kept_answers() {
	echo "case op=cr3 leaves=50" >"$device" || return
	cat "$device" >/lab/kept
	cat /lab/kept
	[ "$(grep -c . /lab/kept)" -eq 1 ] && [ "$(word refills </lab/kept)" = 50 ]
}

# Does the module say that it is missing nothing? Its pages it counts itself.
gave_back() {
	grep tlbscope /lab/dmesg_now
	! grep -q 'tlbscope: BUG' /lab/dmesg_now
}
