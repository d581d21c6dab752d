/* The GPUs of the emulated machine and what CUDA_VISIBLE_DEVICES leaves of them. Nothing here is in use by anybody:
 * contexts and memory are in emulated_runtime.cpp. */
#include "tests/cuda_emulation/emulated/emulated_devices.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

const int boards_unasked = 2;

/* NVIDIA's CUDA C++ Programming Guide, table of compute capabilities. */
const struct emulated_board architectures[] = {
    {7, 5, 64 * 1024}, {9, 0, EMULATION_SHARED_BYTES}, {8, 0, 163 * 1024}, {12, 0, 99 * 1024}};

int board_count_read()
{
    const char *text = getenv("EMULATED_GPUS");
    return text != nullptr ? std::clamp(atoi(text), 0, (int)EMULATED_BOARDS_MAXIMUM) : boards_unasked;
}

/* At least one, which may be empty. */
std::vector<std::string> entries_of(const std::string &text)
{
    std::vector<std::string> entries;
    size_t begin = 0;
    for (size_t end = 0; end != std::string::npos; begin = end + 1) {
        end = text.find(',', begin);
        entries.push_back(text.substr(begin, end - begin));
    }
    return entries;
}

/* The number that the text begins with, as strtol reads it. */
int board_by_index(const std::string &text)
{
    char *end = nullptr;
    long index = strtol(text.c_str(), &end, 10);
    return end != text.c_str() && index >= 0 && index < emulated_board_count() ? (int)index : -1;
}

int board_by_uuid(const std::string &beginning)
{
    int found = -1;
    for (int board = 0; board < emulated_board_count(); board++) {
        char uuid[EMULATED_UUID_TEXT];
        emulated_uuid_format(board, uuid);
        if (strncmp(uuid, beginning.c_str(), beginning.size()) == 0) {
            if (found >= 0) {
                return -1;
            }
            found = board;
        }
    }
    return found;
}

/* An instance has the digits of its board here. */
int board_by_instance(const std::string &text)
{
    std::string digits = text.substr(strlen("MIG-"));
    if (digits.compare(0, strlen("GPU-"), "GPU-") == 0) {
        size_t slash = digits.find('/');
        digits = slash != std::string::npos ? digits.substr(strlen("GPU-"), slash - strlen("GPU-")) : "";
    }
    int board = digits.size() + strlen("GPU-") + 1 == EMULATED_UUID_TEXT ? board_by_uuid("GPU-" + digits) : -1;
    return board >= 0 && emulated_board_is_divided(board) ? board : -1;
}

enum entry_kind { ENTRY_INDEX, ENTRY_UUID, ENTRY_INSTANCE };

entry_kind kind_of(const std::string &text)
{
    return text.compare(0, 4, "GPU-") == 0   ? ENTRY_UUID
           : text.compare(0, 4, "MIG-") == 0 ? ENTRY_INSTANCE
                                             : ENTRY_INDEX;
}

std::vector<int> visible_read()
{
    std::vector<int> visible;
    const char *text = getenv("CUDA_VISIBLE_DEVICES");
    if (text == nullptr) {
        for (int board = 0; board < emulated_board_count(); board++) {
            visible.push_back(board);
        }
        return visible;
    }
    std::vector<std::string> entries = entries_of(text);
    entry_kind kind = kind_of(entries[0]);
    for (const std::string &entry : entries) {
        int board = kind_of(entry) != kind   ? -1
                    : kind == ENTRY_INDEX    ? board_by_index(entry)
                    : kind == ENTRY_INSTANCE ? board_by_instance(entry)
                                             : board_by_uuid(entry);
        if (board < 0 || (kind == ENTRY_INSTANCE && !visible.empty())) { /* one instance alone is enumerated */
            break;
        }
        if (std::find(visible.begin(), visible.end(), board) != visible.end()) {
            return {};
        }
        visible.push_back(board);
    }
    return visible;
}

const std::vector<int> &visible_boards()
{
    static const std::vector<int> visible = visible_read();
    return visible;
}

} // namespace

int emulated_board_count(void)
{
    static const int count = board_count_read();
    return count;
}

const struct emulated_board *emulated_board_at(int board)
{
    static const char *const first = getenv("EMULATED_FIRST");
    static const size_t before = first != nullptr ? strtoul(first, nullptr, 10) : 0;
    static const bool alike = getenv("EMULATED_ALIKE") != nullptr;
    return &architectures[((alike ? 0 : (size_t)board) + before) % (sizeof architectures / sizeof architectures[0])];
}

void emulated_uuid_read(int board, char bytes[EMULATED_UUID_BYTES])
{
    memset(bytes, 0, EMULATED_UUID_BYTES);
    bytes[0] = (char)(board > 1 ? board << 4 : 0);
    bytes[EMULATED_UUID_BYTES - 1] = (char)(board + 1);
}

void emulated_uuid_format(int board, char text[EMULATED_UUID_TEXT])
{
    char bytes[EMULATED_UUID_BYTES];
    emulated_uuid_read(board, bytes);
    size_t used = (size_t)snprintf(text, EMULATED_UUID_TEXT, "GPU");
    for (int i = 0; i < EMULATED_UUID_BYTES; i++) {
        const char *separator = i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
        used += (size_t)snprintf(text + used, EMULATED_UUID_TEXT - used, "%s%02x", separator, (unsigned char)bytes[i]);
    }
}

int emulated_visible_count(void)
{
    return (int)visible_boards().size();
}

int emulated_visible_board(int device)
{
    return device >= 0 && device < emulated_visible_count() ? visible_boards()[(size_t)device] : -1;
}
