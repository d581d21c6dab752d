/* Refusal: who had no memory left, told from the text of an out of memory. A text travels further than anything else
 * that is known of it: out of a plug-in, out of a child, into records. The words by which sources are told apart stand
 * here once; those who refuse put them into their texts, and refusal_source_of finds them there. */
#ifndef ASSAY_DEVICE_REFUSAL_H
#define ASSAY_DEVICE_REFUSAL_H

enum refusal_source {
    REFUSAL_SEGMENT, /* a segment of the allocator: a GPU has no more, or the bound of a host or meta is reached */
    REFUSAL_MACHINE, /* the host's memory, without a bound */
    REFUSAL_CGROUP,  /* what the container may still take */
    REFUSAL_LIMIT,   /* the kernel maps no more: ulimit, or strict overcommitting */
    REFUSAL_CUBLAS,  /* cuBLAS: its handle, or a product */
    REFUSAL_CUDA,    /* another call of CUDA: the context, a kernel that is loaded or launched, a synchronisation */
    REFUSAL_KILLED,  /* the kernel killed the process for want of memory */
    REFUSAL_PROGRAM, /* the program's own memory */
    REFUSAL_SOURCE_COUNT
};

#define REFUSAL_WORDS_GPU     "free on the device"
#define REFUSAL_WORDS_BOUND   "allowed by mem="
#define REFUSAL_WORDS_MACHINE "available on this machine"
#define REFUSAL_WORDS_CGROUP  "left in this cgroup"
#define REFUSAL_WORDS_LIMIT   "the kernel maps no more"
#define REFUSAL_WORDS_KILLED  "(SIGKILL)"

/* Of the text of a STATUS_OUT_OF_MEMORY, with or without prefixes, or of the end of a child that was killed. What has
 * none of these words is REFUSAL_PROGRAM. */
enum refusal_source refusal_source_of(const char *text);

const char *refusal_source_name(enum refusal_source source); /* "segment", "machine", "cgroup", ... */

#endif
