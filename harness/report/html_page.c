/* HTML page: what all pages share: head, style, cells, plots put into them. Not what stands on a page. */
#include "harness/report/html_page.h"

#include <string.h>

#include "harness/report/escape.h"
#include "harness/report/svg_compact.h"

static const char head_start[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<title>";
static const char head_style[] =
    "</title>\n<style>\n"
    ":root{color-scheme:light dark;--ink:#1b1b1b;--soft:#555;--paper:#fff;--line:#ddd;--rule:#888;--good:#00614a;"
    "--bad:#a63c00;--too:#f6d3c0;--fit:#d5e8df;--waste:#eee}\n"
    "@media(prefers-color-scheme:dark){:root{--ink:#e4e4e4;--soft:#aaa;--paper:#121212;--line:#333;--rule:#777;"
    "--good:#5ecfa9;--bad:#ff9b66;--too:#5c2c12;--fit:#17402f;--waste:#2c2c2c}\n"
    "figure svg{filter:brightness(.9)}}\n" /* not inverted: light colours would vanish */
    "*{box-sizing:border-box}\n"
    "body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:96rem;margin:1.5rem "
    "auto;padding:0 1rem;overflow-wrap:anywhere}\n"
    "h1{font-size:1.5rem}h2{font-size:1.2rem;margin-top:2rem}a{color:inherit}\n"
    "nav ul{padding-left:1.2rem;margin:.5rem 0}\n"
    ".wide{overflow-x:auto;overflow-wrap:normal;margin:.7rem 0}.wide td,.wide th{white-space:nowrap}\n"
    "table{border-collapse:collapse}\n"
    "th,td{padding:.2rem .45rem;text-align:left;vertical-align:top;border-top:1px solid var(--line)}\n"
    "th{border-top:0;border-bottom:2px solid var(--rule)}\n"
    ".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    ".ok,.pass{color:var(--good)}.fail,.error,.oom,.timeout{color:var(--bad);font-weight:600}.skip{color:var(--soft)}\n"
    ".invalid{color:var(--bad);font-weight:400}\n"
    ".note{color:var(--soft);font-size:.9em}\n"
    ".too{background:var(--too)}.close{background:var(--fit)}.wasteful{background:var(--waste)}\n"
    /* the columns of the heading are those of the rows: no width depends on what stands in a cell */
    ".row{display:grid;grid:auto/minmax(0,1fr) 4.2rem;grid-auto-flow:column;grid-auto-columns:6.8rem;gap:0 .6rem;"
    "align-items:baseline;padding:.25rem 0;border-top:1px solid var(--line)}\n"
    ".row.two{grid-template-columns:minmax(0,1fr)}.head>.n{white-space:normal;overflow-wrap:break-word}\n"
    ".why{display:block;font-weight:400;font-size:.9em;padding-left:1rem}\n"
    ".head{font-weight:600;border-top:0;border-bottom:2px solid var(--rule)}\n"
    ".wide td.group{font-weight:600;padding-top:.6rem;white-space:normal}\n"
    "summary{cursor:pointer}summary>:first-child::before{content:'\\25B8\\00A0'}\n"
    "details[open]>summary>:first-child::before{content:'\\25BE\\00A0'}\n"
    "details>div{padding:.2rem 0 .8rem 1rem}\n"
    "figure{margin:1.5rem 0;overflow-x:auto}figure svg{max-width:100%;height:auto}\n"
    "figcaption{font-weight:600;margin-bottom:.3rem}\n"
    "@media screen and (min-width:44rem){.wide td:not(.n){white-space:normal}}\n"
    "@media print{body{max-width:none;margin:0;padding:0;font-size:11px}.wide,figure{overflow:visible}"
    ".wide td,.wide th{padding:.1rem .25rem}.wide td:not(.n),.wide th{white-space:normal;overflow-wrap:break-word}"
    ".row{grid-auto-columns:5.2rem;gap:0 .3rem}figure,tr{break-inside:avoid}"
    "h1,h2,h3,figcaption{break-after:avoid}}\n"
    /* there is no room for a heading on a phone: each figure stands below its name */
    "@media screen and (max-width:44rem){body{padding:0 .6rem}.head{display:none}.row,.row.two{grid:auto/repeat(3,1fr)}"
    ".row{align-items:end}.row>:first-child{grid-column:1/-1}"
    "[data-of]::before{content:attr(data-of);display:block;color:var(--soft);font-size:.8em;font-weight:400;"
    "white-space:normal}figure svg{min-width:38rem}}\n" SVG_STYLE "\n"
    "</style>\n</head>\n<body>\n<h1>";

void html_page_begin(struct text *text, const char *title)
{
    text_append(text, head_start);
    xml_append(text, title);
    text_append(text, head_style);
    xml_append(text, title);
    text_append(text, "</h1>\n");
}

void html_page_end(struct text *text)
{
    text_append(text, "</body>\n</html>\n");
}

void html_table_begin(struct text *text)
{
    text_append(text, "<div class=\"wide\"><table>\n");
}

void html_table_end(struct text *text)
{
    text_append(text, "</table></div>\n");
}

void html_cell_append(struct text *text, const char *string)
{
    text_append(text, "<td>");
    xml_append(text, string);
    text_append(text, "</td>");
}

void html_number_append(struct text *text, const char *string)
{
    text_append(text, "<td class=\"n\">");
    xml_append(text, string);
    text_append(text, "</td>");
}

bool html_image_append(struct text *text, const struct text *svg)
{
    const char *element = svg != NULL ? strstr(text_string(svg), "<svg") : NULL;
    bool usable = element != NULL && strcasestr(element, "<script") == NULL;
    if (usable) {
        svg_append(text, element);
    }
    return usable;
}
