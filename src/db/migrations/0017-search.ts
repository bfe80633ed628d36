/** Empty since version 3.0.0: 0024-names.ts creates the search index anew. */
export async function up(): Promise<void> {}
