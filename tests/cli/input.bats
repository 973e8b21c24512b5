# SPDX-License-Identifier: GPL-2.0
#
# Wrong input: exit status 2, a reason that names the option or the file and line, a remedy, and
# nothing made or overwritten. refused() of helpers.bash checks all but the words.

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
}

# plan LINE...: writes them to my.plan
plan() {
	printf '%s\n' "$@" >my.plan
}

# refused_plan LINE... -- TEXT...: a run of the plan is refused, and the reason has each TEXT.
refused_plan() {
	refused_by run my.plan --on tcg --out run -- "$@"
}

# The same by what only reads the plan and looks for no QEMU, which is faster.
refused_file() {
	refused_by list cmdline my.plan -- "$@"
}

refused_by() {
	local -a command=() lines=()
	while [ "$1" != -- ]; do
		command+=("$1")
		shift
	done
	shift
	while [ "$1" != -- ]; do
		lines+=("$1")
		shift
	done
	shift
	plan "${lines[@]}"
	refused "${command[@]}"
	says "$@"
}

@test "a plan with an unknown axis, value or feature: file and line" {
	need_qemu
	refused_plan '[a]' 'op = none' 'colour = red' -- my.plan:3 colour 'list axes'
	refused_file '[a]' '' 'guest = 4k, 8k' -- my.plan:3 guest 8k
	refused_plan '[a]' 'op = none' 'leaves = 0' -- my.plan:3 leaves '"0"'
	refused_file '[a]' 'op = none' 'leaves = 5x' -- my.plan:3 leaves 5x
	refused_file '[a]' 'op = none' 'leaves = 99999999999999999999' -- my.plan:3 leaves
	refused_file '[a]' 'op =' -- my.plan:2 op
	refused_file '[a]' 'op = none' 'repeats = 0' -- my.plan:3 repeats
	refused_file '[a]' 'when = 2g' 'op = none' -- my.plan:2 2g pcid
	refused_file '[a]' 'op = none' 'mix = 2m' -- my.plan:3 mix PAGE:LEAVES
}

@test "text that is not UTF-8, in a plan and on the command line" {
	printf '[plan]\ntitle = caf\351\n[a]\nop = none\n' >latin1.plan
	run -2 tlbscope run ./latin1.plan --on tcg
	says "latin1.plan:2: not UTF-8"
	run -2 tlbscope run fracture --on tcg --out $'caf\351'
	says "is not UTF-8"
	[ ! -e $'caf\351' ]
}

@test "a plan with a blank inside a value: file and line; around commas it may stand" {
	# not 1632 leaves, nor op none
	refused_file '[a]' 'op = none' 'leaves = 16 32' -- my.plan:3 '"16 32"' commas
	refused_file '[a]' 'op = no ne' -- my.plan:2 '"no ne"' commas
	refused_file '[a]' $'op = none,cr\t3' -- my.plan:2 commas
	refused_file '[a]' 'op = none' 'on = tcg kvm' -- my.plan:3 commas
	plan '[a]' $'op =  none ,cr3\t, \tpge ' 'leaves=16 , 32'
	run -0 --separate-stderr tlbscope list cmdline my.plan
	says "op=none,cr3,pge leaves=16,32"
}

@test "a plan with a NUL: file and line, and nothing behind it is dropped" {
	local text
	for text in 'leaves = 16\0, 32\n' '\0leaves = 32\n' 'leaves = 16\0' '; a note\0\n'; do
		# shellcheck disable=SC2059 # the text is a format with NULs
		printf "[a]\nop = none\n$text" >my.plan
		refused list cmdline my.plan
		says my.plan:3 NUL
	done
}

@test "a plan that is out of range names the range" {
	refused_file '[a]' 'op = none' 'leaves = 0' -- my.plan:3 16384
}

@test "a plan with a duplicate: file and line" {
	need_qemu
	refused_plan '[a]' 'op = none' 'leaves = 4' 'leaves = 5' -- my.plan:4 leaves once
	refused_file '[a]' 'op = none, cr3, none' -- my.plan:2 none once
	refused_file '[a]' 'op = none' '[b]' 'op = none' '[a]' 'op = cr3' -- my.plan:6 '"a"'
	refused_file '[plan]' 'title = x' 'title = y' '[a]' 'op = none' -- my.plan:3 title
}

@test "a plan with repeats, on or when given twice: file and line" {
	refused_file '[a]' 'op = none' 'repeats = 1' 'repeats = 2' -- my.plan:4 repeats
	refused_file '[a]' 'op = none' 'on = tcg' 'on = tcg' -- my.plan:4 on
	refused_file '[a]' 'op = none' 'when = pge' 'when = pge' -- my.plan:4 when
}

@test "a plan for a target that there is not: file and line" {
	refused_file '[a]' 'op = none' 'on = tgc' -- my.plan:3 tgc
}

@test "a plan that is no plan: file and line" {
	need_qemu
	refused_plan 'op = none' -- my.plan:1 op '[plan]'
	refused_file '[a]' 'op = none' 'nonsense' -- my.plan:3
	refused_file '[plan]' 'title = x' 'colour = red' -- my.plan:3 colour title
	refused_file '' -- my.plan
	refused_file '[a]' "op = none" "leaves = $(seq -s, 1 100)" -- my.plan:3 line
	refused_plan '[a]' 'op = none' 'on = kvm' -- tcg
	refused run ./nothing.plan --on tcg
	says nothing.plan "list plans"
	refused run nothing --on tcg
	says nothing "list plans"
	refused run . --on tcg
}

@test "a plan that contradicts itself: file and line, before anything runs" {
	need_qemu
	refused_plan '[a]' 'op = none' '[b]' 'op = none' 'guest = 2m' 'leaves = 16' 'touches = 3' -- \
		my.plan: '[b]' touches
}

# 512 pages fill their 2M region: no other page is left in it.
@test "a plan that contradicts itself in where pages lie: file and line, before anything runs" {
	need_qemu
	refused_plan '[a]' 'op = invlpg' 'at = same-2m' 'guest = 4k' 'leaves = 512' -- my.plan: same-2m
}

# What an option on the command line makes impossible is left out, and said to be.
@test "axes from the command line: contradictions are left out" {
	need_qemu
	run -0 tcg fracture --guest 4k --leaves 50,512 --phase refill --repeats 1 --iterations 5 \
		--out run
	says "left out"
	every run refills 512 leaves=512 op=cr3
	every run refills 50 leaves=50 op=cr3
	# which, and why, for each reason: 3 touches are too few for 4 leaves; 3 and 4 go beyond 2 leaves
	plan '[a]' 'op = none, cr3' 'repeats = 2' '[b]' 'op = none' '[c]' 'op = none' 'phase = both'
	run -0 --separate-stderr tcg my.plan --guest 2m --leaves 2,4 --touches 3,4 --stride 2m --iterations 5 --out why
	# shellcheck disable=SC2154 # stderr is set by run
	[ "$(grep 'left out' <<<"$stderr")" = "[a] 4 of 8 combinations left out: stride: touches * stride has to reach the last of leaves and no further (first: guest=2m leaves=2 touches=3 stride=2097152)
[a] 2 of 8 combinations left out: touches: every leaf is touched: touches >= leaves (first: guest=2m leaves=4 touches=3 stride=2097152)
[b] 2 of 4 combinations left out: stride: touches * stride has to reach the last of leaves and no further (first: guest=2m leaves=2 touches=3 stride=2097152)
[b] 1 of 4 combinations left out: touches: every leaf is touched: touches >= leaves (first: guest=2m leaves=4 touches=3 stride=2097152)" ]
	every why leaves,touches "4 4"
	# what the target would not have measured is no loss: section c is of another phase
	says_not '[c]'
}

@test "axes from the command line: wrong values name the option" {
	need_qemu
	refused run --on tcg --out run --leaves 16,0
	says --leaves '"0"'
	refused run --on tcg --out run --leaves ''
	says --leaves
	refused run --on tcg --out run --guest 4k,8k
	says --guest 8k
	refused run --on tcg --out run --op nonsense
	says --op nonsense
	refused run --on tcg --out run --repeats 0
	says --repeats
	refused run --on tcg --out run --colour red
	says --colour
}

@test "an option twice" {
	need_qemu
	refused run --on tcg --out run --leaves 5 --leaves 6
	says --leaves twice
}

@test "an option of the run itself twice" {
	need_qemu
	refused run --on tcg --memory 256m --memory 64m --guest 4k --out run
	says --memory
	refused run --on tcg --out run --out other --guest 4k --op none --phase refill
	says --out
}

@test "unknown commands, options, targets, words" {
	refused
	says usage
	refused nonsense
	says nonsense --help
	refused --nonsense
	refused run --nonsense
	says --nonsense --help
	refused table --nonsense run
	says --nonsense
	refused run --on nonsense
	says nonsense "list targets"
	refused run one two
	says one two
	refused list
	refused list nonsense
	says nonsense plans
	refused list plans ops
	refused list cmdline
	refused list cmdline nonsense
	says nonsense "list plans"
	refused table
	refused plot
	refused import
}

@test "numbers of the run: memory and time-out" {
	refused run --on tcg --memory 3
	says --memory 64m
	refused run --on tcg --memory lots
	says --memory
	refused run --on tcg --timeout 0
	says --timeout seconds
	refused run --on tcg --timeout soon
	says --timeout
}

@test "an option that the target cannot carry out" {
	local option
	for option in "--cpu max" "--memory 1g" "--image ./x" "--qemu ./x" "--timeout 5" --fresh-boot "--host 4k"; do
		# shellcheck disable=SC2086 # an option and its value
		refused run fracture --on user $option --out run
		says "${option%% *}" "target user"
	done
	need_qemu
	refused run --on tcg --host 2m --out run
	says --host "target tcg"
	refused run --on tcg --fresh-boot --out run
	says --fresh-boot "target tcg"
}

@test "host pages of a plan that the target does not choose are told" {
	need_qemu
	plan '[one]' 'op = none' 'leaves = 4' 'host = 2m' 'iterations = 2'
	run -0 --separate-stderr tcg my.plan --out run
	# shellcheck disable=SC2154 # stderr is set by run
	[[ $stderr == *"my.plan:2: [one] host: not carried out"* ]]
	every run host none
}

@test "a plan that has nothing for the target says what it has" {
	need_qemu
	refused run 2016 --on tcg
	says "--phase both,op,access"
	refused run reach --on tcg
	says "--phase retouch"
	refused run shatter --on tcg
	says "it is for kvm"
	refused run global --on user
	says "it is for kvm,module,tcg"
}

@test "1G pages for a process on a CPU without them" {
	! grep -qw pdpe1gb /proc/cpuinfo || skip "this CPU has 1G pages"
	refused run fracture --on user --guest 1g --out run
	says 1g "no 1G pages"
	says_not --cpu
}

@test "a window beyond the guest's memory" {
	need_qemu
	refused run --on tcg --memory 64m --leaves 16384 --out run
	says --memory --leaves
	# The same request fits when the memory does.
	run -0 tcg fracture --memory 64m --guest 4k --leaves 64 --op none --phase refill --repeats 1 \
		--iterations 2 --out run
}

@test "1G pages on a CPU without them" {
	need_qemu
	refused run --on tcg --guest 1g --cpu qemu64 --out run
	says 1g "1G pages" --cpu
}

# A plan that has 1g "where there" leaves it out silently.
@test "1G pages that were not asked for by name on a CPU without them" {
	need_qemu
	plan '[small]' 'op = none' '[giga]' 'when = 1g' 'op = none' 'guest = 1g'
	run -0 tcg my.plan --cpu qemu64 --iterations 2 --out run
	every run guest 4k
}

@test "output that cannot be written, and a run directory that exists" {
	need_qemu
	echo mine >file
	refused run --on tcg --out file/run
	says file/run --out
	refused run --on tcg --out file
	says file exists --out
	mkdir run
	echo mine >run/rows.csv
	refused run --on tcg --out run
	says run exists --out
	refused run --on tcg --out ''
}

@test "QEMU is missing, too old, or no QEMU" {
	refused run --on tcg --qemu /nonexistent/qemu --out run
	says /nonexistent/qemu --qemu install
	printf '#!/bin/sh\necho "QEMU emulator version 6.2.0 (Debian 1:6.2)"\n' >old
	chmod +x old
	refused run --on tcg --qemu "$PWD/old" --out run
	says 6.2.0 "too old" 7.2 --qemu
	printf '#!/bin/sh\necho "QEMU emulator version 7.1.90"\n' >old
	refused run --on tcg --qemu ./old --out run
	says 7.1.90 "too old"
	refused run --on tcg --qemu /bin/true --out run
	says /bin/true --qemu
	refused run --on tcg --qemu "$PWD" --out run
}

@test "QEMU that ends at its start" {
	need_qemu
	refused run --on tcg --cpu nonsense --out run
	says --cpu nonsense
	# QEMU ends with 0 then, and has measured nothing.
	refused run --on tcg --cpu help --out run
	says --cpu
	# Column run holds the name: a row is one line.
	refused run --on tcg --out $'two\nlines'
	says --out "control characters"
}

@test "a guest image of another version, missing, or unreadable" {
	need_qemu
	local version
	version=$(tlbscope --version)
	version=${version##* }
	LC_ALL=C sed "s/${version//./\\.}/${version//[0-9]/9}/g" "$(image)" >other.elf
	[ "$(stat -c %s other.elf)" -eq "$(stat -Lc %s "$(image)")" ]
	refused run --on tcg --image other.elf --out run
	says "${version//[0-9]/9}" "$version" --image
	refused run --on tcg --image nothing.elf --out run
	says nothing.elf --image
}

@test "a guest image that is garbage" {
	need_qemu
	seq 100000 | head -c 100000 >garbage.elf
	refused run --on tcg --image garbage.elf --timeout 1 --out run
	says --image garbage.elf
	: >empty.elf
	refused run --on tcg --image empty.elf --timeout 1 --out run
	mkdir folder
	refused run --on tcg --image folder --timeout 1 --out run
}

# Three rows as any tool may write them: what a row has no meaning without, and what was measured.
good() {
	printf 'run,target,cpu,guest,host,op,class,at,leaves,touches,phase,iterations,refills,valid\n'
	printf 'r,tcg,"Q, ""1""",4k,none,none,none,none,50,50,refill,20,0,ok\n'
	printf 'r,tcg,"Q, ""1""",4k,none,invlpg,selective,far,50,50,refill,20,0,ok\n'
	printf 'r,tcg,"Q, ""1""",4k,none,cr3,full,none,50,50,refill,20,50,ok\n'
}

# refused_rows SED-SCRIPT TEXT...: a rows.csv changed by it is refused.
refused_rows() {
	local script=$1
	shift
	mkdir -p bad
	good | sed "$script" >bad/rows.csv
	refused table bad
	says bad/rows.csv "$@"
}

@test "rows.csv: what is right is read" {
	mkdir run
	good >run/rows.csv
	run -0 tlbscope table run
	says 'Q, "1"' "50 x 4k"
	run -0 tlbscope table run/rows.csv
	good | sed 's/$/\r/' >run/rows.csv
	run -0 tlbscope table run
	says 'Q, "1"' "50 x 4k"
	good | sed '1s/$/,mine/; 2,$s/$/,1.5/' >run/rows.csv
	run -0 tlbscope table run
}

@test "rows.csv: broken quotes, fields, numbers, words: file and line" {
	refused_rows '3s/^r,/"r,/' rows.csv:3 quote
	refused_rows '4s/^r,/"r"x,/' rows.csv:4 quote
	refused_rows '2s/$/,more/' rows.csv:2 fields
	refused_rows '4s/,50,50,refill/,50,refill/' rows.csv:4 fields
	refused_rows '3s/,20,0,/,2x0,0,/' rows.csv:3 iterations 2x0
	refused_rows '4s/,20,50,/,20,-50,/' rows.csv:4 -50
	refused_rows '4s/,20,50,/,20,99999999999999999999999,/' rows.csv:4 99999999999999999999999
	refused plot bad
	says bad/rows.csv:4
	refused table --json bad/rows.csv
	says bad/rows.csv:4
	refused_rows '3s/,invlpg,/,invlpgg,/' rows.csv:3 invlpgg
	refused_rows '3s/,selective,/,some,/' rows.csv:3 some
	refused_rows '2s/,4k,/,8k,/' rows.csv:2 8k
	refused_rows '2s/,50,50,/,0,50,/' rows.csv:2 '"0"'
	refused_rows '4s/$/\x00/' rows.csv:4 NUL
	refused_rows '3s/^r,/r\xff,/' rows.csv:3 run 'not UTF-8'
	refused_rows '3s/^r,/r\x1b]0;x\x07,/' rows.csv:3 run 'control characters'
	refused_rows '1s/valid/a\x1bb/' rows.csv:1 'no name of a column'
}

@test "rows.csv: no header, another header, none at all" {
	refused_rows 1d rows.csv:1 header
	refused_rows '1s/.*/a,b,c,d,e,f,g,h,i,j,k,l,m,n/' rows.csv:1 header
	refused_rows '/./d' rows.csv:1 header
	refused table nothing
	says nothing
	mkdir none
	refused table none
	says none/rows.csv
	refused plot none
	says none/rows.csv
}

@test "rows.csv: a column that stands twice" {
	refused_rows '1s/,op,/,at,/' rows.csv:1 at
}

@test "rows.csv: the line that is named is the file's, with a line feed in a field too" {
	rm -rf bad
	mkdir bad
	good | sed '2s/"Q,/"Q\n/; 4s/,20,50,/,20,x,/' >bad/rows.csv
	refused table bad
	says bad/rows.csv:5
}

@test "a log that is none of the guest's" {
	good >log
	refused import log --out run
	says log
	refused import nothing --out run
	says nothing
	echo mine >file
	refused import log --out file/run
	printf 'row op=none\n' >log
	refused import log --out run
	says log:1 hello
	mkdir run
	refused import log --out run
	says exists --out
}
