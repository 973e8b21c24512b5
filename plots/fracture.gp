# SPDX-License-Identifier: GPL-2.0
# Three bars for each cell: nothing flushed, one selective flush, a full flush. The number stands on each bar (a
# zero is a result too), thin bars reach from the least to the most of the repeats, F stands above the cell, a cell that is not valid is hatched. Set
# by tlbscope: data (table), base (picture without ending), heading, note (samples), stamp (what marks numbers
# that are none of hardware), kinds (svg, png), unit. The three colours fall in lightness, so that their order survives a
# greyscale print.

stats data using 0 nooutput
cells = STATS_records
stats data using 12 nooutput
top = STATS_max
stats data using 8 nooutput
if (STATS_max > top) { top = STATS_max }
stats data using 4 nooutput
if (STATS_max > top) { top = STATS_max }
empty = top <= 0
if (empty) { top = 1 }

set style fill solid 1.0 border lc rgb '#404040'
set boxwidth 0.24
set grid ytics lc rgb '#d8d8d8' lt 1 lw 1
set border 3 lc rgb '#606060'
set tics nomirror out
set style textbox opaque noborder fillcolor rgb 'white' margins 1,1
set xtics scale 0
set xrange [-0.6:cells - 0.4]
set yrange [0:top * 1.32]
set ylabel unit noenhanced
# Tics only up to the highest bar: no line behind the F.
step = 10.0 ** floor(log10(top))
if (top < 2 * step) { step = step / 5 } else { if (top < 5 * step) { step = step / 2 } }
set ytics 0, step, top
if (empty) { set ytics (0) } # nothing to scale by
set key at screen 0.09, screen 0.885 left top Left reverse horizontal maxcols 3 maxrows 1 samplen 1 width 0 font ',11'
set label 1 heading at graph 0, screen 0.96 left font ',13' noenhanced
set label 2 note at graph 0, screen 0.915 left font ',10' tc rgb '#505050' noenhanced
# gnuplot's SVG knows no boxes behind texts: a rectangle as wide as DejaVu Sans makes the text
if (strlen(stamp)) {
	mark = stamp
	half = (strlen(mark) * 6.9 + 22) / 2 / 900
	set object 1 rectangle center screen (0.985 - half),screen 0.96 size screen (2 * half),screen (24 / 480.0) \
		front fc rgb '#fff1c2' fs solid 1.0 border lc rgb '#8a1c1c'
	set label 3 mark at screen (0.985 - half),screen 0.96 center font ',11' tc rgb '#6b1010' noenhanced front
}
set tmargin at screen 0.815
set bmargin at screen 0.20
set lmargin 9
set rmargin 2
unset title
ok(c) = column(15) > 0 ? column(c) : NaN
bad(c) = column(15) > 0 ? NaN : column(c)

do for [kind in kinds] {
	if (kind eq 'svg') {
		set terminal svg size 900,480 font 'DejaVu Sans,12' background rgb 'white'
	} else {
		set terminal pngcairo size 1800,960 fontscale 1.5 font 'DejaVu Sans,12' linewidth 2 background rgb 'white'
	}
	set output base . '.' . kind
	plot data using 0:(0):xtic(1) with points pt -1 notitle, \
	     '' using ($0 - 0.26):(ok(2)) with boxes lc rgb '#dbe7f3' title 'nothing flushed', \
	     '' using 0:(ok(6)) with boxes lc rgb '#e8912d' title 'one unrelated page flushed', \
	     '' using ($0 + 0.26):(ok(10)) with boxes lc rgb '#1f4068' title 'everything flushed', \
	     '' using ($0 - 0.26):(bad(2)) with boxes lc rgb '#9db4cc' fs pattern 4 border lc rgb '#9db4cc' notitle, \
	     '' using 0:(bad(6)) with boxes lc rgb '#e8912d' fs pattern 4 border lc rgb '#e8912d' notitle, \
	     '' using ($0 + 0.26):(bad(10)) with boxes lc rgb '#1f4068' fs pattern 4 border lc rgb '#1f4068' notitle, \
	     '' using ($4 > $3 ? $0 - 0.26 : NaN):3:(0):($4 - $3) with vectors nohead lc rgb '#000000' lw 1.5 notitle, \
	     '' using ($8 > $7 ? $0 : NaN):7:(0):($8 - $7) with vectors nohead lc rgb '#000000' lw 1.5 notitle, \
	     '' using ($12 > $11 ? $0 + 0.26 : NaN):11:(0):($12 - $11) with vectors nohead lc rgb '#909090' lw 1.5 notitle, \
	     '' using ($0 - 0.26):4:5 with labels offset 0,0.7 notitle, \
	     '' using 0:8:9 with labels offset 0,0.7 notitle, \
	     '' using ($0 + 0.26):12:13 with labels offset 0,0.7 notitle, \
	     '' using 0:(top * 1.22):14 with labels boxed font ',12' notitle
	unset output
}
