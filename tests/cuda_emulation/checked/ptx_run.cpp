/* The instructions, each from its page of the PTX ISA ("Warp-level matrix instructions", "Asynchronous copy", "cvt").
 * Sums of a product are float32 by rising depth: what the hardware adds in which order is not documented. */
#include <cmath>
#include <vector>

#include <cuda_runtime.h>

#include "tests/cuda_emulation/checked/ptx.h"
#include "tests/cuda_emulation/checked/ptx_text.h"
#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

/* One statement of one lane. */
struct statement {
    int line;
    const ptx_operand *operands;
    ptx_text text;
    std::string wrong; /* empty: nothing yet */
};

/* A copy that was begun: bytes that are read, of those that are written. */
struct copy {
    uint32_t to;
    uint64_t from;
    int bytes, read;
};

struct copies {
    std::vector<std::vector<copy>> groups; /* committed */
    std::vector<copy> open;
};

copies lane_copies[EMULATION_THREADS];

void touch(const void *address, int bytes, bool writes)
{
    if (emulated_watcher != nullptr) {
        emulated_watcher->touch(address, (size_t)bytes, writes);
    }
}

void wrong(statement *s, const char *what)
{
    s->wrong = s->wrong.empty() ? what : s->wrong;
}

const ptx_operand &operand(const statement *s, int argument, int part = 0)
{
    return s->operands[s->text.arguments[(size_t)argument].operands[(size_t)part]];
}

/* The argument is `count` operands of this kind: 'r' and 32 bits, 'l' and 64, 'f' and a float; written or read. */
void want(statement *s, size_t argument, size_t count, char kind, bool output, bool address = false)
{
    if (argument >= s->text.arguments.size() || s->text.arguments[argument].operands.size() != count ||
        s->text.arguments[argument].address != address) {
        wrong(s, "an argument has another form");
        return;
    }
    for (size_t part = 0; part < count; part++) {
        const ptx_operand &each = operand(s, (int)argument, (int)part);
        const char *constraint = each.constraint;
        bool is_output = constraint[0] == '=' || constraint[0] == '+';
        char letter = constraint[is_output];
        if (letter != kind || each.bytes != (kind == 'l' ? 8 : 4) || (output && !is_output) ||
            (!output && constraint[0] == '=')) {
            wrong(s, "an operand has another constraint or size");
        }
    }
}

void arguments_want(statement *s, size_t count)
{
    if (s->text.arguments.size() != count) {
        wrong(s, "it has not as many arguments as it takes");
    }
}

void set(const statement *s, int argument, int part, uint32_t bits)
{
    memcpy(operand(s, argument, part).place, &bits, sizeof bits);
}

float float_of(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* A number of 1 sign bit, `exponent` bits and `fraction` bits. */
double number_of(uint16_t bits, int exponent, int fraction)
{
    int bias = (1 << (exponent - 1)) - 1, power = bits >> fraction & ((1 << exponent) - 1);
    int below = bits & ((1 << fraction) - 1);
    double sign = bits >> 15 ? -1.0 : 1.0;
    if (power == (1 << exponent) - 1) {
        return below != 0 ? NAN : sign * INFINITY;
    }
    return sign *
           (power == 0 ? ldexp(below, 1 - bias - fraction) : ldexp(below + (1 << fraction), power - bias - fraction));
}

/* The nearest such number, ties to even; NaN is 0x7fff. */
uint16_t number_to(float value, int exponent, int fraction)
{
    int bias = (1 << (exponent - 1)) - 1, power = 0;
    uint16_t sign = std::signbit(value) ? 0x8000 : 0, infinity = (uint16_t)(((1 << exponent) - 1) << fraction);
    if (std::isnan(value)) {
        return 0x7fff;
    }
    if (value == 0.0f || std::isinf(value)) {
        return sign | (value == 0.0f ? 0 : infinity);
    }
    frexp(std::fabs(value), &power); /* 2^(power - 1) <= value */
    power = power - 1 < 1 - bias ? 1 - bias : power - 1;
    long steps = lrint(ldexp(std::fabs((double)value), fraction - power)); /* rounds to even */
    long code = steps + ((long)(power + bias - 1) << fraction);
    return sign | (uint16_t)(code > infinity ? infinity : code);
}

/* cvt.rn.f16x2.f32 d, a, b: a goes to the upper half of d, b to the lower. */
void convert(statement *s, int exponent, int fraction)
{
    arguments_want(s, 3);
    want(s, 0, 1, 'r', true);
    want(s, 1, 1, 'f', false);
    want(s, 2, 1, 'f', false);
    if (s->wrong.empty()) {
        uint32_t high = number_to(float_of((uint32_t)operand(s, 1).bits), exponent, fraction);
        uint32_t low = number_to(float_of((uint32_t)operand(s, 2).bits), exponent, fraction);
        set(s, 0, 0, high << 16 | low);
    }
}

/* Element i of the fragment of A that a lane holds: its row and column. Of B: its row and column; of C and D too. */
void place_in_a(int lane, int i, int *row, int *column)
{
    *row = i % 4 < 2 ? lane >> 2 : (lane >> 2) + 8;
    *column = (lane % 4) * 2 + (i & 1) + (i >= 4 ? 8 : 0);
}

void place_in_b(int lane, int i, int *row, int *column)
{
    *row = (lane % 4) * 2 + (i & 1) + (i >= 2 ? 8 : 0);
    *column = lane >> 2;
}

void place_in_c(int lane, int i, int *row, int *column)
{
    *row = i < 2 ? lane >> 2 : (lane >> 2) + 8;
    *column = (lane % 4) * 2 + (i & 1);
}

/* mma.sync.aligned.m16n8k16.row.col.f32.TYPE.TYPE.f32 d, a, b, c */
void multiply(statement *s, int exponent, int fraction)
{
    arguments_want(s, 4);
    want(s, 0, 4, 'f', true);
    want(s, 1, 4, 'r', false);
    want(s, 2, 2, 'r', false);
    want(s, 3, 4, 'f', false);
    if (!s->wrong.empty()) {
        return;
    }
    uint32_t own[10];
    for (int k = 0; k < 10; k++) {
        own[k] = (uint32_t)(k < 4 ? operand(s, 1, k) : k < 6 ? operand(s, 2, k - 4) : operand(s, 3, k - 6)).bits;
    }
    const emulation_offer *offers = emulation_warp_offer(s->line, own, sizeof own);
    double a[16][16], b[16][8];
    float c[16][8];
    int row, column;
    for (int lane = 0; lane < 32; lane++) {
        uint32_t held[10];
        memcpy(held, offers[lane].bytes, sizeof held);
        for (int i = 0; i < 8; i++) {
            place_in_a(lane, i, &row, &column);
            a[row][column] = number_of((uint16_t)(held[i / 2] >> 16 * (i % 2)), exponent, fraction);
        }
        for (int i = 0; i < 4; i++) {
            place_in_b(lane, i, &row, &column);
            b[row][column] = number_of((uint16_t)(held[4 + i / 2] >> 16 * (i % 2)), exponent, fraction);
            place_in_c(lane, i, &row, &column);
            c[row][column] = float_of(held[6 + i]);
        }
    }
    for (int i = 0; i < 4; i++) {
        place_in_c(emulation_thread() % 32, i, &row, &column);
        float sum = c[row][column];
        for (int k = 0; k < 16; k++) {
            sum += (float)(a[row][k] * b[k][column]);
        }
        set(s, 0, i, bits_of(sum));
    }
}

char *shared_at(statement *s, uint64_t address, int bytes)
{
    if (address % (uint64_t)bytes != 0) {
        wrong(s, "an address of shared memory is off its boundary");
    }
    return (char *)emulation_shared_memory() + address;
}

/* ldmatrix.sync.aligned.m8n8.x4[.trans].shared.b16 r, [p]: row k of matrix m is at the address of lane 8 m + k;
 * register m of a lane has elements (lane / 4, lane % 4 * 2 and the next) of matrix m, or of its transpose. */
void matrices_load(statement *s, bool transposed)
{
    arguments_want(s, 2);
    want(s, 0, 4, 'r', true);
    want(s, 1, 1, 'r', false, true);
    char own[16] = {};
    if (s->wrong.empty()) {
        const char *row = shared_at(s, operand(s, 1).bits, 16);
        touch(row, sizeof own, false);
        memcpy(own, row, sizeof own);
    }
    if (!s->wrong.empty()) {
        return;
    }
    const emulation_offer *offers = emulation_warp_offer(s->line, own, sizeof own);
    int lane = emulation_thread() % 32;
    for (int m = 0; m < 4; m++) {
        uint32_t pair = 0;
        for (int half = 0; half < 2; half++) {
            int row = lane / 4, column = lane % 4 * 2 + half;
            uint16_t element;
            const unsigned char *line = offers[8 * m + (transposed ? column : row)].bytes;
            memcpy(&element, line + 2 * (transposed ? row : column), sizeof element);
            pair |= (uint32_t)element << 16 * half;
        }
        set(s, 0, m, pair);
    }
}

/* cp.async.{ca,cg}.shared.global [to], [from], bytes, read: the rest of the bytes is zero. */
void copy_begin(statement *s, bool past_first_cache)
{
    arguments_want(s, 4);
    want(s, 0, 1, 'r', false, true);
    want(s, 1, 1, 'l', false, true);
    want(s, 3, 1, 'r', false);
    if (!s->wrong.empty()) {
        return;
    }
    long bytes = s->text.arguments[2].number;
    copy begun = {(uint32_t)operand(s, 0).bits, operand(s, 1).bits, (int)bytes, (int)operand(s, 3).bits};
    if (!s->text.arguments[2].operands.empty() || (bytes != 16 && (past_first_cache || (bytes != 4 && bytes != 8)))) {
        wrong(s, "it copies 16 bytes, without the first cache; 4, 8 or 16 with it");
    } else if (begun.read < 0 || begun.read > begun.bytes) {
        wrong(s, "it reads more than it copies");
    } else if (begun.from % (uint64_t)bytes != 0 && begun.read > 0) {
        wrong(s, "what is copied is off its boundary");
    } else {
        (void)shared_at(s, begun.to, begun.bytes);
        lane_copies[emulation_thread()].open.push_back(begun);
    }
}

void copies_commit(statement *s)
{
    arguments_want(s, 0);
    copies &own = lane_copies[emulation_thread()];
    own.groups.push_back(own.open);
    own.open.clear();
}

/* cp.async.wait_group n: until no more than the last n groups are pending. */
void copies_wait(statement *s)
{
    arguments_want(s, 1);
    if (!s->wrong.empty() || s->text.arguments[0].operands.size() != 1 || operand(s, 0).constraint[0] != 'n') {
        wrong(s, "it takes a constant");
        return;
    }
    copies &own = lane_copies[emulation_thread()];
    while (own.groups.size() > operand(s, 0).bits) {
        for (const copy &each : own.groups.front()) {
            char *to = shared_at(s, each.to, each.bytes);
            touch(to, each.bytes, true);
            touch((const void *)each.from, each.read, false);
            memset(to, 0, (size_t)each.bytes);
            memcpy(to, (const void *)each.from, (size_t)each.read);
        }
        own.groups.erase(own.groups.begin());
    }
}

void statement_run(statement *s)
{
    const std::string &name = s->text.name;
    const std::string product = "mma.sync.aligned.m16n8k16.row.col.f32.";
    if (name == product + "f16.f16.f32" || name == product + "bf16.bf16.f32") {
        bool half = name == product + "f16.f16.f32";
        multiply(s, half ? 5 : 8, half ? 10 : 7);
    } else if (name == "cvt.rn.f16x2.f32" || name == "cvt.rn.bf16x2.f32") {
        bool half = name == "cvt.rn.f16x2.f32";
        convert(s, half ? 5 : 8, half ? 10 : 7);
    } else if (name == "ldmatrix.sync.aligned.m8n8.x4.shared.b16") {
        matrices_load(s, false);
    } else if (name == "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16") {
        matrices_load(s, true);
    } else if (name == "cp.async.cg.shared.global" || name == "cp.async.ca.shared.global") {
        copy_begin(s, name == "cp.async.cg.shared.global");
    } else if (name == "cp.async.commit_group") {
        copies_commit(s);
    } else if (name == "cp.async.wait_group") {
        copies_wait(s);
    } else if (!name.empty()) {
        wrong(s, "it is not known here: write it from its page of the PTX ISA");
    }
}

} // namespace

uint32_t ptx_shared_address(const void *place)
{
    return (uint32_t)((uintptr_t)place - (uintptr_t)emulation_shared_memory());
}

void ptx_run(int line, const char *text, const ptx_operand *operands, int count)
{
    statement s = {line, operands, {}, ""};
    if (!ptx_text_read(text, &s.text)) {
        wrong(&s, "it is not a statement");
    }
    for (const ptx_argument &argument : s.text.arguments) {
        for (int number : argument.operands) {
            if (number >= count || operands[number].bytes == 0) {
                wrong(&s, "it names an operand that there is not");
            }
        }
    }
    if (s.wrong.empty()) {
        statement_run(&s);
    }
    if (!s.wrong.empty()) {
        emulation_fault((std::string(text) + ": " + s.wrong).c_str());
        emulation_lane_abandon();
    }
}
