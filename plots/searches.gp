# Batches that policies found as parts of the largest that is predicted to run, one bar for each; policies that looked for the same
# stand below one title.
# Call: gnuplot -d -c searches.gp searches.tsv IMAGE svg|png WIDTH HEIGHT "" [BASIS [CAPTION [LINES]]]
# Block 0, bars: policy, place, part, what it found and cost in words. Block 1, a title each: place, case.
if (ARGC < 5) { print "usage: gnuplot -d -c searches.gp DATA IMAGE svg|png WIDTH HEIGHT \"\" [BASIS [CAPTION [LINES]]]"; exit status 2 }

set encoding utf8
set datafile separator "\t"
if (ARG3 eq "svg") {
    set terminal svg size ARG4 + 0, ARG5 + 0 noenhanced font "DejaVu Sans,13" dashlength 2 background rgb "white"
    mark = 0.8 # this terminal draws symbols and tics larger, and has no option for it
    tic = 0.5
} else {
    set terminal pngcairo size 2 * ARG4, 2 * ARG5 noenhanced font "DejaVu Sans,13" fontscale 1.5 background rgb "white" \
        linewidth 2 pointscale 2
    mark = 1.0
    tic = 1.0
}
set output ARG2
caption = ARGC > 7 ? ARG8 : ""
foot = ARGC > 8 ? 15.0 * ARG9 : 0.0

set lmargin at screen 100.0 / ARG4
set rmargin at screen 1 - 14.0 / ARG4
set tmargin at screen 1 - 44.0 / ARG5
set bmargin at screen (58.0 + foot) / ARG5
set border 1 linecolor rgb "#444444"
set tics nomirror scale tic textcolor rgb "#222222"
set xtics out
set ytics scale 0 font ",11"
set grid xtics linecolor rgb "#e4e4e4" linewidth 1 linetype 1
set key off
stats ARG1 index 0 using 3 name "PART" nooutput
stats ARG1 index 0 using 2 name "PLACE" nooutput
height = 0.38
longest = PART_max > 2 ? 2.0 : PART_max < 1 ? 1.0 : PART_max
clip(value) = value > 2 ? 2.0 : value
set yrange [-PLACE_max - 0.8:0.6]
set xrange [0:longest * 1.42]
set format x "%h"
set xtics ("0 %%" 0, "20 %%" 0.2, "40 %%" 0.4, "60 %%" 0.6, "80 %%" 0.8, "100 %%" 1, "150 %%" 1.5, "200 %%" 2)
set xlabel "batch found, as a part of the largest predicted" offset 0, 0.2
set title "Batches that policies found" offset 0, -0.3
set label 1 caption at screen 14.0 / ARG4, screen (foot - 6.0) / ARG5 left font ",10" textcolor rgb "#555555"
set style fill solid 1.0 noborder
set arrow 1 from 1, graph 0 to 1, graph 1 nohead front linecolor rgb "#222222" linewidth 1 dashtype 2

plot ARG1 index 0 using (0):(-$2):(0):(clip($3)):(-$2 - height):(-$2 + height):($3 > 1 ? 0xd55e00 : 0x009e73):ytic(1) \
         with boxxyerror linecolor rgb variable notitle, \
     ARG1 index 0 using (longest * 1.02):(-$2):4 with labels left font ",11" textcolor rgb "#222222" notitle, \
     ARG1 index 1 using (0):(-$1):2 with labels left font ",12" notitle
