/* SVG compact: gnuplot's way of writing, shortened, and everything else as it was. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "harness/report/svg_compact.h"

#define GROUP                                                                                                          \
    "<g fill=\"none\" color=\"black\" stroke=\"currentColor\" stroke-width=\"1.00\" stroke-linecap=\"butt\" "          \
    "stroke-linejoin=\"miter\">\n"

static void compact_check(const char *element, const char *expected)
{
    struct text text = {0};
    svg_append(&text, element);
    assert_string_equal(text_string(&text), expected);
    text_release(&text);
}

static void what_a_reader_does_not_see_goes(void **state)
{
    (void)state;
    compact_check(
        "<svg \n width=\"9\"\n>\n<title>Gnuplot</title>\n<desc>by <b>it</b></desc>\n<g id=\"a\">\n</g>\n</svg>\n",
        "<svg width=\"9\"></svg>");
    compact_check("<svg><defs>\n\t<filter id='f' x='0'>\n<feFlood/></filter>\n</defs></svg>",
                  "<svg><defs></defs></svg>");
    compact_check("<svg>" GROUP "</g>\n" GROUP "\t<path stroke='rgb( 68,  68,  68)'  d='M1,2 L3,4  '/></g>\n</svg>",
                  "<svg><g class=q><path stroke='#444444' d='M1,2 L3,4'/></g></svg>");
}

static void words_stay(void **state)
{
    (void)state;
    compact_check("<text font-family=\"DejaVu Sans\" x='1'> 1  MiB<tspan>a &lt; b</tspan> rgb(1,2,3)</text>",
                  "<text x='1'> 1 MiB<tspan>a &lt; b</tspan> rgb(1,2,3)</text>");
    compact_check("<path stroke='rgb(999,0,0)'/>", "<path stroke='rgb(999,0,0)'/>");
}

static void half_an_element_does_no_harm(void **state)
{
    (void)state;
    compact_check("", "");
    compact_check("<svg><g", "<svg>");
    compact_check("<svg><title>no end", "<svg><title>no end");
    compact_check("<svg><g>", "<svg><g>");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_a_reader_does_not_see_goes),
        cmocka_unit_test(words_stay),
        cmocka_unit_test(half_an_element_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
