/* Which GPUs the emulated machine has, and which of them this process may see. A board is numbered as it is plugged in,
 * which is NVML's order; a device as the runtime numbers those that are visible. */
#ifndef ASSAY_TESTS_EMULATED_DEVICES_H
#define ASSAY_TESTS_EMULATED_DEVICES_H

#include <stddef.h>

enum { EMULATED_BOARDS_MAXIMUM = 8 };

struct emulated_board {
    int major, minor;
    size_t shared_bytes_maximum; /* for a block that asks for it */
};

/* EMULATED_GPUS says how many there are, up to EMULATED_BOARDS_MAXIMUM; two where it is not set. They are an sm_75, an
 * sm_90, an sm_80 and an sm_120, and these again; EMULATED_FIRST=1 begins with the sm_90, and so on; with
 * EMULATED_ALIKE all are as the first. */
int emulated_board_count(void);
const struct emulated_board *emulated_board_at(int board);

/* "GPU-..." as nvidia-smi writes it. The first two boards differ in the last digit alone, the others in the first
 * ones. */
enum { EMULATED_UUID_BYTES = 16, EMULATED_UUID_TEXT = 41 };
void emulated_uuid_read(int board, char bytes[EMULATED_UUID_BYTES]);
void emulated_uuid_format(int board, char text[EMULATED_UUID_TEXT]);

/* What CUDA_VISIBLE_DEVICES leaves, in its order, which is read with the first question, as the runtime does. Its
 * entries are indices, of whose text what follows the number is ignored; beginnings of a UUID that suit one board
 * alone; and one "MIG-UUID" or "MIG-GPU-UUID/N/M", where the board is divided. The first entry that is none of these,
 * or of another kind than the first one, ends the list. A board that is named twice leaves none, as PyTorch's people
 * found (_parse_visible_devices); NVIDIA's guide does not say. */
int emulated_visible_count(void);
int emulated_visible_board(int device); /* -1: there is no such device */

/* Whether EMULATED_NVML has that board in MIG mode, in emulated_nvml.cpp. */
bool emulated_board_is_divided(int board);

#endif
