# Predicted against measured bytes of what others measured, and below it the signed errors of the same points.
# Call: gnuplot -d -c published.gp published.tsv IMAGE svg|png
# A block of the data for each group of quantities: measured bytes, predicted bytes, quality (AB or C), row.
if (ARGC < 3) { print "usage: gnuplot -d -c published.gp DATA IMAGE svg|png"; exit status 2 }

set encoding utf8
set datafile separator "\t"
width = 760
height = 820
if (ARG3 eq "svg") {
    set terminal svg size width, height noenhanced font "DejaVu Sans,13" dashlength 2 background rgb "white"
    mark = 0.45
    tic = 0.5
} else {
    set terminal pngcairo size 2 * width, 2 * height noenhanced font "DejaVu Sans,13" fontscale 1.5 background rgb "white" \
        linewidth 2 pointscale 2
    mark = 0.6
    tic = 1.0
}
set output ARG2

array name[4] = ["allocated or active", "reserved", "device, training", "device, after a pass"]
array colour[4] = [0x0072b2, 0xe69f00, 0x009e73, 0xcc79a7]
array symbol[4] = [7, 5, 9, 13]
low = 2.0 ** 28
high = 2.0 ** 37
size(bytes) = bytes >= 2.0 ** 30 ? sprintf("%g GiB", bytes / 2.0 ** 30) : sprintf("%g MiB", bytes / 2.0 ** 20)
limit = 40.0
error(measured, predicted) = 100.0 * (predicted - measured) / measured
clip(e) = e > limit ? limit : e < -limit ? -limit : e
solid(colour, quality) = quality eq "C" ? colour + 0xa0000000 : colour

set lmargin at screen 0.12
set rmargin at screen 0.97
set border 3 linecolor rgb "#444444"
set tics nomirror out scale tic textcolor rgb "#222222" font ",11"
set grid linecolor rgb "#e4e4e4" linewidth 1 linetype 1, linecolor rgb "#e4e4e4" linewidth 1
set logscale x 2
set xrange [low:high]
set samples 200

set multiplot
set tmargin at screen 0.95
set bmargin at screen 0.46
set title "Bytes that others measured, and what assay predicts; pale: quality C" offset 0, -0.3
set logscale y 2
set yrange [low:high]
set xtics ()
set ytics ()
tick = low
while (tick <= high) {
    set xtics add ("" tick)
    set ytics add (size(tick) tick)
    tick = tick * 4
}
set ylabel "predicted" offset 1, 0
set key left top Left reverse samplen 1.2 spacing 1.1 font ",11"
plot '+' using 1:($1 * 0.95):($1 * 1.05) with filledcurves linecolor rgb "#dde6ee" title "within 5 %", \
     x with lines linecolor rgb "#444444" dashtype 2 title "predicted = measured", \
     for [at = 1:4] NaN with points pointtype symbol[at] linecolor rgb colour[at] pointsize 2 * mark title name[at], \
     for [at = 1:4] ARG1 index at - 1 using 1:2:(solid(colour[at], strcol(3))) with points pointtype symbol[at] \
         linecolor rgb variable pointsize mark notitle

set tmargin at screen 0.43
set bmargin at screen 0.08
unset title
unset key
unset logscale y
set yrange [-limit - 2:limit + 2]
set ytics -limit, 10, limit
set format y "%+.0f %%"
tick = low
while (tick <= high) {
    set xtics add (size(tick) tick)
    tick = tick * 4
}
set xlabel "measured" offset 0, 0.3
set ylabel sprintf("signed error, cut at %g %%", limit) offset 1, 0
plot '+' using 1:(-5):(5) with filledcurves linecolor rgb "#dde6ee" notitle, \
     0 with lines linecolor rgb "#444444" dashtype 2 notitle, \
     for [at = 1:4] ARG1 index at - 1 using 1:(clip(error($1, $2))):(solid(colour[at], strcol(3))) with points \
         pointtype symbol[at] linecolor rgb variable pointsize mark notitle
unset multiplot
