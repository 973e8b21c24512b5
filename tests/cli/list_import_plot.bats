# SPDX-License-Identifier: GPL-2.0
#
# What is around a run: the lists, the guest image without the program (another VMM, by hand) and
# the import of its log, tables as JSON and beside the published figures, pictures.

load helpers

# QEMU with the guest image, started without the program; further arguments behind.
guest() {
	timeout --kill-after=5 "${TLBSCOPE_LIMIT:-120}" "$QEMU" -nodefaults -no-user-config \
		-display none -no-reboot -machine pc -accel tcg -cpu max -smp 1 -m 256M \
		-device isa-debug-exit,iobase=0xf4,iosize=0x04 "$@"
}

# A clean end: isa-debug-exit makes (value << 1) | 1 of what the guest writes.
CLEAN=33

setup_file() {
	cd "$BATS_FILE_TMPDIR" || return 1
	printf '%s\n' '[plan]' 'title = Small' \
		'[4k]' 'op = none, invlpg, cr3, pge' 'at = far, same-2m, in-set' 'leaves = 50' \
		'phase = refill, retouch' 'iterations = 20' 'repeats = 2' \
		'[2m]' 'op = none, invlpg, cr3' 'at = far, same-2m, in-set' 'guest = 2m' 'leaves = 16' \
		'phase = refill, retouch' 'iterations = 20' 'repeats = 2' \
		'[mixed]' 'op = none, invlpg, cr3' 'at = in-set' 'leaves = 25' 'mix = 2m:8' \
		'phase = refill, retouch' 'iterations = 20' >small.plan
	command -v "$QEMU" >/dev/null || return 0
	tcg small.plan --phase refill,retouch --out run >run.out
}

setup() {
	cd "$BATS_FILE_TMPDIR" || return 1
}

@test "list plans, ops, axes, targets, probes" {
	run -0 tlbscope list plans
	says fracture global kinds mixed
	# Sections differ in their targets, and tcg measures other phases only when asked to.
	[ "$(awk '/^[^ ]/ { plan = $1 } / on: / && plan == "fracture" { sub(/^ *on: /, ""); print }' <<<"$output")" = \
		"kvm, module, user, tcg" ]
	[ "$(awk '/^[^ ]/ { plan = $1 } / on: / && plan == "2016" { sub(/^ *on: /, ""); print }' <<<"$output")" = \
		"kvm, module; tcg only with --phase both,op,access" ]
	[ "$(awk '/^[^ ]/ { plan = $1 } / on: / && plan == "shatter" { sub(/^ *on: /, ""); print }' <<<"$output")" = kvm ]
	run -0 tlbscope list ops
	says none invlpg invpcid-addr invpcid-ctx invpcid-nonglobal invpcid-all cr3 cr3-keep pge \
		selective full
	run -0 tlbscope list axes
	says op at count guest global pcid leaves touches stride offset frames mix order access phase \
		iterations seed host repeats "4k 2m 1g 2m-logged" "4k 2m 1g" "in-set same-2m next-2m mapped far" "refill retouch both op access"
	run -0 tlbscope list targets
	says tcg "nothing about hardware"
	run -0 tlbscope list probes
	says qemu guest-image gnuplot
}

@test "list events of a CPU: names, encodings, status, source, what a run counts unasked" {
	run -0 tlbscope list events skylake
	says "Skylake" "declared, intel/perfmon skylake_core.json"
	grep -Eq '^  \*w DTLB_LOAD_MISSES.WALK_COMPLETED +event=0x08,umask=0x0e$' <<<"$output"
	grep -Eq '^  \*  DTLB_LOAD_MISSES.WALK_ACTIVE +event=0x08,umask=0x10,cmask=1$' <<<"$output"
	run -0 tlbscope list events zen3
	grep -Eq '^     ls_tlb_flush.all_tlb_flushes +event=0x78,umask=0xff$' <<<"$output"
	run -0 tlbscope list cpus
	says "tlbscope list events haswell"
	refused list events z80
	says "list cpus"
	refused list events zen3 zen4
	refused list plans fracture
}

@test "list probes sees what is there and says what to do about the rest" {
	need_qemu
	run -0 tlbscope list probes
	[[ $output =~ qemu\ +ok ]]
	[[ $output =~ guest-image\ +ok ]]
	# A PATH with a shell and nothing else.
	mkdir -p "$BATS_TEST_TMPDIR/bin"
	ln -s "$(command -v sh)" "$BATS_TEST_TMPDIR/bin/sh"
	run -0 env PATH="$BATS_TEST_TMPDIR/bin" "$TLBSCOPE" list probes
	[[ $output =~ qemu\ +missing ]]
	[[ $output =~ gnuplot\ +missing ]]
	says install
}

@test "every plan that is listed can be loaded" {
	local plan
	for plan in $(tlbscope list plans | awk '/^[^ ]/ { print $1 }'); do
		run -0 tlbscope list cmdline "$plan"
		says "sweep op="
	done
}

@test "help and version go to stdout" {
	run -0 --separate-stderr tlbscope --help
	says run table plot list import events cmdline
	run -0 --separate-stderr tlbscope run --help
	says --on --resume --leaves fracture
	run -0 --separate-stderr tlbscope --version
	[[ $output =~ ^tlbscope\ [0-9]+\.[0-9]+\.[0-9]+$ ]]
}

@test "list cmdline runs a plan in the image alone; import makes a run of its log" {
	need_qemu
	local key=op,at,count,guest,global,pcid,leaves,touches,stride,offset,frames,mix,order,access
	key+=,phase,repeat,iterations,seed,refills,off_median,mix_refills,must,mix_must,op_va,twin,class
	run "-$CLEAN" guest -kernel "$(image)" -serial file:alone.log \
		-append "exit=qemu $(tlbscope list cmdline small.plan)"
	run -0 tlbscope import alone.log --out alone
	says "results: alone"
	says_not "cut off" error
	diff <(values run "$key" | sort) <(values alone "$key" | sort)
	every alone run,target,accel,host "alone tcg tcg none"
	every alone valid ok phase=refill
	every alone valid emulated-cpu phase=retouch
	# The tables differ in nothing but the name of the run and what the CPU calls itself.
	diff <(tlbscope table run | sed 1d) <(tlbscope table alone | sed 1d)
	grep -q '"complete": true' alone/run.json
	refused import alone.log --out alone
}

@test "import of a log that was cut off keeps its rows and says so" {
	need_qemu
	[ -s alone.log ] || skip "the image did not run alone"
	# As a terminal or a serial logger keeps it, with firmware before it.
	{
		printf 'SeaBIOS (version 1.16)\r\n\r\nBooting from ROM..\033[2J'
		printf '\n'
		sed '/^row .*repeat=2/,$d; s/$/\r/' alone.log
	} >cut.log
	run -0 tlbscope import cut.log --out cut
	says "cut off"
	every cut repeat 1
	grep -q '"complete": false' cut/run.json
	# In the middle of a row: it is left out, whether or not something ended its line. All others stay.
	head -c -20 cut.log >torn.log
	{
		cat torn.log
		echo
	} >ended.log
	local log
	for log in torn ended; do
		run -0 tlbscope import $log.log --out $log
		says "tlbscope: $log.log:$(wc -l <ended.log): the last line breaks off" "cut off" "Not complete"
		diff <(values cut op,at,phase,refills,sequence | sed '$d') <(values $log op,at,phase,refills,sequence)
		grep -q '"complete": false' $log/run.json
	done
	run -0 tlbscope table torn
	says "torn is not complete"
	# Elsewhere a bad row is an error, and so is a log without one whole row.
	awk '/^row .* refills=/ && ++n == 3 { sub(/ refills=/, "&x") } 1' cut.log >bad.log
	refused import bad.log --out bad
	says "bad.log:$(grep -n refills=x bad.log | cut -d: -f1): bad-number"
	sed '/^row /q' cut.log | head -c -20 >none.log
	refused import none.log --out none
	says "no row of tlbscope's guest"
	# A row that got lost on the way: the guest's end line says how many there were.
	sed '0,/^row /{/^row /d}' alone.log >lost.log
	run -0 tlbscope import lost.log --out lost
	says "the guest ended after $(grep -c '^row ' alone.log) rows that it measured, and $(grep -c '^row ' lost.log) are"
	grep -q '"complete": false' lost/run.json
}

@test "import: a case that the CPU lacks is told, as in a run of the program" {
	need_qemu
	run "-$CLEAN" guest -kernel "$(image)" -serial file:lacks.log -append \
		"exit=qemu sweep op=none,cr3 guest=1g leaves=4 iterations=5 ; sweep op=none leaves=5" \
		-cpu qemu64
	run -0 tlbscope import lacks.log --out lacks
	# none and cr3 of the 1G window, which qemu64 has no pages for; the third row was measured
	says "3 rows, 2 of them declined" "Declined, 2 rows: no-feature: 1g: this CPU"
	says_not "Not complete"
	every lacks guest 4k op=none leaves=5
	every lacks refills,cycles,valid ". . no-feature" guest=1g
	grep -q '"complete": true' lacks/run.json
	run -0 tlbscope table lacks
	says "none/1g" no-feature
}

@test "compare: another -cpu of QEMU is a difference that matters" {
	need_qemu
	tcg small.plan --guest 4k --op none,cr3 --iterations 5 --out cpu-max >cpu.out
	tcg small.plan --guest 4k --op none,cr3 --iterations 5 --cpu qemu64 --out cpu-64 >cpu.out
	run -0 tlbscope compare cpu-max cpu-64
	says "QEMU's -cpu: max -> qemu64" "features of the guest's CPU: "
	says_not "nothing differs"
}

# 1G pages need two whole gigabytes above the first; the guest has 256M.
@test "import: what did not fit into the memory is told; list cmdline says how much a plan takes" {
	need_qemu
	printf '%s\n' '[plan]' 'title = Large' '[4k]' 'op = none' 'leaves = 5' 'iterations = 5' \
		'[1g]' 'op = none, cr3' 'guest = 1g' 'leaves = 4' 'iterations = 5' >large.plan
	run -0 --separate-stderr tlbscope list cmdline large.plan
	[[ $output == sweep* ]]
	# 3 GiB and 64 MiB; 16 MiB and five regions of 2 MiB without
	# shellcheck disable=SC2154 # stderr is set by run
	[ "$stderr" = "the whole plan needs 3136 MiB of guest memory (-m 3136M), without its 1g leaves 26" ]
	run "-$CLEAN" guest -kernel "$(image)" -serial file:large.log -append "exit=qemu $output"
	run -0 tlbscope import large.log --out large
	says "3 rows, 2 of them declined" "Declined, 2 rows: no-memory: leaves: fewer leaves"
	every large valid no-memory guest=1g
	every large valid ok guest=4k
	grep -q '"complete": true' large/run.json
	# What is refused without a case of its own.
	run "-$CLEAN" guest -kernel "$(image)" -serial file:both.log -append \
		"exit=qemu sweep op=none leaves=5 iterations=5 ; sweep op=none leaves=4,5 touches=4 iterations=5"
	run -0 tlbscope import both.log --out both
	says "2 rows" "Declined, 1 rows: conflict: touches: every leaf is touched" "Not complete"
	grep -q '"complete": false' both/run.json
}

@test "the PVH entry works where multiboot's magic is not found" {
	need_qemu
	local magic='\x02\xb0\xad\x1b'
	LC_ALL=C grep -qaP "$magic" "$(image)"
	LC_ALL=C sed "s/$magic/\\x00\\x00\\x00\\x00/" "$(image)" >pvh.elf
	[ "$(stat -c %s pvh.elf)" -eq "$(stat -Lc %s "$(image)")" ]
	run "-$CLEAN" guest -kernel pvh.elf -serial file:pvh.log \
		-append "exit=qemu sweep op=none,cr3 leaves=50 iterations=5"
	run -0 cat pvh.log
	says "loaded by " refills=50 refills=0
	[[ ${output,,} == *"loaded by pvh"* ]]
	run -0 tcg small.plan --image pvh.elf --op cr3 --guest 4k --out pvh
	every pvh refills 50 leaves=50 phase=refill
}

@test "the command line by hand in log.txt works, with requests typed in" {
	need_qemu
	local line
	line=$(sed -n 's/^driver: by hand: //p' run/log.txt)
	[ -n "$line" ]
	typed() {
		printf 'case op=cr3 leaves=50 iterations=5\r\nnonsense\ncase leaves=0\n\ncase op=bogus\n'
		printf 'case op=invlpg at=in-set guest=2m leaves=16 iterations=5\n'
		printf 'sweep op=none,invlpg at=far leaves=4 iterations=5\nend\n'
	}
	run "-$CLEAN" timeout --kill-after=5 60 bash -c "$line" < <(typed)
	says "hello protocol=1" "leaves=50" "refills=50" "refills=16" "error status=unknown-command" \
		'error status=out-of-range word=0 hint="leaves is 1 to 16384' "done rows=2" "end rows=4" \
		'error status=unknown-value word=bogus hint="op is none invlpg'
	[ "$(grep -c '^error ' <<<"$output")" -eq 3 ]
	grep -q '"by_hand": ' run/run.json
}

@test "a guest without event counters says so, refuses events and counts nothing" {
	need_qemu
	local line
	line=$(sed -n 's/^driver: by hand: //p' run/log.txt)
	[ -n "$line" ]
	[ "$(grep -c 'no event counters here: .*pmu=on' run/log.txt)" -eq 1 ]
	typed() {
		printf 'hello\nevents 0x3c\nevents 1,,2\nevents none\n'
		printf 'case op=cr3 leaves=50 phase=both iterations=10\nend\n'
	}
	run "-$CLEAN" timeout --kill-after=5 60 bash -c "$line" < <(typed)
	says "pmu=none counters=0" 'error status=no-feature word=pmu hint="no event counters here' \
		"error status=bad-number" "events general=0 width=0 used=0 pmu=none" "end rows=1"
	says_not counts=
	[ "$(grep -c '^error ' <<<"$output")" -eq 2 ]
}

@test "the image has symbols" {
	need nm binutils
	nm "$(image)" | grep -q ' T guest_main$'
}

@test "table --json is JSON and says what the table says" {
	need_qemu
	need jq jq
	tlbscope table --json run >table.json
	jq -e '.runs | length == 1' table.json
	jq -e '.runs[0] | .run == "run" and .target == "tcg"' table.json
	jq -e '.runs[0].why | contains("QEMU")' table.json
	jq -e '[.runs[0].cells[] | select(.phase == "refill" and .guest == "4k" and
		(.set | contains("+") | not))] | length == 1 and .[0].f == 0 and .[0].valid == "ok"' table.json
	jq -e '.runs[0].cells[] | select(.phase == "refill" and .guest == "2m") |
		.f == 0 and .host == "none"' table.json
	jq -e '.runs[0].cells[] | select(.phase == "refill" and .guest == "2m") |
		.outcomes[] | select(.op == "invlpg same-2m") |
		.refills == 16 and .must == 1 and .cycles == null and .repeats == 2' table.json
	jq -e '.runs[0].cells[] | select(.phase == "refill" and (.set | contains("+"))) |
		.outcomes[] | select(.op == "cr3") | .refills == 25 and .mix_refills == 8' table.json
	# A run given twice is two runs.
	tlbscope table --json run run | jq -e '.runs | length == 2'
}

# 25 pages of 4K and 8 of 2M: QEMU's TLB loses none to a flush of an unrelated page, and all of both to a full one.
@test "plot: a run that has mixes alone, both sets in the labels" {
	need_qemu
	need gnuplot gnuplot-nox
	tcg mixed --op none,invlpg,cr3 --at far --iterations 5 --out mixes >mixes.out
	run -0 tlbscope plot mixes
	says mixes/fracture-refill.svg
	grep -Fqx '"guest 4k + 2m\nhost none\n25 + 8 leaves" 0.0000 0.0000 0.0000 "0|0" 0.0000 0.0000 0.0000 "0|0" 1.0000 1.0000 1.0000 "25|8" "F = 0.00" 1' \
		mixes/fracture-refill.dat || { cat mixes/fracture-refill.dat; false; }
	run -0 tlbscope table mixes
	says_not "F needs three"
	awk -F, 'NR == 1 || $8 != "none"' mixes/rows.csv >mixes/less.csv
	run -0 tlbscope table mixes/less.csv
	[[ ${output//$'\n'/ } == *"It is - where one is missing: op none, or the selective op's twin."* ]]
}

# Figures of the 2016 thread, a million iterations each: host 4k, guest 4k: 93172 misses after a
# selective flush, 103008052 after a full one; guest 2m: 102038021 and 102022557; host none, guest
# 4k: 789 and 50000572; guest 2m: 537 and 1000454.
@test "table --published: the figures of 2016 beside the run's, of the same host and guest page" {
	need_qemu
	run -0 tlbscope table --published run
	says 2016
	grep -Eq '^none +4k +50 x 4k .* 0\.001 +50\.0 +0\.00 ' <<<"$output"
	# 16 pages are not the 50 touches of 2016: nothing beside them, but all six figures below
	grep -Eq '^none +2m +16 x 2m .* - +- +- ' <<<"$output"
	grep -Eq '^none +2m +0\.001 +1\.000 +0\.00$' <<<"$output"
	grep -Eq '^4k +2m +102\.038 +102\.023 +1\.00$' <<<"$output"
	mkdir -p nested
	sed -E 's/,(4k|2m),none,,/,\1,4k,verified,/; s/^run,tcg,tcg,/run,kvm,kvm,/' run/rows.csv \
		>nested/rows.csv
	every nested host,target "4k kvm"
	run -0 tlbscope table --published nested
	grep -Eq '^4k +4k +50 x 4k .* 0\.093 +103\.0(08)? +0\.00 ' <<<"$output"
}

# The same rows as if from hardware: there the two cells do give a verdict.
@test "a verdict from rows of hardware, none from an emulator's" {
	need_qemu
	mkdir -p fractured intact
	sed -E 's/,(4k|2m),none,,/,\1,4k,verified,/; s/^run,tcg,tcg,/run,kvm,kvm,/' run/rows.csv \
		>intact/rows.csv
	# refills of the flush of an unrelated page in the 2m cell: all of them
	sed -E '/,2m,4k,verified,invlpg,selective,far,/s/(,20,1,,)0,/\116,/' intact/rows.csv \
		>fractured/rows.csv
	every fractured refills 16 guest=2m op=invlpg at=far phase=refill
	run -0 tlbscope table intact
	says "Host page 4k: intact"
	run -0 tlbscope table fractured
	says_not "Host page 4k: intact"
	grep -Eq '^4k +2m +16 x 2m +0 +16 +16 +1\.00 ' <<<"$output"
	[[ $output == *"large"* ]]
	run -0 tlbscope table run
	says_not "Host page none: intact"
	# the same in ring 0 of a kernel that QEMU emulates: no verdict, whichever target it was
	mkdir -p emulated
	sed 's/^run,kvm,kvm,/run,module,tcg,/' intact/rows.csv >emulated/rows.csv
	every emulated target,accel "module tcg"
	run -0 tlbscope table emulated
	says "no verdict about hardware"
}

# is_png FILE, is_svg FILE: by their first bytes, and more than an empty frame.
is_png() {
	[ "$(head -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a ]
	[ "$(tail -c 8 "$1" | od -An -tx1 | tr -d ' \n')" = 49454e44ae426082 ]
	[ "$(stat -c %s "$1")" -gt 3000 ]
}
is_svg() {
	head -n 5 "$1" | grep -q '<svg'
	tail -n 2 "$1" | grep -q '</svg>'
	[ "$(stat -c %s "$1")" -gt 3000 ]
}

@test "plot draws SVG and PNG into the run and names them" {
	need_qemu
	need gnuplot gnuplot-nox
	local file before
	before=$(cksum run/rows.csv run/run.json)
	run -0 --separate-stderr tlbscope plot run
	[ "${#lines[@]}" -ge 2 ]
	for file in "${lines[@]}"; do
		case $file in
		*.svg) is_svg "$file" ;;
		*.png) is_png "$file" ;;
		*) false ;;
		esac
	done
	is_svg run/fracture-refill.svg
	is_png run/fracture-refill.png
	grep -q 'everything flushed' run/fracture-refill.svg
	# cycles of an emulated CPU are no picture
	[ ! -e run/fracture-retouch.svg ]
	[ "$before" = "$(cksum run/rows.csv run/run.json)" ]
	# Again, over what is there.
	run -0 tlbscope plot run/rows.csv
}

@test "plot copes with any name of a directory" {
	need_qemu
	need gnuplot gnuplot-nox
	local name
	# gnuplot takes a path that begins with < or | for a command
	for name in "with blanks" "it's" "100%" 'a"b' '<touch made;' '|touch made;'; do
		mkdir "$BATS_TEST_TMPDIR/$name"
		cp run/rows.csv "$BATS_TEST_TMPDIR/$name/"
	done
	cd "$BATS_TEST_TMPDIR"
	for name in *; do
		run -0 tlbscope plot "$name"
		is_png "$name/fracture-refill.png"
	done
	[ ! -e made ]
}

@test "plot without gnuplot, or with nothing to draw, says so" {
	need_qemu
	mkdir "$BATS_TEST_TMPDIR/bare"
	cp run/rows.csv "$BATS_TEST_TMPDIR/bare/"
	run -2 env PATH=/nonexistent "$TLBSCOPE" plot "$BATS_TEST_TMPDIR/bare"
	says gnuplot install
	cd "$BATS_TEST_TMPDIR"
	mkdir none
	sed -n '1p;/,none,none,none,/p' bare/rows.csv >none/rows.csv
	refused plot none
	says none
}
