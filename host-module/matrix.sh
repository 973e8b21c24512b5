#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# matrix.sh [SUITE...]: builds the module against the kernel headers that are installed here, and
# against the newest ones of Debian's suites; prints a table. A warning of W=1 counts as failure.
#
# Each suite is a small tree of its own (debootstrap, needs root) with that suite's compiler, below
# build/module-matrix, which TLBSCOPE_MATRIX moves. Trees are kept; --refresh updates them. A suite
# that cannot be had is a row that says so. The exit status is 0 only if all that was tried built
# and something was.

set -u

cd "$(dirname "$0")/.." || exit 1
trees=${TLBSCOPE_MATRIX:-$PWD/build/module-matrix}
# The archive that this system's apt has most of its lists from.
# shellcheck disable=SC2016 # apt's format, not the shell's
mirror=${TLBSCOPE_MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 2>/dev/null | sort | uniq -c |
	sort -rn | awk 'NR == 1 { print $2 }')}
refresh=
if [ "${1-}" = --refresh ]; then
	refresh=yes
	shift
fi
[ $# -gt 0 ] || set -- bullseye bookworm bookworm-backports trixie trixie-backports
# Not those of Kbuild itself about the system ("warning: pahole version differs").
complaint=': warning:|WARNING: modpost'
built=0
failed=0

row() {
	printf '%-20s %-28s %-8s %s\n' "$@"
}

# verdict STATUS LOG: ok, or the first line that tells why not; counts.
verdict() {
	if [ "$1" -eq 0 ] && ! grep -qE "$complaint" "$2"; then
		built=$((built + 1))
		verdict=ok
		return
	fi
	failed=$((failed + 1))
	verdict="FAILED: $(grep -m 1 -E "$complaint|error:|\*\*\*" "$2" | cut -c 1-100) (see $2)"
}

# build_here HEADERS: against headers of this system, with its compiler.
build_here() {
	name=$(basename "$1")
	out=$trees/here/$name
	mkdir -p "$out"
	make -s -f host-module/module.mk module-links MODULE_OUT="$out" &&
		make -C "$1" M="$out" W=1 modules >"$out/log" 2>&1
	verdict $? "$out/log"
	row here "${name#linux-headers-}" "$(gcc -dumpversion)" "$verdict"
}

# in_tree TREE COMMAND...: with /proc, which objtool reads its stack limit from.
in_tree() {
	# shellcheck disable=SC2016 # for the inner shell
	unshare --mount sh -c 'mount -t proc proc "$1/proc" && exec chroot "$@"' sh "$@"
}

# make_tree SUITE: a system of that suite with its newest headers, in $trees/SUITE.
make_tree() {
	tree=$trees/$1
	base=${1%-backports}
	[ -z "$refresh" ] || rm -f "$tree/complete"
	[ ! -e "$tree/complete" ] || return 0
	command -v debootstrap >/dev/null || { echo "there is no debootstrap; apt-get install debootstrap"; return 1; }
	[ "$(id -u)" -eq 0 ] || { echo "needs root, for debootstrap"; return 1; }
	rm -rf "$tree"
	debootstrap --variant=minbase --include=make,gcc,libc6-dev,perl "$base" "$tree" "$mirror" || return
	[ "$base" = "$1" ] || echo "deb $mirror $1 main" >"$tree/etc/apt/sources.list.d/backports.list"
	in_tree "$tree" apt-get -q update || return
	in_tree "$tree" env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends \
		-t "$1" install linux-headers-amd64 || return
	# Newer headers want it at the link; its package had another name once.
	in_tree "$tree" apt-get -q -y --no-install-recommends install pahole ||
		in_tree "$tree" apt-get -q -y --no-install-recommends install dwarves || return
	: >"$tree/complete"
}

# build_in SUITE
build_in() {
	mkdir -p "$trees"
	if ! make_tree "$1" >"$trees/$1.log" 2>&1 </dev/null; then
		failed=$((failed + 1))
		row "$1" - - "not to be had: $(tail -n 1 "$trees/$1.log" | cut -c 1-100) (see $trees/$1.log)"
		return
	fi
	rm -rf "$trees/$1/tlbscope"
	mkdir "$trees/$1/tlbscope"
	cp host-module/*.[ch] host-module/Kbuild sweeps/core/*.[ch] "$trees/$1/tlbscope/"
	for headers in "$trees/$1"/usr/src/linux-headers-*-amd64; do
		name=$(basename "$headers")
		log=$trees/$1.$name.log
		in_tree "$trees/$1" make -C "/usr/src/$name" M=/tlbscope W=1 clean modules >"$log" 2>&1
		verdict $? "$log"
		row "$1" "${name#linux-headers-}" "$(sed -n 's/^CONFIG_CC_VERSION_TEXT=.*) \(.*\)"/\1/p' \
			"$headers/.config")" "$verdict"
	done
}

row suite kernel gcc result
for headers in /usr/src/linux-headers-*-amd64; do
	[ ! -e "$headers/Makefile" ] || build_here "$headers"
done
for suite; do
	build_in "$suite"
done
echo "$built built, $failed failed"
[ $failed -eq 0 ] && [ $built -gt 0 ]
