#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# fetch.sh [--refresh]: what the lab boots, from the distribution's archive: a kernel package and a
# static busybox. Unpacks them into the cache and prints the directory, in which are then
#
#   vmlinuz    the kernel as packed by the distribution   vmlinux   the same, unpacked
#   release    what `uname -r` will say                   busybox   statically linked
#   modules/   NAME.ko for KVM and what it depends on     order     their names in load order
#
# The cache is build/lab/cache, or TLBSCOPE_LAB_CACHE. What is there is taken without asking apt;
# --refresh looks for a newer package. Downloads go by apt-get download, which installs nothing and
# needs no root.
#
# Why this kernel: Debian's 6.1 has kvm-amd as a module (so that npt can be set), debugfs, hugetlbfs
# and the tlb_flush tracepoint, and its headers are what the host module is first built for.
#
# Exit status: 0; 77 when it cannot be had here, with the reason on stderr; 1 when it broke.

set -eu

cd "$(dirname "$0")/../.."
here=$PWD/tests/lab
cache=${TLBSCOPE_LAB_CACHE:-$PWD/build/lab/cache}
wanted_modules="kvm-amd"

skip() {
	echo "lab: $*" >&2
	exit 77
}

# A change of the recipe makes what is in the cache stale.
recipe=$(cat "$here/fetch.sh" "$here/extract.sh" | cksum)

if [ "${1-}" != --refresh ] && [ "$(cat "$cache/kernel/complete" 2>/dev/null)" = "$recipe" ]; then
	(cd "$cache/kernel" && pwd -P)
	exit 0
fi

[ "$(uname -m)" = x86_64 ] || skip "needs an x86-64 machine"
for tool in apt-get apt-cache dpkg-deb; do
	command -v "$tool" >/dev/null 2>&1 || skip "there is no $tool to get the kernel package"
done

# The name of the kernel package: the newest Debian 6.1, else what the distribution has now. The
# signed and the unsigned one have the same contents.
kernel_package() {
	name=$(apt-cache search --names-only '^linux-image-6\.1\.0-[0-9]+-amd64(-unsigned)?$' |
		awk '{ print $1 }' | sort -t- -k4,4nr -k6,6 | head -n 1)
	[ -n "$name" ] || name=$(apt-cache depends linux-image-amd64 2>/dev/null |
		sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	printf '%s' "$name"
}

package=$(kernel_package)
[ -n "$package" ] || skip "apt knows no linux-image-amd64; on Debian, apt-get update may help"
version=$(apt-cache show --no-all-versions "$package" | sed -n 's/^Version: //p')
target=$cache/${package}_$version

if [ "$(cat "$target/complete" 2>/dev/null)" = "$recipe" ]; then
	ln -sfn "${target##*/}" "$cache/kernel"
	echo "$target"
	exit 0
fi

mkdir -p "$cache"
work=$(mktemp -d "$cache/fetch.XXXXXX")
trap 'trap "" HUP INT TERM; rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# download PACKAGE: leaves PACKAGE's file as $work/PACKAGE.deb.
download() {
	echo "lab: getting $1" >&2
	mkdir "$work/$1"
	(
		cd "$work/$1" &&
			apt-get -q -o APT::Sandbox::User=root download "$1" >"$work/apt.log" 2>&1
	) || {
		sed 's/^/lab: apt-get: /' "$work/apt.log" >&2
		skip "the package $1 cannot be downloaded; apt-get update may help"
	}
	mv "$work/$1"/*.deb "$work/$1.deb"
}

# module_file NAME: its path in the unpacked package. A name has - or _, as it likes.
module_file() {
	pattern=$(printf '%s' "$1" | sed 's/[-_]/[-_]/g')
	find "$work/root" -name "$pattern.ko" -o -name "$pattern.ko.xz" -o -name "$pattern.ko.zst" |
		head -n 1
}

# add_module NAME: with all that it depends on before it. The package has no modules.dep, which is
# made at installation; but every module has its dependencies in its .modinfo section.
add_module() {
	grep -qx "$1" "$out/order" && return
	file=$(module_file "$1")
	[ -n "$file" ] || { echo "lab: $package has no module $1" >&2; exit 1; }
	case $file in
	*.xz) xz -dc "$file" ;;
	*.zst) zstd -dc "$file" ;;
	*) cat "$file" ;;
	esac >"$out/modules/$1.ko"
	# shellcheck disable=SC2046 # names without blanks
	set -- "$1" $(tr '\0' '\n' <"$out/modules/$1.ko" | sed -n 's/^depends=//p' | tr ',' ' ')
	for needed in "$@"; do
		[ "$needed" = "$1" ] || (add_module "$needed")
	done
	echo "$1" >>"$out/order"
}

# An installed one will do if it is static.
get_busybox() {
	installed=$(command -v busybox || :)
	if [ -n "$installed" ] && ! ldd "$installed" >/dev/null 2>&1; then
		cp -L "$installed" "$out/busybox"
		return
	fi
	download busybox-static
	dpkg-deb --fsys-tarfile "$work/busybox-static.deb" | tar -xO --wildcards '*bin/busybox' \
		>"$out/busybox"
	chmod 755 "$out/busybox"
}

download "$package"
mkdir "$work/root" "$work/out" "$work/out/modules"
out=$work/out
: >"$out/order"
# Only where KVM and its relatives are: the whole package has 400 MB.
dpkg-deb --fsys-tarfile "$work/$package.deb" | tar -x -C "$work/root" --wildcards './boot/*' \
	'*lib/modules/*/kernel/arch/*' '*lib/modules/*/kernel/virt/*' \
	'*lib/modules/*/kernel/drivers/crypto/*'
mv "$work"/root/boot/vmlinuz-* "$out/vmlinuz"
basename "$work"/root/boot/config-* | sed 's/^config-//' >"$out/release"
mv "$work"/root/boot/config-* "$out/config"
"$here/extract.sh" "$out/vmlinuz" "$out/vmlinux"
for module in $wanted_modules; do
	add_module "$module"
done
get_busybox
printf '%s' "$recipe" >"$out/complete"

# Another fetch may have come first; its result is as good, and may be in use.
if [ "$(cat "$target/complete" 2>/dev/null)" != "$recipe" ]; then
	rm -rf "$target"
	mv -T "$out" "$target" 2>/dev/null || [ -e "$target/complete" ]
fi
ln -sfn "${target##*/}" "$cache/kernel"
echo "$target"
