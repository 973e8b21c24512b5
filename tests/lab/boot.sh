#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# boot.sh [OPTION]... --out DIR JOB: boots the lab's VM under QEMU's TCG, runs JOB in it as root,
# and brings its /results back as DIR.
#
#   --smp N           CPUs (1)                --timeout S    for the whole boot (120; nested 240)
#   --mem M           MiB (512; nested 2048)  --qemu PATH    QEMU that is the VM
#   --cpu MODEL       (qemu64,+svm,+npt)      --append TEXT  more of the kernel's command line
#   --compressed      boot vmlinuz: slower, but with KASLR and, on -cpu max, 5-level paging
#   --nmi N           NMIs, ten a second, from the line `lab: nmi` on the console on
#   --nested, --inner-qemu PATH, --file FILE[:PATH]    see mkroot.sh
#
# Prints what the job printed. DIR/lab has job.log, console, dmesg, and qemu (the command line).
#
# Why TCG: it needs neither KVM nor privileges, and emulates AMD's nested paging, so that a real
# kernel with a real kvm-amd runs anywhere. Its speed and its TLB are QEMU's, not a CPU's.
#
# Exit status: the job's; 77 nothing to boot here (the reason is on stderr); 124 time-out; 125 the
# VM ended without complete results; 126 the kernel complained (oops, warning, stall, lock-up).

set -eu

here=$(cd "$(dirname "$0")" && pwd)
program=${TLBSCOPE:-$here/../../build/bin/tlbscope}
qemu="qemu-system-x86_64"
smp=1
mem=
cpu=qemu64,+svm,+npt
append=
image=vmlinux
timeout=
out=
nmis=0
nested=
newline='
'

usage() {
	echo "boot.sh: $*; see the head of $0" >&2
	exit 2
}

# What mkroot.sh has to know, one argument a line.
root_options=

while [ $# -gt 1 ]; do
	case $1 in
	--smp) smp=$2 ;;
	--mem) mem=$2 ;;
	--cpu) cpu=$2 ;;
	--append) append="$append $2" ;;
	--timeout) timeout=$2 ;;
	--qemu) qemu=$2 ;;
	--out) out=$2 ;;
	--nmi) nmis=$2 ;;
	--inner-qemu)
		nested=yes
		root_options=$root_options$1$newline$2$newline
		;;
	--file) root_options=$root_options$1$newline$2$newline ;;
	--nested)
		nested=yes
		root_options=$root_options$1$newline
		shift
		continue
		;;
	--compressed)
		image=vmlinuz
		shift
		continue
		;;
	*) usage "$1: no such option" ;;
	esac
	[ $# -gt 2 ] || usage "$1 needs a value, and a job has to follow"
	shift 2
done
[ $# -eq 1 ] || usage "no job"
[ -n "$out" ] || usage "no --out"
job=$1
[ -n "$mem" ] || mem=$([ -n "$nested" ] && echo 2048 || echo 512)
[ -n "$timeout" ] || timeout=$([ -n "$nested" ] && echo 240 || echo 120)

if ! command -v "$qemu" >/dev/null 2>&1; then
	echo "lab: there is no $qemu; apt-get install qemu-system-x86" >&2
	exit 77
fi
kernel=$("$here/fetch.sh") || exit

work=$(mktemp -d "${TMPDIR:-/tmp}/tlbscope-lab.XXXXXX")
pid=
# shellcheck disable=SC2317,SC2329 # called by the trap
clean_up() {
	trap '' HUP INT TERM
	# timeout hands the signal on to QEMU.
	[ -z "$pid" ] || { kill "$pid" && wait "$pid"; } 2>/dev/null || :
	rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' HUP TERM

set --
while IFS= read -r option; do
	[ -z "$option" ] || set -- "$@" "$option"
done <<END
$root_options
END
"$here/mkroot.sh" "$@" "$job" "$work/initramfs"

line="console=ttyS0 panic=-1 quiet mitigations=off"
[ "$image" = vmlinuz ] || line="$line nokaslr"
# Counting it against the PIT goes wrong when the machine is busy, and then all clocks of the VM run too
# fast. TCG's TSC is the host's.
mhz=$("$program" doctor 2>/dev/null | sed -n 's/.*invariant, \([0-9]*\) MHz.*/\1/p')
[ -z "$mhz" ] || line="$line tsc_early_khz=${mhz}000"
# TCG's VMRUN and #VMEXIT change the set of pending interrupts without the lock that its devices
# hold, so that an interrupt gets lost once in a while. A periodic timer makes up for it at the next
# tick; after a lost one-shot timer the VM would stand still for ever.
[ -z "$nested" ] || line="$line nohz=off highres=off"
set -- "$qemu" -accel tcg -cpu "$cpu" -smp "$smp" -m "$mem" -nodefaults -no-user-config \
	-display none -no-reboot -serial "file:$work/console" -serial "file:$work/results" \
	-chardev "pipe,id=lab-monitor,path=$work/monitor" -mon lab-monitor \
	-kernel "$kernel/$image" -initrd "$work/initramfs" -append "$line$append"
mkdir -p "$out/lab"
printf '%s\n' "$*" >"$out/lab/qemu"
# QEMU's monitor is a pair of pipes; open here, so that no end waits for the other.
mkfifo "$work/monitor.in" "$work/monitor.out"
exec 3<>"$work/monitor.in" 4<>"$work/monitor.out"
timeout --kill-after=5 "$timeout" "$@" >"$work/qemu.log" 2>&1 </dev/null 3>&- 4>&- &
pid=$!

# running: the child is there, and not only waiting to be collected.
running() {
	grep -q '^State:[[:space:]]*[^Z[:space:]]' "/proc/$pid/status" 2>/dev/null
}

# Two seconds before the end it is asked where its CPUs are: a hang may leave no other trace.
last=$(($(date +%s) + timeout - 2))
while running; do
	sleep 0.1
	if [ "$nmis" -gt 0 ] && grep -qs '^lab: nmi' "$work/console"; then
		echo nmi >&3
		nmis=$((nmis - 1))
	fi
	if [ "$last" -gt 0 ] && [ "$(date +%s)" -ge "$last" ]; then
		echo "info registers -a" >&3
		last=0
	fi
done
status=0
wait "$pid" || status=$?
pid=

# The port sends CR LF, and the kernel's first lines may hold anything.
: >>"$work/console"
tr -d '\r' <"$work/console" >"$out/lab/console"

complaint="BUG:|WARNING: |Oops|Kernel panic|general protection fault|double fault|unable to handle"
complaint="$complaint|soft lockup|hard LOCKUP|rcu.*(stall|detected)|blocked for more than"
complaint="$complaint|scheduling while|[Bb]ad page|refcount_t:|memory leak|UBSAN:"
complaint="$complaint|Out of memory: Killed"

# complaints FILE...: lines that no kernel in order prints.
complaints() {
	cat "$@" 2>/dev/null | grep -aE "$complaint" | sort -u | head -n 20
}

if [ "$status" -ne 0 ]; then
	sed 's/^/qemu: /' "$work/qemu.log" >&2
	complaints "$out/lab/console" | sed 's/^/kernel: /' >&2
	echo "lab: the last lines of the console ($out/lab/console):" >&2
	tail -n 15 "$out/lab/console" >&2
	timeout 1 cat <&4 | grep -aE '^(CPU#|RIP|EIP)' | tr -d '\r' | sed 's/^/qemu: /' >&2
	case $status in
	124 | 137) echo "lab: not finished after $timeout s" >&2; exit 124 ;;
	esac
	echo "lab: QEMU ended with status $status" >&2
	exit 125
fi

# receive: unpacks what came over the second port into DIR; prints the job's exit status.
receive() {
	read -r mark job_status size sum <"$work/results" || return
	[ "$mark" = tlbscope-lab ] || return
	head=$(head -n 1 "$work/results" | wc -c)
	tail -c +$((head + 1)) "$work/results" | head -c "$size" >"$work/results.tar.gz"
	[ "$(tail -c +$((head + size + 1)) "$work/results")" = end ] || return
	[ "$(sha256sum <"$work/results.tar.gz")" = "$sum  -" ] || return
	tar -xz -C "$out" --no-same-owner -f "$work/results.tar.gz" || return
	echo "$job_status"
}

if ! job_status=$(receive); then
	complaints "$out/lab/console" | sed 's/^/kernel: /' >&2
	echo "lab: no complete results ($(wc -c <"$work/results") bytes came); console:" >&2
	tail -n 15 "$out/lab/console" >&2
	exit 125
fi
cat "$out/lab/job.log"
found=$(complaints "$out/lab/console" "$out/lab/dmesg")
if [ -n "$found" ]; then
	printf '%s\n' "$found" | sed 's/^/kernel: /' >&2
	echo "lab: the kernel complained; see $out/lab/dmesg" >&2
	exit 126
fi
exit "$job_status"
