# SPDX-License-Identifier: GPL-2.0
# shellcheck disable=SC2030,SC2031 # each test has its own output
#
# report, guidance and compare, from runs made up in tests/data, whose numbers are reckoned here by hand:
#   fractured  target kvm; host 4k and 2m, guest 4k (50 leaves) and 2m (16); refills and cycles, three repeats
#   mended     the same with other microcode, where the 2m cell on host 4k no longer loses anything, and one op more
# Host 4k, guest 2m, fractured: refills 0, 16, 16; cycles 210, 650, 660 (each +-10 over the repeats).

load helpers

setup() {
	cd "$BATS_TEST_TMPDIR" || return 1
	cp -r "$BATS_TEST_DIRNAME/../data/fractured" "$BATS_TEST_DIRNAME/../data/mended" .
	chmod -R u+w fractured mended
}

# The page as text: a line for each table row, cells with a bar between.
page_text() {
	sed -e 's/<\/t[dh]>/|/g' -e 's/<br>/ /g' -e 's/<[^>]*>//g' -e "s/&#39;/'/g; s/&quot;/\"/g" \
		-e 's/&gt;/>/g; s/&lt;/</g; s/&amp;/\&/g' "$1"
}

# page_has FILE LINE...: each is a whole line of the page's text.
page_has() {
	local file=$1 line
	shift
	for line in "$@"; do
		page_text "$file" | grep -qxF -- "$line" || {
			printf 'not in the page: %s\n' "$line"
			page_text "$file" | grep -F -- "${line%%|*}|" | head -n 20
			return 1
		}
	done
}

@test "report: numbers as reckoned by hand" {
	run -0 tlbscope report fractured
	says fractured/report.html fractured/guidance.md
	# (16 - 0) / (16 - 0) = 1; (650 - 210) / (660 - 210) = 0.978; (320 - 310) / (1310 - 310) = 0.01
	page_has fractured/report.html \
		"4k|4k|50 x 4k|0|0|50|0.00|3|invlpg far / cr3|ok|" \
		"4k|2m|16 x 2m|0|16|16|1.00|3|invlpg far / cr3|ok|" \
		"2m|2m|16 x 2m|0|0|16|0.00|3|invlpg far / cr3|ok|" \
		"4k|4k|50 x 4k|310|320|1310|0.01|3|invlpg far / cr3|ok|" \
		"4k|2m|16 x 2m|210|650|660|0.98|3|invlpg far / cr3|ok|" \
		"invlpg far|0|16|0|0|" "cr3|50|16|50|16|"
	# 2016: 102038021 and 102022557 misses in 1000000 iterations of 50 touches; ours beside
	# them, but for those of 16
	page_has fractured/report.html \
		"4k|4k|0.093|103.008|0.00|50 x 4k|0|50|0.00|" \
		"2m|4k|0.003|103.005|0.00|50 x 4k|0|50|0.00|" \
		"4k|2m|102.038|102.023|1.00|not measured||||" \
		"2m|2m|0.003|4.003|0.00|not measured||||" \
		"none|4k|0.001|50.001|0.00|not measured||||"
	page_has fractured/report.html "4k|2m|16 x 2m|0, must be 0: passed|16, must be 16: passed|" \
		"All 72 rows are valid." "microcode|0x1|" "kvm.nx_huge_pages|Y|" \
		"tlbscope run fracture --on kvm --host 4k,2m --out again"
	run -0 page_text fractured/report.html
	says "empties the cached translations of all large (2M) pages" \
		"16 of 16 leaves of 2m pages had to be fetched again (F 1.00); with host pages of 2m: intact."
	says_not "soft TLB" "Not hardware"
	# the table says the same
	run -0 tlbscope table fractured
	grep -Eq '^4k +2m +16 x 2m +0 +16 +16 +1\.00 ' <<<"$output"
	grep -Eq '^4k +2m +16 x 2m +210 +650 +660 +0\.98 ' <<<"$output"
}

# like LINE CHANGE...: line LINE of fractured/rows.csv with columns changed, each COLUMN=VALUE.
like() {
	local line=$1
	shift
	awk -F, -v OFS=, -v line="$line" -v changes="$*" '
		{ sub(/\r$/, "") }
		NR == 1 { for (i = 1; i <= NF; i++) column[$i] = i }
		NR == line {
			n = split(changes, change, " ")
			for (i = 1; i <= n; i++) {
				split(change[i], part, "=")
				$column[part[1]] = part[2]
			}
			print
		}' fractured/rows.csv
}

# 2016, Haswell-EP, 500000 iterations: 948965249 both, 127682028 flush, 107691277 touches: net 1427 cycles.
@test "report: the loops of 2016, net of flush and touches" {
	local loop="leaves=1 touches=50 stride=4096 offset=0 order=sequential repeat=1"
	# line 12 is invlpg far, retouch, host 4k, guest 2m; line 11 the control
	{
		like 12 "$loop" phase=both cycles=1890 sequence=101
		like 12 "$loop" phase=op cycles=250 sequence=102
		like 11 "$loop" phase=access cycles=190 sequence=103
	} >added.csv
	cat added.csv >>fractured/rows.csv
	run -0 tlbscope report fractured
	page_has fractured/report.html \
		"here, host 4k, 1 x 2m, 50 touches, offset=0, sequential: invlpg far|1890|250|190|1450|" \
		"2016, Haswell-EP: selective|1898|255|215|1427|"
}

@test "guidance: each point with its rows, the cost at a stated rate" {
	tlbscope report fractured
	run -0 cat fractured/guidance.md
	# 650 - 210 = 440 cycles, 10000 times a second, of 2000000000: 0.22 %
	says "at 10000 flushes a second" "16 x 2m on host pages of 4k: 440 cycles a flush, 0.22 % of a core" \
		"rows 10, 34, 58, 11, 35, 59" "TSC 2000000000 Hz" \
		"F 1.00 for 2m pages on host pages of 4k (run fractured, rows 7, 31, 55, 8, 32, 56, 9, 33, 57)" \
		"not measured here" "Linux commit a5102476a24b" "hugetlbsize=2M" "<memoryBacking>" "hugepagesz=2M" \
		"cat /sys/module/kvm/parameters/nx_huge_pages"
	# a protection's off switch does not stand there without a measured reason; sentences end once
	says_not "nx_huge_pages=off"
	run ! grep -E '[^.]\.\.($|[^.])' fractured/guidance.md
	# the sequence numbers are those rows'
	run -0 values fractured op,host,guest,phase sequence=7
	[ "$output" = "none 4k 2m refill" ]
	run -0 values fractured op,host,guest,phase sequence=11
	[ "$output" = "invlpg 4k 2m retouch" ]
	tlbscope report --flush-rate 50000 fractured
	run -0 cat fractured/guidance.md
	says "at 50000 flushes a second" "440 cycles a flush, 1.10 % of a core"
	# a rate that no TSC has is none
	for hz in 1 1e300; do
		sed -i "s/\"tsc_hz\": .*/\"tsc_hz\": $hz/" fractured/run.json
		tlbscope report fractured
		run -0 cat fractured/guidance.md
		says "run.json has no rate of the TSC that can be believed"
		says_not "% of a core"
	done
	cp "$BATS_TEST_DIRNAME/../data/fractured/run.json" fractured/
	refused report --flush-rate 0.5 fractured
	refused report --flush-rate many fractured
	# what is not hardware is no evidence about any: no setting, alone as beside other runs
	sed -i 's/^fractured,kvm,kvm,/fractured,tcg,tcg,/' fractured/rows.csv
	tlbscope report fractured
	run -0 cat fractured/guidance.md
	says_not "measured: F" "% of a core" hugepages= '```'
	says "Not hardware: QEMU's soft TLB" "Nothing to set follows from it."
	run -0 page_text fractured/report.html
	says "Nothing to set follows from it."
	says_not hugepages= "<memoryBacking>"
}

# Code in 2M pages, that fractures: the cell of host 4k as one of host 2m with code.
@test "guidance: the switch that gives up a protection only where a run shows what it costs" {
	like 8 host=2m code=1 sequence=101 >added.csv
	like 9 host=2m code=1 sequence=102 >>added.csv
	like 10 host=2m code=1 sequence=103 >>added.csv
	cat added.csv >>fractured/rows.csv
	tlbscope report fractured
	run -0 cat fractured/guidance.md
	says "It splits 2M pages that hold code, and such pages fracture here" "kvm.nx_huge_pages=off"
}

@test "guidance: one for each machine, each point from the run that measured it" {
	cp -r fractured costs
	mv fractured drops
	sed -i '/,refill,/d' costs/rows.csv
	sed -i '/,retouch,/d' drops/rows.csv
	# what a live migration and code in pages make of 2M host pages, instead of 4K ones
	cp -r drops logged
	sed -i 's/,4k,verified,/,2m-logged,verified,/' logged/rows.csv
	run -0 tlbscope report --out all costs drops logged mended
	run -0 grep -c '^## Example CPU 1000$' all/guidance.md
	[ "$output" = 2 ] # other microcode is another machine here
	run -0 sed '/^## /,/^## /!d' all/guidance.md
	says "Run costs: " "Run drops: " "Run logged: "
	says "F 1.00 for 2m pages on host pages of 2m-logged (run logged, " \
		"beside it F 0.00 for 2m pages on host pages of 2m (run logged, " \
		"16 x 2m on host pages of 4k: 440 cycles a flush, 0.22 % of a core" "run costs, rows"
	run -0 page_text all/report.html
	says "F 1.00 for 2m pages on host pages of 2m-logged (run logged, "
	# what is QEMU's is no machine of hardware
	sed -i 's/,kvm,kvm,/,tcg,tcg,/' drops/rows.csv
	tlbscope report --out all costs drops
	run -0 grep -c '^## ' all/guidance.md
	[ "$output" = 2 ]
}

@test "guidance: a run without the TSC's rate has no cost; one of an intact CPU has other advice" {
	rm mended/run.json
	tlbscope report mended
	run -0 cat mended/guidance.md
	says "run.json has no rate of the TSC" "here they survive the flush of other pages"
	says_not "% of a core"
	run -0 page_text mended/report.html
	says "There is no run.json beside the rows" "leaves the cached translations of other pages alone"
}

@test "report and table: a run that is not complete says so" {
	tlbscope report fractured
	run -0 page_text fractured/report.html
	says_not "The run is not complete"
	run -0 tlbscope table fractured mended
	says_not "is not complete"
	sed -i 's/"complete": true/"complete": false/' fractured/run.json
	grep -q '"complete": false' fractured/run.json
	tlbscope report fractured
	run -0 page_text fractured/report.html
	says "The run is not complete: rows of its plan are missing."
	run -0 tlbscope table fractured mended
	says "fractured is not complete: rows of its plan are missing."
	says_not "mended is not complete"
}

@test "report of several runs: the answers first, advice not once more for what is no hardware" {
	sed -i 's/,kvm,kvm,/,tcg,tcg,/' mended/rows.csv
	tlbscope report --out both fractured mended
	run -0 grep -nE '<h2>All runs|class="answer"' both/report.html
	[[ ${lines[0]} == *'#run-1'*"empties the cached translations"* ]]
	[[ ${lines[1]} == *'#run-2'*"soft TLB, not hardware"* ]]
	[[ ${lines[2]} == *"All runs"* ]]
	[ "$(grep -c '^### ' both/guidance.md)" = 6 ]
	run -0 cat both/guidance.md
	says "Nothing to set follows from it."
	run -0 tlbscope report mended
	run -0 cat mended/guidance.md
	says "Nothing to set follows from it."
	says_not '###'
}

# reach_run DIR CYCLES: 64 and 128 lines of 4K pages beside packed ones, which take 10 cycles a line; at 128 lines the
# repeats take 1280, CYCLES and 1920.
reach_run() {
	mkdir "$1"
	cp fractured/run.json "$1"
	head -n 1 fractured/rows.csv >"$1/rows.csv"
	local n repeat cycles sequence=0
	for n in 64 128; do
		cycles=(0 $((n * 10)) $((n == 128 ? $2 : 640)) $((n == 128 ? 1920 : 640)))
		for repeat in 1 2 3; do
			like 5 leaves=$n touches=$n repeat=$repeat "cycles=${cycles[repeat]}" sequence=$((++sequence))
			like 5 leaves=$((n / 64)) touches=$n stride=64 offset=0 repeat=$repeat cycles=$((n * 10)) \
				sequence=$((++sequence))
		done
	done | sed 's/$/\r/' >>"$1/rows.csv"
}

# 1280, 1408 and 1920 over 128 lines: 10, 11 and 15; the median is 11, the repeats differ by more than a cycle.
@test "report and compare of reach: its own question, marks as in the table, no verdict on flushes" {
	reach_run one 1408
	reach_run two 1408
	run -0 tlbscope table one
	says "11.0~    (1.0)"
	run -0 tlbscope report one
	page_has one/report.html "128|11.0~ (1.0)|10.0|" "64|10.0 (0.0)|10.0|" "How far does the TLB reach?"
	run -0 page_text one/report.html
	says "Not measured by this run: whether flushing one page costs the others (plan fracture);"
	says_not "Does flushing one page cost the others?"
	tlbscope report --out both one two
	page_has both/report.html "cliffs, lines: 4K pages on host 4k|none up to 128|none up to 128|"
	run -0 tlbscope compare one two
	says "cliffs, 4K pages on host page 4k, lines: "
	says_not "verdict on host"
	# The axis goes from 8 cycles a line to beyond 13, where 16 is out of sight: a tick at 12. None of the other axis is.
	command -v gnuplot >/dev/null || return 0
	tlbscope plot one
	grep -q '<text><tspan[^>]*>12</tspan>' one/reach.svg
}

# A cliff of 10 cycles between 64 and 128 lines, over 4K pages and in 2M ones alike; packed lines have none.
@test "guidance of reach: large pages in pieces are no reason to use more of them" {
	local n cycles repeat sequence=0
	mkdir one
	cp fractured/run.json one
	{
		head -n 1 fractured/rows.csv
		for n in 16 32 64 128 256; do
			cycles=$((n * (n > 64 ? 20 : 10)))
			for repeat in 1 2 3; do
				like 5 leaves=$n touches=$n repeat=$repeat cycles=$cycles sequence=$((++sequence))
				like 5 guest=2m leaves=1 touches=$n repeat=$repeat cycles=$cycles sequence=$((++sequence))
				[ "$n" -gt 64 ] || like 5 guest=2m leaves=$n touches=$n stride=2097152 repeat=$repeat \
					cycles=$cycles sequence=$((++sequence))
				like 5 leaves=$(((n + 63) / 64)) touches=$n stride=64 offset=0 repeat=$repeat \
					cycles=$((n * 10)) sequence=$((++sequence))
			done
		done
	} >one/rows.csv
	run -0 tlbscope report one
	run -0 cat one/guidance.md
	says "Run one: 2M pages are cached in pieces: from 64 to 128 lines" \
		"2M pages do not make the TLB reach farther in this VM"
	says_not transparent_hugepage=madvise ".."
	# why the curve of one line in each 2M page is shorter: 64 * 2 MiB
	local why="2M pages: each line takes a page of its own, 64 of them 128 MiB; the run has no rows beyond."
	page_has one/report.html "$why"
	run -0 tlbscope table one
	[ "$(grep -cxF "$why" <<<"$output")" = 1 ]
	says_not "4K apart: each line"
}

@test "report: the plan as it became rows" {
	need jq jq
	jq '.plan.sections = [
		{"name": "4k", "sweep": "op=none,invlpg,cr3 at=far,mapped guest=4k leaves=50 phase=refill,retouch,both repeats=3"},
		{"name": "1g", "sweep": "op=none,invlpg,cr3 at=far guest=1g leaves=4 phase=refill repeats=3"}]' \
		fractured/run.json >changed.json
	mv changed.json fractured/run.json
	tlbscope report fractured
	run -0 page_text fractured/report.html
	says "[4k] op=none,invlpg,cr3 at=far guest=4k leaves=50 phase=refill,retouch repeats=3" \
		"need what was not there): [1g]."
	says_not "phase=refill,retouch,both" "guest=1g"
}

@test "report: a ceiling that cannot be told says why" {
	local count
	for count in 1 2 4 8; do
		like 12 count=$count phase=both sequence=$((100 + count))
	done >added.csv
	cat added.csv >>fractured/rows.csv
	tlbscope report fractured
	run -0 page_text fractured/report.html
	says "Up to how many pages is flushing them one by one cheaper?" \
		"This run does not tell up to how many pages" "The reason: no valid full flush (op cr3) beside invlpg"
	run -0 cat fractured/guidance.md
	says "Leave it as it is: this run does not tell a better one." \
		"not told, though run fractured measured it: no valid full flush (op cr3) beside invlpg"
}

@test "report: what compare needs, and no path of this machine" {
	run -0 tlbscope report "$PWD/fractured"
	run -0 page_text fractured/report.html
	says "tlbscope compare fractured again then tells whether refills came out alike (all of it in the directory"
	run ! grep -F "$PWD" fractured/report.html
	sed -i '/,retouch,[23],/d; /,refill,[23],/d' fractured/rows.csv
	tlbscope report fractured
	run -0 page_text fractured/report.html
	says "needs 3 repeats of each case in both"
	says_not "then tells whether"
}

@test "pictures: what is not valid is hatched, thin bars are told of where there are any" {
	need gnuplot gnuplot-nox
	tlbscope plot fractured
	run -0 cat fractured/fracture-refill.svg
	says "thin bars"
	says_not hatched
	# the flush of the first cell, in the only repeat
	sed -i '/,retouch,[23],/d; /,refill,[23],/d; 3s/,ok\r$/,unstable\r/' fractured/rows.csv
	tlbscope plot fractured
	run -0 cat fractured/fracture-refill.svg
	says "hatched: not valid"
	says_not "thin bars"
	[ "$(awk '/^"/ { print $NF }' fractured/fracture-refill.dat | tr '\n' ' ')" = "0 1 1 1 " ]
}

# One cell has syscall-flush beside no-contrast, as on target user under PTI without PCID.
@test "report: controls say what failed and why" {
	sed -i -E '/,retouch,/s/,ok\r$/,no-contrast+syscall-flush\r/' fractured/rows.csv
	tlbscope report fractured
	run -0 page_text fractured/report.html
	says "310, must be less than after a full flush by more than noise: failed (every system call flushes here)" \
		"what helps against syscall-flush, where it comes from"
	says_not "use more leaves, or a quieter machine"
}

@test "report: self-contained, and every id once" {
	need gnuplot gnuplot-nox
	tlbscope report --out both fractured mended
	run -0 cat both/report.html
	says_not "<script" "<link" "<img" "@import" "url(http"
	# what looks like an address is SVG's names, or text
	run ! grep -Eo '(href|src)="?[^"]*//[^"]*' both/report.html
	run grep -Eo " id=[\"'][^\"']*" both/report.html
	[ "$(sort <<<"$output" | uniq -d)" = "" ]
	[ "$(grep -c '<svg' both/report.html)" -ge 8 ]
	[ "$(grep -c '<svg' both/report.html)" -eq "$(grep -c 'role="img"' both/report.html)" ]
	# the pictures' texts have the numbers
	grep -q 'Guest 2m on host 4k, 16 x 2m: nothing flushed 0, one flush 16, full flush 16, F 1.00.' \
		both/report.html
	# links lead to the rows
	grep -q 'href="./../fractured/rows.csv"' both/report.html
	grep -q 'href="./../mended/rows.csv"' both/report.html
	page_has both/report.html "refill: guest 2m on host 4k, 16 x 2m|1.00|0.00|" "microcode|0x1|0x2|"
}

@test "report: HTML validates" {
	need tidy tidy
	tlbscope report fractured 2>/dev/null
	tlbscope report --out both fractured mended 2>/dev/null
	local page
	for page in fractured both; do
		# Tidy does not know that SVG's <title> may have an id; nothing else is let pass.
		run tidy -quiet -errors $page/report.html
		[ "$(grep -v '<title> proprietary attribute "id"' <<<"$output")" = "" ]
	done
}

@test "report: what comes from files is text, never markup" {
	mv fractured '<i>&"x"'
	(
	cd '<i>&"x"' || exit 1
	sed -i 's/Example CPU 1000/"<script>alert(1)<\/script>\&\x27<b>"/' rows.csv
	cat >run.json <<-END
		{"tlbscope": "<script>1", "start": "<script>2", "command": "tlbscope run \`<script>3\`",
		 "plan": {"name": "<script>4", "title": "</table><script>5",
		          "sections": [{"name": "<script>6", "sweep": "</pre><script>7", "on": "kvm"}]},
		 "machine": {"cpu": {"model_name": "</td><script>8", "microcode": 7, "tsc_hz": "x",
		                     "hypervisor_name": ["a"]}, "kernel": [1, 2], "thp_enabled": null,
		             "kvm_nx_huge_pages": "<script>9", "itlb_multihit": "\`<script>10"},
		 "qemu": {"by_hand": "<script>11"}}
	END
	)
	run -0 tlbscope report '<i>&"x"'
	run ! grep -i '<script\|<b>\|<i>\|onmouseover=x>' '<i>&"x"/report.html'
	run -0 page_text '<i>&"x"/report.html'
	says '<script>alert(1)</script>' '</table><script>5' '</td><script>8' '</pre><script>7' '<script>11'
	run ! grep '[^\\]<script' '<i>&"x"/guidance.md'
	if command -v tidy >/dev/null; then
		run tidy -quiet -errors '<i>&"x"/report.html'
		[ "$(grep -v '<title> proprietary attribute "id"' <<<"$output")" = "" ]
	fi
}

@test "report: a run.json that is none" {
	printf '{"machine": ' >fractured/run.json
	run -0 tlbscope report fractured
	says fractured/run.json:1
	printf '[1, "a"]' >fractured/run.json
	run -0 tlbscope report fractured
	head -c 300 /dev/urandom >fractured/run.json
	run -0 tlbscope report fractured
}

@test "report: without gnuplot there is a page that says so" {
	mkdir bin
	run -0 env PATH="$PWD/bin" "$TLBSCOPE" report fractured
	says "gnuplot is not installed" fractured/report.html
	run -0 page_text fractured/report.html
	says "Not drawn: gnuplot is not installed" "4k|2m|16 x 2m|0|16|16|1.00|"
}

@test "report: where it cannot be written, no run, no rows" {
	echo mine >file
	refused report --out file fractured
	says file --out
	refused report --out file/below fractured
	says file/below --out
	refused report nothing
	says nothing
	refused report
	mkdir empty
	head -n 1 fractured/rows.csv >empty/rows.csv
	run -0 tlbscope report empty
	run -0 page_text empty/report.html
	says "It has no rows."
}

# tests/data/counters: the table of 2016 as events of made-up loops, host 4k, guest 2m: 102.038 and 102.023.
@test "report: counted events" {
	cp -r "$BATS_TEST_DIRNAME/../data/counters" counters
	run -0 tlbscope report counters
	run -0 page_text counters/report.html
	says "has the loops of 2016, but none of the passes" "DTLB_LOAD_MISSES.WALK_COMPLETED" 102.04
}

@test "report: columns of another version, other order, a new one, some missing" {
	awk -F, -v OFS=, '{ sub(/\r$/, ""); gsub(/\r/, ""); print $NF, $5, $6, $7, $8, $9, $10, $14, $15, $16, \
		$22, $23, $24, $25, $27, $28, $2, $3, $4, $1, NR == 1 ? "DTLB.WALKS" : NR }' \
		fractured/rows.csv >mended/rows.csv
	rm mended/run.json
	run -0 tlbscope report --out both fractured mended
	page_has both/report.html "refill: guest 2m on host 4k, 16 x 2m|1.00|1.00|"
	run -0 page_text both/report.html
	says "DTLB.WALKS|a column of its target or of another tool, such as an event|"
}

# ---- compare ----

@test "compare: what changed, what is in one only, what differs around them" {
	run -6 tlbscope compare fractured mended
	# 4 cells of 3 ops, refills and cycles: 24; one cell's flush changed, in both measures
	says "1 of 24 numbers changed beyond noise" "1 lie farther apart than the repeats of each run" "microcode: 0x1 -> 0x2" \
		"verdict on host page 4k: large-only -> intact" "verdict on host page 2m: intact in both" \
		"refills: 16 -> 0, -16" "cycles: 650 -> 230, -420.0 (" "only in B, 1:" \
		"refill: pge, 50 x 4k on host 4k"
	says_not "only in A" "kernel:"
	run -0 tlbscope compare fractured fractured
	says "0 of 24 numbers changed" "nothing differs that matters"
}

@test "compare: what only one run recorded is told in a line" {
	need jq jq
	jq 'del(.machine.kernel, .machine.meltdown)' mended/run.json >changed.json
	mv changed.json mended/run.json
	run -6 tlbscope compare fractured mended
	says "recorded of A only, so not compared: kernel, Meltdown" "microcode: 0x1 -> 0x2"
	says_not "not recorded"
}

@test "compare --json" {
	need jq jq
	run -6 tlbscope compare --json fractured mended
	jq -e '.a == ["fractured"] and .b == ["mended"] and .changed == 1 and .apart == 1 and .told == 24 and (.cases | length) == 24 and (.only_a | length) == 0 and
		(.only_b | length) == 1 and .only_b[0].op == "pge"' <<<"$output"
	jq -e '.environment == [{"fact": "machine.cpu.microcode", "a": "0x1", "b": "0x2",
		"matters": "microcode may change what a flush drops and costs"}]' <<<"$output"
	jq -e '[.cases[] | select(.changed or .apart)] | length == 2 and
		(map(select(.measure == "cycles"))[0] | .apart) and (map(select(.measure == "refills"))[0] | .changed) and
		(map(select(.measure == "cycles"))[0] | .a == 650 and .b == 230 and .difference == -420 and
		 .low < -420 and .high > -420 and .high < -13 and .repeats_a == 3) and
		(map(select(.measure == "refills"))[0] | .a == 16 and .b == 0 and .difference == -16 and
		 .low == -16 and .high == -16 and .host == "4k" and .guest == "2m")' <<<"$output"
	# what did not change lies within its interval
	jq -e '[.cases[] | select(.changed or .apart | not) | .low <= 0 and .high >= 0] | all' <<<"$output"
}

@test "compare: too few repeats, nothing in common" {
	sed -i '/,retouch,[23],/d; /,refill,/d' fractured/rows.csv
	run -4 tlbscope compare fractured mended
	says "fewer than 3 repeats" "--repeats 3"
	sed -i 's/,4k,verified,/,1g,verified,/; s/,2m,verified,/,1g,verified,/' fractured/rows.csv
	run -4 tlbscope compare fractured mended
	says "no case in common"
}

@test "compare refuses what is not comparable, unless told to" {
	sed 's/^fractured,kvm,kvm,/fractured,tcg,tcg,/' fractured/rows.csv >mended/rows.csv
	run -5 tlbscope compare fractured mended
	says "different targets, kvm and tcg" --anyway
	run -0 tlbscope compare --anyway fractured mended
	says "compared all the same" "0 of 24"
	awk '{ sub(/\r$/, ""); print $0 (NR == 1 ? ",DTLB.WALKS" : ",7") }' fractured/rows.csv >mended/rows.csv
	run -5 tlbscope compare fractured mended
	says "only one of them counted DTLB.WALKS"
	run -5 tlbscope compare mended fractured
	refused compare fractured
	refused compare fractured mended fractured
	refused compare fractured mended fractured mended
	says "three pairs"
	head -n 1 fractured/rows.csv >empty.csv
	run -5 tlbscope compare fractured empty.csv
	says "empty.csv has no rows"
	# one run of a side counted something that the others did not
	run -5 tlbscope compare --anyway fractured fractured mended fractured fractured fractured
	says "fractured and mended, of the same side"
}

@test "compare: events by name, whatever their column's place" {
	awk '{ sub(/\r$/, ""); print $0 (NR == 1 ? ",WALKS" : "," 100 + NR % 3) }' fractured/rows.csv >a.csv
	awk '{ sub(/\r$/, ""); print (NR == 1 ? "WALKS," : (NR % 24 == 5 ? 900 : 100) + NR % 3 ",") $0 }' \
		fractured/rows.csv >b.csv
	run -4 tlbscope compare a.csv b.csv
	# line 5 is sequence 4: retouch, none, host 4k, guest 4k; 24 cases, each with the event and one more
	says "retouch: none, 50 x 4k on host 4k" "WALKS: 102 -> 902" "0 of 48 numbers changed" "1 lie farther apart" \
		"cannot be told from one run on each side"
	run -6 tlbscope compare a.csv b.csv a.csv b.csv a.csv b.csv
	says "A: a.csv, a.csv, a.csv, target" "WALKS: 102 -> 902" "1 of 48 numbers changed"
}

@test "compare: another seed or number of iterations is another case where the plan has several" {
	local axis
	need_qemu
	for axis in seed iterations; do
		tcg fracture --guest 4k --op none,cr3 --phase refill --repeats 1 --$axis 11,12 --out $axis-a >out
		tcg fracture --guest 4k --op none,cr3 --phase refill --repeats 1 --$axis 12,11 --out $axis-b >out
		# with 11 cr3 refills one leaf less, on both sides
		for dir in $axis-a $axis-b; do
			awk -F, -v OFS=, -v axis=$axis 'NR == 1 { for (i = 1; i <= NF; i++) number[$i] = i }
				NR > 1 && $number["op"] == "cr3" && $number[axis] == 11 { $number["refills"]-- }
				{ print }' "$dir/rows.csv" >new && mv new "$dir/rows.csv"
		done
		run -0 tlbscope compare $axis-a $axis-b
		says "0 of 4 numbers changed"
		says_not only
	done
	# one of them on one side: it is no axis there
	tcg fracture --guest 4k --op none,cr3 --phase refill --repeats 1 --iterations 12 --out one >out
	run -4 tlbscope compare iterations-a one
	says "only in A, 4" "only in B, 2"
}

# timed NAME CYCLES: a run in which every pass took so many cycles, give or take one.
timed() {
	mkdir -p "$1"
	awk -F, -v OFS=, -v cycles="$2" '{ sub(/\r$/, "") }
		NR == 1 { for (i = 1; i <= NF; i++) number[$i] = i }
		NR > 1 && $number["cycles"] != "" { $number["cycles"] = cycles + NR % 3 - 1 }
		{ print }' fractured/rows.csv >"$1/rows.csv"
}

@test "compare: runs of one machine lie apart; only several tell whether a second one does" {
	timed a1 1000
	timed a2 1180
	timed a3 1090
	timed b1 1170
	timed b2 1010
	timed b3 1100
	# each pair of runs: 12 cells whose repeats agree to a cycle, 17 % apart
	run -4 tlbscope compare a1 b1
	says "0 of 24 numbers changed" "12 lie farther apart"
	run -0 tlbscope compare a1 b1 a2 b2 a3 b3
	says "0 of 24 numbers changed"
	says_not apart
	timed b1 2170
	timed b2 2010
	timed b3 2100
	# means 1090 and 2093.3, their variances 90^2 and 80.2^2 over 3: t = 980 / 69.6 on 3.95 degrees of freedom
	run -6 tlbscope compare --json a1 b1 a2 b2 a3 b3
	jq -e '.changed == 12 and .apart == 0 and .a == ["a1", "a2", "a3"] and .b == ["b1", "b2", "b3"]' <<<"$output"
	jq -e '[.cases[] | select(.measure == "cycles") | (.a - 1090 | fabs) <= 1 and (.b - 2100 | fabs) <= 1 and .repeats_a == 3 and .repeats_b == 3 and
		(.difference - 1003.33 | fabs) < 0.01 and .changed] | all' <<<"$output"
}

# ---- bad rows ----

# bad NAME SED-SCRIPT TEXT...: refused by every reader with these texts; without its bad rows it is read.
bad() {
	local script=$1
	shift
	rm -rf bad
	cp -r "$BATS_TEST_DIRNAME/../data/fractured" bad
	chmod -R u+w bad
	sed -i "$script" bad/rows.csv
	refused table bad
	says bad/rows.csv: "$@"
	refused report bad
	says bad/rows.csv: "$@"
	refused compare bad mended
	says bad/rows.csv: "$@"
	run -0 tlbscope table --skip-bad-rows bad
	says "1 rows left out; the first: bad/rows.csv:" "$@"
	grep -Eq '^4k +2m +16 x 2m +0 +16 +16 +1\.00 ' <<<"$output"
	run -0 tlbscope report --skip-bad-rows bad
	run -0 page_text bad/report.html
	says "1 rows could not be read and are left out. The first:" "4k|2m|16 x 2m|0|16|16|1.00|"
}

# Line 2 is none, host 4k, guest 4k: refills 0; line 5 the same in cycles, 300.
@test "bad rows: line and column named, good ones usable" {
	bad '5s/,300,,/,NaN,,/' rows.csv:5: "column cycles" NaN
	bad '5s/,300,,/,-300,,/' rows.csv:5: "column cycles" -300
	bad '2s/,refill,1,1,200,/,refill,1,1,1e3,/' rows.csv:2: "column iterations" 1e3
	bad '2s/,4k,4k,verified,/,5k,4k,verified,/' rows.csv:2: "column guest" 5k
	bad '2s/\r$/,more\r/' rows.csv:2: fields
	bad '2s/^fractured,/"fractured,/' rows.csv:2: quotes
	bad '2s/,memfd,/,me\x00mfd,/' rows.csv:2: NUL
	bad '3{p}' rows.csv:4: "the same row as in line" '"3"'
	bad '9s/,refill,1,8,/,refill,1,7,/' rows.csv:9: "the same row as in line" '"8"'
}

@test "bad rows: mixed newlines are read, a torn end is told, binary is refused" {
	sed -i 'n; s/\r$//' fractured/rows.csv
	run -0 tlbscope table fractured
	grep -Eq '^4k +2m +16 x 2m +0 +16 +16 +1\.00 ' <<<"$output"
	head -c -20 "$BATS_TEST_DIRNAME/../data/fractured/rows.csv" >fractured/rows.csv
	run -0 tlbscope report fractured
	run -0 page_text fractured/report.html
	says "The last line of rows.csv has no end"
	head -c 5000 /dev/urandom >fractured/rows.csv
	refused report fractured
	says fractured/rows.csv:
	refused report --skip-bad-rows fractured
	cp "$TLBSCOPE" fractured/rows.csv
	refused table fractured
	refused table --skip-bad-rows fractured
	[[ $output != *$'\x7f'* ]]
	: >fractured/rows.csv
	refused report fractured
	says "no header"
}
