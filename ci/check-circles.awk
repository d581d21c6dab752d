# The rules of check-circles.sh. Reads "has FILE SYMBOL", "uses FILE SYMBOL" and "includes FILE FILE", and finds the
# files of one folder that reach each other in a circle. Of each circle it prints one way around.

BEGIN {
    # Files through which circles of their folder may go, and why. A row goes when the circle is taken apart.
    register = "the register of its folder, whose members use what it defines"
    hub_add("harness/estimate/estimate.c", register)
    hub_add("harness/kernels/kernel_host.c", register)
    hub_add("harness/run/case_kind.c", register)
    halves = "one thing in two files, of which either half needs the other"
    hub_add("harness/case/program.c", halves)
    hub_add("harness/checkpoint/gguf.c", halves)
    hub_add("harness/device/host.c", halves)
    hub_add("harness/hub/hub_repository.c", halves)
    hub_add("harness/load/load_plan.c", halves)
    hub_add("harness/load/load_run.c", halves)
    hub_add("harness/memory/allocator.c", halves)
    hub_add("harness/memory/trace.c", halves)
    hub_add("harness/replay/repetition.c", halves)
    hub_add("harness/run/run_line.c", halves)
    hub_add("harness/tape/autocast.c", halves)
    hub_add("harness/tape/graph.c", halves)
    hub_add("harness/tape/storage.c", halves)
    hub_add("models/find/model.c", halves)
    hub_add("models/forward/forward.c", halves)
    hub_add("models/forward/key_value_cache.c", halves)
    hub_add("models/forward/module_visit.c", halves)
    hub_add("models/skeleton/skeleton.c", halves)
    hub_add("models/workload/generate.c", halves)
    breaches = 0
}

$1 == "has" { home[$3] = $2 }
$1 == "uses" { using[++use_count] = $2; used[use_count] = $3 }
$1 == "includes" { edge_add($2, $3, "") }

function hub_add(file, why)
{
    hub[file] = why
    hub_at[++hub_count] = file
}

function folder_of(file)
{
    sub(/\/[^\/]*$/, "", file)
    return file
}

function edge_add(from, to, symbol)
{
    if (from == to || folder_of(from) != folder_of(to) || (from, to) in by) {
        return
    }
    by[from, to] = symbol
    ways[from] = ways[from] " " to
    if (!(from in number)) {
        number[from] = ++file_count
        seen[folder_of(from)] = 1
        file_at[file_count] = from
    }
}

function breach(text)
{
    print text
    breaches++
}

# The files from which `file` can be reached again, by Tarjan's algorithm: `circle` is the last of them that was found.
# skipping: as if there were no hubs.
function visit(file, skipping,    list, count, i, to)
{
    order[file] = low[file] = ++visits
    stack[++height] = file
    on_stack[file] = 1
    count = split(ways[file], list, " ")
    for (i = 1; i <= count; i++) {
        to = list[i]
        if (skipping && to in hub) {
            continue
        }
        if (!(to in order)) {
            visit(to, skipping)
            low[file] = low[to] < low[file] ? low[to] : low[file]
        } else if (on_stack[to]) {
            low[file] = order[to] < low[file] ? order[to] : low[file]
        }
    }
    if (low[file] == order[file]) {
        circle_take(file, skipping)
    }
}

function circle_take(file, skipping,    member, count)
{
    for (; member != file; count++) {
        member = stack[height--]
        on_stack[member] = 0
        ring[member] = file
        if (!skipping && (member != file || count > 0)) {
            is_in_circle[member] = 1
        }
    }
    if (count > 1 && skipping) {
        breach(way_around(file))
    } else if (count > 1) {
        sizes[folder_of(file)] += count
        circles[folder_of(file)]++
    }
}

# "a.c -> b.c (b_make) -> a.c (a_find)": the shortest way from a file back to itself.
function way_around(file,    queue, first, last, at, list, count, i, to, from, text)
{
    queue[last = 1] = file
    for (first = 1; first <= last; first++) {
        at = queue[first]
        count = split(ways[at], list, " ")
        for (i = 1; i <= count; i++) {
            to = list[i]
            if (ring[to] == ring[file] && !(to in hub) && !(to in from)) {
                from[to] = at
                queue[++last] = to
            }
        }
        if (file in from) {
            break
        }
    }
    for (at = file; text == "" || at != file; at = from[at]) {
        text = " -> " at (by[from[at], at] == "" ? "" : " (" by[from[at], at] ")") text
        if (from[at] == file) {
            break
        }
    }
    return file ":1: a circle of " (file ~ /\.h$/ ? "includes: " : "calls: ") file text "; " \
        "move what both sides need into a file that knows neither"
}

function circles_find(skipping,    i)
{
    split("", order)
    visits = 0
    for (i = 1; i <= file_count; i++) {
        if (!(file_at[i] in order) && !(skipping && file_at[i] in hub)) {
            visit(file_at[i], skipping)
        }
    }
}

END {
    for (i = 1; i <= use_count; i++) {
        if (used[i] in home) {
            edge_add(using[i], home[used[i]], used[i])
        }
    }
    circles_find(0)
    for (i = 1; i <= hub_count; i++) {
        file = hub_at[i]
        if (folder_of(file) in seen && !(file in is_in_circle)) {
            breach(file ":1: no circle goes through it any more; take it from the list in ci/check-circles.awk")
        }
    }
    if (counting) {
        for (i = 1; i <= file_count; i++) {
            folder = folder_of(file_at[i])
            if (!(folder in circles) || folder in told) {
                continue
            }
            told[folder] = 1
            one = circles[folder] == 1
            print folder ": " circles[folder] (one ? " circle, " : " circles, ") sizes[folder] " files in " \
                (one ? "it" : "them")
        }
        exit 0
    }
    circles_find(1)
    exit breaches > 0
}
