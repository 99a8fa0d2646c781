#include "CRecipes.h"

/* The files as they are, put in by the compiler (C23's #embed, which clang has in earlier modes too). */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char form_to_json[] = {
#embed "../../config/recipes/form-to-json.yaml"
};
static const unsigned char slack[] = {
#embed "../../config/recipes/slack.yaml"
};
static const unsigned char github[] = {
#embed "../../config/recipes/github.yaml"
};
static const unsigned char twilio[] = {
#embed "../../config/recipes/twilio.yaml"
};
static const unsigned char mailgun[] = {
#embed "../../config/recipes/mailgun.yaml"
};
static const unsigned char mandrill[] = {
#embed "../../config/recipes/mandrill.yaml"
};
static const unsigned char jotform[] = {
#embed "../../config/recipes/jotform.yaml"
};
static const unsigned char stripe_webhook[] = {
#embed "../../config/recipes/stripe-webhook.yaml"
};
static const unsigned char stripe_form[] = {
#embed "../../config/recipes/stripe-form.yaml"
};
static const unsigned char php_post[] = {
#embed "../../config/recipes/php-post.yaml"
};
static const unsigned char photos[] = {
#embed "../../config/recipes/photos.yaml"
};
static const unsigned char xml_answers[] = {
#embed "../../config/recipes/xml-answers.yaml"
};
static const unsigned char errcode[] = {
#embed "../../config/recipes/errcode.yaml"
};

/* What `recast try` serves. */
static const unsigned char demonstration[] = {
#embed "../../config/recast.yaml"
};
static const recast_recipe demonstrated = {"recast", demonstration, sizeof demonstration};

#define RECIPE(name, bytes) {name, bytes, sizeof bytes}

/* In the order in which `recast init` lists them. */
static const recast_recipe recipes[] = {
    RECIPE("form-to-json", form_to_json),
    RECIPE("slack", slack),
    RECIPE("github", github),
    RECIPE("twilio", twilio),
    RECIPE("mailgun", mailgun),
    RECIPE("mandrill", mandrill),
    RECIPE("jotform", jotform),
    RECIPE("stripe-webhook", stripe_webhook),
    RECIPE("stripe-form", stripe_form),
    RECIPE("php-post", php_post),
    RECIPE("photos", photos),
    RECIPE("xml-answers", xml_answers),
    RECIPE("errcode", errcode),
};

size_t recast_recipe_count(void) { return sizeof recipes / sizeof recipes[0]; }
const recast_recipe *recast_demonstration(void) { return &demonstrated; }
const recast_recipe *recast_recipe_at(size_t index) { return &recipes[index]; }
