#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# run.sh quick|all: runs the lab's jobs in VMs (boot.sh), judges here what came out (judge.sh),
# prints TAP and a last line `N passed, N failed, N skipped`. quick is one nested boot and one of the
# host module, all is everything.
#
# The exit status is 0 without a failure. Where there is nothing to boot that is one skipped test.
#
# Environment: TLBSCOPE, the program (default build/bin/tlbscope); TLBSCOPE_LAB_CACHE, see fetch.sh;
# TLBSCOPE_LAB_QEMUS, with all: further QEMU programs to be the VM in boots of their own;
# TLBSCOPE_LAB_OUT, a new directory that is to keep what comes out of the VMs. Without it that is
# kept below build/lab when something failed, and removed otherwise.

set -u

out=${TLBSCOPE_LAB_OUT:+$(realpath -m "$TLBSCOPE_LAB_OUT")}
cd "$(dirname "$0")/../.." || exit 1
here=$PWD/tests/lab
program=${TLBSCOPE:-$PWD/build/bin/tlbscope}
case ${1-} in
quick | all) ;;
*)
	echo "usage: run.sh quick|all" >&2
	exit 2
	;;
esac

# shellcheck source=judge.sh
. "$here/judge.sh"
# shellcheck source=module-runs.sh
. "$here/module-runs.sh"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/tlbscope-lab-run.XXXXXX") || exit 1
if [ -n "$out" ]; then
	rmdir "$out" 2>/dev/null
	mkdir -p "$(dirname "$out")" && mkdir "$out" || exit 1
else
	mkdir -p build/lab
	out=$(mktemp -d "$PWD/build/lab/out.XXXXXX") || exit 1
fi
passed=0
failed=0
skipped=0
workers=

# shellcheck disable=SC2317,SC2329 # called by the trap
clean_up() {
	trap '' HUP INT TERM
	for worker in $workers; do
		kill "$worker" 2>/dev/null
	done
	wait
	rm -rf "$scratch"
	[ -n "${TLBSCOPE_LAB_OUT-}" ] || [ "$failed" -gt 0 ] || rm -rf "$out"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

# ---- TAP ----

# tap RESULT NAME [MORE]: RESULT is a status, with MORE a file that says more, or the word skip,
# with MORE the reason.
tap() {
	number=$((passed + failed + skipped + 1))
	case $1 in
	0)
		passed=$((passed + 1))
		echo "ok $number - $2"
		;;
	skip)
		skipped=$((skipped + 1))
		echo "ok $number - $2 # SKIP $3"
		;;
	*)
		failed=$((failed + 1))
		echo "not ok $number - $2"
		[ -z "${3-}" ] || sed 's/^/# /' "$3"
		;;
	esac
}

# check NAME COMMAND...: on the host.
check() {
	name=$1
	shift
	"$@" >"$scratch/check" 2>&1
	tap $? "$name" "$scratch/check"
}

# ---- boots ----

# boot NAME JOB [OPTION]...: what came out in $out/NAME, what boot.sh said beside it. Nothing if another
# worker has taken it.
boot() {
	mkdir "$scratch/$1.taken" 2>/dev/null || return 0
	name=$1
	job=$here/$2.job
	shift 2
	began=$(date +%s)
	"$here/boot.sh" "$@" --out "$out/$name" "$job" >"$out/$name.tap" 2>"$out/$name.err" &
	vm=$!
	wait $vm
	echo $? >"$out/$name.status"
	echo "# $name: $(($(date +%s) - began)) s"
}

# work FUNCTION: all its boots, as many at a time as there are CPUs, 4 at most: each worker goes through them
# in their order. The end of a worker is that of its VM.
work() {
	n=$(nproc)
	[ "$n" -le 4 ] || n=4
	while [ "$n" -gt 0 ]; do
		(
			vm=
			trap '[ -z "$vm" ] || kill "$vm"; wait; exit 143' HUP TERM
			"$1"
		) &
		workers="$workers $!"
		n=$((n - 1))
	done
	wait
	workers=
}

# report NAME: the job's TAP lines as ours, and whether the VM was in order. False if there is
# nothing to judge.
report() {
	lab=$1
	while IFS= read -r line; do
		case $line in
		"ok "*" # SKIP "*)
			name=${line#* - }
			tap skip "$lab: ${name%% # SKIP *}" "${line#* # SKIP }"
			;;
		"ok "*) tap 0 "$lab: ${line#* - }" ;;
		"not ok "*) tap 1 "$lab: ${line#* - }" ;;
		"#"*) echo "$line" ;;
		esac
	done <"$out/$lab.tap"
	status=$(cat "$out/$lab.status")
	# A job with a failed test ends with 1; what else is wrong is not in its lines.
	if [ "$status" -eq 77 ]; then
		tap skip "$lab" "$(cat "$out/$lab.err")"
	elif [ "$status" -gt 1 ] || ! grep -q '^1\.\.[0-9]' "$out/$lab.tap"; then
		tap 1 "$lab: ran to its end, no complaint from the kernel ($status)" "$out/$lab.err"
	else
		tap 0 "$lab: ran to its end, no complaint from the kernel"
	fi
	[ "$status" -le 1 ]
}

# ---- what the jobs' rows have to be ----

judge_kvm() {
	report "$1" || return
	for host in $([ ! -e "$out/$1/hand-4k.log" ] || echo 4k 2m); do
		least=$([ "$host" = 4k ] && echo 100 || echo 10)
		check "$1: by hand, host $host: KVM mapped such pages" \
			mapped_by "$out/$1/hand-$host.pages" "$host" "$least"
		check "$1: by hand, host $host: becomes a run" \
			"$program" import "$out/$1/hand-$host.log" --out "$out/$1/hand-$host"
		check "$1: by hand, host $host: refills of QEMU's nested TLB" \
			as_expected "$out/$1/hand-$host" "$host" unknown
	done
	[ -d "$out/$1/kvm-fracture" ] || return
	for host in 4k 2m; do
		check "$1: driver, host $host: refills of QEMU's nested TLB" \
			as_expected "$out/$1/kvm-fracture" $host $host
	done
	check "$1: driver: every host page verified" only "$out/$1/kvm-fracture" host_how verified
	check "$1: driver: every row says nested" every_row_says "$out/$1/kvm-fracture" nested
	check "$1: driver: only CR4 writes exit" only_exits "$out/$1/kvm-fracture" pge
	check "$1: driver: no verdict" no_verdict "$out/$1/kvm-fracture"
}

judge_shadow() {
	report "$1" || return
	check "$1: every row says shadow" every_row_says "$out/$1/kvm-fracture" shadow
	check "$1: no row says nested" no_row_says "$out/$1/kvm-fracture" nested
	check "$1: controls pass: none" only "$out/$1/kvm-fracture" refills 0 op=none leaves=50
	check "$1: controls pass: cr3" only "$out/$1/kvm-fracture" refills 50 op=cr3 leaves=50
	check "$1: no verdict" no_verdict "$out/$1/kvm-fracture"
}

# one DIR COLUMN [COLUMN=VALUE]...: the one value of that column.
one() {
	rows "$@" | LC_ALL=C sort -u
}

# Code runs in each of the 16 pages of a set, so nx_huge_pages has to split 16 more with it than without.
split_by_code() {
	for counter in pages_2m nx_lpage_splits; do
		without=$(one "$1" "$counter" host=2m code=0)
		with=$(one "$1" "$counter" host=2m code=1)
		echo "$counter: $without without code in the pages, $with with it"
		case $counter in
		pages_2m) [ $((without - with)) -eq "$2" ] || return ;;
		*) [ $((with - without)) -eq "$2" ] || return ;;
		esac
	done
}

# QEMU's nested TLB goes by the larger page of both stages: over 1G pages as over 2M ones.
judge_pages() {
	report "$1" || return
	check "$1: host 1g verified" only "$out/$1/1g" host_how verified host=1g
	check "$1: host 1g: KVM mapped one such page" only "$out/$1/1g" pages_1g 1 host=1g
	for guest in "4k leaves=50 50" "2m leaves=16 16"; do
		all=${guest##* }
		for cell in "none none 0" "cr3 none $all" "invlpg far $all" "invlpg in-set $all"; do
			# shellcheck disable=SC2086 # words
			set -- "$1" $cell ${guest% *}
			check "$1: host 1g, guest $5: refills of $2 $3" only "$out/$1/1g" refills "$4" \
				phase=refill "op=$2" "at=$3" "guest=$5" "$6"
		done
	done
	check "$1: 2m pages, not shattered" split_by_code "$out/$1/shatter" 0
	check "$1: nx_huge_pages=force shatters those with code" split_by_code "$out/$1/shatter-nx" 16
	check "$1: dirty logging shatters all" only "$out/$1/shatter" pages_2m 0 host=2m-logged
	check "$1: dirty logging: refills as over 4k, none" only "$out/$1/shatter" refills 0 \
		host=2m-logged op=invlpg at=far
	check "$1: shatter: every host page verified" only "$out/$1/shatter" host_how verified
}

judge_ceiling() {
	report "$1" || return
	for pages in 0 1 8 33 128; do
		check "$1: $pages: single turns to full exactly there, by the rows" \
			turns_at "$out/$1/around-$pages" $pages
		check "$1: $pages: single turns to full exactly there, by the trace" \
			traced_at "$out/$1/trace-$pages" $pages
		check "$1: $pages: the program reads the trace" \
			reads_trace "$out/$1/trace-$pages" "$out/$1/around-$pages"
	done
	check "$1: every row says emulated-cpu" every_row_says "$out/$1/around-33" emulated-cpu
}

# noticed NAME STATUS TEXT: boot.sh ended so, and said so.
noticed() {
	cat "$out/$1.err"
	echo "status $(cat "$out/$1.status")"
	[ "$(cat "$out/$1.status")" -eq "$2" ] && { [ -z "$3" ] || grep -q "$3" "$out/$1.err"; }
}

# ---- what is run ----

quick() {
	boot kvm kvm --nested
	[ -z "$module" ] || module_quick
}

# The boots differ where it must not matter: CPUs of the VM, model, version of QEMU.
kvm_boots="kvm kvm-smp kvm-epyc"
for further in ${TLBSCOPE_LAB_QEMUS-}; do
	kvm_boots="$kvm_boots kvm-${further##*/}"
done

# Those that take longest come first. pool has little memory, so that it is soon too small. shadow has no
# hypervisor bit, so that nothing but npt=0 stands between the rows and a verdict.
all() {
	boot pool pool --nested --mem 1024 --timeout 600
	[ -z "$module" ] || module_all
	boot doctor doctor --nested --cpu EPYC,+svm,+npt --mem 8192
	boot pages pages --nested --cpu qemu64,+svm,+npt,+pdpe1gb --mem 4608 \
		--append "hugepagesz=1G hugepages=2"
	boot kvm kvm --nested
	boot kvm-smp kvm --nested --smp 2 --append lab.driver_only
	boot kvm-epyc kvm --nested --cpu EPYC,+svm,+npt --append lab.driver_only
	for further in ${TLBSCOPE_LAB_QEMUS-}; do
		boot "kvm-${further##*/}" kvm --nested --qemu "$further" --append lab.driver_only
	done
	boot shadow shadow --nested --cpu qemu64,+svm,+npt,-hypervisor
	boot memcg memcg --nested
	boot doctor-smt doctor --cpu Haswell --smp 2,threads=2 \
		--append "mitigations=auto lab.threads"
	boot ceiling ceiling
	boot panic trouble --append lab.trouble=panic
	boot warning trouble --append lab.trouble=warning
	boot hang trouble --append lab.trouble=hang --timeout 12
	boot failure trouble --append lab.trouble=failure
}

fetched=0
"$here/fetch.sh" >/dev/null 2>"$scratch/fetch" || fetched=$?
if [ $fetched -eq 77 ]; then
	tap skip "the lab" "$(tail -n 1 "$scratch/fetch")"
	echo "0 passed, 0 failed, 1 skipped"
	exit 0
elif [ $fetched -ne 0 ]; then
	tap 1 "the kernel is there" "$scratch/fetch"
	echo "0 passed, 1 failed, 0 skipped"
	exit 1
fi

module=
module_build && module=yes
if [ "$1" = quick ]; then
	work quick
	judge_kvm kvm
	[ -z "$module" ] || judge_modules quick
else
	work all
	[ -z "$module" ] || judge_modules all
	for kvm_boot in $kvm_boots; do
		judge_kvm "$kvm_boot"
		[ "$kvm_boot" = kvm ] || check "medians equal: kvm, $kvm_boot" \
			same_medians "$out/kvm/kvm-fracture" "$out/$kvm_boot/kvm-fracture"
	done
	report pool
	judge_shadow shadow
	report memcg
	judge_pages pages
	report doctor
	report doctor-smt
	judge_ceiling ceiling
	check "a panic is noticed" noticed panic 125 "Kernel panic - not syncing: sysrq"
	check "a warning is noticed" noticed warning 126 "WARNING: CPU: 0 PID: 1"
	check "a hang is noticed" noticed hang 124 "not finished after 12 s"
	check "a failed test is noticed" noticed failure 1 ""
fi

echo "1..$((passed + failed + skipped))"
[ $failed -eq 0 ] || echo "# what came out of the VMs is in $out"
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
