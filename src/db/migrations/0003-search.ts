/** Empty since version 2.1.0: 0017-search.ts creates the search index anew. */
export async function up() {}
