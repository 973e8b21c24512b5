#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
#
# module-nmi.sh QEMU-ARGUMENTS: for boot.sh's --qemu: QEMU with a monitor, by which 30 NMIs come
# while the job measures, from the moment on at which the console says that it is ready for them.
# TLBSCOPE_LAB_QEMU names the QEMU.

set -u
qemu=${TLBSCOPE_LAB_QEMU:-qemu-system-x86_64}
console=
for argument; do
	case $argument in
	file:*/console) console=${argument#file:} ;;
	esac
done

# What QEMU reads as its monitor's input. Ends with QEMU: a write into a closed pipe.
commands() {
	until grep -qs 'ready for NMIs' "$console"; do
		sleep 0.2
		echo
	done
	n=0
	while [ $n -lt 30 ]; do
		sleep 0.1
		echo nmi
		n=$((n + 1))
	done
	while echo; do sleep 0.5; done
}

commands 2>/dev/null | "$qemu" "$@" -chardev stdio,id=monitor,signal=off -mon monitor >/dev/null
