# League: signed errors of every case, a line for each estimator, the best above, in the colour and with the symbol that the estimator has in every figure.
# Call: gnuplot -d -c league.gp league.tsv IMAGE svg|png WIDTH HEIGHT "" ["" [CAPTION [LINES]]]
# Block 0, points: place, estimator, error, colour, symbol, case. Block 1, an estimator each: place, estimator, quartile_1, median,
# quartile_3, median_magnitude, cases, under, rank (0: none).
if (ARGC < 5) { print "usage: gnuplot -d -c league.gp DATA IMAGE svg|png WIDTH HEIGHT \"\" [\"\" [CAPTION [LINES]]]"; exit status 2 }

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

stats ARG1 index 1 using 1 name "LINES" nooutput
lines = int(LINES_max)

# Errors beyond the edge are drawn at it: an error cannot be less than -100 %, but as large as it likes.
edge = 150.0
clip(error) = 100.0 * error > edge ? edge : 100.0 * error

# Points of one line lie beside each other, so that equal errors show as many: by a fixed rule, because the same records
# give the same picture.
spread(row) = 0.28 * (((int(row) * 7) % 11) / 5.0 - 1.0)

set lmargin at screen 230.0 / ARG4
set rmargin at screen 1 - 270.0 / ARG4
set tmargin at screen 1 - 64.0 / ARG5
set bmargin at screen (110.0 + foot) / ARG5
set border 1 linecolor rgb "#444444"
set tics nomirror out scale tic textcolor rgb "#222222"
set grid xtics linecolor rgb "#e4e4e4" linewidth 1 linetype 1
set xrange [-100:edge]
set yrange [lines + 0.7:0.3]
set xtics -100, 50, edge - 1
set xtics add (sprintf("≥ +%g %%%%", edge) edge)
set format x "%+.0f %%"
set ytics scale 0
set xlabel "(predicted - measured) / measured"
set title "Errors of each estimator, in the order of the league" offset 0, 1
set key at screen 0.5, screen (46.0 + foot) / ARG5 center top horizontal maxrows 1 Left reverse samplen 1.2 width 0

set label 3 caption at screen 14.0 / ARG4, screen (foot - 6.0) / ARG5 left font ",10" textcolor rgb "#555555"
set label 1 "median |error|" at first edge, first 0.3 left offset character 2.5, 0.9 textcolor rgb "#555555"
set label 2 "under" at first edge, first 0.3 left offset character 18.5, 0.9 textcolor rgb "#555555"

set style fill solid 1.0 noborder
plot ARG1 index 1 using (clip($4)):1:(clip($3)):(clip($5)):($1 - 0.34):($1 + 0.34):ytic(2) with boxxyerror \
         linecolor rgb "#dbe3ea" title "middle half", \
     '+' using (0.0):(0.3 + (lines + 0.4) * ($0 / 99.0)) with lines linecolor rgb "#444444" linewidth 1 notitle, \
     ARG1 index 0 using (clip($3)):($1 + spread($0)):5:4 with points pointtype variable \
         linecolor rgb variable pointsize 0.55 * mark notitle, \
     ARG1 index 1 using (clip($4)):1:(clip($3)):(clip($5)):($1 - 0.34):($1 + 0.34) with boxxyerror fillstyle empty \
         linecolor rgb "#66727c" linewidth 1 notitle, \
     ARG1 index 1 using (clip($4)):($1 - 0.34):(0):(0.68) with vectors nohead linewidth 2.5 linecolor rgb "#222222" \
         title "median", \
     ARG1 index 1 using (edge):1:(sprintf($9 > 0 ? "%.2f %%" : "%.2f %%, no rank", 100.0 * $6)) with labels left \
         offset character 2.5, 0 textcolor rgb "#222222" notitle, \
     ARG1 index 1 using (edge):1:(sprintf("%.0f %%", 100.0 * $8 / $7)) with labels left offset character 18.5, 0 \
         textcolor rgb "#222222" notitle
