/* The settings files of config/recipes, and one to try, as they are in the binary. */
#ifndef RECAST_CRECIPES_H
#define RECAST_CRECIPES_H

#include <stddef.h>

typedef struct {
    /* Of the file, without its ending. */
    const char *name;
    /* UTF-8, without a NUL at the end. */
    const unsigned char *text;
    size_t count;
} recast_recipe;

size_t recast_recipe_count(void);
/* The recipe of that number, from 0, which is less than the count. Valid as long as the program runs. */
const recast_recipe *recast_recipe_at(size_t index);
/* config/recast.yaml: a route of each kind. Valid as long as the program runs. */
const recast_recipe *recast_demonstration(void);
#endif
