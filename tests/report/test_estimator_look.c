/* Looks of estimators: one for each, in the order of the table of estimators, told apart by colour-blind readers
 * too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/estimate/estimate.h"
#include "harness/report/estimator_look.h"

static void every_estimator_has_a_look_in_its_place(void **state)
{
    (void)state;
    int count = 0;
    for (; estimator_at(count) != NULL; count++) {
        const struct estimator_look *look = estimator_look_at(count);
        if (look == NULL || strcmp(look->name, estimator_at(count)->name) != 0) {
            fail_msg("row %d of harness/record/estimator_table.h has another name than %s, which its rule has", count,
                     estimator_at(count)->name);
        }
        assert_ptr_equal(estimator_look_find(look->name), look);
        assert_int_equal(estimator_place(look->name), count);
    }
    assert_null(estimator_look_at(count));
    assert_null(estimator_look_find("of another version")->name);
    assert_int_equal(estimator_place("of another version"), count);
}

struct colour {
    double red, green, blue; /* linear */
};

static double linear(uint32_t byte)
{
    double value = (double)(byte & 0xff) / 255.0;
    return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4);
}

/* As seen without the cones for long (protanopia) or middle (deuteranopia) waves: Machado, Oliveira and Fernandes
 * (2009), severity 1.0. kind 0: as it is. */
static struct colour seen(uint32_t rgb, int kind)
{
    static const double sight[3][9] = {
        {1, 0, 0, 0, 1, 0, 0, 0, 1},
        {0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998},
        {0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.011820, 0.042940, 0.968881}};
    const double *m = sight[kind];
    double red = linear(rgb >> 16), green = linear(rgb >> 8), blue = linear(rgb);
    return (struct colour){m[0] * red + m[1] * green + m[2] * blue, m[3] * red + m[4] * green + m[5] * blue,
                           m[6] * red + m[7] * green + m[8] * blue};
}

static double distance(struct colour a, struct colour b)
{
    double red = cbrt(a.red) - cbrt(b.red), green = cbrt(a.green) - cbrt(b.green), blue = cbrt(a.blue) - cbrt(b.blue);
    return sqrt(red * red + green * green + blue * blue);
}

/* 0.1 is what lies between this paper's black text and a dark grey: seen side by side. Those with a symbol of their own
 * need less. */
static void looks_are_told_apart(void **state)
{
    (void)state;
    for (int at = 0; estimator_look_at(at) != NULL; at++) {
        const struct estimator_look *one = estimator_look_at(at);
        assert_true(one->symbol >= 1 && one->symbol <= 15);
        for (int other = 0; other < at; other++) {
            const struct estimator_look *two = estimator_look_at(other);
            assert_int_not_equal(one->colour, two->colour);
            for (int kind = 0; kind < 3; kind++) {
                double between = distance(seen(one->colour, kind), seen(two->colour, kind));
                if (one->symbol == two->symbol && between < 0.25) {
                    fail_msg("%s and %s share a symbol and nearly a colour (%.2f, sight %d)", one->name, two->name,
                             between, kind);
                }
            }
        }
    }
}

/* White paper: a symbol that is too light is not seen. */
static void colours_are_dark_enough_for_paper(void **state)
{
    (void)state;
    for (int at = 0; estimator_look_at(at) != NULL; at++) {
        struct colour colour = seen(estimator_look_at(at)->colour, 0);
        double luminance = 0.2126 * colour.red + 0.7152 * colour.green + 0.0722 * colour.blue;
        assert_true(1.05 / (luminance + 0.05) > 2.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_estimator_has_a_look_in_its_place),
        cmocka_unit_test(looks_are_told_apart),
        cmocka_unit_test(colours_are_dark_enough_for_paper),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
