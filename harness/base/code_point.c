/* Code point: a strict decoder of UTF-8, its encoder and two ranges of characters. Not an escaper: each format has its
 * own. */
#include "harness/base/code_point.h"

size_t code_point_expect(const char *bytes, size_t count)
{
    const unsigned char *byte = (const unsigned char *)bytes;
    unsigned char first = byte[0];
    size_t length = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    for (size_t i = 1; i < length && i < count; i++) {
        bool overlong = i == 1 && ((first == 0xE0 && byte[1] < 0xA0) || (first == 0xF0 && byte[1] < 0x90));
        bool outside = i == 1 && ((first == 0xED && byte[1] > 0x9F) || (first == 0xF4 && byte[1] > 0x8F));
        if (!code_point_goes_on(bytes[i]) || overlong || outside) {
            return 0;
        }
    }
    return length;
}

size_t code_point_decode(const char *string, uint32_t *point)
{
    size_t length = code_point_length(string, CODE_POINT_BYTES);
    unsigned char first = (unsigned char)string[0];
    *point = length == 0 ? 0xFFFD : length == 1 ? first : first & (0x7Fu >> length);
    for (size_t i = 1; i < length; i++) {
        *point = (*point << 6) | ((unsigned char)string[i] & 0x3Fu);
    }
    return length > 0 ? length : 1;
}

size_t code_point_encode(uint32_t point, char bytes[CODE_POINT_BYTES])
{
    static const unsigned char leads[] = {0, 0x00, 0xC0, 0xE0, 0xF0};
    size_t length = point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    for (size_t i = length - 1; i > 0; i--) {
        bytes[i] = (char)(0x80 | (point & 0x3F));
        point >>= 6;
    }
    bytes[0] = (char)(leads[length] | point);
    return length;
}

int code_point_count(const char *text, size_t length)
{
    int count = 0;
    for (size_t i = 0; i < length; i++) {
        count += code_point_goes_on(text[i]) ? 0 : 1;
    }
    return count;
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
