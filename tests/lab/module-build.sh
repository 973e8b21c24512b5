#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# module-build.sh: builds the host module for the kernel that the lab boots; prints its path. Uses
# the headers of that kernel, wherever the distribution puts them.
#
# Exit status: 0; 77 without such headers, with the reason on stderr; 1 when it does not build.

set -eu

cd "$(dirname "$0")/../.."
kernel=$(tests/lab/fetch.sh) || exit
release=$(cat "$kernel/release")
out=build/lab/module

for headers in "/lib/modules/$release/build" "/usr/src/linux-headers-$release"; do
	[ -e "$headers/Makefile" ] || continue
	mkdir -p "$out"
	if ! make -s -f host-module/module.mk module KDIR="$headers" MODULE_OUT="$out" \
		>"$out/log" 2>&1; then
		cat "$out/log" >&2
		exit 1
	fi
	echo "$PWD/$out/tlbscope.ko"
	exit 0
done
echo "lab: no headers for $release; apt-get install linux-headers-$release" >&2
exit 77
