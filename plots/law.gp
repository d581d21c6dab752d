# Laws of the overhead of inference: residuals of the structural law by kind, and the errors of all forms in their order.
# Call: gnuplot -d -c law.gp law.tsv IMAGE svg|png WIDTH HEIGHT "" ["" [CAPTION [LINES]]]
# Block 0: place, error in %, model. Block 1: place, kind. Blocks 2 to 7, one for each form (1.2 x weights, constant, affine, affine by
# kind, structural, replayed; the last with the context, the others without): share of cases in %, |error| in %.
if (ARGC < 6) { print "usage: gnuplot -d -c law.gp DATA IMAGE svg|png WIDTH HEIGHT \"\" [\"\" [CAPTION [LINES]]]"; exit status 2 }

set encoding utf8
set datafile separator "\t"
if (ARG3 eq "svg") {
    set terminal svg size ARG4 + 0, ARG5 + 0 noenhanced font "DejaVu Sans,13" dashlength 2 background rgb "white"
    mark = 0.5 # this terminal draws symbols and tics larger, and has no option for it
    tic = 0.5
} else {
    set terminal pngcairo size 2 * ARG4, 2 * ARG5 noenhanced font "DejaVu Sans,13" fontscale 1.5 background rgb "white" \
        linewidth 2 pointscale 2
    mark = 0.6
    tic = 1.0
}
set output ARG2
caption = ARGC > 7 ? ARG8 : ""
foot = ARGC > 8 ? 15.0 * ARG9 : 0.0

stats ARG1 index 1 using 1 name "KINDS" nooutput
stats ARG1 index 0 using 2 name "ERROR" nooutput
stats ARG1 using 1 name "ALL" nooutput # of a law without footprints the last block has no rows, and is none
kinds = int(KINDS_max)
reach = abs(ERROR_max) > abs(ERROR_min) ? abs(ERROR_max) : abs(ERROR_min)
reach = reach < 6 ? 6 : reach * 1.08

# Okabe and Ito's colours, which differ for colour-blind readers too.
set multiplot
set label 1 caption at screen 14.0 / ARG4, screen (foot - 6.0) / ARG5 left font ",10" textcolor rgb "#555555"
set border 3 linecolor rgb "#444444"
set tics nomirror out scale tic textcolor rgb "#222222"
set grid ytics linecolor rgb "#e4e4e4" linewidth 1 linetype 1
set lmargin at screen 84.0 / ARG4
set rmargin at screen 1 - 58.0 / ARG4

set tmargin at screen 1 - 40.0 / ARG5
set bmargin at screen 0.56
set title "Residuals of the structural law, model by model left out" offset 0, -0.4
set ylabel "predicted − measured, %" offset 0.5, 0
set xrange [0.4:kinds + 0.6]
set yrange [-reach:reach]
set xtics scale 0 rotate by 35 right font ",11" ()
set object 1 rectangle from graph 0, first -5 to graph 1, first 5 behind fillcolor rgb "#f2f2f2" fillstyle solid noborder
set object 2 rectangle from graph 0, first -2 to graph 1, first 2 behind fillcolor rgb "#e2ecf5" fillstyle solid noborder
set label 2 "±2 %" at graph 1, first 2 left offset 0.5, 0 font ",10" textcolor rgb "#555555"
set label 3 "±5 %" at graph 1, first 5 left offset 0.5, 0.3 font ",10" textcolor rgb "#555555"
set arrow 1 from graph 0, first 0 to graph 1, first 0 nohead linecolor rgb "#444444" linewidth 1
plot ARG1 index 1 using 1:(NaN):xtic(2) notitle, \
     ARG1 index 0 using 1:2 with points pointtype 7 pointsize mark * 0.6 linecolor rgb "#0072b2" notitle

unset object 1
unset object 2
unset label 2
unset label 3
unset arrow 1
unset label 1
set tmargin at screen 0.42
set bmargin at screen (108.0 + foot) / ARG5
set title "Errors of all forms, in their order" offset 0, -0.4
set ylabel "|error|, % (logarithmic)" offset 0.5, 0
set xlabel "share of cases that are off by at most so much, %" offset 0, 0.3
set xrange [0:100]
set xtics norotate center scale tic font ",12" 0, 10
set logscale y
set yrange [0.05:*]
set ytics ("0.1" 0.1, "0.5" 0.5, "1" 1, "2" 2, "5" 5, "10" 10, "20" 20, "50" 50, "100" 100, "500" 500)
set key at screen 0.5, screen (34.0 + foot) / ARG5 center center horizontal maxrows 2 Left reverse samplen 2.5 width 1
set grid xtics ytics linecolor rgb "#e4e4e4" linewidth 1 linetype 1
plot ARG1 index 2 using 1:2 with lines linewidth 2 linecolor rgb "#d55e00" title "1.2 × weights", \
     ARG1 index 3 using 1:2 with lines linewidth 2 dashtype 2 linecolor rgb "#e69f00" title "c × weights", \
     ARG1 index 4 using 1:2 with lines linewidth 2 dashtype 4 linecolor rgb "#009e73" title "affine", \
     ARG1 index 5 using 1:2 with lines linewidth 2 dashtype 3 linecolor rgb "#4d4d4d" title "affine by kind", \
     ARG1 index 6 using 1:2 with lines linewidth 2.5 linecolor rgb "#0072b2" title "structural", \
     for [block = 7 : ALL_blocks - 1] ARG1 index block using 1:2 with lines linewidth 2.5 linecolor rgb "#cc79a7" \
         title "replayed, with context"
unset multiplot
