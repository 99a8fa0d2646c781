/* Counts libxml2's memory, to see that a parser gives back all it took. */
#ifndef RECAST_CXML_MEMORY_H
#define RECAST_CXML_MEMORY_H
/* Puts counters before libxml2's allocator. Call it before libxml2 is used. */
void recast_xml_count_memory(void);
/* The blocks that this thread has taken from libxml2's allocator and not given back. */
long recast_xml_blocks(void);
/* All blocks that this thread has taken. */
long recast_xml_blocks_taken(void);
/* The next `count` calls succeed, then one fails: NULL is returned. A negative count ends this. For this thread. */
void recast_xml_fail_after(long count);
#endif
