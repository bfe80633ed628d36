/** Empty since version 2.1.0: 0024-names.ts creates the search index anew. */
export async function up(): Promise<void> {}
