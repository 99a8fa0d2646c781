#include "shims.h"
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <string.h>

/* What files hold is looked at before any session is made: chains that peers can't follow, authorities that vouch for nobody. */

/* Certificates of one chain that are looked at. */
#define LINKS 32

static X509 *link_at(const recast_tls_context *context, size_t place) {
    if (place == 0) return SSL_CTX_get0_certificate(context->ssl);
    STACK_OF(X509) *chain = NULL;
    if (SSL_CTX_get0_chain_certs(context->ssl, &chain) != 1 || chain == NULL) return NULL;
    return place <= LINKS && place <= (size_t)sk_X509_num(chain) ? sk_X509_value(chain, (int)place - 1) : NULL;
}

/* Whether `issuer` has signed `certificate`: several may have one name. */
static bool has_issued(X509 *issuer, X509 *certificate) {
    return X509_check_issued(issuer, certificate) == X509_V_OK
        && X509_verify(certificate, X509_get0_pubkey(issuer)) == 1;
}

/* How far above the leaf a certificate of the chain stands, whatever their order is; -1 where it has issued none of them. */
static int level_of(const recast_tls_context *context, size_t place) {
    int levels[LINKS + 1] = {0};
    size_t count = 1;
    while (count <= LINKS && link_at(context, count) != NULL) levels[count++] = -1;
    for (int level = 0; (size_t)level < count; level++) {
        for (size_t above = 1; above < count; above++) {
            for (size_t at = 0; at < count && levels[above] < 0; at++) {
                if (levels[at] == level && has_issued(link_at(context, above), link_at(context, at)))
                    levels[above] = level + 1;
            }
        }
    }
    return place < count ? levels[place] : -1;
}

void recast_tls_print_name(const X509_NAME *name, char *text, size_t room) {
    text[0] = 0;
    BIO *bio = BIO_new(BIO_s_mem());
    if (bio == NULL) return;
    X509_NAME_print_ex(bio, name, 0, XN_FLAG_RFC2253);
    int count = BIO_read(bio, text, (int)room - 1);
    text[count > 0 ? count : 0] = 0;
    BIO_free(bio);
}

bool recast_tls_link_at(
    const recast_tls_context *context, size_t place, recast_tls_link *link, char *subject, size_t room) {
    X509 *certificate = link_at(context, place);
    if (certificate == NULL || room == 0) return false;
    recast_tls_print_name(X509_get_subject_name(certificate), subject, room);
    bool is_known = recast_tls_seconds_of(X509_get0_notBefore(certificate), &link->not_before)
        && recast_tls_seconds_of(X509_get0_notAfter(certificate), &link->not_after);
    link->level = level_of(context, place);
    link->is_self_issued = X509_check_issued(certificate, certificate) == X509_V_OK;
    ERR_clear_error();
    return is_known;
}

bool recast_tls_serial(const recast_tls_context *context, char *text, size_t room) {
    X509 *certificate = link_at(context, 0);
    BIGNUM *number = certificate == NULL ? NULL : ASN1_INTEGER_to_BN(X509_get0_serialNumber(certificate), NULL);
    char *digits = number == NULL ? NULL : BN_bn2hex(number);
    bool is_known = digits != NULL && strlen(digits) < room;
    if (is_known) memcpy(text, digits, strlen(digits) + 1);
    OPENSSL_free(digits);
    BN_free(number);
    ERR_clear_error();
    return is_known;
}

bool recast_tls_is_for(const recast_tls_context *context, bool clients) {
    X509 *certificate = link_at(context, 0);
    if (certificate == NULL) return true;
    uint32_t usage = X509_get_extended_key_usage(certificate);
    ERR_clear_error();
    /* Without the extension it is for all. */
    return usage == UINT32_MAX || (usage & ((clients ? XKU_SSL_CLIENT : XKU_SSL_SERVER | XKU_SGC) | XKU_ANYEKU)) != 0;
}

/* Adds a name and a newline. False when it doesn't fit, or has a byte that none has. */
static bool add_name(const ASN1_STRING *name, char *text, size_t room, size_t *count) {
    size_t length = (size_t)ASN1_STRING_length(name);
    const unsigned char *bytes = ASN1_STRING_get0_data(name);
    if (room - *count < length + 1) return false;
    for (size_t at = 0; at < length; at++)
        if (bytes[at] <= ' ' || bytes[at] > '~') return false;
    memcpy(text + *count, bytes, length);
    text[*count + length] = '\n';
    *count += length + 1;
    return true;
}

bool recast_tls_names(const recast_tls_context *context, char *text, size_t room, size_t *count) {
    X509 *certificate = link_at(context, 0);
    *count = 0;
    if (certificate == NULL) return false;
    bool is_whole = true, has_names = false;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int at = 0; at < sk_GENERAL_NAME_num(names); at++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, at);
        if (name->type != GEN_DNS) continue;
        has_names = true;
        is_whole = is_whole && add_name(name->d.dNSName, text, room, count);
    }
    GENERAL_NAMES_free(names);
    /* As X509_check_host has it: common names count where no alternative name is one of a host. */
    const X509_NAME *subject = X509_get_subject_name(certificate);
    for (int at = -1; !has_names && (at = X509_NAME_get_index_by_NID((X509_NAME *)subject, NID_commonName, at)) >= 0;)
        is_whole = is_whole && add_name(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)), text, room, count);
    ERR_clear_error();
    return is_whole;
}

bool recast_tls_peer_names(const recast_tls *session, bool uris, char *text, size_t room, size_t *count) {
    X509 *certificate = SSL_get0_peer_certificate(session->ssl);
    *count = 0;
    if (certificate == NULL) return false;
    bool is_whole = true;
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    for (int at = 0; at < sk_GENERAL_NAME_num(names); at++) {
        const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, at);
        if (name->type != (uris ? GEN_URI : GEN_DNS)) continue;
        const ASN1_IA5STRING *value = uris ? name->d.uniformResourceIdentifier : name->d.dNSName;
        is_whole = is_whole && add_name(value, text, room, count);
    }
    GENERAL_NAMES_free(names);
    ERR_clear_error();
    return is_whole;
}

static X509 *anchor_at(const recast_tls_context *context, int at) {
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(SSL_CTX_get_cert_store(context->ssl));
    return X509_OBJECT_get0_X509(sk_X509_OBJECT_value(objects, at));
}

static int object_count(const recast_tls_context *context) {
    return sk_X509_OBJECT_num(X509_STORE_get0_objects(SSL_CTX_get_cert_store(context->ssl)));
}

bool recast_tls_has_authority(const recast_tls_context *context) {
    bool is_so = false;
    for (int at = 0; at < object_count(context); at++) {
        X509 *anchor = anchor_at(context, at);
        is_so = is_so || (anchor != NULL && X509_check_ca(anchor) != 0);
    }
    ERR_clear_error();
    return is_so;
}

static bool has_list(const recast_tls_context *context, X509 *anchor) {
    for (int at = 0; at < sk_X509_CRL_num(context->lists); at++) {
        const X509_NAME *issuer = X509_CRL_get_issuer(sk_X509_CRL_value(context->lists, at));
        if (X509_NAME_cmp(issuer, X509_get_subject_name(anchor)) == 0) return true;
    }
    return false;
}

/* Whether it vouches for another anchor, which then is the one that has a list. */
static bool has_issued_another(const recast_tls_context *context, X509 *anchor) {
    for (int at = 0; at < object_count(context); at++) {
        X509 *other = anchor_at(context, at);
        if (other == NULL || other == anchor || X509_check_ca(other) == 0) continue;
        if (X509_check_issued(anchor, other) == X509_V_OK)
            return true;
    }
    return false;
}

/* Whether a list is of none of the anchors: it may be of an authority below one of them. */
static bool has_list_of_another(const recast_tls_context *context) {
    for (int at = 0; at < sk_X509_CRL_num(context->lists); at++) {
        const X509_NAME *issuer = X509_CRL_get_issuer(sk_X509_CRL_value(context->lists, at));
        bool is_anchors = false;
        for (int place = 0; place < object_count(context) && !is_anchors; place++) {
            X509 *anchor = anchor_at(context, place);
            is_anchors = anchor != NULL && X509_NAME_cmp(issuer, X509_get_subject_name(anchor)) == 0;
        }
        if (!is_anchors) return true;
    }
    return false;
}

/* Whether an anchor has the list's issuer's name, and whether none of those has signed it: several may have one name, as when an authority
   takes another key. */
static bool is_unsigned(const recast_tls_context *context, X509_CRL *list) {
    bool is_anchors = false;
    for (int place = 0; place < object_count(context); place++) {
        X509 *anchor = anchor_at(context, place);
        if (anchor == NULL || X509_NAME_cmp(X509_CRL_get_issuer(list), X509_get_subject_name(anchor)) != 0) continue;
        if (X509_CRL_verify(list, X509_get0_pubkey(anchor)) == 1) return false;
        is_anchors = true;
    }
    return is_anchors;
}

bool recast_tls_unsigned(const recast_tls_context *context, size_t number, char *issuer, size_t room) {
    bool is_found = false;
    for (int at = 0; at < sk_X509_CRL_num(context->lists) && !is_found; at++) {
        X509_CRL *list = sk_X509_CRL_value(context->lists, at);
        if (!is_unsigned(context, list) || number-- > 0) continue;
        recast_tls_print_name(X509_CRL_get_issuer(list), issuer, room);
        is_found = true;
    }
    ERR_clear_error();
    return is_found;
}

/* When the first list of that issuer begins to hold. */
static bool first_start(const STACK_OF(X509_CRL) *lists, const X509_NAME *issuer, int64_t *start) {
    bool is_known = false;
    for (int at = 0; at < sk_X509_CRL_num(lists); at++) {
        const X509_CRL *list = sk_X509_CRL_value(lists, at);
        int64_t own = 0;
        if (X509_NAME_cmp(X509_CRL_get_issuer(list), issuer) != 0) continue;
        if (!recast_tls_seconds_of(X509_CRL_get0_lastUpdate(list), &own)) continue;
        if (!is_known || own < *start) *start = own;
        is_known = true;
    }
    return is_known;
}

bool recast_tls_revocations_start(const recast_tls_context *context, int64_t *start) {
    bool is_known = false;
    for (int at = 0; at < sk_X509_CRL_num(context->lists); at++) {
        int64_t first = 0;
        if (!first_start(context->lists, X509_CRL_get_issuer(sk_X509_CRL_value(context->lists, at)), &first)) continue;
        if (!is_known || first > *start) *start = first;
        is_known = true;
    }
    ERR_clear_error();
    return is_known;
}

bool recast_tls_unlisted(const recast_tls_context *context, size_t number, char *subject, size_t room) {
    if (sk_X509_CRL_num(context->lists) <= 0 || has_list_of_another(context)) return false;
    for (int at = 0; at < object_count(context); at++) {
        X509 *anchor = anchor_at(context, at);
        if (anchor == NULL || X509_check_ca(anchor) == 0) continue;
        if (has_list(context, anchor) || has_issued_another(context, anchor) || number-- > 0) continue;
        recast_tls_print_name(X509_get_subject_name(anchor), subject, room);
        ERR_clear_error();
        return true;
    }
    ERR_clear_error();
    return false;
}
