/* SVG compact: one pass over the tags. It knows how gnuplot writes and changes nothing that it does not know. */
#include "harness/report/svg_compact.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *old, *short_form;
} replacements[] = {
    {" fill=\"none\" color=\"black\" stroke=\"currentColor\" stroke-width=\"1.00\" stroke-linecap=\"butt\" "
     "stroke-linejoin=\"miter\"",
     " class=q"},
    {" class=\"gridline\"", ""},
    {" font-family=\"DejaVu Sans\"", ""},
};

static bool begins(const char *string, const char *start)
{
    return strncmp(string, start, strlen(start)) == 0;
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r';
}

/* The end of an element that is left out with all it holds; NULL: it is none of these, or it does not end. */
static const char *dropped_end(const char *tag)
{
    static const char *const names[] = {"title", "desc", "filter"};
    for (size_t index = 0; index < sizeof names / sizeof names[0]; index++) {
        size_t length = strlen(names[index]);
        if (strncmp(tag + 1, names[index], length) == 0 && (tag[length + 1] == '>' || is_blank(tag[length + 1]))) {
            char end[16];
            snprintf(end, sizeof end, "</%s>", names[index]);
            const char *found = strstr(tag, end);
            return found != NULL ? found + strlen(end) : NULL;
        }
    }
    return NULL;
}

/* "rgb( 68,  68,  68)" at string as "#444444" or shorter; how many bytes were read, 0 if it is no colour. */
static size_t colour_append(struct text *text, const char *string)
{
    char start[32]; /* sscanf looks for the end of its string, which may be megabytes away */
    unsigned red, green, blue;
    int length = 0;
    snprintf(start, sizeof start, "%.*s", (int)sizeof start - 1, string);
    if (sscanf(start, "rgb(%3u,%3u,%3u)%n", &red, &green, &blue, &length) != 3 || length == 0 || red > 255 ||
        green > 255 || blue > 255) {
        return 0;
    }
    text_format(text, "#%02x%02x%02x", red, green, blue);
    return (size_t)length;
}

/* A tag from '<' up to and with '>', its blanks one each. */
static void tag_append(struct text *text, const char *tag, const char *end)
{
    while (tag < end) {
        size_t taken = 0;
        for (size_t index = 0; *tag == ' ' && taken == 0 && index < sizeof replacements / sizeof replacements[0];
             index++) {
            if (begins(tag, replacements[index].old)) {
                text_append(text, replacements[index].short_form);
                taken = strlen(replacements[index].old);
            }
        }
        taken = taken == 0 && *tag == 'r' ? colour_append(text, tag) : taken;
        if (taken == 0 && is_blank(*tag)) {
            while (is_blank(tag[taken])) {
                taken++;
            }
            text_append(text, tag[taken] == '/' || tag[taken] == '>' || tag[taken] == '\'' ? "" : " ");
        } else if (taken == 0) {
            text_append_bytes(text, tag, 1);
            taken = 1;
        }
        tag += taken;
    }
}

/* What stands between two tags: nothing if it is blank. */
static void content_append(struct text *text, const char *string, const char *end)
{
    const char *first = string;
    while (first < end && is_blank(*first)) {
        first++;
    }
    for (bool blank = first > string; first < end; first++) {
        if (is_blank(*first)) {
            blank = true;
            continue;
        }
        text_append(text, blank ? " " : "");
        text_append_bytes(text, first, 1);
        blank = false;
    }
}

void svg_append(struct text *text, const char *element)
{
    struct text group = {0}, content = {0}; /* an open group that holds nothing yet; what stands before the next tag */
    while (*element != '\0') {
        const char *tag = strchr(element, '<');
        const char *end = tag != NULL ? strchr(tag, '>') : NULL;
        content_append(&content, element, tag != NULL ? tag : element + strlen(element));
        if (content.length > 0) {
            text_append(text, text_string(&group));
            text_append(text, text_string(&content));
            text_release(&group);
            text_release(&content);
        }
        if (end == NULL) {
            break;
        }
        const char *dropped = dropped_end(tag);
        element = dropped != NULL ? dropped : end + 1;
        if (dropped != NULL) {
            continue;
        }
        if (begins(tag, "</g>") && group.length > 0) {
            text_release(&group);
            continue;
        }
        text_append(text, text_string(&group));
        text_release(&group);
        tag_append(begins(tag, "<g ") || begins(tag, "<g>") ? &group : text, tag, end + 1);
        text->failed = text->failed || group.failed;
    }
    text_append(text, text_string(&group));
    text_release(&group);
}
