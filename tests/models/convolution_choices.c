/* Reads the lines of convolution_choice.txt. What a rule must say of them is the affair of the tests. */
#include "tests/models/convolution_choices.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char choices_path[] = "peers/pytorch/convolution_choice.txt";
static const char *const passes[] = {"forward", "image", "weight"};
enum { PASS_COUNT = sizeof passes / sizeof passes[0] };

static void answers_read(const char *at, struct convolution_choice *choice)
{
    for (int i = 0; i < CHOICE_DEVICE_COUNT; i++, at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : "") {
        long long bytes, largest;
        assert_int_equal(sscanf(at, "%15s %*d=%lld %*d=%lld", choice->devices[i].word, &bytes, &largest), 3);
        choice->devices[i].bytes = bytes;
        choice->devices[i].largest_bytes = largest;
    }
}

/* "tf32 weight 8 64 64 56 3 1 1: H100 68=13287635 17=29491200, A100 ..." */
static void line_check(const char *line, void (*check)(const struct convolution_choice *choice))
{
    char form[16], pass[16];
    struct convolution_choice choice = {.form = form};
    long long images, channels, filters, rows, kernel, stride, padding;
    assert_int_equal(sscanf(line, "%15s %15s %lld %lld %lld %lld %lld %lld %lld", form, pass, &images, &channels,
                            &filters, &rows, &kernel, &stride, &padding),
                     9);
    if (strcmp(form, "float32") == 0) {
        return;
    }
    while (strcmp(passes[choice.pass], pass) != 0) {
        assert_true(++choice.pass < PASS_COUNT);
    }
    choice.opcode = (enum opcode)(OPCODE_CONVOLUTION + choice.pass);
    int64_t result = (rows + 2 * padding - kernel) / stride + 1;
    choice.shape = (struct convolution_shape){.images = images,
                                              .channels = channels,
                                              .filters = filters,
                                              .image_rows = rows,
                                              .image_columns = rows,
                                              .rows = result,
                                              .columns = result,
                                              .kernel = kernel,
                                              .stride = stride,
                                              .padding = padding,
                                              .dtype = strcmp(form, "tf32") == 0 ? DTYPE_FLOAT32 : DTYPE_BFLOAT16,
                                              .tf32_allowed = true};
    answers_read(strchr(line, ':') + 1, &choice);
    check(&choice);
}

void convolution_choices_each(void (*check)(const struct convolution_choice *choice))
{
    FILE *file = fopen(choices_path, "r");
    assert_non_null(file);
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) > 0) {
        if (line[0] != '#') {
            line_check(line, check);
        }
    }
    free(line);
    fclose(file);
}
