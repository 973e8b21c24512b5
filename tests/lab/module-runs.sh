# shellcheck shell=sh disable=SC2154 # here, out and scratch are run.sh's, as are tap, check and lab
# SPDX-License-Identifier: GPL-2.0
#
# module-runs.sh: the lab's runs of the host module; sourced by run.sh, which then calls
# `module_runs quick` or `module_runs all`.
#
# quick is one boot: pti=on, two CPUs, default mitigations. all adds what changes the kernel's page
# tables or entry code (one CPU, pti off, KASLR, 5-level paging with SMEP and SMAP), 1G pages, and
# the boot of module-all.job, with NMIs from outside.

# judge_module LAB: a run of the driver, made in the VM, is whole and has QEMU's medians.
judge_module() {
	[ -d "$out/$1/run" ] || return
	check "$1: the driver's rows" module_rows_as_expected "$out/$1/run"
}

module_rows_as_expected() {
	cells "$1" unknown >"$scratch/cells"
	for line in "4k none none 0" "4k cr3 none 50" "4k pge none 50" "4k invlpg far 0" \
		"4k invlpg mapped 0" "4k invlpg next-2m 0" "4k invlpg same-2m 0" "4k invlpg in-set 1" \
		"2m none none 0" "2m cr3 none 16" "2m pge none 16" "2m invlpg far 0" "2m invlpg mapped 0" \
		"2m invlpg next-2m 0" "2m invlpg same-2m 16" "2m invlpg in-set 16"; do
		[ "$(grep "^${line% *} " "$scratch/cells")" = "$line ok" ] ||
			echo "expected $line ok, got: $(grep "^${line% *} " "$scratch/cells")"
	done >"$scratch/differences"
	cat "$scratch/differences"
	[ ! -s "$scratch/differences" ]
}

# module_lab NAME JOB [BOOT-OPTION]...
module_lab() {
	name=$1
	job=$2
	shift 2
	lab "$name" "$job" --file "$ko" --file "$here/module.sh" "$@" && judge_module "$name"
}

module_runs() {
	status=0
	ko=$("$here/module-build.sh" 2>"$scratch/stderr") || status=$?
	if [ $status -eq 77 ]; then
		tap skip "host module" "$(tail -n 1 "$scratch/stderr")"
		return
	fi
	tap $status "the host module builds" "$scratch/stderr"
	[ $status -eq 0 ] || return
	module_lab module module --smp 2 --append "pti=on mitigations=auto"
	[ "$1" = all ] || return 0
	module_lab module-plain module
	module_lab module-kaslr module --compressed --append pti=on
	module_lab module-la57 module --compressed --cpu max --smp 2
	module_lab module-la57-mitigations module --compressed --cpu max --append mitigations=auto
	module_lab module-smap module --cpu max
	module_lab module-hostile module-all --qemu "$here/module-nmi.sh" --smp 2 --timeout 300 \
		--append "pti=on lab_nmi"
	module_lab module-hostile-1g module-all --compressed --cpu max --mem 4096 --timeout 300
}
