#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# extract.sh BZIMAGE OUT: writes the ELF kernel that is packed inside a bzImage (vmlinuz) to OUT.
#
# Why: unpacking itself takes a kernel some seconds of emulated time, by far the largest part of a
# boot under TCG. QEMU starts the ELF file directly (by its PVH note). It then runs at its link
# address and without a decompressor, hence without KASLR and without 5-level paging.
#
# Where the payload is stands in the setup header (Documentation/arch/x86/boot.rst): setup_sects at
# 0x1f1, payload_offset at 0x248, from the protected-mode code on, payload_length at 0x24c. All
# compressors but gzip have the unpacked size behind their stream, 4 bytes; in gzip it belongs
# to the format. It is what the result is checked against.

set -eu

[ $# -eq 2 ] || { echo "usage: extract.sh BZIMAGE OUT" >&2; exit 2; }
image=$1
out=$2

fail() {
	echo "extract.sh: $image: $*" >&2
	exit 1
}

# number TYPE OFFSET: one little-endian number (the order of x86, where all of this runs).
number() {
	od -An -t "$1" -j "$2" -N "${1#u}" "$image" | tr -d ' '
}

[ "$(dd if="$image" bs=1 skip=514 count=4 2>/dev/null)" = HdrS ] || fail "is no bzImage"
sectors=$(number u1 497)
[ "$sectors" -ne 0 ] || sectors=4
start=$(((sectors + 1) * 512 + $(number u4 584)))
length=$(number u4 588)
size=$(number u4 $((start + length - 4)))

payload() {
	tail -c +$((start + 1)) "$image" | head -c "$1"
}

unpack() {
	command -v "$1" >/dev/null 2>&1 || fail "needs $1 to unpack it; apt-get install $2"
	case $1 in
	gzip) payload "$length" ;;
	*) payload $((length - 4)) ;;
	esac | "$1" -dc >"$out" || fail "$1 cannot unpack it"
}

case $(od -An -t x1 -j "$start" -N 4 "$image" | tr -d ' ') in
fd377a58) unpack xz xz-utils ;;
02214c18) unpack lz4 lz4 ;;
28b52ffd) unpack zstd zstd ;;
1f8b*) unpack gzip gzip ;;
*) fail "is packed by a method unknown here" ;;
esac

[ "$(wc -c <"$out")" -eq "$size" ] || fail "unpacks to $(wc -c <"$out") bytes instead of $size"
[ "$(od -An -t x1 -N 4 "$out" | tr -d ' ')" = 7f454c46 ] || fail "holds no ELF file"
