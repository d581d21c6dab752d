# What each peak is made of: stacked bars, predicted above measured, as shares of the measured reserved peak; one bar where
# both are the same. Shares, because cases differ by orders of magnitude; the size of each bar stands at its end.
# Call: gnuplot -d -c anatomy.gp anatomy.tsv IMAGE svg|png WIDTH HEIGHT "" [BASIS [CAPTION [LINES]]]
# Block 0, bars: kind, place, whole_bytes, ten categories, slack (allocated - requested), cached (reserved - allocated).
# Block 1, a case each: place, case.
if (ARGC < 5) { print "usage: gnuplot -d -c anatomy.gp DATA IMAGE svg|png WIDTH HEIGHT \"\" [BASIS [CAPTION [LINES]]]"; exit status 2 }

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
basis = ARGC > 6 && strlen(ARG7) > 0 ? ARG7 : "measured" # or replayed, where a device held no memory

first = 4
last = 15
array colour[15]
colour[4] = 0x0072b2;  colour[5] = 0x88ccee;  colour[6] = 0xe69f00;  colour[7] = 0xd55e00
colour[8] = 0x882255;  colour[9] = 0x009e73;  colour[10] = 0xf0e442; colour[11] = 0xcc79a7
colour[12] = 0x777777; colour[13] = 0x44aa99; colour[14] = 0xaaaaaa; colour[15] = 0xe2e2e2
names = "kind place whole weights buffers gradients optimizer master_weights activations temporaries kv_cache workspace inputs allocator_slack cached"
spaced(text) = (at = strstrt(text, "_"), at == 0 ? text : text[1:at - 1] . " " . spaced(text[at + 1:*]))

# Sizes in words, as in the tables.
power(bytes) = bytes < 1024 ? 0 : bytes < 1024.0 ** 2 ? 1 : bytes < 1024.0 ** 3 ? 2 : bytes < 1024.0 ** 4 ? 3 : 4
size(bytes) = sprintf("%.2f %s", bytes / 1024.0 ** power(bytes), word("B KiB MiB GiB TiB", power(bytes) + 1))

total(upto) = (upto < first ? 0 : sum [at = first:upto] column(at))
share(bytes) = 100.0 * bytes / column(3)

# How long the bars are, and which categories occur at all.
stats ARG1 index 0 using (share(total(last))) name "SHARE" nooutput
stats ARG1 index 0 using 2 name "PLACE" nooutput
array used[15]
do for [column = first:last] {
    stats ARG1 index 0 using column name "CATEGORY" nooutput
    used[column] = CATEGORY_sum > 0
}
height = 0.42

set lmargin at screen 100.0 / ARG4
set rmargin at screen 1 - 14.0 / ARG4
set tmargin at screen 1 - 44.0 / ARG5
set bmargin at screen (148.0 + foot) / ARG5
set border 1 linecolor rgb "#444444"
set tics nomirror scale tic textcolor rgb "#222222"
set xtics out
set ytics scale 0 font ",11"
set grid xtics linecolor rgb "#e4e4e4" linewidth 1 linetype 1
set yrange [-PLACE_max - 0.8:0.6]
longest = SHARE_max > 200 ? 200 : SHARE_max
set xrange [0:longest * 1.13]
set xtics 0, (longest > 140 ? 50 : 20), longest
set format x "%.0f %%"
set xlabel sprintf("share of the %s reserved peak", basis) offset 0, 0.2
set title "What each peak is made of" offset 0, -0.3
set label 1 caption at screen 14.0 / ARG4, screen (foot - 6.0) / ARG5 left font ",10" textcolor rgb "#555555"
set key at screen 0.5, screen (84.0 + foot) / ARG5 center top vertical maxrows 4 Left reverse samplen 1.2 width 1 font ",11"
set style fill solid 1.0 border rgb "white"
clip(value) = value > 200 ? 200 : value

plot for [column = first:last] ARG1 index 0 \
         using (0):(-$2):(clip(share(total(column - 1)))):(clip(share(total(column)))):\
               (-$2 - height):(-$2 + height):ytic(1) \
         with boxxyerror linecolor rgb colour[column] linewidth 0.5 \
         title (used[column] ? spaced(word(names, column)) : ""), \
     ARG1 index 0 using (clip(share(total(last))) + longest * 0.01):(-$2):\
         (size(total(last)) . (share(total(last)) > 200 ? " (cut)" : "")) \
         with labels left font ",11" textcolor rgb "#222222" notitle, \
     ARG1 index 1 using (0):(-$1):2 with labels left font ",12" notitle
