/* Judge: whether anything is wrong with the operations that are named, on every emulated GPU. What is tried is what
 * conformance tries, without the models' mixtures of dtypes; it ends at the first fault.
 *
 *     ASSAY_PLUGIN_DIR=FOLDER judge OPERATION...
 *     exit 0: nothing wrong; 1 and a line that says what; 2: no answer
 *
 * ci/strict.sh asks it about plug-ins that watch, ci/mutate.sh besides about those that lack something, trial by
 * trial:
 *
 *     MUTANTS_REACHED=FILE judge --reach OPERATION...
 *     a line for each trial that is right: OPERATION GPU ROUND VARIANT, how many ms it takes, and the mutants that
 *     would have mattered in it (mutant.h). Makes the file
 *
 *     judge --trials <LINES
 *     tries what such lines say. Each line is printed before it is tried; exit 1 behind the first that is wrong, 3
 *     where it takes hundreds of times as long */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <signal.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tests/conformance/conformance.h"
#include "tests/mutants/reached.h"

enum { GPUS_MAXIMUM = 4, SEED = 7, ROUNDS = 2 * MIX_COUNT, EXIT_WITHOUT_END = 3 };

/* One trial: which mixture of dtypes and which numbers follow from the round. */
struct place {
    enum opcode opcode;
    int gpu, round, variant;
    int ms; /* that it takes where nothing is wrong and nobody watches */
};

static bool opcode_find(const char *name, enum opcode *opcode)
{
    for (int k = 0; k < OPCODE_COUNT; k++) {
        if (strcmp(name, opcode_name((enum opcode)k)) == 0) {
            *opcode = (enum opcode)k;
            return true;
        }
    }
    return false;
}

/* Says what is wrong. *more: whether the plan has such a variant. */
static bool trial_is_right(const struct trial_site *site, const struct place *place, bool *more)
{
    struct trial trial;
    struct trial_outcome outcome = {.fault = ""};
    trial_open(&trial, place->opcode, (enum mix)(place->round % MIX_COUNT),
               SEED + (uint64_t)(place->round * 1000 + place->variant));
    trial.site = site;
    trial.unaligned = (place->round + place->variant) % 3 == 2;
    *more = trial_plan_for(place->opcode)(&trial, place->variant);
    if (*more) {
        trial_measure(&trial, &outcome);
    }
    if (outcome.fault[0] != '\0') {
        printf("%s: variant %d, round %d: %s\n", opcode_name(place->opcode), place->variant, place->round,
               outcome.fault);
    }
    trial_close(&trial);
    return outcome.fault[0] == '\0';
}

/* Says what is wrong. */
static bool is_whole(const struct trial_site *site, enum opcode opcode)
{
    static const struct tape_calls none;
    struct conformance conformance;
    struct conformance_request request = {.site = site,
                                          .opcode = opcode,
                                          .plan = trial_plan_for(opcode),
                                          .calls = &none,
                                          .seed = SEED,
                                          .first_fault_only = true};
    operation_conform(&request, &conformance);
    bool whole = conformance_is_whole(&conformance);
    if (!whole) {
        printf("%s: %s\n", opcode_name(opcode), text_string(&conformance.report));
    }
    conformance_release(&conformance);
    return whole;
}

/* Exit status; *more: whether there is a GPU of that number, and only then it and its site are open. */
static int gpu_open(int index, struct device **gpu, struct trial_site *site, bool *more)
{
    char spec[16];
    struct status error = {0};
    snprintf(spec, sizeof spec, "cuda:%d", index);
    enum status_code code = device_open(spec, gpu, &error);
    *more = code == STATUS_OK;
    if (code == STATUS_UNAVAILABLE && index > 0) {
        return 0;
    }
    if (code == STATUS_OK) {
        code = trial_site_open(site, *gpu, &error);
    }
    if (code != STATUS_OK) {
        printf("%s: %s\n", spec, error.text);
        *more = false;
    }
    return code == STATUS_OK ? 0 : code == STATUS_UNAVAILABLE ? 2 : 1;
}

/* Says what each trial of the operation has reached. */
static void operation_reach(const struct trial_site *site, int gpu, enum opcode opcode, struct reached *reached)
{
    bool more = true;
    for (int variant = 0; more; variant++) {
        for (int round = 0; more && round < ROUNDS; round++) {
            const struct place place = {opcode, gpu, round, variant, 0};
            struct timespec start, end;
            reached_forget(reached);
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
            bool right = trial_is_right(site, &place, &more);
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
            if (more && right) {
                int64_t ns = (int64_t)(end.tv_sec - start.tv_sec) * 1000000000 + end.tv_nsec - start.tv_nsec;
                printf("%s %d %d %d %d", opcode_name(opcode), gpu, round, variant, (int)(ns / 1000000));
                reached_print(reached);
            }
        }
    }
}

/* Exit status; *more as in gpu_open. */
static int gpu_judge(int index, char **names, int count, struct reached *reached, bool *more)
{
    struct device *gpu = NULL;
    struct trial_site site;
    int answer = gpu_open(index, &gpu, &site, more);
    if (!*more) {
        return answer;
    }
    for (int k = 0; k < count && answer == 0; k++) {
        enum opcode opcode;
        if (!opcode_find(names[k], &opcode)) {
            answer = 2;
        } else if (reached != NULL) {
            operation_reach(&site, index, opcode, reached);
        } else if (!is_whole(&site, opcode)) {
            answer = 1;
        }
    }
    trial_site_close(&site);
    device_close(gpu);
    return answer;
}

static int operations_judge(char **names, int count, struct reached *reached)
{
    int answer = count > 0 ? 0 : 2;
    bool more = true;
    for (int index = 0; index < GPUS_MAXIMUM && more && answer == 0; index++) {
        answer = gpu_judge(index, names, count, reached, &more);
    }
    return answer;
}

static int reach(char **names, int count)
{
    struct reached reached;
    if (!reached_open(&reached, getenv("MUTANTS_REACHED"))) {
        printf("MUTANTS_REACHED names no file that can be made\n");
        return 2;
    }
    int answer = operations_judge(names, count, &reached);
    reached_close(&reached);
    return answer;
}

static void without_end(int signal)
{
    (void)signal;
    static const char text[] = "no end\n";
    _exit(write(STDOUT_FILENO, text, sizeof text - 1) > 0 ? EXIT_WITHOUT_END : EXIT_WITHOUT_END + 1);
}

/* From now on; in time that this process computes. */
static void end_demand(const struct place *place)
{
    const struct itimerval timer = {.it_value.tv_sec = 30 + place->ms * 3 / 10};
    setitimer(ITIMER_PROF, &timer, NULL);
}

static bool place_read(const char *line, struct place *place)
{
    char name[64];
    return sscanf(line, "%63s %d %d %d %d", name, &place->gpu, &place->round, &place->variant, &place->ms) == 5 &&
           place->gpu >= 0 && place->gpu < GPUS_MAXIMUM && opcode_find(name, &place->opcode);
}

static int trials_judge(void)
{
    struct device *gpus[GPUS_MAXIMUM] = {NULL};
    struct trial_site sites[GPUS_MAXIMUM];
    char line[1 << 16];
    int answer = 0;
    signal(SIGPROF, without_end);
    while (answer == 0 && fgets(line, sizeof line, stdin) != NULL) {
        struct place place;
        bool more = true;
        if (!place_read(line, &place)) {
            answer = 2;
        } else {
            printf("at %s %d %d %d %d\n", opcode_name(place.opcode), place.gpu, place.round, place.variant, place.ms);
            fflush(stdout);
            end_demand(&place);
        }
        if (answer == 0 && gpus[place.gpu] == NULL) {
            answer = gpu_open(place.gpu, &gpus[place.gpu], &sites[place.gpu], &more);
            answer = answer == 0 && !more ? 2 : answer;
        }
        if (answer == 0) {
            answer = trial_is_right(&sites[place.gpu], &place, &more) ? 0 : 1;
            answer = answer == 0 && !more ? 2 : answer;
        }
    }
    return answer; /* the system takes what is open */
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--trials") == 0) {
        return trials_judge();
    }
    if (argc > 1 && strcmp(argv[1], "--reach") == 0) {
        return reach(argv + 2, argc - 2);
    }
    return operations_judge(argv + 1, argc - 1, NULL);
}
