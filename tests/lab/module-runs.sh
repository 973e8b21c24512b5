# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=sh disable=SC2154,SC2317,SC2329 # here, out, scratch, tap, check, boot: run.sh's
#
# module-runs.sh: the lab's runs of the host module; sourced by run.sh, which calls module_build
# and, if that was true, lets its workers go through module_quick or module_all, and then calls
# `judge_modules quick` or `judge_modules all`.
#
# quick is one boot: pti=on, two CPUs, default mitigations. all adds what changes the kernel's page
# tables or entry code (one CPU, pti off, KASLR, 5-level paging with SMEP and SMAP), and the boots of
# module-all.job: with NMIs from outside, and with memory for 1G pages.

# module_build: true if there is something to boot; $ko is the module.
module_build() {
	status=0
	ko=$("$here/module-build.sh" 2>"$scratch/stderr") || status=$?
	if [ $status -eq 77 ]; then
		tap skip "the host module" "$(tail -n 1 "$scratch/stderr")"
	else
		tap $status "the host module builds" "$scratch/stderr"
	fi
	[ $status -eq 0 ]
}

# module_boot NAME JOB [OPTION]...
module_boot() {
	module_name=$1
	module_job=$2
	shift 2
	boot "$module_name" "$module_job" --file "$ko" --file "$here/module.sh" \
		--append no_timer_check "$@"
}

module_quick() {
	module_boot module module --smp 2 --append "pti=on mitigations=auto"
}

module_others="module-plain module-kaslr module-la57 module-hostile module-hostile-1g"

module_all() {
	module_boot module-hostile module-all --nmi 40 --smp 2 --timeout 600 --append "pti=on lab_nmi"
	module_boot module-hostile-1g module-all --cpu qemu64,+pdpe1gb --mem 4608 --timeout 600
	module_quick
	module_boot module-plain module
	module_boot module-kaslr module --compressed --append pti=on
	module_boot module-la57 module --compressed --cpu max --append mitigations=auto
}

# The cells of the fracture sweep in the driver's rows.
module_rows_as_expected() {
	cells "$1" unknown >"$scratch/cells"
	for line in "4k none none 0" "4k cr3 none 50" "4k pge none 50" "4k invlpg far 0" \
		"4k invlpg mapped 0" "4k invlpg next-2m 0" "4k invlpg same-2m 0" "4k invlpg in-set 1" \
		"2m none none 0" "2m cr3 none 16" "2m pge none 16" "2m invlpg far 0" "2m invlpg mapped 0" \
		"2m invlpg next-2m 0" "2m invlpg same-2m 16" "2m invlpg in-set 16"; do
		[ "$(grep "^${line% *} " "$scratch/cells")" = "$line" ] ||
			echo "expected $line, got: $(grep "^${line% *} " "$scratch/cells")"
	done >"$scratch/differences"
	cat "$scratch/differences"
	[ ! -s "$scratch/differences" ]
}

judge_modules() {
	for module_name in module $([ "$1" = quick ] || echo "$module_others"); do
		report "$module_name" && [ -d "$out/$module_name/run" ] &&
			check "$module_name: driver: refills of QEMU's TLB" \
				module_rows_as_expected "$out/$module_name/run"
	done
}
