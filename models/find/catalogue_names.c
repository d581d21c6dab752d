/* Catalogue names: a table of twins, and comparisons of names. No file is read here. */
#include "models/find/catalogue_names.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stddef.h>
#include <string.h>
#include <strings.h>

#include "harness/base/nearest.h"

enum { NAME_BYTES = 256, NEAR_MAXIMUM = 5 };

/* Owners that the hub put before the names of models older than itself. */
static const char *const hub_owners[] = {"google-bert/", "openai-community/", "distilbert/"};

/* Endings that may be left out: the hub's format, and the recipe of timm's weights. */
static const char *const endings[] = {"-hf",
                                      ".a1_in1k",
                                      ".tv_in1k",
                                      ".fb_in1k",
                                      ".tv2_in1k",
                                      ".pycls_in1k",
                                      ".augreg_in21k_ft_in1k",
                                      ".augreg2_in21k_ft_in1k"};

/* Looked up elsewhere, and equal to the twin in the sizes that were shown:
 *   Llama-3.1-8B-Instruct      its modules as printed in nlp_models/llama3/README.md of github.com/Retruth/deontic:
 *                              128,256 tokens, 32 layers, 4,096 and 14,336 wide, 1,024 of keys
 *   Meta-Llama-3-8B-Instruct,  configurations that public programs carry under these names: 4,096 and 14,336 wide, 32
 *   Llama-3.2-1B-Instruct,     layers, 8 key heads; 2,048 and 8,192 wide, 16 layers, 8 key heads, tied; 4,544 wide, 32
 *   falcon-7b-instruct         layers, 71 heads, one of keys
 *   Mistral-7B-Instruct-v0.1,  their cards on the hub: "based on Mistral-7B-v0.1", "fine-tuned version of the
 *   Mistral-7B-Instruct-v0.3   Mistral-7B-v0.3", which has 32,768 tokens
 *   DeepSeek-V2-Chat,          the table of DeepSeek-V2's card: as many parameters as their bases, in all and active
 *   DeepSeek-V2-Lite-Chat
 *   Llama-3.1-405B and -Instruct  configurations that public programs carry: 16,384 and 53,248 wide, 126 layers, 128
 *                              heads, 8 of keys; 405,853,388,800 parameters, as the hub counts. Its first weights, of
 *                              July 2024, had 16 heads of keys
 * The configurations of the others were not seen. An answer for a twin says that it is one. */
static const struct {
    const char *typed, *name;
} twins[] = {
    {"meta-llama/Meta-Llama-3-8B-Instruct", "meta-llama/Meta-Llama-3-8B"},
    {"meta-llama/Llama-3-8B", "meta-llama/Meta-Llama-3-8B"},
    {"meta-llama/Llama-3-8B-Instruct", "meta-llama/Meta-Llama-3-8B"},
    {"meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"},
    {"meta-llama/Meta-Llama-3.1-8B", "meta-llama/Llama-3.1-8B"},
    {"meta-llama/Meta-Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B"},
    {"meta-llama/Llama-3.1-70B-Instruct", "meta-llama/Llama-3.1-70B"},
    {"meta-llama/Meta-Llama-3.1-70B", "meta-llama/Llama-3.1-70B"},
    {"meta-llama/Meta-Llama-3.1-70B-Instruct", "meta-llama/Llama-3.1-70B"},
    {"meta-llama/Llama-3.3-70B-Instruct", "meta-llama/Llama-3.1-70B"},
    {"meta-llama/Llama-3.1-405B-Instruct", "meta-llama/Llama-3.1-405B"},
    {"meta-llama/Meta-Llama-3.1-405B", "meta-llama/Llama-3.1-405B"},
    {"meta-llama/Meta-Llama-3.1-405B-Instruct", "meta-llama/Llama-3.1-405B"},
    {"meta-llama/Llama-3.2-1B-Instruct", "meta-llama/Llama-3.2-1B"},
    {"meta-llama/Llama-3.2-3B-Instruct", "meta-llama/Llama-3.2-3B"},
    {"mistralai/Mistral-7B-Instruct-v0.1", "mistralai/Mistral-7B-v0.1"},
    {"mistralai/Mistral-7B-Instruct-v0.3", "mistralai/Mistral-7B-v0.3"},
    {"mistralai/Mixtral-8x7B-Instruct-v0.1", "mistralai/Mixtral-8x7B-v0.1"},
    {"google/gemma-2b-it", "google/gemma-2b"},
    {"google/gemma-7b-it", "google/gemma-7b"},
    {"google/gemma-2-2b-it", "google/gemma-2-2b"},
    {"google/gemma-2-9b-it", "google/gemma-2-9b"},
    {"google/gemma-2-27b-it", "google/gemma-2-27b"},
    {"google/gemma-3-1b-it", "google/gemma-3-1b-pt"},
    {"google/gemma-3-270m-it", "google/gemma-3-270m"},
    {"tiiuae/falcon-7b-instruct", "tiiuae/falcon-7b"},
    {"tiiuae/falcon-40b-instruct", "tiiuae/falcon-40b"},
    {"HuggingFaceTB/SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-135M"},
    {"HuggingFaceTB/SmolLM2-360M-Instruct", "HuggingFaceTB/SmolLM2-360M"},
    {"HuggingFaceTB/SmolLM2-1.7B-Instruct", "HuggingFaceTB/SmolLM2-1.7B"},
    {"deepseek-ai/DeepSeek-V2-Chat", "deepseek-ai/DeepSeek-V2"},
    {"deepseek-ai/DeepSeek-V2-Lite-Chat", "deepseek-ai/DeepSeek-V2-Lite"},
    {"deepseek-ai/DeepSeek-V3-Base", "deepseek-ai/DeepSeek-V3"},
    {"EleutherAI/pythia-70m-deduped", "EleutherAI/pythia-70m"},
    {"EleutherAI/pythia-160m-deduped", "EleutherAI/pythia-160m"},
    {"EleutherAI/pythia-410m-deduped", "EleutherAI/pythia-410m"},
    {"EleutherAI/pythia-1b-deduped", "EleutherAI/pythia-1b"},
    {"EleutherAI/pythia-1.4b-deduped", "EleutherAI/pythia-1.4b"},
    {"EleutherAI/pythia-2.8b-deduped", "EleutherAI/pythia-2.8b"},
    {"EleutherAI/pythia-6.9b-deduped", "EleutherAI/pythia-6.9b"},
    {"EleutherAI/pythia-12b-deduped", "EleutherAI/pythia-12b"},
};

static const char *last_part(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash != NULL ? slash + 1 : name;
}

bool catalogue_name_is_toy(const char *name)
{
    return strncmp(name, "tiny-", 5) == 0;
}

/* Letters and digits in lower case, and what parts two digits: '.', or '-' for anything else. Other separators are
 * dropped, so that opt1.3b is opt-1.3b while opt-13b is not. */
static void plain_make(const char *name, char plain[NAME_BYTES])
{
    size_t count = 0, gap = 0;
    for (const char *at = name; *at != '\0' && count + 2 < NAME_BYTES; at++) {
        if (!isalnum((unsigned char)*at)) {
            gap++;
            continue;
        }
        if (gap > 0 && count > 0 && isdigit((unsigned char)*at) && isdigit((unsigned char)plain[count - 1])) {
            plain[count++] = gap == 1 && at[-1] == '.' ? '.' : '-';
        }
        plain[count++] = (char)tolower((unsigned char)*at);
        gap = 0;
    }
    plain[count] = '\0';
}

/* Whether a plain name begins with what was typed. A point may be typed as another separator (opt_1_3b), but whoever
 * types a point means one. */
static bool plain_begins(const char *whole, const char *part)
{
    while (*part != '\0' && (*part == *whole || (*part == '-' && *whole == '.'))) {
        part++;
        whole++;
    }
    return *part == '\0';
}

static bool equal_plain(const char *typed, const char *name)
{
    char left[NAME_BYTES], right[NAME_BYTES];
    plain_make(typed, left);
    plain_make(name, right);
    return left[0] != '\0' && strlen(left) == strlen(right) && plain_begins(right, left);
}

/* Equal in any case, the name's ending left out or not. */
static bool equal_but_ending(const char *typed, const char *name)
{
    if (strcasecmp(typed, name) == 0) {
        return true;
    }
    size_t length = strlen(typed);
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        if (strncasecmp(typed, name, length) == 0 && strcasecmp(name + length, endings[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* The owner of typed, if it has one, is the name's; what follows is compared by its letters and digits. */
static bool equal_spelling(const char *typed, const char *name)
{
    const char *part = last_part(typed), *slash = strrchr(name, '/');
    size_t owner = (size_t)(part - typed);
    bool same_owner =
        owner == 0 || (slash != NULL && owner == (size_t)(slash + 1 - name) && strncasecmp(typed, name, owner) == 0);
    return same_owner && strpbrk(typed, "./~") != typed && equal_plain(part, last_part(name));
}

/* Behind the owner that the hub puts before a name that has none here. */
static const char *hub_owner_skip(const char *typed, const char *name)
{
    for (size_t i = 0; i < sizeof hub_owners / sizeof hub_owners[0]; i++) {
        size_t length = strlen(hub_owners[i]);
        if (strncasecmp(typed, hub_owners[i], length) == 0 && strchr(name, '/') == NULL) {
            return typed + length;
        }
    }
    return typed;
}

bool catalogue_name_is(const char *typed, const char *name)
{
    typed = hub_owner_skip(typed, name);
    return strcasecmp(typed, name) == 0 || (strchr(typed, '/') == NULL && strcasecmp(typed, last_part(name)) == 0);
}

bool catalogue_name_fits(const char *typed, const char *name)
{
    if (catalogue_name_is_toy(name)) {
        return strcasecmp(typed, name) == 0;
    }
    const char *wanted = hub_owner_skip(typed, name);
    return equal_but_ending(wanted, name) || equal_spelling(wanted, name) ||
           (strchr(wanted, '/') == NULL && equal_but_ending(wanted, last_part(name)));
}

const char *catalogue_twin(const char *typed)
{
    for (size_t i = 0; i < sizeof twins / sizeof twins[0]; i++) {
        if (catalogue_name_fits(typed, twins[i].typed)) {
            return twins[i].name;
        }
    }
    return NULL;
}

static bool holds(const char *name, const char *part)
{
    char left[NAME_BYTES], right[NAME_BYTES];
    plain_make(name, left);
    plain_make(part, right);
    const char *at = left;
    while (*at != '\0' && !plain_begins(at, right)) {
        at++;
    }
    return right[0] != '\0' && *at != '\0';
}

bool catalogue_name_matches(const char *pattern, const char *name)
{
    if (strpbrk(pattern, "*?[") != NULL) {
        return fnmatch(pattern, name, FNM_CASEFOLD) == 0 || fnmatch(pattern, last_part(name), FNM_CASEFOLD) == 0;
    }
    return holds(name, pattern);
}

/* The letters that a name begins with are its family: "bert" of bert-base-cased, "Llama" of Llama-3.1-8B. */
static bool same_letters(const char *a, const char *b)
{
    size_t i = 0;
    while (isalpha((unsigned char)a[i]) && tolower((unsigned char)a[i]) == tolower((unsigned char)b[i])) {
        i++;
    }
    return i > 1 && !isalpha((unsigned char)a[i]) && !isalpha((unsigned char)b[i]);
}

/* Lower is nearer; -1: it is not near. The owner may be missing on either side, or be another's. */
static int nearness(const char *typed, const char *name)
{
    enum { OF_FAMILY = 100, OTHERS = 1000 };
    const char *ours = last_part(typed), *theirs = last_part(name);
    int distance = name_distance(ours, theirs), whole = name_distance(typed, name);
    distance = whole < distance ? whole : distance;
    if (holds(theirs, ours)) {
        return same_letters(ours, theirs) ? distance : OF_FAMILY + distance;
    }
    if (same_letters(ours, theirs)) {
        return OF_FAMILY + distance;
    }
    return distance <= (int)strlen(ours) / 3 ? OTHERS + distance : -1;
}

void catalogue_names_near(const char *const *names, int count, const char *typed, struct text *text)
{
    int last = -1, last_index = -1;
    for (int shown = 0; shown < NEAR_MAXIMUM; shown++) {
        int best = -1, best_index = -1;
        for (int i = 0; i < count; i++) {
            int found = nearness(typed, names[i]);
            bool is_next = found > last || (found == last && i > last_index);
            if (found >= 0 && is_next && (best < 0 || found < best)) {
                best = found;
                best_index = i;
            }
        }
        if (best < 0) {
            return;
        }
        text_format(text, "%s'%s'", shown > 0 ? ", " : "", names[best_index]);
        last = best;
        last_index = best_index;
    }
}
