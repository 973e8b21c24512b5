# SPDX-License-Identifier: GPL-2.0
# Latency against the number of lines: a curve for each page size and distance, the packed curve
# being the share of caches and timer. Both axes are logarithmic, since a first level costs a few
# cycles and a walk a hundred. Light bands are cliffs over the packed curve, with their range and
# rise; a doubtful one is lighter and has a question mark. Thin bars reach from quartile to quartile
# of the repeats. Set by tlbscope: data (blocks: cliffs, then the curves), base (picture without
# ending), heading, note (samples), stamp, kinds (see fracture.gp), unit. Markers, dashes and lightness all differ, so that the curves can
# be told apart in a greyscale print and where they coincide.

set encoding utf8
stats data using 1 nooutput
curves = STATS_blocks - 1

# Extent of the curves, room for the labels of the bands above them.
bottom = 1e30
top = 0
do for [i = 1:curves] {
	stats data index i using 3:4 nooutput
	if (STATS_min_x < bottom) { bottom = STATS_min_x }
	if (STATS_max_y > top) { top = STATS_max_y }
}
bottom = bottom > 0 ? bottom * 0.8 : 1
stats data index 0 using 3 nooutput
height = log(top / bottom) / (0.86 - 0.08 * STATS_max)
level(share) = bottom * exp(height * share)

# The packed curve comes first: grey, dotted.
set style line 1 lc rgb '#a0a0a0' lw 1.6 dt (2,3) pt 13 ps 0.6
set style line 2 lc rgb '#1f4068' lw 1.6 dt 1 pt 6 ps 1.3
set style line 3 lc rgb '#e8812d' lw 1.6 dt (10,4) pt 2 ps 0.8
set style line 4 lc rgb '#0f7050' lw 1.6 dt (4,3) pt 8 ps 0.9
set style line 5 lc rgb '#7a3e8e' lw 1.6 dt (12,3,2,3) pt 4 ps 1.0
set style line 6 lc rgb '#a89000' lw 1.6 dt (6,3,2,3,2,3) pt 1 ps 0.9
set style line 7 lc rgb '#404040' lw 1.6 dt (16,4) pt 10 ps 1.0
style(i) = i == 1 ? 1 : (i - 2) % 6 + 2

set border 3 lc rgb '#606060'
set tics nomirror out
set grid ytics lc rgb '#e4e4e4' lt 1 lw 1
set logscale x 2
set logscale y 2
set xrange [6.5:10100]
set yrange [bottom:level(1)]
set xtics 8, 2, 8192
set format '%g'
# Powers of two as far as nothing but the labels of the bands is above, and where half of an octave or more is left, one more.
ceiling = level(0.9 - 0.08 * STATS_max)
highest = 2 ** floor(log(ceiling) / log(2))
set ytics 1, 2, highest
if (highest * 1.5 < ceiling) { set ytics add (highest * 1.5) }
set mxtics 1
set mytics 1
set xlabel 'lines touched'
set ylabel unit
set errorbars 0
set label 1 heading at graph 0, screen 0.965 left font ',13' noenhanced
set label 2 note at graph 0, screen 0.928 left font ',10' tc rgb '#505050' noenhanced
# gnuplot's SVG knows no boxes behind texts: a rectangle as wide as DejaVu Sans makes the text
if (strlen(stamp)) {
	mark = stamp
	half = (strlen(mark) * 6.9 + 22) / 2 / 900
	set object 1 rectangle center screen (0.985 - half),screen 0.965 size screen (2 * half),screen (24 / 540.0) \
		front fc rgb '#fff1c2' fs solid 1.0 border lc rgb '#8a1c1c'
	set label 3 mark at screen (0.985 - half),screen 0.965 center font ',11' tc rgb '#6b1010' noenhanced front
}
set key at screen 0.085, screen 0.905 left top Left reverse horizontal maxcols 4 \
	samplen 4 width 0 font ',11'
set tmargin at screen 0.885 - 0.0325 * ceil(curves / 2.0) # below the legend
set bmargin at screen 0.13
set lmargin 9
set rmargin 2
unset title

do for [kind in kinds] {
	if (kind eq 'svg') {
		set terminal svg size 900,540 font 'DejaVu Sans,12' background rgb 'white'
	} else {
		set terminal pngcairo size 1800,1080 fontscale 1.5 pointscale 2 linewidth 2 \
			font 'DejaVu Sans,12' background rgb 'white'
	}
	set output base . '.' . kind
	plot data index 0 using 1:(bottom):1:2:(bottom):(level(1)):($5 > 0 ? 0xf6f6f6 : 0xe9e9e9) \
		with boxxyerror fs solid 1.0 noborder fc rgb variable notitle, \
	     for [i = 1:curves] '' index i using 1:2:3:4 with yerrorbars ls style(i) \
		dt 1 lw 1 pt -1 notitle, \
	     for [i = 1:curves] '' index i using 1:2 with linespoints ls style(i) \
		title columnheader(1), \
	     '' index 0 using (sqrt($1 * $2)):(level(0.965 - 0.08 * $3)):4 with labels \
		font ',9' tc rgb '#404040' notitle
	unset output
}
