#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# mkroot.sh [OPTION]... JOB OUT: makes the initramfs OUT of a lab VM that will run JOB (a shell
# script) and nothing else.
#
#   --nested             with KVM's modules and a QEMU
#   --inner-qemu PATH    this one (implies --nested; default qemu-system-x86_64)
#   --file FILE[:PATH]   also FILE, in the VM at PATH or in /lab; may be repeated
#
# In it: busybox; the program under /usr with its data and libraries; /lab with job, lib.sh,
# modules and their load order. QEMU is by far the largest part, so its archive is made once and
# kept in the cache: the kernel accepts one initramfs after the other in one file.
#
# Environment: TLBSCOPE, the program (default build/bin/tlbscope); TLBSCOPE_LAB_CACHE, see fetch.sh.

set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
program=${TLBSCOPE:-$top/build/bin/tlbscope}
firmware="bios-256k.bin kvmvapic.bin linuxboot_dma.bin multiboot_dma.bin pvh.bin"
inner_qemu=
files=
newline='
'

fail() {
	echo "mkroot.sh: $*" >&2
	exit 1
}

while [ $# -gt 2 ]; do
	case $1 in
	--nested) inner_qemu=${inner_qemu:-qemu-system-x86_64} ;;
	--inner-qemu)
		inner_qemu=$2
		shift
		;;
	--file)
		files=$files$2$newline
		shift
		;;
	*) fail "$1: no such option" ;;
	esac
	shift
done
[ $# -eq 2 ] || fail "usage: mkroot.sh [OPTION]... JOB OUT"
job=$1
out=$2
[ -r "$job" ] || fail "$job: no such job"
[ -x "$program" ] || fail "$program is not there; run make"

kernel=$("$here/fetch.sh") || exit
cache=${kernel%/*}
work=$(mktemp -d "${TMPDIR:-/tmp}/tlbscope-root.XXXXXX")
trap 'trap "" HUP INT TERM; rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# put FILE PATH MODE: a file at PATH of the tree that is being made.
put() {
	mkdir -p "$root${2%/*}"
	cp -L "$1" "$root$2"
	chmod "$3" "$root$2"
}

# put_libraries PROGRAM: the shared libraries that it needs, where it will look for them.
put_libraries() {
	ldd "$1" | sed -n 's/.*=> //; s/^[[:space:]]*\(\/[^ ]*\) (0x.*/\1/p' |
		while read -r library; do
			[ -e "$root$library" ] || put "$library" "$library" 755
		done
}

archive() {
	(cd "$1" && find . | "$kernel/busybox" cpio -o -H newc 2>/dev/null)
}

# qemu_archive PROGRAM: the file with QEMU's part. Its name has what the contents depend on.
qemu_archive() {
	qemu=$(command -v "$1") || fail "there is no $1; apt-get install qemu-system-x86"
	qemu=$(realpath "$qemu")
	# shellcheck disable=SC2046 # checksum and size
	set -- $({ stat -c '%n %s %Y' "$qemu" && cat "$here/mkroot.sh"; } | cksum)
	cached=$cache/qemu-$1.cpio
	if [ ! -e "$cached" ]; then
		root=$work/qemu
		put "$qemu" /usr/bin/qemu-system-x86_64 755
		put_libraries "$qemu"
		# Distributions build TCG as a module, which QEMU finds by its path. For a QEMU that plays a slow KVM.
		find "${qemu%/bin/*}"/lib*/ -name accel-tcg-x86_64.so 2>/dev/null | while read -r module; do
			put "$module" "$module" 755
			put_libraries "$module"
		done
		"$qemu" -L help >"$work/places"
		for name in $firmware; do
			while read -r place; do
				[ ! -e "$place/$name" ] || put "$place/$name" "/usr/share/qemu/$name" 644
			done <"$work/places"
		done
		archive "$root" >"$work/qemu.cpio"
		mv "$work/qemu.cpio" "$cached"
	fi
	printf '%s' "$cached"
}

root=$work/root
for directory in proc sys dev tmp run root results etc usr/sbin sbin; do
	mkdir -p "$root/$directory"
done
put "$here/init" /init 755
put "$kernel/busybox" /bin/busybox 755
ln -s busybox "$root/bin/sh"
chmod 1777 "$root/tmp"
printf '%s\n' root:x:0:0:root:/root:/bin/sh nobody:x:65534:65534:nobody:/tmp:/bin/sh \
	>"$root/etc/passwd"
put "$job" /lab/job 755
put "$here/lib.sh" /lab/lib.sh 644
put "$program" /usr/bin/tlbscope 755
put_libraries "$program"
mkdir -p "$root/usr/share"
cp -rL "${program%/*}/../share/tlbscope" "$root/usr/share/"
printf '%s' "$files" | while IFS= read -r file; do
	case $file in
	*:/*) put "${file%%:/*}" "/${file#*:/}" 755 ;;
	*) put "$file" "/lab/${file##*/}" 755 ;;
	esac
done
if [ -n "$inner_qemu" ]; then
	cp -r "$kernel/modules" "$kernel/order" "$root/lab/"
	part=$(qemu_archive "$inner_qemu")
	root=$work/root
	archive "$root" | cat "$part" - >"$out"
else
	archive "$root" >"$out"
fi
