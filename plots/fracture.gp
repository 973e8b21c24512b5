# SPDX-License-Identifier: GPL-2.0
# Three bars for each cell: nothing flushed, one selective flush, a full flush. The number stands on each bar (a
# zero is a result too), F above the cell. Set by tlbscope plot: data (table), base (picture without
# ending), heading, unit. The three colours fall in lightness, so that their order survives a greyscale print.

stats data using 0 nooutput
cells = STATS_records
stats data using 4 nooutput
top = STATS_max > 0 ? STATS_max : 1
stats data using 3 nooutput
if (STATS_max > top) { top = STATS_max }

set style fill solid 1.0 border lc rgb '#404040'
set boxwidth 0.24
set grid ytics lc rgb '#d8d8d8' lt 1 lw 1
set border 3 lc rgb '#606060'
set tics nomirror out
set style textbox opaque noborder fillcolor rgb 'white' margins 1,1
set xtics scale 0
set xrange [-0.6:cells - 0.4]
set yrange [0:top * 1.25]
set ylabel unit noenhanced
if (top == 1) { set ytics 0, 0.2, 1 }
set key at screen 0.09, screen 0.90 left top Left reverse horizontal maxcols 3 maxrows 1 samplen 1 width -3 font ',11'
set label 1 heading at graph 0, screen 0.955 left noenhanced font ',13'
set tmargin at screen 0.80
set bmargin at screen 0.20
set lmargin 9
set rmargin 2
unset title

do for [kind in 'svg png'] {
	if (kind eq 'svg') {
		set terminal svg size 900,480 font 'DejaVu Sans,12' background rgb 'white'
	} else {
		set terminal pngcairo size 1800,960 fontscale 2 font 'DejaVu Sans,12' linewidth 2 background rgb 'white'
	}
	set output base . '.' . kind
	plot data using ($0 - 0.26):2 with boxes lc rgb '#dbe7f3' title 'nothing flushed (control)', \
	     '' using 0:3:xtic(1) with boxes lc rgb '#e8912d' title 'one flush of an unrelated page', \
	     '' using ($0 + 0.26):4 with boxes lc rgb '#1f4068' title 'full flush', \
	     '' using ($0 - 0.26):2:5 with labels offset 0,0.7 notitle, \
	     '' using 0:3:6 with labels offset 0,0.7 notitle, \
	     '' using ($0 + 0.26):4:7 with labels offset 0,0.7 notitle, \
	     '' using 0:(top * 1.17):8 with labels boxed font ',13' notitle
	unset output
}
