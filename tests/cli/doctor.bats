# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash disable=SC2154 # output and status are set by run
#
# tlbscope doctor: recorded machines against what is expected of them, and a machine that answers
# with silence, nonsense or not at all.
#
# tests/doctor/NAME is a tree as --record makes it, NAME.expected what has to come out: results and
# ids, no prose. Most trees are constructed from the documentation of the files in them.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	trees=$BATS_TEST_DIRNAME/../doctor
}

# found DOCTOR-ARGUMENT...: what is expected of a tree, out of the JSON.
found() {
	tlbscope doctor --json "$@" | jq -r '
		(.checks[] | ["check", .id, .result, .remedy_id // "-"]),
		(.targets[] | ["target", .name, .runs, (if .unasked then "unasked" else "asked" end),
			.remedy_id // "-", ([.limits[].check] | join(" "))]),
		["next", .next] | @tsv'
}

# The program without sanitizers, which want /proc and time.
plain() {
	local program=${TLBSCOPE%/*}/../../bin/tlbscope
	[ -x "$program" ] || skip "there is no program without sanitizers"
	realpath -- "$program"
}

narrow() {
	awk 'length > 100 { print "too wide: " $0; bad = 1 } END { exit bad }'
}

@test "recorded machines: every result, remedy and target as expected" {
	need jq jq
	local tree name count=0
	for tree in "$trees"/*/; do
		name=$(basename "$tree")
		found --root "$tree" >seen.tsv
		diff "$trees/$name.expected" seen.tsv || {
			echo "in $name"
			return 1
		}
		count=$((count + 1))
	done
	[ "$count" -ge 10 ]
}

@test "recorded machines: every one can be read by people, in 100 columns, without colours" {
	local tree
	for tree in "$trees"/*/; do
		run -0 tlbscope doctor --root "$tree"
		narrow <<<"$output"
		says "CPU and kernel" "Next" "kvm" "user"
		says_not $'\033'
	done
}

@test "JSON: keys and words are those of the manual" {
	need jq jq
	run -0 tlbscope doctor --json --root "$trees/cloud-vm"
	jq -e '
		(keys == ["checks", "next", "recorded", "targets", "tlbscope"]) and .recorded == true and
		(.checks | length > 30) and
		all(.checks[]; keys == ["command", "id", "remedy", "remedy_id", "result", "seen", "theme",
			"what"] and (.result | IN("ok", "missing", "problem", "unknown")) and
			(.result != "ok" or .remedy_id == null)) and
		([.checks[].id] | unique | length) == (.checks | length) and
		all(.targets[]; keys == ["cannot", "claims", "lacks", "limits", "name", "remedy_id", "runs",
			"unasked"] and (.runs | IN("yes", "no", "unknown")) and
			all(.limits[]; .weight | IN("less", "no-verdict", "refused")))' <<<"$output"
}

@test "--target: only what it needs, and the exit status says whether it can run" {
	run -0 tlbscope doctor --target kvm --root "$trees/intel-server"
	says kvm-native nested-paging "tlbscope run --on kvm"
	says_not gnuplot secure-boot
	run -5 tlbscope doctor --target kvm --root "$trees/cloud-vm"
	says kvm.nested
	run -5 tlbscope doctor --target kvm --root "$trees/emulating-kvm"
	run -5 tlbscope doctor --target module --root "$trees/secure-boot"
	says module.sign
	run -0 tlbscope doctor --target kvm --root "$trees/nested-host"
	says nested "no verdict"
	run -5 tlbscope doctor --target tcg --root "$trees/firmware-off"
	run -0 tlbscope doctor --target user
	run -0 tlbscope doctor
}

# Every system call flushes there, so that user has no verdict to give about flushes; run ends with 0 all the same.
# Latency without a flush is evidence on that hardware, QEMU's software CPU is none.
@test "--target user under PTI without PCID: it runs, says what is lost, and names the plan that is not touched" {
	run -0 tlbscope doctor --target user --root "$trees/vm-zen5-pti"
	says "runs when asked for" no-contrast "tlbscope run reach --on user"
	says_not "tlbscope run --on user"
	run -0 tlbscope doctor --root "$trees/vm-zen5-pti"
	[ "${lines[-1]}" = "  tlbscope run reach --on user" ]
	# with one more fact, that the CPU is an emulator's, no cycle is evidence
	cp -r "$trees/vm-zen5-pti" tree
	sed -i 's/^40000000 .*/40000000 0 40000001 54474354 43544743 47435447/' tree/tlbscope/cpuid
	run -0 tlbscope doctor --root tree
	says bare-metal.emulator
	[ "${lines[-1]}" = "  tlbscope run --on tcg" ]
}

@test "a module that was built for another kernel is not one to load" {
	need jq jq
	cp -r "$trees/alder-lake" tree
	read -r release <tree/proc/sys/kernel/osrelease
	echo "$release" >tree/tlbscope/module-built
	tlbscope doctor --json --root tree | jq -e '[.checks[] | select(.id | IN("module", "module-built")) |
		.remedy_id] == ["module.load", null]'
	echo 5.10.0-1-amd64 >tree/tlbscope/module-built
	tlbscope doctor --json --root tree >seen.json
	jq -e '.checks[] | select(.id == "module-built") | .result == "problem" and
		.remedy_id == "module-built.other" and (.seen | contains("5.10.0-1-amd64"))' seen.json
	jq -e '.checks[] | select(.id == "module") | .remedy_id != "module.load"' seen.json
}

@test "the release that a module was built for is read from the module" {
	need jq jq
	local program
	program=$(plain)
	mkdir -p build/bin build/module build/share/tlbscope
	cp "$program" build/bin/tlbscope
	printf 'junk\0ververma=gic=no\0vermagic=4.2.0-test SMP mod_unload \0depends=\0' >build/module/tlbscope.ko
	run -0 build/bin/tlbscope doctor --json
	jq -e '.checks[] | select(.id == "module-built") | .remedy_id == "module-built.other" and
		(.seen | contains("kernel 4.2.0-test, which"))' <<<"$output"
}

@test "an installed program says where the module is made: not where it stands" {
	need jq jq
	local program
	program=$(plain)
	mkdir -p usr/bin usr/share/tlbscope
	cp "$program" usr/bin/tlbscope
	usr/bin/tlbscope doctor --record seen >/dev/null
	[ "$(<seen/tlbscope/module-built)" = "no sources" ]
	# on a kernel that takes any module
	cp -r "$trees/alder-lake" tree
	cp seen/tlbscope/module-built tree/tlbscope/
	tlbscope doctor --json --root tree >seen.json
	jq -e '[.checks[] | select(.id | IN("module", "module-built"))] | length == 2 and
		all(.remedy_id == "any.module-sources" and (.remedy | contains("sources")) and .command == null)' seen.json
	# and on one that takes none
	cp "$trees/vm-zen5-pti/proc/sys/kernel/osrelease" tree/proc/sys/kernel/
	rm -f tree/proc/sys/kernel/modules_disabled
	tlbscope doctor --json --root tree >seen.json
	jq -e '[.checks[] | select(.id | IN("module-built", "module-headers")) | .remedy_id] ==
		["any.modules-first", "any.modules-first"]' seen.json
}

@test "root is not told to become root" {
	need jq jq
	cp -r "$trees/vm-zen5-pti" tree
	echo yes >tree/tlbscope/root
	tlbscope doctor --json --root tree >root.json
	jq -e '[.checks[].command // empty | select(contains("sudo"))] == []' root.json
	jq -e '.checks[] | select(.id == "pool-2m") | .remedy_id == "pool-2m.root"' root.json
	jq -e '[.checks[].command // empty | select(startswith("mount "))] | length > 0' root.json
	echo no >tree/tlbscope/root
	tlbscope doctor --json --root tree | jq -e '[.checks[].command // empty | select(contains("sudo"))] | length > 0'
}

@test "wrong words are refused" {
	refused doctor --target nothing
	says nothing "list targets"
	refused doctor --root ./not-there
	refused doctor --root /dev/null
	refused doctor --record .
	refused doctor --root . --record ./new
	refused doctor word
}

@test "a record: replayed it says what the machine said, and names nobody" {
	need jq jq
	found >live.tsv
	tlbscope doctor --record record >said
	tail -n 1 said | grep -qx 'Recorded in record'
	found --root record >replayed.tsv
	diff live.tsv replayed.tsv
	# The clock is measured anew each time: nothing else may differ.
	run -0 find record -type f -size +64k
	[ -z "$output" ]
	run ! grep -rqE '([0-9a-f]{2}:){5}[0-9a-f]{2}' record
	run ! grep -rqF "$HOME/" record
	[ "$(id -un)" = root ] || run ! grep -rqwF -e "$(id -un)" record
	[ ! -e record/sys/class/dmi ]
	[ ! -e record/proc/version ]
	[ ! -e record/proc/cmdline ]
}

@test "a record does not have the host's name in it" {
	unshare --uts true 2>/dev/null || skip "no permission for a host name of one's own"
	# shellcheck disable=SC2016 # for the inner shell
	unshare --uts sh -c 'hostname tlbscope-test-name && "$0" doctor --record record >/dev/null' \
		"$TLBSCOPE"
	[ -e record/tlbscope/cpuid ]
	run ! grep -rq tlbscope-test-name record
}

@test "garbage: unknown, never a wrong answer" {
	need jq jq
	run -0 tlbscope doctor --json --root "$trees/garbage"
	jq -e '[.checks[] | select(.result != "unknown") | .id] - ["pmu"] == []' <<<"$output"
	LC_ALL=C run ! grep -q '[^ -~]' <<<"$output"
}

@test "an empty tree: no crash, and nothing is said to be there" {
	need jq jq
	mkdir empty
	run -0 tlbscope doctor --json --root empty
	jq -e '[.checks[] | select(.result == "ok")] == []' <<<"$output"
	run -0 tlbscope doctor --root empty
	narrow <<<"$output"
}

@test "a FIFO, a directory, an endless file or a link out of the tree where a file is expected" {
	need jq jq
	cp -r "$trees/intel-server" tree
	rm tree/proc/meminfo tree/proc/cpuinfo tree/sys/devices/system/cpu/smt/active tree/dev/kvm
	mkfifo tree/proc/meminfo
	mkdir tree/proc/cpuinfo
	ln -s /dev/zero tree/sys/devices/system/cpu/smt/active
	ln -s /etc/passwd tree/dev/kvm
	TLBSCOPE_LIMIT=20 run -0 tlbscope doctor --json --root tree
	jq -e '[.checks[] | select(.id | IN("memory", "pti", "smt", "kvm")) | .result] | unique == ["unknown"]' \
		<<<"$output"
	says_not root:x
}

@test "a program that hangs costs two seconds, and is not left behind" {
	need jq jq
	mkdir bin
	printf '#!/bin/sh\necho $$ >%s/pid\nexec sleep 61\n' "$PWD" >bin/gnuplot
	chmod +x bin/gnuplot
	TLBSCOPE_LIMIT=20 PATH=$PWD/bin:$PATH run -0 tlbscope doctor --json
	jq -e '.checks[] | select(.id == "gnuplot") | .result == "unknown" and .remedy_id == "any.report"' \
		<<<"$output"
	run ! is_alive "$(cat pid)"
}

@test "an ordinary user gets answers, too" {
	need jq jq
	[ "$(id -u)" -eq 0 ] || skip "this is no root"
	need setpriv util-linux
	run -0 setpriv --reuid=65534 --regid=65534 --clear-groups "$(plain)" doctor --json
	jq -e '.checks | length > 30' <<<"$output"
	run -0 setpriv --reuid=65534 --regid=65534 --clear-groups "$(plain)" doctor
	narrow <<<"$output"
}

@test "without /proc, /sys and /dev: honest unknowns" {
	need jq jq
	[ "$(id -u)" -eq 0 ] || skip "chroot is root's"
	local program library
	program=$(plain)
	mkdir -p jail/bin
	cp "$program" jail/bin/tlbscope
	for library in $(ldd "$program" | grep -o '/[^ ]*'); do
		mkdir -p "jail/${library%/*}"
		cp -L "$library" "jail$library"
	done
	run -0 chroot jail /bin/tlbscope doctor --json
	jq -e '[.checks[] | select(.id | IN("pti", "memory", "smt", "pool-2m", "thp", "paranoid", "lockdown",
		"module-headers", "pmu", "tracefs")) | .result] | unique == ["unknown"]' <<<"$output"
	jq -e '.checks[] | select(.id == "cpu") | .result == "ok"' <<<"$output"
}

@test "nothing is written, and it does not take long" {
	local before after start best=9999 i
	before=$(listing .)
	for i in 1 2 3; do
		start=$(date +%s%3N)
		"$(plain)" doctor >/dev/null
		start=$(($(date +%s%3N) - start))
		[ "$start" -ge "$best" ] || best=$start
	done
	echo "best of $i: $best ms"
	[ "$best" -lt 2000 ]
	after=$(listing .)
	[ "$before" = "$after" ]
}

@test "colours on a terminal, unless NO_COLOR asks for none" {
	need script bsdutils
	local doctor="$TLBSCOPE doctor --root $trees/cloud-vm"
	TERM=xterm run -0 env -u NO_COLOR script -qec "$doctor" /dev/null
	says $'\033[32m'
	NO_COLOR=1 run -0 script -qec "$doctor" /dev/null
	says_not $'\033'
	run -0 tlbscope doctor --root "$trees/cloud-vm"
	says_not $'\033'
}

@test "run refuses with the remedy that doctor names" {
	need jq jq
	local id
	id=$(tlbscope doctor --json | jq -r '.targets[] | select(.name == "module") | .remedy_id // empty')
	[ -n "$id" ] || skip "target module can run here"
	refused run fracture --on module
	says "[$id]"
	refused run fracture --on tcg --image ./not-there
	says "[guest-image.make]"
}

@test "list cpus: every file, with source and status, in 100 columns" {
	run -0 tlbscope list cpus
	says sandy-bridge zen5 declared measured unverified "family 6"
	narrow <<<"$output"
	# nothing but a name begins at the left edge: what is continued hangs
	run ! grep -Ev '^([a-z0-9-]+ +[A-Z]| {4})' <<<"$output"
	run -0 tlbscope list ops
	narrow <<<"$output"
	run ! grep -Ev '^([a-z0-9-]+ | {40}[^ ])' <<<"$output"
}

@test "no file of lockdown: unknown while nothing is mounted that could hold it" {
	need jq jq
	lockdown() {
		tlbscope doctor --json --root tree | jq -r '.checks[] | select(.id == "lockdown") | .result, .remedy_id'
	}
	cp -r "$trees/container" tree
	chmod -R u+w tree
	run -0 lockdown
	says unknown lockdown.mount
	mkdir -p tree/sys/kernel/security
	echo capability,yama >tree/sys/kernel/security/lsm
	run -0 lockdown
	[ "$output" = $'ok\nnull' ]
	rm -r tree/sys/kernel/security
	printf 'nodev\tsysfs\n' >tree/proc/filesystems
	run -0 lockdown
	[ "$output" = $'ok\nnull' ]
	rm tree/proc/filesystems
	run -0 lockdown
	says unknown lockdown.mount
}
