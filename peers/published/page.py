"""What predict.py writes: figures.jsonl, docs/PUBLISHED.md with its plot, and the lines of README.md."""
import fnmatch
import json
import re
import subprocess
from pathlib import Path
from statistics import median

import fit_rate

HERE = Path(__file__).resolve().parent
PLOT = "peers/published/published"

# Quantities that are compared with each other: the name on the page, the quantities of rows, the goals.
GROUPS = {
    "allocated or active": {"quantities": ("allocated", "active"), "median": 0.005, "p90": 0.03},
    "reserved": {"quantities": ("reserved",), "median": 0.02},
    "device, training": {"quantities": ("device", "device-process", "device-growth"), "median": 0.025, "under": 0.10},
    "device, after a pass": {"quantities": ("device-after",)},
}
FAR = 0.05  # a row beyond it is listed with its cause
TOOLS = {"xmem": "xMem", "dnnmem": "DNNMem", "schedtune": "SchedTune", "llmem": "LLMem", "fake-tensor": "FakeTensor"}
MARKS = ("<!-- published figures, made by peers/published/predict.py -->", "<!-- end of the published figures -->")


def error_of(figure, key="predicted_bytes"):
    """Signed and relative to the measurement; None: not predicted."""
    if figure.get(key) is None:
        return None
    return figure[key] / figure["measured_bytes"] - 1


def percentile(values, fraction):
    """The smallest value that at least this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-fraction * len(ordered) // 1) - 1)]


def group_of(figure):
    for name, group in GROUPS.items():
        if figure["quantity"] in group["quantities"]:
            return name
    return "unknown"


def percent(value, signed=False):
    if value is None:
        return "-"
    text = f"{value * 100:+.2f}" if signed else f"{value * 100:.2f}"
    return f"{text} %"


def stats_of(errors):
    sizes = [abs(error) for error in errors]
    return {"count": len(errors), "median": median(sizes), "p90": percentile(sizes, 0.9), "worst": max(errors, key=abs),
            "under": sum(error < 0 for error in errors) / len(errors)}


def stats_cells(errors):
    s = stats_of(errors)
    return [str(s["count"]), percent(s["median"]), percent(s["p90"]), percent(s["worst"], True), f"{s['under'] * 100:.0f} %"]


def errors_by(figures, key_of, qualities):
    """By key_of(row, figure): the errors of the figures of these qualities that are predicted."""
    by = {}
    for row, measured, figure in figures:
        error = error_of(figure)
        if error is not None and figure["quality"] in qualities:
            by.setdefault(key_of(row, figure), []).append(error)
    return by


def by_group(figures, qualities="AB"):
    by = errors_by(figures, lambda row, figure: group_of(figure), qualities)
    return {name: by[name] for name in GROUPS if name in by}


def has_versions(row):
    return "torch" in row.get("versions", row["source"].get("versions", {}))


def table(head, rows):
    """Lines of a Markdown table; a column whose cells are figures stands to the right."""
    def is_figure(column):
        return all(re.match(r"[+-]?\d[\d.]*( %| MiB)?$|-$", row[column]) for row in rows)

    rule = ["---:" if rows and is_figure(column) else "---" for column in range(len(head))]
    return ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]


def rows_print(figures, pattern):
    for row, measured, figure in figures:
        if not fnmatch.fnmatch(figure["id"], f"*{pattern}*"):
            continue
        error = error_of(figure)
        if error is None:
            print(f"{'-':>9}  {figure['id']} {figure['quantity']}: {figure['why_not']}")
            continue
        missing = (figure["measured_bytes"] - figure["predicted_bytes"]) / 2**20
        print(f"{error * 100:+8.2f}%  {figure['measured_bytes'] / 2**20:10.1f} MiB lacks {missing:9.1f}  {figure['quality']} "
              f"{figure['id']} {figure['quantity']}")


def summary_print(figures):
    for qualities in ("AB", "C"):
        print(f"quality {qualities}:")
        by = errors_by(figures, lambda row, figure: (row["source"]["source"], figure["mode"], group_of(figure)), qualities)
        for key, errors in [*sorted(by.items()), *((("ALL", name), e) for name, e in by_group(figures, qualities).items())]:
            print(f"  {' '.join(key):50}" + "".join(f"{cell:>10}" for cell in stats_cells(errors)))


def causes_read():
    return json.loads((HERE / "causes.json").read_text())


def cause_of(causes, figure):
    for cause in causes:
        if fnmatch.fnmatch(figure["id"], cause["rows"]) and cause.get("quantity", figure["quantity"]) == figure["quantity"]:
            return cause["cause"]
    return "not known"


def goals_lines(figures):
    rows = []
    for name, errors in by_group(figures).items():
        s, group = stats_of(errors), GROUPS[name]
        goals = [f"{word} ≤ {group[word] * 100:g} %: {'met' if s[word] <= group[word] else 'missed'}"
                 for word in ("median", "p90", "under") if word in group]
        rows.append([name, *stats_cells(errors), "; ".join(goals) or "none"])
        stated = by_group([entry for entry in figures if has_versions(entry[0])]).get(name, [])
        if name.startswith("device") and 0 < len(stated) < len(errors):
            rows.append(["of these, with versions stated", *stats_cells(stated), ""])
    return table(["bytes", "figures", "median \\|error\\|", "p90", "worst", "under", "goal"], rows)


def ranges_lines(figures):
    rows = []
    for name in GROUPS:
        members = [(row, f) for row, m, f in figures
                   if group_of(f) == name and f["quality"] in "AB" and f.get("high_bytes")]
        stated = [member for member in members if has_versions(member[0])]
        for title, part in ((name, members), ("of these, with versions stated", stated)):
            if part and (part is members or len(stated) < len(members)):
                sides = [(f["measured_bytes"] > f["high_bytes"]) - (f["measured_bytes"] < f["low_bytes"]) for r, f in part]
                over = [f["high_bytes"] / f["measured_bytes"] - 1 for r, f in part]
                rows.append([title, str(len(part)), *(f"{sides.count(side) / len(part) * 100:.0f} %" for side in (0, 1, -1)),
                             percent(median(over), True), percent(percentile(over, 0.9), True)])
    return table(["bytes", "figures", "within the range", "above", "below", "upper end: median", "p90"], rows)


def sources_lines(figures, qualities):
    by = errors_by(figures, lambda row, figure: (row["source"]["source"], figure["mode"], group_of(figure)), qualities)
    rows = [[*key, *stats_cells(errors)] for key, errors in sorted(by.items())]
    return table(["source", "mode", "bytes", "figures", "median \\|error\\|", "p90", "worst", "under"], rows)


def inferred_lines(figures):
    """What is taken of sources that do not state it, and from what it follows."""
    sources = {row["source"]["source"]: row["source"] for row, measured, figure in figures}
    rows = []
    for name, source in sorted(sources.items()):
        inferred = dict(source.get("inferred", {}))
        why, part = inferred.pop("why", ""), inferred.pop("rows", "")
        if why:
            rows.append([f"`{part}`" if part else name, ", ".join(f"{key} {value}" for key, value in inferred.items()), why])
    return table(["source", "taken", "why"], rows)


def tools_lines(figures):
    """Each tool beside assay, over exactly the figures that the tool was published for and assay predicts."""
    rows = []
    for source in sorted({row["source"]["source"] for row, m, f in figures if row.get("others")}):
        for tool, name in TOOLS.items():
            both = [(row["others"][tool] / figure["measured_bytes"] - 1, error_of(figure)) for row, m, figure in figures
                    if row["source"]["source"] == source and figure["quality"] in "AB" and error_of(figure) is not None
                    and tool in row.get("others", {})]
            if both:
                theirs, ours = stats_of([t for t, o in both]), stats_of([o for t, o in both])
                rows.append([source, name, str(len(both)), percent(theirs["median"]), f"{theirs['under'] * 100:.0f} %",
                             percent(ours["median"]), f"{ours['under'] * 100:.0f} %"])
    return table(["source", "tool", "figures", "its median \\|error\\|", "its under", "assay's median \\|error\\|",
                  "assay's under"], rows)


def far_lines(figures):
    causes = causes_read()
    rows = []
    for row, measured, figure in figures:
        error = error_of(figure)
        if error is not None and abs(error) > FAR:
            rows.append((figure["quality"], -abs(error), [f"`{figure['id']}`", figure["quantity"], figure["quality"],
                                                          percent(error, True), cause_of(causes, figure)]))
    rows.sort(key=lambda entry: (entry[0] == "C", entry[1], entry[2]))
    return len(rows), table(["row", "bytes", "quality", "error", "cause"], [cells for q, e, cells in rows])


def not_predicted_lines(figures):
    counts = {}
    for row, measured, figure in figures:
        if figure["predicted_bytes"] is None:
            key = (row["source"]["source"], figure["why_not"])
            counts[key] = counts.get(key, 0) + 1
    return sum(counts.values()), table(["source", "figures", "why not"],
                                       [[source, str(count), why] for (source, why), count in sorted(counts.items())])


def about_lines(figures):
    """Each source once: what ran, what was measured, where it was published."""
    lines, seen = [], set()
    for row, measured, figure in figures:
        source = row["source"]
        if source["source"] in seen:
            continue
        seen.add(source["source"])
        where = source.get("repository")
        if where and source.get("commit"):
            where = f"[{where.split('github.com/')[-1]}]({where}/tree/{source['commit']})"
        lines.append(f"* **{source['source']}** ({where or 'single logs'}). {source['program'].rstrip('.')}. "
                     f"Measured: {source['measures'].rstrip('.')}.")
    return lines


def fit_lines():
    """What fit_rate.py found, if it was asked."""
    path = HERE / "fit.jsonl"
    return [fit_rate.section([json.loads(line) for line in path.read_text().splitlines()]), ""] if path.exists() else []


def page_text(figures):
    predicted = [f for r, m, f in figures if f["predicted_bytes"] is not None]
    far, far_table = far_lines(figures)
    missing, missing_table = not_predicted_lines(figures)
    rows = {f["id"] for r, m, f in figures}
    return "\n".join([
        "# What others measured",
        "",
        f"{len(rows)} published measurements with {len(figures)} figures stand in [peers/published](../peers/published/README.md), each "
        "with its source. The program behind each of them is read from its source and put into the words of a case; assay predicts the "
        f"case without ever having seen the GPU. {len(predicted)} figures are predicted and compared here; the others are counted below "
        "with the reason. The page is written by `peers/published/predict.py --write`, and a test predicts all of it again "
        "(`tests/published`): a change that makes a figure worse fails, and so does one that leaves this page behind.",
        "",
        "Quality is that of the source: A says everything that decides the bytes, B leaves one thing open, C more. Goals are for A and B.",
        "Errors are signed, predicted − measured relative to the measured; *under* is the share of figures that were predicted too small.",
        "",
        *goals_lines(figures),
        "",
        "What libraries and context take is predicted as a range. Of the measured figures of quality A and B lie",
        "within it, above it (more was taken than the upper end says) and below it; beside it, by how much the upper end is",
        "more than what was measured, which is the price of a figure that is not too low:",
        "",
        *ranges_lines(figures),
        "",
        "![predicted against measured, and the signed errors](../peers/published/published.svg)",
        "",
        *fit_lines(),
        "## By source and mode",
        "",
        "Of quality A and B:",
        "",
        *sources_lines(figures, "AB"),
        "",
        "Of quality C, where the case is partly guessed:",
        "",
        *sources_lines(figures, "C"),
        "",
        "## Where versions are not stated",
        "",
        "Some sources do not say which PyTorch, CUDA and driver they measured with. What follows from other things that they published, "
        "besides the figures here, is taken: the release, and whether kernels were loaded eagerly (`module_loading`), which is up to a "
        "gigabyte and a half. How many bytes that is, is known from the libraries' files (docs/NUMBERS.md, 16), and from no figure of these sources.",
        "",
        *inferred_lines(figures),
        "",
        "## The tools of others on the same figures",
        "",
        "Their predictions were published with the measurements. xMem runs the model on a processor for its own.",
        "",
        *tools_lines(figures),
        "",
        f"## The {far} figures beyond 5 %",
        "",
        "The cause is what is known of the row today. \"not known\" means that.",
        "",
        *far_table,
        "",
        f"## The {missing} figures that are not predicted",
        "",
        *missing_table,
        "",
        "## The sources",
        "",
        *about_lines(figures),
        ""])


def readme_lines(figures):
    count = len({f["id"] for r, m, f in figures})
    said = {name: f"{name} {percent(stats_of(errors)['median'])} ({len(errors)} figures)"
            for name, errors in by_group(figures).items()}
    stated = by_group([entry for entry in figures if has_versions(entry[0])])["device, training"]
    allocated, reserved, training, after = (said[name] for name in GROUPS)
    return "\n".join([
        f"**Against {count} measurements that others published** ([docs/PUBLISHED.md](docs/PUBLISHED.md)), on GPUs that assay never saw:",
        f"{sum(map(len, by_group(figures).values()))} figures of these are predicted for a case of which the source leaves at most one thing open. Their",
        "median error is, by the bytes that were measured:",
        f"{allocated}; {reserved}; {after};",
        f"{training}, and of the {len(stated)} of these whose source states its versions {percent(stats_of(stated)['median'])}."])


def readme_text(figures, old):
    head, rest = old.split(MARKS[0])
    tail = rest.split(MARKS[1])[1]
    return head + MARKS[0] + "\n" + readme_lines(figures) + "\n" + MARKS[1] + tail


def plot_data(figures):
    """Blocks of a gnuplot file, one for each group of quantities."""
    blocks = []
    for name in GROUPS:
        lines = [f"# {name}"]
        for row, measured, figure in figures:
            if group_of(figure) == name and figure["predicted_bytes"] is not None:
                lines.append(f"{figure['measured_bytes']}\t{figure['predicted_bytes']}\t{'C' if figure['quality'] == 'C' else 'AB'}\t{figure['id']}")
        blocks.append("\n".join(lines) + "\n")
    return "\n\n".join(blocks)


def figures_text(figures):
    return "".join(json.dumps({key: value for key, value in figure.items() if value is not None}) + "\n" for r, m, figure in figures)


def files_write(root, figures, write):
    """Writes what differs from the files that are there; returns their names. Without write it only says them."""
    readme = root / "README.md"
    texts = {
        root / "peers/published/figures.jsonl": figures_text(figures),
        root / "docs/PUBLISHED.md": page_text(figures),
        root / f"{PLOT}.tsv": plot_data(figures),
    }
    if MARKS[0] in readme.read_text():
        texts[readme] = readme_text(figures, readme.read_text())
    stale = [str(path.relative_to(root)) for path, text in texts.items() if not path.exists() or path.read_text() != text]
    if write:
        for path, text in texts.items():
            path.write_text(text)
        subprocess.run(["gnuplot", "-d", "-c", f"{PLOT}.gp", f"{PLOT}.tsv", f"{PLOT}.svg", "svg"], cwd=root, check=True)
    return stale
