# The rules of check-includes.sh. One pass over every file; comments and strings are taken out before calls are
# looked for, so that a word in a message is no breach.

BEGIN {
    # A folder may include folders of a lower floor and itself; folders of one floor do not know each other.
    floor["base"] = 0;   floor["kernels"] = 0
    floor["case"] = 1
    floor["tape"] = 2;   floor["record"] = 2;  floor["hardware"] = 2
    floor["hub"] = 2;    floor["checkpoint"] = 2
    floor["models"] = 3; floor["device"] = 3;  floor["report"] = 3
    floor["suite"] = 4;  floor["memory"] = 4; floor["history"] = 4
    floor["replay"] = 5; floor["gate"] = 5
    floor["estimate"] = 6; floor["placement"] = 6
    floor["load"] = 7;   floor["question"] = 8; floor["law"] = 8
    floor["run"] = 9
    floor["cli"] = 10

    # The rooms of models/, from the ground up: a room includes itself and those below it.
    room["config"] = 0; room["skeleton"] = 1; room["forward"] = 2
    room["family"] = 3; room["workload"] = 4; room["find"] = 5

    # Header of an outside library -> the only place that may include it.
    door["^yaml\\.h$"] = "^harness/suite/"
    door["^jansson"] = "^(harness/base/json\\.c$)"
    door["^hwloc"] = "^harness/hardware/"
    door["^(cuda|cublas|cuComplex|curand|nvml|cooperative_groups)"] = \
        "(\\.cuh?$|^harness/device/cuda/|^harness/kernels/launch_)"
    door["^(cblas|openblas)"] = "^harness/device/"
    door["^cmocka"] = "^tests/"
    door["^sqlite3"] = "^harness/history/"
    door["^curl/"] = "^harness/hub/"

    # Models are arithmetic: files and the network are for the room that finds them.
    finding = "^harness/(hub|checkpoint)/"
    files = "fopen open opendir stat json_parse_file"

    # Calls that no file may make: they hide a shell, a size or an error.
    banned = "system popen strcpy strcat sprintf vsprintf gets strtok alloca atoi atol atof setlocale"
    # Calls and streams that belong to harness/cli alone.
    printing = "printf vprintf puts putchar perror exit abort"
    streams = "stdout stderr"
    breaches = 0
}

function breach(text)
{
    printf "%s:%d: %s\n", FILENAME, FNR, text
    breaches++
}

function folder_of(path,    part)
{
    split(path, part, "/")
    return part[1] == "harness" ? part[2] : part[1]
}

# The room of a file of models/; "" outside of it.
function room_of(path,    part)
{
    split(path, part, "/")
    return part[1] == "models" ? part[2] : ""
}

function check_room(    to)
{
    to = room_of(target)
    if (to in room && room[to] > room[my_room]) {
        breach("models/" my_room " includes models/" to ", which is not below it; move what is needed down, or pass " \
            "it in")
    } else if (target ~ finding && my_room != "find") {
        breach("models/" my_room " includes \"" target "\"; files and the network are for models/find alone")
    }
}

FNR == 1 {
    in_comment = 0
    my_room = room_of(FILENAME)
    in_tests = FILENAME ~ /^tests\//
    here = folder_of(FILENAME)
    may_print = in_tests || here == "cli"
    if (my_room != "" && !(my_room in room)) {
        breach("models/" my_room " is not in a room of models/; move it into one, or give the room a place in " \
            "ci/check-includes.awk")
    }
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    target = $0
    sub(/^[^"]*"/, "", target)
    sub(/".*/, "", target)
    there = folder_of(target)
    if (target !~ /^(harness|models)\// && !(in_tests && target ~ /^tests\//)) {
        breach("\"" target "\" is not a path from the repository's root; write harness/... or models/...")
    } else if (!in_tests) {
        if (!(here in floor) || !(there in floor)) {
            breach("the folder " (here in floor ? there : here) " has no floor; give it one in ci/check-includes.awk")
        } else if (here != there && floor[there] >= floor[here]) {
            breach(here " includes " there ", which is not below it; move what is needed down, or pass it in")
        } else if (here == "models") {
            check_room()
        }
    }
    next
}

/^[ \t]*#[ \t]*include[ \t]*</ {
    target = $0
    sub(/^[^<]*</, "", target)
    sub(/>.*/, "", target)
    for (pattern in door) {
        if (target ~ pattern && FILENAME !~ door[pattern] && !in_tests) {
            breach("<" target "> is included outside its one door; call the functions of that door")
        }
    }
    next
}

# The line without comments, strings and character constants.
function code_of(line,    out, c, two, quote)
{
    out = ""
    while (line != "") {
        c = substr(line, 1, 1)
        two = substr(line, 1, 2)
        if (in_comment) {
            if (two == "*/") {
                in_comment = 0
                line = substr(line, 3)
            } else {
                line = substr(line, 2)
            }
        } else if (two == "/*") {
            in_comment = 1
            line = substr(line, 3)
        } else if (two == "//") {
            return out
        } else if (c == "\"" || c == "'") {
            quote = c
            line = substr(line, 2)
            while (line != "" && substr(line, 1, 1) != quote) {
                line = substr(line, substr(line, 1, 1) == "\\" ? 3 : 2)
            }
            line = substr(line, 2)
            out = out " "
        } else {
            out = out c
            line = substr(line, 2)
        }
    }
    return out
}

function mentions(code, word, after)
{
    return (" " code) ~ ("[^A-Za-z0-9_.>]" word after)
}

function look_for(code, words, after, remedy,    list, count, i)
{
    count = split(words, list, " ")
    for (i = 1; i <= count; i++) {
        if (mentions(code, list[i], after)) {
            breach(list[i] " " remedy)
        }
    }
}

{
    code = code_of($0)
    look_for(code, banned, "[ \t]*\\(", "is not used here; take the bounded or direct form")
    if (my_room != "" && my_room != "find") {
        look_for(code, files, "[ \t]*\\(", "reads files, which is for models/find alone; take what it read")
    }
    if (!may_print) {
        look_for(code, printing, "[ \t]*\\(", "is for harness/cli alone; return a status or fill a struct text")
        look_for(code, streams, "[^A-Za-z0-9_]", "is for harness/cli alone; take a FILE or a struct text")
    }
}

END {
    exit breaches > 0
}
