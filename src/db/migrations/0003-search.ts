/** Empty since version 2.0.0: 0010-search.ts creates the search index anew. */
export async function up() {}
