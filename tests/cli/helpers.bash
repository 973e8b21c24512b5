# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
#
# What the tests of the command line share: where the program is, what is skipped without which
# tool, and a reader of rows.csv that is not the program's own.

bats_require_minimum_version 1.5.0

TLBSCOPE=$(realpath -- "${TLBSCOPE:-$BATS_TEST_DIRNAME/../../build/asan/bin/tlbscope}")
QEMU=${QEMU:-qemu-system-x86_64}
export TLBSCOPE QEMU

# The guest image that belongs to the program.
image() {
	realpath -- "${TLBSCOPE%/*}/../share/tlbscope/tlbscope-guest.elf"
}

need() {
	command -v "$1" >/dev/null 2>&1 || skip "there is no $1; apt-get install $2"
}

need_qemu() {
	need "$QEMU" qemu-system-x86
}

# The program; what hangs ends with status 124 instead of holding up all tests.
tlbscope() {
	timeout --kill-after=5 "${TLBSCOPE_LIMIT:-120}" "$TLBSCOPE" "$@" </dev/null
}

# The same with QEMU's software CPU, in rows that cost little.
tcg() {
	tlbscope run "$@" --on tcg
}

# says TEXT...: the output of the last `run` contains each.
says() {
	local text
	# shellcheck disable=SC2154 # output is set by run
	for text in "$@"; do
		[[ $output == *"$text"* ]] || {
			printf 'not said: %s\noutput: %s\n' "$text" "$output"
			return 1
		}
	done
}

says_not() {
	local text
	for text in "$@"; do
		[[ $output != *"$text"* ]] || {
			printf 'said: %s\noutput: %s\n' "$text" "$output"
			return 1
		}
	done
}

# Everything below a directory: names, and of files size, time of change and checksum.
listing() {
	find "$1" -mindepth 1 \( -type f -printf '%P %s %T@\n' -exec cksum {} + \) -o -printf '%y %P\n'
}

# refused ARGUMENT...: exit status 2, a reason on stderr, nothing on stdout, and nothing in the
# current directory made, changed or removed. What it said is in $output then.
refused() {
	local before after status=0 out
	before=$(listing .)
	out=$BATS_TEST_TMPDIR.stdout
	output=$(tlbscope "$@" 2>&1 >"$out") || status=$?
	after=$(listing .)
	[ "$status" -eq 2 ] || {
		printf 'exit status %s instead of 2: tlbscope %s\noutput: %s\n' "$status" "$*" "$output"
		return 1
	}
	[ ! -s "$out" ] || {
		printf 'on stdout: %s\n' "$(<"$out")"
		return 1
	}
	[[ $output == tlbscope* || $output == usage:* ]] || {
		printf 'no reason given: %s\n' "$output"
		return 1
	}
	[ "$before" = "$after" ] || {
		diff <(echo "$before") <(echo "$after")
		return 1
	}
}

# values DIR COLUMN[,COLUMN...] [COLUMN=VALUE...]: of each row of DIR/rows.csv that has all VALUEs
# the COLUMNs, with blanks between; an empty field is printed as a point. A row counts as one line.
values() {
	local file=$1/rows.csv columns=$2
	shift 2
	awk -v columns="$columns" -v conditions="$*" '
		function split_csv(line, field,    i, c, n, quoted) {
			if (!index(line, "\""))
				return split(line, field, ",")
			n = 1
			field[1] = ""
			for (i = 1; i <= length(line); i++) {
				c = substr(line, i, 1)
				if (c == "\"" && quoted && substr(line, i + 1, 1) == "\"") {
					field[n] = field[n] c
					i++
				} else if (c == "\"") {
					quoted = !quoted
				} else if (c == "," && !quoted) {
					field[++n] = ""
				} else {
					field[n] = field[n] c
				}
			}
			return n
		}
		function column(name) {
			if (name in number)
				return number[name]
			print "no column " name > "/dev/stderr"
			failed = 1
			exit 1
		}
		{ sub(/\r$/, "") }
		NR == 1 {
			fields = split_csv($0, name)
			for (i = 1; i <= fields; i++)
				number[name[i]] = i
			wanted = split(columns, want, ",")
			n = split(conditions, condition, " ")
			for (i = 1; i <= wanted; i++)
				take[i] = column(want[i])
			for (i = 1; i <= n; i++) {
				at = index(condition[i], "=")
				where[i] = column(substr(condition[i], 1, at - 1))
				value[i] = substr(condition[i], at + 1)
			}
			next
		}
		{
			if (split_csv($0, field) != fields) {
				print FILENAME ":" NR ": not " fields " fields" > "/dev/stderr"
				exit 1
			}
			for (i = 1; i <= n; i++)
				if (field[where[i]] != value[i])
					next
			line = ""
			for (i = 1; i <= wanted; i++)
				line = line (i > 1 ? " " : "") (field[take[i]] == "" ? "." : field[take[i]])
			print line
		}' "$file"
}

# every DIR COLUMNS EXPECTED CONDITION...: there are such rows, and all of them have EXPECTED.
every() {
	local dir=$1 columns=$2 expected=$3 seen
	shift 3
	seen=$(values "$dir" "$columns" "$@" | LC_ALL=C sort -u)
	[ "$seen" = "$expected" ] || {
		printf '%s of rows with %s: expected "%s", got "%s"\n' "$columns" "$*" "$expected" "$seen"
		return 1
	}
}

# Is the process there, and not only waiting to be collected by its parent?
is_alive() {
	local state
	{ read -r state <"/proc/$1/stat"; } 2>/dev/null || return 1
	state=${state##*) }
	[ "${state%% *}" != Z ]
}

# eventually COMMAND...: until it is true, at most a minute.
eventually() {
	local deadline=$((SECONDS + 60))
	until "$@"; do
		[ "$SECONDS" -lt "$deadline" ] || {
			echo "never came true: $*"
			return 1
		}
		sleep 0.03
	done
}
