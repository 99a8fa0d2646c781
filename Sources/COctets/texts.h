/* What texts of forms say, as form.c reads them under `types: safe`. */
#ifndef RECAST_TEXTS_H
#define RECAST_TEXTS_H
#include "members.h"

/* Whether a text is a number as `types: safe` reads it, which is said where Transcoding does so. */
static bool is_safe_number(const uint8_t *text, size_t count) {
    const bool is_negative = *text == '-';
    const uint8_t *const first = text + is_negative, *const end = text + count;
    const uint8_t *at = first;
    while (at < end && is_digit(*at)) at++;
    const bool is_zero = at > first && *first == '0';
    const size_t whole = (size_t)(at - first);
    if (whole == 0 || (is_zero && whole > 1)) return false;
    if (at == end) return is_zero ? !is_negative : whole <= 15;
    if (*at++ != '.') return false;
    const uint8_t *const fraction = at;
    while (at < end && is_digit(*at)) at++;
    if (at < end || at == fraction || at[-1] == '0') return false;
    /* The zeros in front of the first other digit are none of its digits. */
    const uint8_t *digits = fraction;
    if (!is_zero) return whole + (size_t)(end - fraction) <= 15;
    while (*digits == '0') digits++;
    return digits - fraction <= 3 && end - digits <= 15;
}

/* What `types: safe` reads in a text. */
__attribute__((noinline)) static enum recast_node_kind kind_of_text(const uint8_t *text, size_t count) {
    if (count == 0 || count > 20) return recast_node_string;
    if (is_digit(*text) || *text == '-') return is_safe_number(text, count) ? recast_node_number : recast_node_string;
    if (count == 4 && !memcmp(text, "true", 4)) return recast_node_yes;
    return count == 5 && !memcmp(text, "false", 5) ? recast_node_no : recast_node_string;
}

#endif
