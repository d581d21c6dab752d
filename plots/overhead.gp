# Overhead of inference: measured allocated peak over weights, against batch x sequence, one line per model.
# Call: gnuplot -d -c overhead.gp overhead.tsv IMAGE svg|png WIDTH HEIGHT ["" BASIS]
# Blocks, one per series; their first line names the series. Columns: case, tokens, peak_bytes, weight_bytes.
if (ARGC < 5) { print "usage: gnuplot -d -c overhead.gp DATA IMAGE svg|png WIDTH HEIGHT [\"\" BASIS]"; exit status 2 }

set encoding utf8
set datafile separator "\t"
if (ARG3 eq "svg") {
    set terminal svg size ARG4 + 0, ARG5 + 0 noenhanced font "DejaVu Sans,13" background rgb "white"
} else {
    set terminal pngcairo size 2 * ARG4, 2 * ARG5 noenhanced font "DejaVu Sans,13" fontscale 2 background rgb "white" \
        linewidth 2 pointscale 2
}
set output ARG2

# What the figures are: measured, or replayed where a device held no memory.
basis = ARGC > 6 && strlen(ARG7) > 0 ? ARG7 : "measured"

# Okabe and Ito's colours, which differ for colour-blind readers too; and a symbol each, for paper.
set linetype 1 linecolor rgb "#0072b2" pointtype 7 dashtype 1
set linetype 2 linecolor rgb "#d55e00" pointtype 9 dashtype 1
set linetype 3 linecolor rgb "#009e73" pointtype 5 dashtype 1
set linetype 4 linecolor rgb "#cc79a7" pointtype 13 dashtype 1
set linetype 5 linecolor rgb "#e69f00" pointtype 11 dashtype 1
set linetype 6 linecolor rgb "#56b4e9" pointtype 6 dashtype 1
set linetype 7 linecolor rgb "#444444" pointtype 8 dashtype 1
set linetype 8 linecolor rgb "#882255" pointtype 4 dashtype 1

ratio(peak, weights) = 1.0 * peak / weights
stats ARG1 using 2:(ratio($3, $4)) name "ALL" nooutput
series = int(ALL_blocks)
low = ALL_min_x / 1.5
high = ALL_max_x * 1.5
step = high / low > 2 ** 16 ? 16 : high / low > 2 ** 8 ? 4 : 2

set border 3 linecolor rgb "#444444"
set tics nomirror out textcolor rgb "#222222"
set grid linecolor rgb "#e4e4e4" linewidth 1 linetype 1
set logscale x 2
set xrange [low:high]
set xtics 1, step
set yrange [1:(ALL_max_y > 1.3 ? ALL_max_y * 1.08 : 1.4)]
if (ALL_max_y > 8) { set logscale y 2; set yrange [1:ALL_max_y * 1.3] }
set format y "%g"
set xlabel "batch × sequence (tokens; images: batch)"
set ylabel basis . " allocated peak / weights"
set title "Overhead of inference: how much more than its weights a model occupies" offset 0, -0.3

# The legend gets its own strip below: names can be long.
set lmargin at screen 80.0 / ARG4
set rmargin at screen 1 - 20.0 / ARG4
set tmargin at screen 1 - 40.0 / ARG5
set bmargin at screen (22.0 * (series + 1) + 84) / ARG5
set key at screen 80.0 / ARG4, screen (22.0 * (series + 1) + 14) / ARG5 left top vertical maxrows 9 Left reverse \
    samplen 2 spacing 1.1

plot 1.2 with lines linecolor rgb "#444444" linewidth 1.5 dashtype 2 title "+20 % rule", \
     for [block = 0:series - 1] ARG1 index block using 2:(ratio($3, $4)) with linespoints \
         linetype block + 1 linewidth 1.5 pointsize 0.9 title columnheader(1)
