# SPDX-License-Identifier: GPL-2.0
# The table of 2016 beside a run's own: for each host and guest page what one selective and one full flush made in
# one iteration, 2016 in outline, here filled. A cell that was not measured here has no filled bars. Set by
# tlbscope: data, base, heading, note, stamp, kinds (see fracture.gp), unit.

stats data using 0 nooutput
cells = STATS_records
stats data using 3 nooutput
top = STATS_max > 0 ? STATS_max : 1
stats data using 5 nooutput
if (STATS_records && STATS_max > top) { top = STATS_max }

set boxwidth 0.19
set grid ytics lc rgb '#d8d8d8' lt 1 lw 1
set border 3 lc rgb '#606060'
set tics nomirror out
set xtics scale 0 font ',10'
set xrange [-0.6:cells - 0.4]
set yrange [0:top * 1.12]
set ylabel unit
set label 1 heading at graph 0, screen 0.96 left font ',13' noenhanced
set label 2 note at graph 0, screen 0.918 left font ',10' tc rgb '#505050' noenhanced
# gnuplot's SVG knows no boxes behind texts: a rectangle as wide as DejaVu Sans makes the text
if (strlen(stamp)) {
	mark = 'here: ' . stamp
	half = (strlen(mark) * 6.9 + 22) / 2 / 900
	set object 1 rectangle center screen (0.985 - half),screen 0.96 size screen (2 * half),screen (24 / 500.0) \
		front fc rgb '#fff1c2' fs solid 1.0 border lc rgb '#8a1c1c'
	set label 3 mark at screen (0.985 - half),screen 0.96 center font ',11' tc rgb '#6b1010' noenhanced front
}
set key at screen 0.09, screen 0.89 left top Left reverse horizontal maxcols 4 maxrows 1 samplen 1 width 0 font ',11'
set tmargin at screen 0.82
set bmargin at screen 0.19
set lmargin 9
set rmargin 2

text(v) = v == v ? (v < 1 && v > 0 ? sprintf('%.2f', v) : sprintf('%.0f', v)) : ''
do for [kind in kinds] {
	if (kind eq 'svg') {
		set terminal svg size 900,500 font 'DejaVu Sans,12' background rgb 'white'
	} else {
		set terminal pngcairo size 1800,1000 fontscale 1.5 font 'DejaVu Sans,12' linewidth 2 background rgb 'white'
	}
	set output base . '.' . kind
	plot data using 0:(0):xtic(1) with points pt -1 notitle, \
	     '' using ($0 - 0.3):2 with boxes fs solid 0.0 border lc rgb '#b35c00' lw 2 title '2016: one flush', \
	     '' using ($0 - 0.1):3 with boxes fs solid 0.0 border lc rgb '#1f4068' lw 2 title '2016: full flush', \
	     '' using ($0 + 0.1):4 with boxes fs solid 1.0 border lc rgb '#404040' fc rgb '#e8912d' title 'here: one flush', \
	     '' using ($0 + 0.3):5 with boxes fs solid 1.0 border lc rgb '#404040' fc rgb '#1f4068' title 'here: full flush', \
	     '' using ($0 - 0.3):2:(text($2)) with labels offset 0,0.6 font ',9' notitle, \
	     '' using ($0 - 0.1):3:(text($3)) with labels offset 0,0.6 font ',9' notitle, \
	     '' using ($0 + 0.1):4:(text($4)) with labels offset 0,0.6 font ',9' notitle, \
	     '' using ($0 + 0.3):5:(text($5)) with labels offset 0,0.6 font ',9' notitle
	unset output
}
