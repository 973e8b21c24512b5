#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# Runs every test of `make check` and counts: shellcheck over the scripts, the unit tests (C,
# cmocka), the tests of the command line (bats), the quick half of the lab. A failure does not stop what comes after it.
# What cannot run because a tool is missing counts as skipped, never as passed.
#
# The last line is `N passed, N failed, N skipped`; the exit status is 0 only without a failure
# and with at least one test.
#
# From the environment (set by the Makefile, which also builds what is tested):
#   TESTS      run only what matches: unit test programs and bats files by a part of their name,
#              single bats tests by a regular expression, the scripts by `shellcheck`
#   TLBSCOPE   the program under test (default build/asan/bin/tlbscope)
#   CMOCKA     no: cmocka was not found when configuring, the unit tests were not built
#   SANITIZE   no: the compiler has no sanitizers

set -u
cd "$(dirname "$0")/.." || exit 1

TESTS=${TESTS-}
TLBSCOPE=${TLBSCOPE:-$PWD/build/asan/bin/tlbscope}
export TLBSCOPE
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
export CMOCKA_MESSAGE_OUTPUT=TAP
# Ours would be taken for the tests' own when they call make.
unset MAKEFLAGS MFLAGS MAKELEVEL

scratch=$(mktemp -d "${TMPDIR:-/tmp}/tlbscope-check.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' HUP INT TERM

passed=0
failed=0
skipped=0
summary= # one line for each part that ran

heading() {
	printf '\n=== %s\n' "$1"
}

# part NAME PASSED FAILED SKIPPED [REMARK]
part() {
	passed=$((passed + $2))
	failed=$((failed + $3))
	skipped=$((skipped + $4))
	summary="$summary$(printf '%-32s %4d passed %4d failed %4d skipped%s' "$1" "$2" "$3" "$4" \
		"${5:+  ($5)}")
"
}

skip() {
	echo "SKIPPED: $2"
	part "$1" 0 0 1 "$2"
}

# Does a name match TESTS? Everything does when it is empty.
wanted() {
	case $1 in
	*"$TESTS"*) return 0 ;;
	esac
	return 1
}

# run_tap NAME COMMAND...: runs it, shows what it says, and counts its TAP lines.
#
# A program that dies in the middle has announced more tests than it reports (1..N); one that dies
# before saying anything shows by its exit status. Both are failures. cmocka before 1.1.6
# reports a skipped test as "not ok N # SKIP".
run_tap() {
	name=$1
	shift
	{
		"$@" 2>&1 </dev/null
		echo $? >"$scratch/status"
	} | tee "$scratch/tap"
	status=$(cat "$scratch/status")
	# shellcheck disable=SC2046 # four numbers
	set -- $(awk '
		/^1\.\.[0-9]+$/ { planned += substr($0, 4); next }
		/^ok [0-9]+.*# [Ss][Kk][Ii][Pp]/ || /^not ok [0-9]+ # SKIP / { skipped++; next }
		/^ok [0-9]+/ { passed++ }
		/^not ok [0-9]+/ { failed++ }
		END { print passed + 0, failed + 0, skipped + 0, planned + 0 }' "$scratch/tap")
	if [ "$status" -eq 77 ] && [ $(($1 + $2)) -eq 0 ]; then
		part "$name" 0 0 1 "$(sed -n 's/^SKIPPED: //p' "$scratch/tap" | tail -n 1)"
		return
	fi
	lost=$(($4 - $1 - $2 - $3))
	remark=
	if [ $lost -gt 0 ]; then
		remark="$lost did not report, exit status $status"
		set -- "$1" $(($2 + lost)) "$3"
	elif [ "$status" -ne 0 ] && [ "$2" -eq 0 ]; then
		remark="exit status $status"
		set -- "$1" 1 "$3"
	elif [ "$status" -eq 0 ] && [ $(($1 + $2 + $3 + $4)) -eq 0 ]; then
		remark="reported nothing"
		set -- 0 1 0
	fi
	[ -z "$remark" ] || echo "FAILED: $name: $remark"
	part "$name" "$1" "$2" "$3" "$remark"
}

check_scripts() {
	wanted shellcheck || return 0
	heading shellcheck
	if ! command -v shellcheck >/dev/null 2>&1; then
		skip shellcheck "there is no shellcheck; apt-get install shellcheck"
		return
	fi
	if find configure .ci/run tests -type f \
		\( -name configure -o -path .ci/run -o -name '*.sh' -o -name '*.bash' -o -name '*.bats' \) \
		-exec shellcheck -x -P SCRIPTDIR {} +; then
		echo "ok"
		part shellcheck 1 0 0
	else
		part shellcheck 0 1 0
	fi
}

check_units() {
	# test_passes compares the image with the module: that of `make module`, or the lab's.
	if wanted test_passes && [ -z "${TLBSCOPE_MODULE-}" ] && [ ! -e build/module/tlbscope.ko ]; then
		if TLBSCOPE_MODULE=$(tests/lab/module-build.sh 2>/dev/null); then
			export TLBSCOPE_MODULE
		else
			unset TLBSCOPE_MODULE
		fi
	fi
	for source in tests/unit/test_*.c; do
		[ -e "$source" ] || continue
		name=${source##*/}
		name=${name%.c}
		wanted "$name" || continue
		heading "unit: $name"
		if [ "${CMOCKA:-yes}" = no ]; then
			skip "$name" "no cmocka; apt-get install libcmocka-dev, then ./configure"
		elif [ ! -x "build/asan/tests/$name" ]; then
			echo "FAILED: build/asan/tests/$name is not there; run make check"
			part "$name" 0 1 0 "not built"
		else
			run_tap "$name" "build/asan/tests/$name"
		fi
	done
}

check_cli() {
	for file in tests/cli/*.bats; do
		[ -e "$file" ] || continue
		name=${file##*/}
		if ! command -v bats >/dev/null 2>&1; then
			wanted "$name" || continue
			heading "cli: $name"
			skip "$name" "there is no bats; apt-get install bats"
		elif wanted "$name"; then
			heading "cli: $name"
			run_tap "$name" bats --tap "$file"
		elif bats --count --filter "$TESTS" "$file" | grep -qx '[1-9][0-9]*'; then
			heading "cli: $name, $TESTS"
			run_tap "$name" bats --tap --filter "$TESTS" "$file"
		fi
	done
}

# The lab's quick half: one boot. It finds out itself what cannot be had here.
check_lab() {
	wanted lab || return 0
	heading "lab: KVM in a VM"
	run_tap lab env TLBSCOPE="$PWD/build/bin/tlbscope" tests/lab/run.sh quick
}

check_scripts
check_units
check_cli
check_lab
if [ "${SANITIZE:-yes}" = no ] && [ -z "$TESTS" ]; then
	heading sanitizers
	skip sanitizers "the compiler has none; the tests above ran without"
fi

heading summary
printf '%s' "$summary"
if [ $((passed + failed + skipped)) -eq 0 ]; then
	echo "no test matches TESTS='$TESTS'"
	failed=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
