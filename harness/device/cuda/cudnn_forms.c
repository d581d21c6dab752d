/* Forms of convolutions: what is the same form, and its engine. Nothing runs here. */
#include "harness/device/cuda/cudnn_forms.h"

#include <stdio.h>
#include <stdlib.h>

bool cudnn_forms_open(struct cudnn_forms *forms)
{
    struct status error = {0};
    if (forms->tried) {
        return forms->library.library != NULL;
    }
    forms->tried = true;
    if (cudnn_library_open(&forms->library, &error) != STATUS_OK) {
        snprintf(forms->note, sizeof forms->note, "%.255s", error.text);
        return false;
    }
    cudnn_version_words(&forms->library, forms->words);
    return true;
}

static struct device_convolution form_of(enum opcode opcode, const struct convolution_plan *plan)
{
    return (struct device_convolution){.opcode = opcode,
                                       .dtype = plan->image->dtype,
                                       .images = plan->images,
                                       .channels = plan->channels,
                                       .height = plan->height,
                                       .width = plan->width,
                                       .filters = plan->filters,
                                       .kernel = plan->kernel,
                                       .stride = plan->stride,
                                       .padding = plan->padding,
                                       .given_bytes = plan->workspace.bytes,
                                       .engine = CUDNN_ENGINE_NONE,
                                       .first_engine = CUDNN_ENGINE_NONE};
}

static bool forms_are_same(const struct device_convolution *a, const struct device_convolution *b)
{
    return a->opcode == b->opcode && a->dtype == b->dtype && a->images == b->images && a->channels == b->channels &&
           a->height == b->height && a->width == b->width && a->filters == b->filters && a->kernel == b->kernel &&
           a->stride == b->stride && a->padding == b->padding && a->given_bytes == b->given_bytes;
}

int cudnn_forms_find(const struct cudnn_forms *forms, enum opcode opcode, const struct convolution_plan *plan)
{
    const struct device_convolution wanted = form_of(opcode, plan);
    for (int i = 0; i < forms->count; i++) {
        if (forms_are_same(&forms->forms[i], &wanted)) {
            return i;
        }
    }
    return -1;
}

/* A place that is free; -1: there is no memory. */
static int place_take(struct cudnn_forms *forms)
{
    if (forms->forms == NULL) {
        forms->forms = calloc(CUDNN_FORMS_MAXIMUM, sizeof *forms->forms);
        forms->engines = calloc(CUDNN_FORMS_MAXIMUM, sizeof *forms->engines);
    }
    if (forms->forms == NULL || forms->engines == NULL) {
        return -1;
    }
    if (forms->count < CUDNN_FORMS_MAXIMUM) {
        return forms->count++;
    }
    int place = forms->oldest;
    forms->oldest = (place + 1) % CUDNN_FORMS_MAXIMUM;
    cudnn_engine_release(&forms->library, &forms->engines[place]);
    return place;
}

static void form_fill(struct cudnn_forms *forms, int place)
{
    struct device_convolution *form = &forms->forms[place];
    const struct cudnn_engine *engine = &forms->engines[place];
    form->engine = engine->index;
    form->workspace_bytes = engine->workspace_bytes;
    form->first_engine = engine->first_index;
    form->first_workspace_bytes = engine->first_workspace_bytes;
    if (engine->refusal != DNN_STATUS_SUCCESS) {
        snprintf(form->refusal, sizeof form->refusal, "%s", forms->library.status_text(engine->refusal));
    }
}

int cudnn_forms_add(struct cudnn_forms *forms, enum opcode opcode, const struct convolution_plan *plan)
{
    int place = place_take(forms);
    if (place < 0) {
        return place;
    }
    struct cudnn_engine *engine = &forms->engines[place];
    forms->forms[place] = form_of(opcode, plan);
    cudnn_engine_find(&forms->library, opcode, plan, workspace_room(plan->workspace.bytes), engine);
    form_fill(forms, place);
    return place;
}

bool cudnn_forms_next(struct cudnn_forms *forms, int place, const struct convolution_plan *plan, int refusal)
{
    bool found = cudnn_engine_next(&forms->library, forms->forms[place].opcode, plan,
                                   workspace_room(plan->workspace.bytes), refusal, &forms->engines[place]);
    form_fill(forms, place);
    return found;
}

void cudnn_forms_close(struct cudnn_forms *forms)
{
    for (int i = 0; i < forms->count; i++) {
        cudnn_engine_release(&forms->library, &forms->engines[i]);
    }
    cudnn_library_close(&forms->library);
}

void cudnn_forms_release(struct cudnn_forms *forms)
{
    free(forms->forms);
    free(forms->engines);
    *forms = (struct cudnn_forms){0};
}
