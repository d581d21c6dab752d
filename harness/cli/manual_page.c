/* Manual page: man(7) and its escapes. The words stand in the tables of the commands and their neighbours. */
#include "harness/cli/manual_page.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "harness/cli/command_examples.h"
#include "harness/cli/help.h"
#include "harness/cli/surroundings.h"
#include "harness/run/run_variables.h"

/* So that '-' and quotes can be copied from the page, and no text becomes a request. */
static void roff_append(struct text *text, const char *string, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        static const struct {
            char byte;
            const char *written;
        } escapes[] = {{'\\', "\\e"}, {'-', "\\-"}, {'\'', "\\(aq"}, {'`', "\\(ga"}, {'^', "\\(ha"}, {'~', "\\(ti"}};
        bool begins = text->length == 0 || text_string(text)[text->length - 1] == '\n';
        const char *written = NULL;
        for (size_t e = 0; e < sizeof escapes / sizeof escapes[0]; e++) {
            written = escapes[e].byte == string[i] ? escapes[e].written : written;
        }
        if (begins && string[i] == '.') {
            text_append(text, "\\&");
        }
        if (written != NULL) {
            text_append(text, written);
        } else {
            text_append_bytes(text, string + i, 1);
        }
    }
}

enum { LINE_BYTES = 76 }; /* of the source, not of the page */

static size_t line_length(const struct text *text)
{
    const char *newline = text->length > 0 ? memrchr(text_string(text), '\n', text->length) : NULL;
    return newline != NULL ? text->length - (size_t)(newline - text_string(text)) - 1 : text->length;
}

/* Words that are filled to paragraphs, and a newline. */
static void roff_words(struct text *text, const char *string, size_t length)
{
    for (size_t i = 0; i < length;) {
        size_t word = 0;
        while (i + word < length && string[i + word] != ' ') {
            word++;
        }
        bool fits = line_length(text) + word < LINE_BYTES;
        text_append(text, line_length(text) == 0 ? "" : fits ? " " : "\n");
        roff_append(text, string + i, word);
        i += word + 1;
    }
    text_append(text, "\n");
}

static void roff_line(struct text *text, const char *string)
{
    roff_words(text, string, strlen(string));
}

static void section(struct text *text, const char *name)
{
    text_format(text, ".SH %s\n", name);
}

/* A term in bold with what it is. */
static void entry(struct text *text, const char *term, const char *what)
{
    text_append(text, ".TP\n\\fB");
    roff_append(text, term, strlen(term));
    text_append(text, "\\fR\n");
    roff_line(text, what);
}

/* A word in capitals is a place for another: set in italics; the rest is typed as it is, in bold. */
static void spelling_append(struct text *text, const char *spelling)
{
    while (*spelling != '\0') {
        size_t length = strcspn(spelling, " [");
        bool is_place = isupper((unsigned char)*spelling);
        text_append(text, length == 0 ? "" : is_place ? "\\fI" : "\\fB");
        roff_append(text, spelling, length);
        text_append(text, length == 0 ? "" : "\\fR");
        spelling += length;
        roff_append(text, spelling, strspn(spelling, " ["));
        spelling += strspn(spelling, " [");
    }
    text_append(text, "\n");
}

static void option_entries(struct text *text, const struct option_row *options)
{
    for (; options->name != NULL; options++) {
        struct text spelling = {0};
        option_spelling_append(options, &spelling);
        text_append(text, ".TP\n");
        spelling_append(text, text_string(&spelling));
        roff_line(text, options->help);
        text_release(&spelling);
    }
    entry(text, "--help", "what the command does, and its options");
}

/* Paragraphs are filled; lines that are indented stay as they are. */
static void details_append(struct text *text, const char *details)
{
    bool is_open = true, is_block = false; /* the section has begun a paragraph */
    while (*details != '\0') {
        size_t length = strcspn(details, "\n");
        bool indented = *details == ' ';
        if (is_block && !indented) {
            text_append(text, ".fi\n.RE\n");
        }
        if (indented && !is_block) {
            text_append(text, ".PP\n.RS 4\n.nf\n");
        } else if (length > 0 && !indented && (!is_open || is_block)) {
            text_append(text, ".PP\n");
        }
        is_open = length > 0 && !indented;
        is_block = indented;
        if (length > 0 && !indented) {
            roff_words(text, details, length);
        } else if (length > 0) {
            size_t blanks = strspn(details, " ") < 2 ? strspn(details, " ") : 2;
            roff_append(text, details + blanks, length - blanks);
            text_append(text, "\n");
        }
        details += length + (details[length] == '\n');
    }
    text_append(text, is_block ? ".fi\n.RE\n" : "");
}

static void exit_status_section(struct text *text)
{
    section(text, "EXIT STATUS");
    for (int i = 0; exit_code_at(i) != NULL; i++) {
        text_format(text, ".TP\n\\fB%d\\fR\n", (int)exit_code_at(i)->code);
        roff_line(text, exit_code_at(i)->what);
    }
}

static void environment_section(struct text *text)
{
    section(text, "ENVIRONMENT");
    for (int i = 0; environment_variable_at(i) != NULL; i++) {
        entry(text, environment_variable_at(i)->name, environment_variable_at(i)->what);
    }
    text_append(text, ".PP\nThese change what libraries and the driver take. A run notes those that are set:\n");
    for (int i = 0; run_variable_at(i) != NULL; i++) {
        roff_append(text, run_variable_at(i), strlen(run_variable_at(i)));
        text_append(text, run_variable_at(i + 1) != NULL ? ",\n" : ".\n");
    }
}

static void files_section(struct text *text)
{
    section(text, "FILES");
    for (int i = 0; program_file_at(i) != NULL; i++) {
        entry(text, program_file_at(i)->name, program_file_at(i)->what);
    }
}

/* command NULL: of all commands. */
static void examples_section(struct text *text, const char *command)
{
    bool is_first = true;
    for (int i = 0; command_example_at(i) != NULL; i++) {
        const struct command_example *example = command_example_at(i);
        if (command == NULL || strcmp(command, example->command) == 0) {
            text_append(text, is_first ? ".SH EXAMPLES\n" : ".PP\n");
            roff_line(text, example->what);
            text_append(text, ".PP\n.RS 4\n.nf\n");
            roff_append(text, example->line, strlen(example->line));
            text_append(text, "\n.fi\n.RE\n");
            is_first = false;
        }
    }
}

/* The pages of all commands but one (NULL: of all). */
static void see_also_section(struct text *text, const struct command *const *commands, const struct command *but)
{
    section(text, "SEE ALSO");
    text_append(text, but != NULL ? ".BR assay (1)" : "");
    for (int i = 0; commands[i] != NULL; i++) {
        if (commands[i] != but) {
            text_append(text, but != NULL || i > 0 ? ",\n" : "");
            text_format(text, ".BR assay\\-%s (1)", commands[i]->name);
        }
    }
    text_append(text, "\n.PP\nREADME.md and docs/ of the sources, in share/doc/assay of an installation.\n");
}

static void heading(struct text *text, const char *name)
{
    text_append(text, ".\\\" Made by assay man from its tables of commands and options; do not edit.\n");
    text_format(text, ".TH %s 1 %s \"assay %s\" \"User Commands\"\n", name, ASSAY_VERSION_DATE, ASSAY_VERSION);
    /* No hyphenation, and lines of uneven length: names of options and paths stay in one piece. */
    text_append(text, ".nh\n.ad l\n");
}

static void command_page(const struct command *const *commands, const struct command *command, struct text *text)
{
    struct text name = {0};
    text_append(&name, "ASSAY\\-");
    for (const char *byte = command->name; *byte != '\0'; byte++) {
        char capital = (char)toupper((unsigned char)*byte);
        text_append_bytes(&name, &capital, 1);
    }
    heading(text, text_string(&name));
    text_release(&name);
    section(text, "NAME");
    text_format(text, "assay\\-%s \\-", command->name);
    roff_line(text, command->summary);
    section(text, "SYNOPSIS");
    text_format(text, "\\fBassay %s\\fR ", command->name);
    if (command->operands[0] != '\0') {
        text_append(text, "\\fI");
        roff_append(text, command->operands, strlen(command->operands));
        text_append(text, "\\fR ");
    }
    text_append(text, "[\\fIoptions\\fR]\n");
    if (command->details[0] != '\0') {
        section(text, "DESCRIPTION");
        details_append(text, command->details);
    }
    section(text, "OPTIONS");
    option_entries(text, command->options);
    exit_status_section(text);
    section(text, "ENVIRONMENT");
    text_append(text, ".BR assay (1)\nhas the variables that all commands read, and the files.\n");
    examples_section(text, command->name);
    see_also_section(text, commands, command);
}

static void program_page(const struct command *const *commands, struct text *text)
{
    heading(text, "ASSAY");
    section(text, "NAME");
    text_append(text, "assay \\- predicts and measures the bytes that neural networks occupy\n");
    section(text, "SYNOPSIS");
    text_append(text, "\\fBassay\\fR \\fICOMMAND\\fR [\\fIoptions\\fR]\n");
    section(text, "DESCRIPTION");
    roff_line(text, "assay predicts the bytes that a neural network occupies when it is loaded, run and trained, "
                    "builds the network, runs it, measures it, and reports how far each prediction was off.");
    section(text, "COMMANDS");
    for (int i = 0; commands[i] != NULL; i++) {
        text_format(text, ".TP\n.BR assay\\-%s (1)\n", commands[i]->name);
        roff_line(text, commands[i]->summary);
    }
    section(text, "OPTIONS");
    entry(text, "--help", "the commands; also as assay help, and of a command as assay help COMMAND");
    entry(text, "--version", "the version and its revision; also as assay version, with --json as JSON");
    exit_status_section(text);
    environment_section(text);
    files_section(text);
    examples_section(text, NULL);
    see_also_section(text, commands, NULL);
}

void manual_page(const struct command *const *commands, const struct command *command, struct text *text)
{
    if (command != NULL) {
        command_page(commands, command, text);
    } else {
        program_page(commands, text);
    }
}
