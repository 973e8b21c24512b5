# SPDX-License-Identifier: GPL-2.0
# Every flush in every cell: the share of the leaves that were lost, from white (none) to dark blue (all) with the
# numbers in the boxes, so that it can be read without colours. A box with a stroke was not measured. Set by
# tlbscope: data, base, heading, note, stamp, kinds (see fracture.gp).

stats data using 1 nooutput
columns = STATS_max + 1
stats data using 2 nooutput
rows = STATS_max + 1
width = 900
height = 150 + 34 * rows + 20

shade(v) = int(255 - v * (255 - 0x1f)) * 65536 + int(255 - v * (255 - 0x40)) * 256 + int(255 - v * (255 - 0x68))
ink(v) = v > 0.5 ? 0xffffff : 0x000000

set border 0
set tics scale 0 nomirror
set xrange [-0.5:columns - 0.5]
set yrange [rows - 0.5:-0.5]
set xtics in offset 0, 0
set ytics font ',11' noenhanced
set label 1 heading at screen 0.02, screen (1 - 22.0 / height) left font ',13' noenhanced
set label 2 'leaves lost of those in the set; ' . note at screen 0.02, screen (1 - 46.0 / height) left font ',10' tc rgb '#505050' noenhanced
# gnuplot's SVG knows no boxes behind texts: a rectangle as wide as DejaVu Sans makes the text
if (strlen(stamp)) {
	mark = stamp
	half = (strlen(mark) * 6.9 + 22) / 2 / 900
	set object 1 rectangle center screen (0.985 - half),screen (1 - 22.0 / height) size screen (2 * half),screen (24 / height) \
		front fc rgb '#fff1c2' fs solid 1.0 border lc rgb '#8a1c1c'
	set label 3 mark at screen (0.985 - half),screen (1 - 22.0 / height) center font ',11' tc rgb '#6b1010' noenhanced front
}
set tmargin at screen (1 - 68.0 / height)
set bmargin at screen (78.0 / height)
set lmargin at screen 0.17
set rmargin at screen 0.98
unset key

do for [kind in kinds] {
	if (kind eq 'svg') {
		set terminal svg size width,height font 'DejaVu Sans,12' background rgb 'white'
	} else {
		set terminal pngcairo size 2 * width,2 * height fontscale 1.5 font 'DejaVu Sans,12' linewidth 2 background rgb 'white'
	}
	set output base . '.' . kind
	plot data using 1:2:(0.48):(0.46):(valid(3) ? shade($3) : 0xf4f4f4):xtic(5):ytic(6) with boxxyerror \
		fs solid 1.0 border lc rgb '#808080' lc rgb variable, \
	     '' using (valid(3) ? NaN : $1 - 0.1):2:(0.2):(0) with vectors nohead lc rgb '#808080' lw 1.5, \
	     '' using (valid(3) ? $1 : NaN):2:4:(valid(3) ? ink($3) : 0) with labels font ',11' tc rgb variable
	unset output
}
