/* Estimators: the register. A row names one, with the colour and the mark that plots draw it with; its rule is
 * estimator_ID in a file of harness/estimate, which tests hold to its name here. Reports show estimators in this order,
 * and those with little room show the first. */
#ifndef ASSAY_RECORD_ESTIMATOR_TABLE_H
#define ASSAY_RECORD_ESTIMATOR_TABLE_H

/* ROW(id, name, colour, mark). Colours are Okabe and Ito's for those that are drawn most, then Paul Tol's muted ones.
 * Marks are those of estimator_look.c. tests/report/test_estimator_look finds two that look alike. */
#define ESTIMATOR_TABLE(ROW)                                                                                           \
    ROW(replay, "replay", 0x0072b2, CIRCLE)                                                                            \
    ROW(accelerate, "accelerate", 0xd55e00, TRIANGLE)                                                                  \
    ROW(anatomy, "anatomy", 0x009e73, SQUARE)                                                                          \
    ROW(eleutherai, "eleutherai", 0xcc79a7, DIAMOND)                                                                   \
    ROW(weights_fifth, "weights-1.2", 0x882255, OPEN_SQUARE)                                                           \
    ROW(accelerate_corrected, "accelerate-corrected", 0xe69f00, WEDGE)                                                 \
    ROW(eleutherai_cookbook, "eleutherai-cookbook", 0x999933, PENTAGON)                                                \
    ROW(megatron, "megatron", 0x332288, OPEN_DIAMOND)                                                                  \
    ROW(deepspeed_zero2, "deepspeed-zero2", 0x117733, STAR)                                                            \
    ROW(deepspeed_zero2_docs, "deepspeed-zero2-docs", 0x44aa99, OPEN_WEDGE)                                            \
    ROW(deepspeed_zero3, "deepspeed-zero3", 0x661100, OPEN_PENTAGON)                                                   \
    ROW(llm_c, "llm.c", 0xaa4499, X)                                                                                   \
    ROW(can_it_run, "can-it-run", 0x56b4e9, OPEN_CIRCLE)                                                               \
    ROW(hf_mem, "hf-mem", 0x444444, OPEN_TRIANGLE)                                                                     \
    ROW(llama_factory, "llama-factory", 0x6699cc, CROSS)                                                               \
    ROW(vram_calculator, "vram-calculator", 0xcc6677, STAR)                                                            \
    ROW(shares, "shares", 0x777777, OPEN_DIAMOND)                                                                      \
    ROW(stored, "stored", 0x000000, X)

#endif
