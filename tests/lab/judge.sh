# shellcheck shell=sh disable=SC2154 # scratch and program are run.sh's
# SPDX-License-Identifier: GPL-2.0
#
# judge.sh: what the lab's rows have to be; sourced by run.sh. Reads rows.csv with awk, not with the
# program that wrote it.
#
# What is expected is how QEMU's nested soft TLB has to behave, from its source (7.2,
# target/i386/tcg/sysemu/excp_helper.c and accel/tcg/cputlb.c), not from an earlier run:
#  - Entries are 4K. One that stems from a large page also widens an area in which a flush of any
#    page drops everything. With two stages the larger of the guest's and the host's page counts.
#  - There is one area for all large pages, the smallest aligned power of two around them. Over host
#    pages of 4K only a window of guest 2M pages is in it. Over host 2M pages everything is, the
#    image's code too, so that any INVLPG drops all, even that of a page that was never mapped.
# Intel's CPUs do the opposite: there the smaller page decides, and guest 2M over host 4K fractures.

# rows DIR COLUMNS [COLUMN=VALUE]...: those columns of all rows with the values; empty is a point.
rows() {
	rows_file=$1/rows.csv
	rows_columns=$2
	shift 2
	awk -F, -v columns="$rows_columns" -v conditions="$*" '
		{ sub(/\r$/, "") }
		NR == 1 {
			for (i = 1; i <= NF; i++)
				number[$i] = i
			wanted = split(columns, want, ",")
			n = split(conditions, condition, " ")
			for (i = 1; i <= n; i++) {
				at = index(condition[i], "=")
				where[i] = number[substr(condition[i], 1, at - 1)]
				value[i] = substr(condition[i], at + 1)
			}
			next
		}
		{
			for (i = 1; i <= n; i++)
				if ($where[i] != value[i])
					next
			line = ""
			for (i = 1; i <= wanted; i++)
				line = line " " ($number[want[i]] == "" ? "." : $number[want[i]])
			print substr(line, 2)
		}' "$rows_file"
}

# expected HOST: one line `guest op at refills` for each cell of 50 pages 4k and of 16 pages 2m.
expected() {
	for guest in 4k 2m; do
		all=$([ $guest = 4k ] && echo 50 || echo 16)
		echo "$guest none none 0"
		echo "$guest cr3 none $all"
		for at in far mapped next-2m same-2m in-set; do
			case $1-$guest-$at in
			4k-4k-in-set) echo "$guest invlpg $at 1" ;;
			4k-2m-same-2m | 4k-2m-in-set | 2m-*) echo "$guest invlpg $at $all" ;;
			*) echo "$guest invlpg $at 0" ;;
			esac
		done
	done
}

# cells DIR HOST: one line `guest op at refills` for each refill row with one touch in each leaf.
cells() {
	for leaves in 50 16; do
		rows "$1" guest,op,at,refills phase=refill "host=$2" leaves=$leaves
	done | LC_ALL=C sort -u
}

# as_expected DIR HOST HOST-IN-ROWS: every expected cell is there with its refills, and no other.
as_expected() {
	cells "$1" "$3" | grep -v ' pge ' >"$scratch/cells"
	expected "$2" | LC_ALL=C sort | diff - "$scratch/cells"
}

# same_medians DIR DIR
same_medians() {
	for host in 4k 2m; do
		cells "$1" $host >"$scratch/a"
		cells "$2" $host >"$scratch/b"
		[ -s "$scratch/a" ] && diff "$scratch/a" "$scratch/b" || return
	done
}

# only DIR COLUMN VALUE [COLUMN=VALUE]...: there are such rows, and all have this one value.
only() {
	only_value=$3
	only_dir=$1
	only_column=$2
	shift 3
	only_seen=$(rows "$only_dir" "$only_column" "$@" | LC_ALL=C sort -u)
	echo "$only_column of rows with ${*:-no condition}: ${only_seen:-no rows}"
	[ "$only_seen" = "$only_value" ]
}

# every_row_says DIR REASON; no_row_says DIR REASON: in column valid.
every_row_says() {
	rows "$1" valid >"$scratch/valid"
	[ -s "$scratch/valid" ] && ! grep -Evn "(^|\\+)$2(\\+|\$)" "$scratch/valid"
}

no_row_says() {
	rows "$1" valid >"$scratch/valid"
	[ -s "$scratch/valid" ] && ! grep -En "(^|\\+)$2(\\+|\$)" "$scratch/valid"
}

# only_exits DIR OP: KVM exits at each of OP, and op-exits says so there and nowhere else.
only_exits() {
	rows "$1" op,at,exits,valid >"$scratch/exits"
	awk -v op="$2" '
		($1 == op) != ($4 ~ /op-exits/) || ($1 == op) != ($3 != "." && $3 > 0) {
			print "row " NR ": " $0
			bad = 1
		}
		END { exit bad || !NR }' "$scratch/exits"
}

# no_verdict DIR: in the table's JSON.
no_verdict() {
	"$program" table --json "$1" | grep '"verdict": ' | LC_ALL=C sort -u >"$scratch/verdict"
	cat "$scratch/verdict"
	[ -s "$scratch/verdict" ] && ! grep -qv '"undecided"' "$scratch/verdict"
}

# mapped_by KVM-COUNTS SIZE LEAST: KVM mapped at least so many pages of SIZE (4k, 2m), and, for
# 4k, not one large page.
mapped_by() {
	count_4k=$(sed -n 's/^pages_4k://p' "$1")
	count_2m=$(sed -n 's/^pages_2m://p' "$1")
	echo "KVM's counts: 4k ${count_4k:-none}, 2m ${count_2m:-none}"
	case $2 in
	4k) [ "${count_4k:-0}" -ge "$3" ] && [ "${count_2m:-1}" -eq 0 ] ;;
	2m) [ "${count_2m:-0}" -ge "$3" ] ;;
	esac
}

# turns_at DIR N: with the ceiling at N every system call flushes N pages one by one, and N + 1 fully; its
# twin nothing.
turns_at() {
	for call in mprotect madvise munmap; do
		[ "$2" -eq 0 ] || echo "$call $2 selective pages:$2"
		echo "$call $(($2 + 1)) full full"
	done >"$scratch/expected"
	for call in mprotect madvise munmap; do
		rows "$1" op,count,class,flush_seen "op=$call"
		rows "$1" flush_seen "op=$call-twin" | grep -v '^nothing$'
	done >"$scratch/seen"
	diff "$scratch/expected" "$scratch/seen"
}

# traced_at TRACE N: so says tracefs' text: flushes of N pages (if any), none of more, and full ones.
traced_at() {
	# Of 0 pages: another flush has been quicker, and nothing was left to do.
	sed -n 's/.*tlb_flush: pages:\(-*[1-9][0-9]*\) reason:local mm shootdown.*/\1/p' "$1" >"$scratch/pages"
	most=$(sort -n "$scratch/pages" | tail -n 1)
	echo "most pages one by one: $most, full: $(grep -c '^-1$' "$scratch/pages")"
	grep -q '^-1$' "$scratch/pages" || return
	[ "$most" -eq "$([ "$2" -eq 0 ] && echo -1 || echo "$2")" ]
}

# reads_trace TRACE DIR: the program counts what grep counts, and one number of pages as uniq does. The
# run itself is refused.
reads_trace() {
	"$program" ceiling --json --flushes "$1" "$2" >"$scratch/ceiling"
	echo "status $?"
	sed -n '/"flushes": {/,$p' "$scratch/ceiling" >"$scratch/record"
	counted=$(sed -n 's/^ *"flushes": \([0-9]*\),$/\1/p' "$scratch/record")
	sums=$(grep -c '"pages":' "$scratch/record")
	there=$(grep -c 'tlb_flush: ' "$1")
	kinds=$(sed -n 's/.*tlb_flush: pages:/pages:/p' "$1" | sort | uniq | wc -l)
	echo "flushes $counted of $there, sums $sums of $kinds"
	[ "${counted:-0}" -gt 0 ] && [ "$counted" -eq "$there" ] && [ "$sums" -eq "$kinds" ]
}
