#!/bin/sh
# SPDX-License-Identifier: GPL-2.0
# Makes the tables and pictures of README.md anew: runs the commands that it prints and puts their
# output between the markers <!-- begin NAME --> and <!-- end NAME -->. Called by `make figures`.
# usage: plots/readme.sh PATH-OF-TLBSCOPE
set -eu

tlbscope=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p plots/figures

# Puts FILE, as a code block, between the markers of NAME.
insert() {
	awk -v name="$1" -v file="$2" '
		$0 == "<!-- begin " name " -->" {
			print; print "```"
			while ((getline line < file) > 0) print line
			print "```"; skip = 1
		}
		$0 == "<!-- end " name " -->" { skip = 0 }
		!skip { print }
	' README.md >"$work/README.md"
	cat "$work/README.md" >README.md
}

# table NAME: the text in $work/NAME.out.
table() {
	sed '/^results: /d' "$work/$1.out" | sed -e :a -e '/^\n*$/{$d;N;ba' -e '}' >"$work/$1.txt"
	insert "$1" "$work/$1.txt"
}

# figure NAME PLAN TARGET: a run, its table, and its picture if there is one.
figure() {
	"$tlbscope" run "$2" --on "$3" --out "$work/$1" >"$work/$1.out"
	table "$1"
	if "$tlbscope" plot "$work/$1" >/dev/null 2>&1; then
		for picture in "$work/$1"/fracture-*.svg "$work/$1"/reach*.svg; do
			[ ! -e "$picture" ] || cp "$picture" "plots/figures/$1.svg"
		done
		[ ! -e "$work/$1/heat.svg" ] || cp "$work/$1/heat.svg" plots/figures/heat.svg
	fi
}

figure tcg fracture tcg
figure user fracture user
figure reach reach user

# The lab's run of KVM; a machine that cannot boot it keeps the table that is there.
if TLBSCOPE_LAB_OUT="$work/lab" tests/lab/run.sh quick >/dev/null && [ -d "$work/lab/kvm/kvm-fracture" ]; then
	mv "$work/lab/kvm/kvm-fracture" "$work/nested"
	"$tlbscope" table "$work/nested" >"$work/nested.out"
	table nested
fi
