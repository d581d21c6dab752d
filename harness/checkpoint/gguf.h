/* GGUF file: the header of one file, number after number. Internal to harness/checkpoint; after ggml's own reader
 * (2026).
 *
 *   "GGUF", u32 version (2 or 3), u64 tensors, u64 metadata entries
 *   entries: text key, u32 type, value; a text is u64 length and bytes, an array u32 type, u64 length and its elements
 *   tensors: text name, u32 rank, u64 sizes (the fastest first), u32 storage type, u64 offset from the begin of the
 *     data
 *   blanks up to a multiple of general.alignment (32 where it is not there), then the data; each tensor begins at the
 *   multiple of the alignment behind the one before it.
 *
 * A file for machines with the other byte order says the same with every number turned around, its version too. */
#ifndef ASSAY_CHECKPOINT_GGUF_H
#define ASSAY_CHECKPOINT_GGUF_H

#include "harness/checkpoint/byte_window.h"
#include "harness/checkpoint/checkpoint_builder.h"

enum { GGUF_KEY_BYTES = 65536, GGUF_NAME_BYTES = 65, GGUF_RANK_MAXIMUM = 4, GGUF_ARRAY_DEPTH_MAXIMUM = 4 };

struct gguf {
    struct checkpoint_builder *builder;
    struct byte_window window;
    enum status_code code; /* STATUS_OK until the first fault; later calls do nothing */
    bool is_big_endian;
    uint64_t tensor_count, entry_count;
    int64_t alignment;
    int file;
    char key[GGUF_KEY_BYTES];
    char text[CHECKPOINT_TEXT_MAXIMUM + 1];
    int64_t integers[CHECKPOINT_LIST_MAXIMUM];
};

/* Sets the fault: "FILE: byte OFFSET: cause", at the next byte. */
__attribute__((format(printf, 2, 3))) void gguf_fault(struct gguf *self, const char *format, ...);

/* The next number of 1, 2, 4 or 8 bytes. what names it in the fault that the header ends there. */
uint64_t gguf_number(struct gguf *self, size_t size, const char *what);

/* A text of less than capacity bytes and none of them zero, ended by a zero in text; else a fault. */
void gguf_text(struct gguf *self, char *text, size_t capacity, const char *what);

/* The entries of the metadata, into the builder; sets alignment. */
void gguf_entries(struct gguf *self);

#endif
