/* Completion words: walks the words as arguments.c does, and offers what could come next. It refuses nothing: a line
 * that is being typed is not finished. */
#include "harness/cli/completion_words.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "harness/base/arena.h"
#include "harness/case/case_field.h"
#include "harness/cli/command.h"
#include "harness/cli/resource_path.h"
#include "harness/cli/value_word.h"
#include "harness/hardware/gpu_nodes.h"
#include "harness/tape/gpu_table.h"
#include "harness/tape/target.h"
#include "models/find/catalogue.h"

struct offer {
    const struct command *const *commands;
    struct text exact, other; /* lines that begin with what was typed, and those that do in another case */
    const char *typed;        /* the part of the word that is to be completed */
    const char *lead;         /* what stands before it in the same word: "--device=" */
    size_t lead_length;
    const char *own; /* what the shell adds: "words", "files" or "folders"; "unknown" */
    struct arena arena;
};

/* What a line of words cannot carry, nobody is offered. */
static bool is_plain(const char *word, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if ((unsigned char)word[i] < ' ' || word[i] == 127) {
            return false;
        }
    }
    return length > 0;
}

static void offer_bytes(struct offer *offer, const char *word, size_t length, const char *what)
{
    size_t typed = strlen(offer->typed);
    bool fits = length >= typed && is_plain(word, length) && strncasecmp(word, offer->typed, typed) == 0;
    struct text *text = fits && strncmp(word, offer->typed, typed) == 0 ? &offer->exact : &offer->other;
    if (fits) {
        text_append_bytes(text, offer->lead, offer->lead_length);
        text_append_bytes(text, word, length);
        text_format(text, "\t%s\n", what);
    }
}

static void offer_word(struct offer *offer, const char *word, const char *what)
{
    offer_bytes(offer, word, strlen(word), what);
}

/* Whether the help of an option names a word: "cuda" is not in "cuda:N". */
static bool help_has(const char *help, const char *word, size_t length)
{
    static const char ends[] = " ,;()";
    for (const char *place = help; *place != '\0'; place++) {
        bool begins = place == help || strchr(ends, place[-1]) != NULL;
        if (!begins || strncmp(place, word, length) != 0) {
            continue;
        }
        const char *end = place + length;
        if (strchr(ends, *end) != NULL || strncmp(end, ": ", 2) == 0) { /* the end of the text is one of ends, too */
            return true;
        }
    }
    return false;
}

static void offer_choices(struct offer *offer, const struct value_word *value, const char *help)
{
    size_t length = 0;
    const char *choice = NULL;
    for (int i = 0; (choice = choice_at(value->choices, i, &length)) != NULL; i++) {
        if (!value->is_helped || help_has(help, choice, length)) {
            offer_bytes(offer, choice, length, "");
        }
    }
}

static void offer_field(struct offer *offer, const struct value_word *value, const char *help)
{
    const struct case_field_row *row = case_field_row(case_field_find(value->choices, strlen(value->choices)));
    for (int i = row->lowest; i < row->word_count; i++) {
        if (!value->is_helped || help_has(help, row->words[i], strlen(row->words[i]))) {
            offer_word(offer, row->words[i], "");
        }
    }
}

static void offer_models(struct offer *offer)
{
    struct catalogue catalogue = {0};
    const char *folder = resource_path(&offer->arena, "models/catalogue");
    if (folder != NULL && catalogue_read(folder, &catalogue, NULL) == STATUS_OK) {
        for (int i = 0; i < catalogue.count; i++) {
            offer_word(offer, catalogue.names[i], "model of the catalogue");
        }
    }
    catalogue_release(&catalogue);
    offer->own = "files";
}

/* With the whole name, and with the names that begin behind the maker: "RTX 4090". */
static void offer_gpus(struct offer *offer)
{
    static const char *const makers[] = {"", "NVIDIA ", "NVIDIA GeForce ", "AMD ", "AMD Instinct ", "Tesla "};
    for (int i = 0; gpu_at(i) != NULL; i++) {
        const struct gpu *gpu = gpu_at(i);
        char what[64];
        snprintf(what, sizeof what, "%lld MiB, %s", (long long)gpu->memory_mib, gpu->target);
        bool has_maker = false;
        for (size_t m = 0; m < sizeof makers / sizeof makers[0]; m++) {
            size_t length = strlen(makers[m]);
            has_maker = strncmp(gpu->name, makers[m], length) == 0;
            if (has_maker && (m == 0 || *offer->typed != '\0')) {
                offer_word(offer, gpu->name + length, what);
            }
        }
    }
}

static void offer_targets(struct offer *offer)
{
    for (int i = 0; target_at(i) != NULL; i++) {
        offer_word(offer, target_at(i)->name, "class of devices");
    }
    offer_gpus(offer);
}

/* "cuda:N" of the help stands for the GPUs that are here, "host:mem=SIZE" for its beginning. */
static void offer_devices(struct offer *offer, const char *help)
{
    static const char *const names[] = {"auto", "host", "meta", "cuda"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (help_has(help, names[i], strlen(names[i]))) {
            offer_word(offer, names[i], "");
        }
    }
    if (strstr(help, "host:mem=SIZE") != NULL) {
        offer_word(offer, "host:mem=", "so much of the host's memory");
    }
    if (strstr(help, "meta:mem=SIZE") != NULL) {
        offer_word(offer, "meta:mem=", "so much memory, and nothing is computed");
    }
    struct gpu_nodes nodes;
    gpu_nodes_read("", getenv("CUDA_VISIBLE_DEVICES"), &nodes);
    for (int i = 0; strstr(help, "cuda:N") != NULL && i < nodes.gpu_count; i++) {
        char name[24];
        snprintf(name, sizeof name, "cuda:%d", i);
        offer_word(offer, name, "");
    }
}

static int names_compare(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The entries of a resource folder, each behind before; not those that the current folder has too, which the shell adds
 * as files. */
static void offer_resources(struct offer *offer, const char *folder, const char *before, const char *what)
{
    enum { NAMES_MAXIMUM = 256 };
    const char *names[NAMES_MAXIMUM] = {NULL};
    int count = 0;
    const char *path = resource_path(&offer->arena, folder);
    DIR *list = path != NULL ? opendir(path) : NULL;
    struct dirent *entry = NULL;
    while (list != NULL && count < NAMES_MAXIMUM && (entry = readdir(list)) != NULL) {
        const char *name = entry->d_name[0] != '.' ? arena_copy(&offer->arena, entry->d_name) : NULL;
        count += (names[count] = name) != NULL ? 1 : 0;
    }
    if (list != NULL) {
        closedir(list);
    }
    qsort(names, (size_t)count, sizeof names[0], names_compare);
    for (int i = 0; i < count; i++) {
        const char *word = arena_format(&offer->arena, "%s%s", before, names[i]);
        offer_word(offer, word != NULL && access(word, F_OK) != 0 ? word : "", what);
    }
}

static void offer_commands(struct offer *offer)
{
    for (int i = 0; offer->commands[i] != NULL; i++) {
        offer_word(offer, offer->commands[i]->name, offer->commands[i]->summary);
    }
}

/* help: of the option; "" of an operand. */
static void offer_value(struct offer *offer, const struct value_word *value, const char *help)
{
    if (value->word == NULL) {
        offer->own = "unknown";
        return;
    }
    switch (value->source) {
    case VALUE_FREE:
        break;
    case VALUE_FILE:
        offer->own = "files";
        break;
    case VALUE_FOLDER:
        offer->own = "folders";
        break;
    case VALUE_CHOICE:
        offer_choices(offer, value, help);
        break;
    case VALUE_FIELD:
        offer_field(offer, value, help);
        break;
    case VALUE_MODEL:
        offer_models(offer);
        break;
    case VALUE_SUITE:
        offer_resources(offer, "suites", "suites/", "suite that comes with assay");
        offer->own = "files";
        break;
    case VALUE_DEVICE:
        offer_devices(offer, help);
        break;
    case VALUE_GPU:
        offer_gpus(offer);
        break;
    case VALUE_TARGET:
        offer_targets(offer);
        break;
    case VALUE_CONSTANTS:
        offer_word(offer, "none", "no constants at all");
        offer_resources(offer, "results/reference", "", "device that was measured");
        offer->own = "files";
        break;
    case VALUE_COMMAND:
        offer_commands(offer);
        break;
    }
}

/* Where the cursor is in the words of a command. */
struct place {
    const struct command *command;
    const struct option_row *valued;   /* the word that is typed must be its value; NULL: none must */
    const struct option_row *may_have; /* it may be: of a choice, a switch, a list */
    int operand_count;                 /* before it */
    bool options_end;                  /* "--" stands before it */
    bool is_given[OPTION_COUNT_MAXIMUM];
};

static const struct option_row *option_find(const struct command *command, const char *word, int *row)
{
    size_t length = strcspn(word + 2, "=");
    for (*row = 0; command->options[*row].name != NULL; (*row)++) {
        const char *name = command->options[*row].name;
        if (strlen(name) == length && strncmp(name, word + 2, length) == 0) {
            return &command->options[*row];
        }
    }
    return NULL;
}

static void place_option(struct place *place, const char *word)
{
    int row = 0;
    const struct option_row *option = option_find(place->command, word, &row);
    place->may_have = NULL;
    if (option == NULL) {
        return;
    }
    place->is_given[row] = option->kind != OPTION_LIST && option->kind != OPTION_REPEATED;
    bool is_bare = strchr(word, '=') == NULL;
    bool has_value = option->kind == OPTION_VALUE || option->kind == OPTION_REPEATED;
    place->valued = is_bare && has_value ? option : NULL;
    place->may_have = is_bare && !has_value && option->kind != OPTION_FLAG ? option : NULL;
}

/* Whether a word behind a choice or a switch is its value, as arguments.c takes it. */
static bool is_choice(const struct option_row *option, const char *word)
{
    struct value_word value = value_word_of_option(option);
    size_t length = 0;
    const char *choice = NULL;
    for (int i = 0; (choice = choice_at(value.choices, i, &length)) != NULL; i++) {
        if (strlen(word) == length && strncmp(choice, word, length) == 0) {
            return true;
        }
    }
    return false;
}

/* The words before the one that is typed. */
static void place_find(struct place *place, const char *const *words, int count)
{
    for (int i = 0; i < count; i++) {
        bool is_option = !place->options_end && strncmp(words[i], "--", 2) == 0;
        if (place->valued != NULL) {
            place->valued = NULL;
        } else if (is_option && words[i][2] == '\0') {
            place->options_end = true;
            place->may_have = NULL;
        } else if (is_option) {
            place_option(place, words[i]);
        } else if (place->may_have != NULL && place->may_have->kind == OPTION_LIST) {
            continue;
        } else {
            place->operand_count += place->may_have != NULL && is_choice(place->may_have, words[i]) ? 0 : 1;
            place->may_have = NULL;
        }
    }
}

static void offer_options(struct offer *offer, const struct place *place)
{
    for (int i = 0; place->command->options[i].name != NULL; i++) {
        const struct option_row *option = &place->command->options[i];
        const char *word = arena_format(&offer->arena, "--%s", option->name);
        if (!place->is_given[i]) {
            offer_word(offer, word != NULL ? word : "", option->help);
        }
    }
    offer_word(offer, "--help", "what the command does, and its options");
}

/* "--device=ho": the value alone is completed, behind what stands before it. */
static void offer_inline_value(struct offer *offer, const struct command *command)
{
    int row = 0;
    const struct option_row *option = option_find(command, offer->typed, &row);
    size_t lead = strcspn(offer->typed, "=") + 1;
    offer->lead = offer->typed;
    offer->lead_length = lead;
    offer->typed += lead;
    if (option != NULL && option->kind != OPTION_FLAG) {
        struct value_word value = value_word_of_option(option);
        offer_value(offer, &value, option->help);
    }
}

static void offer_operand(struct offer *offer, const struct place *place)
{
    struct value_word value = value_word_of_operand(place->command, place->operand_count);
    bool is_wanted =
        place->operand_count < place->command->operand_maximum && (value.source != VALUE_FREE || value.word == NULL);
    if (is_wanted) {
        value.source = value.source == VALUE_FOLDER ? VALUE_FILE : value.source; /* its records.jsonl will do */
        offer_value(offer, &value, "");
    } else if (*offer->typed == '\0' && !place->options_end) {
        offer_options(offer, place);
    }
}

static void offer_of_command(struct offer *offer, const struct command *command, const char *const *words, int count)
{
    struct place place = {.command = command};
    place_find(&place, words, count);
    bool is_option = !place.options_end && offer->typed[0] == '-';
    if (place.valued != NULL) {
        struct value_word value = value_word_of_option(place.valued);
        offer_value(offer, &value, place.valued->help);
    } else if (is_option && strchr(offer->typed, '=') != NULL) {
        offer_inline_value(offer, command);
    } else if (is_option) {
        offer_options(offer, &place);
    } else {
        if (place.may_have != NULL) {
            struct value_word value = value_word_of_option(place.may_have);
            offer_value(offer, &value, place.may_have->help);
        }
        offer_operand(offer, &place);
    }
}

static const struct command *command_named(const struct command *const *commands, const char *name)
{
    while (*commands != NULL && strcmp((*commands)->name, name) != 0) {
        commands++;
    }
    return *commands;
}

enum status_code completion_words(const struct command *const *commands, const char *const *words, int count,
                                  struct text *text, struct status *error)
{
    struct offer offer = {.commands = commands, .typed = count > 0 ? words[count - 1] : "", .lead = "", .own = "words"};
    const struct command *command = count > 1 ? command_named(commands, words[0]) : NULL;
    if (command != NULL) {
        offer_of_command(&offer, command, words + 1, count - 2);
    } else if (count <= 1 || (count == 2 && strcmp(words[0], "help") == 0)) {
        offer_commands(&offer);
    }
    if (count <= 1) {
        offer_word(&offer, "help", "the options of a command");
        offer_word(&offer, "version", "the version");
        if (offer.typed[0] == '-') {
            offer_word(&offer, "--help", "the commands");
            offer_word(&offer, "--version", "the version");
        }
    }
    text_format(text, "%s\n%s", offer.own, text_string(offer.exact.length > 0 ? &offer.exact : &offer.other));
    bool failed = text->failed || offer.exact.failed || offer.other.failed;
    text_release(&offer.exact);
    text_release(&offer.other);
    arena_release(&offer.arena);
    return failed ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for words") : STATUS_OK;
}
