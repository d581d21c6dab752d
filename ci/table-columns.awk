# The first columns of the rows of a Markdown table; -v columns=N says how many. A bar within a cell is written \| and
# ends none. Character by character, since what a backslash in a pattern or a replacement comes to differs between awks.
/^[|]/ {
    bars = 0
    for (at = 1; at <= length($0); at++) {
        if (substr($0, at, 1) == "|" && (at == 1 || substr($0, at - 1, 1) != "\\") && ++bars > columns) break
    }
    print substr($0, 1, at)
}
