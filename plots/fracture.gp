# SPDX-License-Identifier: GPL-2.0
# Bars for each cell: nothing flushed, one selective flush, a full flush; F above the selective one.
# Set by tlbscope plot: data (table), base (picture without ending), heading, unit.
# Greys of falling lightness with different fills: the order survives a greyscale print.

set style data histograms
set style histogram clustered gap 1.5
set style fill solid 0.9 border lc rgb '#303030'
set boxwidth 0.9
set grid ytics lc rgb '#dddddd' lt 1 lw 1
set border 3 lc rgb '#606060'
set tics nomirror out
set xtics scale 0 offset 0,-0.2
set bmargin 5
set tmargin 6
set rmargin 3
set ylabel unit
set yrange [0:*<1.25]
set key outside top center horizontal samplen 1.5 width 2 height 0.3
set title heading font ',13' offset 0,2.2

stats data using 4 nooutput
top = STATS_max > 0 ? STATS_max : 1
set yrange [0:top * 1.22]

do for [kind in 'svg png'] {
	if (kind eq 'svg') {
		set terminal svg size 900,480 font 'DejaVu Sans,12' background rgb 'white'
	} else {
		set terminal pngcairo size 1800,960 font 'DejaVu Sans,24' background rgb 'white'
	}
	set output base . '.' . kind
	plot data using 2:xtic(1) title 'nothing flushed (control)' lc rgb '#d9e6f2', \
	     '' using 3 title 'one selective flush of an unrelated page' lc rgb '#e07b00', \
	     '' using 4 title 'full flush' lc rgb '#234b75', \
	     '' using 0:($3 + top * 0.05):(sprintf('F = %.2f', abs($5) < 0.005 ? 0 : $5)) with labels notitle
	unset output
}
