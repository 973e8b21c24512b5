# shellcheck shell=sh
# SPDX-License-Identifier: GPL-2.0
#
# What the jobs share; `. /lab/lib.sh` at their beginning, `finish` at their end. They speak TAP.

tap_count=0
tap_failed=0

# result STATUS NAME [DETAIL]: one TAP line; details as comments.
result() {
	tap_count=$((tap_count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_count - $2"
		return 0
	fi
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $2"
	[ -z "${3-}" ] || printf '%s\n' "$3" | sed 's/^/# /'
	return 1
}

# check NAME COMMAND...: what it says is shown only when it fails.
check() {
	tap_name=$1
	shift
	tap_output=$("$@" 2>&1)
	result $? "$tap_name" "$tap_output"
}

skip() {
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $1 # SKIP $2"
}

finish() {
	echo "1..$tap_count"
	[ $tap_failed -eq 0 ]
	exit
}

# stage TEXT: a comment with the seconds since the VM's start, to see where time goes.
stage() {
	echo "# $(cut -d' ' -f1 /proc/uptime) s: $*"
}

# load_kvm [PARAMETER...]: the modules in order; parameters are kvm-amd's.
load_kvm() {
	while read -r load_name; do
		case $load_name in
		kvm-amd) insmod "/lab/modules/$load_name.ko" "$@" || return ;;
		*) insmod "/lab/modules/$load_name.ko" || return ;;
		esac
	done </lab/order
}

# ends STATUS TEXT COMMAND...: the command ends with the status, and says TEXT (extended regular
# expression). For use with check.
ends() {
	ends_status=$1
	ends_text=$2
	shift 2
	ends_said=$("$@" 2>&1 </dev/null)
	set -- $? "$ends_said"
	printf '%s\nexit status %s, expected %s and /%s/\n' "$2" "$1" "$ends_status" "$ends_text"
	[ "$1" -eq "$ends_status" ] && printf '%s\n' "$2" | grep -Eq -e "$ends_text"
}

# is FILE VALUE
is() {
	is_now=$(cat "$1")
	echo "$1: $is_now, expected $2"
	[ "$is_now" = "$2" ]
}

# eventually COMMAND...: until it is true, at most 20 s.
eventually() {
	eventually_tries=0
	until "$@"; do
		eventually_tries=$((eventually_tries + 1))
		[ $eventually_tries -lt 200 ] || return
		usleep 100000
	done
}

# column DIR NAME: that column of rows.csv, without its name.
column() {
	awk -F, -v name="$2" '
		{ sub(/\r$/, "") }
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) n = i; next }
		{ print $n }' "$1/rows.csv"
}
