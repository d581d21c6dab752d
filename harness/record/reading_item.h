/* Reading items: what a reading of the driver or the kernel consists of. The subtraction that makes them is in
 * harness/run/reading_items.h; records, their schema and reports follow from these rows. */
#ifndef ASSAY_RECORD_READING_ITEM_H
#define ASSAY_RECORD_READING_ITEM_H

/* X(NAME, stem of the key in records, word for people), of the device and of the process. */
#define READING_ITEM_COMMON_TABLE(X)                                                                                   \
    X(CONTEXT, context, "context")        /* what was there when the device had been opened, less what follows */      \
    X(KERNEL, kernel, "kernels")          /* see struct device_reading */                                              \
    X(LIBRARY, library, "libraries")      /* likewise */                                                               \
    X(WORKSPACE, workspace, "workspaces") /* the allocator's blocks of that category */                                \
    X(SEGMENT, segment, "segments")       /* the other reserved bytes */                                               \
    X(REMAINDER, remainder, "remainder")  /* what is left; negative if the items are more than the reading */

/* All of them, in this order. */
#define READING_ITEM_TABLE(X)                                                                                          \
    X(BASELINE, baseline, "there before") /* what others held before; of the device alone */                           \
    READING_ITEM_COMMON_TABLE(X)

enum reading_item {
#define READING_ITEM_ENUM(name, ...) READING_ITEM_##name,
    READING_ITEM_TABLE(READING_ITEM_ENUM)
#undef READING_ITEM_ENUM
        READING_ITEM_COUNT
};

#endif
