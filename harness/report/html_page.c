/* HTML page: what all pages share: head, style, cells, plots put into them. Not what stands on a page. */
#include "harness/report/html_page.h"

#include <string.h>

#include "harness/report/escape.h"

static const char head_start[] =
    "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
    "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
    "<title>";
static const char head_style[] =
    "</title>\n<style>\n"
    "body{font:15px/1.45 system-ui,sans-serif;color:#1b1b1b;background:#fff;max-width:72rem;margin:2rem auto;padding:0 "
    "1rem}\n"
    "table{border-collapse:collapse;margin:1rem 0;width:100%}\n"
    "th,td{padding:.25rem .6rem;text-align:left;vertical-align:top;border-top:1px solid #ddd}\n"
    "th{border-top:0;border-bottom:2px solid #888}\n"
    ".n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "tr.first td{border-top-color:#888}\n"
    ".ok,.pass{color:#00614a}.fail,.error,.oom,.timeout{color:#a63c00;font-weight:600}.skip{color:#555}\n"
    ".invalid{color:#a63c00;font-weight:400}\n"
    ".note{color:#555;font-size:.9em}\n"
    "figure{margin:1.5rem 0}figure svg{max-width:100%;height:auto}figcaption{font-weight:600;margin-bottom:.3rem}\n"
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

/* Without the titles: browsers show them under the pointer, and gnuplot's are pieces of its script. */
static void untitled_append(struct text *text, const char *element)
{
    static const char start[] = "<title>", end[] = "</title>";
    const char *title = strstr(element, start);
    while (title != NULL && strstr(title, end) != NULL) {
        text_append_bytes(text, element, (size_t)(title - element));
        element = strstr(title, end) + sizeof end - 1;
        title = strstr(element, start);
    }
    text_append(text, element);
}

bool html_image_append(struct text *text, const struct text *svg)
{
    const char *element = svg != NULL ? strstr(text_string(svg), "<svg") : NULL;
    bool usable = element != NULL && strcasestr(element, "<script") == NULL;
    if (usable) {
        untitled_append(text, element);
    }
    return usable;
}
