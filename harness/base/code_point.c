/* Code point: a strict decoder of UTF-8 and two ranges of characters. Not an escaper: each format has its own. */
#include "harness/base/code_point.h"

size_t code_point_decode(const char *string, uint32_t *point)
{
    const unsigned char *byte = (const unsigned char *)string;
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    size_t length = byte[0] < 0x80 ? 1 : byte[0] >= 0xF0 ? 4 : byte[0] >= 0xE0 ? 3 : byte[0] >= 0xC2 ? 2 : 0;
    *point = 0xFFFD;
    if (length == 0 || byte[0] > 0xF4) {
        return 1;
    }
    uint32_t value = length == 1 ? byte[0] : byte[0] & (0x7Fu >> length);
    for (size_t index = 1; index < length; index++) {
        if ((byte[index] & 0xC0) != 0x80) {
            return 1;
        }
        value = (value << 6) | (byte[index] & 0x3Fu);
    }
    if (value < least[length] || value > 0x10FFFF || (value >= 0xD800 && value <= 0xDFFF)) {
        return 1;
    }
    *point = value;
    return length;
}

bool code_point_is_space(uint32_t point)
{
    return point == ' ' || (point >= '\t' && point <= '\r') || point == 0x2028 || point == 0x2029;
}

bool code_point_is_hidden(uint32_t point)
{
    return point < 0x20 || (point >= 0x7F && point <= 0x9F) || (point >= 0x200B && point <= 0x200F) ||
           (point >= 0x202A && point <= 0x202E) || (point >= 0x2060 && point <= 0x206F) || point == 0xFEFF ||
           (point & 0xFFFE) == 0xFFFE || (point >= 0xFDD0 && point <= 0xFDEF);
}
